"""What is written around the source of a network: weights, a check, and how to build them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Final

from tandem.workbench.export.blobs import Blobs
from tandem.workbench.export.header import Header, Port
from tandem.workbench.export.heap_source import HEAP_BYTES
from tandem.workbench.export.machine import failed_source, machine_sources, opened_source
from tandem.workbench.export.names import c_type
from tandem.workbench.export.threads import thread_files

_REALS: Final[Mapping[str, tuple[str, str]]] = {
    "float32": ("float", "1e-4"),
    "float64": ("double", "1e-10"),
}
"""Types whose sums processors may round differently: in C, and how far, as a part of the greatest
element."""
_PRINTED: Final = 8
"""Elements of an output that are printed where there is nothing to compare with."""
_BEYOND: Final = """\
/* Zeroes what lies beyond the extents of a result. */
static void clear_beyond(void *bytes, size_t size, int rank, const long *whole, const long *valid)
{
    long count = 1;

    for (int axis = 0; axis < rank; axis++) count *= whole[axis];
    for (long i = 0; i < count; i++) {
        long rest = i;
        int beyond = 0;

        for (int axis = rank - 1; axis >= 0; axis--) {
            beyond |= rest % whole[axis] >= valid[axis];
            rest /= whole[axis];
        }
        if (beyond) memset((unsigned char *)bytes + (size_t)i * size, 0, size);
    }
}
""".splitlines()
FLAGS: Final = "-std=c99 -O2 -Wall -Wextra -Werror"


def project_files(
    header: Header,
    objects: Sequence[str],
    blobs: Blobs,
    check: Blobs,
    *,
    checked: bool,
    shapes: Mapping[str, tuple[int, ...]],
) -> Mapping[str, str]:
    """The files by name: a check, a Makefile and a CMakeLists.txt.

    Parameters
    ----------
    blobs, check
        The weights and streams that are part of the library, and the check's data.
    shapes
        The expected shapes of outputs that have extents which are known after a run, by their names
        in C.
    """
    name, options = header.name, header.options
    parts = [
        f"{name}.c",
        *([f"{name}_threads.c"] * (options.threads > 1)),
        *blobs.sources,
        *machine_sources(header),
    ]
    objects = [*objects, *blobs.objects]
    return {
        **(thread_files(name) if options.threads > 1 else {}),
        "main.c": main_source(header, checked=checked, shapes=shapes),
        "Makefile": _makefile(header, parts, objects, check, checked=checked),
        "CMakeLists.txt": _cmake_lists(header, parts, objects, check),
    }


def _makefile(
    header: Header,
    parts: Sequence[str],
    objects: Sequence[str],
    data: Blobs,
    *,
    checked: bool,
) -> str:
    """The Makefile: a static library, and a program that checks it."""
    name, options = header.name, header.options
    check = "with the expected outputs" if checked else "whose outputs are printed"
    made = " ".join(f"{part.rpartition('.')[0]}.o" for part in parts)
    threads = options.threads > 1
    board = " board.o" if header.streams else ""
    included = [part for part in (*parts, *data.sources) if part.endswith(".S")]
    made_data = " check.o" * bool(data.sources)
    depends = [
        *(f"{part[:-2]}.o: {part} {part[:-2]}.bin" for part in included),
        *([f"{name}.o main.o board.o tandem.o: tandem.h tandem_registers.h"] * bool(board)),
        *([f"{name}_threads.o main.o: {name}_threads.h {name}.h"] * threads),
        f"{name}.o main.o: {name}.h",
    ]
    return f"""# {name}: made by Tandem. CC and AR name the tools: make CC=aarch64-linux-gnu-gcc
# make          the library lib{name}.a
# make check    a program that runs it once, {check}
CFLAGS ?= {FLAGS}
RUN ?=
OBJECTS = {made} {" ".join(objects)}

lib{name}.a: $(OBJECTS)
\t$(AR) rcs $@ $(OBJECTS)

