from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tandem.compiler.errors import CapacityError, LoweringError
from tandem.compiler.ir import interpreter
from tandem.compiler.ir.parser import parse
from tandem.compiler.machines.accelerator.lower.commands import (
    ZEROS,
    Command,
    Commands,
    Compute,
    Copy,
)
from tandem.compiler.machines.accelerator.lower.elaborate import elaborate
from tandem.compiler.machines.accelerator.lower.onchip import ChipMemory
from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.hw.features import Feature
from tests.support.compiler.machines.accelerator.lower.command_machine import CommandMachine
from tests.support.compiler.machines.accelerator.lower.invocations import INTRINSICS, TARGET, TINY

DRAM = {"S": 64, "T": 128, "D": 256, ZEROS: 512}


def elaborated(program: str, *, from_top: bool = False) -> Commands:
    function = parse(program, INTRINSICS)
    return elaborate(function, TARGET, ChipMemory(TINY, from_top), zero_bytes=48)


def absolute(command: Command) -> Command:
    if not isinstance(command, Copy):
        return command
    base = DRAM[command.tensor or ""] // TINY.element_bytes(command.memory)
    return replace(command, dram=command.dram + base)


def commands(program: str, *, from_top: bool = False) -> list[Command]:
    return [absolute(each) for each in elaborated(program, from_top=from_top)]


PROGRAM = """
func f(S: int8[6, 1, 4]) -> (D: int8[6, 1, 4]):
  for p in 3:
    alloc a: int32[2, 1, 4] @ acc
    for i in 2:
      for l in 4:
        a[i, 0, l] = int32(S[2 * p + i, 0, l])
    for q in {iterations}:
      if {guard}:
        alloc b: int32[2, 1, 4] @ acc
        for j in 2:
          invoke alu_max_imm_m7(a[j :+ 1, 0 :+ 1, 0 :+ 4], b[j :+ 1, 0 :+ 1, 0 :+ 4])
        for k in 2:
          invoke alu_mul(a[k :+ 1, 0 :+ 1, 0 :+ 4], b[k :+ 1, 0 :+ 1, 0 :+ 4], \
a[k :+ 1, 0 :+ 1, 0 :+ 4])
    for m in 2:
      for n in 4:
        D[2 * p + m, 0, n] = int8(a[m, 0, n])
"""


@pytest.mark.parametrize("from_top", [False, True])
@pytest.mark.parametrize("iterations", ["p + 1", "2 - p", "3", "1"])
@pytest.mark.parametrize("guard", ["q < 2", "p + q != 2", "(q % 2 == 0) | (p < 1)"])
def test_commands_do_what_the_program_does(iterations: str, guard: str, from_top: bool) -> None:
    """Loops of no iterations and conditions of any kind, around instructions."""
    program = PROGRAM.format(iterations=iterations, guard=guard)
    source = np.arange(-12, 12, dtype=np.int8).reshape(6, 1, 4) * 5
    (wanted,) = interpreter.run(parse(program, INTRINSICS), [source])
    memory = np.zeros(1024, np.uint8)
    memory[64:88] = source.view(np.uint8).ravel()
    computer = CommandMachine(TINY, memory)
    computer.run(commands(program, from_top=from_top))
    np.testing.assert_array_equal(computer.dram[256:280].view(np.int8), wanted.ravel())
    computer.dram[256:280] = 0
    np.testing.assert_array_equal(computer.dram, memory)


def _place(stage: str, iterations: tuple[tuple[str, int], ...]) -> str:
    around = ", ".join(f"{name} = {value}" for name, value in iterations)
    return f"{stage} ({around})" if around else stage


def test_each_command_says_what_it_does_and_where_it_comes_from() -> None:
    found = elaborated(PROGRAM.format(iterations="p", guard="q < 1"))
    assert [
        f"{absolute(command)} | {_place(*site)}"
        for command, site in zip(found, found.sites, strict=True)
    ] == [
        "acc_8bit[0 :+ 2] <- dram[16 :+ 2] | a (p = 0)",
        "out[0 :+ 2] -> dram[64 :+ 2] | D (p = 0)",
        *(
            line
            for p, source, result in ((1, 18, 66), (2, 20, 68))
            for line in (
                f"acc_8bit[0 :+ 2] <- dram[{source} :+ 2] | a (p = {p})",
                f"reset 1 x 2 x 1 micro-ops from acc[2] | b (p = {p}, q = 0)",
                f"add 1 x 2 x 1 micro-ops from acc[2], acc[0] | b (p = {p}, q = 0)",
                f"max -7 1 x 2 x 1 micro-ops from acc[2] | b (p = {p}, q = 0)",
                f"mul 1 x 2 x 1 micro-ops from acc[0], acc[2] | a (p = {p}, q = 0)",
                f"out[0 :+ 2] -> dram[{result} :+ 2] | D (p = {p})",
            )
        ),
    ]


