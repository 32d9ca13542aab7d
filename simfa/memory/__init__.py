"""Compiled memory hierarchy: coalescer, hashing, sliced L2 with MSHRs, DRAM channels."""
