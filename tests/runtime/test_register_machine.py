"""Artifacts with branches, calls and loops, and what is wrong with damaged ones."""

from __future__ import annotations

import _thread
import threading
import tracemalloc
from functools import cache
from typing import Any

import msgspec
import numpy as np
import pytest
from msgspec.structs import replace

from tandem.compiler.driver import build
from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.compiler.machines.cpu.target import cpu
from tandem.runtime.artifact import (
    MAX_CALLS,
    Arena,
    Artifact,
    Branch,
    BranchForm,
    CallFunction,
    Instruction,
    Jump,
    MakeCell,
    Manifest,
    Move,
    MoveRow,
    Provenance,
    ReadCell,
    Reference,
    Return,
    TailCall,
    from_bytes,
    to_bytes,
)
from tandem.runtime.devices.cpu import CpuDevice
from tandem.runtime.errors import ArtifactError, RunError
from tandem.runtime.executor import Executor
from tests.support.compiler.graph.data_types import SUM as LISTS
from tests.support.compiler.graph.graphs import graph
from tests.support.compiler.graph.recursion import COUNT, EVEN, ROWS, SUM, SWAP


@cache
def compiled(program: str) -> Artifact:
    function = graph(program)
    sizes = {"N": 3} if "[N" in program else None
    return build(function, [cpu(CpuTarget.host(threads=1))], Provenance("net"), sizes=sizes)


@cache
def executor(program: str) -> Executor:
    return Executor(from_bytes(to_bytes(compiled(program))), [CpuDevice(1)])


def run(program: str, **inputs: Any) -> list[Any]:
    return [*executor(program).run({k: np.asarray(v) for k, v in inputs.items()}).outputs.values()]


