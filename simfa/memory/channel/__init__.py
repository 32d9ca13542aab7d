"""One DRAM channel at the level of its commands: table of commands, timing, queues, scheduler, refresh, driver."""
