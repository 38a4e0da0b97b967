"""`--explain`: why operators run on the CPU, and what its round trips cost, as tables."""

from __future__ import annotations

from collections.abc import Sequence

from tandem.runtime.artifact import Manifest, StoredWeights
from tandem.scripts.tables import plain_console, plain_table, print_table, whole_number
from tandem.workbench.round_trips import RoundTrip
from tandem.workbench.step_shapes import step_shapes


def print_reasons(manifest: Manifest) -> None:
    """Print a row for each distinct triple of operators, shapes and reason of the CPU's steps."""
    console = plain_console()
    console.print()
    steps = [step for step in manifest.steps if step.on_host]
    if not steps:
        console.print("nothing is on the CPU")
        return
    table = plain_table(("layer", "on the CPU", "types and shapes, and why"), ())
    alike: dict[tuple[str, str, str], list[str]] = {}
    for step in steps:
        operators = " + ".join(dict.fromkeys(step.operators))
        shapes = " ".join(step_shapes(manifest, step))
        alike.setdefault((operators, shapes, step.reason), []).append(step.name)
    for (operators, shapes, reason), names in alike.items():
        text = reason or "it was compiled for the CPU alone"
        more = f" +{len(names) - 1}" if len(names) > 1 else ""
        # Each reason of a step on a line of its own.
        lines = "\n".join((shapes, *text.split("; ")))
        table.add_row(names[0] + more, operators, lines)
    print_table(console, table)


def print_weights(manifest: Manifest) -> None:
    """Print a row for each format of weights and reason; nothing if none was asked for."""
    if not manifest.weights:
        return
    console = plain_console()
    console.print()
    table = plain_table(("weights", "format", "in memory, and why"), ("bytes", "bytes\nin int8"))
    alike: dict[tuple[str, str], list[StoredWeights]] = {}
    for weights in manifest.weights:
        told = ": ".join(filter(None, (weights.memory, weights.reason)))
        alike.setdefault((str(weights), told), []).append(weights)
    for (form, told), layers in alike.items():
        more = f" +{len(layers) - 1}" if len(layers) > 1 else ""
        sizes = [sum(layer.bytes for layer in layers), sum(layer.elements for layer in layers)]
        table.add_row(layers[0].layer + more, form, told, *map(whole_number, sizes))
    print_table(console, table)


def print_round_trips(trips: Sequence[RoundTrip]) -> None:
    """Print a row for each round trip; nothing if there is none."""
    if not trips:
        return
    console = plain_console()
    console.print()
    timed = trips[0].seconds is not None
    numbers = ["bytes\nto CPU", "bytes\nback"] + (["CPU\nms", "of it\nlayout"] if timed else [])
    table = plain_table(("round trip after", "before"), numbers)
    for trip in trips:
        cells = [whole_number(trip.bytes_to_cpu), whole_number(trip.bytes_to_accelerator)]
        times = (trip.seconds, trip.layout_seconds) if timed else ()
        cells += [f"{(seconds or 0) * 1e3:.3f}" for seconds in times]
        table.add_row(trip.after, trip.before, *cells)
    print_table(console, table)
    count = f"{len(trips)} round trip{'s' * (len(trips) > 1)}"
    console.print(f"{count}: without, {len(trips) + 1} launches would be one")
