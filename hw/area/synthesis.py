"""Area by synthesis: Yosys makes generic cells of a module, once for all machines that have it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

from tandem.base.cache import ContentCache, content_key, default_cache
from tandem.hw.area.gates import MEMORY_BIT, gate_area
from tandem.hw.rtl.verilog import VerilogDesign
from tandem.hw.synthesis.errors import SynthesisError
from tandem.hw.synthesis.yosys import run, yosys_version
from tandem.hw.synthesis.yowasp import Report

_SCRIPT = """\
proc
opt
tee -q -o {memories} stat -json
wreduce
peepopt
opt_clean
alumacc
share
opt
memory -nomap
opt_clean
techmap
opt -fast
abc -g AND,NAND,OR,NOR,XOR,XNOR,MUX
opt_clean
tee -q -o {cells} stat -json
"""
_MEMORIES, _CELLS, _MODULE = "memories.json", "cells.json", "module.json"
_COMMENT = re.compile(r"^//.*\n", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ModuleArea:
    """A module without the modules inside it.

    Attributes
    ----------
    gates
        Area of its cells, in NAND2.
    memory_bits
        Bits of its memories.
    instances
        The number of instances inside it, by module.
    """

    gates: float
    memory_bits: int
    instances: Mapping[str, int]


@dataclass(frozen=True)
class DesignArea:
    """The modules of a design, with the number of instances of each in the whole.

    Attributes
    ----------
    top
        The name of the outermost module.
    """

    top: str
    modules: Mapping[str, ModuleArea]

    @cached_property
    def counts(self) -> Mapping[str, int]:
        """The number of instances of each module in the design."""
        found: dict[str, int] = {}

        def walk(name: str, times: int) -> None:
            found[name] = found.get(name, 0) + times
            for inside, number in self.modules[name].instances.items():
                walk(inside, times * number)

        walk(self.top, 1)
        return found

    @property
    def gates(self) -> float:
        """Area of all cells, in NAND2."""
        return sum(self.modules[name].gates * times for name, times in self.counts.items())

    @property
    def memory_bits(self) -> int:
        """Bits of all memories, queues included."""
        return sum(self.modules[name].memory_bits * times for name, times in self.counts.items())

    @property
    def total(self) -> float:
        """The area, in NAND2."""
        return self.gates + MEMORY_BIT * self.memory_bits

    def gates_of(self, name: str) -> float:
        """Area of all cells of one instance of a module, with those inside it."""
        module = self.modules[name]
        inside = (self.gates_of(each) * times for each, times in module.instances.items())
        return module.gates + sum(inside)


def design_area(
    design: VerilogDesign, *, report: Report | None = None, root: Path | None = None
) -> DesignArea:
    """The area of a design; modules that the cache under `root` has are not synthesised again.

    Raises
    ------
    SynthesisError
        Yosys is not installed or failed, or it left a cell whose area is not known.
    tandem.base.errors.CacheError
        The cache cannot be used.
    """
    place = root or default_cache()
    cache = ContentCache(place / "area")
    texts = {name: _COMMENT.sub("", design.files[f"{name}.v"]) for name in design.modules}
    keys = {
        name: content_key("area of a module", yosys_version(), _SCRIPT, text)
        for name, text in texts.items()
    }
    modules = {}
    for name, key in keys.items():
        entry = cache.entry(key, partial(_synthesise, name, texts[name], place, report))
        modules[name] = _read(entry / _MODULE, design.modules)
    return DesignArea(design.top, modules)


def area_parts(area: DesignArea) -> dict[str, object]:
    """What samples say: gates of one lane, of one requantiser, and of everything else; bits of all
    memories."""
    lanes = area.counts["tandem_lane"]
    requantisers = area.counts.get("tandem_requantiser", 0)
    lane = area.gates_of("tandem_lane")
    requantiser = area.gates_of("tandem_requantiser") if requantisers else 0.0
    rest = area.gates - lanes * lane - requantisers * requantiser
    return {
        "lane": round(lane, 2),
        "requantiser": round(requantiser, 2),
        "rest": round(rest, 2),
        "memory_bits": area.memory_bits,
    }


def _synthesise(
    name: str, text: str, place: Path, report: Report | None, work: Path
) -> Sequence[Path]:
    """Memory bits and cells of a module, to which all other modules are black boxes.

    Yosys runs for each module alone: its cells are numbered through a run, their names' order
    steers its choices, and a module's area would depend on what was synthesised before it.
    """
    (work / f"{name}.v").write_text(text)
    script = f"read_verilog {name}.v\n" + _SCRIPT.format(memories=_MEMORIES, cells=_CELLS)
    run(script, work, place, report)
    try:
        memories, cells = (
            json.loads((work / file).read_text())["modules"][f"\\{name}"]
            for file in (_MEMORIES, _CELLS)
        )
        found = {
            "memory_bits": memories["num_memory_bits"],
            "cells": cells["num_cells_by_type"],
        }
    except (ValueError, KeyError) as error:
        raise SynthesisError(f"Yosys's statistics cannot be read: {error!r}") from None
    file = work / _MODULE
    file.write_text(json.dumps(found))
    return [file]


def _read(file: Path, modules: Sequence[str]) -> ModuleArea:
    found = json.loads(file.read_text())
    cells: dict[str, int] = found["cells"]
    instances = {cell: number for cell, number in cells.items() if cell in modules}
    gates = sum(number * gate_area(cell) for cell, number in cells.items() if cell not in modules)
    return ModuleArea(gates, found["memory_bits"], instances)
