"""`tandem sim`."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from tandem.hw.config_files import load_config
from tandem.hw.isa import Assembler
from tandem.hw.topology import Unit
from tandem.scripts.cli import app
from tandem.scripts.matmul import matmul_program
from tests.support.sim.fst import FST_HIERARCHY, fst_blocks

TINY = load_config("tiny")
SIZE = 8


@dataclass(frozen=True, slots=True)
class Files:
    """A small matrix product as files, and what memory must hold after it."""

    folder: Path
    after: bytes

    def sim(self, *arguments: str) -> Result:
        """`tandem sim` on them."""
        program, image = self.folder / "program.bin", self.folder / "image.bin"
        fixed = ["sim", str(program), "--image", str(image), "--config", "tiny"]
        return CliRunner().invoke(app, [*fixed, *arguments])


@pytest.fixture
def files(tmp_path: Path) -> Files:
    program, layout = matmul_program(TINY, SIZE, SIZE, SIZE)
    a = np.arange(SIZE * SIZE, dtype=np.int8).reshape(SIZE, SIZE)
    b = -a
    image = layout.image(a, b)
    (tmp_path / "program.bin").write_bytes(program.data)
    (tmp_path / "image.bin").write_bytes(image.tobytes())
    product = (a.astype(np.int64) @ b.astype(np.int64).T).astype(np.int8)
    image[layout.c_address :][: product.size] = (
        product.view(np.uint8).reshape(SIZE, SIZE // TINY.block_out, TINY.block_out).reshape(-1)
    )
    return Files(tmp_path, image.tobytes())


def test_json(files: Files) -> None:
    result = files.sim("--json", "-o", str(files.folder / "after.bin"))
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found.keys() == {
        "engine",
        "config",
        "instructions",
        "cycles",
        "counters",
        "image_sha256",
        "compare",
    }
    assert (found["engine"], found["config"]) == ("cycle", "tiny")
    assert found["cycles"] > 0
    assert found["instructions"] == len((files.folder / "program.bin").read_bytes()) // 16
    assert found["counters"]["gemm_uops"] * TINY.macs == SIZE**3
    assert found["counters"]["bytes_stored"] == SIZE**2
    assert found["image_sha256"] == hashlib.sha256(files.after).hexdigest()
    assert (files.folder / "after.bin").read_bytes() == files.after


def test_text(files: Files) -> None:
    result = files.sim()
    assert result.exit_code == 0, result.output
    assert "cycle, configuration tiny" in result.output
    assert hashlib.sha256(files.after).hexdigest() in result.output


def test_the_image_file_is_left_alone(files: Files) -> None:
    before = (files.folder / "image.bin").read_bytes()
    assert files.sim().exit_code == 0
    assert (files.folder / "image.bin").read_bytes() == before


def test_a_program_inside_the_image(files: Files) -> None:
    image = (files.folder / "image.bin").read_bytes()
    program = (files.folder / "program.bin").read_bytes()
    (files.folder / "image.bin").write_bytes(image + program)
    result = files.sim("--program-address", hex(len(image)), "-o", str(files.folder / "after.bin"))
    assert result.exit_code == 0, result.output
    assert (files.folder / "after.bin").read_bytes() == files.after + program


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--config", "pink"], "pink"),
        (["--engine", "steam"], "steam"),
        (["--memory", "slow"], "slow"),
        (["--max-cycles", "3"], "3"),
        (["--program-address", "8"], "16"),
        (["--program-address", "0x1000000000000000"], "addresses of 32 bits"),
        (["-o", "missing/after.bin"], "missing: No such file"),
        (["--image", "missing.bin"], "missing.bin: No such file"),
        (["--stalls", "10"], "the cycle engine has no random stalls: rtl and pysim have them"),
        (["--trace", "wave.fst"], "the cycle engine has no waveform"),
        (["--engine", "functional", "--trace", "wave.json"], "functional engine has no time"),
        (["--engine", "pysim", "--trace", "wave.fst"], "a .fst waveform was asked for"),
    ],
)
def test_failures_are_one_line(files: Files, arguments: list[str], message: str) -> None:
    result = files.sim(*arguments)
    assert (result.exit_code, result.stdout) == (1, ""), result.output
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    assert message in result.stderr


def test_a_failed_run_keeps_its_waveform(files: Files) -> None:
    waveform = files.folder / "wave.fst"
    result = files.sim("--engine", "rtl", "--waveform", str(waveform), "--max-cycles", "20")
    assert (result.exit_code, result.stdout) == (1, ""), result.output
    assert "still running after 20 cycles" in result.stderr
    assert FST_HIERARCHY in dict(fst_blocks(waveform.read_bytes()))


@pytest.mark.parametrize("engine", ["functional", "rtl"])
def test_fill_shows_in_accumulators_that_nobody_wrote(files: Files, engine: str) -> None:
    asm = Assembler(TINY)
    asm.store(sram=0, dram=0, columns=4)
    asm.finish()
    (files.folder / "program.bin").write_bytes(asm.build().data)
    after = files.folder / "after.bin"
    for option, expected in (([], 0), (["--fill", "a5"], 0xA5), (["--fill", "0x7F"], 0x7F)):
        result = files.sim("--engine", engine, "-o", str(after), *option)
        assert result.exit_code == 0, result.output
        assert set(after.read_bytes()[:16]) == {expected}


@pytest.mark.parametrize(
    ("size", "message"), [(0, "image is empty"), (100, "the image ends at 0x64")]
)
def test_an_image_that_is_too_short(files: Files, size: int, message: str) -> None:
    (files.folder / "image.bin").write_bytes(bytes(size))
    result = files.sim()
    assert result.exit_code == 1
    assert message in result.stderr


def test_a_truncated_program(files: Files) -> None:
    whole = (files.folder / "program.bin").read_bytes()
    (files.folder / "program.bin").write_bytes(whole[:-1])
    result = files.sim()
    assert result.exit_code == 1
    assert "truncated program" in result.stderr


def test_a_deadlock_says_who_waits_for_what(files: Files) -> None:
    asm = Assembler(TINY)
    asm.nop(Unit.STORE, waits_for=Unit.COMPUTE)
    asm.finish()
    (files.folder / "program.bin").write_bytes(asm.build().data)
    result = files.sim()
    assert result.exit_code == 1
    assert "store waits at instruction 0 for a token compute->store" in result.stderr


def test_debug_shows_the_traceback(files: Files) -> None:
    result = files.sim("--engine", "steam", "--debug")
    assert result.exit_code == 1
    assert "Traceback" in result.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["--trace", "a.txt"],
        ["--waveform", "a.json"],
        ["--trace", "a.fst", "--waveform", "b.fst"],
        ["--stalls", "100"],
        ["--max-cycles", "0"],
        ["--program-address", "-16"],
        ["--program-address", "here"],
        ["--fill", "100"],
        ["--fill", "xy"],
    ],
)
def test_wrong_usage(files: Files, arguments: list[str]) -> None:
    result = files.sim(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")


def test_time_alone(files: Files) -> None:
    whole = json.loads(files.sim("--engine", "cycle", "--json").stdout)
    alone = json.loads(files.sim("--engine", "cycle", "--no-data", "--json").stdout)
    assert alone["cycles"] == whole["cycles"]
    assert alone["counters"] == whole["counters"]
    assert (
        alone["image_sha256"]
        == hashlib.sha256((files.folder / "image.bin").read_bytes()).hexdigest()
    )
    result = files.sim("--engine", "functional", "--no-data")
    assert result.exit_code == 1
    assert "no engine but cycle runs a program without its data" in result.stderr


def test_an_engine_with_time(files: Files) -> None:
    trace = files.folder / "timeline.json"
    result = files.sim("--engine", "rtl", "--trace", str(trace), "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["image_sha256"] == hashlib.sha256(files.after).hexdigest()
    units = found["counters"]["modules"]
    assert units.keys() == {"load", "compute", "store"}
    for cycles in units.values():
        assert cycles.keys() == {"busy", "token", "memory", "idle"}
        assert sum(cycles.values()) == found["cycles"]
        assert min(cycles.values()) >= 0
    slices = [event for event in json.loads(trace.read_text())["traceEvents"] if "dur" in event]
    assert len(slices) == 2 * found["instructions"], "each is fetched, and each runs"
    text = files.sim("--engine", "rtl").output
    assert f"{found['cycles']:,}" in text
    assert "waits for token" in text


def test_slower_memory_and_stalls_cost_time_only(files: Files) -> None:
    cycles = []
    for extra in ([], ["--memory", "edge"], ["--stalls", "50", "--seed", "7"]):
        result = files.sim("--engine", "rtl", "--json", *extra)
        assert result.exit_code == 0, result.output
        found = json.loads(result.stdout)
        assert found["image_sha256"] == hashlib.sha256(files.after).hexdigest()
        cycles.append(found["cycles"])
    assert cycles[0] < min(cycles[1:])


def test_waveform(files: Files) -> None:
    waveform = files.folder / "wave.vcd"
    result = files.sim("--engine", "pysim", "--trace", str(waveform), "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["engine"] == "pysim"
    assert "$enddefinitions" in waveform.read_text()
