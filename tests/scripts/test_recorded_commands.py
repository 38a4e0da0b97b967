"""What commands print on small inputs stays what it was: tables, JSON, files that they name,
refusals.

The network states its own scales, and the layers are given by their sizes, so that nothing depends
on the host; times are left out.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import onnx
import pytest
from typer.testing import CliRunner

from tandem.hw.config_files import load_config
from tandem.scripts.cli import app
from tandem.scripts.matmul import matmul_program
from tests.support.compiler.models.stated_network import stated_network

_LEFT_OUT = (
    (re.compile(r"\d[\d,]*(\.\d+)? ?(ms|us|s|seconds?|cycles (a|per) second)\b"), "T"),
    (re.compile(r"[\d,]+ a second|\b\d+\.\d{3}\b"), "T"),
    (re.compile(r'("\w*(seconds?|time)\w*": )[\d.e+-]+'), r"\1T"),
    (re.compile(r"[\d,]+ bytes, in T"), "N bytes, in T"),
    (re.compile(r"compiling the simulator, once.*\n"), ""),
    (re.compile(r"[│╭╮╰╯─]"), ""),
    (re.compile(r" +"), " "),
)
"""What depends on the time, the host or the cache, the width of its columns, and frames."""


def _write_inputs(folder: Path) -> None:
    """The files that the commands read."""
    onnx.save(stated_network(), folder / "net.onnx")
    rng = np.random.default_rng(6)
    np.save(folder / "x.npy", rng.normal(0, 2, (1, 4, 6, 6)).astype(np.float32))
    np.save(folder / "three.npy", rng.normal(0, 2, (3, 4, 6, 6)).astype(np.float32))
    np.save(folder / "wrong.npy", np.zeros((1, 4, 6, 5), np.float32))
    (folder / "labels.txt").write_text("1\n4\n0\n")
    (folder / "few.txt").write_text("1\n4\n")
    config = load_config("tiny")
    program, layout = matmul_program(config, 8, 8, 8)
    a = np.arange(64, dtype=np.int8).reshape(8, 8)
    (folder / "program.bin").write_bytes(program.data)
    (folder / "image.bin").write_bytes(layout.image(a, -a).tobytes())
    (folder / "cut.bin").write_bytes(program.data[:-3])
    (folder / "bad.bin").write_bytes(program.data[:64] + b"\xff" * 16 + program.data[80:])
    (folder / "odd.json").write_text('{"log_block_in": 3, "log_block_out": 3, "bus_bits": 128}')
    (folder / "wrong.json").write_text('{"log_block": 3}')
    (folder / "text.json").write_text("{")
    (folder / "space.json").write_text(json.dumps(SPACE))


SPACE = {
    "base": "tiny",
    "fields": {"log_wgt_buffer": [8, 9], "longest_burst": [8, 16], "load_buffer": [16, 64]},
}
RUN = "--config tiny --input x.npy"
LAYERS = "--layer a=8,8,8,8,1,1,0 --layer b=6,7,5,9,2,2,1 --config tiny"
TUNED = "--layer a=2,2,8,8,1,1,0 --layer b=2,2,8,16,1,1,0 --config small8 --jobs 1"
SEARCH = "--space space.json --budget 4 --config tiny --jobs 1 --storage sqlite:///found.db"
COMMANDS = (
    *(
        "--version",
        "unknown",
        "run",
        "run --engine",
        "run missing.onnx",
        "run net.onnx --config no",
    ),
    f"run net.onnx {RUN}",
    f"run net.onnx {RUN} --json",
    f"run net.onnx {RUN} --explain --memory ddr",
    f"run net.onnx {RUN} --engine functional --check --output out.npz",
    f"run net.onnx {RUN} --why c1_qlinearconv_3 --clock 100",
    f"run net.onnx {RUN} --why c2_qlinearconv_2 --memory latency=30,interval=2",
    f"run net.onnx {RUN} --trace run.json --no-latency-hiding",
    f"run net.onnx {RUN} --why none",
    f"run net.onnx {RUN} --compare functional,cycle",
    f"run net.onnx {RUN} --compare functional",
    f"run net.onnx {RUN} --device cpu --threads 1 --keep-float first",
    "run net.onnx --config tiny --input three.npy --labels few.txt",
    "run net.onnx --config tiny --input three.npy --json --labels labels.txt --accuracy",
    "run net.onnx --config tiny --input wrong.npy",
    "run net.onnx --config tiny --seed 4 --quantize none",
    "run net.onnx --config wrong.json",
    "run net.onnx ''",
    "run net.onnx --config= --seed 3",
    "run net.onnx --config odd.json",
    "run net.onnx --config text.json",
    "run net.onnx --memory slow=1",
    "run net.onnx --shape y=1,3",
    "run net.onnx --shape x=2,4,6,6 --config tiny",
    "run net.onnx --calibrate x.npy --config tiny",
    "compile net.onnx -o net.tandem --config tiny --explain",
    "compile net.onnx -o net.tandem --config tiny --json",
    "compile net.onnx -o a53.tandem --device cpu --target cortex-a53",
    "compile net.onnx -o a53.tandem --device cpu --target cortex",
    "compile net.onnx -o net.onnx --config tiny",
    "compile net.onnx -o cpu.tandem --device cpu --threads 1 --keep-float second",
    "compile net.onnx -o net.tandem --config tiny --records missing.jsonl",
    "run net.tandem --input x.npy",
    "run net.tandem --input x.npy --config small8",
    "run net.tandem --input x.npy --device cpu --json",
    "run net.tandem --input x.npy --quantize none",
    "run a53.tandem --input x.npy",
    "disasm net.tandem",
    "disasm net.tandem --verify --json",
    "disasm net.tandem --stream none",
    "disasm program.bin --config tiny",
    "disasm program.bin --config tiny --verify --image image.bin",
    "disasm program.bin --config tiny --json --verify --image image.bin",
    "disasm program.bin --config tiny --program-address 3",
    "disasm bad.bin --config tiny",
    "disasm bad.bin --config tiny --verify",
    "disasm cut.bin --config tiny",
    "disasm missing.bin",
    "sim program.bin --image image.bin --config tiny",
    "sim program.bin --image image.bin --config tiny --json --memory edge -o after.bin",
    "sim program.bin --image image.bin --config tiny --engine functional --json",
    "sim program.bin --image image.bin --config tiny --compare functional,cycle",
    "sim program.bin --image image.bin --config tiny --max-cycles 90",
    "sim program.bin --image image.bin --config tiny --trace sim.json",
    "sim program.bin --image image.bin --config tiny --program-address 8",
    "sim bad.bin --image image.bin --config tiny",
    "sim net.tandem --config tiny",
    "sim net.tandem --engine none",
    f"utilization {LAYERS}",
    f"utilization {LAYERS} --memory edge --json --roofline roof.svg",
    f"utilization {LAYERS} --sweep latency=1:16:x4,log_inp_buffer=6:7 --plot lines.svg",
    f"utilization {LAYERS} --sweep nothing=1:2",
    f"utilization {LAYERS} --sweep latency=5:1",
    "utilization --layer c=1,2 --config tiny",
    "utilization --layer C12 --config tiny",
    "utilization net.onnx --config tiny",
    f"tune {TUNED} --explorer exact --records exact.jsonl",
    f"tune {TUNED} --explorer random --trials 4 --records random.jsonl --json",
    "tune --show --records exact.jsonl",
    "tune --show --records random.jsonl --json",
    "tune --show --records missing.jsonl",
    "tune --records exact.jsonl --merge random.jsonl --show",
    "tune net.onnx --config tiny --explorer estimate --trials 1 --jobs 1",
    "tune",
    "compile net.onnx -o tuned.tandem --config small8 --records exact.jsonl",
    "export net.onnx -o library --target cortex-m4",
    "export net.onnx -o library --name 3x",
    "export missing.onnx -o library",
    "search net.onnx --space missing.json",
    "search net.onnx --space small --objectives cycles,beauty",
    "search net.onnx --budget 0",
    f"search net.onnx {SEARCH} --explain",
    f"search net.onnx {SEARCH} --around tiny --json",
    "search net.onnx --weights 1,2 --budget 2",
)
"""The command lines, in one folder one after the other: later ones read what earlier ones wrote."""


def _plain(text: str, folder: Path) -> str:
    """The text without the folder and what depends on more than the command."""
    text = text.replace(str(folder), "FOLDER")
    for pattern, instead in _LEFT_OUT:
        text = pattern.sub(instead, text)
    return text


def _written(folder: Path, before: Mapping[str, float]) -> Iterator[str]:
    """New files, with digests of those whose bytes do not depend on times or the host."""
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_file() and path.stat().st_mtime_ns != before.get(name):
            exact = path.suffix in (".npz", ".bin")
            yield f"wrote {name} {sha256(path.read_bytes()).hexdigest()[:16] if exact else ''}"


_PROGRESS = (
    f"run net.onnx {RUN}",
    f"run net.onnx {RUN} --json",
    "compile net.onnx -o net.tandem --config tiny",
    f"utilization {LAYERS}",
    "sim program.bin --image image.bin --config tiny",
    "sim program.bin --image image.bin --config tiny --json",
    "tune net.onnx --config tiny --explorer estimate --trials 1 --jobs 1",
)
"""Commands whose steps are shown on a terminal."""


class _Terminal:
    """A terminal that keeps nothing."""

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        return len(text)

    def flush(self) -> None:
        pass


def test_progress(
    recorded: Callable[[str, Mapping[str, str]], None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The steps that a terminal shows, without numbers; what is compiled once is left out."""
    monkeypatch.chdir(tmp_path)
    _write_inputs(tmp_path)
    steps: list[str] = []

    def note(self: object, *args: object, **values: object) -> None:
        steps.append(" ".join(map(str, (*args[1:], *(values[key] for key in sorted(values))))))

    stub = SimpleNamespace(stderr=_Terminal())
    monkeypatch.setattr("tandem.scripts.progress.sys", stub)
    monkeypatch.setattr("tandem.scripts.progress.reported", lambda _: nullcontext())
    monkeypatch.setattr("tandem.scripts.progress.RichProgress.update", note)
    found = {}
    for command in _PROGRESS:
        steps.clear()
        result = CliRunner().invoke(app, shlex.split(command))
        lines = [_plain(re.sub(r"\d[\d,.]*", "N", step), tmp_path) for step in steps]
        found[command] = "\n".join([f"exit {result.exit_code}", *dict.fromkeys(lines)])
    recorded("recorded/scripts/progress.txt", found)


def test_commands(
    recorded: Callable[[str, Mapping[str, str]], None],
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cache = tmp_path_factory.mktemp("cache")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    _write_inputs(tmp_path)
    found = {}
    for command in COMMANDS:
        files = (each for each in tmp_path.rglob("*") if each.is_file())
        before = {str(each.relative_to(tmp_path)): each.stat().st_mtime_ns for each in files}
        with monkeypatch.context() as patch:
            if command.startswith("search "):
                # Areas are estimated from what this computer has synthesised, in other tests too.
                patch.setenv("TANDEM_CACHE", str(cache))
            result = CliRunner().invoke(app, shlex.split(command))
        said = [f"exit {result.exit_code}", result.stdout, result.stderr]
        text = _plain("\n".join([*said, *_written(tmp_path, before)]), tmp_path)
        found[f"tandem {command}"] = text
    recorded("recorded/scripts/commands.txt", found)
