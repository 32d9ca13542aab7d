"""What-ifs of the Regimes page: sliders that start at the presets' values and override them where moved."""

from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dashboard import what_if
from dashboard.widgets import url
from presets import units
from presets.experiment import Experiment

KEYS: dict[str, url.Value] = {
    "if_l2_mib": "",
    "if_tm": "",
    "if_ctas": "",
    "if_sms": "",
    "if_heads": "",
    "if_grid": "",
    "if_kv": "",
}
_ABOUT_GRID = (
    "For the launch-order estimator: which index of the grid counts first. Blocks fastest: the query tiles of one "
    "head start together, and few heads are in flight. Heads fastest: the same tile of many heads starts, and all "
    "their K/V must fit."
)
_ABOUT_KV = (
    "For the launch-order estimator. Cyclic: every pass reads K/V from the same end. Sawtooth: each pass starts "
    "where the last one ended, and finds in L2 what that one read last."
)
_MIB = 2**20
_LARGEST_L2_MIB, _MOST_SMS, _MOST_CTAS = 128, 264, 4
_TILES = (64, 128, 192, 256)
_GRIDS = {"block_fastest": "Blocks fastest", "head_fastest": "Heads fastest"}
_TRAVERSALS = {"cyclic": "Cyclic", "sawtooth": "Sawtooth"}


def what_ifs(experiment: Experiment) -> tuple[dict[str, str], DeltaGenerator]:
    """The settings of the moved sliders, none where all are as preset; and the row's end for more controls."""
    _remember_url(experiment)
    first, second = st.columns(5), st.container(horizontal=True, vertical_alignment="bottom", gap="medium")
    found: dict[str, str] = {}
    with first[0]:
        found |= _l2(experiment)
    with first[1]:
        found |= _tile(experiment)
    with first[2]:
        found |= _occupancy(experiment)
    with first[3]:
        found |= _sms(experiment)
    with first[4]:
        found |= _heads(experiment)
    with second:
        found |= _order(experiment)
        st.session_state["if_drawn"] = True
        if st.button("Reset", disabled=not found, help="All of these back to the presets."):
            st.session_state["if_generation"] = st.session_state.get("if_generation", 0) + 1
            st.session_state["if_started"] = dict.fromkeys(KEYS, "")
            st.rerun()
    return found, second


def published() -> dict[str, url.Value]:
    """What the URL says about moved sliders."""
    return dict(st.session_state.get("if_now", {}))


def _remember_url(experiment: Experiment) -> None:
    """The URL as the page was opened, for the GPU and kernel it was opened with."""
    opened = experiment.gpu.name, experiment.kernel.name
    if "if_started" not in st.session_state:
        st.session_state["if_started"] = {key: st.query_params.get(key, "")[:40] for key in KEYS}
        st.session_state["if_opened"] = opened
    if st.session_state["if_opened"] != opened:
        st.session_state["if_started"] = dict.fromkeys(KEYS, "")
    st.session_state["if_now"] = {}


def _key(name: str, experiment: Experiment, preset: Any) -> str:
    """A widget's name changes with what its start value depends on, so that it starts there again."""
    generation = st.session_state.get("if_generation", 0)
    return f"{name}-{experiment.gpu.name}-{experiment.kernel.name}-{preset}-{generation}"


def _start(name: str, preset: Any, allowed: Any) -> Any:
    """The URL's value if it is one the widget can show, else the preset's."""
    given = st.session_state["if_started"].get(name, "")
    found = [value for value in allowed if str(value) == given]
    if given and not found:
        _missed(name)
    return found[0] if found else preset


def _start_whole(name: str, preset: int | float, most: int) -> int | float:
    """The URL's value where it is a whole number from 1 to `most`, else the preset's; `most` may be huge."""
    given = str(st.session_state["if_started"].get(name, ""))
    digits = given.removesuffix(".0")
    if digits.isascii() and digits.isdigit() and len(digits) < 20 and 1 <= int(digits) <= most:
        return int(digits)
    if given:
        _missed(name)
    return preset


def _missed(name: str) -> None:
    """Say once that the slider cannot show what the URL asks for; later, another experiment may be why."""
    if "if_drawn" not in st.session_state:
        url.missed(f"{name}: '{st.session_state['if_started'][name]}' is none of its values")
        st.session_state["if_started"][name] = ""


def _moved(name: str, value: Any, preset: Any, settings: dict[str, str]) -> dict[str, str]:
    if value == preset:
        return {}
    st.session_state["if_now"][name] = str(value)
    return settings


