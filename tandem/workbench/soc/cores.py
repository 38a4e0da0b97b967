"""The processors that a system on chip can have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from tandem.base.nearest import did_you_mean
from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.workbench.errors import SocError

_TRIPLE: Final = "riscv32-unknown-elf"
_MODEL: Final = "generic-rv32"


@dataclass(frozen=True, slots=True)
class SocProcessor:
    """A processor of LiteX, in the variant that is used.

    Attributes
    ----------
    name
        LiteX's name.
    variant
        LiteX's name of the variant.
    features
        Its instruction sets beyond RV32I, by LLVM's names.
    has_data_cache
        Whether what the accelerator wrote has to be invalidated.
    has_interrupts
        Whether the firmware can wait for the interrupt; otherwise it polls.
    package
        What has its Verilog, on PyPI.
    licence
        SPDX's name of its licence.
    """

    name: str
    variant: str
    features: tuple[str, ...]
    has_data_cache: bool
    has_interrupts: bool
    package: str
    licence: str

    @property
    def target(self) -> CpuTarget:
        """What code is compiled for."""
        return CpuTarget(_TRIPLE, _MODEL, self.features)

    @property
    def architecture(self) -> str:
        """GCC's name of the instruction sets."""
        return f"rv32i{''.join(sorted(self.features, key='mac'.index))}"


_VEXRISCV: Final = SocProcessor(
    name="vexriscv",
    variant="standard",
    features=("m",),
    has_data_cache=True,
    has_interrupts=True,
    package="pythondata-cpu-vexriscv",
    licence="MIT",
)
_PICORV32: Final = SocProcessor(
    name="picorv32",
    variant="standard",
    features=("m",),
    has_data_cache=False,
    # It has some, of a kind of its own, for which the firmware has no handler.
    has_interrupts=False,
    package="pythondata-cpu-picorv32",
    licence="ISC",
)
PROCESSORS: Final[Mapping[str, SocProcessor]] = MappingProxyType(
    {processor.name: processor for processor in (_VEXRISCV, _PICORV32)}
)
"""The processors by name."""


def soc_processor(name: str) -> SocProcessor:
    """The processor of a name. Raises `SocError`, which has the nearest, for another name."""
    found = PROCESSORS.get(name)
    if found is None:
        hint = did_you_mean(name, PROCESSORS)
        raise SocError(
            f"no processor {name!r} of a system: there are {', '.join(PROCESSORS)}{hint}"
        )
    return found
