"""The C of networks: compiled with kernels of a line each and run, and read line by line."""

from __future__ import annotations

import ctypes
import shutil
from collections.abc import Sequence
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tandem.runtime.artifact import (
    Arena,
    CallFunction,
    InPlace,
    Input,
    Kept,
    Manifest,
    Output,
    PlacedTensor,
    Provenance,
    Return,
    RunStep,
)
from tandem.workbench.errors import ExportError
from tandem.workbench.export.network_source import needs_heap, prefix_of
from tandem.workbench.export.options import LibraryOptions
from tandem.workbench.export.stream_file import StreamFile
from tests.support.workbench.c_networks import (
    ADD,
    KERNELS,
    LESS,
    NUMBERS,
    PLUS,
    POSITIVE,
    SCALE,
    function,
    heap_source,
    looping,
    nested,
    number,
    straight,
)
from tests.support.workbench.small_networks import (
    compiled,
    header_of,
    kernel,
    manifest,
    memory,
    pointers,
    ports_of,
    source_of,
    step,
    tensor,
)

HAS_CC = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")


def run(
    library: ctypes.CDLL,
    inputs: Sequence[np.ndarray[Any, Any]],
    outputs: Sequence[np.ndarray[Any, Any]],
    frames: int,
    *more: Any,
    weights: bytes | None = None,
) -> int:
    arena, workspace = memory(frames), memory(64)
    given = [pointers(*inputs), pointers(*outputs)]
    given += [] if weights is None else [ctypes.c_char_p(weights)]
    places = [ctypes.c_void_p(each.ctypes.data) for each in (arena, workspace)]
    return int(library.net_run(*given, *places, *more))


@HAS_CC
def test_steps_one_behind_the_other(tmp_path: Path) -> None:
    """Operands in the order of parameters, a result that is a copy of another tensor, and a profile
    that counts runs and the time between two readings of a clock."""
    net = straight()
    source = source_of(
        *(net, [ADD, SCALE]),
        ports=ports_of(net),
        copies={"outputs->y + 1": "w"},
        weights={"w": 16},
        embed_weights=False,
    )
    assert source.arena_bytes == 128
    options = LibraryOptions(embed_weights=False, profile=True)
    library = compiled(tmp_path, header_of(net, options), source, KERNELS)
    clock = iter([5, 12, 20, 23])
    now = ctypes.CFUNCTYPE(ctypes.c_uint64)(lambda: next(clock))
    profile = (ctypes.c_uint64 * 5)(ctypes.cast(now, ctypes.c_void_p).value or 0, 0, 0, 0, 0)
    x, y = np.arange(4, dtype=np.int32), np.zeros(5, np.int32)
    weights = bytes(16) + np.array([10, 20, 30, 40], np.int32).tobytes()
    run(library, [x], [y], 128, profile, weights=weights)
    assert y.tolist() == [30, 10, 20, 30, 40]
    assert library.kernels_run() == 2
    assert profile[1:] == [7, 3, 1, 1]
    run(library, [x + 1], [y], 128, None, weights=weights)
    assert y.tolist() == [33, 10, 20, 30, 40]
    assert profile[1:] == [7, 3, 1, 1]