def test_recursion() -> None:
    for number in (0, 1, 40, 900):
        assert run(SUM, n=number) == [number * (number + 1) // 2]
    for number in (0, 1, 5000):
        assert run(EVEN, n=number) == [number % 2 == 0]


def test_loops() -> None:
    x = np.array([1, 2, 3], np.float32)
    for number in (0, 1, 2000):
        found = run(COUNT, n=number, x=x)
        np.testing.assert_array_equal(found[0], x + np.float32(number))
        assert found[1] == 0


@pytest.mark.parametrize("times", [0, 1, 2, 3])
def test_parameters_that_change_places(times: int) -> None:
    a, b, c = (np.full(2, each) for each in (1, 2, 3))
    found = run(SWAP, n=times, a=a, b=b, c=c)
    for _ in range(times):
        a, b, c = b, a, a
    for ours, wanted in zip(found, (a, b, c), strict=True):
        np.testing.assert_array_equal(ours, wanted)


@pytest.mark.parametrize(("first", "last"), [(0, 4), (-2, 6), (1, 3), (3, 3), (7, 9)])
def test_rows_are_written_in_place(first: int, last: int) -> None:
    """By the network's code and by the machine; rows out of range are not written."""
    (moved,) = (
        it for it in compiled(ROWS).manifest.functions[1].instructions if type(it) is MoveRow
    )
    assert moved == MoveRow("rows.row", "rows.x", "rows.i")
    x, row = np.ones((4, 2), np.float32), np.array([1.5, -1], np.float32)
    inputs = {"i": np.array(first), "n": np.array(last), "x": x, "row": row}
    whole = executor(ROWS).run(inputs).outputs["r"]
    stepwise = executor(ROWS).run(inputs, progress=lambda *_: None).outputs["r"]
    wanted = x.copy()
    for number in range(first, last):
        if 0 <= number < 4:
            wanted[number] = row * 2 ** (number - first)
    np.testing.assert_array_equal(whole, wanted)
    np.testing.assert_array_equal(stepwise, wanted)
    np.testing.assert_array_equal(x, 1)


@pytest.mark.parametrize(
    ("move", "message"),
    [
        (MoveRow("rows.row", "rows.x", "rows.row"), r".* copies float32\[2\] to a row of float32"),
        (MoveRow("rows.x", "rows.x", "rows.i"), r".* copies float32\[4, 2\] to a row of float32"),
        (MoveRow("rows.i", "rows.row", "rows.i"), r".* copies int64\[\] to a row of float32\[2\]"),
        (MoveRow("rows.i", "rows.n", "rows.i"), r".* copies int64\[\] to a row of int64\[\]"),
        (MoveRow("rows.row", "x", "rows.i"), ".* has the operand x, of another function"),
        (MoveRow("rows.row", "rows.0", "rows.i"), ".* reads rows.0 before it is written"),
    ],
)
def test_damaged_rows(move: MoveRow, message: str) -> None:
    artifact = compiled(ROWS)
    main, rows = artifact.manifest.functions
    code = tuple(move if isinstance(each, MoveRow) else each for each in rows.instructions)
    manifest = replace(artifact.manifest, functions=(main, replace(rows, instructions=code)))
    with pytest.raises(ArtifactError, match=f"function rows: instruction \\d+{message}"):
        Artifact(manifest, artifact.code, artifact.constants)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (MakeCell(7, (), "count.0"), "instruction 3 has the form 7, and there are 2"),
        (MakeCell(1, ("count.n",), "count.0"), r"has \(int64\[\]\) for the fields of Cons of List"),
        (MakeCell(1, ("count.n", "count.m"), "count.0"), "for the fields of Cons of List"),
        (MakeCell(0, (), "count.m"), "takes count.m for a cell, and it refers to none"),
        (MakeCell(1, ("count.n", "longer"), "count.0"), "operand of instruction 3 is longer, and"),
        (MakeCell(1, ("count.n", "none"), "count.all"), "the operand none, of another function"),
        (
            MakeCell(1, ("count.n", "count.all"), "count.all"),
            "reads or writes count.all in passing",
        ),
        (BranchForm("count.n", 0, 0), "takes count.n for a cell, and it refers to none"),
        (BranchForm("count.all", -1, 0), "has the form -1, and there are 2"),
        (BranchForm("count.all", 0, 99), "instruction 3 continues at 99, where there is none"),
        (ReadCell(1, "count.all", ("count.m",)), r"has \(int64\[\]\) for the fields of Cons of Li"),
        (ReadCell(0, "count.m", ()), "takes count.m for a cell, and it refers to none"),
        (ReadCell(0, "count.longer", ()), "reads count.longer before it is written"),
        (Move("count.n", "count.all"), r"copies count.n, int64\[\], as count.all, int64\[\]"),
        (Branch("count.all", 0), r"branches on count.all, which is int64\[\]"),
        (MoveRow("count.all", "count.0", "count.n"), r"copies int64\[\] to a row of int64\[\], at"),
        (
            CallFunction("sum", ("count.n", "count.n"), ("count.m",)),
            "copies count.n, int64.* as sum",
        ),
    ],
)
def test_damaged_cells(changed: Instruction, message: str) -> None:
    artifact = compiled(LISTS)
    main, count, *others = artifact.manifest.functions
    (at,) = (at for at, each in enumerate(count.instructions) if isinstance(each, MakeCell))
    code = (*count.instructions[:at], changed, *count.instructions[at + 1 :])
    functions = (main, replace(count, instructions=code), *others)
    with pytest.raises(ArtifactError, match=f"function count: .*{message}"):
        Artifact(replace(artifact.manifest, functions=functions), artifact.code, artifact.constants)


def test_damaged_references() -> None:
    artifact = compiled(LISTS)
    manifest = artifact.manifest
    step = manifest.steps[0]

    def of(**changes: Any) -> Artifact:
        return Artifact(replace(manifest, **changes), artifact.code, artifact.constants)

    def placed(name: str, **changes: Any) -> Any:
        return tuple(
            replace(one, **changes) if one.name == name else one for one in manifest.tensors
        )

    field = replace(manifest.forms[1], fields=(((-1,), "int64"), None))
    for changes, message in (
        ({"tensors": placed(step.inputs[0], place=Reference())}, "refers to a cell, and is no ope"),
        (
            {"tensors": placed("count.all", shape=(2,))},
            "count.all, .*, refers to a cell in no func",
        ),
        ({"tensors": placed("s", place=Reference())}, "result s lies in the arena"),
        ({"forms": (manifest.forms[0], field)}, "Cons of List.* has a field of type int64, .-1"),
        ({"forms": manifest.forms[:1]}, "has the form 1, and there are 1"),
    ):
        with pytest.raises(ArtifactError, match=message):
            of(**changes)


