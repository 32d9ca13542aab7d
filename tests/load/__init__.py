"""Load and faults against a real server, by hand: `python -m tests.load` and `python -m tests.load.faults`."""
