"""What a page refuses to be made of, and what it knows of its machine."""

from __future__ import annotations

import pytest

from tandem.hw.errors import MemoryModelError
from tandem.workbench.errors import PageError
from tandem.workbench.pages.run import Area, AreaKind, CpuStep
from tests.support.workbench.pages.profiles import CONFIG, page, profile

ONE = (profile("one", 100, macs=5),)


def test_nothing_to_show() -> None:
    with pytest.raises(PageError, match=r"^report: the run of little_net had no layer and no "):
        page(layers=(), without=None, cpu_steps=())


def test_steps_on_the_cpu_alone_are_something_to_show() -> None:
    alone = page(layers=(), without=None, cpu_steps=(CpuStep("all", 0.5),))
    assert not alone.has_time


def test_two_layers_of_one_name() -> None:
    with pytest.raises(PageError, match=r"two layers of little_net are called one$"):
        page(layers=(*ONE, profile("two", 3), *ONE), without=None)


def test_other_layers_without_latency_hiding() -> None:
    with pytest.raises(PageError, match="has the layers one, and without it two: they must"):
        page(layers=ONE, without=(profile("two", 100),))
    with pytest.raises(PageError, match="has the layers one, and without it : they must"):
        page(layers=ONE, without=())


def test_cycles_of_some_layers() -> None:
    with pytest.raises(PageError, match=r"some layers have cycles and some have none$"):
        page(layers=(*ONE, profile("two")), without=None)
    with pytest.raises(PageError, match=r"known with or without latency hiding, not both$"):
        page(layers=ONE, without=(profile("one"),))


@pytest.mark.parametrize(("address", "size"), [(-1, 8), (8, -1)])
def test_areas_that_cannot_be(address: int, size: int) -> None:
    with pytest.raises(PageError, match=rf"^report: w has {size} bytes at {address}: neither"):
        Area("w", address, size, AreaKind.WEIGHTS)


def test_a_memory_of_no_name() -> None:
    with pytest.raises(MemoryModelError, match="memory 'slow'"):
        page(memory="slow")


@pytest.mark.parametrize(
    ("memory", "bus_bits", "wanted"),
    [("fast", 64, 8.0), ("edge", 64, 2.0), ("fast", 128, 16.0), ("interval=16", 64, 0.5)],
)
def test_the_bus_moves_its_bytes_each_interval(memory: str, bus_bits: int, wanted: float) -> None:
    found = page(memory=memory, config=CONFIG.replace(bus_bits=bus_bits))
    assert found.bytes_per_cycle == wanted
