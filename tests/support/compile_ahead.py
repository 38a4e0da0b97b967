"""Compiles what many tests run, before any: `python -m tests.support.compile_ahead`.

The engines and the compiler's loops take seconds, and the WebAssembly of Yosys a minute; both keep
their machine code on disk. Without this every worker of pytest would compile the same at the same
time. Here it is compiled once, in two processes.
"""

from __future__ import annotations

import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

from typer.testing import CliRunner

from tandem.hw.config_files import load_config
from tandem.hw.isa import Finish, Program
from tandem.hw.isa.columns import make_table
from tandem.scripts.cli import app
from tandem.sim.engine import Launch
from tandem.sim.engines import make_engine
from tandem.sim.memory import place_program
from tandem.sim.semantics.alu import alu
from tandem.sim.semantics.chip import make_chip
from tandem.sim.semantics.compute import compute
from tandem.sim.semantics.detail import make_detail
from tandem.sim.semantics.requantiser import make_requantiser
from tests.support.compile_yosys import compile_yosys
from tests.support.sim.programs import random_program


def compile_functional() -> None:
    """The functional engine, without features and with."""
    for name in ("tiny", "tiny-x"):
        _run("functional", name)


def compile_others() -> None:
    """The time of the cycle engine, the ALU and the micro-ops alone, and what compiles and proves
    an accelerator's program."""
    _run("cycle", "tiny", data=False)
    config = load_config("tiny-x")
    table = make_table(Program.from_instructions(config, [Finish()]).columns())
    chip, detail = make_chip(config), make_detail()
    alu(chip, None, table[0], 0, 0, detail)
    requantiser = make_requantiser(config, chip)
    assert requantiser is not None
    compute(chip, requantiser, None, table[0], 0, 0, detail)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "digits.tandem"
        CliRunner().invoke(app, ["compile", "digits", "--config", "tiny", "-o", str(path)])
        assert path.is_file()


def _run(engine: str, name: str, data: bool = True) -> None:
    config = load_config(name)
    drawn = random_program(config, seed=1, size=12)
    memory, address = place_program(drawn.image, drawn.program)
    machine = make_engine(engine, config)
    machine.launch(drawn.program, memory, Launch(address=address, data=data))
    machine.close()


JOBS = (compile_functional, compile_others, compile_yosys)


def main() -> int:
    """Compile all."""
    with ProcessPoolExecutor(2) as pool:
        for job in [pool.submit(one) for one in JOBS]:
            job.result()
    return 0


if __name__ == "__main__":
    sys.exit(main())
