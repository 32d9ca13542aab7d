"""What this server refuses to simulate, in words that name the setting."""

from dashboard import settings
from presets.experiment import Experiment


class Refused(Exception):
    """A simulation that this server does not take; the message says why and what to do."""


def refusal(experiment: Experiment) -> str:
    """Why the experiment is not simulated on this server; empty when it is."""
    tokens = max(experiment.workload.seq_q, experiment.workload.seq_kv)
    most = settings.simulated_tokens()
    if tokens <= most or experiment.sample:  # a sample hardly grows with the length
        return ""
    return (
        f"not simulated on this server: {tokens:,} tokens are more than the {most:,} it takes "
        "(SIMFA_SIMULATED_TOKENS); choose a shorter length, or use python -m simfa run on a machine of your own"
    )


def check(experiment: Experiment) -> None:
    """Raises Refused for an experiment that this server does not simulate."""
    reason = refusal(experiment)
    if reason:
        raise Refused(reason[0].upper() + reason[1:] + ".")


def overdue(limit_s: float) -> str:
    """What became of a simulation that ran into the time limit."""
    return (
        f"The simulation was stopped after {limit_s:,.0f} s, the time limit of this server (SIMFA_TIMEOUT_S). "
        "Choose a shorter length or a smaller batch, or use python -m simfa run on a machine of your own."
    )