def test_text_of_a_straight_network() -> None:
    net = straight()
    source = source_of(net, [ADD, SCALE], ports=ports_of(net), weights={"w": 0})
    lines = source.text(header_of(net)).splitlines()
    assert lines[:2] == ["/* net: made by Tandem. See net.h. */", '#include "net.h"']
    begin = lines.index(
        "/* Kernels: operands, a workspace, and what launches parallel loops: " + "nothing here. */"
    )
    assert lines[begin - 2 : begin + 3] == [
        "extern const unsigned char net_weights[];",
        "",
        lines[begin],
        "void net_kernel_add(const void *, const void *, void *, void *, void *) "
        '__asm__("kernel_add");',
        'void net_kernel_scale(void *, const void *, void *, void *) __asm__("kernel_scale");',
    ]
    begin = lines.index("struct state {")
    assert lines[begin:] == [
        "struct state {",
        "    const struct net_inputs *inputs;",
        "    const struct net_outputs *outputs;",
        "    unsigned char *frames;",
        "    void *workspace;",
        "    unsigned char *next;",
        "    const unsigned char *results[1];",
        "};",
        "",
        "/* run: returns the number of the function to go on with, or -1. */",
        "static int f0(struct state *s, unsigned char *frame)",
        "{",
        "    (void)s, (void)frame; /* a function may need neither */",
        "    net_kernel_add(s->inputs->x, net_weights + 0, frame + 64, s->workspace, 0);",
        "    net_kernel_scale(s->outputs->y, frame + 64, s->workspace, 0);",
        "    return -1;",
        "}",
        "",
        "void net_run(const struct net_inputs *inputs,",
        "    const struct net_outputs *outputs, void *arena, void *workspace)",
        "{",
        "    struct state all = {0};",
        "    struct state *s = &all;",
        "",
        "    s->inputs = inputs;",
        "    s->outputs = outputs;",
        "    s->frames = arena;",
        "    s->workspace = workspace;",
        "    (void)f0(s, s->frames);",
        "}",
    ]


def test_threads_profiles_and_weights_in_a_file() -> None:
    net = straight()
    source = source_of(
        net, [ADD, SCALE], ports=ports_of(net), weights={"w": 8}, embed_weights=False
    )
    text = source.text(header_of(net, LibraryOptions(embed_weights=False, threads=2, profile=True)))
    assert "net_weights[]" not in text
    assert (
        "    s->since = now(s);\n"
        "    net_kernel_add(s->inputs->x, s->weights + 8, frame + 64, s->workspace, s->launcher);\n"
        "    ended(s, 0);\n"
        "    s->since = now(s);\n"
        "    net_kernel_scale(s->outputs->y, frame + 64, s->workspace, s->launcher);\n"
        "    ended(s, 1);\n" in text
    )
    assert (
        "    void *workspace;\n    const unsigned char *weights;\n    void *launcher;\n"
        "    struct net_profile *profile;\n    uint64_t since;\n" in text
    )
    assert (
        "    s->weights = weights;\n    s->launcher = launcher;\n    s->profile = profile;\n"
        in text
    )
    assert (
        'const char *const net_steps[NET_STEPS] = {\n    "add_step: add",\n'
        '    "scale_step: scale",\n};\n' in text
    )


# Functions ----------------------------------------------------------------------------------------


@HAS_CC
def test_calls_loops_branches_and_rows(tmp_path: Path) -> None:
    net = looping()
    source = source_of(
        *(net, [POSITIVE, PLUS, LESS]), ports=ports_of(net), weights={"zero": 0, "one": 8}
    )
    # Frames of main, twice that of the loop, and of the two others, in whole lines of a cache.
    assert source.arena_bytes == 64 + 2 * 64 + 64 + 64
    library = compiled(tmp_path, header_of(net), source, NUMBERS)
    for n in (0, 1, 2, 3, 6):
        rows, parity = np.full(4, -1, np.int64), np.full(1, -1, np.int64)
        run(library, [np.array(n, np.int64)], [rows, parity], source.arena_bytes)
        expected = [-1] * 4
        if n < 4:
            expected[n] = n * (n + 1) // 2
        assert (rows.tolist(), parity.tolist()) == (expected, [n % 2])
    run(library, [np.array(-1, np.int64)], [rows, parity], source.arena_bytes)
    assert rows.tolist() == [-1] * 4


