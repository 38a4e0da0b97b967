"""The program of a system on chip in C: it runs a network, and says what that took."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tandem.workbench.export.header import Header, Port
from tandem.workbench.export.names import c_type

_ALIGNMENT: Final = 64
"""Of tensors in the file of the check."""


def padded_bytes(port: Port) -> int:
    """What a tensor takes in the file of the check, inputs before outputs."""
    return -(-port.tensor.bytes // _ALIGNMENT) * _ALIGNMENT


def _count(port: Port) -> int:
    count = 1
    for extent in port.tensor.shape:
        count *= extent
    return count


def program_lines(header: Header) -> Iterator[str]:
    """The lines of the program, which includes `soc_board.h` and the library's header."""
    name, upper = header.name, header.name.upper()
    yield f"/* Runs {name} on zeros, and on the input of the check with a profile of its steps and"
    yield " * without. Says how many cycles the runs took, and how many elements of the outputs of"
    yield " * the second are as expected."
    yield " * Made by Tandem. */"
    yield '#include "soc_board.h"'
    yield f'#include "{name}.h"'
    yield ""
    yield "int memcmp(const void *a, const void *b, size_t bytes);"
    yield "void *memcpy(void *target, const void *source, size_t bytes);"
    yield ""
    yield "extern const unsigned char check_bytes[];"
    yield ""
    align = f"__attribute__((aligned({upper}_ALIGNMENT)))"
    yield f"static unsigned char arena[{upper}_ARENA_BYTES + 1] {align};"
    yield f"static unsigned char workspace[{upper}_WORKSPACE_BYTES + 1] {align};"
    for port in header.inputs:
        yield f"static {c_type(port.tensor.dtype)} zeros_{port.spelled}[{_count(port)}];"
    for port in header.outputs:
        yield f"static {c_type(port.tensor.dtype)} output_{port.spelled}[{_count(port)}];"
    yield "static struct tandem machine;"
    yield f"static struct {name} network;"
    yield f"static struct {name}_profile profile;"
    yield ""
    yield "static void line(const char *what, uint32_t number)"
    yield "{"
    yield "    soc_text(what);"
    yield '    soc_text(" ");'
    yield "    soc_number(number);"
    yield '    soc_text("\\n");'
    yield "}"
    yield ""
    yield "static void check(enum tandem_result result)"
    yield "{"
    yield "    if (result == TANDEM_RESULT_OK) return;"
    yield '    soc_text("failed: ");'
    yield "    soc_text(tandem_text(result));"
    yield '    soc_text("\\n");'
    yield '    line("fault", tandem_fault(&machine)->code);'
    yield "    soc_end(1);"
    yield "}"
    yield ""
    yield "static uint32_t equal(const void *found, const unsigned char *wanted, uint32_t count,"
    yield "    uint32_t bytes)"
    yield "{"
    yield "    const unsigned char *at = found;"
    yield "    uint32_t i, same = 0;"
    yield ""
    yield "    for (i = 0; i < count; i++)"
    yield "        same += memcmp(at + i * bytes, wanted + i * bytes, bytes) == 0;"
    yield "    return same;"
    yield "}"
    yield ""
    if any(port.tensor.dtype == "float32" for port in header.outputs):
        yield "static void words(const float *at, uint32_t count)"
        yield "{"
        yield "    uint32_t i, bits;"
        yield ""
        yield "    for (i = 0; i < count; i++) {"
        yield "        (void)memcpy(&bits, at + i, sizeof bits);"
        yield '        line("word", bits);'
        yield "    }"
        yield "}"
        yield ""
    yield "int main(void)"
    yield "{"
    yield f"    struct {name}_inputs zeros = {{0}}, inputs = {{0}};"
    yield f"    struct {name}_outputs outputs = {{0}};"
    yield "    uint32_t begin, wrong = 0;"
    yield "    int i;"
    yield ""
    at = 0
    for port in header.inputs:
        kind = c_type(port.tensor.dtype)
        yield f"    zeros.{port.spelled} = zeros_{port.spelled};"
        yield f"    inputs.{port.spelled} = (const {kind} *)(const void *)(check_bytes + {at});"
        at += padded_bytes(port)
    for port in header.outputs:
        yield f"    outputs.{port.spelled} = output_{port.spelled};"
    yield "    begin = (uint32_t)soc_cycles();"
    yield "    check(tandem_open(&machine, board_platform()));"
    yield f"    check({name}_open(&network, &machine));"
    yield '    line("load", (uint32_t)soc_cycles() - begin);'
    yield "    profile.now = soc_cycles;"
    for line in (
        *_run(name, "zeros", "NULL", "first"),
        *_run(name, "inputs", "&profile", "run"),
        *_told(header, at),
        *_run(name, "inputs", "NULL", "alone"),
    ):
        yield f"    {line}"
    yield "    soc_end(wrong != 0);"
    yield "    return 0;"
    yield "}"


def _run(name: str, given: str, noted: str, said: str) -> Iterator[str]:
    """Statements that run the network, and say how many cycles it took."""
    yield "begin = (uint32_t)soc_cycles();"
    yield f"check({name}_run(&network, &{given}, &outputs, arena, workspace, {noted}));"
    yield f'line("{said}", (uint32_t)soc_cycles() - begin);'


def _told(header: Header, at: int) -> Iterator[str]:
    """Statements that tell of a run with a profile, and compare its outputs with those that lie
    `at` an offset of the check and behind."""
    yield 'line("machine", (uint32_t)network.cycles);'
    yield f"for (i = 0; i < {header.name.upper()}_STEPS; i++)"
    yield '    line("step", (uint32_t)profile.time[i]);'
    for port in header.outputs:
        output, count = f"output_{port.spelled}", _count(port)
        yield f"begin = equal({output}, check_bytes + {at}, {count}, sizeof {output}[0]);"
        yield 'line("equal", begin);'
        yield f"wrong += begin != {count};"
        if port.tensor.dtype == "float32":
            # How far apart they are says whoever has the expected ones.
            yield f"if (begin != {count}) words({output}, {count});"
        at += padded_bytes(port)
