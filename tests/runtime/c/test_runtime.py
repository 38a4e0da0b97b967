"""The C runtime on simulated machines: what it refuses, what stops it, and that it goes on."""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path
from zlib import crc32

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.faults import Fault
from tandem.hw.memory_model import DEFAULT_MEMORY
from tandem.hw.registers import NO_INSTRUCTION
from tandem.sim.driven.bench import BenchMachine
from tandem.sim.driven.machine import DrivenMachine
from tandem.sim.driven.registers import EngineMachine
from tandem.sim.engine import Channel, Silence
from tandem.sim.engines import make_engine
from tandem.workbench.export.stream_file import head_bytes, pack, segments_of
from tests.support.runtime.c_runtime import FLAGS, SOURCES, Outcome, Runtime, compile_runtime
from tests.support.sim.faulty import Case, cases, image
from tests.support.sim.programs import random_program

FIRST = 0x40000
"""Where memory of the runtime begins: programs are moved."""
BYTES = 1 << 21
TINY = load_config("tiny")
OUTCOMES = {
    Fault.DEADLOCK: Outcome.DEADLOCK,
    Fault.BUS_READ: Outcome.BUS_FAULT,
    Fault.BUS_WRITE: Outcome.BUS_FAULT,
    Fault.BUS_TIMEOUT: Outcome.BUS_TIMEOUT,
}


def memory() -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    """Memory with a pattern in it, which no program may take for zeros."""
    return np.full(BYTES, 0xA5, np.uint8)


def machine(
    engine: str, config: HardwareConfig = TINY, refused: tuple[tuple[int, int], ...] = ()
) -> DrivenMachine:
    if engine == "rtl":
        return BenchMachine(config, memory(), DEFAULT_MEMORY, refused=refused)
    return EngineMachine(make_engine(engine, config), memory(), refused=refused)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_runtime(tmp_path_factory.mktemp("runtime"), TINY)


def opened(library: Path, driven: DrivenMachine) -> Runtime:
    runtime = Runtime(library, driven, first=FIRST)
    assert runtime.open() is Outcome.OK
    return runtime


def check_program(runtime: Runtime, driven: DrivenMachine, seed: int) -> None:
    """A random program is loaded, runs, and leaves in memory what it should."""
    made = random_program(TINY, seed, 60)
    found, stream = runtime.load(pack(made.program, made.image)[0])
    assert found is Outcome.OK
    assert runtime.run(stream) is Outcome.OK
    begin = stream.address
    assert (driven.memory[begin : begin + made.image.size] == made.expected).all()


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_it_compiles_without_warnings(tmp_path: Path, compiler: str) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    compile_runtime(tmp_path, TINY, compiler)
    for name in ("tandem_bare", "tandem_uio"):
        command = [compiler, *FLAGS, "-Werror", "-c", "-o", str(tmp_path / f"{name}.o")]
        subprocess.run([*command, str(SOURCES / f"{name}.c")], check=True)


def test_cppcheck_finds_nothing(tmp_path: Path) -> None:
    if shutil.which("cppcheck") is None:
        pytest.skip("cppcheck is not installed")
    compile_runtime(tmp_path, TINY)
    what = "--enable=warning,style,performance,portability"
    command = ["cppcheck", "-q", what, "--inconclusive", "--std=c99", "--error-exitcode=1"]
    command += ["-I", str(tmp_path), "-I", str(SOURCES), *map(str, sorted(SOURCES.glob("*.c")))]
    done = subprocess.run(command, capture_output=True, text=True)
    assert not done.returncode, done.stderr


def test_it_needs_memcpy_alone(library: Path) -> None:
    done = subprocess.run(["nm", "-D", "-u", str(library)], capture_output=True, text=True)
    needed = {line.split()[-1].partition("@")[0] for line in done.stdout.splitlines()}
    assert {name for name in needed if not name.startswith(("_", "__"))} <= {"memcpy", "memset"}


