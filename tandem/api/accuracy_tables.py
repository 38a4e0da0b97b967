"""What a network loses by its integers, and by its returns to the CPU, as tables."""

from __future__ import annotations

from collections.abc import Sequence

from tandem.workbench.accuracy import LayerLosses
from tandem.workbench.round_trips import RoundTrip
from tandem.workbench.sqnr import finite
from tandem.workbench.table import Column, Table

_LOSSES = (
    Column("name", str, "the layer's name"),
    Column("operators", str, "what it computes, with + between operators"),
    Column("sqnr", float, "signal to quantisation noise with all that is inherited, in dB", ".1f"),
    Column("own_sqnr", float, "the same of the layer by itself, in dB", ".1f"),
    Column("clipped", float, "the part of its results at the limits of int8, 0 to 1", ".2%"),
)
_TRIPS = (
    Column("after", str, "the last layer of the launch before"),
    Column("before", str, "the first layer of the launch after"),
    Column("operators", str, "what the CPU computes between them"),
    Column("bytes_to_cpu", int, "bytes of the accelerator's results that the CPU reads"),
    Column("bytes_to_accelerator", int, "bytes of the CPU's results that the accelerator reads"),
    Column("seconds", float, "wall-clock time of the CPU, in s"),
    Column("layout_seconds", float, "the part of it that only changes layouts, in s"),
)


def losses_table(losses: LayerLosses) -> Table:
    """A row for each layer, the one that loses most by itself first; no error is an unknown one."""
    return Table(
        _LOSSES,
        tuple(
            (
                error.name,
                "+".join(error.operators),
                finite(error.sqnr),
                finite(error.own_sqnr),
                float(error.clipped),
            )
            for error in losses.worst_first
        ),
    )


def trips_table(trips: Sequence[RoundTrip]) -> Table:
    """A row for each return from the accelerator to the CPU, in the network's order."""
    return Table(
        _TRIPS,
        tuple(
            (
                trip.after,
                trip.before,
                "+".join(trip.operators),
                trip.bytes_to_cpu,
                trip.bytes_to_accelerator,
                trip.seconds,
                trip.layout_seconds,
            )
            for trip in trips
        ),
    )
