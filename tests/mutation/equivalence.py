"""Proofs that a mutant is no fault: its module does what it did, whatever comes in."""

from __future__ import annotations

import re
from collections.abc import Sequence
from subprocess import TimeoutExpired

from tandem.hw.rtl.verilog import VerilogDesign
from tests.mutation.mutants import Mutant
from tests.mutation.yosys import YosysError, netlist, run_yosys

_SECONDS = 120


def is_equivalent(design: VerilogDesign, mutant: Mutant) -> bool:
    """Whether Yosys proves that the mutant does, cycle by cycle, what the original does.

    By induction, from equal registers: for the mutant's module, or else for the modules that it is
    a part of. A proof that fails, or takes minutes, says nothing: the machine may still never come
    into the state that would tell the two apart.
    """
    return _proves(design, mutant, (), [mutant.module]) or _proves(
        design,
        mutant,
        # The module becomes a part of those around it; all others stay boxes.
        (f"setattr -mod -set keep_hierarchy 1 * {mutant.module} %d", "flatten"),
        _parents(design, mutant.module),
    )


def _proves(
    design: VerilogDesign, mutant: Mutant, joined: tuple[str, ...], modules: Sequence[str]
) -> bool:
    """Whether each of `modules` is the same with the mutant as without."""
    if not modules:
        return False
    try:
        for module in modules:
            run_yosys(_proof(design, mutant, joined, module), design.files, seconds=_SECONDS)
    except (YosysError, TimeoutExpired):
        return False
    return True


def _proof(
    design: VerilogDesign, mutant: Mutant, joined: tuple[str, ...], module: str
) -> tuple[str, ...]:
    return (
        *netlist(design),
        "design -save original",
        "memory_collect",
        *joined,
        "design -save joined",
        "design -load original",
        f"mutate {mutant.options}",
        "memory_collect",
        *joined,
        f"rename {module} mutated",
        "design -stash mutated",
        "design -load joined",
        "design -copy-from mutated -as mutated mutated",
        # Instances of other modules, and memories, are boxes, the same in both.
        f"equiv_make {module} mutated both",
        "hierarchy -top both",
        "opt_expr",
        "opt_clean",
        "equiv_struct -icells",
        "equiv_simple -ignore-unknown-cells -undef -seq 2",
        "equiv_induct -ignore-unknown-cells -undef -seq 4",
        "equiv_status -assert",
    )


def _parents(design: VerilogDesign, module: str) -> list[str]:
    """The modules that have an instance of this one."""
    instance = re.compile(rf"^  {re.escape(module)} \S+ \($", re.M)
    return [name for name in design.modules if instance.search(design.files[f"{name}.v"])]
