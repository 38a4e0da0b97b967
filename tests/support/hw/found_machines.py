"""Operations that `tandem discover` found, and a small machine that has them."""

from __future__ import annotations

from tandem.hw.config_files import load_config
from tandem.hw.custom_operations import CustomOperation
from tandem.hw.features import Feature


def _found(name: str, result: str, **parameters: str) -> CustomOperation:
    return CustomOperation.from_json({"name": name, "result": result, "parameters": parameters})


FOUND_FOR_PYNQ = (
    _found(
        "ADDB_SHR_MAX_MIN",
        "min(max(int32(a + b) >> 12 >> shift, low), 127)",
        shift="uint3",
        low="int8",
    ),
    _found("CUTB", "int32(a * uint16(b) >> 8)"),
)
"""For `resnet18`, `resnet50`, `mobilenet-v1` and `mobilenet-v2` on `pynq`, within a tenth of its
look-up tables; in three stages."""
PACKED_FOR_PYNQ = (
    _found(
        "CUT_ADDB_SHR_MAX_MIN",
        "min(max(int32(a * uint15(b) + (b >> 15 << 15) >> 8) >> 11 >> shift, low), 127)",
        shift="uint3",
        low="int8",
    ),
)
"""For the same networks, where operands may have a factor and an addend in them; in four stages."""
FOUND_FOR_SMALL8 = (
    _found(
        "ADDB_SHR_MAX_MIN",
        "min(max(int32(a + b) >> 7 >> shift, low), 127)",
        shift="uint5",
        low="int8",
    ),
    _found("CUTB", "int32(a * uint16(b) >> 6)"),
)
"""For `digits` on `small8`, within three tenths; in four stages."""
TINY_FOUND = load_config("tiny").replace(
    name="tiny-found",
    features=frozenset({Feature.INPUT_OPERANDS}),
    alu_operations=FOUND_FOR_PYNQ,
    alu_stages=3,
)
"""With operands from INP too, so that operations of one's own have all flags."""
TINY_PACKED = TINY_FOUND.replace(name="tiny-packed", alu_operations=PACKED_FOR_PYNQ, alu_stages=4)
"""The same with the operation whose operand has a factor and an addend in it."""
