"""What is written around the source of a network: weights, a check, and how to build them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Final

from tandem.workbench.export.header import Header, Port
from tandem.workbench.export.names import c_type

_REALS: Final[Mapping[str, tuple[str, str]]] = {
    "float32": ("float", "1e-4"),
    "float64": ("double", "1e-10"),
}
"""Types whose sums processors may round differently: in C, and how far, as a part of the greatest
element."""
_PRINTED: Final = 8
"""Elements of an output that are printed where there is nothing to compare with."""
FLAGS: Final = "-std=c99 -O2 -Wall -Wextra -Werror"


def project_files(header: Header, objects: Sequence[str], *, checked: bool) -> Mapping[str, str]:
    """The files by name: weights, a check and its data, a Makefile and a CMakeLists.txt."""
    name = header.name
    return {
        f"{name}_weights.S": blob_source(f"{name}_weights", f"{name}_weights.bin"),
        "check.S": blob_source("check_bytes", "check.bin"),
        "main.c": main_source(header, checked=checked),
        "Makefile": makefile(header, objects, checked=checked),
        "CMakeLists.txt": cmake_lists(header, objects),
    }


def blob_source(symbol: str, file: str) -> str:
    """An assembler file that puts a file's bytes into the program, for GCC and Clang."""
    return f"""/* The bytes of {file}, made by Tandem. */
    .section .rodata
    .balign 64
    .globl {symbol}
{symbol}:
    .incbin "{file}"
    .section .note.GNU-stack,"",%progbits
"""


def makefile(header: Header, objects: Sequence[str], *, checked: bool) -> str:
    """The Makefile: a static library, and a program that checks it."""
    name = header.name
    check = "with the expected outputs" if checked else "whose outputs are printed"
    sources = [name, *header.machine_sources]
    blobs = [f"{name}_weights", *header.stream_names]
    own = " ".join(f"{each}.o" for each in (*sources, *blobs))
    board = " board.o" if header.streams else ""
    kept = "\n".join(f"{each}.o: {each}.S {each}.bin" for each in blobs)
    headers = f"{name}.h" + " tandem.h tandem_registers.h" * bool(header.streams)
    return f"""# {name}: made by Tandem. CC and AR name the tools: make CC=aarch64-linux-gnu-gcc
# make          the library lib{name}.a
# make check    a program that runs it once, {check}
CFLAGS ?= {FLAGS}
RUN ?=
OBJECTS = {own} {" ".join(objects)}

lib{name}.a: $(OBJECTS)
\t$(AR) rcs $@ $(OBJECTS)

{kept}
check.o: check.S check.bin
{own} main.o{board}: {headers}

%.o: %.S
\t$(CC) -c -o $@ $<

main: main.o check.o{board} lib{name}.a
\t$(CC) $(CFLAGS) $(LDFLAGS) -o $@ main.o check.o{board} lib{name}.a -lm

.PHONY: check clean
check: main
\t$(RUN) ./main

clean:
\trm -f main lib{name}.a main.o check.o{board} {own}
"""


def cmake_lists(header: Header, objects: Sequence[str]) -> str:
    """The same for CMake."""
    name = header.name
    sources = " ".join(f"{each}.c" for each in (name, *header.machine_sources))
    blobs = " ".join(f"{each}.S" for each in (f"{name}_weights", *header.stream_names))
    board = " board.c" if header.streams else ""
    return f"""# {name}: made by Tandem.
cmake_minimum_required(VERSION 3.16)
project({name} C ASM)
add_library({name} STATIC {sources} {blobs}
    {" ".join(objects)})
target_include_directories({name} PUBLIC ${{CMAKE_CURRENT_SOURCE_DIR}})
set_source_files_properties({blobs} check.S PROPERTIES
    COMPILE_OPTIONS "-I${{CMAKE_CURRENT_SOURCE_DIR}}")
set_target_properties({name} PROPERTIES C_STANDARD 99)
add_executable({name}_check main.c check.S{board})
target_link_libraries({name}_check {name} m)
enable_testing()
add_test(NAME {name} COMMAND {name}_check)
"""


def main_source(header: Header, *, checked: bool) -> str:
    """A program that runs the network once, and compares, if there is something to compare with."""
    return "\n".join(_main(header, checked)) + "\n"


