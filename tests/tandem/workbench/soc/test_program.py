"""The program of a system on chip: what it runs, and when it compares."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tandem
from tandem.workbench.soc.program import padded_bytes, program_lines
from tests.support.compiler.models.digits import digits


@pytest.mark.parametrize("integers", [False, True])
def test_outputs_are_compared_before_they_are_computed_again(
    integers: bool, tmp_path: Path
) -> None:
    processor = tandem.Cpu("riscv32-unknown-elf", features=["m"])
    io = "int8" if integers else "float32"
    artifact = digits("tiny-x", processor=processor, io=io)
    header = artifact.export(tmp_path, name="net", profile=True).header
    text = "\n".join(program_lines(header))
    runs = re.findall(r'net_run\(&network, &(\w+), .*, (\S+)\)\);\n.*line\("(\w+)"', text)
    assert runs == [
        ("zeros", "NULL", "first"),
        ("inputs", "&profile", "run"),
        ("inputs", "NULL", "alone"),
    ]
    order = [text.index(f'line("{name}"') for name in ("load", "run", "step", "equal", "alone")]
    assert order == sorted(order)
    # The expected outputs lie behind the inputs; only of real numbers an error is told.
    begin = sum(padded_bytes(port) for port in header.inputs)
    assert f"check_bytes + {begin}, 10, sizeof output_" in text
    assert ("words(output_" in text) == (not integers)
