"""Programs of the accelerator: what `tandem sim` and `tandem disasm` print, and refusals."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from typer.testing import CliRunner

import tandem
from tandem.api.programs import disassemble, verify
from tandem.api.simulating import simulate
from tandem.hw.errors import EncodingError
from tandem.hw.isa import Assembler, MemoryId, Program
from tandem.runtime.artifact import streams_of
from tandem.scripts.cli import app
from tandem.scripts.matmul import matmul_program
from tandem.sim.errors import CycleLimitError, EngineError
from tandem.workbench.errors import ArgumentTypeError, ArgumentValueError, UntimedError

TINY = tandem.Accelerator("tiny")
SIZE = 8


@dataclass(frozen=True, slots=True)
class Matmul:
    """A small product of matrices, the memory that it works on, and both as files."""

    program: Program
    image: NDArray[np.uint8]
    product: NDArray[np.int8]
    at: int
    folder: Path

    def printed(self, verb: str, *options: str) -> dict[str, Any]:
        """What a verb prints of it as JSON."""
        paths = [str(self.folder / "program.bin"), "--image", str(self.folder / "image.bin")]
        fixed = [verb, *paths, "--config", "tiny", "--json"]
        done = CliRunner().invoke(app, [*fixed, *options])
        assert done.exit_code == 0, done.output
        found: dict[str, Any] = json.loads(done.stdout)
        return found


@pytest.fixture(scope="module")
def matmul(tmp_path_factory: pytest.TempPathFactory) -> Matmul:
    folder = tmp_path_factory.mktemp("matmul")
    program, layout = matmul_program(TINY.config, SIZE, SIZE, SIZE)
    a = np.arange(SIZE * SIZE, dtype=np.int8).reshape(SIZE, SIZE)
    image = layout.image(a, -a)
    product = (a.astype(np.int64) @ -a.astype(np.int64).T).astype(np.int8)
    (folder / "program.bin").write_bytes(program.data)
    (folder / "image.bin").write_bytes(image.tobytes())
    return Matmul(program, image, product, layout.c_address, folder)


def test_a_program_computes(matmul: Matmul) -> None:
    before = matmul.image.copy()
    found = simulate(matmul.program, matmul.image)
    np.testing.assert_array_equal(matmul.image, before)
    assert found.image.size == matmul.image.size
    stored = found.image[matmul.at :][: SIZE * SIZE].view(np.int8)
    blocks = stored.reshape(SIZE, SIZE // TINY.config.block_out, TINY.config.block_out)
    np.testing.assert_array_equal(blocks.reshape(SIZE, SIZE), matmul.product)
    assert found.cycles is not None
    units = found.units
    spent = sum(units[name] for name in units.names if name != "unit")
    assert spent.tolist() == [found.cycles] * len(units)
    assert repr(found).splitlines()[0].endswith(f"on tiny, engine cycle: {found.cycles:,} cycles")


def test_the_verb_prints_the_same(matmul: Matmul) -> None:
    found = simulate(matmul.program, matmul.image, memory="edge", fill=0xA5)
    printed = matmul.printed("sim", "--memory", "edge", "--fill", "a5")
    assert printed == found.as_json()
    counters = printed["counters"]
    assert {row.pop("unit"): row for row in found.units} == counters["modules"]
    for row in found.work:
        value = counters[row["counter"]]
        assert row["value"] == (value if row["kind"] is None else value[row["kind"]])
    assert len(found.work) == 4 + sum(len(counters[n]) for n in ("bytes_loaded", "instructions"))


def test_programs_are_values_bytes_and_files(matmul: Matmul) -> None:
    wanted = simulate(matmul.program, matmul.image).as_json()
    for program, image, machine in (
        (matmul.program.data, matmul.image.tobytes(), TINY),
        (matmul.folder / "program.bin", str(matmul.folder / "image.bin"), "tiny"),
        (matmul.program, matmul.image, "tiny"),
    ):
        assert simulate(program, image, machine=machine).as_json() == wanted


def test_two_engines_are_compared(matmul: Matmul) -> None:
    found = simulate(matmul.program, matmul.image, compare="functional")
    assert found.comparison is not None
    assert found.comparison.equal
    assert "equal: cycle and functional" in repr(found)
    assert found.as_json() == matmul.printed("sim", "--compare", "cycle,functional")


def test_time_alone_and_answers_alone(matmul: Matmul, tmp_path: Path) -> None:
    timed = simulate(matmul.program, matmul.image, data=False)
    np.testing.assert_array_equal(timed.image, matmul.image)
    whole = simulate(matmul.program, matmul.image)
    assert timed.cycles == whole.cycles
    whole.trace(tmp_path / "timeline.json")
    assert json.loads((tmp_path / "timeline.json").read_text())["traceEvents"]
    answer = simulate(matmul.program, matmul.image, engine="functional")
    assert answer.image_sha256 == whole.image_sha256
    assert (answer.cycles, len(answer.units)) == (None, 0)
    with pytest.raises(UntimedError, match="trace needs cycles: the engine functional counts none"):
        answer.trace(tmp_path / "no.json")
    with pytest.raises(ArgumentValueError, match=r"no.fst: a timeline is a file that ends in .jso"):
        whole.trace(tmp_path / "no.fst")


def test_a_stream_of_an_artifact(artifact: tandem.Artifact, tmp_path: Path) -> None:
    found = simulate(artifact)
    (stream,) = streams_of(artifact.network.artifact).values()
    assert found.machine == TINY.config
    assert len(found.program) == len(stream.program) // 16
    artifact.save(tmp_path / "net.tandem")
    assert simulate(tmp_path / "net.tandem", machine="tiny").as_json() == found.as_json()
    text = disassemble(artifact)
    assert len(text.splitlines()) == len(found.program)
    assert verify(artifact).proved
    with pytest.raises(ArgumentValueError, match=r"machine small8: net.onnx was compiled for tiny"):
        simulate(artifact, machine="small8")
    with pytest.raises(ArgumentValueError, match=r"net.onnx: stream x: the artifact has "):
        disassemble(artifact, stream="x")
    with pytest.raises(ArgumentValueError, match="image has 3 bytes: the memory of stream"):
        simulate(artifact, b"123")


def test_text_and_proof_are_those_of_the_verb(matmul: Matmul) -> None:
    printed = matmul.printed("disasm", "--verify")
    assert disassemble(matmul.program).splitlines() == printed["instructions"]
    proof = verify(matmul.program, matmul.image)
    assert proof.proved
    assert proof.as_json() == printed["verification"]
    assert repr(proof).startswith("verified: tokens balance, and order all")
    without = verify(matmul.program)
    assert not without.proved
    assert without.verdict.startswith("verified in part: tokens balance, and no race was found")


def test_a_race_is_no_proof() -> None:
    assembler = Assembler(TINY.config)
    assembler.load(MemoryId.INP, sram=0, dram=0, columns=1)
    assembler.load(MemoryId.ACC, sram=0, dram=0, columns=1)
    assembler.store(sram=0, dram=1, columns=1)
    assembler.finish()
    proof = verify(assembler.build(), bytes(4096))
    assert not proof.proved
    assert proof.verdict.startswith("not verified: ")


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"program": 3}, ArgumentTypeError, "program is 3: it must be a Program, an Artifact, b"),
        ({"program": b"123"}, ArgumentValueError, "truncated program: 3 bytes"),
        ({"image": None}, ArgumentValueError, "image is None: a raw program runs on a memory im"),
        ({"image": np.zeros(3)}, ArgumentTypeError, "it must be bytes, a flat array of uint8, or"),
        ({"image": b"123"}, ArgumentValueError, "3"),
        ({"machine": "small8"}, ArgumentValueError, "machine small8: the program is for tiny: "),
        ({"machine": tandem.Cpu()}, ArgumentTypeError, "it must be an accelerator"),
        ({"stream": "a"}, ArgumentValueError, "stream is for an artifact, not for a raw program"),
        ({"engine": "steam"}, ArgumentValueError, "no engine 'steam'"),
        ({"compare": "cycle"}, ArgumentValueError, "engine and compare are both cycle: name two"),
        ({"memory": "slow"}, ArgumentValueError, "slow"),
        ({"address": 8}, ArgumentValueError, "16"),
        ({"fill": 256}, ArgumentValueError, "fill is 256: it must be a byte, 0 to 255"),
        ({"stalls": 1}, ArgumentValueError, "stalls is 1: it must be a number from 0 to 0.99"),
        ({"stalls": 0.1}, EngineError, "the cycle engine has no random stalls: rtl and pysim"),
        ({"max_cycles": 3}, CycleLimitError, "3"),
        ({"waveform": "wave.json"}, ArgumentValueError, r"wave.json: a waveform ends in .fst or"),
    ],
)
def test_refusals(
    matmul: Matmul, options: dict[str, Any], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        simulate(**{"program": matmul.program, "image": matmul.image, **options})


def test_a_file_that_is_no_program(tmp_path: Path) -> None:
    (tmp_path / "program.bin").write_bytes(bytes(17))
    with pytest.raises(ArgumentValueError, match="truncated program: 17 bytes") as caught:
        disassemble(tmp_path / "program.bin")
    assert isinstance(caught.value.__cause__, EncodingError)
