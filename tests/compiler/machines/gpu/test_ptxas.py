"""`ptxas`: what it says of kernels; tests that use it are skipped where it is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tandem.compiler.errors import CodegenError
from tandem.compiler.ir.dtypes import FLOAT16, FLOAT32, INT8, INT32, DType
from tandem.compiler.ir.expr import Expr
from tandem.compiler.ir.stmt import LoopKind
from tandem.compiler.ir.visit import loops
from tandem.compiler.machines.gpu.codegen.opencl import kernel_name
from tandem.compiler.machines.gpu.codegen.ptx import PROCESSORS, ptx_text
from tandem.compiler.machines.gpu.launch import grid_of
from tandem.compiler.machines.gpu.lower.lowering import gpu_program, shared_bytes
from tandem.compiler.machines.gpu.machine import GpuMachine, nvidia_gpu
from tandem.compiler.machines.gpu.network_programs import network_programs
from tandem.compiler.machines.gpu.ptxas import KernelResources, assembled, ptxas_path
from tandem.compiler.machines.gpu.schedules.generic import gpu_schedule
from tandem.compiler.operators import stored_floats
from tandem.compiler.te import cast, compute, placeholder, reduce_axis, sum
from tandem.workbench.models import ModelOptions, import_model
from tests.support.compiler.machines.gpu.dots import dot_program
from tests.support.compiler.machines.gpu.schedules import Tile, product
from tests.support.compiler.machines.gpu.warps import warp_program

MACHINE = GpuMachine()
REPORT = """\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'tandem_f_1' for 'sm_80'
ptxas info    : Function properties for tandem_f_1
    24 bytes stack frame, 16 bytes spill stores, 20 bytes spill loads
