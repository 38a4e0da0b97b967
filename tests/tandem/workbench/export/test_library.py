"""C libraries of networks: built, run, checked against Python, and alone in what they need."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
import threading
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray

import tandem
from tandem.compiler.driver import build
from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.compiler.machines.cpu.processors import PROCESSORS
from tandem.compiler.machines.cpu.target import cpu
from tandem.runtime.artifact import Artifact, Provenance
from tandem.runtime.devices import CpuDevice
from tandem.runtime.executor import Executor
from tandem.workbench.errors import ExportError
from tandem.workbench.export import Exported, export_library
from tests.support.compiler.graph.graphs import graph
from tests.support.compiler.graph.recursion import COUNT, EVEN, ROWS, SWAP
from tests.support.compiler.models.digits import digits
from tests.support.runtime.artifacts import compiled, image
from tests.support.workbench.cross import CROSS, make

STRICT = "CFLAGS=-std=c99 -O1 -g -Wall -Wextra -Wpedantic -Werror"


def exported(folder: Path, artifact: Artifact, inputs: dict[str, Any]) -> Exported:
    arrays = {name: np.asarray(value) for name, value in inputs.items()}
    outputs = Executor(artifact, [CpuDevice(1)]).run(arrays).outputs
    return export_library(artifact, folder, arrays, outputs)


def artifact_of(program: str) -> Artifact:
    sizes = {"N": 3} if "N" in program else None
    return build(graph(program), [cpu(CpuTarget.host(1))], Provenance("net"), sizes=sizes)


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_a_network(tmp_path: Path, compiler: str) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    found = exported(tmp_path, compiled(), image())
    assert make(tmp_path, "check", f"CC={compiler}", STRICT) == "as expected\n"
    assert sorted(path.name for path in tmp_path.iterdir() if path.suffix == ".c") == [
        "main.c",
        f"{found.header.name}.c",
    ]


@pytest.mark.parametrize(
    ("program", "inputs"),
    [
        (COUNT, {"n": 7, "x": np.arange(3, dtype=np.float32)}),
        (EVEN, {"n": 41}),
        (SWAP, {"n": 3, "a": [1, 1], "b": [2, 2], "c": [3, 3]}),
        (
            ROWS,
            {
                "i": -2,
                "n": 6,
                "x": np.ones((4, 2), np.float32),
                "row": np.array([1.5, -1], np.float32),
            },
        ),
    ],
)
def test_loops_and_calls(tmp_path: Path, program: str, inputs: dict[str, Any]) -> None:
    exported(tmp_path, artifact_of(program), inputs)
    assert make(tmp_path, "check", STRICT) == "as expected\n"


def test_no_access_outside_its_memory(tmp_path: Path) -> None:
    exported(tmp_path, compiled(), image())
    checks = "-fsanitize=address,undefined -fno-sanitize-recover=all"
    flags = (f"CFLAGS=-std=c99 -g {checks}", f"LDFLAGS={checks}")
    assert make(tmp_path, "check", *flags) == "as expected\n"


def test_another_result_is_noticed(tmp_path: Path) -> None:
    given = image()
    outputs = dict(Executor(compiled(), [CpuDevice(1)]).run(given).outputs)
    outputs["t"] = outputs["t"] + 1
    export_library(compiled(), tmp_path, given, outputs)
    done = subprocess.run(["make", "-s", "check"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode != 0
    assert done.stdout == "t differs\nNOT as expected\n"


def test_without_expected_outputs_they_are_printed(tmp_path: Path) -> None:
    found = export_library(compiled(), tmp_path, image(), None)
    assert not found.checked
    printed = make(tmp_path, "check").splitlines()
    wanted = Executor(compiled(), [CpuDevice(1)]).run(image()).outputs["t"]
    assert [line for line in printed if line.startswith("t[")] == [
        f"t[{at}] = {value}" for at, value in enumerate(wanted)
    ]


def test_it_needs_what_the_header_says(tmp_path: Path) -> None:
    """Of the C library, and nothing beside it."""
    found = exported(tmp_path, compiled(), image())
    make(tmp_path)
    name = found.header.name
    listed = subprocess.run(
        ["nm", "-g", f"lib{name}.a"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    rows = [line.split() for line in listed.stdout.splitlines() if len(line.split()) > 1]
    defined = {row[-1] for row in rows if row[-2] != "U"}
    undefined = {row[-1] for row in rows if row[-2] == "U"} - defined
    assert undefined <= set(found.header.needs)
    header = (tmp_path / f"{name}.h").read_text()
    assert f"Of the C library it calls {', '.join(found.header.needs)}." in header


def loaded(folder: Path, found: Exported) -> Any:
    """The library as a shared one, in this process."""
    objects = [name for name in found.files if name.endswith(".o")]
    name = found.header.name
    made = [f"{name}.o", f"{name}_weights.o", *objects]
    make(folder, *made, "CFLAGS=-std=c99 -O2 -fPIC")
    subprocess.run(["gcc", "-shared", "-o", "all.so", *made], cwd=folder, check=True)
    return ctypes.CDLL(str(folder / "all.so"))


def test_two_runs_at_once(tmp_path: Path) -> None:
    """Each has an arena of its own, and nothing else is written."""
    found = exported(tmp_path, compiled(), image())
    run = loaded(tmp_path, found)[f"{found.header.name}_run"]
    session = Executor(compiled(), [CpuDevice(1)])
    wrong: list[int] = []

    def work(seed: int) -> None:
        given = image(seed)
        wanted = session.run(given).outputs
        arena = np.zeros(found.header.arena_bytes + 64, np.uint8)
        space = np.zeros(found.header.workspace_bytes + 64, np.uint8)
        outputs = {port.name: np.empty_like(wanted[port.name]) for port in found.header.outputs}
        inputs = [given[port.name].ctypes.data for port in found.header.inputs]
        structs = [
            (ctypes.c_void_p * len(pointers))(*pointers)
            for pointers in (inputs, [array.ctypes.data for array in outputs.values()])
        ]
        begins = [each.ctypes.data + -each.ctypes.data % 64 for each in (arena, space)]
        for _ in range(200):
            run(*structs, *map(ctypes.c_void_p, begins))
            wrong.extend(
                seed for name in outputs if not np.allclose(outputs[name], wanted[name], 1e-6)
            )

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_weights_in_a_file(tmp_path: Path) -> None:
    digits(tandem.Cpu()).export(tmp_path, name="net", embed_weights=False)
    assert make(tmp_path, "check", STRICT) == "as expected\n"
    assert "net_weights" not in symbols(tmp_path / "libnet.a")
    (tmp_path / "net_weights.bin").rename(tmp_path / "other.bin")
    done = subprocess.run([tmp_path / "main"], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "net_weights.bin cannot be read\n")


def symbols(archive: Path) -> set[str]:
    """The names that other files of a program can use."""
    listed = subprocess.run(
        ["nm", "-g", "--defined-only", archive], capture_output=True, text=True, check=True
    )
    rows = (line.split() for line in listed.stdout.splitlines())
    return {row[-1] for row in rows if len(row) == 3}


def test_threads_and_profiles(tmp_path: Path) -> None:
    """The pool has no race, and what the library defines stands in its headers."""
    compiled_ = tandem.compile("mobilenet-v2-tiny", tandem.Cpu(threads=3), quantize=None)
    found = compiled_.export(tmp_path, name="net", threads=3, profile=True)
    sanitizer = "-fsanitize=thread"
    flags = (f"{STRICT} {sanitizer}", f"LDFLAGS={sanitizer}")
    *rows, verdict = make(tmp_path, "check", *flags).splitlines()
    assert verdict == "as expected"
    assert [row.partition(" us ")[2].strip() for row in rows] == [
        f"1 x {name}" for name in found.header.steps
    ]
    headers = (tmp_path / "net.h").read_text() + (tmp_path / "net_threads.h").read_text()
    own = {name for name in symbols(tmp_path / "libnet.a") if name.startswith("net_")}
    parts = ("run", "steps", "tensors", "weights", "pool_start", "pool_stop")
    assert own == {f"net_{part}" for part in parts}
    assert all(name in headers for name in own - {"net_weights"})
    one = export_library(compiled(), tmp_path / "one", image(), None)
    assert one.header.workspace_bytes <= found.header.workspace_bytes


def test_a_program_shares_loops_itself(tmp_path: Path) -> None:
    """Its launcher gives parts of loops to workers, here one after the other, last ones first."""
    model = tandem.compile("dcgan", tandem.Cpu(threads=2), quantize=None)
    batch = model.noise()
    wanted = tandem.Session(model).run(batch)["output"]
    found = model.export(tmp_path, batch, name="net", threads=2)
    run = loaded(tmp_path, found)["net_run"]
    launched: list[int] = []
    task_type = ctypes.CFUNCTYPE(None, ctypes.c_void_p, *[ctypes.c_int64] * 3)
    launch_type = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3, ctypes.c_int64)

    def launch(_: int, task: int, closure: int, count: int) -> None:
        launched.append(count)
        for index in reversed(range(count)):
            task_type(task)(closure, index, index + 1, index % 2)

    for pointer in (None, ctypes.pointer(launch_type(launch))):
        arena = np.zeros(found.header.arena_bytes + 64, np.uint8)
        space = np.zeros(found.header.workspace_bytes + 64, np.uint8)
        begins = [each.ctypes.data + -each.ctypes.data % 64 for each in (arena, space)]
        output = np.empty_like(wanted)
        (given,) = batch.values()
        structs = [(ctypes.c_void_p * 1)(array.ctypes.data) for array in (given, output)]
        run(*structs, *map(ctypes.c_void_p, begins), pointer)
        np.testing.assert_array_equal(output, wanted)
    # Loops that are worth it; some are too small.
    assert launched


@pytest.mark.parametrize(
    ("processor", "options", "reason"),
    [
        ("cortex-m4", {"threads": 2}, "no system with threads runs on thumbv7em-none-eabi"),
        ("wasm32", {"threads": 2}, "no system with threads runs on wasm32"),
        ("wasm32", {"profile": True}, "--profile is for libraries in C"),
        ("wasm32", {"embed_weights": False}, "--no-embed-weights is for libraries in C"),
        (None, {"threads": 0}, "a library runs on one thread or more, not 0"),
    ],
)
def test_options_that_a_processor_has_not(
    tmp_path: Path, processor: str | None, options: dict[str, Any], reason: str
) -> None:
    model = digits(tandem.Cpu(processor))
    with pytest.raises(ExportError, match=reason):
        model.export(tmp_path, **options)
    assert not any(tmp_path.iterdir())


def found_elements() -> onnx.ModelProto:
    """The indices of elements above 0 of a matrix, and the matrix with another first row."""
    nodes = [
        onnx.helper.make_node("Relu", ["x"], ["y"]),
        onnx.helper.make_node("NonZero", ["y"], ["where"]),
    ]
    kinds = onnx.TensorProto
    tensor = onnx.helper.make_tensor_value_info
    outputs = [tensor("where", kinds.INT64, [2, None]), tensor("y", kinds.FLOAT, [5, 7])]
    given = [tensor("x", kinds.FLOAT, [5, 7])]
    graph_ = onnx.helper.make_graph(nodes, "found", given, outputs)
    opset = [onnx.helper.make_opsetid("", 17)]
    return onnx.helper.make_model(graph_, opset_imports=opset, ir_version=9)


@pytest.mark.parametrize("processor", [None, "cortex-a72", "wasm32"])
def test_extents_that_a_run_finds(tmp_path: Path, processor: str | None) -> None:
    """Buffers have the greatest extents, and another output says how many there are."""
    if processor is not None:
        CROSS[processor].require()
    model = tandem.compile(found_elements(), tandem.Cpu(processor), quantize=None)
    found = model.export(tmp_path, name="net")
    assert [(each.output.name, each.axis) for each in found.header.extents] == [("where", 1)]
    if processor is None:
        header = (tmp_path / "net.h").read_text()
        assert "int64_t *where; /* int64[2, 35], of axis 1 the first where_extent_1 */" in header
        assert make(tmp_path, "check", STRICT) == "as expected\n"
    else:
        assert CROSS[processor].check(tmp_path) == "as expected\n"


def test_an_extent_that_differs(tmp_path: Path) -> None:
    model = tandem.compile(found_elements(), tandem.Cpu(), quantize=None)
    batch = {"x": np.ones((5, 7), np.float32)}
    artifact = model.network.artifact
    wanted: dict[str, NDArray[Any]] = {"where": np.zeros((2, 34), np.int64), "y": batch["x"]}
    export_library(artifact, tmp_path, batch, wanted, "net")
    done = subprocess.run(["make", "-s", "check"], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == "where differs\nwhere_extent_1 differs\nNOT as expected\n"


def test_two_libraries_in_one_program(tmp_path: Path) -> None:
    """Kernels of the same name have symbols of their own."""
    for name in ("first", "second"):
        export_library(compiled(), tmp_path / name, image(), None, name)
        make(tmp_path / name, "CFLAGS=-std=c99 -fPIC")
    archives = [str(tmp_path / name / f"lib{name}.a") for name in ("first", "second")]
    command = ["gcc", "-shared", "-o", str(tmp_path / "both.so"), "-Wl,--whole-archive", *archives]
    subprocess.run([*command, "-Wl,--no-whole-archive"], check=True)


def test_refusals(tmp_path: Path) -> None:
    for name, better in (("9-x;", "n_9_x"), ("../up", "up"), ("while", "while_"), ("", "network")):
        with pytest.raises(ExportError, match=rf"is no name in C: {better} would be one$"):
            export_library(compiled(), tmp_path, image(), None, name)
    assert not any(tmp_path.iterdir())


def test_from_python(tmp_path: Path) -> None:
    """An artifact for an accelerator, by its code for the processor alone."""
    found = digits("tiny").on_cpu().export(tmp_path, name="net")
    assert repr(found).startswith(f"{tmp_path}: libnet.a by make, for ")
    assert make(tmp_path, "check") == "as expected\n"


def test_other_processors_have_tools_and_stand_in_the_guide() -> None:
    assert CROSS.keys() == PROCESSORS.keys()
    guide = (Path(__file__).parents[4] / "docs" / "export.md").read_text()
    rows = [line.split("|")[1] for line in guide.splitlines() if line.startswith("| `")]
    names = [name for row in rows for name in re.findall(r"`([\w-]+)`", row)]
    assert sorted(name for name in names if name in PROCESSORS) == sorted(PROCESSORS)


@pytest.mark.every(4)
@pytest.mark.parametrize(
    ("name", "quantize"),
    [
        ("neoverse-n1", "multiplier"),
        ("rv64gcv", None),
        ("cortex-m4", "multiplier"),
        ("cortex-m55", None),
        ("rv32im", "multiplier"),
        ("rv32imc", None),
        ("wasm32", None),
        ("wasm32", "multiplier"),
    ],
)
def test_other_processors(tmp_path: Path, name: str, quantize: str | None) -> None:
    """Outputs are this processor's, but for the rounding of sums of reals."""
    CROSS[name].require()
    digits(tandem.Cpu(name), quantize=quantize).export(tmp_path)
    assert CROSS[name].check(tmp_path) == "as expected\n"


