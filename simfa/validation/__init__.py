"""Validation studies: the simulator's parts against public measurements, each a function that returns its rows."""
