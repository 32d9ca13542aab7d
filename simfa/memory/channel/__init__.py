"""One DRAM channel at the level of its commands: table of commands, timing, queues, scheduler, refresh, driver.

Choices that the standard leaves to the controller, made as Ramulator 2.1 makes them:

- An entry whose activate has issued leaves its queue, so that more than a queue's entries can be under way. It has
  the column bus before any row hit, and its row cannot be closed before it is served.
- Row hits protect their row from misses that came later or at the same tick, within the queue that is being served.
- Writes are posted: done for the requester once the write queue holds them. Reads of a queued block are answered
  from the queue; a second write of it merges. Read data leave in the order of their commands.
- Reads give way to writes when writes fill their queue beyond a mark or no read waits in the queue (even if all
  have been activated); writes give way below another mark, if reads wait.
- While a refresh is due, neither pseudo-channel gets new work: a PREA closes the first, REFA follows, then the
  second one. Refreshes of both pseudo-channels are thus a few clocks apart.

A new standard with these commands is a preset and perhaps a mapping; with others, also rows in `commands`.
"""
