from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.compiler.machines.accelerator.lower import Stream
from tandem.compiler.machines.accelerator.target import TEMPLATES
from tandem.compiler.machines.accelerator.templates.conv2d_max_pool import PooledWorkload
from tandem.compiler.machines.accelerator.templates.conv2d_workload import Conv2dWorkload
from tandem.compiler.machines.accelerator.templates.elementwise import ElementwiseWorkload
from tandem.compiler.machines.accelerator.templates.global_average_pool import GlobalPoolWorkload
from tandem.compiler.machines.accelerator.templates.max_pool import MaxPoolWorkload
from tandem.compiler.machines.accelerator.templates.template import AcceleratorTemplate
from tandem.compiler.machines.accelerator.templates.work_counts import (
    TransferCounts,
    WorkCounts,
    kernel_length,
    loads_of_box,
    thread_redundancy,
    tile_shapes,
    transfers_of,
)
from tandem.compiler.operators.window import Window
from tandem.compiler.plan.space import Ints
from tandem.compiler.te.knobs import Choice
from tandem.hw.encoding import Opcode
from tandem.hw.isa import Program
from tandem.hw.isa.work import work_of
from tandem.hw.topology import MemoryId
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import (
    CONFIGS,
    EXTENDED,
    machine,
)
from tests.support.compiler.machines.accelerator.templates.random_choices import Drawn, drawn

MOVED = {
    MemoryId.INP: Opcode.LOAD,
    MemoryId.WGT: Opcode.LOAD,
    MemoryId.ACC: Opcode.LOAD,
    MemoryId.ACC_8BIT: Opcode.LOAD,
    MemoryId.OUT: Opcode.STORE,
    MemoryId.PAR: Opcode.LOAD,
}


# A program and what was counted of it ---------------------------------------------------------


def check(template: AcceleratorTemplate[Any], seed: int, config: str) -> None:
    """Compile one choice and compare its instructions with the count."""
    found = drawn(template, seed, machine(config), 1)
    choice = found.choices.choice(0)
    predicted, stream = template.work_counts(found.workload, found.choices), found.stream(choice)
    work = work_of(stream.program)
    if isinstance(found.workload, PooledWorkload):
        check_joined(found, predicted, stream)
        return
    for memory, code in MOVED.items():
        elements, instructions = copied(stream, memory, code)
        # Shares of tiles are fractions that add up to whole numbers.
        moved, counted = (round(each, 6) for each in moved_of(predicted, memory))
        if memory is MemoryId.INP and found.loads_next_group(choice):
            # What nobody reads is left out where it is a LOAD of its own.
            assert moved / 2 <= elements <= moved, choice
            continue
        # Elements that cross the bus are exact, whatever is padded.
        assert elements == moved, (memory, choice)
        if memory is MemoryId.INP and not even(found, choice):
            assert instructions >= counted, choice
        elif memory is MemoryId.ACC_8BIT and padded(found):
            # Reaches that padding cuts may lie together, and are one LOAD then (of 1,700 drawn
            # choices ten had less than half as many, the fewest a quarter).
            assert counted / 6 <= instructions <= counted * 2, choice
        elif pooled(found, memory) and not even(found, choice):
            assert instructions >= counted, choice
        else:
            assert instructions == counted, (memory, choice)
    assert work.gemm_uops == predicted.products
    assert work.reset_uops == predicted.resets
    assert work.alu_uops == predicted.immediate + predicted.tensor
    check_instructions(found, choice, predicted, stream.program)


