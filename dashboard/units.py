"""Preset values as people read and type them: `presets.units`, under the name that pages know."""

from presets.units import UNITS, shown, text, unit

__all__ = ["UNITS", "shown", "text", "unit"]
