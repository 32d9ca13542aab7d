"""What to cite: the paper behind the models, and this tool with version, parameter set and experiment."""

from dashboard import provenance
from presets.experiment import Experiment
from presets.loader import flatten

# Authors, title and number as arXiv lists the paper (version 2, 4 May 2026).
AUTHORS = ("Zhongchun Zhou", "Yuhang Gu", "Chengtao Lai", "Ya Wang", "Wei Zhang")
TITLE = "Sim-FA: A GPGPU Simulator Framework for Fine-Grained FlashAttention Pipeline Analysis"
ARXIV, YEAR = "2605.00555", 2026


def paper() -> str:
    """The paper in one line."""
    return f"{', '.join(AUTHORS)}: {TITLE}. arXiv:{ARXIV}, {YEAR}."


def line(subject: str) -> str:
    """The paper, the code, and what was computed by it."""
    return f"{paper()} Computed by {provenance.said()}: {' '.join(subject.split())}."


def subject(experiment: Experiment) -> str:
    """An experiment as a citation names it: words with the parameter set, and what was changed in its presets."""
    changed = overrides(experiment)
    what_if = f", what if {', '.join(f'{key}={value}' for key, value in changed.items())}" if changed else ""
    return experiment.words() + what_if


def overrides(experiment: Experiment) -> dict[str, object]:
    """The preset values that were changed for this experiment, by dotted key, in base units."""
    return {
        key: value
        for spec in (experiment.gpu, experiment.kernel, experiment.llm)
        for key, value in flatten(spec).items()
        if key in spec.provenance and spec.provenance[key].label == "override"
    }


def bibtex(words: str = "") -> str:
    """Two entries: the paper, and the software with its version; `words` say what was computed."""
    authors = " and ".join(AUTHORS)
    note = f",\n  note    = {{{_tex(' '.join(words.split()))}}}" if words else ""
    return (
        f"@misc{{zhou{YEAR}simfa,\n"
        f"  title         = {{{{{TITLE}}}}},\n"
        f"  author        = {{{authors}}},\n"
        f"  year          = {{{YEAR}}},\n"
        f"  eprint        = {{{ARXIV}}},\n"
        "  archivePrefix = {arXiv},\n"
        "  primaryClass  = {cs.AR}\n"
        "}\n\n"
        f"@software{{simfa-dashboard,\n"
        f"  title   = {{Sim-FA dashboard and simulator}},\n"
        f"  version = {{{_tex(provenance.said())}}}{note}\n"
        "}\n"
    )


def _tex(text: str) -> str:
    """Text in which TeX finds nothing to obey."""
    plain = text.replace("\\", "/").replace("{", "(").replace("}", ")")
    return "".join(f"\\{mark}" if mark in "&%$#_" else mark for mark in plain).replace("^", " ").replace("~", " ")
