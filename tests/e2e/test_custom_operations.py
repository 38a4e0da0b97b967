"""Networks on machines with operations of their own: equal in every bit, and faster."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tandem.hw.config_files import dump_config, load_config
from tandem.hw.custom_operations import CustomOperation
from tandem.scripts.cli import app

CLIP = ("CLIP", "min(max(int32(a + b) >> shift, low), 127)", {"shift": "uint5", "low": "int8"})
CLIP_HIGH = ("CLIP", "min(max(a, low), high)", {"low": "int8", "high": "int8"})
SCALE = ("SCALE", "int32(a + b * n) >> s", {"n": "uint11", "s": "uint5"})
SHARED = ("SHARED", "min(int32(a + b) >> shift, 127)", {"shift": "uint5"})
SUM = ("SUM", "int32(a + b) >> s", {"s": "uint5"})
HIGH: tuple[str, str, dict[str, str]] = ("HIGH", "int32(a * uint16(b) >> 8)", {})
CLIP_REST = (
    "REST",
    "min(max(int32(a + b) >> 8 >> shift, low), 127)",
    {"shift": "uint3", "low": "int8"},
)
WHOLE = (
    "WHOLE",
    "min(max(int32(a * uint15(b) + (b >> 15 << 15) >> 8) >> 8 >> shift, low), 127)",
    {"shift": "uint3", "low": "int8"},
)
Operation = tuple[str, str, dict[str, str]]


def run_digits(
    folder: Path, preset: str, operations: tuple[Operation, ...], stages: int, *options: str
) -> dict[str, Any]:
    """What `tandem run digits` says of a preset with these operations."""
    made = (
        CustomOperation.from_json({"name": name, "result": result, "parameters": parameters})
        for name, result, parameters in operations
    )
    config = load_config(preset).replace(alu_operations=tuple(made), alu_stages=stages)
    path = folder / "machine.json"
    path.write_text(dump_config(config))
    arguments = ["run", "digits", "--config", str(path), "--check", "--json", *options]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.stderr
    found: dict[str, Any] = json.loads(result.stdout)
    assert found["check"]["equal"] is True
    return found


def test_digits(tmp_path: Path) -> None:
    cycles = [
        run_digits(tmp_path, "small8", operations, stages, "--engine", "cycle")["cycles"]
        for operations, stages in (
            ((), 1),
            ((CLIP,), 2),
            ((HIGH, CLIP_REST), 3),
            ((WHOLE,), 4),
        )
    ]
    # One pass is less than two, and they are fewer than four.
    assert cycles[3] < cycles[2] < cycles[1] < cycles[0], cycles


@pytest.mark.exhaustive
def test_digits_with_two_steps_of_one_stage(tmp_path: Path) -> None:
    plain, other = (
        run_digits(tmp_path, "small8", operations, 1, "--engine", "cycle")["cycles"]
        for operations in ((), (CLIP_HIGH, SUM))
    )
    assert other < plain


@pytest.mark.exhaustive
@pytest.mark.parametrize("stages", [2, 3, 4])
@pytest.mark.parametrize("preset", ["tiny", "small8", "batch2"])
@pytest.mark.parametrize("operations", [(CLIP, SCALE, SHARED), (HIGH, CLIP_REST), (WHOLE,)])
def test_digits_on_verilog(
    operations: tuple[Operation, ...], preset: str, stages: int, tmp_path: Path
) -> None:
    """Also as many cycles on both engines, event by event."""
    found = run_digits(tmp_path, preset, operations, stages, "--compare", "rtl,cycle")
    assert found["compare"]["equal"] is True


def test_a_residual_in_two_passes(tmp_path: Path) -> None:
    """One of them over the residual, which makes the operand of the other one."""
    whole = "min(max(int32(a * uint15(b) + (b >> 15 << 15) >> 8) >> 8 >> shift, low), 127)"
    one: Operation = ("ONE", whole, {"shift": "uint3", "low": "int8"})
    scale: Operation = ("SCALE_ADDB", "(int8(a) * factor << 15) + b", {"factor": "uint10"})
    cycles = [
        run_digits(tmp_path, "small8", operations, 4, "--engine", "cycle")["cycles"]
        for operations in ((one,), (one, scale))
    ]
    assert cycles[1] < cycles[0], cycles
