"""Long launches by sampling: a part of a launch on the real engine, extrapolated, each number with an error.

A launch is one unit after another (`kept`): a KV head with its query heads, or what the kernel's schedule has in
its place. A unit is wave after wave of CTAs, and a CTA step after step along K/V. Each of the three is shortened:

- K/V steps (`shorten`): every CTA goes through fewer, while K/V length, L2 capacity and the bytes of Q and O shrink
  by the same factor. What the L2 keeps from one wave to the next is then the same share of a pass as in the whole
  launch, in all three regimes: all of K/V, a part, none. Warm and cold L2, the cold first pass of each head, and
  CTAs that fall behind and catch up come out of the simulation; nothing is assumed about them. Between the regimes
  the sets that overflow first decide, so the short L2 is one whose sets K and V fill alike (`filling`). Two runs
  give a straight line along the steps, and its end at all steps is the answer; a third run gives the error.
- Waves: whole ones, so that a unit begins and ends at the same place of a wave; a unit of few waves stays whole.
  What a wave left out adds is what the last wave kept takes, and reads of DRAM what a run with one wave less lacks.
  The wave before it gives the error. Under a causal mask query tiles are thinned out evenly instead.
- Units: the first begins on an idle machine and does not count as one like the others, whose spread is the error.
  What one left out reads is what a run reads while as many CTAs end as a unit has, from any point after the first.

What is left out is chosen for a number of line requests (`design`), and nothing is left out where that saves
little. Time is that of all CTAs over the slots that work side by side, plus what slots idle at the end; that idling
can come out otherwise, by a third of a CTA's time. Q is read and O written once, exactly; K/V reads and the part
of O still in the L2 are extrapolated. Errors of different causes are added as squares. They are estimates: see
`simfa/DEVIATIONS.md` for how often the truth lay within.

Not covered: sawtooth traversal (refused), spans and stall cycles, MUFU use. An L2 cannot shrink below what is in
flight; where it would have to, at hundreds of thousands of tokens, it stays larger and the error includes what half
of it changes.
"""