ptxas info    : Used 34 registers, used 1 barriers, 512 bytes smem, 376 bytes cmem[0]
ptxas info    : Compile time = 5.865 ms
ptxas info    : Compiling entry function 'tandem_f_0' for 'sm_80'
ptxas info    : Function properties for tandem_f_0
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 8 registers
"""


def found_ptxas() -> Path:
    """The assembler; skips the test where there is none."""
    found = ptxas_path()
    if found is None:
        pytest.skip("there is no ptxas: the package nvidia-cuda-nvcc-cu12 has it")
    return found


def program(tmp_path: Path, text: str) -> Path:
    """A shell script in the place of the assembler."""
    path = tmp_path / "ptxas"
    path.write_text(f"#!/bin/sh\n{text}")
    path.chmod(0o755)
    return path


def test_report(tmp_path: Path) -> None:
    path = program(tmp_path, f"cat <<'END'\n{REPORT}END\n")
    assert assembled("", "sm_80", path) == (
        KernelResources("tandem_f_1", 34, 512, 24, 36),
        KernelResources("tandem_f_0", 8, 0, 0, 0),
    )


def test_refusal(tmp_path: Path) -> None:
    path = program(tmp_path, "echo 'line 1: syntax error' >&2; exit 255\n")
    with pytest.raises(CodegenError, match=r"refuses the text for sm_80: line 1: syntax error"):
        assembled("nonsense", "sm_80", path)


def test_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sys.path", [str(tmp_path)])
    assert ptxas_path() is None
    packaged = tmp_path / "nvidia/cuda_nvcc/bin"
    packaged.mkdir(parents=True)
    assert program(packaged, "") == ptxas_path()
    assert program(tmp_path, "") == ptxas_path()


@pytest.mark.parametrize("processor", PROCESSORS)
def test_product(processor: str) -> None:
    text = ptx_text(
        gpu_program(product(tile=Tile(slots=2), dtype=FLOAT32).program, MACHINE), processor
    )
    (found,) = assembled(text, processor, found_ptxas())
    assert (found.kernel, found.shared_bytes, found.spilled_bytes) == ("tandem_C", 512, 0)
    with pytest.raises(CodegenError, match=r"ptxas refuses the text"):
        assembled(text.replace("bar.sync", "bar.none"), processor, found_ptxas())


@pytest.mark.parametrize("processor", PROCESSORS)
def test_dot_product(processor: str) -> None:
    text = ptx_text(dot_program(), processor)
    (found,) = assembled(text, processor, found_ptxas())
    assert (found.kernel, found.shared_bytes) == ("tandem_dots", 64)
    with pytest.raises(CodegenError, match=r"ptxas refuses the text"):
        assembled(text.replace("dp4a.s32", "dp4a.s16"), processor, found_ptxas())


@pytest.mark.exhaustive
@pytest.mark.parametrize("processor", PROCESSORS)
@pytest.mark.parametrize("dtype", [FLOAT32, INT32], ids=str)
def test_large_product(processor: str, dtype: DType) -> None:
    a, b = placeholder((1024, 1024), dtype, "A"), placeholder((1024, 1024), dtype, "B")
    k = reduce_axis(1024, "k")
    c = compute((1024, 1024), lambda i, j: sum(a[i, k] * b[k, j], axis=k), "C")
    made = gpu_program(gpu_schedule(c, machine=MACHINE, inputs=[a, b], name="C").program, MACHINE)
    found = assembled(ptx_text(made, processor), processor, found_ptxas())
    (tiled,) = [each for each in found if each.shared_bytes]
    # A tile of 128 x 16 terms of each operand, in two slots, and the sums of 8 x 8 in registers.
    assert tiled.shared_bytes == 2 * 2 * 128 * 16 * 4
    assert (tiled.stack_bytes, tiled.spilled_bytes) == (0, 0)
    assert 64 < tiled.registers <= 255


@pytest.mark.exhaustive
@pytest.mark.parametrize("processor", PROCESSORS)
def test_large_product_of_bytes(processor: str) -> None:
    a, b = placeholder((1024, 1024), INT8, "A"), placeholder((1024, 1024), INT8, "B")
    k = reduce_axis(1024, "k")
    c = compute(
        (1024, 1024), lambda i, j: sum(cast(a[i, k], INT32) * cast(b[k, j], INT32), axis=k), "C"
    )
    made = gpu_program(gpu_schedule(c, machine=MACHINE, inputs=[a, b], name="C").program, MACHINE)
    text = ptx_text(made, processor)
    # A thread adds products to 8 x 8 sums, four at once, in a loop over the terms of a tile.
    assert text.count("dp4a.s32.s32") == 8 * 8
    found = assembled(text, processor, found_ptxas())
    (tiled,) = [each for each in found if each.shared_bytes]
    assert tiled.shared_bytes == 2 * 2 * 128 * 16
    assert (tiled.stack_bytes, tiled.spilled_bytes) == (0, 0)
    assert 64 < tiled.registers <= 255


@pytest.mark.parametrize("processor", PROCESSORS)
def test_warp_product(processor: str) -> None:
    text = ptx_text(warp_program(), processor)
    (found,) = assembled(text, processor, found_ptxas())
    assert (found.kernel, found.shared_bytes, found.spilled_bytes) == ("tandem_f", 768, 0)
    with pytest.raises(CodegenError, match=r"ptxas refuses the text"):
        assembled(text.replace("m16n8k32", "m16n8k8"), processor, found_ptxas())


@pytest.mark.exhaustive
@pytest.mark.parametrize("processor", PROCESSORS)
@pytest.mark.parametrize("side", [1024, 512, 200])
def test_large_product_of_warps(processor: str, side: int) -> None:
    a, b = placeholder((side, side), INT8, "A"), placeholder((side, side), INT8, "B")
    k = reduce_axis(side, "k")
    c = compute(
        (side, side), lambda i, j: sum(cast(a[i, k], INT32) * cast(b[j, k], INT32), axis=k), "C"
    )
    machine = nvidia_gpu(processor)
    made = gpu_program(gpu_schedule(c, machine=machine, inputs=[a, b], name="C").program, machine)
    text = ptx_text(made, processor)
    # A warp has 64 x 32 sums, 32 x 16 or 16 x 8, by products of 16 x 8, and loads of 16 or 8 rows;
    # a tile has terms for two.
    products, loads = {1024: (4 * 4, 4 + 4), 512: (2 * 2, 2 + 2), 200: (1, 1 + 1)}[side]
    assert (text.count("mma.sync"), text.count("ldmatrix")) == (2 * products, 2 * loads)
    (found,) = assembled(text, processor, found_ptxas())
    assert (found.stack_bytes, found.spilled_bytes) == (0, 0)
    assert 4 * products < found.registers <= 255


@pytest.mark.exhaustive
@pytest.mark.parametrize("processor", PROCESSORS)
def test_large_product_of_float16(processor: str) -> None:
    a, b = placeholder((1024, 1024), FLOAT16, "A"), placeholder((1024, 1024), FLOAT16, "B")
    k = reduce_axis(1024, "k")

    def term(i: Expr, j: Expr) -> Expr:
        return stored_floats.cast(a[i, k], FLOAT32) * stored_floats.cast(b[j, k], FLOAT32)

    c = compute((1024, 1024), lambda i, j: sum(term(i, j), axis=k), "C")
    machine = nvidia_gpu(processor)
    made = gpu_program(gpu_schedule(c, machine=machine, inputs=[a, b], name="C").program, machine)
    text = ptx_text(made, processor)
    assert (text.count("mma.sync.aligned.m16n8k16"), text.count("ldmatrix")) == (32, 16)
    (found,) = assembled(text, processor, found_ptxas())
    assert (found.shared_bytes, found.stack_bytes, found.spilled_bytes) == (32768, 0, 0)
    assert 64 < found.registers <= 255


@pytest.mark.exhaustive
@pytest.mark.parametrize("quantised", [True, False])
def test_digits(quantised: bool) -> None:
    assembler = found_ptxas()
    options = ModelOptions() if quantised else ModelOptions(quantise=None)
    network = import_model("digits", options, None).prepared(None)
    for made in network_programs(network.function, MACHINE).values():
        for processor in PROCESSORS:
            found = assembled(ptx_text(made, processor), processor, assembler)
            needs = {each.kernel: each for each in found}
            assert {*needs} == {kernel_name(each) for each in made.launches}
            for launch in made.launches:
                grid, need = grid_of(launch), needs[kernel_name(launch)]
                assert need.shared_bytes == shared_bytes(grid)
                assert need.spilled_bytes == 0
                assert need.registers * grid.threads <= 64 * 1024
                assert all(each.kind is not LoopKind.BLOCKS for each in loops(grid.body))
