"""How much of K and V the L2 still holds when the next pass over them comes: a stack-distance view, closed form.

Between two uses of a line, d bytes of other lines are touched (its stack distance). An LRU cache of C bytes still
holds the line if d < C. A real L2 spreads lines over sets of W ways by a hash; the number of those other lines
that fall into the line's set is then close to a Poisson variable of mean m = W d / C, and the line is lost if
there are W or more of them: P(Poisson(m) >= W). With W -> infinity that is the step at d = C again.

A pass in one direction (cyclic) gives every line of the K/V in reuse the same distance F, all of it. Passes that
alternate in direction (sawtooth) give a line x bytes before the turn of its own head the distance h x where h
heads run abreast, plus all of the heads in reuse that do not run now, from F - h K up to F: uniform in x. So the
expected loss is the mean of the tail over that interval; `int_0^m P(Poisson(t) >= W) dt` has the closed form
m P(Poisson(m) >= W) - W P(Poisson(m) >= W + 1).
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from analytical.numbers import Reals, at_least, at_most, select

NARROW = 1e-5  # both ways of taking the mean are good to some 1e-10 here
GAUSS_NODES = 12  # tails of up to 64 ways to four digits, polynomials exactly


def poisson_tail(mean: Reals, ways: int) -> Reals:
    """P(Poisson(mean) >= ways), elementwise."""
    term = np.exp(-np.asarray(mean, float))
    below = term.copy()
    for k in range(1, ways):
        term = term * mean / k
        below = below + term
    return _plain(np.clip(1.0 - below, 0.0, 1.0))


def mean_poisson_tail(low: Reals, high: Reals, ways: int) -> Reals:
    """The mean of `poisson_tail` over means uniform in [low, high], low <= high.

    Over an interval so narrow that the difference of two areas would lose its digits, the tail at its middle.
    """
    width = np.asarray(high, float) - low
    wide = width > NARROW * (1 + np.asarray(high, float))
    middle = poisson_tail(low + width / 2, ways)
    if not np.any(wide):
        return _plain(middle)
    area = _tail_area(high, ways) - _tail_area(low, ways)
    mean = np.where(wide, area / np.where(wide, width, 1.0), middle)
    return _plain(np.clip(mean, 0.0, 1.0))


def lost_share(near_bytes: Reals, far_bytes: Reals, cache_bytes: Reals, ways: int | None) -> Reals:
    """Expected share of lines lost at stack distances uniform in [near, far] bytes; equal ends: one distance.

    Without `ways` the cache is fully associative and a line is lost from a distance of `cache_bytes` on.
    """
    if ways is not None:
        return mean_poisson_tail(ways * near_bytes / cache_bytes, ways * far_bytes / cache_bytes, ways)
    width = far_bytes - near_bytes
    beyond = at_most(at_least(far_bytes - cache_bytes, 0), width)
    spread = beyond / select(width > 0, width, 1)
    return select(width > 0, spread, select(far_bytes >= cache_bytes, 1.0, 0.0))


def lost_over_prefixes(loss: Callable[[Reals], Reals], shortest: Reals, start: Reals) -> Reals:
    """Lost bytes per pass as a share of all K/V, for passes over prefixes u of them, uniform in [shortest, 1].

    These are the passes of query tiles under a causal mask: the mean of u loss(u). `start` is where loss may
    first differ from 0, so that the quadrature (Gauss-Legendre, exact for polynomials) never meets a step.
    """
    nodes, weights = np.polynomial.legendre.leggauss(GAUSS_NODES)
    low = at_most(at_least(start, shortest), 1.0)
    total = 0.0 * low
    for node, weight in zip(nodes, weights, strict=True):
        prefix = low + (1 - low) * (node + 1) / 2
        total = total + weight / 2 * prefix * loss(prefix)
    return total * (1 - low) / (1 - shortest)


def _tail_area(mean: Reals, ways: int) -> Reals:
    return mean * poisson_tail(mean, ways) - ways * poisson_tail(mean, ways + 1)


def _plain(value: Any) -> Any:
    return float(value) if np.ndim(value) == 0 else value