@pytest.mark.parametrize("name", ["cortex-a53", "neoverse-n1", "rv64gc", "cortex-m4", "wasm32"])
def test_tables_on_other_processors(tmp_path: Path, name: str) -> None:
    """All bytes, in vectors of which the last is short."""
    CROSS[name].require()
    program = """
func @f(x: int8[275]):
  d = dequantise(x, float32[](0.05), int8[](3))
  s = gelu(d)
  y = quantise(s, float32[](0.03), uint8[](9), to=uint8)
  return y
"""
    artifact = build(graph(program), [cpu(PROCESSORS[name])], Provenance("net"))
    (step,) = artifact.manifest.steps
    assert step.code == "lookup"
    assert step.operators == ("dequantise", "gelu", "quantise")
    x = np.resize(np.arange(256, dtype=np.uint8).view(np.int8), 275)
    host = build(graph(program), [cpu(CpuTarget.host(1))], Provenance("net"))
    outputs = Executor(host, [CpuDevice(1)]).run({"x": x}).outputs
    export_library(artifact, tmp_path, {"x": x}, outputs)
    assert CROSS[name].check(tmp_path) == "as expected\n"


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", PROCESSORS)
@pytest.mark.parametrize(
    "model", ["digits", "mobilenet-v2-tiny", "vit-tiny", "lstm-tiny", "bert-tiny", "llama-tiny"]
)
@pytest.mark.parametrize("quantize", ["multiplier", None])
def test_networks_on_all_processors(
    tmp_path: Path, name: str, model: str, quantize: str | None
) -> None:
    CROSS[name].require()
    tandem.compile(model, tandem.Cpu(name), quantize=quantize).export(tmp_path)
    assert CROSS[name].check(tmp_path) == "as expected\n"


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["cortex-a72", "neoverse-n1", "rv64gc"])
@pytest.mark.parametrize("quantize", ["multiplier", None])
def test_a_large_network(tmp_path: Path, name: str, quantize: str | None) -> None:
    CROSS[name].require()
    tandem.compile("resnet18", tandem.Cpu(name), quantize=quantize).export(tmp_path)
    assert CROSS[name].check(tmp_path) == "as expected\n"
