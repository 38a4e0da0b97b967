"""The instructions of a processor beside an accelerator: `python -m
tandem.scripts.bench.processor_share [MODEL]`.

The network is exported for `rv32im`, built by Debian's GCC and run in QEMU, one instruction at a
time. The accelerator is an array of registers that says at once that it is done: what is counted is
the rest of a run, from inputs in RAM to outputs in RAM, the first run aside.
"""

from __future__ import annotations

import subprocess
import sys
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import tandem
from tandem.hw.config import HardwareConfig
from tandem.hw.registers import Status, registers_of
from tandem.scripts.bench.measurements import Measurement, print_measurements
from tandem.workbench.export import Exported

_COMPILER: Final = ("riscv64-unknown-elf-gcc", "--specs=picolibc.specs", "-march=rv32im")
_FLAGS: Final = (
    *("-mabi=ilp32", "-std=c11", "-O2", "-nostartfiles"),
    *("-Wl,--defsym=__flash=0x10000", "-Wl,--defsym=__flash_size=0x1000000"),
    *("-Wl,--defsym=__ram=0x2000000", "-Wl,--defsym=__ram_size=0x4000000"),
)
_START: Final = r"""__asm__(".globl _start\n_start:\n.option push\n.option norelax\n"
    "la gp, __global_pointer$\n.option pop\nandi sp, sp, -16\ncall begin\n");"""
_MACHINE: Final = "small8-x"
_CYCLES: Final = {"float32": 7300, "int8": 2000}
"""Of a VexRiscv, which are aimed at for `digits`: an instruction takes one or more."""
_MEMORY_ADDRESS: Final = 4096


def counted(exported: Exported) -> Counter[str]:
    """The instructions of a run by function."""
    header, folder = exported.header, exported.folder
    assert header.config is not None, "exported with an accelerator"
    (folder / "count.c").write_text("\n".join(_program(exported, header.config)) + "\n")
    sources = ["count.c", f"{header.name}.c", "tandem.c", "tandem_bare.c", "check.S"]
    sources += exported.sources
    objects = [name for name in exported.files if name.endswith(".o")]
    command = [*_COMPILER, *_FLAGS, "-o", "count", *sources, *objects]
    subprocess.run(command, cwd=folder, check=True)
    options = ["-singlestep", "-d", "exec,nochain", "-D", "log"]
    run = ["qemu-riscv32", "-cpu", "rv32,c=false", *options, "./count"]
    subprocess.run(run, cwd=folder, check=True)
    table = ["riscv64-unknown-elf-nm", "count"]
    done = subprocess.run(table, cwd=folder, check=True, capture_output=True, text=True)
    rows = (line.split() for line in done.stdout.splitlines())
    names = sorted((int(address, 16), name) for address, kind, name in rows if kind in "tTW")
    return _by_function(folder / "log", names)


def _program(exported: Exported, config: HardwareConfig) -> Iterator[str]:
    """The lines of a program that runs the network twice."""
    header = exported.header
    name, upper = header.name, header.name.upper()
    registers = {each.name: each for each in registers_of(config.features)}
    yield f'#include "{name}.h"'
    yield '#include "tandem_bare.h"'
    yield "extern const unsigned char check_bytes[];"
    yield f"static _Alignas(4096) unsigned char memory[{upper}_MEMORY_BYTES];"
    yield "static volatile uint32_t registers[1024];"
    for what in ("ARENA", "WORKSPACE"):
        yield f"static _Alignas(64) unsigned char {what.lower()}[{upper}_{what}_BYTES + 1];"
    for port in header.outputs:
        yield f"static _Alignas(64) unsigned char out_{port.spelled}[{port.tensor.bytes}];"
    yield '__attribute__((noinline)) void mark(void) { __asm__ volatile("" ::: "memory"); }'
    yield _START
    yield "void begin(void);"
    yield "void begin(void)"
    yield "{"
    yield "    static struct tandem machine;"
    yield "    static struct tandem_bare board;"
    yield f"    static struct {name} network;"
    yield f"    static struct {name}_inputs inputs;"
    yield f"    static struct {name}_outputs outputs;"
    yield '    register long a0 __asm__("a0"), a7 __asm__("a7");'
    for register in registers.values():
        if register.constant:
            for _, offset, lsb in register.words:
                word = register.value(config) >> lsb & 0xFFFF_FFFF
                yield f"    registers[{offset // 4}] = {word}u;"
    yield f"    registers[{registers['status'].offset // 4}] = {int(Status.DONE)};"
    at = 0
    for port in header.inputs:
        yield f"    inputs.{port.spelled} = (const void *)(check_bytes + {at});"
        at += -(-port.tensor.bytes // 64) * 64
    for port in header.outputs:
        yield f"    outputs.{port.spelled} = (void *)out_{port.spelled};"
    yield "    board.registers = registers;"
    yield "    board.memory = memory;"
    yield "    board.bytes = sizeof memory;"
    yield f"    board.address = {_MEMORY_ADDRESS};"
    yield "    int failed = tandem_open(&machine, tandem_bare(&board))"
    yield f"        || {name}_open(&network, &machine);"
    for _ in range(2):
        yield f"    failed = failed || {name}_run(&network, &inputs, &outputs, arena, workspace);"
        yield "    mark();"
    yield "    a0 = failed, a7 = 93; /* exit */"
    yield '    __asm__ volatile("ecall" : : "r"(a0), "r"(a7));'
    yield "}"


def _by_function(log: Path, names: Sequence[tuple[int, str]]) -> Counter[str]:
    """The instructions between the two marks of QEMU's log."""
    starts = [address for address, _ in names]
    found: Counter[str] = Counter()
    marks = 0
    with log.open() as lines:
        for line in lines:
            if not line.startswith("Trace"):
                continue
            function = names[bisect_right(starts, int(line.split("/")[1], 16)) - 1]
            marks += function[1] == "mark" and int(line.split("/")[1], 16) == function[0]
            if marks == 1 and function[1] != "mark":
                found[function[1]] += 1
    assert marks == 2, "the program marks the end of both runs"
    return found


def measure(model: str) -> Iterator[Measurement]:
    """The instructions of a run, and those of each function."""
    for io, most in _CYCLES.items():
        artifact = tandem.compile(model, _MACHINE, processor=tandem.Cpu("rv32im"), io=io)
        with TemporaryDirectory() as folder:
            found = counted(artifact.export(Path(folder) / "library", name="network"))
        label = f"{model}, {io} in and out"
        yield Measurement(label, found.total(), "instructions", most, at_most=True)
        for function, count in found.most_common():
            yield Measurement(f"  {function}", count, "instructions")


def main() -> int:
    """The command; gives its exit code."""
    model = sys.argv[1] if len(sys.argv) > 1 else "digits"
    return print_measurements(measure(model))


if __name__ == "__main__":
    sys.exit(main())
