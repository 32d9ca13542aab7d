"""Text of uploaded files is shown as it stands: no mark-up in it has any effect."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard import plain, what_if
from dashboard.measured.case import settings_of
from dashboard.plain import label, markdown
from dashboard.recipe import Recipe
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


def said(**values: object) -> str:
    """What a page says of a recipe that cannot be built."""
    with pytest.raises(PresetError) as caught:
        Recipe(**values).experiment()  # type: ignore[arg-type]
    return plain.brief(caught.value)


def test_a_shape_that_cannot_be_is_told_by_the_fields_of_the_page():
    assert said(llm="bare", heads_q=7, heads_kv=3) == (
        "Q heads (7) must be a multiple of KV heads (3); allowed for KV heads: 1, 7"
    )
    assert said(llm="bare", head_dim=-1).startswith("Head dim: input should be greater than 0")
    assert said(tp=3).startswith("Tensor parallel (GPUs): 3 does not divide Q heads 32 of llama3-8b; allowed: 1")


def test_a_what_if_keeps_its_keys_and_loses_the_option():
    assert said(set="heads_q=30").startswith("heads_q (30) must be a multiple of heads_kv (8)")
    assert said(set="l2.bytes").startswith("l2.bytes: write it as KEY=VALUE")
    assert said(params="calibrated", set="l2.byts=1").startswith("unknown key 'l2.byts'. Did you mean 'l2.bytes'?")


def test_a_key_given_twice_is_refused_with_both_values():
    sentence = "l2.bytes is given twice, as 100MiB and as 200MiB; give it once"
    assert said(set="l2.bytes=100MiB\nlayers=2\n l2.bytes = 200MiB") == sentence
    with pytest.raises(PresetError) as caught:
        what_if.changed(Recipe().experiment(), "l2.bytes=100MiB, l2.bytes=200MiB")
    assert plain.brief(caught.value) == sentence
    with pytest.raises(PresetError, match="--set: l2.bytes is given twice"):
        settings_of("l2.bytes=100MiB; l2.bytes=200MiB")


def test_other_options_lose_their_dashes_only():
    assert plain.brief(PresetError("--seq: 0 is out of range\n--batch: 0 is too")) == (
        "seq: 0 is out of range\nbatch: 0 is too"
    )
    assert plain.brief(PresetError("seq: 'x' - a word -- is no number")) == "seq: 'x' - a word -- is no number"
