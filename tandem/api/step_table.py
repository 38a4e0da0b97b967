"""The steps of an artifact as a table."""

from __future__ import annotations

from tandem.runtime.artifact import Artifact, StreamCode
from tandem.workbench.step_shapes import step_shapes
from tandem.workbench.table import Column, Table, Value

_STEPS = (
    Column("name", str, "the layer's, or the step's, name"),
    Column("operators", str, "what it computes, with + between operators"),
    Column("device", str, "which device computes it"),
    Column("macs", int, "useful multiply-accumulates"),
    Column("reason", str, "why the CPU computes it; empty where nothing else could"),
    Column("shapes", str, "types and shapes that a step of the CPU reads and writes"),
    Column("weights", str, "the format of its weights, where one was asked for"),
)


def step_table(artifact: Artifact) -> Table:
    """A row for each layer of the accelerator and each step of the CPU, in their order."""
    rows: list[tuple[Value, ...]] = []
    for step in artifact.manifest.steps:
        code = artifact.code[step.code]
        if isinstance(code, StreamCode):
            rows += (
                (
                    *(layer.name, "+".join(layer.operators), step.device, layer.macs),
                    *(None, None, _weights(artifact, layer.name, layer.macs)),
                )
                for layer in code.layers
            )
        else:
            operators = "+".join(step.operators)
            shapes = " ".join(step_shapes(artifact.manifest, step))
            reason, form = step.reason or None, _weights(artifact, step.name, step.macs)
            rows.append((step.name, operators, step.device, step.macs, reason, shapes, form))
    return Table(_STEPS, tuple(rows))


def _weights(artifact: Artifact, name: str, macs: int) -> str | None:
    found = artifact.manifest.weights_of(name, macs)
    return None if found is None else str(found)
