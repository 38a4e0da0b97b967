"""Object files of kernels: what they need, and which calling conventions they go with."""

from __future__ import annotations

import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper

import tandem
from tandem.base.processor import object_of_text
from tandem.runtime.native import ObjectCode
from tandem.runtime.native.elf import parse_object
from tandem.workbench.errors import ExportError
from tandem.workbench.export import wasm_objects
from tandem.workbench.export.arm_attributes import for_any_convention
from tandem.workbench.export.kernels import kernels_of
from tests.support.workbench.cross import CROSS, cortex_m, make


def model(operator: str, inputs: int = 1) -> bytes:
    """A model of one operator on vectors of four floats."""
    names = [f"x{number}" for number in range(inputs)]
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in (*names, "y")]
    graph = helper.make_graph(
        [helper.make_node(operator, names, ["y"])], "g", infos[:-1], infos[-1:]
    )
    opset = helper.make_opsetid("", 17)
    made: bytes = helper.make_model(graph, opset_imports=[opset], ir_version=8).SerializeToString()
    return made


def exported(folder: Path, operator: str, processor: str, inputs: int = 1) -> tuple[str, ...]:
    """The functions that the library of one operator needs."""
    path = folder / f"{operator}.onnx"
    path.write_bytes(model(operator, inputs))
    compiled = tandem.compile(path, tandem.Cpu(processor), quantize=None)
    return tuple(compiled.export(folder / "library", name="net").header.needs)


@pytest.mark.parametrize("processor", ["cortex-m4", "rv32imc", "wasm32"])
def test_functions_that_are_called(tmp_path: Path, processor: str) -> None:
    """A power is the C library's; a root is an instruction, where floats have any."""
    assert "powf" in exported(tmp_path, "Pow", processor, 2)
    needs = exported(tmp_path, "Sqrt", processor)
    assert ("sqrtf" in needs) == (processor == "rv32imc")


@pytest.mark.parametrize("abi", ["soft", "softfp", "hard"])
def test_every_float_abi(tmp_path: Path, abi: str) -> None:
    """No float is passed: the library goes with programs of all three."""
    fpu = () if abi == "soft" else ("-mfpu=fpv4-sp-d16",)
    cross = cortex_m("cortex-m4", "mps2_an386", abi, *fpu)
    cross.require()
    exported(tmp_path, "Relu", "cortex-m4")
    assert cross.check(tmp_path / "library") == "as expected\n"


def test_passed_floats_are_not_taken_for_others(tmp_path: Path) -> None:
    """The linker refuses a power beside a program that passes floats in other registers."""
    cross = CROSS["cortex-m4"]
    cross.require()
    exported(tmp_path, "Pow", "cortex-m4", 2)
    with pytest.raises(AssertionError, match="uses VFP register arguments"):
        cross.check(tmp_path / "library")
    make(tmp_path / "library", "clean")
    soft = cortex_m("cortex-m4", "mps2_an386", "softfp", "-mfpu=fpv4-sp-d16")
    assert soft.check(tmp_path / "library") == "as expected\n"


def test_a_symbol_that_others_end_with(tmp_path: Path) -> None:
    """Strings of an object file share their ends: `x.compiled.f` holds `compiled.f`, too."""
    exported(tmp_path, "Relu", "rv64gc")
    (kernel,) = (tmp_path / "library").glob("*kernel_0.o")
    (symbol,) = (each for each in parse_object(kernel.read_bytes()).symbols if "relu" in each)
    text = """
define internal i32 @"before.compiled.f"(i32 %x) noinline {
  %y = mul i32 %x, %x
  ret i32 %y
}
define i32 @"compiled.f"(i32 %x) {
  %y = call i32 @"before.compiled.f"(i32 %x)
  %z = add i32 %y, 1
  ret i32 %z
}
"""
    code = ObjectCode(
        "f",
        "compiled.f",
        "riscv64-unknown-linux-gnu",
        (),
        (),
        (),
        (),
        0,
        0,
        False,
        object_of_text(text, "riscv64-unknown-linux-gnu", 1),
    )
    assert b"\0compiled.f\0" not in code.code
    (found,) = kernels_of("net", {"f": code})
    assert found.symbol in parse_object(found.content).symbols
    assert "compiled.f" not in parse_object(found.content).symbols
    assert symbol.startswith("k")
    assert symbol.endswith(".relu")


@pytest.mark.skipif(shutil.which("readelf") is None, reason="binutils are not installed")
def test_the_attribute(tmp_path: Path) -> None:
    exported(tmp_path, "Relu", "cortex-m4")
    (kernel,) = (tmp_path / "library").glob("*kernel_0.o")
    command = ["readelf", "-A", str(kernel)]
    listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert "Tag_ABI_VFP_args: compatible" in listed
    assert "Tag_THUMB_ISA_use: Thumb-2" in listed, "the attributes behind it are read, too"


def test_a_file_without_attributes_stays() -> None:
    assert for_any_convention(b"\x7fELF without") == b"\x7fELF without"


@pytest.fixture(scope="module")
def wasm(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The object file of a kernel."""
    folder = tmp_path_factory.mktemp("wasm")
    exported(folder, "Pow", "wasm32", 2)
    (kernel,) = (folder / "library").glob("*kernel_0.o")
    return kernel.read_bytes()


def test_files_of_webassembly(wasm: bytes) -> None:
    assert wasm_objects.needed_functions(wasm) == ["powf"]
    assert 50 < wasm_objects.loaded_bytes(wasm) < len(wasm)
    with pytest.raises(ExportError, match="no file of WebAssembly"):
        wasm_objects.needed_functions(b"\x7fELF")


@given(st.data())
def test_damaged_files_of_webassembly(wasm: bytes, data: st.DataObject) -> None:
    """Nothing but our error comes of a changed or a cut file."""
    changed = bytearray(wasm[: data.draw(st.integers(0, len(wasm)))])
    if changed:
        changed[data.draw(st.integers(0, len(changed) - 1))] ^= data.draw(st.integers(0, 255))
    with suppress(ExportError):
        wasm_objects.needed_functions(bytes(changed))
    with suppress(ExportError):
        wasm_objects.loaded_bytes(bytes(changed))


def test_rounding_on_a_processor_that_cannot(tmp_path: Path) -> None:
    """The check compares with this processor's results, on halves and others."""
    cross = CROSS["cortex-m4"]
    cross.require()
    values = np.array([-2.5, 0.5, 1.5, 8388609.0], np.float32)
    for operator in ("Round", "Floor", "Ceil"):
        path = tmp_path / f"{operator}.onnx"
        path.write_bytes(model(operator))
        compiled = tandem.compile(path, tandem.Cpu("cortex-m4"), quantize=None)
        compiled.export(tmp_path / operator, {"x0": values})
        assert cross.check(tmp_path / operator) == "as expected\n"
