"""The main loop: cycle by cycle, every due event to the component it concerns (Algorithm 1, event-driven)."""

from simfa.engine import cluster, dispatch, events, frontend, gauges, tensor_core, tma
from simfa.engine.groups import GROUPS
from simfa.engine.jit import entry, inlined_kernel
from simfa.memory import access

RUNNING = 0
FINISHED = 1
DEADLOCKED = 2
EXHAUSTED = 3
PAUSED = 4

SAMPLES_PER_STEP = 4096  # of an observed run, between two looks at progress and cancelling


@entry
def begin(machine):
    """Dispatch the first CTAs at cycle 0."""
    grid, state, engines, memory, queue, observer, code, entries = machine
    dispatch.start(grid, state, queue)


@inlined_kernel
def _outcome(grid, memory, header):
    """At the end of a cycle: the launch is over when all CTAs are, whatever DRAM still writes."""
    pending = header["pending"] - header["superseded"]
    if pending == access.background(memory) and grid.config[0]["retired"] == grid.ctas.shape[0]:
        return FINISHED
    return DEADLOCKED if pending == 0 else RUNNING


@entry
def advance(machine, budget):
    """Process about `budget` events; returns RUNNING, FINISHED, DEADLOCKED, EXHAUSTED, or PAUSED at `stop_at`."""
    grid, state, engines, memory, queue, observer, code, entries = machine
    header = queue.header[0]
    handled = 0
    while handled < budget:
        payload = events.pop_due(queue)
        access.expect(memory, queue)
        if payload < 0:
            if header["exhausted"]:
                return EXHAUSTED
            outcome = _outcome(grid, memory, header)
            if outcome != RUNNING:
                return outcome
            events.next_cycle(queue)
            if header["now"] >= header["stop_at"]:
                return PAUSED
            continue
        handled += 1
        header["busy_at"] = header["now"]
        kind = payload >> events.KIND_SHIFT
        argument = payload & events.ARGUMENT_MASK
        if kind <= events.GENERATE or kind >= events.FIRST_OF_MEMORY:
            sm = argument
            if kind == events.LINE_ARRIVED:
                sm = argument // tma.QUEUE
                tma.line_arrived(grid, engines, state, queue, observer, argument)
            elif kind == events.GENERATE:
                engines.engines[sm]["generate_at"] = -1
            else:
                sm = access.handle(memory, queue, kind, argument, header["now"])
                if sm < 0:
                    continue
            tma.generate(grid, engines, state, memory, queue, observer, sm)
        elif kind == events.ISSUE:
            frontend.issue(grid, state, engines, queue, observer, code, entries, argument)
        else:
            _core_event(grid, state, queue, observer, kind, argument)
    return RUNNING


@inlined_kernel
def _core_event(grid, state, queue, observer, kind, argument):
    """What happens in an SM's core, or between the CTAs of a cluster."""
    if kind == events.TENSOR_DONE:
        thread = argument // GROUPS
        tensor_core.done(state, queue, thread, argument % GROUPS)
        dispatch.finished(grid, state, queue, thread // state.config[0]["roles"])
    elif kind == events.TENSOR_IDLE:
        tensor_core.idle(state, queue, argument)
    elif kind == events.PHASE_OVER:
        frontend.phase_over(grid, state, queue, observer, argument)
    elif kind == events.RELEASED:
        cluster.released(grid, state, queue, argument)
    else:
        frontend.woken(grid, state, queue, argument)


@entry
def advance_observed(machine, meters, budget):
    """As `advance`, with a pause for every sample of the gauges, and RUNNING after many samples too."""
    header = machine.queue.header[0]
    status = RUNNING
    for _ in range(SAMPLES_PER_STEP):
        gauges.catch_up(meters, machine)
        header["stop_at"] = meters.header[0]["due"]
        status = advance(machine, budget)
        if status != PAUSED:
            break
    header["stop_at"] = events.NEVER
    return RUNNING if status == PAUSED else status
