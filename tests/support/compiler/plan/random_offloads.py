"""Random networks on random machines: results of the accelerator and of the CPU compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tandem.compiler.driver.build import Backends, build
from tandem.compiler.graph import Call, Function, TensorType, Type
from tandem.compiler.graph.passes import EliminateDead, transform
from tandem.compiler.graph.verify import verify
from tandem.compiler.machines.accelerator.target import accelerator
from tandem.compiler.machines.cpu.runner import NativeRunner
from tandem.compiler.plan.target import Target
from tandem.compiler.quantise.calibrate import calibrate
from tandem.compiler.quantise.network import quantise_network, scales_from
from tandem.compiler.quantise.options import Method, Mode, QuantiseOptions
from tandem.compiler.quantise.rules import DATA_MOVEMENT
from tandem.compiler.quantise.samples import synthetic
from tandem.hw.config import HardwareConfig
from tandem.hw.isa import Program
from tandem.hw.memory_model import MemoryModel
from tandem.runtime.artifact import (
    Artifact,
    Provenance,
    config_of,
    from_bytes,
    streams_of,
    to_bytes,
)
from tandem.runtime.devices import AcceleratorDevice, CpuDevice
from tandem.runtime.executor import Executor
from tandem.sim.engines import make_engine
from tandem.sim.fill import fill_on_chip
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import (
    drawn_machine,
    machine,
)
from tests.support.compiler.machines.accelerator.vta import check_for_vta
from tests.support.compiler.plan.accelerated_networks import accelerated_network
from tests.support.compiler.plan.offloaded import targets
from tests.support.compiler.plan.stated_scales import with_stated_scales

Array: TypeAlias = NDArray[Any]

_PRESETS = ("tiny", "small8", "block4", "batch2", "pynq", "ultra96", "big32")
_EXACT = frozenset(
    (*DATA_MOVEMENT, "dequantise", "quantise", "relu", "clip", "leaky_relu", "max_pool", "concat")
)
"""Operators whose results do not depend on how operators are fused into kernels."""
_ON_RTL = ("tiny", "small8")


@dataclass(frozen=True, slots=True)
class Share:
    """Multiply-accumulates of a network, and those that the accelerator executed."""

    macs: int = 0
    offloaded: int = 0


@dataclass(frozen=True)
class Offloading:
    """A random network, machine and quantisation, from one seed. The initial contents of the
    machine's memories and the memory's timing are derived from the seed as well.

    Attributes
    ----------
    stated
        Whether the network states its own scales.
    """

    seed: int
    real: Function
    config: HardwareConfig
    threads: int
    options: QuantiseOptions
    stated: bool
    engine: str = "functional"

    @staticmethod
    def of(seed: int, engine: str = "functional", *, upsampling: bool = False) -> Offloading:
        """The case of a seed; for the RTL from few configurations and smaller networks."""
        rng = np.random.default_rng(seed)
        on_rtl = engine == "rtl"
        real = accelerated_network(rng, 6 if on_rtl else 15, upsampling=upsampling)
        if on_rtl:
            config = machine(str(rng.choice(_ON_RTL)))
        else:
            config = (
                machine(str(rng.choice(_PRESETS))) if rng.random() < 0.6 else drawn_machine(rng)
            )
        options = QuantiseOptions(
            mode=Mode.POW2 if rng.random() < 0.25 else Mode.MULTIPLIER,
            method=Method.MSE if rng.random() < 0.5 else Method.MAX,
            per_channel=bool(rng.random() < 0.8),
        )
        stated = bool(rng.random() < 0.2)
        return Offloading(seed, real, config, int(rng.integers(1, 3)), options, stated, engine)

    @cached_property
    def quantised(self) -> Function:
        """The quantised network."""
        run = NativeRunner()
        real = self.real
        if self.stated:
            real = transform(real, [EliminateDead()])
            samples = synthetic(real, 1, self.seed)
            scales = scales_from(calibrate(real, samples, run), self.options)
            real = with_stated_scales(real, scales, np.random.default_rng([self.seed, 2]))
        samples, machines = synthetic(real, 1, self.seed), [accelerator(self.config)]
        return quantise_network(real, samples, run, self.options, machines).function

    def check(self) -> Share:
        """Run on the accelerator, on its CPU fallback, and compiled for the CPU, each twice, and
        compare the results bit by bit.
        """
        backends = Backends()
        share, found = self._checked_with_fallback(backends)
        alone = self._built(targets(self.config, self.threads)[1:], backends)
        # Whether products are rounded before an addition (no FMA) depends on the kernel.
        _same(found, _on_cpu(alone, self._samples), exact=not adds_reals(self.quantised))
        return share

    def check_with_fallback(self) -> Share:
        """As `check`, without the network that is compiled for the CPU alone: its float kernels
        may round otherwise, and what is recurrent adds that up."""
        return self._checked_with_fallback(Backends())[0]

    def _checked_with_fallback(self, backends: Backends) -> tuple[Share, list[dict[str, Array]]]:
        machines = targets(self.config, self.threads)
        shared = from_bytes(to_bytes(self._built(machines, backends)))
        found = self._on_accelerator(shared, self._samples)
        fallback = self._built(machines, backends, fallback=True)
        _same(found, _on_cpu(fallback, self._samples), exact=True)
        steps = shared.manifest.steps
        offloaded = sum(each.macs for each in steps if not each.on_host)
        return Share(sum(each.macs for each in steps), offloaded), found

    @property
    def _samples(self) -> list[Sequence[Array]]:
        return [*synthetic(self.real, 2, self.seed + 1)]

    def _built(
        self, machines: Sequence[Target[Any]], backends: Backends, *, fallback: bool = False
    ) -> Artifact:
        source = Provenance("test")
        return build(self.quantised, machines, source, fallback=fallback, backends=backends)

    def _on_accelerator(
        self, artifact: Artifact, samples: Sequence[Sequence[Array]]
    ) -> list[dict[str, Array]]:
        config = config_of(artifact)
        if config is None:
            return _on_cpu(artifact, samples)
        for code in streams_of(artifact).values():
            check_for_vta(Program.from_bytes(config, code.program))
        rng = np.random.default_rng([self.seed, 1])
        memory = MemoryModel(latency=int(rng.integers(1, 98)), interval=int(rng.integers(1, 4)))
        engine = make_engine(self.engine, config, memory)
        try:
            fill_on_chip(engine, int(rng.integers(1, 256)))
            return _runs(Executor(artifact, [AcceleratorDevice(engine), CpuDevice(1)]), samples)
        finally:
            engine.close()


def adds_reals(function: Function) -> bool:
    """Whether a function adds or multiplies floats, other than by scaling and comparing."""
    types = verify(function)
    return any(
        let.value.callee.name not in _EXACT and _float(types[let.name])
        for let in function.body.lets
        if isinstance(let.value, Call)
    )


def _float(type_: Type) -> bool:
    return isinstance(type_, TensorType) and type_.dtype.is_float


def _on_cpu(artifact: Artifact, samples: Sequence[Sequence[Array]]) -> list[dict[str, Array]]:
    return _runs(Executor(artifact, [CpuDevice(1)]), samples)


def _runs(executor: Executor, samples: Sequence[Sequence[Array]]) -> list[dict[str, Array]]:
    names = [each.name for each in executor.inputs]
    return [dict(executor.run(dict(zip(names, sample, strict=True))).outputs) for sample in samples]


def _same(found: list[dict[str, Array]], wanted: list[dict[str, Array]], exact: bool) -> None:
    """Assert equal bits or, if not `exact`, a signal-to-noise ratio of at least 20 dB."""
    for one, other in zip(found, wanted, strict=True):
        assert one.keys() == other.keys()
        for name in one:
            if exact:
                np.testing.assert_array_equal(_bits(one[name]), _bits(other[name]), name)
            else:
                signal = other[name].astype(np.float64)
                noise = np.square(one[name] - signal).mean()
                assert noise <= np.square(signal).mean() / 100, name


def _bits(array: Array) -> Array:
    return array.view(f"u{array.itemsize}")
