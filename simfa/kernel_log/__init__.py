"""Logs of an instrumented FlashAttention-3 kernel, and their translation into traces (sections 5.1 and 5.2)."""
