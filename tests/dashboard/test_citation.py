"""What to cite: the paper, this code, the experiment."""

import re

from dashboard import citation, provenance
from dashboard.recipe import Recipe


def test_the_line_names_paper_code_parameters_and_experiment():
    experiment = Recipe(llm="llama3.1-405b", seq=65_536).experiment()
    line = citation.line(citation.subject(experiment))
    for part in (citation.TITLE, "Zhongchun Zhou", "arXiv:2605.00555", provenance.said(), experiment.words()):
        assert part in line
    assert "calibrated parameters" in line and "what if" not in line and "\n" not in line


def test_changed_preset_values_are_part_of_it():
    experiment = Recipe(set="l2.effective_bytes=30MiB\nsm.count=100").experiment()
    assert citation.overrides(experiment) == {"sm.count": 100, "l2.effective_bytes": 30 * 2**20}
    assert "what if sm.count=100, l2.effective_bytes=31457280" in citation.subject(experiment)


def test_bibtex_has_balanced_braces_and_one_entry_for_each():
    text = citation.bibtex("100 % of {x} & \\y_z # $ ^ ~")
    assert re.findall(r"^@(\w+)\{([^,]+),$", text, re.M) == [
        ("misc", "zhou2026simfa"),
        ("software", "simfa-dashboard"),
    ]
    assert text.count("{") == text.count("}")
    assert r"100 \% of (x) \& /y\_z \# \$" in text


def test_hostile_words_stay_on_one_line():
    assert "\n" not in citation.line("a\nb\r\nc")
