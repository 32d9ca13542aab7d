"""Text from uploaded files made safe to show: as Markdown and inside a figure it reads as it stands."""

import html
import re

_MARKS = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~$&^=\"'/@])")
_OPTION = re.compile(r"^--(?=[a-z])")  # of the command line; a page has controls instead
_LISTED = 200  # characters of allowed names that a sentence may carry
_JOINER = "\u2060"  # invisible and without width: keeps :name: from becoming an emoji or an icon


def markdown(text: str) -> str:
    """`text` for st.markdown and its kin: no mark-up, link, colour, icon or formula in it has any effect."""
    line = " ".join(text.split())
    return re.sub(r":(?=\S)", f":{_JOINER}", _MARKS.sub(r"\\\1", line))


def brief(error: Exception) -> str:
    """What is wrong in a sentence: a long list of what is allowed gives way to where it can be read."""
    text = _OPTION.sub("", str(error).replace("--set: ", ""))
    said, allowed, names = text.partition(" Allowed: ")
    return f"{said}{allowed}{names}" if len(names) <= _LISTED else f"{said} The Presets page lists every key."


def label(text: str) -> str:
    """`text` for a figure's axis, legend or hover box, which obey a few HTML tags."""
    return html.escape(" ".join(text.split()), quote=False)
