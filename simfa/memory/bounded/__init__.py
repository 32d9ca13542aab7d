"""The memory hierarchy with bounded queues: separate events for arrival, service and response of every line.

A request leaves its SM, joins a request of the pair for the same line if there is one (coalescer), and otherwise
crosses to the line's L2 slice. There it waits in the request queue, is served in order at the slice's rate, and

- a hit puts its line into the response queue, which sends one line per slice time back to the SM;
- a miss takes an MSHR, or joins the one that fetches its line, and goes to the slice's DRAM channel;
- a fill takes a way of its set when it arrives, writes back what that held, and answers all who wait for it;
- a store takes a way without fetching.

Back-pressure, with nobody asking in vain: a full request queue leaves the request before it and stops the SM that
sent it, until the queue has moved up. A slice whose head needs a place in the response queue, an MSHR or a place at
the DRAM channel stops until one is free. Fills go before hits where the response queue is full. Nothing waits in a
circle: responses always drain to the SMs, which have kept room for them; DRAM always drains; so fills end, MSHRs
become free, and request queues move.

A response queue and an in-order DRAM channel are drained at a fixed rate, so the cycle in which one has room again
is known (`port`), and whoever needs it sleeps until then.
"""
