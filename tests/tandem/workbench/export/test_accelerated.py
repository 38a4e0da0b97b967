"""Exported networks with an accelerator: C drives simulated machines, equal to Python's runs."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
from onnx import ModelProto

import tandem
from tandem.hw.memory_model import DEFAULT_MEMORY
from tandem.runtime.artifact import config_of
from tandem.scripts.bench.mlperf_tiny import MLPERF_TINY
from tandem.scripts.bench.small.kinds import KINDS
from tandem.sim.driven.bench import BenchMachine
from tandem.sim.driven.drive import drive
from tandem.sim.engine import Channel, Silence
from tandem.sim.errors import EngineError
from tandem.workbench.errors import ExportError
from tandem.workbench.export import Exported, LibraryOptions, export_compiled
from tandem.workbench.export.hosted import FLAGS, HostedLibrary
from tests.support.compiler.models.digits import digits
from tests.support.workbench.cross import CROSS, make

NETWORKS = (
    "digits",
    "mobilenet-v1-tiny",
    "mobilenet-v2-tiny",
    "dqn-tiny",
    "dcgan-tiny",
    "lstm-tiny",
    "vit-tiny",
    "bert-tiny",
    "gpt2-tiny",
    "gpt2-decode-tiny",
    "llama-tiny",
    "llama-decode-tiny",
    # Of MLPerf Tiny, and of `scripts/bench/small`.
    *("resnet8", "mobilenet-v1-0.25", "ds-cnn", "autoencoder"),
    *("U-Net", "GRU", "EfficientNet", "Whisper"),
)


def check(
    folder: Path,
    artifact: tandem.Artifact,
    *engines: str,
    runs: int = 2,
    in_place: bool = False,
) -> Exported:
    """Export a network, and run it in C and in Python, more than once, on other inputs each."""
    options = LibraryOptions(in_place=in_place)
    exported = export_compiled(artifact.network, folder, artifact.noise(), options=options)
    config = config_of(artifact.network.artifact)
    assert config is not None
    size = sum(stream.memory_bytes + 4096 for stream in exported.header.streams)
    for engine in engines:
        # Garbage, which the runtime has to clear.
        driven = drive(engine, config, np.full(-(-size // 4096 + 1) * 4096 + 4096, 0xA5, np.uint8))
        library = HostedLibrary(exported, driven)
        session = tandem.Session(artifact, engine="cycle" if engine != "functional" else engine)
        for seed in range(runs):
            inputs = artifact.noise(seed)
            wanted = session.run(inputs)
            found = library.run(inputs)
            assert {*found} == {*wanted.outputs}
            for name, array in found.items():
                assert np.array_equal(array, wanted[name]), (engine, name)
            assert library.cycles == (wanted.cycles or 0)
        driven.close()
    return exported


def model_of(network: str) -> str | ModelProto:
    if network in MLPERF_TINY:
        return MLPERF_TINY[network]()
    return KINDS[network]() if network in KINDS else network


@pytest.mark.parametrize(
    ("network", "machine", "engine", "in_place"),
    [
        ("digits", "tiny-x", "rtl", True),
        ("digits", "pynq", "cycle", False),
        # A launch for each step.
        pytest.param("lstm-tiny", "small8", "cycle", True, marks=pytest.mark.exhaustive),
        pytest.param(
            "llama-decode-tiny", "pynq-x", "functional", True, marks=pytest.mark.exhaustive
        ),
    ],
)
def test_networks(tmp_path: Path, network: str, machine: str, engine: str, in_place: bool) -> None:
    check(tmp_path, tandem.compile(network, machine), engine, in_place=in_place)


@pytest.mark.parametrize("engine", ["functional", "rtl"])
def test_weights_that_are_codes(tmp_path: Path, engine: str) -> None:
    check(tmp_path, digits("tiny-w", weights="int4"), engine)


@pytest.mark.exhaustive
@pytest.mark.filterwarnings("ignore:.*calibrated with noise")
@pytest.mark.parametrize("machine", ["pynq", "pynq-x", "small8-x", "ultra96"])
@pytest.mark.parametrize("network", NETWORKS)
def test_all_networks(tmp_path: Path, network: str, machine: str) -> None:
    in_place = machine in ("pynq", "small8-x")
    artifact = tandem.compile(model_of(network), machine)
    check(tmp_path, artifact, "functional", "cycle", in_place=in_place)


@pytest.mark.exhaustive
def test_resnet18_on_the_verilog(tmp_path: Path) -> None:
    check(tmp_path, tandem.compile("resnet18", "pynq-x"), "rtl", runs=1)


def test_addresses_and_undefined_behaviour(tmp_path: Path) -> None:
    """The program that is written, on a machine in its own memory that says it is none."""
    digits("tiny").export(tmp_path)
    (tmp_path / "board.c").write_text(ABSENT)
    flags = "CFLAGS=-std=c99 -g -Wall -Wextra -Wpedantic -Werror -fsanitize=address,undefined"
    make(tmp_path, "main", flags)
    done = subprocess.run([tmp_path / "main"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("no machine at these addresses (fault 0, instruction -1)")


ABSENT = """
#include "tandem_bare.h"
const struct tandem_platform *board_platform(void);
const struct tandem_platform *board_platform(void)
{
    static uint32_t registers[256];
    static struct tandem_bare board;

    board.registers = registers;
    return tandem_bare(&board);
}
"""


def test_other_processors_beside_the_accelerator(tmp_path: Path) -> None:
    """A microcontroller's kernels, the runtime and the board's file compile for it."""
    artifact = digits("small8-x", processor=tandem.Cpu("cortex-m4"))
    artifact.export(tmp_path)
    CROSS["cortex-m4"].require()
    where = "-DTANDEM_REGISTERS=0x40000000 -DTANDEM_MEMORY=0x20100000 -DTANDEM_MEMORY_BYTES=262144"
    tools = f"CC={' '.join(CROSS['cortex-m4'].compiler)}", f"AR={CROSS['cortex-m4'].archiver}"
    make(tmp_path, "libdigits.a", "board.o", *tools, f"CFLAGS=-std=c99 -O2 -Wall -Werror {where}")
    done = subprocess.run(
        [*CROSS["cortex-m4"].compiler, "-c", "board.c", "-o", "other.o"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert "say where the accelerator is" in done.stderr


def test_errors(tmp_path: Path) -> None:
    artifact = digits("tiny")
    exported = artifact.export(tmp_path)
    memory = np.zeros(1 << 18, np.uint8)
    for other, words in (("small8", "compiled for a machine of another configuration"),):
        machine = drive("functional", tandem.Accelerator(other).config, memory)
        with pytest.raises(ExportError, match=words):
            HostedLibrary(exported, machine)
    config = tandem.Accelerator("tiny").config
    with pytest.raises(ExportError, match="no memory that the machine can address"):
        HostedLibrary(exported, drive("functional", config, memory[: 1 << 13]))
    with pytest.raises(ExportError, match="no-such-compiler cannot be run"):
        HostedLibrary(exported, drive("functional", config, memory), compiler="no-such-compiler")
    with pytest.raises(ExportError, match=r"cc failed: .*error"):
        HostedLibrary(
            exported, drive("functional", config, memory), flags=(*FLAGS, "-DTANDEM_RESULT_OK=")
        )


def test_a_run_that_fails_is_told_and_the_next_one_works(tmp_path: Path) -> None:
    artifact = digits("tiny")
    exported, config = artifact.export(tmp_path), tandem.Accelerator("tiny").config
    silence = Silence(Channel.R, 20_000, 1 << 40)
    driven = BenchMachine(config, np.zeros(1 << 18, np.uint8), DEFAULT_MEMORY, silence=silence)
    library = HostedLibrary(exported, driven)
    library.limit = 5
    with pytest.raises(ExportError, match="did not end in time, and was stopped"):
        library.run(artifact.noise())
    driven.close()
    with pytest.raises(EngineError):
        drive("none", config, np.zeros(1 << 12, np.uint8))


def test_the_web_has_no_accelerator(tmp_path: Path) -> None:
    artifact = digits("tiny", processor=tandem.Cpu("wasm32"))
    with pytest.raises(ExportError, match="WebAssembly has no accelerator"):
        artifact.export(tmp_path)
    assert not any(tmp_path.iterdir())
