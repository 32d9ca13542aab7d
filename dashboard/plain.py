"""Text from uploaded files made safe to show: as Markdown and inside a figure it reads as it stands."""

import html
import re

_MARKS = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~$&^=\"'/@])")
_OPTIONS = re.compile(r"(--[a-z][a-z-]*(?: --[a-z][a-z-]*)*): ")  # of the command line; a page has controls
# What the sidebar calls a value that the command line and presets know by this key.
CONTROLS = {
    "heads_q": "Q heads",
    "heads_kv": "KV heads",
    "head_dim": "Head dim",
    "tensor_parallel": "Tensor parallel (GPUs)",
}
_KEY = re.compile(rf"\b({'|'.join(CONTROLS)})\b")
_LISTED = 200  # characters of allowed names that a sentence may carry
_JOINER = "\u2060"  # invisible and without width: keeps :name: from becoming an emoji or an icon


def markdown(text: str) -> str:
    """`text` for st.markdown and its kin: no mark-up, link, colour, icon or formula in it has any effect."""
    line = " ".join(text.split())
    return re.sub(r":(?=\S)", f":{_JOINER}", _MARKS.sub(r"\\\1", line))


def brief(error: Exception | str) -> str:
    """What is wrong in a sentence for a page: fields by their labels, no options of the command line.

    A long list of what is allowed gives way to where it can be read.
    """
    text = "\n".join(map(of_fields, str(error).splitlines()))
    said, allowed, names = text.partition(" Allowed: ")
    return f"{said}{allowed}{names}" if len(names) <= _LISTED else f"{said} The Presets page lists every key."


def of_fields(line: str) -> str:
    """A line of an error about command-line options as one about the fields of a page; others as they stand."""
    if line.startswith(("--set: ", "--set ")):
        return line.removeprefix("--set").lstrip(": ")
    options = _OPTIONS.match(line)
    if options is None:
        return line.removeprefix("--")
    said = _KEY.sub(lambda key: CONTROLS[key[0]], line[options.end() :])
    first, *more = options[1].split()
    name = first.removeprefix("--")
    return said if more else f"{CONTROLS.get(name.replace('-', '_'), name)}: {said}"


def label(text: str) -> str:
    """`text` for a figure's axis, legend or hover box, which obey a few HTML tags."""
    return html.escape(" ".join(text.split()), quote=False)