@pytest.mark.parametrize("engine", ["functional", "cycle", "rtl"])
@pytest.mark.parametrize("interrupt", [True, False])
def test_programs(library: Path, engine: str, interrupt: bool) -> None:
    driven = machine(engine)
    runtime = Runtime(library, driven, first=FIRST, interrupt=interrupt)
    assert runtime.open() is Outcome.OK
    for seed in range(2):
        check_program(runtime, driven, seed)
    assert (runtime.cycles() > 0) is (engine != "functional")
    driven.close()


@pytest.mark.parametrize("engine", ["cycle", "rtl"])
def test_faults(library: Path, engine: str) -> None:
    """Of every kind; each is told with its code and instruction, and the next program is right."""
    for number, case in enumerate(cases(TINY)):
        refused = tuple((first + FIRST, end + FIRST) for first, end in case.bus_errors)
        driven = machine(engine, refused=refused)
        runtime = opened(library, driven)
        check_fault(runtime, case)
        # In memory before what is refused.
        runtime.platform.next = 0
        check_program(runtime, driven, number)
        driven.close()


def check_fault(runtime: Runtime, case: Case) -> None:
    found, stream = runtime.load(pack(case.program, image())[0])
    assert found is Outcome.OK
    outcome = runtime.run(stream)
    fault = runtime.machine.fault
    assert outcome is OUTCOMES.get(case.fault, Outcome.PROGRAM_FAULT), case.name
    assert fault.code == case.fault, case.name
    wanted = NO_INSTRUCTION if case.instruction is None else case.instruction
    assert fault.instruction == wanted, case.name


def test_a_bus_that_hangs(library: Path) -> None:
    """For ever; the runtime's limit of cycles ends it, with the address, and resets work."""
    silence = Silence(Channel.R, 0, 1 << 40)
    driven = BenchMachine(TINY, memory(), DEFAULT_MEMORY, silence=silence)
    runtime = opened(library, driven)
    made = random_program(TINY, 0, 60)
    _, stream = runtime.load(pack(made.program, made.image)[0])
    assert runtime.run(stream) is Outcome.BUS_TIMEOUT
    assert runtime.machine.fault.address == stream.address + stream.program
    driven.close()


def test_a_run_that_is_late_is_stopped(library: Path) -> None:
    driven = machine("rtl")
    runtime = opened(library, driven)
    made = random_program(TINY, 1, 2000)
    _, stream = runtime.load(pack(made.program, made.image)[0])
    assert runtime.start(stream) is Outcome.OK
    assert runtime.start(stream) is Outcome.BUSY
    assert runtime.wait(5) is Outcome.LATE
    check_program(runtime, driven, 3)
    driven.close()


def test_another_machine(library: Path, tmp_path: Path) -> None:
    made = random_program(TINY, 0, 20)
    file = pack(made.program, made.image)[0]
    for name in ("tiny-x", "small8", "pynq"):
        runtime = opened(library, machine("functional", load_config(name)))
        assert runtime.load(file)[0] is Outcome.WRONG_MACHINE
    driven = machine("functional")
    assert isinstance(driven, EngineMachine)
    driven.write(0x000, 0)
    assert Runtime(library, driven).open() is Outcome.ABSENT
    driven = machine("functional")
    driven.write(0x004, 0x0002_0000)
    assert Runtime(library, driven).open() is Outcome.WRONG_VERSION
    driven.write(0x004, 0x0001_FFFF)  # Additions that old drivers need not know.
    assert Runtime(library, driven).open() is Outcome.OK


def test_no_memory(library: Path) -> None:
    made = random_program(TINY, 0, 20)
    file = pack(made.program, made.image)[0]
    runtime = Runtime(library, machine("functional"), first=BYTES - 4096)
    assert runtime.open() is Outcome.OK
    assert runtime.load(file)[0] is Outcome.NO_MEMORY
    # Addresses that the machine does not have.
    runtime = opened(library, machine("functional", TINY.replace(address_bits=16)))
    made = random_program(TINY.replace(address_bits=16), 0, 20)
    file = pack(made.program, made.image)[0]
    assert runtime.load(file)[0] is Outcome.NO_MEMORY


