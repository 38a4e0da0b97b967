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

    By induction, from equal registers: for the mutant's module; or else for the modules that it is
    a part of; or with the part of it whose port the mutant changes. A proof that fails, or takes
    minutes, says nothing: the machine may still never come into the state that would tell the two
    apart.
    """
    part = _part(design, mutant)
    return (
        _proves(design, mutant, (), [mutant.module])
        or _proves(design, mutant, _join(mutant.module), _parents(design, mutant.module))
        or (part != "" and _proves(design, mutant, _join(part), [mutant.module]))
    )


def _join(module: str) -> tuple[str, ...]:
    """The module becomes a part of those around it; all others stay boxes."""
    return f"setattr -mod -set keep_hierarchy 1 * {module} %d", "flatten"


_HIDDEN = (
    "select -set registers t:$*ff* t:$sr t:$mem* %u %u %co1:+[Q,RD_DATA]",
    "rename -hide w:* @registers %d",
    "select -clear",
    "simplemap t:$mux t:$and t:$or t:$xor t:$not",
    "opt_clean -purge",
)
"""Only registers keep their names, and what reaches nothing goes, bit by bit."""
_MERGED = ("equiv_struct -icells",)
_WAYS = (((), _MERGED), ((), ()), (_HIDDEN, _MERGED))
"""Of a proof, what prepares either module and what goes before the search. Wires of equal names,
and cells alike, are halfway points for it, which help most proofs; but those that nothing reads
may differ, and so may the inputs of the mutant's cell."""


def _proves(
    design: VerilogDesign, mutant: Mutant, joined: tuple[str, ...], modules: Sequence[str]
) -> bool:
    """Whether each of `modules` is the same with the mutant as without."""
    return bool(modules) and all(_is_same(design, mutant, joined, module) for module in modules)


def _is_same(design: VerilogDesign, mutant: Mutant, joined: tuple[str, ...], module: str) -> bool:
    for prepared, merged in _WAYS:
        proof = _proof(design, mutant, (*joined, *prepared), merged, module)
        try:
            run_yosys(proof, design.files, seconds=_SECONDS)
        except YosysError:
            continue
        except TimeoutExpired:
            # The other ways take as long.
            return False
        return True
    return False


def _proof(
    design: VerilogDesign,
    mutant: Mutant,
    prepared: tuple[str, ...],
    merged: tuple[str, ...],
    module: str,
) -> tuple[str, ...]:
    return (
        *netlist(design),
        "design -save original",
        "memory_collect",
        *prepared,
        "design -save prepared",
        "design -load original",
        f"mutate {mutant.options}",
        "memory_collect",
        *prepared,
        f"rename {module} mutated",
        "design -stash mutated",
        "design -load prepared",
        "design -copy-from mutated -as mutated mutated",
        # Instances of other modules, and memories, are boxes, the same in both.
        f"equiv_make {module} mutated both",
        "hierarchy -top both",
        "opt_expr",
        "opt_clean",
        *merged,
        "equiv_simple -ignore-unknown-cells -undef -seq 2",
        "equiv_induct -ignore-unknown-cells -undef -seq 4",
        "equiv_status -assert",
    )


def _part(design: VerilogDesign, mutant: Mutant) -> str:
    """The module whose instance the mutant's cell is, or nothing."""
    instance = re.compile(rf"^  (\w+) {re.escape(mutant.cell)} \($", re.M)
    found = instance.search(design.files[f"{mutant.module}.v"])
    return found[1] if found and found[1] in design.modules else ""


def _parents(design: VerilogDesign, module: str) -> list[str]:
    """The modules that have an instance of this one."""
    instance = re.compile(rf"^  {re.escape(module)} \S+ \($", re.M)
    return [name for name in design.modules if instance.search(design.files[f"{name}.v"])]
