"""`hw.system_rdl`: what a compiler of SystemRDL reads is what we have."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from peakrdl_cheader.exporter import CHeaderExporter
from peakrdl_html import HTMLExporter
from systemrdl.compiler import RDLCompiler

from tandem.hw.config import HardwareConfig
from tandem.hw.faults import Fault
from tandem.hw.features import Feature
from tandem.hw.header import c_header
from tandem.hw.register_model import Access
from tandem.hw.registers import registers_of
from tandem.hw.system_rdl import system_rdl

CONFIGS = [
    HardwareConfig(),
    HardwareConfig(name="extended", features=frozenset(Feature), bus_bits=128),
]


@pytest.fixture(params=CONFIGS, ids=lambda config: config.name)
def config(request: pytest.FixtureRequest) -> HardwareConfig:
    """A machine without extensions, and one with them all."""
    return request.param


def compiled(config: HardwareConfig, folder: Path) -> Any:
    """The top node of `tandem.rdl`."""
    path = folder / "tandem.rdl"
    path.write_text(system_rdl(config))
    compiler = RDLCompiler()
    compiler.compile_file(str(path))
    return compiler.elaborate().top


def test_golden(golden: Callable[[str, str], None]) -> None:
    golden("header/tandem.rdl", system_rdl(HardwareConfig()))


def test_registers_and_fields_are_ours(config: HardwareConfig, tmp_path: Path) -> None:
    found: dict[int, dict[int, tuple[int, int, int]]] = {}
    for register in compiled(config, tmp_path).registers():
        fields = found[register.absolute_address] = {}
        for field in register.fields():
            fields[field.low] = (field.high, field.get_property("reset"), field.is_sw_writable)
    wanted: dict[int, dict[int, tuple[int, int, int]]] = {}
    for register in registers_of(config.features):
        value, writable = register.value(config), register.access is not Access.READ_ONLY
        for _, offset, lsb in register.words:
            wanted[offset] = {}
            for field in register.fields:
                low, high = max(field.lsb, lsb), min(field.lsb + field.width, lsb + 32) - 1
                reset = value >> low & ((1 << (high - low + 1)) - 1)
                wanted[offset][low - lsb] = (high - lsb, reset, writable)
    assert found == wanted


def test_the_codes_of_faults_are_ours(config: HardwareConfig, tmp_path: Path) -> None:
    top = compiled(config, tmp_path)
    (field,) = next(
        register for register in top.registers() if register.inst_name == "error_code"
    ).fields()
    codes = {member.name: member.value for member in field.get_property("encode")}
    assert codes == {fault.name: fault.value for fault in Fault}


def test_a_header_made_of_it_agrees_with_ours(config: HardwareConfig, tmp_path: Path) -> None:
    """A C compiler compares each mask, position and value."""
    CHeaderExporter().export(compiled(config, tmp_path), str(tmp_path / "peakrdl.h"))
    (tmp_path / "tandem_registers.h").write_text(c_header(config))
    lines = ['#include "peakrdl.h"', '#include "tandem_registers.h"']
    count = 0
    for register in registers_of(config.features):
        for field in register.fields if not register.whole else ():
            theirs = f"TANDEM__{register.name}__{field.name}".upper()
            ours = f"TANDEM_{register.name}_{field.name}".upper()
            reset = register.value(config) >> field.lsb & ((1 << field.width) - 1)
            for one, other in (("bm", f"{ours}_MASK"), ("bp", f"{ours}_SHIFT"), ("reset", reset)):
                lines.append(f'_Static_assert({theirs}_{one} == {other}, "{ours} {one}");')
                count += 1
    assert count > 50
    unit = tmp_path / "unit.c"
    unit.write_text("\n".join(lines) + "\n")
    compiler = shutil.which("g++")
    assert compiler, "g++ is needed, as for the rtl engine"
    subprocess.run([compiler, "-x", "c", "-std=gnu11", "-fsyntax-only", unit], check=True)


def test_pages_are_made_of_it(config: HardwareConfig, tmp_path: Path) -> None:
    HTMLExporter().export(compiled(config, tmp_path), str(tmp_path / "pages"))
    assert (tmp_path / "pages" / "index.html").is_file()
