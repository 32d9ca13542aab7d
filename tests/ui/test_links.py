"""Every control of every page: what is set is in the URL, and that URL opens the same page in a new session."""

import pytest
from streamlit.testing.v1 import AppTest

from tests.ui.conftest import ROOT

KINDS = (
    "number_input",
    "text_input",
    "text_area",
    "selectbox",
    "multiselect",
    "toggle",
    "segmented_control",
    "pills",
    "slider",
    "select_slider",
)
PASSING = {  # pickers that empty themselves
    "Change a preset value",
    "Add a parameter",
}


def opened(page, query=()):
    """A new session at a page; its query as a browser would have typed it."""
    app = AppTest.from_file(str(ROOT / "dashboard" / "app.py"), default_timeout=120)
    query = dict(query)
    for key, value in query.items():
        app.query_params[key] = value
    app.run()
    if page != "compare":
        app = app.switch_page(f"views/{page}.py")
        for key, value in query.items():  # the first page has put its own state there
            app.query_params[key] = value
        app.run()
    assert not app.exception
    return app


def query(app):
    return {key: value[0] if isinstance(value, list) else value for key, value in app.query_params.items()}


def values(app):
    """Every control by kind and label, with what it shows."""
    found = {}
    for kind in KINDS:
        for widget in getattr(app, kind):
            if widget.label not in PASSING:
                found[kind, widget.label] = widget.value
    return found


def named(app, kind, label):
    return next(widget for widget in getattr(app, kind) if widget.label == label)


SIDEBAR = [
    ("selectbox", "Model", "llama3-70b"),
    ("number_input", "Sequence length (tokens)", 640),
    ("toggle", "Causal mask", True),
    ("number_input", "Batch", 2),
    ("selectbox", "Dtype", "bf16"),
    ("selectbox", "GPU", "h100-sxm"),
    ("selectbox", "Parameters", "calibrated"),
    ("number_input", "Tensor parallel (GPUs)", 2),
    ("text_area", "As text, one KEY=VALUE a line", "l2.bytes=60MiB\ndram.channels=64"),
]
SPLIT = [("toggle", "K/V length differs", True), ("number_input", "K/V length S (tokens)", 1280)]
BARE = [
    ("selectbox", "Model", "bare"),
    ("number_input", "Q heads", 24),
    ("number_input", "KV heads", 8),
    ("number_input", "Head dim", 64),
    ("selectbox", "Kernel", "fa3"),
]
CASES = {
    "compare": [
        [*SIDEBAR, *SPLIT],
        BARE,
        [("toggle", "LLM-Viewer", True), ("toggle", "Launch order", True), ("selectbox", "Differences to", "genz")],
        [("segmented_control", "View", "Whole run")],
    ],
    "regimes": [
        SIDEBAR,
        [
            ("slider", "Effective L2 (MiB)", 40.0),
            ("select_slider", "Tile T_M (query rows)", 64),
            ("select_slider", "Occupancy (CTAs per SM)", 2),
            ("slider", "SMs", 100),
            ("select_slider", "KV heads in flight", 4),
            ("segmented_control", "Grid order", "head_fastest"),
            ("segmented_control", "K/V passes", "sawtooth"),
            ("toggle", "LLM-Viewer", True),
        ],
    ],
    "timeline": [
        [
            ("number_input", "SM", 3),
            ("text_input", "Second run: what if", "tma.inflight_lines=128"),
            ("selectbox", "Cycle zero at", "tile"),
            ("number_input", "CTA", 2),
            ("number_input", "K/V tile", 3),
        ],
        [("segmented_control", "Show", "Middle")],
    ],
    "sweep": [
        [
            ("selectbox", "Points", "list"),
            ("selectbox", "Estimator", "genz"),
            ("selectbox", "Quantity", "latency_us"),
            ("text_area", "Varied, one parameter a line", "seq=1024,2048\nbatch=1,2"),
        ],
        [
            ("text_area", "Varied, one parameter a line", "seq=1024,2048\nbatch=1,2\ncausal=false,true"),
            ("selectbox", "causal", "true"),
            ("selectbox", "Horizontal", "tflops"),
            ("selectbox", "Vertical", "batch"),
        ],
        [
            ("selectbox", "Points", "sensitivity"),
            ("multiselect", "Preset values", ["l2.bytes", "sm.count"]),
            ("selectbox", "Change", 20),
        ],
        [("selectbox", "Points", "sensitivity"), ("multiselect", "Preset values", [])],
    ],
    "measured": [
        [
            ("segmented_control", "Quantity", "dram_bytes"),
            ("pills", "Estimators", ["simfa-python", "simfa-launch-order"]),
            ("toggle", "At the measured clock", False),
            ("toggle", "Also without a clock", True),
        ],
        [("selectbox", "Kernel", 1), ("selectbox", "Workload", 1)],
    ],
    "presets": [[*SIDEBAR[:2], ("pills", "Show", ["measured"])], [("pills", "Show", [])]],
    "validation": [[], [("segmented_control", "Section", "paper"), ("pills", "View", "fig6")]],
}


