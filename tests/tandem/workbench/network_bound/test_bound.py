"""Bounds of whole networks: below exact cycles, and term by term what a network needs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.compiler.graph import Function, Var
from tandem.compiler.machines.accelerator.timed_streams import simplified, timed_streams
from tandem.compiler.machines.cpu.runner import exact_runner
from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.encoding import Opcode
from tandem.hw.isa.element_sizes import element_sizes
from tandem.hw.memory_model import MEMORY_PRESETS, MemoryModel
from tandem.workbench.devices import Accelerator
from tandem.workbench.errors import UntimedError
from tandem.workbench.models import ModelOptions, prepared_network
from tandem.workbench.network_bound import NetworkBound, Resource, Schedules, network_bound
from tandem.workbench.network_bound.bound import bound
from tandem.workbench.network_bound.needs import stream_needs
from tests.support.compiler.plan.quantised_graphs import Net, residual_net
from tests.support.examples import examples

SMALL = load_config("small8")
SHALLOW = SMALL.replace(log_inp_buffer=9, log_acc_buffer=11, name="shallow")
"""Whose memories hold no tensor of a network of 24 x 24 pixels."""
ONE_PORT = SMALL.replace(acc_read_ports=1, name="one-port")


def check(found: NetworkBound) -> None:
    """What holds for all bounds: they are below the cycles, those of more schedules lower."""
    dram, kept, free = (found.bounds[schedules] for schedules in Schedules)
    assert 0 < free <= kept <= dram <= found.cycles
    for whole, parts in (
        (Resource.COMPUTE, (Resource.ARRAY, Resource.ALU)),
        (
            Resource.READS,
            (
                Resource.READ_WEIGHTS,
                Resource.READ_PARAMETERS,
                Resource.READ_INPUTS,
                Resource.READ_BETWEEN,
            ),
        ),
        (Resource.WRITES, (Resource.WRITTEN_OUTPUTS, Resource.WRITTEN_BETWEEN)),
    ):
        least = found.resources[whole]
        terms = [found.resources[part] for part in parts]
        if least.size is None:
            assert least.cycles == sum(term.cycles for term in terms)
        else:
            assert least.size == sum(term.size or 0 for term in terms)
        assert least.cycles <= found.cycles


@examples(6, 60)
@given(
    size=st.sampled_from([8, 16, 24]),
    channels=st.sampled_from([3, 8, 20]),
    config=st.sampled_from([SMALL, SHALLOW, ONE_PORT, *map(load_config, ("small8-x", "tiny-x"))]),
    memory=st.builds(
        MemoryModel, st.sampled_from([1, 16, 64]), st.sampled_from([1, 4, 90]), st.just(16)
    ),
    hiding=st.booleans(),
)
def test_bounds_are_below_the_exact_cycles(
    size: int, channels: int, config: HardwareConfig, memory: MemoryModel, hiding: bool
) -> None:
    device = Accelerator(config, memory, hiding=hiding)
    check(network_bound(residual_net(size, size + channels, channels), device))


@pytest.mark.every(2)
@pytest.mark.parametrize("memory", ["fast", "edge"])
@pytest.mark.parametrize(
    ("model", "config"),
    [
        ("digits", "small8-x"),
        ("mobilenet-v2-tiny", "small8-x"),
        ("vit-tiny", "small8-x"),
        ("dcgan-tiny", "small8"),
    ],
)
def test_bounds_of_built_in_networks(model: str, config: str, memory: str) -> None:
    device = Accelerator(load_config(config), MEMORY_PRESETS[memory])
    check(network_bound(prepared_network(model, ModelOptions()).function, device))


def two_layers() -> Function:
    """6 x 6 pixels of 8 channels: a window of 3 x 3 to 16 channels, and one of 1 x 1 to 8 that
    reads every second pixel of every second row."""
    net = Net()
    x = net.quantise("x8", Var("x"))
    y = net.conv("a", x, (8, 16))
    y = net.conv("b", y, (16, 8), 1, 2, 0)
    return net.function((1, 8, 6, 6), y)


@pytest.mark.parametrize("name", ["small8", "small8-x"])
def test_every_term_of_two_layers_by_hand(name: str) -> None:
    extended = name == "small8-x"
    config, memory = load_config(name), MemoryModel(latency=10, interval=3)
    found = network_bound(two_layers(), Accelerator(config, memory))
    check(found)
    # Blocks of 8 by 8 channels; accumulators are reset unless first products overwrite them.
    products = 36 * 2 * 9 + 9 * 2
    resets = 0 if extended else 36 * 2 + 9
    least = found.resources
    assert least[Resource.ARRAY].cycles == products + resets
    # Without REQUANTISE: maximum, minimum, product, sum and shift of 36 * 2 + 9 accumulators.
    assert least[Resource.ALU].cycles == (0 if extended else 5 * (36 * 2 + 9))
    sizes = {each: part.size for each, part in least.items()}
    assert sizes[Resource.READ_WEIGHTS] == 8 * 16 * 9 + 16 * 8
    assert sizes[Resource.READ_INPUTS] == 36 * 8
    assert sizes[Resource.READ_BETWEEN] == 9 * 16
    assert sizes[Resource.WRITTEN_BETWEEN] == 36 * 16
    assert sizes[Resource.WRITTEN_OUTPUTS] == 9 * 8
    # For each channel a word of 8 bytes in PAR, or four numbers of 4 bytes in ACC.
    assert sizes[Resource.READ_PARAMETERS] == (8 if extended else 16) * (16 + 8)
    assert sizes[Resource.READ_SPILLED] == sizes[Resource.WRITTEN_SPILLED] == 0
    for part in least.values():
        assert part.size is None or part.cycles == -(-part.size // 8) * 3
    read = (sizes[Resource.READS] or 0) - 9 * 16
    assert found.bounds[Schedules.ANY] == 3 * 10 + max(
        least[Resource.COMPUTE].cycles, (read // 8 - 1) * 3, (72 // 8 - 1) * 3
    )


def test_what_cannot_stay_on_chip_is_what_the_memories_do_not_hold() -> None:
    net = Net()
    x = net.quantise("x8", Var("x"))
    y = net.conv("b", net.conv("a", x, (8, 8)), (8, 8))
    function = net.function((1, 8, 64, 64), y)
    # A memory so slow that the bus decides.
    found = network_bound(function, Accelerator(SHALLOW, MemoryModel(latency=16, interval=100)))
    check(found)
    # Bytes of INP, WGT, ACC and OUT; beats of both read buffers and in front of the bus.
    chip = 512 + 4096 + 2048 + 512 + 8 * (256 + 256 + 4)
    assert found.resources[Resource.WRITTEN_SPILLED].size == 64 * 64 * 8 - chip
    assert found.resources[Resource.READ_SPILLED].size == 64 * 64 * 8 - chip
    assert found.bounds[Schedules.ANY] < found.bounds[Schedules.KEPT]


@pytest.mark.parametrize("config", [SMALL, ONE_PORT, load_config("small8-x")], ids=lambda c: c.name)
def test_no_layer_needs_more_than_its_instructions_do(config: HardwareConfig) -> None:
    """And layers are computed in their order."""
    target = Accelerator(config, MEMORY_PRESETS["fast"]).target()
    (stream,) = timed_streams(simplified(residual_net(24, 1, 16), exact_runner()), target)
    columns, layer = stream.stream.program.columns(), stream.stream.operator_of
    uops = (columns.uop_end - columns.uop_bgn) * columns.iter_out * columns.iter_in
    moved = columns.y_size * columns.x_size * element_sizes(config, columns)
    computes = np.isin(columns.opcode, (Opcode.GEMM, Opcode.ALU)) & (layer >= 0)
    assert (np.diff(layer[computes]) >= 0).all()
    needs = stream_needs(stream, config)
    assert len(needs.layers) == len(stream.calls) > 5
    for number, layer_needs in enumerate(needs.layers):

        def total(amounts: np.ndarray, opcode: Opcode, number: int = number) -> int:
            return int(amounts[(layer == number) & (columns.opcode == opcode)].sum())

        assert layer_needs.array <= total(uops, Opcode.GEMM)
        assert layer_needs.alu <= total(uops, Opcode.ALU) * (2 if config is ONE_PORT else 1)
        loaded = total(moved, Opcode.LOAD)
        assert layer_needs.weights + layer_needs.parameters + layer_needs.read <= loaded
        assert layer_needs.written == total(moved, Opcode.STORE)
    assert sum(layer_needs.array for layer_needs in needs.layers) > 0


def test_streams_are_launched_one_after_another() -> None:
    memory = MEMORY_PRESETS["edge"]
    streams = timed_streams(
        simplified(two_layers(), exact_runner()), Accelerator(SMALL, memory).target()
    )
    one = [stream_needs(stream, SMALL) for stream in streams]
    for schedules in Schedules:
        alone = bound(one, schedules, SMALL, memory)
        assert bound(one * 3, schedules, SMALL, memory) == 3 * alone


def test_a_network_of_the_host_alone_is_refused() -> None:
    net = Net()
    x = net.quantise("x8", Var("x"))
    function = net.function((1, 8, 4, 4), x)
    with pytest.raises(UntimedError, match="small8 computes no layer of the network"):
        network_bound(function, Accelerator(SMALL, MEMORY_PRESETS["fast"]))
