"""Systems on chip run networks: every output equal, with a cache, an interrupt, and without."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import onnx
import pytest

from tandem.compiler.quantise.options import Mode
from tandem.hw.config_files import load_config
from tandem.hw.memory_model import MemoryModel
from tandem.scripts.bench.mlperf_tiny import MLPERF_TINY
from tandem.workbench.errors import SocError
from tandem.workbench.models import ModelOptions
from tandem.workbench.opened import open_model
from tandem.workbench.soc import Soc, SocOptions, SocRun, make, make_soc, soc_processor
from tandem.workbench.soc.description import LEAST_LATENCY
from tests.support.compiler.graph.data_types import LISTED_LAYERS
from tests.support.compiler.graph.graphs import graph
from tests.support.compiler.models.models import convolution
from tests.support.compiler.plan.offloaded import both

pytest.importorskip("litex", reason="the extra soc")

QUANTISED = ModelOptions(Mode.MULTIPLIER)


def options(machine: str, processor: str = "vexriscv", latency: int = LEAST_LATENCY) -> SocOptions:
    return SocOptions(load_config(machine), soc_processor(processor), MemoryModel(latency))


def simulated(model: str, how: SocOptions, folder: Path) -> tuple[Soc, SocRun]:
    if shutil.which("riscv64-unknown-elf-gcc") is None:
        pytest.skip("riscv64-unknown-elf-gcc is not installed")
    found = make_soc(open_model(model, QUANTISED, None), how, folder, run=True)
    assert found.run is not None
    return found, found.run


@pytest.mark.exhaustive
def test_a_network_runs(tmp_path: Path) -> None:
    """One simulator, programs that wait for the interrupt, poll, and forget the cache."""
    model = str(convolution(tmp_path / "net.onnx"))
    # Outputs of the run before are in the cache.
    how = replace(options("tiny-x"), defines=("SOC_LOOK",))
    found, run = simulated(model, how, tmp_path / "soc")
    assert [output.equal for output in run.outputs] == [output.count for output in run.outputs]
    # The memory on chip is as the engine's.
    assert run.launches == found.cycles
    assert min(run.kernels, run.configuration, run.firmware) > 0
    assert {path.name for path in (tmp_path / "soc").iterdir()} == {
        *("LICENSES.md", "accelerator", "firmware", "gateware", "network", "simulation")
    }
    rom = (tmp_path / "soc" / "gateware" / "soc_rom.init").read_bytes()
    assert rom == (tmp_path / "soc" / "firmware" / "firmware.init").read_bytes()

    _, polled = simulated(model, replace(how, defines=("SOC_POLL",)), tmp_path / "polled")
    assert polled.is_right
    assert polled.launches == run.launches
    # Without an interrupt the wait would end after a millisecond: 64,000 cycles.
    assert abs(run.configuration - polled.configuration) < 10_000

    forgetful = replace(how, defines=("SOC_LOOK", "SOC_NO_INVALIDATE"))
    _, stale = simulated(model, forgetful, tmp_path / "forgetful")
    assert not stale.is_right
    assert all(output.equal < output.count for output in stale.outputs)


def test_a_folder_is_written_whole(tmp_path: Path) -> None:
    """Files of an earlier system go, those of others stay."""
    folder = tmp_path / "soc"
    (folder / "gateware").mkdir(parents=True)
    (folder / "gateware" / "old.v").write_text("old")
    (folder / "notes.txt").write_text("mine")
    model = str(convolution(tmp_path / "net.onnx"))
    found = make_soc(open_model(model, QUANTISED, None), options("tiny-x"), folder)
    assert found.run is None
    assert sorted(found.files) == sorted(
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and path.name != "notes.txt"
    )
    assert (folder / "notes.txt").read_text() == "mine"


def test_a_network_without_launches_is_refused(tmp_path: Path) -> None:
    model = str(convolution(tmp_path / "net.onnx"))
    real = open_model(model, ModelOptions(None), None)
    with pytest.raises(SocError, match="the accelerator computes nothing of this network"):
        make_soc(real, options("tiny-x"), tmp_path / "soc")
    assert not (tmp_path / "soc").exists()


def test_a_network_with_a_heap_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, shared = both(graph(LISTED_LAYERS), load_config("tiny-x"))
    network = SimpleNamespace(artifact=shared)
    monkeypatch.setattr(make, "compiled_with_inputs", lambda *_, **__: (network, None))
    model = open_model(str(convolution(tmp_path / "net.onnx")), QUANTISED, None)
    with pytest.raises(
        SocError, match=r"\(Nil.*Cons.*\): they need a heap, for which the firmware"
    ):
        make_soc(model, options("tiny-x"), tmp_path / "soc")
    assert not (tmp_path / "soc").exists()


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("machine", "processor", "latency"),
    [("small8-x", "vexriscv", 5), ("small8-x", "vexriscv", 16), ("small8", "picorv32", 7)],
)
def test_other_systems(tmp_path: Path, machine: str, processor: str, latency: int) -> None:
    found, run = simulated("digits", options(machine, processor, latency), tmp_path / "soc")
    assert run.is_right
    assert run.launches == found.cycles


@pytest.mark.exhaustive
@pytest.mark.parametrize("network", MLPERF_TINY)
def test_mlperf_tiny(tmp_path: Path, network: str) -> None:
    onnx.save(MLPERF_TINY[network](), tmp_path / "net.onnx")
    _, run = simulated(str(tmp_path / "net.onnx"), options("small8-x"), tmp_path / "soc")
    assert run.is_right
