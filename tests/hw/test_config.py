"""The limits of a configuration: a refusal names the field, what was asked, what is allowed."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.hw.config import HardwareConfig
from tandem.hw.custom_operations import CustomOperation
from tandem.hw.errors import ConfigError, EncodingError
from tandem.hw.features import Feature
from tandem.hw.operations import AluOp


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"log_batch": 5}, "log_batch is 5: it must lie in 0..4"),
        ({"log_batch": True}, "log_batch is True: it must be a whole number"),
        ({"bus_bits": 96}, "bus_bits is 96: it must be one of (64, 128, 256, 512)"),
        (
            {"fetch_buffer": 24},
            "fetch_buffer is 24: it must be a power of two, such as 16 or 32",
        ),
        (
            {"load_buffer": 32},
            "load_buffer is 32 beats: a burst of 64 (longest_burst) is only requested with space "
            "for all of it: raise load_buffer to 64 or lower longest_burst to 32",
        ),
        (
            {"longest_burst": 65, "load_buffer": 64},
            "raise load_buffer to 128 or lower longest_burst to 64",
        ),
        (
            {"log_acc_buffer": 6},
            "log_acc_buffer: 64 bytes hold fewer than two elements of 64 bytes: it is 6, and must "
            "be at least 7",
        ),
        (
            {"log_inp_buffer": 21},
            "log_inp_buffer: 131072 elements of 16 bytes; the sram_base field reaches 65536: it is "
            "21, and must be at most 20",
        ),
        (
            {"log_block_in": 3, "features": frozenset({Feature.INPUT_OPERANDS})},
            "log_block_in is 3 and log_block_out is 4: with the feature input_operands they must "
            "be equal",
        ),
        (
            {
                "log_block_in": 1,
                "features": frozenset({Feature.COMPRESSED_WEIGHTS}),
                "bus_bits": 256,
            },
            "log_block_in: a block of weights has 32 bytes; with the feature compressed_weights it "
            "has two beats, 64 bytes, or more: it is 1, and must be at least 2",
        ),
        (
            {"log_block_in": 3, "log_block_out": 3, "bus_bits": 128},
            "the GEMM word needs 140 bits and has 128, the ALU word needs 144 bits and has 128, "
            "the micro-op word needs 36 bits and has 32, for memories of these depths: lower "
            "log_acc_buffer from 17 to 13; or log_inp_buffer from 15 to 14 and log_wgt_buffer from "
            "18 to 16 and log_acc_buffer from 17 to 16",
        ),
        ({"acc_read_ports": 3}, "acc_read_ports is 3: it must lie in 1..2"),
    ],
)
def test_refuses(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        HardwareConfig(**changes)


LIMITS = {
    "log_batch": (0, 4),
    "log_block_in": (0, 7),
    "log_block_out": (0, 7),
    "log_uop_buffer": (3, 24),
    "log_inp_buffer": (1, 30),
    "log_wgt_buffer": (1, 30),
    "log_acc_buffer": (3, 30),
    "log_par_buffer": (4, 20),
    "acc_read_ports": (1, 2),
    "address_bits": (16, 64),
    "longest_burst": (1, 256),
    "reads_in_flight": (2, 256),
    "writes_in_flight": (2, 256),
    "axi_cache": (0, 15),
    "axi_prot": (0, 7),
    "instruction_queue": (2, 4096),
    "fetch_buffer": (8, 4096),
    "load_buffer": (2, 65536),
    "compute_buffer": (2, 65536),
}
"""The least and the greatest value of a field by itself: AXI's where it has some, of bursts, of the
attributes of accesses, and of addresses; else what was built and tested."""


@pytest.mark.parametrize("name", LIMITS)
def test_a_field_lies_within_its_limits(name: str) -> None:
    low, high = LIMITS[name]
    for value in (low - 1, low, high, high + 1):
        message = f"{name} is {value}: it must lie in {low}..{high}"
        assert (refusal(**{name: value}) == message) == (not low <= value <= high)


def refusal(**changes: int) -> str:
    """Why there is no such machine; other fields may not fit."""
    try:
        HardwareConfig(**changes)  # type: ignore[arg-type]
    except ConfigError as error:
        return str(error)
    return ""


@given(
    sizes=st.fixed_dictionaries(
        {
            "log_batch": st.integers(0, 4),
            "log_block_in": st.integers(0, 7),
            "log_block_out": st.integers(0, 7),
            "log_uop_buffer": st.integers(3, 24),
            "log_inp_buffer": st.integers(1, 30),
            "log_wgt_buffer": st.integers(1, 30),
            "log_acc_buffer": st.integers(3, 30),
            "log_par_buffer": st.integers(4, 20),
            "longest_burst": st.integers(1, 256),
            "load_buffer": st.integers(2, 1024),
            "fetch_buffer": st.integers(8, 4096),
        }
    ),
    features=st.frozensets(st.sampled_from(Feature)),
)
def test_who_follows_the_messages_arrives_at_a_machine(
    sizes: dict[str, Any], features: frozenset[Feature]
) -> None:
    # Each round heeds one field of the message; none is heeded for ever.
    for _ in range(20):
        try:
            HardwareConfig(**sizes, features=features)
        except ConfigError as error:
            sizes = {**sizes, **_advised(str(error))}
        else:
            return
    raise AssertionError(f"still refused: {sizes}")


def _advised(message: str) -> dict[str, int]:
    """The fields that a message says to change, with its numbers; of several ways the last one."""
    if found := re.search(r": lower (.*)$", message):
        last = found[1].split("; or ")[-1]
        return {field: int(to) for field, to in re.findall(r"(\w+) from \d+ to (\d+)", last)}
    if found := re.search(r"raise (\w+) to (\d+) or", message):
        return {found[1]: int(found[2])}
    if found := re.search(r"^(\w+) is \d+: it must be a power of two, such as (\d+)", message):
        return {found[1]: int(found[2])}
    if found := re.search(r"^(\w+): .*: it is \d+, and must be at (?:least|most) (\d+)", message):
        return {found[1]: int(found[2])}
    found = re.search(r"log_block_in is (\d+) and log_block_out is \d+", message)
    assert found, message
    return {"log_block_out": int(found[1])}


@pytest.mark.parametrize("log_block_in", [0, 1, 4])
@pytest.mark.parametrize("ports", [1, 2])
def test_read_ports_of_acc(ports: int, log_block_in: int) -> None:
    config = HardwareConfig(
        acc_read_ports=ports, log_block_in=log_block_in, log_inp_buffer=10, log_wgt_buffer=12
    )
    assert config.acc_read_ports == ports


CLIP = CustomOperation.from_json(
    {"name": "CLIP", "result": "min(a + b >> s, 127)", "parameters": {"s": "uint5"}}
)
NEGATE = CustomOperation.from_json({"name": "NEGATE", "result": "0 - a"})
XOR = CustomOperation.from_json({"name": "XOR", "result": "a ^ b"})


def test_custom_operations_get_free_opcodes() -> None:
    config = HardwareConfig(alu_operations=(CLIP, NEGATE, XOR), alu_stages=2)
    assert config.custom_operations == {5: CLIP, 6: NEGATE, 7: XOR}
    assert config.alu_opcodes == (0, 1, 2, 3, 4, 5, 6, 7)
    assert config.without_second == (6,)
    assert config.without_immediate == (5,)
    assert [config.alu_operation(number).name for number in (4, 7)] == ["MUL", "XOR"]
    assert [config.alu_opcode(one) for one in (AluOp.MUL, NEGATE)] == [4, 6]
    extended = HardwareConfig(
        features=frozenset({Feature.INPUT_OPERANDS}), alu_operations=(CLIP,), alu_stages=2
    )
    assert extended.custom_operations == {6: CLIP}
    with pytest.raises(EncodingError, match="ALU XOR is an operation that pynq lacks: alu_"):
        extended.alu_opcode(XOR)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"alu_operations": [CLIP]}, "it must be a tuple of operations"),
        ({"alu_operations": (3,)}, "it must be a tuple of operations"),
        ({"alu_operations": (CLIP, CLIP)}, "has a name twice: CLIP, CLIP"),
        (
            {
                "alu_operations": (CLIP, XOR),
                "features": frozenset({Feature.REQUANTISE, Feature.INPUT_OPERANDS}),
            },
            "has 2 operations: 1 opcodes are free",
        ),
        ({"alu_stages": 2}, "without alu_operations it must be 1"),
        ({"alu_operations": (CLIP,), "alu_stages": 5}, "alu_stages is 5: it must lie in 1..4"),
        ({"alu_operations": (CLIP,), "alu_stages": 0}, "alu_stages is 0: it must lie in 1..4"),
    ],
)
def test_custom_operations_that_are_refused(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        HardwareConfig(**fields)
    assert words in str(caught.value)


def test_machines_differ_in_operations() -> None:
    config = HardwareConfig(alu_operations=(CLIP, XOR), alu_stages=2)
    found = config.differences(HardwareConfig())
    assert found == ("alu_operations CLIP+XOR and not none", "alu_stages 2 and not 1")
