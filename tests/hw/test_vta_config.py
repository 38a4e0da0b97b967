"""TVM's `vta_config.json`: what its keys mean, and every refusal."""

from __future__ import annotations

from typing import Any

import pytest

from tandem.hw.errors import ConfigError
from tandem.hw.vta_config import from_vta, is_vta

PYNQ: dict[str, Any] = {
    "TARGET": "pynq",
    "HW_VER": "0.0.2",
    "LOG_INP_WIDTH": 3,
    "LOG_WGT_WIDTH": 3,
    "LOG_ACC_WIDTH": 5,
    "LOG_BATCH": 0,
    "LOG_BLOCK": 4,
    "LOG_UOP_BUFF_SIZE": 15,
    "LOG_INP_BUFF_SIZE": 15,
    "LOG_WGT_BUFF_SIZE": 18,
    "LOG_ACC_BUFF_SIZE": 17,
}
SIZES = {
    "log_batch": 0,
    "log_block_in": 4,
    "log_block_out": 4,
    "log_uop_buffer": 15,
    "log_inp_buffer": 15,
    "log_wgt_buffer": 18,
    "log_acc_buffer": 17,
}


def test_sizes_and_boards() -> None:
    assert from_vta(PYNQ) == SIZES
    assert from_vta(PYNQ | {"TARGET": "de10nano"}) == {**SIZES, "longest_burst": 16}
    wide = {**SIZES, "bus_bits": 128, "address_bits": 40}
    assert from_vta(PYNQ | {"TARGET": "ultra96"}) == wide
    short = {key: value for key, value in PYNQ.items() if key not in ("TARGET", "HW_VER")}
    assert from_vta(short) == SIZES
    # The board's own fields stay as they are.
    assert from_vta(PYNQ | {"TARGET": "ultra96"}) == wide


def test_keys_beside_the_sizes() -> None:
    """An output buffer has a quarter of the bytes of the accumulators."""
    derived = {"LOG_BLOCK_IN": 4, "LOG_BLOCK_OUT": 4, "LOG_OUT_BUFF_SIZE": 15}
    more = {"LOG_OUT_WIDTH": 3, "ACC_DEP_DISTANCE": 9, "name": "mine", "features": []}
    assert from_vta(PYNQ | derived | more) == {**SIZES, "name": "mine"}


def test_whose_configuration_it_is() -> None:
    assert is_vta({"LOG_BATCH": 0})
    assert is_vta({"name": "a", "TARGET": "pynq"})
    assert not is_vta({"log_batch": 0, "name": "A"})
    assert not is_vta({})


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"LOG_BLOK": 4}, r"^unknown key 'LOG_BLOK' \(value 4\); known: LOG_BATCH, LOG_BLOCK, "),
        ({"LOG_BATCH": None}, r"^LOG_BATCH is None: it must be a whole number$"),
        ({"LOG_BATCH": True}, r"^LOG_BATCH is True: it must be a whole number$"),
        ({"LOG_BATCH": 1.0}, r"^LOG_BATCH is 1\.0: it must be a whole number$"),
        ({"ACC_DEP_DISTANCE": "9"}, r"^ACC_DEP_DISTANCE is '9': it must be a whole number$"),
        ({"LOG_INP_WIDTH": 4}, r"^LOG_INP_WIDTH is 4: it must be 3 \(this machine multiplies int8"),
        ({"LOG_ACC_WIDTH": 3}, r"^LOG_ACC_WIDTH is 3: it must be 5"),
        ({"LOG_OUT_WIDTH": 5}, r"^LOG_OUT_WIDTH is 5: it must be 3"),
        ({"HW_VER": "0.0.3"}, r"^HW_VER is '0\.0\.3': it must be one of 0\.0\.1, 0\.0\.2$"),
        ({"TARGET": "zynq"}, r"^TARGET is 'zynq': it must be one of pynq, sim, tsim, bsim, "),
        ({"TARGET": ["pynq"]}, r"^TARGET is \['pynq'\]: it must be one of"),
        ({"LOG_BLOCK_IN": 3}, r"^LOG_BLOCK_IN is 3: the other keys make it 4, and this machine"),
        ({"LOG_BLOCK_OUT": 5}, r"^LOG_BLOCK_OUT is 5: the other keys make it 4"),
        ({"LOG_OUT_BUFF_SIZE": 17}, r"^LOG_OUT_BUFF_SIZE is 17: the other keys make it 15"),
        ({"LOG_OUT_BUFF_SIZE": "15"}, r"^LOG_OUT_BUFF_SIZE is '15': it must be a whole number$"),
    ],
)
def test_refusals(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        from_vta(PYNQ | changed)


@pytest.mark.parametrize("key", ["LOG_BATCH", "LOG_BLOCK", "LOG_INP_WIDTH", "LOG_ACC_BUFF_SIZE"])
def test_keys_that_are_missing(key: str) -> None:
    values = {name: value for name, value in PYNQ.items() if name != key}
    with pytest.raises(ConfigError, match=f"^key '{key}' is missing$"):
        from_vta(values)