@given(data=st.data())
def test_damaged_files(library: Path, data: st.DataObject) -> None:
    """Cut off anywhere, or with a bit changed anywhere: never taken, and never read beyond."""
    made = random_program(TINY, 0, 20)
    file = pack(made.program, made.image)[0]
    runtime = opened(library, machine("functional"))
    length = data.draw(st.integers(0, len(file) - 1))
    assert runtime.load(file[:length])[0] is Outcome.DAMAGED_FILE
    damaged = bytearray(file)
    place = data.draw(st.integers(0, len(file) - 1) | st.integers(0, 39))
    damaged[place] ^= 1 << data.draw(st.integers(0, 7))
    wanted = Outcome.WRONG_FILE if place < 8 else Outcome.DAMAGED_FILE
    assert runtime.load(bytes(damaged))[0] is wanted
    assert runtime.load(file)[0] is Outcome.OK


def test_segments_lie_in_order(library: Path) -> None:
    """Also of a file with the right checksum: what is between two segments is filled with zeros."""
    made = random_program(TINY, 0, 20)
    image = np.zeros(4096, np.uint8)
    image[[8, 3000]] = 1
    file = bytearray(pack(made.program, image)[0])
    checks, bases, segments = struct.unpack_from("<3I", file, 28)
    assert segments == 3
    at = 40 + 8 * checks + 4 * bases
    runtime = opened(library, machine("functional"))
    for first, wanted in ((2992, Outcome.OK), (2993, Outcome.DAMAGED_FILE)):
        struct.pack_into("<4I", file, at, first, 8, 3000, 8)
        struct.pack_into("<I", file, 12, crc32(file[16:]))
        assert runtime.load(bytes(file))[0] is wanted


def test_checksums_can_be_left_out(tmp_path: Path) -> None:
    """A file that is cut off is refused all the same."""
    made = random_program(TINY, 0, 20)
    file = bytearray(pack(made.program, made.image)[0])
    file[12] ^= 1
    plain = compile_runtime(tmp_path, TINY, "cc", "TANDEM_CHECKSUM=0")
    runtime = opened(plain, machine("functional"))
    assert runtime.load(bytes(file))[0] is Outcome.OK
    assert runtime.load(bytes(file[:-1]))[0] is Outcome.DAMAGED_FILE
    struct.pack_into("<I", file, 16, 0)
    assert runtime.load(bytes(file))[0] is Outcome.DAMAGED_FILE


@pytest.mark.parametrize("engine", ["functional", "rtl"])
def test_segments_that_lie_in_memory_already(tmp_path: Path, engine: str) -> None:
    """The file ends with its lists; what lies between segments is cleared as ever."""
    library = compile_runtime(tmp_path, TINY, "cc", "TANDEM_PLACED=1")
    driven = machine(engine)
    made = random_program(TINY, 0, 60)
    file = pack(made.program, made.image)[0]
    for at, part in segments_of(file):
        driven.memory[FIRST + at : FIRST + at + len(part)] = np.frombuffer(part, np.uint8)
    runtime = opened(library, driven)
    found, stream = runtime.load(file[: head_bytes(file)], len(file))
    assert (found, stream.address) == (Outcome.OK, FIRST)
    assert runtime.run(stream) is Outcome.OK
    assert (driven.memory[FIRST : FIRST + made.image.size] == made.expected).all()
    assert runtime.load(file[: head_bytes(file)], len(file) - 1)[0] is Outcome.DAMAGED_FILE


def test_every_result_has_words(library: Path) -> None:
    runtime = opened(library, machine("functional"))
    texts = [runtime.text(outcome) for outcome in Outcome]
    assert len({*texts}) == len(Outcome)
    assert runtime.text(len(Outcome)) == "an unknown result"


def test_an_exception_of_the_machine_is_raised_here(library: Path) -> None:
    """C cannot carry it: the run ends, and the caller gets it."""
    driven = machine("functional")
    runtime = opened(library, driven)
    made = random_program(TINY, 0, 20)
    _, stream = runtime.load(pack(made.program, made.image)[0])

    def interrupted(offset: int, value: int) -> None:
        raise KeyboardInterrupt

    driven.write = interrupted  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        runtime.run(stream)