def test_a_cell_of_another_form() -> None:
    """What a reader says of a form is checked when it reads."""
    artifact = compiled(LISTS)
    (sum_,) = (each for each in artifact.manifest.functions if each.name == "sum")
    reads = next(at for at, it in enumerate(sum_.instructions) if isinstance(it, ReadCell))
    functions = tuple(
        replace(one, instructions=(Jump(reads), *one.instructions[1:])) if one is sum_ else one
        for one in artifact.manifest.functions
    )
    damaged = Artifact(
        replace(artifact.manifest, functions=functions), artifact.code, artifact.constants
    )
    with pytest.raises(RunError, match="main reads a cell of another form"):
        Executor(damaged, [CpuDevice(1)]).run({"n": np.array(0), "x": np.array(0)})


def test_recursion_without_end_is_stopped() -> None:
    for runs in (run, stepwise):
        message = rf"^function \w+ of \w+: more than {MAX_CALLS} calls wait"
        with pytest.raises(RunError, match=message):
            runs(SUM, n=-1)
        assert run(SUM, n=3) == [6]


def test_a_loop_without_end_is_interrupted() -> None:
    x = np.zeros(3, np.float32)
    executor(COUNT)
    timer = threading.Timer(0.1, _thread.interrupt_main)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        run(COUNT, n=1 << 62, x=x)
    np.testing.assert_array_equal(run(COUNT, n=2, x=x)[0], x + np.float32(2))


def stepwise(program: str, **inputs: Any) -> None:
    """A run that calls step by step, as it tells its progress."""
    arrays = {name: np.asarray(value) for name, value in inputs.items()}
    executor(program).run(arrays, progress=lambda *_: None)


def peaks(program: str, *numbers: int, **inputs: Any) -> list[int]:
    """The most bytes that runs with each `n` allocate, step by step."""
    stepwise(program, n=10, **inputs)
    tracemalloc.start()
    try:
        found = []
        for number in numbers:
            tracemalloc.reset_peak()
            before, _ = tracemalloc.get_traced_memory()
            stepwise(program, n=number, **inputs)
            found.append(tracemalloc.get_traced_memory()[1] - before)
    finally:
        tracemalloc.stop()
    return found


def test_a_loop_allocates_nothing() -> None:
    few, many = peaks(COUNT, 100, 2000, x=np.zeros(3, np.float32))
    assert many < few + 4096


def test_calls_take_frames_that_are_free() -> None:
    """Functions that call each other and return nothing between need two frames, however often."""
    few, many = peaks(EVEN, 100, 2000)
    assert many < few + 4096


def test_frames_of_calls_that_wait_are_kept_for_later_runs() -> None:
    first, again = peaks(SUM, 300, 300)
    assert again < first / 4


def test_steps_are_counted() -> None:
    found = executor(COUNT).run({"n": np.array(7), "x": np.zeros(3, np.float32)})
    assert [each.name for each in found.profile.steps] == ["loop.go", "loop.m", "loop.y"]
    assert all(each.seconds > 0 for each in found.profile.steps)


def changed(at: int, *instructions: Instruction, **fields: Any) -> Manifest:
    """The manifest of `COUNT` with other instructions from `at` in its loop, or other fields."""
    manifest = compiled(COUNT).manifest
    main, loop = manifest.functions
    code = [*loop.instructions]
    code[at : at + len(instructions)] = instructions
    return replace(
        manifest, functions=(main, replace(loop, **{"instructions": tuple(code), **fields}))
    )