def changed(app, page, changes):
    for kind, label, value in changes:
        widget = named(app, kind, label)
        if isinstance(value, int) and not isinstance(value, bool) and page == "measured":
            widget.select_index(value).run()  # its values are names of data sets
        else:
            widget.set_value(value).run()
        assert not app.exception, (label, app.exception)
    return app


@pytest.mark.parametrize(("page", "number"), [(page, n) for page, sets in CASES.items() for n in range(len(sets))])
def test_a_link_brings_the_whole_page_back(page, number):
    before = changed(opened(page), page, CASES[page][number])
    link = query(before)
    after = opened(page, link)
    passing = {} if "view" in link else {("segmented_control", "View")}  # drawn once there is a simulation
    shown, wanted = ({key: v for key, v in values(app).items() if key not in passing} for app in (after, before))
    assert shown == wanted
    assert query(after) == link
    assert number or page == "validation" or link  # something was in it


@pytest.mark.parametrize("page", CASES)
def test_every_control_of_a_page_is_changed_somewhere_above(page):
    """A new control without a case fails here: give it one, and a place in the URL."""
    sidebar = {label for case in (SIDEBAR, SPLIT, BARE) for _, label, _ in case} | {"Powers of two"}
    tried = {label for case in CASES[page] for _, label, _ in case}
    shown = {label for _, label in values(opened(page))}
    assert shown - sidebar - tried == set()


def test_what_a_link_holds_of_other_pages_is_not_lost_on_the_way():
    link = {"llm": "llama3-70b", "vary": "seq=512,1024", "sm": "5", "measured_quantity": "dram_bytes"}
    assert query(opened("validation", link)) == link
    assert query(opened("compare", link)) == link


def test_a_baseline_travels_with_what_it_is_compared_with():
    app = opened("compare")
    app.button(key="pin").click().run()
    named(app, "selectbox", "Differences to").set_value("genz").run()
    after = opened("compare", query(app))
    assert named(after, "selectbox", "Differences to").value == "genz"
    assert query(after) == query(app)


HOSTILE = {
    "view": "<script>",
    "timeline_view": "Nowhere",
    "window": "0..1e99",
    "box": "'; drop",
    "sweep_tab": "<b>",
    "heat_fixed": "x" * 5000,
    "pareto_x": "nothing",
    "measured_quantity": "<img src=x>",
    "measured_models": "a,b,,",
    "measured_kernel": "../../etc",
    "preset_labels": "<i>",
    "reference_pinned": "nobody",
    "keys": "none,none",
}


@pytest.mark.parametrize("page", CASES)
def test_a_hostile_link_opens_a_page_without_an_error(page):
    app = opened(page, HOSTILE)
    assert not app.exception


