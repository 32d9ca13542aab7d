"""Sweeps: many experiments that differ in up to three parameters, answered by one estimator."""
