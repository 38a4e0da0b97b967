"""Programs that check libraries, with a network of a few lines of C in the place of one, and what
builds them."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tandem.hw.config_files import load_config
from tandem.runtime.artifact import Input, Output, Tensor
from tandem.workbench.export.blobs import Blob, Blobs, Format, made_blobs
from tandem.workbench.export.header import Header
from tandem.workbench.export.options import LibraryOptions
from tandem.workbench.export.project import main_source, project_files
from tandem.workbench.export.stream_file import StreamFile
from tandem.workbench.export.threads import thread_files
from tests.support.workbench.small_networks import TRIPLE, header_of, manifest, tensor

HAS_CC = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
NONE = Blobs({}, (), ())


def tensors() -> list[Tensor]:
    return [
        tensor("x", [3], "float32", Input()),
        tensor("n", [20], "int32", Input()),
        tensor("y", [3], "float32", Output()),
        tensor("z", [3], "float64", Output()),
        tensor("m", [20], "int32", Output()),
        tensor("e", [2, 3], "int16", Output()),
    ]


HEADER = header_of(manifest(tensors(), "x n", "y z m e", []))
SHAPES = {"e": (2, 2)}
NETWORK = """
    for (int i = 0; i < 3; i++) outputs->y[i] = inputs->x[i];
    for (int i = 0; i < 3; i++) outputs->z[i] = inputs->x[i];
    for (int i = 0; i < 20; i++) outputs->m[i] = 2 * inputs->n[i];
    for (int i = 0; i < 6; i++) outputs->e[i] = (int16_t)(i + 1);
