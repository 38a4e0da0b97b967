"""One design that holds many mutants, of which the environment chooses one.

A design for each would be a build for each; so every fault is planted behind a comparison with one
number, which the simulator reads from the environment when the machine is switched on.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tandem.hw.rtl.verilog import VerilogDesign
from tests.mutation.mutants import Mutant
from tests.mutation.yosys import netlist, run_yosys

NUMBER_VARIABLE = "TANDEM_MUTANT"
"""Which mutant the machine is: 1 is the first. Without it, or with 0, it is the original."""

_SIGNAL = "tandem_mutant"
_BITS = 16
# Where it is an input, Yosys writes that first.
_WIRE = re.compile(
    rf"(?<!^  input \[{_BITS - 1}:0\] {_SIGNAL};\n)^  wire \[{_BITS - 1}:0\] {_SIGNAL};$", re.M
)
# `$c` is Verilator's way to write C++ in Verilog.
_NUMBER = f"""\
  reg [{_BITS - 1}:0] {_SIGNAL};
  initial {_SIGNAL} = {_BITS}'($c32("(std::getenv(\\"{NUMBER_VARIABLE}\\")",
      "? std::atoi(std::getenv(\\"{NUMBER_VARIABLE}\\")) : 0)"));"""


def plant(design: VerilogDesign, mutants: Sequence[Mutant]) -> VerilogDesign:
    """The design with all of `mutants` in it, as one file, for Verilator.

    Raises
    ------
    ValueError
        A mutant is of a module that the design does not have.
    YosysError
        A mutant's cell, port or bit is not there.
    """
    for mutant in mutants:
        if mutant.module not in design.modules:
            raise ValueError(f"{mutant.name}: the design has no module {mutant.module}")
    faults = (
        f"mutate -ctrl {_SIGNAL} {_BITS} {number} {mutant.options}"
        for number, mutant in enumerate(mutants, start=1)
    )
    # `mutate` makes the number an input of the mutant's module and of all above it.
    commands = (
        *netlist(design),
        *faults,
        f"delete -port {design.top}/w:{_SIGNAL}",
        "opt_clean",
        "write_verilog -noattr planted.v",
    )
    text = run_yosys(commands, design.files)["planted.v"]
    driven, count = _WIRE.subn(lambda _: _NUMBER, text)
    assert count == 1, f"{_SIGNAL} is a wire of {count} modules: it is one of {design.top} only"
    return VerilogDesign(design.top, {f"{design.top}.v": driven}, design.modules)
