"""Shares of the peak of inner loops on other processors, and the table of the page."""

from __future__ import annotations

from pathlib import Path

import pytest

from tandem.scripts.bench import inner_loops
from tandem.scripts.bench.inner_loops import CORES, LEAST, Peak, Row, measure, peak_of
from tandem.scripts.bench.loops.layers import DTYPES, LAYERS
from tandem.scripts.bench.loops.model import Core, model_version
from tandem.scripts.errors import CommandError
from tests.support.workbench.cross import CROSS

PAGE = Path("docs/cpu-kernels.md").read_text()
REACHED = {
    ("neoverse-n1", "float32"),
    ("neoverse-n1", "int8"),
    ("cortex-a72", "float32"),
    ("cortex-a72", "int8"),
    ("cortex-a55", "int8"),
}
"""What has to reach the least share, but for a single row of data on a processor in order."""


@pytest.fixture(autouse=True)
def tools() -> None:
    for name in ("neoverse-n1", "rv64gc"):
        CROSS[name].require()
    try:
        model_version()
    except CommandError as error:
        pytest.skip(str(error))


def test_peaks() -> None:
    assert peak_of(CORES["neoverse-n1"], "int8") == Peak("sdot", 32)
    assert peak_of(CORES["cortex-a72"], "int8") == Peak("smull, sadalp", 8)
    assert peak_of(CORES["cortex-a72"], "float32") == Peak("fmla", 4)
    assert peak_of(CORES["sifive-u74"], "float32") == Peak("fmadd.s", 1)


@pytest.mark.parametrize("core", ["neoverse-n1", "cortex-a72", "cortex-a55"])
def test_dense_layers_of_bytes(core: str) -> None:
    row = measure(core, LAYERS[1], "int8")
    assert row.share >= LEAST
    assert row.ours > row.theirs > 0


def test_what_the_model_does_not_know() -> None:
    with pytest.raises(CommandError, match="llvm-mca refuses a loop for sifive-u74"):
        Core("sifive-u74", "riscv64-linux-gnu").throughput("fmla v0.4s, v1.4s, v2.4s")


def test_a_row() -> None:
    row = Row("cortex-a53", "convolution", "float32", 1, 0.5, Peak("fmla", 4))
    assert str(row) == (
        "| cortex-a53 | convolution | float32 | 1.00 | 25% | 0.50 | "
        f"{inner_loops.REASONS['cortex-a53', 'float32']} |"
    )


@pytest.mark.exhaustive
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("core", CORES)
def test_the_table(core: str, dtype: str) -> None:
    """The page has what the command prints; GCC's column depends on its version."""
    for layer in LAYERS:
        row = measure(core, layer, dtype)
        ours = str(row).partition(f" | {row.theirs:.2f} |")[0]
        assert ours in PAGE
        assert row.share >= LEAST or row.reason is not None
        one_row = layer is LAYERS[-1] and core == "cortex-a55"
        assert row.share >= LEAST or (core, dtype) not in REACHED or one_row
