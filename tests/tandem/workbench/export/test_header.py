"""Headers of libraries: every line of a small one, and what choices, streams and a heap add."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from tandem.hw.config_files import load_config
from tandem.runtime.artifact import AxisScale, Input, Output, PlacedTensor, Scale
from tandem.workbench.export.header import Extent, Header
from tandem.workbench.export.options import LibraryOptions
from tandem.workbench.export.stream_file import StreamFile
from tests.support.workbench.small_networks import header_of, manifest, step, tensor

NET = manifest(
    [
        tensor("x", [2, 3], "int8", Input(), scale=Scale(0.5, -3)),
        tensor("y", [4], "float32", Output()),
        tensor("count", [], "int64", Output()),
    ],
    "x",
    "y count",
    [step("k", "x", "y count")],
)
PLAIN = replace(header_of(NET), arena_bytes=128, workspace_bytes=64, weight_bytes=1000)
STREAM = StreamFile("s", b"12345", 4097, 0, (PlacedTensor("in", 64, (1, 2, 1, 8), "int8"),), ())
OTHER = StreamFile("t", b"12345", 4096, 0, (), ())
MACHINE = replace(header_of(NET), streams=(STREAM, OTHER), config=load_config("small8"))


def lines(header: Header, first: str, last: str) -> list[str]:
    found = header.text().splitlines()
    begin = found.index(first)
    return found[begin : found.index(last, begin) + 1]


def test_every_line_of_a_small_header() -> None:
    rest = PLAIN.text().splitlines()
    begin = rest.index("/* A tensor: its element [i, j, ...] lies i * strides[0] + j * strides[1]"
                       " + ... elements behind its")  # fmt: skip
    end = rest.index("#endif", begin)
    assert rest[:begin] == [
        "/* models/net.onnx, compiled by Tandem for x86_64-unknown-linux-gnu",
        " * with nothing beyond its base.",
        " *",
        " * Code and weights are constant: any number of runs may go on at once, each with an",
        " * arena and a workspace of its own that begin at a multiple of 64 bytes.",
        " * Machine code takes 0 bytes, weights 1,000.",
        " * Of the C library it calls memcpy.",
        " */",
        "#ifndef NET_H",
        "#define NET_H",
        "",
        "#include <stdint.h>",
        "",
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif",
        "",
        "#define NET_ARENA_BYTES 128",
        "#define NET_WORKSPACE_BYTES 64",
        "#define NET_ALIGNMENT 64",
        "#define NET_X_BYTES 6",
        "#define NET_X_STEP 0.5f",
        "#define NET_X_ZERO -3",
        "#define NET_Y_BYTES 16",
        "#define NET_COUNT_BYTES 8",
        "",
        "struct net_inputs {",
        "    const int8_t *x; /* int8[2, 3], real = (integer - -3) * 0.5f */",
        "};",
        "",
        "struct net_outputs {",
        "    float *y; /* float32[4] */",
        "    int64_t *count; /* int64[] */",
        "};",
        "",
    ]
    assert rest[end + 1 :] == [
        "",
        "/* The places of tensors in the table. */",
        "enum {",
        "    NET_TENSOR_X, /* int8[2, 3]: row-major */",
        "    NET_TENSOR_Y, /* float32[4]: row-major */",
        "    NET_TENSOR_COUNT, /* int64[]: row-major */",
        "    NET_TENSORS",
        "};",
        "extern const struct tandem_tensor net_tensors[NET_TENSORS];",
        "",
        "/* Runs the network once. The arena has no meaning between runs. */",
        "void net_run(const struct net_inputs *inputs,",
        "    const struct net_outputs *outputs, void *arena, void *workspace);",
        "",
        "#ifdef __cplusplus",
        "}",
        "#endif",
        "",
        "#endif /* NET_H */",
    ]


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_a_compiler_reads_it(tmp_path: Path) -> None:
    """With all choices; the header of a network without inputs, outputs and steps, too."""
    everything = LibraryOptions(embed_weights=False, threads=3, profile=True)
    empty = header_of(manifest([], "", "", []), everything)
    (tmp_path / "net.h").write_text(replace(PLAIN, options=everything).text())
    (tmp_path / "empty.h").write_text(replace(empty, name="empty").text())
    program = (
        '#include "net.h"\n#include "net.h"\n#include "empty.h"\n'
        "int sizes[sizeof(struct net_outputs) == 2 * sizeof(void *)\n"
        "    && sizeof(((struct net_profile *)0)->runs) == 8 && NET_THREADS == 3\n"
        "    && sizeof(((struct empty_profile *)0)->time) == 8 && NET_TENSORS == 3 ? 1 : -1];\n"
    )
    (tmp_path / "main.c").write_text(program)
    flags = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    subprocess.run(["cc", *flags, "-fsyntax-only", "main.c"], cwd=tmp_path, check=True)


def test_parameters_of_a_run() -> None:
    first = "const struct net_inputs *inputs,\n    const struct net_outputs *outputs,"
    rest = " void *arena, void *workspace"
    assert PLAIN.parameters == first + rest
    assert replace(PLAIN, options=LibraryOptions(embed_weights=False)).parameters == (
        f"{first} const void *weights,{rest}"
    )
    threads = LibraryOptions(threads=2)
    assert replace(PLAIN, options=threads).parameters == (
        f"{first}{rest},\n    struct net_launcher *launcher"
    )
    both = LibraryOptions(threads=2, profile=True)
    assert replace(MACHINE, options=both, heap=("enum;",)).parameters == (
        f"struct net *network,\n    {first}{rest},\n    void *heap, size_t heap_bytes, "
        "struct net_launcher *launcher, struct net_profile *profile"
    )
    profile = LibraryOptions(profile=True)
    assert replace(PLAIN, options=profile).parameters.endswith(
        "workspace,\n    struct net_profile *profile"
    )


def test_results_of_a_run() -> None:
    assert PLAIN.result == "void"
    assert MACHINE.result == "enum tandem_result"
    assert replace(MACHINE, heap=("enum;",)).result == "enum net_result"


def test_what_choices_add() -> None:
    found = replace(PLAIN, options=LibraryOptions(embed_weights=False)).text()
    assert " * So do the weights, the bytes of net_weights.bin.\n" in found
    assert "#define NET_ALIGNMENT 64\n#define NET_WEIGHT_BYTES 1000\n" in found
    assert "WEIGHT_BYTES" not in PLAIN.text()
    header = replace(PLAIN, options=LibraryOptions(threads=2))
    assert lines(header, "#define NET_THREADS 2", "};") == [
        "#define NET_THREADS 2",
        "",
        "/* The iterations of a loop from `begin` to before `end`. */",
        "typedef void net_task(void *closure, int64_t begin, int64_t end,",
        "    int64_t worker);",
        "",
        "/* Threads that share loops: `launch` returns when a task has run for all of `count`",
        " * iterations. Calls that are at work have different workers, from 0 to below",
        " * NET_THREADS. net_threads.h has such threads.",
        " * NULL stands for the calling thread alone. */",
        "struct net_launcher {",
        "    void (*launch)(struct net_launcher *self, net_task *task,",
        "        void *closure, int64_t count);",
        "};",
    ]
    header = replace(PLAIN, options=LibraryOptions(profile=True))
    assert lines(header, "#define NET_STEPS 1", "};") == [
        "#define NET_STEPS 1",
        "",
        "/* The names of the network's steps, and their operators. */",
        "extern const char *const net_steps[NET_STEPS];",
        "",
        "/* The time of steps, in units of `now`, and how often they ran: runs add to them.",
        " * NULL stands for none. */",
        "struct net_profile {",
        "    uint64_t (*now)(void);",
        "    uint64_t time[NET_STEPS];",
        "    uint64_t runs[NET_STEPS];",
        "};",
    ]


def test_names_of_steps() -> None:
    assert PLAIN.steps == ["k_step: k"]
    assert header_of(manifest([], "", "", [])).steps == ["nothing"]


def test_what_streams_add() -> None:
    """Memory in pages of 4096 bytes, two of the first stream and one of the second."""
    text = MACHINE.text()
    assert " * It needs the accelerator small8, which tandem.h drives.\n *\n" in text
    assert '#include <stdint.h>\n\n#include "tandem.h"\n\n#ifdef' in text
    assert MACHINE.stream_names == ("net_stream_0", "net_stream_1")
    begin = "/* Bytes of the accelerator's memory, in parts at multiples of TANDEM_ALIGNMENT. */"
    end = "    struct net *network, struct tandem *machine);"
    assert lines(MACHINE, begin, end) == [
        begin,
        "#define NET_MEMORY_BYTES 12288",
        "",
        "/* The network on an accelerator: weights and instructions in its memory. */",
        "struct net {",
        "    struct tandem *machine;",
        "    struct tandem_stream streams[2];",
        "    uint64_t limit;  /* microseconds that a launch may take; 0: any number */",
        "    uint64_t cycles; /* of the accelerator, in the last run */",
        "};",
        "",
        "/* Loads the streams into the accelerator's memory, once; sets `limit` to 0. */",
        "enum tandem_result net_open(",
        end,
    ]
    assert [row.spelled for row in MACHINE.tensors] == ["x", "y", "count", "stream_0_input_0"]
    assert MACHINE.tensors[-1].layout == "batch / 1, channel / 8, batch % 1, channel % 8"
    # Streams without a configuration have no rows.
    assert len(replace(MACHINE, config=None).tensors) == 3


def test_what_a_heap_adds() -> None:
    results = ("/* What a run ended with. */", "enum net_result { NET_OK };", "")
    text = replace(PLAIN, heap=results).text()
    assert "#include <stddef.h>\n#include <stdint.h>\n" in text
    assert "enum net_result { NET_OK };\n\n/* Runs the network once." in text
    assert "enum net_result net_run(" in text
    text = replace(MACHINE, heap=results).text()
    assert "    enum tandem_result result; /* of the accelerator, in the last run */\n};" in text


def test_names_of_tensors_are_different() -> None:
    """An input and an output of one name, and words that a comment must not end with."""
    net = manifest([tensor("x", [1], "int8", Input())], "x", "x", [])
    header = header_of(net)
    assert [row.spelled for row in header.tensors] == ["x", "x_2"]
    port = replace(header.inputs[0], name="a*/b\nc")
    text = replace(header, inputs=[port]).text()
    assert r"    const int8_t *x; /* int8[1], 'a* /b\nc' */" in text


def test_extents_are_known_after_a_run() -> None:
    y, count = PLAIN.outputs
    text = replace(PLAIN, extents=(Extent(y, 1, count),)).text()
    assert "    float *y; /* float32[4], of axis 1 the first count */\n" in text
    assert "    int64_t *count; /* int64[] */\n" in text


def test_scales_along_an_axis_and_features() -> None:
    scales = AxisScale(1, (0.5, 0.25), (0, 0))
    net = manifest([tensor("x", [1, 2], "int8", Input(), axis_scale=scales)], "x", "", [])
    header = replace(header_of(net), features=("+avx2", "+fma"), needs=())
    text = header.text()
    assert "/* int8[1, 2], real = (integer - zero) * step, of each index of axis 1 */" in text
    assert "\n * with +avx2, +fma.\n" in text
    assert " * Of the C library it calls nothing.\n" in text
    assert "    char none; /* C99 has no empty structure */\n};\n" in text
    assert "_STEP" not in text
