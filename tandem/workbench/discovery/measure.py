"""Networks on a machine with operations of its own: their chains of passes, and their exact cycles.

A machine may ask something of the integers of requantisations; so a network is quantised anew for
each kind of machine.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tandem.base.cache import content_key
from tandem.base.errors import BaseError
from tandem.base.sources import source_digest
from tandem.compiler.errors import CompilerError
from tandem.compiler.machines.accelerator.discovery.chains import (
    LayerChains,
    joined,
    layer_chains,
    probed_chains,
    probes_of,
)
from tandem.compiler.machines.accelerator.discovery.pass_counts import (
    PassCounts,
    network_counts,
)
from tandem.compiler.machines.accelerator.timed_streams import (
    TimedStream,
    timed_streams,
)
from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import dump_config
from tandem.hw.encoding import Opcode
from tandem.hw.errors import HardwareError
from tandem.hw.memory_model import MemoryModel
from tandem.sim.engines import make_engine
from tandem.sim.errors import SimulationError
from tandem.workbench.devices import Accelerator
from tandem.workbench.models import network_digest
from tandem.workbench.search.measure import (
    MEASURING,
    NOT_RUN,
    Network,
    quantised,
    stream_cycles,
)


@dataclass(frozen=True, slots=True)
class Question:
    """A network, with the memory of all machines that it is compiled for."""

    network: Network
    memory: MemoryModel

    def device(self, config: HardwareConfig) -> Accelerator:
        """A machine as a device."""
        return Accelerator(config, self.memory, hiding=True)

    def key(self, config: HardwareConfig) -> str:
        """What an answer is known by: all that it depends on."""
        return content_key(
            "discover",
            source_digest(__name__, within=MEASURING, without=NOT_RUN),
            repr(self.memory),
            network_digest(self.network.model, self.network.options),
            dump_config(config.replace(name="_")),
        )


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a network on a machine.

    Attributes
    ----------
    cycles
        Exact, of the `cycle` engine; 0 if it cannot run.
    alu
        Cycles in which the ALU issues.
    reason
        Why the network cannot run on the machine; empty if it can.
    lasting
        Whether another try would say the same.
    """

    cycles: int
    alu: int
    reason: str = ""
    lasting: bool = True

    @staticmethod
    def refused(reason: str) -> Answer:
        """Of a network that cannot run."""
        return Answer(0, 0, reason)

    @staticmethod
    def failed(reason: str) -> Answer:
        """Of what did not get as far as an answer, and may the next time."""
        return Answer(0, 0, reason, lasting=False)


def answer(question: Question, config: HardwareConfig, limit: float) -> Answer:
    """The exact cycles of a network on a machine; `limit` has no effect."""
    try:
        device = question.device(config)
        streams = timed_streams(quantised(question.network, device), device.target())
        engine = make_engine("cycle", config, question.memory)
        try:
            cycles = sum(stream_cycles(engine, config, stream) for stream in streams)
        finally:
            engine.close()
    except (CompilerError, HardwareError) as error:
        return Answer.refused(_in_words(error))
    except (BaseError, SimulationError) as error:
        # Files, caches and tools: of this moment, and not of the network.
        return Answer.failed(_in_words(error))
    return Answer(cycles, sum(map(_alu_cycles, streams)))


def _in_words(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())


def chains(question: Question, config: HardwareConfig, limit: float) -> tuple[LayerChains, ...]:
    """The chains of a network's layers on a machine, and on those with products that are cut;
    `limit` has no effect. Raises as `build`."""
    device = question.device(config)
    found = layer_chains(quantised(question.network, device), device.target())
    for probe in map(question.device, probes_of(config)):
        function = quantised(question.network, probe)
        found = joined(found, probed_chains(function, probe.target()))
    return found


def passes(question: Question, config: HardwareConfig) -> PassCounts:
    """The cycles of the ALU's passes in a network, by what they are for. Raises as `build`."""
    device = question.device(config)
    return network_counts(quantised(question.network, device), device.target())


def _alu_cycles(stream: TimedStream) -> int:
    columns = stream.stream.program.columns()
    uops = (columns.uop_end - columns.uop_bgn) * columns.iter_out * columns.iter_in
    return int(np.where(columns.opcode == Opcode.ALU, uops, 0).sum())
