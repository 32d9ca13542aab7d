"""URLs that somebody made up: every one opens a page with an answer or a sentence, at once, never a traceback."""

import pytest
from streamlit.testing.v1 import AppTest

from tests.ui.conftest import ROOT

LONG = "500000"  # tokens: nothing is simulated without a click
PIB = 2**50
LARGEST = {
    "llm": "bare", "heads_q": "4096", "heads_kv": "4096", "head_dim": "1024", "seq": "16777216", "batch": "65536",
}  # fmt: skip

HOSTILE = [
    ("compare", {"seq": "99999999999999999999", "batch": "-1", "tp": "1e308"}),
    ("compare", {"seq": "\u0663", "llm": "\U0001f600", "gpu": "../../etc/passwd", "kernel": "/etc/shadow.toml"}),
    ("compare", {"set": "<script>alert(1)</script>=1"}),
    ("compare", {"set": "x" * 1_000_000}),
    ("compare", {"set": "l2.bytes=NaN\nsm.clock_hz=1e999"}),
    ("compare", {"set": "sm.clock_hz=1e-300"}),
    ("compare", {"set": "sm.clock_hz=1e300"}),
    ("compare", {"baseline": "llm=**x**&seq=-1&set=sm.count%3D0"}),
    ("compare", {"llm": "bare", "heads_q": "7", "heads_kv": "3", "head_dim": "1", "tp": "1024"}),
    ("compare", {f"unknown{n}": "1" for n in range(500)}),
    ("compare", {"seq": "1024", "batch": "65536"}),
    ("regimes", {"seq": "1024", "batch": "1024"}),
    ("regimes", {"seq": "1024", "batch": "65536"}),
    ("compare", LARGEST),
    ("regimes", LARGEST),
    ("timeline", LARGEST),
    ("regimes", {"set": "sm.count=2147483647"}),
    ("regimes", {"set": f"l2.bytes={PIB}\nl2.effective_bytes={PIB}", "if_l2_mib": "1073741824.0"}),
    ("regimes", {"set": "l2.effective_bytes=1"}),
    ("regimes", {"set": "sm.clock_hz=1e-15"}),
    ("regimes", {"set": "pipeline.occupancy_ctas=2147483647", "if_ctas": "2147483647"}),
    ("regimes", {"if_l2_mib": "NaN", "if_tm": "-1", "if_sms": "1e9", "if_grid": "<b>", "if_heads": "9" * 40}),
    ("timeline", {"sm": "99999", "align": "<i>", "nth_cta": "0", "second": "l2.bytes=-1 sm.count=0"}),
    ("sweep", {"vary": "seq=1.5..1e308*1e200", "by": "'; drop", "metric": "x", "estimator": "\x00"}),
    ("sweep", {"vary": "l2.bytes=1..1e308*1e300"}),
    ("sweep", {"vary": "seq=1..999999999999+1\nbatch=1..99999+1"}),
    ("sweep", {"by": "sensitivity", "keys": "x,y" * 500, "change": "0"}),
]


@pytest.mark.parametrize(("page", "query"), HOSTILE)
def test_a_made_up_url_is_answered(page, query):
    app = AppTest.from_file(str(ROOT / "dashboard" / "app.py"), default_timeout=60)
    for key, value in ({"seq": LONG} | query).items():
        app.query_params[key] = value
    app.run()
    if page != "compare":
        app.switch_page(f"views/{page}.py").run()
    assert not app.exception, app.exception[0].message
    assert app.error or app.markdown, "neither an answer nor a sentence"