def test_a_product_comes_from_the_stage_of_its_sums() -> None:
    """Not from that of the weights, which are its last operand."""
    found = elaborated("""
func f(S: int8[1, 4], T: int8[4, 4]) -> (D: int8[1, 4]):
  alloc weights: int8[4, 4] @ wgt
  alloc image: int8[1, 4] @ inp
  alloc sums: int32[1, 4] @ acc
  for i in 4:
    image[0, i] = S[0, i]
  for j in 4:
    for k in 4:
      weights[j, k] = T[j, k]
  invoke fill_0(sums[0 :+ 1, 0 :+ 4])
  invoke gemm(sums[0 :+ 1, 0 :+ 4], image[0 :+ 1, 0 :+ 4], weights[0 :+ 4, 0 :+ 4])
  for m in 4:
    D[0, m] = int8(sums[0, m])
""")
    assert [stage for stage, _ in found.sites] == ["image", "weights", "sums", "sums", "D"]


ONLY_ZEROS = """
func f() -> (D: int8[1, 4]):
  alloc a: int32[{count}, 1, 4] @ acc
  for i in {count}:
    for l in 4:
      a[i, 0, l] = 0
"""


@pytest.mark.parametrize(
    ("count", "copies"),
    [
        (2, ["acc[0 :+ 2] <- dram[32 :+ 2]"]),
        (3, ["acc[0 :+ 3] <- dram[32 :+ 3]"]),
        (8, ["acc[0 :+ 6] <- dram[32 :+ 3 x 2 by 0]", "acc[6 :+ 2] <- dram[32 :+ 2]"]),
    ],
)
def test_zeros_come_from_a_page_of_them_again_and_again(count: int, copies: list[str]) -> None:
    """48 bytes are three accumulators."""
    found = elaborated(ONLY_ZEROS.format(count=count))
    assert [str(absolute(each)) for each in found] == copies
    assert {stage for stage, _ in found.sites} == {"a"}


def test_padding_around_one_thread_stays_in_its_slice() -> None:
    """Threads' loads of a whole buffer bring zeros for what nobody writes."""
    program = """
func f(S: int8[3, 9, 4]) -> (D: int8[1, 4]):
  alloc a: int8[2, 3, 5, 4] @ inp
  for t in 2 unrolled:
    for y in 3:
      for x in 4:
        for l in 4:
          a[t, y, x + 1, l] = S[y, x, l]
"""
    assert [str(each) for each in commands(program)] == [
        f"inp[{at} :+ 15] <- dram[16 :+ 4 x 3 by 9] pads (0, 0, 1, 0)" for at in (0, 15)
    ]


def refused(message: str, program: str) -> None:
    with pytest.raises(LoweringError, match=message):
        commands(program)


def test_refuses() -> None:
    fine = PROGRAM.format(iterations="p", guard="q < 1")
    for place, scope in (("S: int8[6, 1, 4]", "inp"), ("(D: int8[6, 1, 4]", "imm")):
        program = fine.replace(place, f"{place} @ {scope}")
        what = f"{place.strip('(')[0]} of f lies in {scope}"
        refused(f"^{what}: inputs lie in global or imm, outputs in global$", program)
    refused(
        "^a buffer cannot lie in local of the accelerator: inp, wgt, acc and global are",
        fine.replace("  for p in 3", "  alloc x: int32[4] @ local\n  for p in 3"),
    )
    refused(
        "^an index or condition cannot be .*S.*: it depends on data$",
        fine.replace("q < 1", "S[0, 0, 0] < int8(1)"),
    )
    refused(
        "^D is still a block: lower blocks first$",
        """
func f() -> (D: int8[4]):
  for i in 4:
    block D(spatial l < 4 = i):
      D[l] = int8(1)
""",
    )
    with pytest.raises(CapacityError, match=r"^ACC of tiny has 32 elements; a 2, b 31 are 33: 1 t"):
        commands(fine.replace("b: int32[2", "b: int32[31"))