def refused(manifest: Manifest, message: str) -> None:
    artifact = compiled(COUNT)
    with pytest.raises(ArtifactError, match=f"^artifact \\w+: {message}"):
        Artifact(manifest, artifact.code, artifact.constants)


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        (changed(0, Jump(99)), r"its functions run the steps \[1, 2\], and there are 3"),
        (changed(1, Jump(99)), "function loop: instruction 1 continues at 99, where there is none"),
        (changed(1, Jump(-1)), "function loop: instruction 1 continues at -1, where there is"),
        (changed(1, Branch("loop.n", 6)), r"function loop: .* branches on loop.n, which is int6"),
        (changed(1, Branch("x", 6)), "function loop: .* has the operand x, of another function"),
        (changed(1, Move("loop.y", "loop.x")), "function loop: .* reads loop.y before it is writ"),
        (changed(1, Move("loop.n", "loop.x")), r"function loop: .* copies loop.n, int64\[\], as l"),
        (changed(4, Move("loop.x", "loop.x")), "function loop: .* reads or writes loop.x in pass"),
        (changed(4, TailCall("main", ())), "function loop: .* calls main, and there is no such"),
        (changed(4, TailCall("loop", ())), "function loop: instruction 4 has 0 operands for 2"),
        (
            changed(4, CallFunction("loop", ("loop.m", "loop.y"), ())),
            "function loop: .* 0 operands",
        ),
        (changed(4, Return()), "function loop: instruction 4 reads loop.0.0 before it is written"),
        (changed(0, params=("loop.n", "loop.n")), "function main: instruction 0 copies x, float"),
        (changed(0, params=("n", "x")), "function loop: its parameter or result n is no tensor"),
        (changed(0, frame_bytes=-1), r"loop.\w lies from .* in an arena of -1 bytes"),
        (changed(0, frame_bytes=64), r"loop.\w lies from .* in an arena of 64 bytes"),
        (changed(0, tensors=("n",)), r"loop.\w lies from .* in an arena of 0 bytes"),
        (
            changed(0, tensors=(*compiled(COUNT).manifest.functions[1].tensors, "n")),
            "n is no tensor of loop alone",
        ),
    ],
)
def test_damaged_code(manifest: Manifest, message: str) -> None:
    refused(manifest, message)


def test_memory_is_followed_on_all_paths() -> None:
    manifest = compiled(COUNT).manifest
    places = {each.name: each.place for each in manifest.tensors}
    for name, over in (("loop.y", "loop.x"), ("loop.m", "loop.x"), ("loop.n", "loop.x")):
        place = places[over]
        assert isinstance(place, Arena)
        tensors = tuple(
            replace(tensor, place=place) if tensor.name == name else tensor
            for tensor in manifest.tensors
        )
        refused(replace(manifest, tensors=tensors), "function loop: .* writes loop.* over loop.")


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("program", "names"),
    [
        (COUNT, ["loop.x", "loop.y", "loop.n", "x", "main", "loop"]),
        (LISTS, ["count.all", "count.n", "sum.tail", "sum.head", "sum.0", "count"]),
    ],
)
def test_bytes_that_were_changed(program: str, names: list[str]) -> None:
    """Every value in the manifest's functions, at random: refused in one line, or still legal."""
    artifact = compiled(program)
    plain = msgspec.to_builtins(artifact.manifest)
    random = np.random.default_rng(5)
    words = [*names, "", -1, 0, 1, 5, 99, 1 << 40]
    messages = []
    for _ in range(10_000):
        damaged = msgspec.json.decode(msgspec.json.encode(plain))
        part = "forms" if "forms" in damaged and random.integers(8) == 0 else "functions"
        _damage(damaged[part], random, words)
        try:
            manifest = msgspec.convert(damaged, Manifest)
            Artifact(manifest, artifact.code, artifact.constants)
        except (ArtifactError, msgspec.ValidationError) as error:
            messages.append(str(error))
    assert len(messages) > 5000
    assert not any("\n" in message for message in messages)


def _damage(value: Any, random: np.random.Generator, words: list[Any]) -> None:
    """Replace one leaf of nested lists and dictionaries."""
    while True:
        keys = [*value] if isinstance(value, dict) else [*range(len(value))]
        if not keys:
            return
        key = keys[random.integers(len(keys))]
        if isinstance(value[key], dict | list) and random.integers(8):
            value = value[key]
        else:
            value[key] = words[random.integers(len(words))]
            return
