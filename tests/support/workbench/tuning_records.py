"""Records of one small workload, with chosen outcomes."""

from __future__ import annotations

from tandem.compiler.te.knobs import Choice
from tandem.compiler.tune.recorded import Identity, Proposer
from tandem.compiler.tune.records import Record
from tandem.compiler.tune.trial import Outcome

IDENTITY = Identity("1", "accelerator", {"name": "tiny"}, "latency=16", "conv2d", {"data": [1, 2]})
INFINITE = float("inf")


def record(
    x: int, outcome: Outcome, explorer: str = "grid", identity: Identity = IDENTITY
) -> Record:
    choice: Choice = {"x": x}
    return identity.record(choice, outcome, INFINITE, Proposer(explorer, 0))
