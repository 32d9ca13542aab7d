"""Measured files of Nsight Compute, Nsight Systems and nvprof, read to launches in base units.

    from dashboard.measured import read
    launches = read("fa.csv")

`read` raises Refused, with a sentence for the user, where a file holds no launches, and NeedsAnswer where
its thousands and decimal separators cannot be told apart. Nothing in here imports streamlit.
"""

from dashboard.measured.errors import MeasuredError, NeedsAnswer, Refused
from dashboard.measured.launch import Launch
from dashboard.measured.reader import read

__all__ = ["Launch", "MeasuredError", "NeedsAnswer", "Refused", "read"]
