"""Where a run is put to cycle zero, so that two runs can be read side by side: its start, a CTA, or a K/V tile."""

import pandas as pd

from presets.errors import PresetError

START, CTA, TILE = "start", "cta", "tile"
PLACES = {START: "Start of the runs", CTA: "A CTA of the SM", TILE: "A K/V tile of a CTA"}


def ctas_of(spans: pd.DataFrame) -> list[int]:
    """The CTAs that the SM ran, in order of their first span."""
    return [int(cta) for cta in spans.groupby("cta")["start_cycle"].min().sort_values(kind="stable").index]


def tiles_of(spans: pd.DataFrame, cta: int) -> list[int]:
    """Cycles at which consumer 1 began the softmax of each K/V tile of a CTA."""
    steps = spans[(spans["row"] == "consumer 1") & (spans["category"] == "softmax") & (spans["cta"] == cta)]
    return sorted(int(cycle) for cycle in steps["start_cycle"])


def origin(spans: pd.DataFrame, place: str, nth_cta: int, nth_tile: int) -> int:
    """The cycle of the place, counting CTAs of the SM and tiles of the CTA from 1; PresetError if it has none."""
    if place == START:
        return 0
    ctas = ctas_of(spans)
    if not 1 <= nth_cta <= len(ctas):
        raise PresetError(f"the SM ran {len(ctas)} CTAs, there is no CTA {nth_cta}; choose 1 to {len(ctas)}")
    cta = ctas[nth_cta - 1]
    if place == CTA:
        return int(spans.loc[spans["cta"] == cta, "start_cycle"].min())
    tiles = tiles_of(spans, cta)
    if not 1 <= nth_tile <= len(tiles):
        raise PresetError(f"CTA {nth_cta} has {len(tiles)} K/V tiles, there is no tile {nth_tile}")
    return tiles[nth_tile - 1]


def words(place: str, nth_cta: int, nth_tile: int) -> str:
    """The place as the axis names it; nothing for the start of the run."""
    if place == START:
        return ""
    cta = f"CTA {nth_cta} of the SM"
    return f"the start of {cta}" if place == CTA else f"the softmax of K/V tile {nth_tile} of {cta}"
