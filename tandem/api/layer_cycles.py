"""Where the cycles of a layer went."""

from __future__ import annotations

from dataclasses import dataclass

from tandem.workbench.table import Column, Table
from tandem.workbench.why import Why

_PARTS = (
    Column("cause", str, "what the compute unit did or waited for"),
    Column("cycles", int, "clock cycles"),
    Column("share", float, "the part of the layer's cycles, 0 to 1", ".1%"),
)
_PATH = (
    Column("kind", str, "what the edge of the path is"),
    Column("queue", str, "the token queue, of an edge that is a token"),
    Column("instruction", int, "the number of the instruction in the stream"),
    Column("text", str, "the instruction"),
    Column("start", int, "the clock cycle at which the edge begins, from launch"),
    Column("end", int, "the clock cycle at which it ends"),
    Column("cycles", int, "clock cycles"),
)


@dataclass(frozen=True, slots=True, repr=False)
class LayerCycles:
    """The causes of a layer's cycles, and the critical path through its events; both sum to the
    layer's cycles."""

    why: Why

    @property
    def layer(self) -> str:
        """The layer's name."""
        return self.why.name

    @property
    def cycles(self) -> int:
        """The layer's clock cycles."""
        return self.why.profile.cycles or 0

    @property
    def parts(self) -> Table:
        """Cycles by cause, as seen from compute."""
        return Table(
            _PARTS,
            tuple(
                (cause.value, cycles, cycles / max(self.cycles, 1))
                for cause, cycles in self.why.parts.items()
            ),
        )

    @property
    def path(self) -> Table:
        """The edges of the critical path, in order of time."""
        return Table(
            _PATH,
            tuple(
                (
                    placed.edge.kind.value,
                    None if placed.edge.queue is None else str(placed.edge.queue),
                    placed.edge.instruction,
                    placed.text,
                    placed.edge.start,
                    placed.edge.end,
                    placed.edge.cycles,
                )
                for placed in self.why.path
            ),
        )

    def __repr__(self) -> str:
        parts = Table(_PARTS, tuple(row for row in self.parts.rows if row[1]))
        kinds = ", ".join(
            f"{kind.value} {cycles:,}" for kind, (_, cycles) in self.why.by_kind.items() if cycles
        )
        return f"{self.layer}: {self.cycles:,} cycles\n{parts}\ncritical path: {kinds}"
