"""What the Validation page shows: a view for each figure and table of the paper, then the public measurements."""
