"""`--sweep`: what its text means, and what is refused."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.hw.config import HardwareConfig
from tandem.hw.errors import ConfigError, MemoryModelError
from tandem.hw.memory_model import MemoryModel
from tandem.workbench.errors import SweepError
from tandem.workbench.utilization.sweep_axes import (
    CONFIG_FIELDS,
    MEMORY_FIELDS,
    Axis,
    describe,
    machine_at,
    parse_axes,
    points,
)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("latency=8:64:x2", (8, 16, 32, 64)),
        ("latency=8:100:x3", (8, 24, 72)),
        ("latency=8:20:4", (8, 12, 16, 20)),
        ("latency=8:21:4", (8, 12, 16, 20)),
        ("latency=8:8", (8,)),
        ("latency=8:70", (8, 16, 32, 64)),
        ("log_acc_buffer=14:17", (14, 15, 16, 17)),
        ("axi_prot=0:2:1", (0, 1, 2)),
    ],
)
def test_values(text: str, values: tuple[int, ...]) -> None:
    (axis,) = parse_axes(text)
    assert axis == Axis(text.partition("=")[0], values)


@given(st.integers(1, 300), st.integers(0, 300), st.integers(1, 50), st.booleans())
def test_values_go_from_low_to_high_by_the_step(
    low: int, more: int, step: int, factor: bool
) -> None:
    step += factor
    high = low + more
    (axis,) = parse_axes(f"latency={low}:{high}:{'x' * factor}{step}")
    assert axis.values[0] == low
    following = [value * step if factor else value + step for value in axis.values]
    assert list(axis.values[1:]) == following[:-1]
    assert axis.values[-1] <= high < following[-1]


def test_points_are_all_combinations() -> None:
    axes = parse_axes("latency=8:16, bus_bits=64:128")
    assert [describe(point) for point in points(axes)] == [
        "latency=8 bus_bits=64",
        "latency=8 bus_bits=128",
        "latency=16 bus_bits=64",
        "latency=16 bus_bits=128",
    ]


def test_fields_are_those_of_the_memory_and_the_numbers_of_a_configuration() -> None:
    assert MEMORY_FIELDS == ("latency", "interval", "in_flight")
    assert not {*MEMORY_FIELDS} & {*CONFIG_FIELDS}
    for field in CONFIG_FIELDS:
        assert isinstance(getattr(HardwareConfig(), field), int)


def test_the_machine_at_a_point() -> None:
    point = (("interval", 4), ("load_buffer", 512), ("latency", 100))
    found = machine_at(point, HardwareConfig(), MemoryModel(latency=1, in_flight=7))
    assert found == (HardwareConfig(load_buffer=512), MemoryModel(100, 4, 7))


@pytest.mark.parametrize(
    ("point", "error"),
    [
        ((("load_buffer", 100),), ConfigError),
        ((("interval", 0),), MemoryModelError),
    ],
)
def test_a_machine_that_cannot_be(
    point: tuple[tuple[str, int], ...], error: type[Exception]
) -> None:
    with pytest.raises(error, match=rf"{point[0][0]} is {point[0][1]}: it must"):
        machine_at(point, HardwareConfig(), MemoryModel(latency=1))


@pytest.mark.parametrize(
    ("values", "is_geometric"),
    [
        ((8, 16, 32), True),
        ((2, 6, 18, 54), True),
        ((8, 16), False),
        ((8, 16, 24), False),
        ((8, 16, 32, 65), False),
        ((0, 1, 2), False),
        ((8,), False),
    ],
)
def test_growth_by_a_factor(values: tuple[int, ...], is_geometric: bool) -> None:
    assert Axis("latency", values).is_geometric is is_geometric


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "sweep '': written FIELD=LO:HI, FIELD=LO:HI:STEP or FIELD=LO:HI:xFACTOR, such as"),
        ("latency", "sweep 'latency': written FIELD=LO:HI"),
        ("latency=8", "sweep 'latency=8': written FIELD=LO:HI"),
        ("latency=8:", "sweep 'latency=8:': written FIELD=LO:HI"),
        ("latency=8:16,", "sweep '': written FIELD=LO:HI"),
        ("latency=-8:16", "sweep 'latency=-8:16': written FIELD=LO:HI"),
        ("latency=8:16:y2", "sweep 'latency=8:16:y2': written FIELD=LO:HI"),
        ("latency=8:16:2:2", "sweep 'latency=8:16:2:2': written FIELD=LO:HI"),
        ("latency=٣:٤", "sweep 'latency=٣:٤': written FIELD=LO:HI"),
        ("Latency=8:16", "sweep 'Latency=8:16': no field Latency: of the memory, latency, int"),
        ("name=8:16", "sweep 'name=8:16': no field name: "),
        ("features=0:1", "sweep 'features=0:1': no field features: "),
        ("latency=16:8", "sweep 'latency=16:8': 16 is above 8"),
        ("latency=8:16:0", "sweep 'latency=8:16:0': a step is at least 1"),
        ("latency=8:16:x1", "sweep 'latency=8:16:x1': a factor is at least 2, and multiplies"),
        ("axi_prot=0:7", "sweep 'axi_prot=0:7': a factor is at least 2, and multiplies a number"),
        ("latency=1:20000:1", "sweep 'latency=1:20000:1': 20,000 points; there may be 10,000"),
        (
            "latency=1:101:1,interval=1:100:1",
            "sweep 'latency=1:101:1,interval=1:100:1': 10,100 points; there may be 10,000",
        ),
        ("latency=1:2,latency=1:2", "sweep 'latency=1:2,latency=1:2': latency is there 2 times"),
    ],
)
def test_what_is_refused(text: str, message: str) -> None:
    with pytest.raises(SweepError, match=f"^{re.escape(message)}"):
        parse_axes(text)


def test_what_was_probably_meant_is_said() -> None:
    with pytest.raises(SweepError, match=r"'block_in=16': no field block_in: .*did you mean log_"):
        parse_axes("block_in=16,32")
    with pytest.raises(
        SweepError, match=r"as log_block_in=3:5; its values are logarithms: 4 is 16$"
    ):
        parse_axes("log_block_in=16")
