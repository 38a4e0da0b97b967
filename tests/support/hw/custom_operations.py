"""Operations of a configuration's own that tests hold the engines and the gates against."""

from __future__ import annotations

from tandem.hw.config import HardwareConfig
from tandem.hw.custom_operations import CustomOperation

Described = tuple[tuple[str, str, dict[str, str]], ...]
"""Operations: name, result and parameters."""
OPERATIONS: Described = (
    ("CLIP", "min(max(int32(a + b) >> shift, low), 127)", {"shift": "uint5", "low": "int8"}),
    ("WIDE", "a * uint16(b) - (b << 3) >> 7", {}),
    ("LOGIC", "(a & b | 5) ^ c", {"c": "int16"}),
)
MORE: Described = (
    ("CASTS", "int7(a) * uint9(b) + int1(a) - uint32(b)", {}),
    ("SHIFTS", "(uint20(a) << n) - (int12(b) >> n)", {"n": "uint4"}),
    ("BOTH", "max(min(a, b), 0 - min(a, b))", {}),
)
SATURATING: Described = (
    ("SATURATE", "sat12(a >> n) + usat5(b) - sat32(a + b)", {"n": "uint5"}),
    (
        "NARROW",
        "sat3(a + b >> n) + min(max(a - b, low), high)",
        {"n": "uint4", "low": "int6", "high": "int5"},
    ),
    ("BYTE", "sat8(a * uint16(b) >> n)", {"n": "uint5"}),
)


def machine(operations: Described, stages: int) -> HardwareConfig:
    made = (
        CustomOperation.from_json({"name": name, "result": result, "parameters": parameters})
        for name, result, parameters in operations
    )
    return HardwareConfig(alu_operations=tuple(made), alu_stages=stages)
