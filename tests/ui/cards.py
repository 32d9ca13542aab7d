"""The big numbers of a page, as AppTest and the browser see them."""

from dataclasses import dataclass

from streamlit.testing.v1 import AppTest

VALUES = "[data-testid=stMain] [data-testid=stMarkdown] h3"


@dataclass(frozen=True)
class Card:
    title: str
    value: str
    beside: str

    @property
    def name(self) -> str:
        """The estimator's name in a title that wears its colour."""
        return self.title.split("**")[1]


def cards(app: AppTest) -> list[Card]:
    """Every big number of the page, in order."""
    return [card for block in _blocks(app.main) if (card := _card(block))]


def _blocks(block):
    yield block
    for child in getattr(block, "children", {}).values():
        yield from _blocks(child)


def _card(block) -> Card | None:
    said = [getattr(child, "value", None) for child in getattr(block, "children", {}).values()]
    if len(said) not in (2, 3) or not all(isinstance(text, str) for text in said) or not said[1].startswith("### "):
        return None
    value, beside = (text.replace("\\", "") for text in (said[1].removeprefix("### "), *said[2:], "")[:2])
    return Card(said[0], value, beside)
