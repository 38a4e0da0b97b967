"""Weights and streams as files, as C, and as objects: all build, and none keeps files of others."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import tandem
from tandem.runtime.artifact import config_of
from tandem.sim.driven.drive import drive
from tandem.workbench.errors import ExportError
from tandem.workbench.export.blobs import Blob, Format, made_blobs
from tandem.workbench.export.hosted import HostedLibrary
from tests.support.compiler.models.digits import digits
from tests.support.workbench.cross import CROSS, make

STRICT = "CFLAGS=-std=c99 -O1 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror"
FILES = {
    "bin": {"digits_weights.bin", "digits_weights.S", "check.bin", "check.S"},
    "c": {"digits_weights.c", "check.c"},
    "elf": {"digits_weights.o", "check.o"},
}


@pytest.fixture(scope="module")
def artifact() -> tandem.Artifact:
    return digits(tandem.Cpu(threads=1))


def test_each_after_the_others(tmp_path: Path, artifact: tandem.Artifact) -> None:
    """In one folder, whose files of another format make might take."""
    for form in ("bin", "c", "elf", "c", "bin"):
        artifact.export(tmp_path, format=form)
        names = {path.name for path in tmp_path.iterdir()}
        for other, files in FILES.items():
            assert files <= names if other == form else not files & names, (form, names)
        assert make(tmp_path, "clean", "check") == "as expected\n"


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_c_without_warnings(tmp_path: Path, artifact: tandem.Artifact, compiler: str) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    artifact.export(tmp_path, format="c")
    make(tmp_path, "libdigits.a", "check.o", f"CC={compiler}", STRICT)


def test_cmake_lists(tmp_path: Path, artifact: tandem.Artifact) -> None:
    """Which name what is there."""
    for form in FILES:
        folder = tmp_path / form
        artifact.export(folder, format=form)
        words = (folder / "CMakeLists.txt").read_text().replace(")", " ").replace("(", " ").split()
        named = {word for word in words if word.endswith((".c", ".S", ".o"))}
        assert named
        assert all((folder / word).exists() for word in named)


@pytest.mark.every(4)
@pytest.mark.parametrize("processor", ["rv32im", "cortex-m4", "rv64gc", "cortex-a72"])
def test_objects_for_processors(tmp_path: Path, processor: str) -> None:
    """Linked by the processor's tools, and placed by their sections."""
    CROSS[processor].require()
    digits(tandem.Cpu(processor)).export(tmp_path, format="elf")
    assert CROSS[processor].check(tmp_path) == "as expected\n"
    tool = CROSS[processor].archiver.removesuffix("-ar") + "-objdump"
    done = subprocess.run(
        [tool, "-h", "digits_weights.o"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert ".rodata.weights" in done.stdout


@pytest.mark.every(2)
@pytest.mark.parametrize("form", ["c", "elf"])
def test_streams(tmp_path: Path, form: str) -> None:
    artifact = digits("tiny")
    exported = artifact.export(tmp_path, format=form)
    config = config_of(artifact.network.artifact)
    assert config is not None
    library = HostedLibrary(exported, drive("functional", config, np.zeros(1 << 18, np.uint8)))
    inputs = artifact.noise(3)
    wanted = tandem.Session(artifact, engine="functional").run(inputs)
    assert np.array_equal(library.run(inputs)["output"], wanted["output"])
    (stream,) = json.loads(json.dumps(exported.as_json()))["streams"]
    assert Path(stream["file"]).exists()


def test_refusals(tmp_path: Path, artifact: tandem.Artifact) -> None:
    blob = Blob("b", "b", bytes(4), ".rodata.b")
    with pytest.raises(ExportError, match="this network has no code for any"):
        made_blobs([blob], Format.ELF, "any processor", ())
    web = digits(tandem.Cpu("wasm32"))
    with pytest.raises(ExportError, match="--format c is for libraries in C"):
        web.export(tmp_path, format="c")
    with pytest.raises(tandem.Error, match="format"):
        artifact.export(tmp_path, format="hex")
    assert not any(tmp_path.iterdir())