def notices(app):
    return [item.value.replace("\\", "") for item in app.warning if "The address asks" in item.value]


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("llm", "llama9", "llm: unknown name 'llama9'"),
        ("seq", "-4", "seq: '-4' is no whole number from 1 to"),
        ("causal", "maybe", "causal: 'maybe' is neither true nor false"),
        ("sm", "1e3", "sm: '1e3' is no whole number from 0 to 1,023"),
        ("seqlen", "8192", "unknown key 'seqlen'"),
        ("baseline", "<b>", "baseline: '<b>' names no run"),
        ("baseline", "llm=llama9&seq=8192", "baseline: llm: unknown name 'llama9'"),
        ("set", "x" * 50_000, "has 50,000 characters, 16,000 are allowed"),
        ("metric", "speed", "metric: unknown name 'speed'"),
    ],
)
def test_what_an_address_asks_in_vain_is_named_until_it_is_dismissed(key, value, said):
    app = opened("compare", {key: value, "batch": "2"})
    (shown,) = notices(app)
    assert said in shown
    assert named(app, "number_input", "Batch").value == 2  # the rest of the address is followed
    app.button(key="dismiss_missed").click().run()
    assert not notices(app)


@pytest.mark.parametrize(
    ("page", "key", "value", "said"),
    [
        ("timeline", "sm", "900", "sm: 900 is shown as 131: NVIDIA H800 SXM5 has SMs 0 to 131"),
        ("timeline", "window", "1e400..2", "window: '1e400..2' is no range of cycles, written as 0..20000"),
        ("timeline", "box", "5..1", "box: '5..1' is no range of cycles"),
        ("validation", "study", "![x](//a.bc)", "study: '![x](//a.bc)' is no view"),
    ],
)
def test_what_only_a_page_can_tell_is_named_there(page, key, value, said):
    app = opened(page, {key: value})
    (shown,) = notices(app)
    assert said in shown
    app.button(key="dismiss_missed").click().run()
    assert not notices(app)


def test_a_slider_that_another_experiment_narrows_is_no_fault_of_the_address():
    app = opened("regimes", {"if_heads": "8"})
    assert not notices(app)
    app.number_input(key="tp").set_value(8).run()
    assert not app.exception and not notices(app)


@pytest.mark.parametrize(
    ("key", "value"), [("if_tm", "7"), ("if_l2_mib", "banana"), ("if_sms", "0"), ("if_grid", "x"), ("if_kv", "<b>")]
)
def test_a_slider_that_an_address_sets_in_vain_is_named(key, value):
    app = opened("regimes", {key: value})
    assert [f"{key}: '{value}' is none of its values" in said for said in notices(app)] == [True]
    app.button(key="dismiss_missed").click().run()
    assert not notices(app)


def test_many_wrong_keys_are_named_in_part():
    (shown,) = notices(opened("compare", {f"k{n}": "1" for n in range(50)}))
    assert "'k2'" in shown and "and 47 more" in shown and "'k3'" not in shown


@pytest.mark.parametrize("page", CASES)
def test_a_page_understands_its_own_address(page):
    assert not notices(opened(page, query(changed(opened(page), page, CASES[page][0]))))


def test_the_visible_and_the_selected_window_of_a_timeline_travel():
    app = opened("timeline", {"window": "1000..5000", "box": "2000..2500"})
    assert "Selected window: 500 cycles" in " ".join(item.value for item in app.markdown)
    assert query(app)["window"] == "1000..5000" and query(app)["box"] == "2000..2500"
    app.button(key="timeline_later").click().run()
    assert query(app)["window"] == "4200..8200"


def test_a_first_view_is_in_no_link():
    assert "window" not in query(opened("timeline")) and "box" not in query(opened("timeline"))


@pytest.mark.parametrize("tab", ["Heat map", "Pareto"])
def test_the_open_tab_of_a_sweep_travels(tab):
    app = opened("sweep", {"sweep_tab": tab})
    assert app.session_state["sweep_tab"] == tab and query(app)["sweep_tab"] == tab
