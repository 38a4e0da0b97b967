"""`scripts.matmul_demo` on small sizes."""

from __future__ import annotations

import pytest
import typer
from typer.testing import CliRunner

from tandem.hw.config_files import load_config
from tandem.hw.isa import Program
from tandem.hw.memory_model import MEMORY_PRESETS, MemoryModel
from tandem.scripts.matmul_demo import command, run_product
from tandem.sim.engine import Bytes, Engine, Launch
from tandem.sim.engines import make_engine
from tandem.sim.result import Result

TINY = load_config("tiny")
FAST = MEMORY_PRESETS["fast"]


@pytest.fixture
def app() -> typer.Typer:
    application = typer.Typer(add_completion=False)
    application.command()(command)
    return application


@pytest.mark.parametrize("name", ["pynq", "tiny", "batch2", "small8"])
def test_the_product_is_right(name: str) -> None:
    engine = make_engine("functional", load_config(name), FAST)
    outcome = run_product(engine, 64, 48, 80, seed=1)
    assert outcome.wrong == 0
    assert outcome.macs == 64 * 48 * 80


def test_the_machine_keeps_its_array_busy() -> None:
    # Tiles so large that memory keeps up: what is lost is resets, and the way in and out.
    config = TINY.replace(name="roomy", log_acc_buffer=13, log_inp_buffer=11, log_wgt_buffer=11)
    engine = make_engine("cycle", config, FAST)
    outcome = run_product(engine, 128, 128, 128, seed=2)
    assert outcome.wrong == 0
    assert outcome.result.cycles is not None
    assert outcome.macs / (outcome.result.cycles * config.macs) > 0.9


def test_report(app: typer.Typer) -> None:
    arguments = ["--engine", "functional", "--config", "tiny", "-m", "8", "-n", "8", "-k", "8"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert "8 x 8 x 8 int8 matrix product on tiny, engine functional" in result.output
    assert "equal to NumPy's" in result.output


def test_sizes_that_do_not_fit(app: typer.Typer) -> None:
    result = CliRunner().invoke(app, ["--engine", "functional", "-m", "1024", "-n", "1001"])
    assert result.exit_code == 1
    assert result.stderr == "error: n is 1001: it must be a positive multiple of 16\n"


class LazyEngine:
    """An engine that leaves memory as it is: its answer is wrong."""

    config = TINY
    memory_model: MemoryModel = FAST
    has_time = False
    name = "lazy"

    def __init__(self, real: Engine) -> None:
        self._real = real

    def prepare(self, data: bool = True) -> None:
        self._real.prepare(data)

    def launch(self, program: Program, memory: Bytes, how: Launch) -> Result:
        return self._real.launch(program, memory.copy(), how)

    def close(self) -> None:
        self._real.close()


def test_a_wrong_result_is_noticed() -> None:
    engine = LazyEngine(make_engine("functional", TINY, FAST))
    assert run_product(engine, 8, 8, 8, seed=0).wrong > 0
