"""SimFA-python with launch order: Eq. (4) as a condition on all KV heads that are in flight together.

The paper processes one KV head at a time (section 3.4). A real grid puts R = N_SM O_limit CTAs on the GPU in its
own order, and they may belong to several KV heads, whose K and V share the L2:

- block_fastest (FlashAttention-3, FlashAttention-2): a KV head has n = G ceil(L / T_M) consecutive CTAs, so
  h = ceil(R / n) heads are live, and those are the ones in reuse;
- head_fastest (grids such as the public cuTile kernel's, 8 heads x 64 query tiles): R consecutive CTAs cover
  R / G KV heads, so h = ceil(R / G) are live, but all B H_KV heads pass before the first comes again: r = B H_KV;
- an explicit `live_heads`: sections of h heads, finished before the next ones start; h = r.

No more heads can be live than there are. Each live head has R / h of the resident CTAs, so it is passed over
W = max(1, ceil(n h / R)) times: Eq. (5) at h = 1. It is kept between passes if the L2 holds r heads,
size_L2 > r 2 P S D: Eq. (4) at r = 1. So with h = r = 1 and no ways this is the paper's form, byte for byte.

Where the ways of an L2 set are known, the edge is not sharp: hashed sets overflow one by one (`retention`), at a
stack distance of the r heads and of the Q and O tiles of the resident CTAs, R 2 P T_M D bytes. Expected lost
bytes are rounded to whole ones. K/V traversal (cyclic or sawtooth) is a what-if on the same distances.
Under a causal mask a pass reads a prefix; passes are taken as uniform over the lengths (S - L, S].
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from analytical import equations as eq
from analytical import retention, roofline, simfa_python
from analytical.numbers import Ints, Reals, at_least, at_most, ceil_div, select
from analytical.simfa_python import DramTraffic, Estimate, Problem
from presets.experiment import Experiment
from presets.record import Result

NAME = "simfa-launch-order"
PARTIAL = 0.01  # a regime is called partial from here on: 1 % of K/V lost per pass; counters spread by 15 %


@dataclass(frozen=True)
class Order:
    """How CTAs come to the GPU; arrays where a grid varies them. `live_heads` 0: derived; `ways` None: sharp."""

    head_fastest: Any = False
    live_heads: Ints = 0
    sawtooth: Any = False
    ways: int | None = None

    @classmethod
    def of(cls, experiment: Experiment) -> "Order":
        """The order of the experiment's kernel preset, on its GPU's L2."""
        pipeline = experiment.kernel.pipeline
        return cls(
            head_fastest=pipeline.grid_order == "head_fastest",
            live_heads=pipeline.live_heads or 0,
            sawtooth=pipeline.kv_traversal == "sawtooth",
            ways=experiment.gpu.l2_ways(),
        )


@dataclass(frozen=True)
class InFlight:
    """KV heads in flight: live at once, in reuse (what the L2 must hold), passes over each, and the loss."""

    live_heads: Ints
    reuse_heads: Ints
    passes: Ints
    fits_l2: Any
    lost_share: Reals  # of all K/V bytes, per pass after the first

    @property
    def outgrown(self) -> Any:
        """Elementwise: the heads in reuse do not fit and are passed over again. One pass finds nothing gone."""
        return np.logical_and(self.passes > 1, np.logical_not(self.fits_l2))

    @property
    def off_ideal(self) -> Any:
        """Elementwise: they do not fit, or a share of PARTIAL is lost all the same, and a pass comes again."""
        return np.logical_or(self.outgrown, np.logical_and(self.passes > 1, self.lost_share >= PARTIAL))

    @property
    def regime(self) -> str:
        """Of a single problem: ideal, partial (sets overflow although the heads fit), or realistic."""
        if not self.off_ideal:
            return "ideal"
        return "realistic" if self.outgrown else "partial"


def live_heads(p: Problem, order: Order) -> Ints:
    """h: KV heads with a resident CTA."""
    residents, heads = p.N_SM * p.O_limit, p.B * p.H_KV
    per_head = p.G * ceil_div(p.L, p.T_M)
    derived = ceil_div(residents, select(order.head_fastest, p.G, per_head))
    asked = select(order.live_heads == 0, derived, order.live_heads)
    return at_most(asked, at_most(heads, residents))


def in_flight(p: Problem, order: Order) -> InFlight:
    """Heads, passes and the share of K/V that a pass finds gone."""
    live, residents = live_heads(p, order), p.N_SM * p.O_limit
    all_heads = select(order.live_heads == 0, order.head_fastest, False)
    reuse = select(all_heads, p.B * p.H_KV, live)
    passes = at_least(ceil_div(p.G * ceil_div(p.L, p.T_M) * live, residents), 1)
    head_bytes = 2 * p.P * p.S * p.D
    return InFlight(live, reuse, passes, p.size_L2_bytes > reuse * head_bytes, _lost(p, order, live, reuse))


def distances(p: Problem, order: Order, live: Ints, reuse: Ints) -> tuple[Ints, Ints, Ints]:
    """Stack distances in bytes of whole passes: nearest and farthest K/V bytes, and Q and O bytes on top."""
    head_bytes = 2 * p.P * p.S * p.D
    far = reuse * head_bytes
    near = select(order.sawtooth, (reuse - live) * head_bytes, far)
    tiles = 0 if order.ways is None else 2 * p.P * p.N_SM * p.O_limit * p.T_M * p.D
    return near, far, tiles


def _lost(p: Problem, order: Order, live: Ints, reuse: Ints) -> Reals:
    near, far, tiles = distances(p, order, live, reuse)
    whole = retention.lost_share(near + tiles, far + tiles, p.size_L2_bytes, order.ways)
    if not np.any(p.causal):
        return whole
    return select(p.causal, lost_under_mask(near, far, tiles, p.size_L2_bytes, order.ways, p.L, p.S), whole)


def lost_under_mask(
    near_bytes: Ints, far_bytes: Ints, tiles_bytes: Ints, cache_bytes: Ints, ways: int | None, L: Ints, S: Ints
) -> Reals:
    """Lost bytes per pass as a share of all K/V where a causal mask leaves prefixes u in ((S - L) / S, 1].

    A prefix has u times the distances of a whole pass; the tiles of Q and O stay as they are.
    """

    def loss(prefix: Reals) -> Reals:
        near, far = prefix * near_bytes + tiles_bytes, prefix * far_bytes + tiles_bytes
        return retention.lost_share(near, far, cache_bytes, ways)

    shortest = at_least((S - L) / S, 0.0)
    start = cache_bytes / far_bytes if ways is None else 0.0 * shortest
    return retention.lost_over_prefixes(loss, shortest, start)


def dram_traffic(p: Problem, order: Order) -> DramTraffic:
    """Eqs. (3) and (6) with W passes of which each after the first fetches the lost share of K and V again."""
    flight = in_flight(p, order)
    ideal = eq.eq3_dram_ideal_bytes(p.P, p.B, p.D, p.H_KV, p.G, p.L, p.S)
    real = eq.eq6_dram_real_bytes(p.P, p.B, p.H_KV, p.G, p.L, p.S, p.D, flight.passes)
    again = _whole((real - ideal) * flight.lost_share)
    return DramTraffic(flight.fits_l2, flight.passes, real, ideal + again)


def estimate(p: Problem, order: Order, rates: roofline.Rates) -> Estimate:
    """As `simfa_python.estimate`, DRAM traffic by `dram_traffic`."""
    return simfa_python.estimate(p, rates, lambda exact: dram_traffic(exact, order))


def sweep(experiment: Experiment, **changes: Any) -> Estimate:
    """As `simfa_python.sweep`."""
    problem = simfa_python.changed(experiment, **changes)
    return estimate(problem, Order.of(experiment), roofline.Rates.of(experiment))


def run(experiment: Experiment) -> Result:
    """The Result for one experiment, with the heads in flight beside it."""
    problem, order = Problem.of(experiment), Order.of(experiment)
    flight = in_flight(problem, order)
    answer = simfa_python.result(NAME, estimate(problem, order, roofline.Rates.of(experiment)), flight.regime)
    extra = {
        "live_kv_heads": flight.live_heads,
        "reuse_kv_heads": flight.reuse_heads,
        "lost_share": float(flight.lost_share),
    }
    return replace(answer, extra={**answer.extra, **extra})


def _whole(value: Reals) -> Ints:
    return np.rint(value).astype(np.int64) if isinstance(value, np.ndarray) else round(value)
