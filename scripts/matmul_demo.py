"""`make matmul`: a matrix product on the RTL, checked, with its cycles by unit and activity."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import numpy.typing as npt
import typer
from rich.console import Console

from tandem.hw.config_files import load_config
from tandem.hw.memory_model import parse_memory
from tandem.scripts.console import FAILED, errors_in_one_line
from tandem.scripts.counters import unit_table
from tandem.scripts.matmul import matmul_program
from tandem.scripts.options import (
    DEFAULT_CONFIG,
    DEFAULT_MEMORY,
    ConfigOption,
    DebugOption,
    EngineOption,
    MemoryOption,
    SeedOption,
)
from tandem.scripts.progress import show_progress
from tandem.sim.engine import Engine, Launch
from tandem.sim.engines import make_engine
from tandem.sim.memory import place_program
from tandem.sim.result import Result

SIZE = 1024
Int8 = npt.NDArray[np.int8]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a matrix product on an engine.

    Attributes
    ----------
    instructions
        Length of the program.
    wrong
        How many elements of C differ from NumPy's.
    macs
        Useful multiply-accumulates.
    preparation
        Seconds of the launch without the run: mostly for building the simulator.
    """

    result: Result
    instructions: int
    wrong: int
    macs: int
    preparation: float


def run_product(engine: Engine, m: int, n: int, k: int, seed: int) -> Outcome:
    """Multiply random matrices on `engine` and compare with NumPy."""
    random = np.random.default_rng(seed)
    a = random.integers(-128, 128, (m, k), dtype=np.int8)
    b = random.integers(-128, 128, (n, k), dtype=np.int8)
    program, layout = matmul_program(engine.config, m, n, k)
    memory, address = place_program(layout.image(a, b), program, None)
    with show_progress() as progress:
        start = time.perf_counter()
        result = engine.launch(program, memory, Launch(address=address, progress=progress))
        preparation = time.perf_counter() - start - result.seconds
    wrong = int(np.count_nonzero(layout.result(memory) != _reference(a, b)))
    return Outcome(result, len(program), wrong, m * n * k, preparation)


def command(
    m: Annotated[int, typer.Option("-m", min=1, help="Rows of A and of C.")] = SIZE,
    n: Annotated[int, typer.Option("-n", min=1, help="Rows of B, columns of C.")] = SIZE,
    k: Annotated[int, typer.Option("-k", min=1, help="Columns of A and of B.")] = SIZE,
    config: ConfigOption = DEFAULT_CONFIG,
    engine: EngineOption = "rtl",
    memory: MemoryOption = DEFAULT_MEMORY,
    seed: SeedOption = 0,
    debug: DebugOption = False,
) -> None:
    """Multiply two random int8 matrices, C = A x B^T, and compare with NumPy."""
    console = Console(highlight=False)
    with errors_in_one_line(debug):
        machine = load_config(config)
        console.print(f"{m} x {n} x {k} int8 matrix product on {machine.name}, engine {engine}")
        start = time.perf_counter()
        simulator = make_engine(engine, machine, parse_memory(memory))
        made = time.perf_counter() - start
        try:
            outcome = run_product(simulator, m, n, k, seed)
        finally:
            simulator.close()
        _print_outcome(console, outcome, machine.macs, made)
        if outcome.wrong:
            raise typer.Exit(FAILED)


def _reference(a: Int8, b: Int8) -> Int8:
    # Sums of up to 2**39 products are exact in float64, for which NumPy's product is fastest.
    product = a.astype(np.float64) @ b.astype(np.float64).T
    return product.astype(np.int64).astype(np.int8)


def _print_outcome(console: Console, outcome: Outcome, macs: int, made: float) -> None:
    result = outcome.result
    verdict = f"WRONG: {outcome.wrong:,} elements differ" if outcome.wrong else "equal to NumPy's"
    console.print(f"result              {verdict}")
    console.print(f"instructions        {outcome.instructions:,}")
    console.print(f"engine ready in     {made + outcome.preparation:.1f} s")
    console.print(f"run                 {result.seconds:.2f} s")
    if result.cycles is None:
        rate = outcome.macs / macs / max(result.seconds, 1e-9)
        console.print(f"speed               {rate:,.0f} micro-ops a second")
        return
    rate = result.cycles / max(result.seconds, 1e-9)
    console.print(f"speed               {rate:,.0f} cycles a second")
    console.print(f"cycles              {result.cycles:,}")
    useful = outcome.macs / (result.cycles * macs)
    console.print(f"utilisation         {useful:.1%} of {macs} multipliers")
    console.print()
    console.print(unit_table(result))


if __name__ == "__main__":
    typer.run(command)