REDUCTION = """
func f(S: int8[6, 1, 4], T: int8[2, 4, 4]) -> (D: int8[2, 1, 4]):
  alloc a: int8[6, 1, 4] @ inp
  for i in 6:
    for l in 4:
      a[i, 0, l] = S[i, 0, l]
  alloc w: int8[2, 4, 4] @ wgt
  for i1 in 2:
    for l1 in 4:
      for l2 in 4:
        w[i1, l1, l2] = T[i1, l1, l2]
  alloc c: int32[2, 1, 4] @ acc
  for z in 2:
    invoke fill_5(c[z :+ 1, 0 :+ 1, 0 :+ 4])
  for o in 3 unrolled:
    for x in 2:
      for k in 2:
        if {first}:
          invoke fill_{start}(c[{element} :+ 1, 0 :+ 1, 0 :+ 4])
        if {test}:
          invoke gemm(c[x :+ 1, 0 :+ 1, 0 :+ 4], a[o + k + x :+ 1, 0 :+ 1, 0 :+ 4], \
w[k :+ 1, 0 :+ 4, 0 :+ 4])
  for m in 2:
    for n in 4:
      D[m, 0, n] = int8(c[m, 0, n])
"""
FIRST = "(o == 0) & (k == 0)"


def words(found: list[Command]) -> list[str]:
    return [str(each).split()[0] for each in found if isinstance(each, Compute)]


@pytest.mark.parametrize("start", ["0", "5"])
@pytest.mark.parametrize(
    ("first", "element", "test", "made"),
    [
        (FIRST, "x", "True", ["overwrite", "gemm", "gemm", "gemm"]),
        ("2 * o + k == 0", "x", "True", ["overwrite", "gemm", "gemm", "gemm"]),
        # The first product is no accumulator's first one, or there is none.
        (FIRST, "x", "k + o >= 1", ["overwrite", "gemm", "gemm"]),
        (FIRST, "x", "x + k >= 1", ["reset", *["gemm"] * 6]),
        (FIRST, "x", "o >= 1", ["reset", "gemm", "gemm"]),
        # What one iteration after the other has to do.
        ("o == 0", "x", "True", None),
        ("(o == 0) & (k == 1)", "x", "True", None),
        ("(o == 0) & (k + x == 1)", "x", "True", None),
        (FIRST, "1 - x", "True", None),
    ],
)
def test_a_reduction_with_its_initialiser(
    first: str, element: str, test: str, made: list[str] | None, start: str
) -> None:
    """All of an instruction's accumulators are initialised before the first term of any."""
    program = REDUCTION.format(first=first, element=element, test=test, start=start)
    function = parse(program, INTRINSICS)
    rng = np.random.default_rng(7)
    source, weight = (
        rng.integers(-9, 9, shape).astype(np.int8) for shape in ((6, 1, 4), (2, 4, 4))
    )
    (wanted,) = interpreter.run(function, [source, weight])
    features = frozenset({Feature.OVERWRITE})
    for config in (TINY, TINY.replace(name="overwriting", features=features)):
        target = AcceleratorTarget.of(config)
        columns = elaborate(function, target, ChipMemory(config), zero_bytes=48)
        found = [absolute(each) for each in columns]
        memory = np.zeros(1024, np.uint8)
        memory[64:88], memory[128:160] = (
            source.view(np.uint8).ravel(),
            weight.view(np.uint8).ravel(),
        )
        computer = CommandMachine(config, memory)
        computer.run(found)
        np.testing.assert_array_equal(computer.dram[256:264].view(np.int8), wanted.ravel())
        if config is not TINY and start == "0" and made is not None:
            assert words(found) == ["reset", "add", *made]


def test_elements_that_are_initialised_again_are_refused() -> None:
    """Here a sum of neighbours: the second element would lose its first term."""
    program = REDUCTION.format(first=FIRST, element="x", test="True", start="0")
    again = program.replace("c[x :+", "c[(x + o) // 2 :+")
    with pytest.raises(LoweringError, match=r"initialises elements of c more than once$"):
        commands(again)
