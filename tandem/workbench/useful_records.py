"""Which of the best records make networks faster.

A record has the best choice of a layer that runs alone. In an instruction stream the loads of the
next layer overlap the last products of a layer, so that little may be left of the layer's gain,
or less than nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tandem.compiler.driver.compile_onnx import PreparedNetwork
from tandem.compiler.tune.best_known import BestKnown, of_machine
from tandem.compiler.tune.plain import canonical, canonical_text
from tandem.compiler.tune.records import Record
from tandem.hw.config_files import parse_config
from tandem.hw.memory_model import parse_memory
from tandem.workbench.devices import Accelerator


@dataclass(frozen=True, slots=True)
class TimedNetwork:
    """A network on one machine.

    Attributes
    ----------
    uses
        Whether a record is of one of its workloads.
    cycles
        The exact cycles of its instruction streams, compiled with these records.
    """

    uses: Callable[[Record], bool]
    cycles: Callable[[Sequence[Record]], int]


def useful_records(records: Sequence[Record], prepared: Sequence[PreparedNetwork]) -> list[Record]:
    """The accelerators' records that `useful_in` keeps, and all other targets'."""
    kept = [record for record in records if record.target != "accelerator"]
    rest = [record for record in records if record.target == "accelerator"]
    while rest:
        own = of_machine(rest, rest[0].machine, rest[0].memory)
        config = parse_config(canonical_text(own[0].machine), "a record")
        accelerator = Accelerator(config, parse_memory(own[0].memory), hiding=True)
        kept += useful_in(own, [timed_network(network, accelerator) for network in prepared])
        rest = [record for record in rest if record not in own]
    return [record for record in records if record in kept]


def timed_network(prepared: PreparedNetwork, accelerator: Accelerator) -> TimedNetwork:
    """A network on an accelerator."""
    accelerator.build(prepared)
    workloads = {
        (task.template.name, canonical(task.workload)) for task in accelerator.tasks(prepared)
    }

    def uses(record: Record) -> bool:
        return (record.template, canonical_text(record.workload)) in workloads

    def cycles(records: Sequence[Record]) -> int:
        tuned = accelerator.with_tuned(BestKnown(records))
        return tuned.cycles(tuned.build(prepared))

    return TimedNetwork(uses, cycles)


def useful_in(records: Sequence[Record], networks: Sequence[TimedNetwork]) -> list[Record]:
    """The records of one machine with which no network is slower than without.

    A record is dropped if the networks that use it are on average no slower without it, and all
    records of a network that the remaining ones make slower. Records that no network uses are kept.
    """
    kept = [*records]
    default = [network.cycles(()) for network in networks]
    now = [network.cycles(kept) for network in networks]
    for record in records:
        users = [at for at, network in enumerate(networks) if network.uses(record)]
        rest = [other for other in kept if other is not record]
        without = {at: networks[at].cycles(rest) for at in users}
        if users and sum((without[at] - now[at]) / default[at] for at in users) <= 0:
            kept = rest
            now = [without.get(at, cycles) for at, cycles in enumerate(now)]
    while slower := [
        network
        for network, least in zip(networks, default, strict=True)
        if network.cycles(kept) > least
    ]:
        kept = [record for record in kept if not any(one.uses(record) for one in slower)]
    return kept
