"""The Verilog for readers does what the Verilog that Yosys wrote does: Yosys proves it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import pytest

from tandem.hw.config_files import load_config
from tandem.hw.rtl import verilog
from tandem.hw.rtl.netlist import Netlist
from tandem.hw.rtl.verilog import TOP, VerilogDesign, generate
from tandem.hw.rtl.verilog_module import NAMELESS, drop_unused_resets, parse_module
from tandem.hw.rtl.verilog_names import give_names
from tandem.hw.rtl.verilog_writer import order_ports, write_module
from tests.mutation.yosys import run_yosys

QUICK = ("tandem_queue_9x4", "tandem_lane", "tandem_store")

_PREPARE = ("proc", "opt_expr", "opt_clean", "memory_collect")


@dataclass(frozen=True)
class Stages:
    """A preset's modules as Yosys wrote them, but with names, and as they are.

    Yosys pairs what has one name. In `plain`, which it compares, wires that had no name are
    called otherwise than in the design: only registers, and what had a name, are paired.
    """

    plain: dict[str, str]
    named: dict[str, str]
    design: VerilogDesign


@cache
def stages(name: str) -> Stages:
    """All stages of a preset."""
    plain: dict[str, str] = {}
    named: dict[str, str] = {}
    readable = verilog._readable

    def note(texts: dict[str, str], netlist: Netlist) -> dict[str, str]:
        modules = {name: parse_module(text) for name, text in texts.items()}
        drop_unused_resets(modules, keep=TOP)
        for name, module in modules.items():
            public = {signal for signal in module.signals if not NAMELESS.fullmatch(signal)}
            give_names(module)
            order_ports(module, netlist.ports[name], mixed=name == TOP)
            named[name] = write_module(module)
            wires = {signal for signal in module.signals if not module.signals[signal].is_register}
            module.rename({wire: f"plain_{wire}" for wire in wires - public})
            plain[name] = write_module(module)
        return readable(texts, netlist)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(verilog, "_readable", note)
        return Stages(plain, named, generate(load_config(name)))


def prove(preset: str, module: str) -> None:
    """Whether `module` does what Yosys wrote; nothing is to prove if it only got names.

    Other modules are boxes, which are the same if what goes in is.
    """
    found = stages(preset)
    if found.design.files[f"{module}.v"].endswith(found.named[module]):
        return
    first = {f"plain_{name}.v": text for name, text in found.plain.items()}
    second = {f"readable_{name}": text for name, text in found.design.files.items()}
    prepare = (f"hierarchy -check -top {module}", *_PREPARE)
    commands = (
        *(f"read_verilog {' '.join(first)}", *prepare, "design -save plain", "design -reset"),
        *(f"read_verilog {' '.join(second)}", *prepare, f"rename {module} readable"),
        *("design -stash readable", "design -load plain"),
        "design -copy-from readable -as readable readable",
        *(f"equiv_make {module} readable both", "hierarchy -top both", "opt_expr", "opt_clean"),
        "equiv_struct",
        "equiv_simple -ignore-unknown-cells -undef -seq 2",
        "equiv_induct -ignore-unknown-cells -undef -seq 4",
        "equiv_status -assert",
    )
    run_yosys(commands, first | second)


@pytest.mark.parametrize("module", QUICK)
def test_modules_do_the_same(module: str) -> None:
    prove("tiny", module)


@pytest.mark.exhaustive
@pytest.mark.parametrize("preset", ["tiny", "small8"])
def test_all_modules_do_the_same(preset: str) -> None:
    for module in stages(preset).design.modules:
        prove(preset, module)
