"""Files that are not measured tables: what they are and what to run instead.

`Remarks` keeps the lines that belong to no table and, when no launch was found, turns them into the one
sentence of the refusal.
"""

from __future__ import annotations

import re

from dashboard.measured.points import COLUMNS
from dashboard.measured.sniff import EXPORT_NCU, EXPORT_NSYS
from dashboard.measured.table import Header

OWN_TABLE = f"a table of your own needs the template's columns, separated by commas ({', '.join(COLUMNS)})"
ADD_CSV = "run ncu again with --csv, or: " + EXPORT_NCU

# Column names that identify a table without kernels, and what it is.
WRONG_TABLES = (
    (("num calls", "name"), "the nsys summary of CUDA API or OS runtime calls", EXPORT_NSYS),
    (("style", "range"), "an nsys summary of NVTX ranges", EXPORT_NSYS),
    (("total time", "count", "operation"), "the nsys summary of memory operations", EXPORT_NSYS),
    (("total", "count", "operation"), "the nsys summary of memory sizes", EXPORT_NSYS),
    (("start", "duration", "corrid", "name", "pid"), "the nsys trace of CUDA API calls", EXPORT_NSYS),
    (("address", "source"), "the source page of Nsight Compute", EXPORT_NCU),
    (("source", "sampling data (all)"), "the source page of Nsight Compute", EXPORT_NCU),
    (("seq", "latency_us"), "a plain table of measured points, not a profiler export", EXPORT_NCU),
)

NO_PERMISSION = (
    "the profiler had no permission to read GPU counters (ERR_NVGPUCTRPERM); allow access to them or run ncu "
    "as administrator"
)
NO_KERNELS = "no kernels were profiled"
ALL_MISSING = (
    "every metric reads n/a: the metric names are not known to this GPU or the counters may not be read; "
    "query the names with ncu --query-metrics and profile again"
)
NO_NUMBERS = "the table lists launches but no metric with a value; profile with --metrics or --set full"
EMPTY_TABLE = "the table has a header but no kernel launches; profile a run that launches kernels on the GPU"
NOT_PROFILED = "; check the -k filter and add --target-processes all"

_KEPT = 400
_QUOTED = 240


class Remarks:
    """Lines outside tables: tool messages, program output, text tables, wrong reports."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._tool: list[str] = []
        self._wrong: list[tuple[str, str]] = []

    def add(self, line: str) -> None:
        text = line.strip()
        if not text:
            return
        if len(self._lines) < _KEPT:
            self._lines.append(text[:2000])
        if text.startswith("==") and len(self._tool) < _KEPT:
            self._tool.append(text[:2000])

    def add_table(self, header: Header) -> bool:
        """True, and remembered, where the header is that of a known table without kernels."""
        for columns, what, run in WRONG_TABLES:
            if header.has(*columns):
                self._wrong.append((what, run))
                return True
        return False

    def sentence(self, had_table: bool) -> str:
        """Why there are no launches in the file and what to run."""
        text = "\n".join(self._tool + self._lines)
        if "ERR_NVGPUCTRPERM" in text:
            return NO_PERMISSION
        if re.search(r"no kernels were profiled", text, re.IGNORECASE):
            return NO_KERNELS + self._errors() + NOT_PROFILED
        if re.search(r"does not contain (CUDA|any)", text):
            return "the nsys report holds no kernels: " + self._quote("does not contain")
        if had_table:
            return EMPTY_TABLE + self._errors()
        return self._other(text)

    def _other(self, text: str) -> str:
        if self._wrong:
            what, run = self._wrong[0]
            return f"this is {what}, without kernel launches; run: {run}"
        for sign, sentence in _TEXTS:
            if re.search(sign, text, re.IGNORECASE | re.MULTILINE):
                return sentence
        if self._errors():
            return "the profiler reported an error and wrote no table" + self._errors()
        return f"no table of kernel launches found in it; {OWN_TABLE}, or export with: {EXPORT_NCU}"

    def _errors(self) -> str:
        """The tool's own error and warning lines, for the end of a sentence."""
        found = [line for line in self._tool if re.match(r"==(ERROR|WARNING)==", line)]
        return f" (the tool says: {' '.join(found)[:_QUOTED]})" if found else ""

    def _quote(self, part: str) -> str:
        return next((line for line in self._tool + self._lines if part in line), "")[:_QUOTED]


_TEXTS = (
    (
        r"\A\s*<(!doctype|html|\?xml)",
        f"this is an HTML or XML page, not a CSV export; export with: {EXPORT_NCU}",
    ),
    (r"\A\s*[\[{]\s*(\"|\{|\}|\]|$)", f"this is JSON, not a CSV export; export with: {EXPORT_NCU}"),
    (
        r"GPU activities:|Time\(%\)\s{2,}|== Profiling result:",
        "this is the text output of nvprof, not CSV; run nvprof with --csv --print-gpu-trace",
    ),
    (
        r"Time\s*\(%\)\s{2,}|\*\* CUDA|Total Time \(ns\)\s{2,}|Start \(ns\)\s{2,}",
        f"this is the text output of nsys stats, not CSV; run: {EXPORT_NSYS}",
    ),
    (
        r"^-{5,}\s+-{3,}|Section: |Metric Name\s{2,}Metric Unit",
        f"this is the text page of ncu, not CSV; {ADD_CSV}",
    ),
    (r"==PROF== ", f"this is the console output of ncu without a table; {ADD_CSV}"),
    (
        r"Generating '.*nsys-rep'|Processing \[.*sqlite",
        f"this is the console output of nsys; run: {EXPORT_NSYS}",
    ),
)