{chr(10).join(depends)}

%.o: %.S
\t$(CC) $(CPPFLAGS) -c -o $@ $<

main: main.o check.o{board} lib{name}.a
\t$(CC) $(CFLAGS) $(LDFLAGS) -o $@ main.o check.o{board} lib{name}.a -lm{" -pthread" * threads}

.PHONY: check clean
check: main
\t$(RUN) ./main

clean:
\trm -f main lib{name}.a main.o{made_data}{board} {made}
"""


def _cmake_lists(header: Header, parts: Sequence[str], objects: Sequence[str], data: Blobs) -> str:
    """The same for CMake."""
    name, threads = header.name, header.options.threads > 1
    check = " ".join((*data.sources, *data.objects))
    assembled = " ".join(each for each in (*parts, *data.sources) if each.endswith(".S"))
    flags = f"""
set_source_files_properties({assembled} PROPERTIES
    COMPILE_OPTIONS "-I${{CMAKE_CURRENT_SOURCE_DIR}}")"""
    package = "\nset(THREADS_PREFER_PTHREAD_FLAG ON)\nfind_package(Threads REQUIRED)" * threads
    return f"""# {name}: made by Tandem.
cmake_minimum_required(VERSION 3.16)
project({name} C ASM){package}
add_library({name} STATIC {" ".join(parts)}
    {" ".join(objects)})