def check_joined(found: Drawn, predicted: WorkCounts, stream: Stream) -> None:
    """Of maxima of sums: all results are stored and all products are counted. How much of the
    image is loaded and reset, and which tiles fill up or stay, windows at the edge change."""
    work, choice = work_of(stream.program), found.choices.choice(0)
    assert copied(stream, MemoryId.OUT, Opcode.STORE)[0] == moved_of(predicted, MemoryId.OUT)[0]
    assert work.gemm_uops == predicted.products, choice
    counted = predicted.immediate + predicted.tensor + predicted.inputs
    assert counted <= 2 * work.alu_uops <= 4 * counted, choice
    # Where windows at the edge are of other sizes, an image that was to stay is loaded for each
    # tile of channels.
    tiles = -(-found.workload.conv.weight[0] // choice["oc"])
    for memory, factor in ((MemoryId.INP, max(2, tiles)), (MemoryId.WGT, 2)):
        elements, _ = copied(stream, memory, Opcode.LOAD)
        assert elements <= factor * moved_of(predicted, memory)[0], (memory, choice)


def moved_of(work: WorkCounts, memory: MemoryId) -> tuple[float, float]:
    """Elements and instructions that are counted of a memory."""
    parts = [each for each in work.copies if each.memory is memory]
    elements, instructions = (
        float(sum(np.sum(getattr(each, name)) for each in parts))
        for name in ("elements", "instructions")
    )
    return elements, instructions


def check_features(template: AcceleratorTemplate[Any], seed: int, config: str) -> None:
    """What machines with features do: exactly as many products, operations of the ALU and copied
    elements as are counted, and no more resets."""
    found = drawn(template, seed, machine(config), 1)
    choice = found.choices.choice(0)
    predicted, stream = template.work_counts(found.workload, found.choices), found.stream(choice)
    work = work_of(stream.program)
    if isinstance(found.workload, PooledWorkload):
        check_joined(found, predicted, stream)
        return
    for memory, code in MOVED.items():
        elements, _ = copied(stream, memory, code)
        moved, _ = moved_of(predicted, memory)
        if memory is MemoryId.INP and found.loads_next_group(choice):
            continue
        assert elements == moved, (memory, choice)
    assert work.gemm_uops == predicted.products
    assert work.reset_uops <= predicted.resets
    counted = predicted.immediate + predicted.tensor + predicted.inputs
    # Where no tap of a maximum has all outputs of a tile, the tile is filled first.
    # Where the last operation over several blocks has no loop left for their parameters, a pass
    # stays.
    more: float = 0
    if isinstance(found.workload, ElementwiseWorkload):
        more = prod(found.workload.data[:4])
    elif isinstance(found.workload, GlobalPoolWorkload):
        more = prod(found.workload.data[:2])
    elif isinstance(found.workload, MaxPoolWorkload) and padded(found):
        shared = thread_redundancy(found.choices, found.workload.extents).item()
        more = prod(found.workload.extents.values()) * found.workload.data[0] * shared
    assert counted <= work.alu_uops <= counted + more, choice


def check_instructions(found: Drawn, choice: Choice, work: WorkCounts, program: Program) -> None:
    """How many GEMM and ALU instructions there are, and how long their kernels may be."""
    instructions, columns = work_of(program).instructions, program.columns()
    assert instructions[Opcode.GEMM] == work.gemms, choice
    if isinstance(found.workload, MaxPoolWorkload) and padded(found):
        taps = prod(each.kernel for each in found.workload.windows)
        assert work.alus <= instructions[Opcode.ALU] <= work.alus * taps
    else:
        assert instructions[Opcode.ALU] == work.alus, choice
    computes = (columns.opcode == Opcode.GEMM) | (columns.opcode == Opcode.ALU)
    assert (columns.uop_end - columns.uop_bgn)[computes].max(initial=0) <= work.kernel


def copied(stream: Stream, memory: MemoryId, code: Opcode) -> tuple[int, int]:
    """Elements that copy a tensor, without those from the page of zeros, and all instructions."""
    columns = stream.program.columns()
    zeros = min(stream.constants) // stream.target.config.element_bytes(memory)
    rows = (columns.opcode == code) & (columns.memory_type == memory)
    elements = (columns.y_size * columns.x_size)[rows & (columns.dram_base != zeros)]
    return int(elements.sum()), int(np.count_nonzero(rows))


def demanded(found: Drawn, memory: MemoryId) -> list[TransferCounts]:
    """What is counted of copies of a memory."""
    work = found.template.work_counts(found.workload, found.choices)
    return [each for each in work.copies if each.memory is memory]


def windows(found: Drawn) -> tuple[Window, ...]:
    """Along y and x, where the template has some."""
    known: tuple[Window, ...] = ()
    if isinstance(found.workload, Conv2dWorkload | MaxPoolWorkload):
        known = found.workload.windows
    return known


def padded(found: Drawn) -> bool:
    """Whether windows may see padding, or reach over it."""
    return any(each.before or each.after or each.overhang for each in windows(found))


def pooled(found: Drawn, memory: MemoryId) -> bool:
    """Whether a memory has the image of a maximum over windows."""
    return memory is MemoryId.ACC_8BIT and isinstance(found.workload, MaxPoolWorkload)


def even(found: Drawn, choice: Choice) -> bool:
    """Whether all tiles are alike along the windows' axes, and nothing is padded."""
    counts = {axis: each.count for axis, each in zip("yx", windows(found), strict=False)}
    return not padded(found) and all(
        count % int(choice[axis]) == 0 for axis, count in counts.items()
    )


@pytest.mark.every(2)
@pytest.mark.parametrize("template", TEMPLATES, ids=lambda template: template.name)
@settings(max_examples=6)
@given(seed=st.integers(0, 2**32 - 1), config=st.sampled_from(CONFIGS))
def test_programs_do_what_was_counted(
    template: AcceleratorTemplate[Any], seed: int, config: str
) -> None:
    check(template, seed, config)


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda template: template.name)
@settings(max_examples=6)
@given(seed=st.integers(0, 2**32 - 1), config=st.sampled_from(EXTENDED))
def test_programs_of_machines_with_features_do_what_was_counted(
    template: AcceleratorTemplate[Any], seed: int, config: str
) -> None:
    check_features(template, seed, config)


