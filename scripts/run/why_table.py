"""`--why`: its layer, and as text the causes of the layer's cycles and its critical path."""

from __future__ import annotations

from collections.abc import Iterable

from rich.table import Table

from tandem.runtime.artifact import Artifact, streams_of
from tandem.scripts.layer_names import no_layer
from tandem.scripts.tables import percentage, plain_console, plain_table, print_table, whole_number
from tandem.workbench.why import Why


def layer_named(artifact: Artifact, name: str) -> str:
    """The layer of the accelerator that has this name, or computes the one that has it; raises
    `CommandError`, with similar names, if there is none."""
    layers = [layer for stream in streams_of(artifact).values() for layer in stream.layers]
    for layer in layers:
        if name in layer.names:
            return layer.name
    raise no_layer("--why", name, [layer.name for layer in layers])


def print_why(why: Why) -> None:
    """Print the causes, the path by kinds of edges, and the longest edges."""
    console = plain_console()
    cycles = why.profile.cycles or 0
    console.print()
    console.print(f"why {why.name} takes {cycles:,} cycles:")
    console.print()
    parts = [(cause.value, part) for cause, part in why.parts.items() if part]
    print_table(console, _shares("as seen from compute", parts, cycles))
    console.print()
    kinds = [(kind.value, length) for kind, (_, length) in why.by_kind.items()]
    print_table(console, _shares("its critical path", kinds, cycles))
    console.print()
    table = plain_table(("longest", "instruction"), ("cycles", "from cycle"))
    for placed in why.longest:
        edge = placed.edge
        kind = edge.kind.value if edge.queue is None else f"token {edge.queue}"
        text = f"{edge.instruction}: {placed.text}"
        table.add_row(kind, text, whole_number(edge.cycles), whole_number(edge.start))
    print_table(console, table)


def _shares(heading: str, parts: Iterable[tuple[str, int]], whole: int) -> Table:
    table = plain_table((heading,), ("cycles", "share"))
    for name, cycles in parts:
        table.add_row(name, whole_number(cycles), percentage(cycles / whole))
    return table