def _l2(experiment: Experiment) -> dict[str, str]:
    l2 = experiment.gpu.l2
    preset = l2.effective_bytes / _MIB
    top = max(_LARGEST_L2_MIB, -(-l2.effective_bytes // _MIB))
    value = st.slider(
        "Effective L2 (MiB)", min(1.0, preset), float(top), float(_start_whole("if_l2_mib", preset, top)), 1.0,
        "%g", key=_key("if_l2_mib", experiment, preset), persist_state="session",
        help=f"Preset {preset:g} MiB. MiB = 2^20 bytes.",
    )  # fmt: skip
    size = round(value * _MIB)
    said = units.text("l2.effective_bytes", size)
    settings = {"l2.effective_bytes": said} | ({"l2.bytes": said} if size > l2.bytes else {})
    return _moved("if_l2_mib", value, preset, settings)


def _tile(experiment: Experiment) -> dict[str, str]:
    preset, groups = experiment.kernel.tile.query_rows, experiment.kernel.pipeline.consumer_warpgroups
    options = sorted({preset, *(rows for rows in _TILES if rows % groups == 0)})
    value = st.select_slider(
        "Tile T_M (query rows)", options, _start("if_tm", preset, options),
        key=_key(f"if_tm{groups}", experiment, preset), persist_state="session",
        help=f"Query rows of one CTA; preset {preset}.",
    )  # fmt: skip
    return _moved("if_tm", value, preset, {"tile.query_rows": str(value)})


def _occupancy(experiment: Experiment) -> dict[str, str]:
    preset = experiment.kernel.pipeline.occupancy_ctas
    options = sorted({*range(1, _MOST_CTAS + 1), preset})
    value = st.select_slider(
        "Occupancy (CTAs per SM)", options, _start("if_ctas", preset, options),
        key=_key("if_ctas", experiment, preset), persist_state="session",
        help=f"O_limit of Table 1; preset {preset}.",
    )  # fmt: skip
    return _moved("if_ctas", value, preset, {"pipeline.occupancy_ctas": str(value)})


def _sms(experiment: Experiment) -> dict[str, str]:
    preset = experiment.gpu.sm.count
    top = max(_MOST_SMS, preset)
    value = st.slider(
        "SMs", 1, top, int(_start_whole("if_sms", preset, top)), key=_key("if_sms", experiment, preset),
        persist_state="session", help=f"N_SM of Table 1; preset {preset}.",
    )  # fmt: skip
    return _moved("if_sms", value, preset, {"sm.count": str(value)})


def _heads(experiment: Experiment) -> dict[str, str]:
    """0 stands for what the launch order gives."""
    most = experiment.workload.batch * experiment.heads_kv
    preset = experiment.kernel.pipeline.live_heads or 0
    options = sorted({0, preset, most, *(n for n in (*range(1, 17), 24, 32, 48, 64, 128) if n <= most)})
    value = st.select_slider(
        "KV heads in flight", options, _start("if_heads", preset, options),
        key=_key(f"if_heads{most}", experiment, preset), persist_state="session",
        format_func=lambda n: str(n) if n else "as launched",
        help="For the launch-order estimator. As launched: what SMs, occupancy and grid order give. "
        "No more heads than resident CTAs (SMs x occupancy) can be in flight.",
    )  # fmt: skip
    return _moved("if_heads", value, preset, {"pipeline.live_heads": str(value)} if value else {})


def _order(experiment: Experiment) -> dict[str, str]:
    pipeline = experiment.kernel.pipeline
    found: dict[str, str] = {}
    for name, label, key, titles, preset, about in (
        (
            "if_grid",
            "Grid order",
            "pipeline.grid_order",
            _GRIDS,
            pipeline.grid_order or "block_fastest",
            _ABOUT_GRID,
        ),
        ("if_kv", "K/V passes", "pipeline.kv_traversal", _TRAVERSALS, pipeline.kv_traversal or "cyclic", _ABOUT_KV),
    ):
        value = st.segmented_control(
            label, list(titles), default=_start(name, preset, titles), key=_key(name, experiment, preset),
            format_func=titles.__getitem__, persist_state="session", required=True,
            help=about,
        )  # fmt: skip
        found |= _moved(name, value or preset, preset, {key: str(value)})
    return found


def applied(experiment: Experiment, settings: dict[str, str]) -> Experiment:
    """The experiment with those settings."""
    return what_if.applied(experiment, settings) if settings else experiment