target_include_directories({name} PUBLIC ${{CMAKE_CURRENT_SOURCE_DIR}}){flags * bool(assembled)}
set_target_properties({name} PROPERTIES C_STANDARD 99)
add_executable({name}_check main.c {check}{" board.c" * bool(header.streams)})
target_link_libraries({name}_check {name} m{" Threads::Threads" * threads})
enable_testing()
add_test(NAME {name} COMMAND {name}_check WORKING_DIRECTORY ${{CMAKE_CURRENT_SOURCE_DIR}})
"""


def main_source(header: Header, *, checked: bool, shapes: Mapping[str, tuple[int, ...]]) -> str:
    """A program that runs the network once, and compares, if there is something to compare with;
    `shapes` as in `project_files`."""
    return "\n".join(_main(header, checked, shapes)) + "\n"


def _main(header: Header, checked: bool, shapes: Mapping[str, tuple[int, ...]]) -> Iterator[str]:
    name, upper, options = header.name, header.name.upper(), header.options
    yield f"/* Runs {name} once: 0 if its outputs are as expected. Made by Tandem. */"
    yield f'#include "{name}{"_threads" * (options.threads > 1)}.h"'
    yield ""
    if checked and any(port.tensor.dtype in _REALS for port in header.outputs):
        yield "#include <float.h>"
    yield "#include <stdio.h>"
    yield "#include <string.h>"
    if options.profile:
        yield "#include <time.h>"
    yield ""
    yield "extern const unsigned char check_bytes[];"
    yield ""
    memory = {"arena": "ARENA_BYTES", "workspace": "WORKSPACE_BYTES"}
    if not options.embed_weights:
        memory["weights"] = "WEIGHT_BYTES"
    if header.heap:
        memory["heap"] = "HEAP_BYTES"
        yield f"#ifndef {upper}_HEAP_BYTES"
        yield f"#define {upper}_HEAP_BYTES {HEAP_BYTES}"
        yield "#endif"
    for what, size in memory.items():
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
        yield from failed_source()
    if options.threads > 1:
        yield f"static struct {name}_pool pool;"
    if options.profile:
        yield f"static struct {name}_profile profile;"
        yield ""
        yield "static uint64_t now(void)"
        yield "{"
        yield "    return (uint64_t)clock();"
        yield "}"
        yield ""
    if checked:
        yield from _compare({port.tensor.dtype for port in header.outputs})
        if shapes:
            yield from _BEYOND
    yield "int main(void)"
    yield "{"
    yield f"    struct {name}_inputs inputs = {{0}};"
    yield f"    struct {name}_outputs outputs = {{0}};"
    yield "    int wrong = 0;"
    if header.streams:
        yield from opened_source(name)
    at = 0
    for port in header.inputs:
        yield (
            f"    inputs.{port.spelled} = (const {_element(port)} *)(const void *)"
            f"(check_bytes + {at});"
        )
        at += _padded(port)
    for port in header.outputs:
        yield f"    outputs.{port.spelled} = output_{port.spelled};"
    passed = ["&inputs", "&outputs", "aligned(arena)", "aligned(workspace)"]
    if not options.embed_weights:
        yield from _read_weights(name)
        passed.insert(2, "aligned(weights)")
    if header.heap:
        passed += ["aligned(heap)", f"{upper}_HEAP_BYTES"]
    if options.threads > 1:
        passed.append(f"{name}_pool_start(&pool)")
    if options.profile:
        yield "    profile.now = now;"
        passed.append("&profile")
    if header.streams:
        passed.insert(0, "&network")
    called = f"{name}_run({', '.join(passed)})"
    if header.heap:
        yield f"    const enum {name}_result ended = {called};"
    elif header.streams:
        yield f"    result = {called};"
    else:
        yield f"    {called};"
    if header.streams:
        result = "network.result" if header.heap else "result"
        yield f"    if ({result} != TANDEM_RESULT_OK) return failed(&machine, {result});"
        yield '    printf("cycles %llu\\n", (unsigned long long)network.cycles);'
    if options.threads > 1:
        yield f"    {name}_pool_stop(&pool);"
    if header.heap:
        yield f"    if (ended != {upper}_OK) {{"
        yield '        printf("result %d, with a heap of %ld bytes\\n", (int)ended,'
        yield f"            (long){upper}_HEAP_BYTES);"
        yield "        return 1;"
        yield "    }"
    if options.profile:
        yield f"    for (int i = 0; i < {upper}_STEPS; i++)"
        yield '        printf("%8.0f us %4lu x %s\\n",'
        yield "            1e6 * (double)profile.time[i] / CLOCKS_PER_SEC,"
        yield f"            (unsigned long)profile.runs[i], {name}_steps[i]);"
    for port in header.outputs:
        is_real = port.tensor.dtype in _REALS
        if not checked:
            form = "%g" if is_real else "%ld"
            kind = "double" if is_real else "long"
            element = f"({kind})output_{port.spelled}[i]"
            yield f"    for (long i = 0; i < {min(_count(port), _PRINTED)}; i++)"
            yield f'        printf("{port.spelled}[%ld] = {form}\\n", i, {element});'
            continue
        if port.spelled in shapes:
            shape = shapes[port.spelled]
            whole, valid = _longs(port.tensor.shape), _longs(shape)
            yield (
                f"    clear_beyond(output_{port.spelled}, sizeof output_{port.spelled}[0], "
                f"{len(shape)}, {whole}, {valid});"
            )
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


def _longs(numbers: Sequence[int]) -> str:
    return f"(const long[]){{{', '.join(map(str, numbers))}}}"


def _read_weights(name: str) -> Iterator[str]:
    yield f'    FILE *file = fopen("{name}_weights.bin", "rb");'
    yield ""
    yield (
        f"    if (!file || fread(aligned(weights), 1, {name.upper()}_WEIGHT_BYTES, file) "
        f"!= {name.upper()}_WEIGHT_BYTES) {{"
    )
    yield f'        puts("{name}_weights.bin cannot be read");'
    yield "        return 2;"
    yield "    }"
    yield "    fclose(file);"


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
        yield "        if (size > greatest && size <= DBL_MAX) greatest = size;"
        yield (
            "        if (found[i] == wanted || (found[i] != found[i] && wanted != wanted)) "
            "continue;"
        )
        yield "        if (error < 0) error = -error;"
        yield "        /* An error that is no number is greater than all others. */"
        yield "        if (worst == worst && !(error <= worst)) worst = error;"
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
