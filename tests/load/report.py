"""What the load script found, as a table; and the simulated cycles compared with direct runs."""

import statistics
from typing import Any

from tests.load.session import Session

Figures = dict[str, Any]


def check_cycles(sessions: list[Session]) -> None:
    """Every simulated number that a page showed, against a direct run of the same experiment."""
    from simfa import simulate

    for session in sessions:
        for length, shown in session.cycles.items():
            cycles = simulate.run(session.visitor.experiment(length)).result.extra["cycles"]
            if cycles != shown:
                session.errors.append(f"at {length:,} tokens: {shown:,} cycles shown, {cycles:,} by a direct run")


def errors(sessions: list[Session], figures: Figures) -> list[str]:
    """Everything that went wrong, a line each."""
    found = [f"session {session.visitor.name}: {error}" for session in sessions for error in session.errors]
    found += [f"in the server's log: {line}" for line in figures["tracebacks"]]
    return found if figures["healthy"] else [*found, "the health endpoint did not answer ok at the end"]


def percentile(values: list[float], percent: int) -> float:
    """The smallest value that so many percent do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, -(-len(ordered) * percent // 100) - 1)] if ordered else float("nan")


def text(sessions: list[Session], figures: Figures) -> str:
    """The whole report."""
    lines = ["session  page      changes  p50 ms  p95 ms  worst ms  simulated  queue places"]
    lines += [_row(session) for session in sessions]
    every = [value for session in sessions for value in session.latencies_ms]
    alone = figures["alone_ms"]
    opened = [session.opened_s for session in sessions]
    lines += [
        f"all      {len(every)} changes: p50 {percentile(every, 50):.0f} ms, p95 {percentile(every, 95):.0f} ms, "
        f"worst {max(every, default=0):.0f} ms; one session while the others rest: "
        f"p50 {statistics.median(alone):.0f} ms",
        f"         opened in p50 {percentile(opened, 50):.1f} s, worst {max(opened, default=0):.1f} s",
        _simulations([value for session in sessions for value in session.simulations_s]),
        _conditions(figures),
    ]
    wrong = errors(sessions, figures)
    return "\n".join([*lines, f"{len(wrong)} errors", *wrong])


def _simulations(took_s: list[float]) -> str:
    if not took_s:
        return "         no simulations"
    return (
        f"         {len(took_s)} simulations shown, p50 {percentile(took_s, 50):.1f} s, worst {max(took_s):.1f} s "
        "from the key press; their cycles were compared with direct runs"
    )


def _row(session: Session) -> str:
    took, places = session.latencies_ms, sorted(set(session.positions))
    return (
        f"{session.visitor.name:<8} {session.visitor.page or 'compare':<8} {len(took):>8} "
        f"{percentile(took, 50):>7.0f} {percentile(took, 95):>7.0f} {max(took, default=0):>9.0f} "
        f"{len(session.cycles):>10}  {', '.join(map(str, places)) or '-'}"
    )


def _conditions(figures: Figures) -> str:
    cores, wall_s, used = figures["cores"], figures["wall_s"], figures["cpu_s"]
    shares = {name: 100 * seconds / wall_s / cores for name, seconds in used.items()}
    others = shares["machine"] - shares["server"] - shares["workers"] - shares["browsers"]
    memory = figures["memory_mib"]
    return (
        f"         {figures['date']}, {cores} cores, {wall_s:.0f} s: server {shares['server']:.0f} % of them, "
        f"simulations {shares['workers']:.0f} %, the browsers {shares['browsers']:.0f} %, other programs "
        f"{max(others, 0):.0f} %; server at most {memory['server']:.0f} MiB, {memory['with workers']:.0f} MiB with "
        "its workers"
    )