"""
"""Beyond the extents of `e` lies garbage."""
READ = """
#include <stdio.h>
unsigned char check_bytes[512];
__attribute__((constructor)) static void read_bytes(void)
{
    FILE *file = fopen("check.bin", "rb");
    if (file) (void)!fread(check_bytes, 1, 512, file);
}
"""
X = np.array([1.5, -2.0, 0.25], np.float32)
N_IN = np.arange(20, dtype=np.int32)


def built(folder: Path, header: Header, body: str, *more: str, checked: bool = True) -> Path:
    """The program, whose data is read when it runs."""
    parameters = header.parameters.replace(",\n", ", ")
    network = f'#include "net.h"\n{header.result} net_run({parameters})\n{{\n{body}\n}}\n'
    files = {
        "net.h": header.text(),
        "net.c": network,
        "check.c": READ,
        "main.c": main_source(header, checked=checked, shapes=SHAPES if checked else {}),
    }
    for name, content in files.items():
        (folder / name).write_text(content)
    flags = ["-std=gnu99", "-O0", "-Wall", "-Werror"]
    command = ["cc", *flags, "-o", "main", "main.c", "net.c", "check.c", *more]
    subprocess.run(command, cwd=folder, check=True)
    return folder / "main"


def expected(**changed: NDArray[Any]) -> dict[str, NDArray[Any]]:
    return {
        "x": X,
        "n": N_IN,
        "y": X.copy(),
        "z": X.astype(np.float64),
        "m": 2 * N_IN,
        "e": np.array([[1, 2, 0], [4, 5, 0]], np.int16),
        **changed,
    }


def ran(program: Path, arrays: Mapping[str, NDArray[Any]]) -> tuple[int, str]:
    """The program's status and output, with these bytes, each array at a multiple of 64."""
    parts = [array.tobytes() for array in arrays.values()]
    content = b"".join(part.ljust(-(-len(part) // 64) * 64, b"\0") for part in parts)
    (program.parent / "check.bin").write_bytes(content)
    done = subprocess.run([program], cwd=program.parent, capture_output=True, text=True)
    return done.returncode, done.stdout


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that compares."""
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler")
    folder = tmp_path_factory.mktemp("program")
    return built(folder, HEADER, f"(void)arena, (void)workspace;{NETWORK}")


def test_outputs_are_compared(program: Path) -> None:
    """Of float32, a part of 1e-4 of the greatest element is allowed, of float64 one of 1e-10."""
    assert ran(program, expected()) == (0, "as expected\n")
    for part, status in ((0.9e-4, 0), (1.1e-4, 1), (-1.1e-4, 1)):
        y = X + np.array([0, 0, 2 * part], np.float32)
        found, text = ran(program, expected(y=y))
        assert found == status
        assert text.startswith("y differs by 0.00022" if status else "as expected")
        assert not status or text.endswith(" of at most 2\nNOT as expected\n")
    for part, status in ((0.9e-10, 0), (1.1e-10, 1)):
        z = X + np.array([2 * part, 0, 0])
        found, text = ran(program, expected(z=z))
        assert found == status
        assert text.startswith("z differs by 2.2e-10 of at most 2" if status else "as expected")
    m = 2 * N_IN
    m[19] += 1
    assert ran(program, expected(m=m)) == (1, "m differs\nNOT as expected\n")
    e = np.array([[1, 2, 3], [4, 5, 6]], np.int16)
    assert ran(program, expected(e=e)) == (1, "e differs\nNOT as expected\n")
    e = np.array([[1, 2, 0], [4, 0, 0]], np.int16)
    assert ran(program, expected(e=e))[0] == 1


def test_what_is_no_number_or_infinite_is_compared_too(program: Path) -> None:
    """Such elements have to be the same, wherever they are, and no part of them is allowed."""
    nan, inf = np.nan, np.inf
    for found, wanted, status in (
        ([1.5, 2, 3], [nan, 2, 3], 1),
        ([nan, 2, 3], [1.5, 2, 3], 1),
        ([1.5, 2, nan], [1.5, 2, 3], 1),
        ([nan, inf, -inf], [nan, inf, -inf], 0),
        ([inf, inf, 1], [inf, -inf, 1], 1),
        ([inf, 2, 3], [inf, 2.1, 3], 1),
        ([inf, 2, 3], [3, 2, 3], 1),
        ([2, inf, 3], [2.0001, inf, 3], 0),
    ):
        x, y = np.array(found, np.float32), np.array(wanted, np.float32)
        with np.errstate(invalid="ignore"):
            arrays = expected(x=x, y=y, z=x.astype(np.float64))
        assert ran(program, arrays)[0] == status, (found, wanted)


@HAS_CC
def test_outputs_are_printed(tmp_path: Path) -> None:
    """Of each at most eight elements."""
    body = f"(void)arena, (void)workspace;{NETWORK}"
    status, text = ran(built(tmp_path, HEADER, body, checked=False), expected())
    y = ["y[0] = 1.5", "y[1] = -2", "y[2] = 0.25"]
    assert status == 0
    assert text.splitlines() == [
        *y,
        *(line.replace("y", "z") for line in y),
        *(f"m[{i}] = {2 * i}" for i in range(8)),
        *(f"e[{i}] = {i + 1}" for i in range(6)),
    ]


@HAS_CC
def test_with_threads_a_profile_and_weights_in_a_file(tmp_path: Path) -> None:
    options = LibraryOptions(embed_weights=False, threads=2, profile=True)
    header = replace(HEADER, options=options, weight_bytes=6, arena_bytes=64, workspace_bytes=64)
    for name, content in thread_files("net").items():
        (tmp_path / name).write_text(content)
    body = f"""
    const unsigned char *given = weights;
    const uintptr_t places = (uintptr_t)weights | (uintptr_t)arena | (uintptr_t)workspace;

    if (places % 64 || arena == workspace || !launcher || profile->time[0]) return;
    if (given[0] != 'w' || given[5] != '6') return;
    profile->runs[0] += 3;
    profile->time[0] += profile->now() > 1 ? 1000000 : 0;
    {NETWORK}"""
    names = 'const char *const net_steps[NET_STEPS] = {"nothing"};\n'
    (tmp_path / "steps.c").write_text(f'#include "net.h"\n{names}')
    program = built(tmp_path, header, body, "steps.c", "net_threads.c", "-pthread")
    assert ran(program, expected()) == (2, "net_weights.bin cannot be read\n")
    (tmp_path / "net_weights.bin").write_bytes(b"w2345")
    assert ran(program, expected())[0] == 2
    (tmp_path / "net_weights.bin").write_bytes(b"w23456")
    status, text = ran(program, expected())
    # A clock has a million units a second with POSIX.
    assert (status, text) == (0, " 1000000 us    3 x nothing\nas expected\n")


def test_with_a_heap() -> None:
    text = main_source(replace(HEADER, heap=("enum;",)), checked=True, shapes={})
    assert "#ifndef NET_HEAP_BYTES\n#define NET_HEAP_BYTES 65536\n#endif\n" in text
    assert "static unsigned char heap[NET_HEAP_BYTES + NET_ALIGNMENT];\n" in text
    call = "net_run(&inputs, &outputs, aligned(arena), aligned(workspace), aligned(heap), "
    assert (
        f"    const enum net_result ended = {call}NET_HEAP_BYTES);\n"
        "    if (ended != NET_OK) {\n"
        '        printf("result %d, with a heap of %ld bytes\\n", (int)ended,\n'
        "            (long)NET_HEAP_BYTES);\n        return 1;\n    }\n" in text
    )


def test_what_is_included() -> None:
    """Limits of floats where floats are compared."""
    integers = header_of(manifest(tensors(), "x", "m", []))
    assert "#include <float.h>" in main_source(HEADER, checked=True, shapes={})
    assert "#include <float.h>" not in main_source(HEADER, checked=False, shapes={})
    assert "#include <float.h>" not in main_source(integers, checked=True, shapes={})
    assert "reals_" not in main_source(integers, checked=True, shapes={})


def test_with_an_accelerator() -> None:
    stream = StreamFile("s", b"12345", 4097, 0, (), ())
    header = replace(HEADER, streams=(stream,), config=load_config("tiny"))
    text = main_source(header, checked=False, shapes={})
    call = "net_run(&network, &inputs, &outputs, aligned(arena), aligned(workspace)"
    assert (
        f"    result = {call});\n"
        "    if (result != TANDEM_RESULT_OK) return failed(&machine, result);\n"
        '    printf("cycles %llu\\n", (unsigned long long)network.cycles);\n' in text
    )
    assert "static int failed(" in text
    assert (
        "    int wrong = 0;\n    const struct tandem_platform *platform = board_platform();" in text
    )
    text = main_source(replace(header, heap=("enum;",)), checked=False, shapes={})
    assert (
        f"    const enum net_result ended = {call}, aligned(heap), NET_HEAP_BYTES);\n"
        "    if (network.result != TANDEM_RESULT_OK) "
        "return failed(&machine, network.result);\n" in text
    )


# What builds them -----------------------------------------------------------------------------


def files_of(header: Header, form: Format, *, checked: bool = True) -> Mapping[str, str]:
    data = made_blobs([Blob("net_weights", "net_weights", b"1", ".w")], form, TRIPLE, ())
    check = made_blobs([Blob("check_bytes", "check", b"2", ".c")], form, TRIPLE, ())
    return project_files(header, ["net_kernel_0.o"], data, check, checked=checked, shapes={})


def test_a_makefile() -> None:
    files = files_of(HEADER, Format.BIN)
    assert [*files] == ["main.c", "Makefile", "CMakeLists.txt"]
    assert files["main.c"] == main_source(HEADER, checked=True, shapes={})
    assert files["Makefile"] == (
        "# net: made by Tandem. CC and AR name the tools: make CC=aarch64-linux-gnu-gcc\n"
        "# make          the library libnet.a\n"
        "# make check    a program that runs it once, with the expected outputs\n"
        "CFLAGS ?= -std=c99 -O2 -Wall -Wextra -Werror\n"
        "RUN ?=\n"
        "OBJECTS = net.o net_weights.o net_kernel_0.o\n"
        "\n"
        "libnet.a: $(OBJECTS)\n"
        "\t$(AR) rcs $@ $(OBJECTS)\n"
        "\n"
        "net_weights.o: net_weights.S net_weights.bin\n"
        "check.o: check.S check.bin\n"
        "net.o main.o: net.h\n"
        "\n"
        "%.o: %.S\n"
        "\t$(CC) $(CPPFLAGS) -c -o $@ $<\n"
        "\n"
        "main: main.o check.o libnet.a\n"
        "\t$(CC) $(CFLAGS) $(LDFLAGS) -o $@ main.o check.o libnet.a -lm\n"
        "\n"
        ".PHONY: check clean\n"
        "check: main\n"
        "\t$(RUN) ./main\n"
        "\n"
        "clean:\n"
        "\trm -f main libnet.a main.o check.o net.o net_weights.o\n"
    )


def test_a_makefile_of_everything() -> None:
    stream = StreamFile("s", b"12345", 4097, 0, (), ())
    header = replace(
        HEADER,
        streams=(stream,),
        config=load_config("tiny"),
        triple="thumbv7em-none-eabi",
        options=LibraryOptions(threads=2),
    )
    files = files_of(header, Format.ELF, checked=False)
    assert [*files] == [*("net_threads.h", "net_threads.c", "main.c", "Makefile", "CMakeLists.txt")]
    lines = files["Makefile"].splitlines()
    assert lines[2].endswith("runs it once, whose outputs are printed")
    made = "net.o net_threads.o tandem.o tandem_bare.o"
    assert lines[5] == f"OBJECTS = {made} net_kernel_0.o net_weights.o"
    begin = lines.index("net.o main.o board.o tandem.o: tandem.h tandem_registers.h")
    assert lines[begin + 1 : begin + 3] == [
        "net_threads.o main.o: net_threads.h net.h",
        "net.o main.o: net.h",
    ]
    assert "main: main.o check.o board.o libnet.a" in lines
    assert (
        "\t$(CC) $(CFLAGS) $(LDFLAGS) -o $@ main.o check.o board.o libnet.a -lm -pthread" in lines
    )
    # Objects that came with the library stay.
    assert lines[-1] == f"\trm -f main libnet.a main.o board.o {made}"
    assert files["CMakeLists.txt"] == (
        "# net: made by Tandem.\n"
        "cmake_minimum_required(VERSION 3.16)\n"
        "project(net C ASM)\n"
        "set(THREADS_PREFER_PTHREAD_FLAG ON)\n"
        "find_package(Threads REQUIRED)\n"
        "add_library(net STATIC net.c net_threads.c tandem.c tandem_bare.c\n"
        "    net_kernel_0.o net_weights.o)\n"
        "target_include_directories(net PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})\n"
        "set_target_properties(net PROPERTIES C_STANDARD 99)\n"
        "add_executable(net_check main.c check.o board.c)\n"
        "target_link_libraries(net_check net m Threads::Threads)\n"
        "enable_testing()\n"
        "add_test(NAME net COMMAND net_check WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})\n"
    )


def test_cmake_assembles() -> None:
    text = files_of(HEADER, Format.BIN)["CMakeLists.txt"]
    assert "set_source_files_properties(net_weights.S check.S PROPERTIES\n" in text
    assert "add_executable(net_check main.c check.S)\n" in text
    assert "target_link_libraries(net_check net m)\n" in text
    assert "project(net C ASM)\nadd_library(net STATIC net.c net_weights.S\n" in text
    assert "set_source_files" not in files_of(HEADER, Format.C)["CMakeLists.txt"]
    assert (
        "\trm -f main libnet.a main.o check.o net.o net_weights.o\n"
        in (files_of(HEADER, Format.C)["Makefile"])
    )
