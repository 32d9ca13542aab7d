"""Studies that hold the simulator against public data: what was run, what the reference says, the error."""
