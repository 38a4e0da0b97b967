"""`hw.header`: the register map in C."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tandem.hw.config import HardwareConfig
from tandem.hw.features import Feature
from tandem.hw.header import c_header
from tandem.hw.registers import register_map


def test_golden(golden: Callable[[str, str], None]) -> None:
    golden("header/tandem_registers.h", c_header(HardwareConfig()))


def test_lines_are_short() -> None:
    assert max(map(len, c_header(HardwareConfig()).splitlines())) <= 100


@pytest.mark.parametrize("features", [frozenset(), frozenset(Feature)], ids=["base", "extended"])
def test_every_register_has_its_offset(features: frozenset[Feature]) -> None:
    text = c_header(HardwareConfig(features=features))
    defined = dict(re.findall(r"^#define TANDEM_(\w+)\s+0x([0-9A-F]{3})u", text, re.MULTILINE))
    for register in register_map():
        assert (register.name.upper() in defined) is (register.needs <= features)
        if not register.needs <= features:
            continue
        assert int(defined[register.name.upper()], 16) == register.offset
        if register.bits == 64:
            assert int(defined[f"{register.name.upper()}_HIGH"], 16) == register.offset + 4


def test_sizes_follow_the_configuration() -> None:
    narrow = HardwareConfig(name="narrow", log_block_in=3, log_inp_buffer=14, log_wgt_buffer=17)
    text = c_header(narrow)
    assert re.search(r"TANDEM_BLOCK_IN\s+8u", text)
    assert re.search(r'TANDEM_CONFIGURATION\s+"narrow"', text)


@pytest.mark.parametrize("name", ["plain", "a.b+c-1", "_" * 64])
def test_a_c_compiler_takes_it(name: str, tmp_path: Path) -> None:
    (tmp_path / "tandem_registers.h").write_text(c_header(HardwareConfig(name=name)))
    unit = tmp_path / "unit.c"
    unit.write_text(
        '#include "tandem_registers.h"\n#include "tandem_registers.h"\n'
        "const char *name = TANDEM_CONFIGURATION;\n"
        "const unsigned launch = TANDEM_CONTROL_LAUNCH;\n"
    )
    compiler = shutil.which("g++")
    assert compiler, "g++ is needed, as for the rtl engine"
    subprocess.run(
        [compiler, "-x", "c", "-std=c99", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", unit],
        check=True,
    )
