"""`--accuracy` and `--labels` as text: the loss of each layer, and how often classes are found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

from rich.console import Console

from tandem.scripts.tables import plain_table, print_table
from tandem.workbench.accuracy import ClassAccuracy, LayerLosses
from tandem.workbench.sqnr import ratio_text

_SHOWN = 20
_CLIPPED: Final = 0.01
"""The fraction of results at int8's limits from which on a scale counts as too small."""
_LOST: Final = 6.0
"""The SQNR in dB below which errors are more than half as large as what they disturb."""
_COARSE: Final = 30.0
"""The SQNR in dB below which a layer's own rounding counts as coarse: more is usual."""


def print_losses(
    console: Console, losses: LayerLosses, formats: Mapping[str, str] = MappingProxyType({})
) -> None:
    """Print a row for each of the layers that lose most by themselves, the worst first.

    Parameters
    ----------
    formats
        How weights are stored, by the names of layers; empty where no format was asked for.
    """
    console.print()
    if not losses.in_order:
        console.print(f"against {losses.reference}: no layer has int8 values")
        return
    console.print(f"each layer against {losses.reference}, {losses.samples}, worst first:")
    console.print()
    weights = ("weights",) if formats else ()
    table = plain_table(("layer", "operators", *weights), ("SQNR\ndB", "own\ndB", "\nclipped"))
    for error in losses.worst_first[:_SHOWN]:
        table.add_row(
            error.name,
            " + ".join(error.operators),
            *((formats.get(error.source, ""),) if formats else ()),
            ratio_text(error.sqnr),
            ratio_text(error.own_sqnr),
            f"{error.clipped:.2%}",
        )
    print_table(console, table)
    left = len(losses.in_order) - _SHOWN
    console.print()
    if left > 0:
        console.print(f"and {left} that lose less by themselves: --json and --report have all")
    console.print(
        "SQNR: with all that a layer inherits from those before it; own: by itself, on "
        "float32's inputs rounded to its own scales; clipped: results at the limits of int8"
    )
    for line in _advice(losses):
        console.print(line)


def _advice(losses: LayerLosses) -> Iterator[str]:
    """What to do about the layer that loses most, if it loses much; its scales are the model's own
    in a QDQ network, which nothing here changes."""
    worst = losses.worst_first[0]
    keep = f"--keep-float {worst.name} computes it in float32"
    if worst.only_rounds:
        kept = " ".join(f"--keep-float {name}" for name in worst.readers)
        readers = " and ".join(worst.readers)
        keep = f"it is float32, rounded for {readers}, which {kept} computes in float32, too"
    if not losses.states_scales:
        if worst.clipped > _CLIPPED:
            yield (
                f"{worst.name}: {worst.clipped:.1%} of its results are at the limits of int8, so "
                f"that its scale is too small for these inputs: --calibrate with inputs like "
                f"these, or {keep}"
            )
        elif worst.own_sqnr < _COARSE:
            yield (
                f"{worst.name}: its own {ratio_text(worst.own_sqnr)} dB come of rounding, not of "
                f"clipping: a few large values or weights make the steps coarse; {keep}"
            )
    lost = [error.name for error in losses.in_order if error.sqnr < _LOST]
    if lost:
        yield f"errors of half the values' size and more, below 6 dB: {', '.join(lost[:3])}"


def print_accuracy(console: Console, accuracy: ClassAccuracy) -> None:
    """Print a row for float32 and one for int8, those that are known."""
    console.print()
    table = plain_table(("of the labels",), ("top-1", "top-5", "samples"))
    for name, hits in (("float32", accuracy.real), ("int8", accuracy.int8)):
        if hits is not None:
            parts = (f"{count / hits.samples:.2%}" for count in (hits.top1, hits.top5))
            table.add_row(name, *parts, f"{hits.samples:,}")
    print_table(console, table)
