"""Presets: GPUs, models, kernels and measured points as sourced data, and the loader that checks them."""
