"""The tables of docs/accuracy.md: mean cosines of the sentence model in each format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tandem.hw.weight_formats import FORMATS
from tandem.scripts.bench.sentences.activations import Format
from tandem.scripts.bench.sentences.weights_alone import Rounding


def weights_table(means: Mapping[Rounding, float]) -> Iterator[str]:
    """The lines of a table in Markdown: weights alone, by format and size of groups."""
    yield "| weights | bits | nearest | calibrated |"
    yield "|---|--:|--:|--:|"
    for form in (None, *FORMATS):
        for group in sorted({each.group for each in means if each.form == form}):
            nearest, calibrated = (Rounding(form, group, calibrated=way) for way in (False, True))
            cells = _cell(means.get(nearest)), _cell(means.get(calibrated))
            yield f"| {nearest.weights} | {nearest.bits:.3g} | {' | '.join(cells)} |"


def integers_table(means: Mapping[Format, float]) -> Iterator[str]:
    """The lines of a table in Markdown: products of int8 throughout, plain and smoothed."""
    yield "| weights | plain | `--smooth` |"
    yield "|---|--:|--:|"
    for weights in dict.fromkeys(how.weights for how in means):
        plain, smooth = (Format(weights, way) for way in (False, True))
        cells = _cell(means.get(plain)), _cell(means.get(smooth))
        yield f"| {plain.described} | {' | '.join(cells)} |"


def _cell(mean: float | None) -> str:
    return "" if mean is None else f"{mean:.3f}"
