"""`tandem disasm`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from tandem.hw.config_files import load_config
from tandem.hw.isa import Assembler, MemoryId, Program, Unit, disassemble
from tandem.scripts.cli import app
from tandem.scripts.matmul import matmul_program

TINY = load_config("tiny")


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.bin"
    path.write_bytes(matmul_program(TINY, 4, 4, 4)[0].data)
    return path


def test_text(program: Path) -> None:
    result = CliRunner().invoke(app, ["disasm", str(program), "--config", "tiny"])
    assert result.exit_code == 0
    expected = disassemble(Program.from_bytes(TINY, program.read_bytes()))
    assert result.output.rstrip("\n") == expected.rstrip("\n")


def test_json(program: Path) -> None:
    result = CliRunner().invoke(app, ["disasm", str(program), "--config", "tiny", "--json"])
    found = json.loads(result.stdout)
    assert found["config"] == "tiny"
    assert len(found["instructions"]) == len(program.read_bytes()) // 16


@pytest.mark.parametrize(
    ("content", "message"), [(b"", "empty program"), (bytes(17), "truncated program: 17 bytes")]
)
def test_no_program(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "program.bin"
    path.write_bytes(content)
    result = CliRunner().invoke(app, ["disasm", str(path)])
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith(f"error: {message}")
    assert result.stderr.count("\n") == 1


def test_unknown_configuration(program: Path) -> None:
    result = CliRunner().invoke(app, ["disasm", str(program), "--config", "pink"])
    assert result.exit_code == 1
    assert "pink" in result.stderr
    assert "pynq" in result.stderr


# --verify -----------------------------------------------------------------------------------


def disasm(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["disasm", "--config", "tiny", *map(str, arguments)])


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """The image that `program` runs on."""
    path = tmp_path / "image.bin"
    zeros = np.zeros((4, 4), np.int8)
    path.write_bytes(matmul_program(TINY, 4, 4, 4)[1].image(zeros, zeros).tobytes())
    return path


@pytest.fixture
def racy(tmp_path: Path) -> Path:
    """A program whose STORE does not wait for what it stores."""
    asm = Assembler(TINY)
    asm.load(MemoryId.ACC, sram=0, dram=0, columns=2)
    asm.store(sram=1, dram=0x100, columns=1)
    asm.finish()
    path = tmp_path / "racy.bin"
    path.write_bytes(asm.build().data)
    return path


def test_verified(program: Path, image: Path) -> None:
    result = disasm(program, "--verify", "--image", image)
    assert result.exit_code == 0, result.output
    listing, _, verdict = result.stdout.rstrip("\n").rpartition("\n")
    expected = disassemble(Program.from_bytes(TINY, program.read_bytes()))
    assert listing == expected.rstrip("\n")
    assert verdict == "verified: tokens balance, and order all that must be ordered"


def test_verified_in_part(program: Path) -> None:
    result = disasm(program, "--verify")
    assert result.exit_code == 0
    verdict = result.stdout.splitlines()[-1]
    assert verdict.startswith("verified in part: tokens balance, and no race was found, but instr")
    assert verdict.endswith("uses micro-ops, and there is no memory image that holds them")


def test_verified_json(program: Path, image: Path) -> None:
    found = json.loads(disasm(program, "--verify", "--image", image, "--json").stdout)
    assert found["verification"] == {
        "proved": True,
        "tokens": None,
        "races": [],
        "race_count": 0,
        "overwrites": [],
        "unchecked": [],
        "vta_warnings": [],
    }
    assert "verification" not in json.loads(disasm(program, "--json").stdout)
    found = json.loads(disasm(program, "--verify", "--json").stdout)
    assert not found["verification"]["proved"]
    assert len(found["verification"]["unchecked"]) == 1


def test_a_race(racy: Path) -> None:
    result = disasm(racy, "--verify")
    assert result.exit_code == 1
    assert len(result.stdout.splitlines()) == 3
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith("error: race: instruction 0 (LOAD ACC sram 0 ")
    assert "ACC/OUT element 1" in result.stderr
    result = disasm(racy, "--verify", "--json")
    assert result.exit_code == 1
    found = json.loads(result.stdout)["verification"]
    assert found["race_count"] == len(found["races"]) == 1
    assert f"error: race: {found['races'][0]}\n" == result.stderr


def test_tokens_that_do_not_balance(tmp_path: Path) -> None:
    asm = Assembler(TINY)
    asm.finish(waits_for=Unit.LOAD)
    path = tmp_path / "stuck.bin"
    path.write_bytes(asm.build().data)
    result = disasm(path, "--verify", "--json")
    assert result.exit_code == 1
    assert "compute waits at instruction 0 for a token load->compute" in result.stderr
    found = json.loads(result.stdout)["verification"]
    assert found["tokens"] in result.stderr
    assert found["unchecked"] == ["instruction 0 never starts"]


def test_an_image_without_all_micro_ops(program: Path, tmp_path: Path) -> None:
    """With an image, nothing less than a proof passes."""
    path = tmp_path / "short.bin"
    path.write_bytes(bytes(2))
    code = Assembler(TINY)
    code.gemm((0, 1))
    code.finish()
    program.write_bytes(code.build().data)
    result = disasm(program, "--verify", "--image", path)
    assert result.exit_code == 1
    assert result.stderr == (
        "error: the order of the program is not proved: "
        "instruction 0 uses micro-ops that the program never loaded\n"
    )


def test_a_store_over_the_program(tmp_path: Path) -> None:
    asm = Assembler(TINY)
    asm.store(sram=0, dram=0x100 // 4, columns=1)
    asm.finish()
    path, image = tmp_path / "program.bin", tmp_path / "image.bin"
    path.write_bytes(asm.build().data)
    image.write_bytes(bytes(0x80))
    assert disasm(path, "--verify", "--image", image).exit_code == 0
    for options in (["--image", image], []):
        result = disasm(path, "--verify", "--program-address", "0xf0", *options)
        assert result.exit_code == 1
        assert "instruction 0 stores over the program, at byte 0x100" in result.stderr
    # Without --program-address, the program lies above the image.
    image.write_bytes(bytes(0x1000))
    asm = Assembler(TINY)
    asm.store(sram=0, dram=0x1004 // 4, columns=1)
    asm.finish()
    path.write_bytes(asm.build().data)
    assert "byte 0x1004" in disasm(path, "--verify", "--image", image).stderr


def test_warnings_for_vta(tmp_path: Path) -> None:
    """They are no errors, and come after the verdict."""
    asm = Assembler(TINY)
    asm.load(MemoryId.ACC, sram=0, dram=0, columns=1, signals=Unit.STORE)
    asm.store(sram=0, dram=0x1000 // 4, columns=1, waits_for=Unit.COMPUTE)
    asm.finish()
    path = tmp_path / "program.bin"
    path.write_bytes(asm.build().data)
    result = disasm(path, "--verify")
    assert (result.exit_code, result.stderr) == (0, "")
    verdict, *warnings = result.stdout.splitlines()[3:]
    assert verdict.startswith("verified: ")
    assert warnings == [
        "warning: VTA ends a program at FINISH, instruction 2: compute must pop a token of the "
        "last instruction of store, 1, before; the tokens that it pops cover none of them",
        "warning: VTA's memory has no page 0, the bytes below 0x1000: instruction 0 loads from 0x0",
    ]
    found = json.loads(disasm(path, "--verify", "--json").stdout)["verification"]
    assert [f"warning: {each}" for each in found["vta_warnings"]] == warnings
    found = json.loads(disasm(path, "--verify", "--json", "--program-address", "0").stdout)
    assert len(found["verification"]["vta_warnings"]) == 3
    assert "warning" not in disasm(path).stdout


def test_an_illegal_program_is_shown_and_refused(tmp_path: Path) -> None:
    path = tmp_path / "program.bin"
    path.write_bytes(bytes([7] * 16))
    result = disasm(path, "--verify")
    assert result.exit_code == 1
    assert "???" in result.stdout
    assert "OPCODE" in result.stderr


def test_options_of_verify_alone_are_wrong_usage(program: Path, image: Path) -> None:
    for options in (["--image", image], ["--program-address", "0"]):
        result = disasm(program, *options)
        assert (result.exit_code, result.stdout) == (2, "")
        assert "--verify" in result.stderr
