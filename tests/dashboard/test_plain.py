"""Text of uploaded files is shown as it stands: no mark-up in it has any effect."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard import plain
from dashboard.plain import label, markdown
from presets.errors import PresetError


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<img src=x onerror=alert(1)>", r"\<img src\=x onerror\=alert\(1\)\>"),
        ("**bold** _it_ `code`", r"\*\*bold\*\* \_it\_ \`code\`"),
        ("[x](http://a.b)", "\\[x\\]\\(http:\u2060\\/\\/a\\.b\\)"),
        (":red[x] :smile:", ":\u2060red\\[x\\] :\u2060smile:"),
        ("$x$ a: b", r"\$x\$ a: b"),
        ("two\nlines", "two lines"),
    ],
)
def test_marks_are_escaped(text, shown):
    assert markdown(text) == shown


@given(st.text())
def test_no_mark_stays_bare(text):
    assert re.search(r"(?<!\\)[<>*_`$\[\]|]", markdown(text).replace("\\\\", "")) is None


def test_figures_get_no_tags():
    assert label("<b>x</b><a href='javascript:1'>") == "&lt;b&gt;x&lt;/b&gt;&lt;a href='javascript:1'&gt;"


def test_a_long_list_of_allowed_keys_gives_way_to_where_it_stands():
    long = "--set: unknown key 'x'. Did you mean 'y'? Allowed: " + ", ".join(["some.key"] * 100)
    assert plain.brief(PresetError(long)) == "unknown key 'x'. Did you mean 'y'? The Presets page lists every key."
    short = "unknown GPU 'x'. Allowed: a100, h800"
    assert plain.brief(PresetError(short)) == short