def test_text_of_functions() -> None:
    net = looping()
    source = source_of(
        *(net, [POSITIVE, PLUS, LESS]), ports=ports_of(net), weights={"zero": 0, "one": 8}
    )
    text = source.text(header_of(net))
    assert "    const unsigned char *results[1];\n" in text
    assert "static void enter(struct state *s, int function, unsigned char *frame);\n" in text
    assert "    enter(s, 1, s->frames + 64);\n    memcpy(frame + 0, s->results[0], 8);\n" in text
    again = "(frame == s->frames + 64 ? s->frames + 128 : s->frames + 64)"
    assert (
        f"    s->next = {again};\n"
        "    memcpy(s->next + 0, frame + 24, 8);\n    memcpy(s->next + 8, frame + 16, 8);\n"
        "    frame = s->next;\n    goto i0;\ni5:;\n    s->results[0] = frame + 8;\n"
        "    return -1;\n" in text
    )
    assert (
        "    memcpy(s->frames + 256 + 0, frame + 8, 8);\n    s->next = s->frames + 256;\n"
        "    return 3;\ni4:;\n" in text
    )
    assert (
        "        case 3: function = f3(s, frame); break;\n"
        "        default: function = f0(s, frame); break;\n        }\n"
        "        frame = s->next;\n    }\n}\n" in text
    )
    assert "case 0:" not in text
    assert "i0:;\n    net_kernel_positive(frame + 0, frame + 32, s->workspace, 0);\n" in text
    # Nobody jumps to the beginning of the others.
    assert text.count("i0:;") == 1


# Heaps --------------------------------------------------------------------------------------------


@HAS_CC
def test_recursion_and_cells(tmp_path: Path) -> None:
    """A heap that is too small ends a run with 3; more than 1000 calls that wait with 1."""
    net = nested()
    source, results = heap_source(net)
    library = compiled(tmp_path, header_of(net, heap=results), source, NUMBERS)
    heap = memory(1 << 18)
    for n, size, ended in (
        *((0, 256, 0), (1, 512, 0), (9, 4096, 0), (9, 256, 3), (900, 1 << 16, 3)),
        *((999, 1 << 18, 0), (1000, 1 << 18, 1)),
    ):
        y = np.full(1, -1, np.int64)
        more = (ctypes.c_void_p(heap.ctypes.data), ctypes.c_size_t(size))
        found = run(library, [np.array(n, np.int64)], [y], source.arena_bytes, *more)
        assert (found, int(y[0])) == (ended, -1 if ended else comb(n + 2, 3))


# Streams ------------------------------------------------------------------------------------------

STREAM = StreamFile(
    *("s", b"12345", 4096, 0),
    (PlacedTensor("in", 128, (16,), "int8"), PlacedTensor("second", 256, (16,), "int8")),
    (PlacedTensor("out", 512, (16,), "int8"),),
)
LAST = StreamFile("t", b"123", 64, 0, (PlacedTensor("i", 0, (16,), "int8"),), ())


def accelerated() -> Manifest:
    return manifest(
        [
            tensor("x", [16], "int8", Input()),
            tensor("a", [16], "int8", Arena(0)),
            tensor("b", [16], "int8", Arena(64)),
            tensor("y", [16], "int8", Output()),
            tensor("kept", [1], "int8", Kept("accelerator")),
        ],
        "x",
        "y",
        [
            step("k", "x", "a"),
            step("s", "a x", "b", "accelerator"),
            step("t", "b", "", "accelerator"),
            step("k", "b", "y"),
        ],
        80,
    )


K = kernel("k", "a b", "b")


def test_streams_are_given_copies() -> None:
    net = accelerated()
    source = source_of(net, [K], ports=ports_of(net), streams=[LAST, STREAM])
    assert source.arena_bytes == 128
    text = source.text(header_of(net, streams=[LAST, STREAM]))
    machine = "s->network->machine, &s->network->streams"
    assert (
        f"    tandem_put({machine}[1], 128, frame + 0, 16);\n"
        f"    tandem_put({machine}[1], 256, s->inputs->x, 16);\n"
        "    if (launch(s, 1)) return -1;\n"
        f"    tandem_get({machine}[1], 512, frame + 64, 16);\n"
        f"    tandem_put({machine}[0], 0, frame + 64, 16);\n"
        "    if (launch(s, 0)) return -1;\n"
        "    net_kernel_k(frame + 64, s->outputs->y, s->workspace, 0);\n" in text
    )
    assert "extern const unsigned char net_stream_0[];\n" in text
    assert "struct state {\n    struct net *network;\n    enum tandem_result result;\n" in text
    assert text.count("    network->cycles = 0;\n") == 2
    assert "    s->network = network;\n    s->inputs = inputs;\n" in text
    assert text.endswith("    (void)f0(s, s->frames);\n    return s->result;\n}\n")