def _main(header: Header, checked: bool) -> Iterator[str]:
    name, upper = header.name, header.name.upper()
    yield f"/* Runs {name} once: 0 if its outputs are as expected. Made by Tandem. */"
    yield f'#include "{name}.h"'
    yield ""
    yield "#include <stdio.h>"
    yield "#include <string.h>"
    yield ""
    yield "extern const unsigned char check_bytes[];"
    if header.streams:
        yield "const struct tandem_platform *board_platform(void); /* in board.c */"
    yield ""
    for what, size in (("arena", "ARENA_BYTES"), ("workspace", "WORKSPACE_BYTES")):
        yield f"static unsigned char {what}[{upper}_{size} + {upper}_ALIGNMENT];"
    for port in header.outputs:
        yield f"static {_element(port)} output_{port.spelled}[{_count(port)}];"
    yield ""
    yield "static unsigned char *aligned(unsigned char *memory)"
    yield "{"
    yield f"    return memory + (-(uintptr_t)memory & ({upper}_ALIGNMENT - 1));"
    yield "}"
    yield ""
    if header.streams:
        yield from _failed()
    if checked:
        yield from _compare({port.tensor.dtype for port in header.outputs})
    yield "int main(void)"
    yield "{"
    yield f"    struct {name}_inputs inputs = {{0}};"
    yield f"    struct {name}_outputs outputs = {{0}};"
    yield "    int wrong = 0;"
    if header.streams:
        yield from _opened(name)
    at = 0
    for port in header.inputs:
        yield (
            f"    inputs.{port.spelled} = (const {_element(port)} *)(const void *)"
            f"(check_bytes + {at});"
        )
        at += _padded(port)
    for port in header.outputs:
        yield f"    outputs.{port.spelled} = output_{port.spelled};"
    run = "&inputs, &outputs, aligned(arena), aligned(workspace)"
    if header.streams:
        yield f"    result = {name}_run(&network, {run});"
        yield "    if (result != TANDEM_RESULT_OK) return failed(&machine, result);"
        yield '    printf("cycles %llu\\n", (unsigned long long)network.cycles);'
    else:
        yield f"    {name}_run({run});"
    for port in header.outputs:
        is_real = port.tensor.dtype in _REALS
        if not checked:
            form = "%g" if is_real else "%ld"
            kind = "double" if is_real else "long"
            element = f"({kind})output_{port.spelled}[i]"
            yield f"    for (long i = 0; i < {min(_count(port), _PRINTED)}; i++)"
            yield f'        printf("{port.spelled}[%ld] = {form}\\n", i, {element});'
            continue
        check = f"reals_{port.tensor.dtype}" if is_real else "bytes"
        count = _count(port) if is_real else port.tensor.bytes
        yield (
            f'    wrong += {check}("{port.spelled}", output_{port.spelled}, check_bytes + {at}, '
            f"{count});"
        )
        at += _padded(port)
    if checked:
        yield '    puts(wrong ? "NOT as expected" : "as expected");'
    yield "    return wrong != 0;"
    yield "}"


def _opened(name: str) -> Iterator[str]:
    """Statements that find the machine and load the network."""
    yield "    const struct tandem_platform *platform = board_platform();"
    yield "    static struct tandem machine;"
    yield f"    static struct {name} network;"
    yield "    enum tandem_result result;"
    yield ""
    yield "    if (platform == NULL) {"
    yield '        perror("board");'
    yield "        return 1;"
    yield "    }"
    yield "    result = tandem_open(&machine, platform);"
    yield f"    if (result == TANDEM_RESULT_OK) result = {name}_open(&network, &machine);"
    yield "    if (result != TANDEM_RESULT_OK) return failed(&machine, result);"


def _failed() -> Iterator[str]:
    yield "static int failed(const struct tandem *machine, enum tandem_result result)"
    yield "{"
    yield "    const struct tandem_fault *fault = tandem_fault(machine);"
    yield ""
    yield '    printf("%s (fault %lu, instruction %ld)\\n", tandem_text(result),'
    yield "        (unsigned long)fault->code, (long)(int32_t)fault->instruction);"
    yield "    return 1;"
    yield "}"
    yield ""


def _compare(dtypes: Set[str]) -> Iterator[str]:
    if dtypes - _REALS.keys():
        yield "/* Integers are the same on all processors. */"
        yield "static int bytes(const char *name, const void *found, const unsigned char *wanted,"
        yield "    long n)"
        yield "{"
        yield "    if (memcmp(found, wanted, (size_t)n) == 0) return 0;"
        yield '    printf("%s differs\\n", name);'
        yield "    return 1;"
        yield "}"
        yield ""
    for dtype in sorted(dtypes & _REALS.keys()):
        kind, bound = _REALS[dtype]
        yield "/* Sums of reals may be rounded otherwise: less than a part of the greatest one. */"
        yield f"static int reals_{dtype}(const char *name, const {kind} *found,"
        yield "    const unsigned char *bytes, long n)"
        yield "{"
        yield "    double greatest = 0, worst = 0;"
        yield "    for (long i = 0; i < n; i++) {"
        yield f"        {kind} wanted;"
        yield "        memcpy(&wanted, bytes + i * (long)sizeof wanted, sizeof wanted);"
        yield "        double size = wanted < 0 ? -wanted : wanted;"
        yield "        double error = (double)found[i] - (double)wanted;"
        yield "        if (size > greatest) greatest = size;"
        yield "        if (error < 0) error = -error;"
        yield "        if (!(error <= worst)) worst = error;"
        yield "    }"
        yield f"    if (worst <= {bound} * greatest) return 0;"
        yield '    printf("%s differs by %g of at most %g\\n", name, worst, greatest);'
        yield "    return 1;"
        yield "}"
        yield ""


def _element(port: Port) -> str:
    return c_type(port.tensor.dtype)


def _count(port: Port) -> int:
    count = 1
    for extent in port.tensor.shape:
        count *= extent
    return max(count, 1)


def _padded(port: Port) -> int:
    """The bytes of a tensor in the file of the check, where each begins at a multiple of 64."""
    return -(-port.tensor.bytes // 64) * 64
