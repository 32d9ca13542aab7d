"""Exact whole-number arithmetic that takes Python ints (any size) and NumPy int64 arrays alike."""

from typing import Any

import numpy as np

Ints = Any  # int or integer ndarray
Reals = Any  # float or float ndarray


def ceil_div(a: Ints, b: Ints) -> Ints:
    """ceil(a / b) for b > 0, exact."""
    return -(-a // b)


def select(condition: Any, if_true: Any, if_false: Any) -> Any:
    """`if_true if condition else if_false`, elementwise where anything is an array."""
    if any(isinstance(x, np.ndarray) for x in (condition, if_true, if_false)):
        return np.where(condition, if_true, if_false)
    return if_true if condition else if_false


def at_least(a: Any, low: Any) -> Any:
    """max(a, low), elementwise."""
    return select(a >= low, a, low)


def at_most(a: Any, high: Any) -> Any:
    """min(a, high), elementwise."""
    return select(a <= high, a, high)


def floor_sum(n: Ints, m: Ints, a: Ints, b: Ints) -> Ints:
    """sum over i = 0..n-1 of floor((a*i + b) / m), for n, a, b >= 0 and m > 0.

    Euclid-like, O(log m) steps, each on whole arrays, so a million sums are a few dozen array operations.
    """
    total = n * 0
    while True:
        total = total + (n - 1) * n // 2 * (a // m) + n * (b // m)
        a, b = a % m, b % m
        top = a * n + b
        done = top < m
        if np.all(done):
            return total
        n, b, m, a = (
            select(done, 0, top // m),
            select(done, 0, top % m),
            select(done, 1, a),
            select(done, 0, m),
        )