def test_tensors_in_the_memory_of_streams() -> None:
    """`a` and `b` need no copy; what is left of the arena ends with them."""
    net = accelerated()
    source = source_of(net, [K], ports=ports_of(net), streams=[STREAM, LAST], in_place=True)
    assert source.arena_bytes == 0
    options = LibraryOptions(profile=True)
    text = source.text(header_of(net, options, streams=[STREAM, LAST]))
    machine = "s->network->machine, &s->network->streams"
    assert (
        "    net_kernel_k(s->inputs->x, s->network->streams[0].memory + 128, s->workspace, 0);\n"
        "    ended(s, 0);\n    s->since = now(s);\n"
        f"    tandem_flush({machine}[0], 128, 16);\n"
        f"    tandem_put({machine}[0], 256, s->inputs->x, 16);\n"
        "    if (launch(s, 0)) return -1;\n"
        f"    tandem_invalidate({machine}[0], 512, 16);\n    ended(s, 1);\n"
        "    s->since = now(s);\n"
        f"    tandem_put({machine}[1], 0, s->network->streams[0].memory + 512, 16);\n" in text
    )
    more = [tensor("c", [4], "int8", Arena(96)), tensor("d", [4], "int8", Arena(0))]
    net = manifest([*net.tensors, *more], "x", "y", net.steps, net.arena_bytes)
    source = source_of(net, [K], ports=ports_of(net), streams=[STREAM, LAST], in_place=True)
    assert source.arena_bytes == 100


def test_calls_end_where_a_launch_failed() -> None:
    net = manifest(
        accelerated().tensors,
        "x",
        "y",
        accelerated().steps,
        80,
        [
            function("main", "", "", [CallFunction("f", ("x",), ("y",)), Return()], 80),
            function("f", "a", "a", [RunStep(1), Return()], 80),
        ],
    )
    text = source_of(net, [K], ports=ports_of(net), streams=[STREAM]).text(
        header_of(net, streams=[STREAM])
    )
    assert (
        "    enter(s, 1, s->frames + 128);\n    if (s->result != TANDEM_RESULT_OK) return -1;\n"
        "    memcpy(s->outputs->y, s->results[0], 16);\n" in text
    )


def test_what_stays_on_a_device_has_no_address() -> None:
    net = manifest(accelerated().tensors, "x", "y", [step("k", "x", "kept")])
    source = source_of(net, [K], ports=ports_of(net))
    with pytest.raises(ExportError, match=r"^kept stays on a device$"):
        source.text(header_of(net))


def test_an_output_in_the_memory_of_an_input_is_a_port() -> None:
    grown = tensor("y", [1], "int32", InPlace("x"))
    net = manifest([tensor("x", [1], "int32", Input()), grown], "x", "y", [step("grow", "x", "y")])
    code = kernel("grow", "a", "a", "a")
    text = source_of(net, [code], ports=ports_of(net)).text(header_of(net))
    assert "    net_kernel_grow(s->outputs->y, s->workspace, 0);\n" in text
    assert "void net_kernel_grow(void *, void *, void *)" in text


# What needs a heap --------------------------------------------------------------------------------


def test_why_a_network_needs_a_heap() -> None:
    assert needs_heap(straight()) == ""
    assert needs_heap(looping()) == ""
    assert needs_heap(nested()) == (
        "net has values of data types whose size is known only when it runs (list.nil, "
        "list.cons): they need a heap"
    )
    waits = function("f", "a", "a", [CallFunction("f", ("a",), ("a",)), Return()], 8)
    net = manifest([number("a", 0)], "", "", [], 8, [waits])
    assert needs_heap(net) == (
        "net has calls that wait for calls of the same function: how much memory they take is "
        "known only when it runs, and they need a heap"
    )


@pytest.mark.parametrize(
    ("model", "prefix"),
    [
        ("models/Net-2.onnx", "net_2"),
        ("digits", "digits"),
        ("a/b.onnx/3d.onnx", "n_3d"),
        ("a.onnx.bin", "a_onnx_bin"),
    ],
)
def test_prefix(model: str, prefix: str) -> None:
    net = Manifest("net", Provenance(model), (), (), (), (), 0)
    assert prefix_of(net) == prefix
