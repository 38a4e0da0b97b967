"""`hw.storage`: the list of memories and queues, against the generated Verilog."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.features import Feature
from tandem.hw.storage import Kind, Storage, queue_of, storage_of
from tandem.hw.topology import MemoryId, Unit
from tandem.sim.rtl.design import verilog_of

ADDRESSES = re.compile(r"^  tandem_oldest_address_(\d+)x(\d+) (?:\\?(\w+)) \(", re.MULTILINE)
CONFIGS = [load_config("tiny"), load_config("tiny-x")]
INSTANCE = re.compile(r"^  tandem_queue_(\d+)x(\d+)(?:_numbered)? (?:\\?(\w+)) \(", re.MULTILINE)

TABLE = re.compile(r"^  reg \[(\d+):0\] \w+_table_\d+ \[(\d+):0\];", re.MULTILINE)


@pytest.mark.every(2)
@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.name)
def test_the_queues_are_those_of_the_verilog(config: HardwareConfig) -> None:
    """Widths, depths and names. Three modules read a stream of beats, each with a `buffer`."""
    found = Counter[tuple[str, int, int]]()
    readers = 0
    texts = verilog_of(config).files.values()
    for text in texts:
        for width, depth, name in INSTANCE.findall(text):
            found[name, int(width), int(depth)] += 1
        readers += len(re.findall(r"^  tandem_read_stream_\S+ ", text, re.MULTILINE))
    assert readers == 3
    addresses = {
        (name, int(width), int(depth))
        for text in texts
        for width, depth, name in ADDRESSES.findall(text)
    }
    wanted = Counter[tuple[str, int, int]]()
    for storage in storage_of(config).values():
        if storage.name.endswith("_addresses"):
            assert ("addresses", storage.width, storage.depth) in addresses
        elif storage.kind is not Kind.MEMORY:
            name = "buffer" if storage.name.endswith("_buffer") else storage.name
            wanted[name, storage.width, storage.depth] = 1
    assert set(found) == set(wanted)


@pytest.mark.parametrize("name", ["tiny-w", "small8-w"])
def test_the_tables_are_those_of_the_verilog(name: str) -> None:
    config = load_config(name)
    text = verilog_of(config).files["tandem_widener.v"]
    found = Counter((int(high) + 1, int(last) + 1) for high, last in TABLE.findall(text))
    tables = [one for one in storage_of(config).values() if one.kind is Kind.TABLE]
    assert found == {(one.width, one.depth): one.copies for one in tables}


def test_memories_are_those_of_the_configuration() -> None:
    config = HardwareConfig(features=frozenset(Feature))
    memories = {
        name: storage for name, storage in storage_of(config).items() if storage.kind is Kind.MEMORY
    }
    assert memories.keys() == {"uop", "inp", "wgt", "acc", "out", "par"}
    assert memories["acc"] == Storage(
        "acc", Kind.MEMORY, 8 * config.element_bytes(MemoryId.ACC), 2048, 2, config.bus_bits
    )
    assert memories["uop"].bank == memories["uop"].width == 32
    for storage in memories.values():
        assert storage.bits == storage.width * storage.depth * storage.copies


def test_depths_follow_the_configuration() -> None:
    config = HardwareConfig(bus_bits=256, reads_in_flight=5, instruction_queue=8)
    storage = storage_of(config)
    assert storage["fetch_buffer"].depth == config.fetch_buffer // 2
    assert (storage["read_owners"].width, storage["read_owners"].depth) == (2, 8)
    assert [storage[queue_of(unit)].depth for unit in Unit] == [8, 8, 8]
    assert storage["load_queue"].width == 160