@pytest.mark.parametrize(
    ("name", "seed", "config"),
    [
        *(("conv2d", 544, "tall"), ("conv2d", 15745, "block4")),
        *(("max_pool", 2769, "extended"), ("max_pool", 436013648, "wide_bus")),
        ("global_average_pool", 77485, "extended"),
        *(("matmul", 2991100305, "batch2"), ("matmul", 3060017014, "wide_bus")),
    ],
)
def test_rare_programs(name: str, seed: int, config: str) -> None:
    """Tiles of a strided 1x1 convolution that are as high as the image; a tile for two threads; a
    last tile that loads rows which no window sees; a sum over steps of both axes, whose last step
    cannot requantise two blocks; parts of the depth of one of several products."""
    (template,) = (each for each in TEMPLATES if each.name == name)
    (check_features if config in EXTENDED else check)(template, seed, config)


def test_a_last_step_that_goes_on_into_the_next_group() -> None:
    """Without padding its channels are one LOAD with the others, all of which cross the bus."""
    (conv2d,) = (each for each in TEMPLATES if each.name == "conv2d")
    found = drawn(conv2d, 320485, machine("batch2"), 1)
    choice, (image,) = found.choices.choice(0), demanded(found, MemoryId.INP)
    assert found.loads_next_group(choice)
    elements, instructions = copied(found.stream(choice), MemoryId.INP, Opcode.LOAD)
    assert (elements, instructions) == (image.elements.item(), image.instructions.item())


@pytest.mark.exhaustive
@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize("template", TEMPLATES, ids=lambda template: template.name)
def test_programs_do_what_was_counted_more(template: AcceleratorTemplate[Any], config: str) -> None:
    for seed in range(40):
        check(template, seed, config)


# Parts --------------------------------------------------------------------------------


def numbers(*values: int) -> Ints:
    return np.array(values, np.int64)


def test_tiles_of_two_sizes() -> None:
    shapes = {
        (int(a[0]), int(b[0])): int(count[0])
        for count, (a, b) in tile_shapes((7, 4), (numbers(3), numbers(2)))
        if count[0]
    }
    assert shapes == {(3, 2): 4, (1, 2): 2}


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=4))
def test_tiles_cover_everything_once(axes: list[tuple[int, int]]) -> None:
    extents = [extent for extent, _ in axes]
    parts = tile_shapes(extents, [numbers(min(size, extent)) for extent, size in axes])
    assert sum(int(count[0]) * prod(int(each[0]) for each in box) for count, box in parts) == prod(
        extents
    )


@pytest.mark.parametrize(
    ("box", "chip", "instructions", "bursts"),
    [
        ((2, 3, 8), None, 1, 2),  # Whole rows lie together: a rectangle of blocks.
        ((2, 3, 5), None, 2, 6),  # Parts of rows: one for each block.
        ((2, 10, 8), None, 1, 1),  # Whole blocks are one row.
        ((2, 1, 5), None, 1, 2),
        ((2, 3, 1), None, 2, 6),
        ((2, 2, 8), (2, 3, 8), 2, 2),  # Blocks have gaps between them on chip.
    ],
)
def test_copies_of_a_box(
    box: tuple[int, ...], chip: tuple[int, ...] | None, instructions: int, bursts: int
) -> None:
    boxes = [(numbers(7), tuple(numbers(each) for each in box))]
    sizes = None if chip is None else tuple(numbers(each) for each in chip)
    found = transfers_of(MemoryId.INP, boxes, (4, 10, 8), sizes)
    assert found.elements == 7 * prod(box)
    assert found.instructions == 7 * instructions
    assert found.bursts == 7 * bursts


def test_a_kernel_is_what_two_loops_leave() -> None:
    np.testing.assert_array_equal(kernel_length(numbers(2, 4), numbers(3, 3), 5, 2), [4, 6])


@pytest.mark.parametrize(
    ("box", "loads"),
    [
        # Rows of a part of an image's width: a LOAD has two axes.
        ((32, 3, 5), 32),
        ((32, 1, 5), 1),
        ((32, 3, 14), 1),
        ((1, 3, 5), 1),
        ((64, 14, 14), 1),
    ],
)
def test_loads_of_a_part_of_an_image(box: tuple[int, ...], loads: int) -> None:
    assert loads_of_box(box, (64, 14, 14)) == loads
