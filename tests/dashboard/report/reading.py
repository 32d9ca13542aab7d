"""Reading a report back with the standard parser: tags, text, tables, figures, and what it would fetch."""

import base64
import csv
import io
import json
from html.parser import HTMLParser

VOID = {"meta", "br", "img", "link", "input", "hr"}


class Read(HTMLParser):
    """The document as lists; fails on tags that do not match."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags, self.open, self.text = [], [], []
        self.tables, self.blocks, self.scripts, self.downloads = [], {}, [], []
        self._cell = self._block = None
        self.feed(text)
        self.close()
        assert self.open == [], self.open

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.tags.append((tag, given))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self._cell = []
        elif tag == "script":
            self._block = given.get("data-plot", "")
        elif tag == "a" and given.get("href", "").startswith("data:text/csv"):
            content = base64.b64decode(given["href"].partition("base64,")[2]).decode()
            self.downloads.append(list(csv.DictReader(io.StringIO(content))))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag
        if tag in ("td", "th"):
            self.tables[-1][-1].append("".join(self._cell))
            self._cell = None

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            if self._block:
                self.blocks[self._block] = json.loads(data)
            else:
                self.scripts.append(data)
        elif self.open and self.open[-1] != "style":
            self.text.append(data)
            if self._cell is not None:
                self._cell.append(data)

    @property
    def words(self):
        return " ".join(" ".join(self.text).split())

    def fetched(self):
        """Every address that a browser would load by itself."""
        loading = {"src", "srcset", "data", "poster", "background", "action"}
        found = [value for _, given in self.tags for key, value in given.items() if key in loading]
        return found + [given["href"] for tag, given in self.tags if tag in ("link", "base") and "href" in given]

    def rows(self, column):
        """The first download that has such a column."""
        return next(rows for rows in self.downloads if rows and column in rows[0])

    def table(self, first):
        """The rows of the table whose first header is `first`."""
        return next(table for table in self.tables if table and table[0] and table[0][0] == first)
