"""The memory model's parameters, from names and from texts."""

from __future__ import annotations

import pytest

from tandem.hw.errors import MemoryModelError
from tandem.hw.memory_model import DEFAULT_MEMORY, MEMORY_PRESETS, MemoryModel, parse_memory


@pytest.mark.parametrize("name", MEMORY_PRESETS)
def test_presets(name: str) -> None:
    assert parse_memory(name) is MEMORY_PRESETS[name]


def test_parameters_that_are_left_out_are_those_of_the_default() -> None:
    assert parse_memory("interval=3") == MemoryModel(latency=16, interval=3, in_flight=16)
    assert parse_memory("latency = 5, in_flight=2") == MemoryModel(5, 1, 2)
    assert DEFAULT_MEMORY == MemoryModel(latency=16, interval=1, in_flight=16)


@pytest.mark.parametrize("text", ["slow", "", "latency", "latency=", "latency=-1", "speed=3"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(MemoryModelError, match="expected one of fast, ddr, edge, or latency=N"):
        parse_memory(text)


@pytest.mark.parametrize("text", ["latency=1,latency=2", "in_flight=1, latency=2,in_flight =1"])
def test_a_parameter_that_is_given_twice(text: str) -> None:
    with pytest.raises(MemoryModelError, match=r"(latency|in_flight) is given twice"):
        parse_memory(text)


def test_a_number_that_is_too_long_to_convert() -> None:
    with pytest.raises(MemoryModelError, match=r"memory latency is 1000001: .* 1\.\.1000000"):
        parse_memory("latency=" + "9" * 5000)


@pytest.mark.parametrize("name", ["latency", "interval", "in_flight"])
@pytest.mark.parametrize("value", [0, 1_000_001])
def test_ranges(name: str, value: int) -> None:
    with pytest.raises(MemoryModelError, match=rf"memory {name} is {value}: .* 1\.\.1000000"):
        parse_memory(f"{name}={value}")


def test_the_text_of_a_model() -> None:
    for model in MEMORY_PRESETS.values():
        assert parse_memory(model.text) == model
    assert DEFAULT_MEMORY.text == "latency=16,interval=1,in_flight=16"
