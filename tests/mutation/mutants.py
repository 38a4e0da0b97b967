"""Single faults that Yosys proposes, and their places in the generated Verilog."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tandem.hw.rtl.verilog import VerilogDesign
from tests.mutation.yosys import netlist, run_yosys

_SPARE = 20
_CLOCKS = ("aclk", "clk", "CLK")


@dataclass(frozen=True, slots=True)
class Mutant:
    """One bit of one port of one cell that is not what it was.

    `mode` is Yosys's: `inv` inverts the bit, `const0` and `const1` tie it, `cnot0` and `cnot1`
    invert it while another bit of the port, number `control`, is 0 or 1.
    """

    module: str
    cell: str
    port: str
    bit: int
    mode: str
    control: int | None
    wire: str
    """What the Verilog calls the bit's wire, where it has a name."""
    place: str
    """Of the cell in the Verilog: file, lines and columns."""

    @property
    def name(self) -> str:
        """How reports and lists speak of it."""
        control = "" if self.control is None else f" by [{self.control}]"
        wire = f" ({self.wire})" if self.wire else ""
        return f"{self.place} {self.port}[{self.bit}] {self.mode}{control}{wire}"

    @property
    def options(self) -> str:
        """For Yosys's `mutate`."""
        control = "" if self.control is None else f" -ctrlbit {self.control}"
        return (
            f"-mode {self.mode} -module {self.module} -cell {self.cell} "
            f"-port {self.port} -portbit {self.bit}{control}"
        )

    @classmethod
    def parse(cls, line: str) -> Mutant:
        """From a line that `mutate -list` writes."""
        words = line.split()[1:]
        found: dict[str, str] = {}
        for option, value in zip(words[::2], words[1::2], strict=True):
            # The last `-src` is the cell's, those before it are the wire's.
            found[option] = value
        wire = found.get("-wire", "")
        return cls(
            module=found["-module"],
            cell=found["-cell"],
            port=found["-port"],
            bit=int(found["-portbit"]),
            mode=found["-mode"],
            control=int(found["-ctrlbit"]) if "-ctrlbit" in found else None,
            wire="" if not wire or wire.startswith("_") else f"{wire}[{found['-wirebit']}]",
            place=found.get("-src", f"{found['-module']}.v"),
        )

    @property
    def is_in_a_clock(self) -> bool:
        """Whether it stops or inverts a clock: no mistake that someone makes in this RTL."""
        return self.port in _CLOCKS


def list_mutants(
    design: VerilogDesign, modules: Sequence[str], count: int, seed: int
) -> tuple[Mutant, ...]:
    """About `count` mutants of `modules`, at least one for each that has a cell.

    Those that Yosys proposes for clocks are left out. The same arguments give the same mutants.

    Raises
    ------
    ValueError
        The design has no module of such a name.
    """
    quotas = shares(design, modules, count)
    proposals = []
    for module, quota in quotas.items():
        for length, file in ((quota, module), (_SPARE, f"{module}.spare")):
            proposals.append(f"mutate -list {length} -seed {seed} -module {module} -o {file}.txt")
    made = run_yosys((*netlist(design), *proposals), design.files)

    def proposed(file: str) -> list[Mutant]:
        lines = made[f"{file}.txt"].splitlines()
        return [mutant for mutant in map(Mutant.parse, lines) if not mutant.is_in_a_clock]

    # Of a few proposals, all may be clocks.
    chosen = (proposed(module) or proposed(f"{module}.spare")[:1] for module in quotas)
    return tuple(mutant for mutants in chosen for mutant in mutants)


def shares(design: VerilogDesign, modules: Sequence[str], count: int) -> dict[str, int]:
    """How many of `count` mutants each module gets: one, and more by the root of its length.

    The root, because the longest module, the registers, is mostly one decoder.
    """
    for module in modules:
        if module not in design.modules:
            raise ValueError(f"the design has no module {module}: {', '.join(design.modules)}")
    weights = {name: math.sqrt(design.files[f"{name}.v"].count("\n")) for name in modules}
    left = max(0, count - len(modules))
    return {
        name: 1 + round(left * weight / sum(weights.values())) for name, weight in weights.items()
    }
