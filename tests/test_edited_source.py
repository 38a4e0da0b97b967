"""What is kept stays valid when source is edited that it does not depend on, and only then.

All floors are copied, and files of the copy edited: digests and keys are those of the copy.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.packages import copy_source

ROOT = Path(__file__).parents[1]

SAMPLES = {"area", "resources", "clock"}
ENGINES = {"verilog", "simulator", "machine code"}
"""`rtl`, in two steps, and the engines that are compiled Python functions."""
HELPERS = (
    *("cache", "errors", "file_digest", "files", "folders", "input_files", "object_cache"),
    *("processes", "processor", "sources"),
)
EDITS: dict[str, set[str]] = {
    **{f"tandem/base/{helper}.py": set() for helper in HELPERS},
    "hw/sources.py": {"proposals"},
    "hw/energy.py": set(),
    "hw/least_squares.py": {"proposals"},
    "hw/rtl/alu.py": {*SAMPLES, "verilog"},
    "hw/config.py": {*SAMPLES, "verilog", "cycles", "proposals"},
    "hw/area/gates.py": {"area", "proposals"},
    "hw/synthesis/resources.py": {"resources"},
    "hw/synthesis/product_registers.py": {"clock"},
    "hw/synthesis/yosys.py": SAMPLES,
    "hw/isa/codec.py": {"cycles"},
    "sim/cycle/run.py": {"cycles"},
    "sim/rtl/build.py": set(),
    "compiler/search/mutation.py": {"proposals"},
    "tandem/workbench/search/measure.py": {"cycles"},
    "tandem/base/jit/translator.py": {"machine code", "cycles"},
    "tandem/base/jit/values.py": {"machine code", "cycles"},
    "tandem/base/jit/functions.py": {"cycles"},
}
"""By file, what is made again when it is edited."""

ADDED = "\n\n# A remark.\ndef _added_by_a_test() -> int:\n    return 1\n"

DIGESTS = """
import json, sys
from pathlib import Path

import tandem
from tandem.base.cache import ContentCache
from tandem.base.jit.build import _translator_digest
from tandem.base.sources import source_digest
from tandem.compiler.search.learned import _code_digest
from tandem.compiler.search.study_name import _explorers_digest
from tandem.hw.config import HardwareConfig
from tandem.hw.rtl.verilog import VerilogDesign
from tandem.sim.rtl import build, design
from tandem.workbench.search.measure import code_digest

root = Path(tandem.__file__).parents[1]
assert root == Path.cwd(), root

class Asked(Exception):
    pass

def entry(cache, key, build):
    raise Asked(key)

def key_of(call, *arguments):
    try:
        call(*arguments)
    except Asked as asked:
        return str(asked)

ContentCache.entry = entry
tools = build.find_toolchain()
build.find_toolchain = lambda: tools

def digests():
    source_digest.cache_clear()
    return {
        "area": _code_digest("area"),
        "resources": _code_digest("ecp5"),
        "clock": _code_digest("clock"),
        "verilog": key_of(design.verilog_of, HardwareConfig()),
        "simulator": key_of(build.build, VerilogDesign("top", {"top.v": ""}, ("top",))),
        "machine code": _translator_digest(),
        "cycles": code_digest(),
        "proposals": _explorers_digest(),
    }

def edited(name):
    file = root / name
    text = file.read_text()
    file.write_text(text + sys.argv[1])
    try:
        return digests()
    finally:
        file.write_text(text)

print(json.dumps({"": digests(), **{name: edited(name) for name in sys.argv[2:]}}))
"""

COMPILED = """
from tandem.base.jit import reported
from tandem.hw.config_files import load_config
from tandem.sim.engines import make_engine

with reported(print):
    make_engine("functional", load_config("tiny")).prepare(True)
"""
"""Prints what is compiled for an engine."""


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the package without the commands, and of what its links lead to."""
    copy_source(tmp_path, without=("scripts",))
    return tmp_path


def run(copy: Path, code: str, *arguments: str) -> str:
    """The output of Python code that imports the copy."""
    done = subprocess.run(
        [sys.executable, "-B", "-c", code, *arguments],
        cwd=copy,
        env=os.environ | {"PYTHONPATH": str(copy)},
        capture_output=True,
        text=True,
    )
    assert not done.returncode, done.stderr
    return done.stdout


def test_what_edits_discard(copy: Path) -> None:
    digests: dict[str, dict[str, str]] = json.loads(run(copy, DIGESTS, ADDED, *EDITS))
    before = digests.pop("")
    assert set(before) == {*SAMPLES, *ENGINES, "cycles", "proposals"}
    assert all(before.values())
    discarded = {
        file: {kind for kind, value in after.items() if value != before[kind]}
        for file, after in digests.items()
    }
    assert discarded == EDITS


def test_an_engine_is_not_compiled_again_for_helpers(copy: Path) -> None:
    run(copy, COMPILED)
    for helper in HELPERS:
        with (copy / "tandem" / "base" / f"{helper}.py").open("a") as file:
            file.write(ADDED)
    assert not run(copy, COMPILED)
