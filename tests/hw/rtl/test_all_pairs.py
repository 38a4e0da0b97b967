"""Operations that were found, in models of eight bits: all pairs of operands, expression against
gates against the functional engine."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tandem.hw import custom_stages
from tandem.hw.alu_terms import BITS, TermOp, apply_operator, fold, print_term
from tandem.hw.config import HardwareConfig
from tandem.hw.custom_operations import PARAMETER_BITS, CustomOperation
from tandem.hw.custom_stages import stage_terms
from tandem.hw.isa import Alu, MicroOp, Program, pack_uops
from tandem.hw.isa.columns import make_table
from tandem.hw.rtl.custom_units import CustomUnits, custom_control
from tandem.sim.semantics.alu import alu
from tandem.sim.semantics.chip import make_chip
from tandem.sim.semantics.custom import make_custom_code
from tandem.sim.semantics.detail import make_detail
from tests.support.hw.found_machines import FOUND_FOR_PYNQ, FOUND_FOR_SMALL8, PACKED_FOR_PYNQ
from tests.support.hw.rtl.gate_level import GateLevel, gate_level
from tests.support.hw.scaled_operations import OPERAND_BITS, in_eight_bits

Numbers = npt.NDArray[np.int64]

SIDE = 1 << OPERAND_BITS
CASES = SIDE * SIDE
FIRST, SECOND = (part - SIDE // 2 for part in np.divmod(np.arange(CASES), SIDE))
"""All pairs."""
ELEMENTS = 1 << 10
"""Accumulators that hold them."""
SAMPLES = range(0, CASES, 257)


def model(operations: tuple[CustomOperation, ...], divisor: int, stages: int) -> HardwareConfig:
    small = tuple(in_eight_bits(one, divisor) for one in operations)
    return HardwareConfig(
        log_block_in=2,
        log_block_out=6,
        log_wgt_buffer=12,
        log_acc_buffer=19,
        alu_operations=small,
        alu_stages=stages,
    )


MODELS = {
    f"{name}-{divisor}": model(operations, divisor, stages)
    for name, operations, stages in (
        ("pynq", FOUND_FOR_PYNQ, 3),
        ("packed", PACKED_FOR_PYNQ, 4),
        ("small8", FOUND_FOR_SMALL8, 4),
    )
    for divisor in (2, 4)
}


def immediates(operation: CustomOperation) -> Iterator[int]:
    """Those of all values of parameters."""
    names = [one.name for one in operation.parameters]
    ranges = [range(low, high + 1) for low, high in (one.limits for one in operation.parameters)]
    for values in product(*ranges):
        yield operation.immediate(dict(zip(names, values, strict=True)))


def of_expression(operation: CustomOperation, immediate: int) -> Numbers:
    """What the expression says."""
    values: dict[str, Any] = {"a": FIRST, "b": SECOND}
    values |= {name: np.int64(one) for name, one in operation.values_of(immediate).items()}
    found = fold(
        operation.result,
        values.__getitem__,
        np.int64,
        lambda op, left, right: apply_operator(op, left, right, np.minimum, np.maximum),
        lambda cast, value: np.asarray(cast.of(value)),
    )
    for case in SAMPLES:
        wanted = operation.apply(int(FIRST[case]), int(SECOND[case]), immediate)
        assert found[case] == wanted
    return found


def control_of(config: HardwareConfig, immediate: int) -> int:
    """The port `control` with one immediate in all stages."""
    own = immediate & (1 << PARAMETER_BITS) - 1
    stages = (own << PARAMETER_BITS * stage for stage in range(config.alu_stages))
    return sum(stages) << custom_control(config)["imm"].offset


def of_gates(gates: GateLevel, config: HardwareConfig, immediate: int) -> dict[str, Numbers]:
    """What the gates give, by their port."""
    control = control_of(config, immediate)
    return gates.evaluate({"control": control, "a": FIRST, "b": SECOND}, CASES)


def of_engine(config: HardwareConfig, operation: CustomOperation, immediate: int) -> Numbers:
    """What one instruction of the functional engine leaves."""
    chip, custom = make_chip(config), make_custom_code(config)
    chip.acc[: 2 * CASES] = np.concatenate([FIRST, SECOND])
    chip.uop[:1] = np.frombuffer(pack_uops(config, [MicroOp(dst=0, src=ELEMENTS)]), np.uint32)
    instruction = Alu(
        op=operation,
        use_imm=False,
        imm=immediate,
        uop_bgn=0,
        uop_end=1,
        iter_out=1,
        iter_in=ELEMENTS,
        dst_factor_out=0,
        dst_factor_in=1,
        src_factor_out=0,
        src_factor_in=1,
    )
    table = make_table(Program.from_instructions(config, [instruction]).columns())
    assert alu(chip, custom, table[0], 0, ELEMENTS, make_detail()) == 0
    return chip.acc[:CASES].astype(np.int64)


def check(config: HardwareConfig, every: int) -> None:
    """All pairs, with every so many of the parameters' values."""
    gates = gate_level(CustomUnits(config))
    for position, operation in enumerate(sorted_operations(config)):
        for immediate in [*immediates(operation)][::every]:
            where = f"{print_term(operation.result)}, {operation.values_of(immediate)}"
            wanted = of_expression(operation, immediate)
            made = of_gates(gates, config, immediate)[f"results_{position}"]
            np.testing.assert_array_equal(made, wanted, err_msg=f"gates of {where}")
            left = of_engine(config, operation, immediate)
            np.testing.assert_array_equal(left, wanted, err_msg=f"engine, {where}")


def sorted_operations(config: HardwareConfig) -> list[CustomOperation]:
    """By opcode, as the results of gates are."""
    return [one for _, one in sorted(config.custom_operations.items())]


def test_models() -> None:
    """The operations that are tried, and how many values of parameters there are."""
    found = {
        name: [
            (print_term(one.result), len([*immediates(one)])) for one in sorted_operations(config)
        ]
        for name, config in MODELS.items()
    }
    assert found["pynq-4"] == [
        ("min(max(int8(int8(a) + int8(b)) >> 3 >> shift, low), 1)", 8),
        ("int8(int8(a) * uint4(int8(b)) >> 2)", 1),
    ]
    # With a quarter of the bits a factor ends where the addend begins, as it does in 32.
    assert found["packed-4"] == [
        (
            "min(max(int8(int8(a) * uint3(int8(b)) + (int8(b) >> 3 << 3) >> 2) >> 2 >> shift, "
            "low), 1)",
            8,
        ),
    ]
    assert found["small8-2"] == [
        ("min(max(int8(int8(a) + int8(b)) >> 1 >> shift, low), 7)", 128),
        ("int8(int8(a) * uint8(int8(b)) >> 1)", 1),
    ]


@pytest.mark.parametrize(("name", "block"), [("pynq-2", 17), ("packed-4", 17), ("packed-4", 4)])
def test_a_wrong_gate_is_seen(monkeypatch: pytest.MonkeyPatch, name: str, block: int) -> None:
    """Of 40 gates of a model, each one inverted; products are one block, or two."""
    monkeypatch.setattr(custom_stages, "PRODUCT_BITS", block)
    config = MODELS[name]
    gates = gate_level(CustomUnits(config))
    asked = [immediate for one in sorted_operations(config) for immediate in immediates(one)]
    right = [of_gates(gates, config, one) for one in asked]
    positions = np.linspace(0, len(gates.gates) - 1, 40, dtype=int)
    for position in positions:
        wrong = gates.inverted(int(position))
        assert any(
            np.any(made[port] != values)
            for one, before in zip(asked, right, strict=True)
            for made in [of_gates(wrong, config, one)]
            for port, values in before.items()
        ), f"gate {position}: {gates.gates[position]}"


@pytest.mark.parametrize(("name", "every"), [("pynq-2", 13), ("packed-4", 3)])
def test_some(name: str, every: int) -> None:
    check(MODELS[name], every)


@pytest.mark.parametrize(("name", "blocks"), [("packed-4", 2), ("pynq-4", 2)])
def test_products_in_blocks(monkeypatch: pytest.MonkeyPatch, name: str, blocks: int) -> None:
    """Of blocks of four bits and less, as those of seventeen are to operands of 32."""
    monkeypatch.setattr(custom_stages, "PRODUCT_BITS", 4)
    terms = stage_terms(MODELS[name].custom_operations, MODELS[name].alu_stages)
    products = [each for each in terms.stages if getattr(each, "op", None) is TermOp.MUL]
    assert len(products) == blocks
    check(MODELS[name], 3)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", MODELS)
def test_all(name: str) -> None:
    check(MODELS[name], every=1)


@pytest.mark.parametrize(
    ("operations", "stages"), [(FOUND_FOR_PYNQ, 3), (PACKED_FOR_PYNQ, 4)], ids=["pynq", "packed"]
)
def test_results_have_32_bits(operations: tuple[CustomOperation, ...], stages: int) -> None:
    """Operands as they are: at limits, and drawn."""
    config = HardwareConfig(alu_operations=operations, alu_stages=stages)
    gates = gate_level(CustomUnits(config))
    rng = np.random.default_rng(1)
    limits = [-(1 << BITS - 1), (1 << BITS - 1) - 1, -1, 0, 1]
    a, b = rng.integers(-(1 << BITS - 1), 1 << BITS - 1, (2, 4000)) >> rng.integers(
        0, 31, (2, 4000)
    )
    a[: len(limits) ** 2], b[: len(limits) ** 2] = np.array([*product(limits, limits)]).T
    for position, operation in enumerate(sorted_operations(config)):
        for immediate in [*immediates(operation)][:: 7 * 41]:
            control = control_of(config, immediate)
            made = gates.evaluate({"control": control, "a": a, "b": b}, len(a))
            wanted = [
                operation.apply(int(one), int(two), immediate)
                for one, two in zip(a, b, strict=True)
            ]
            np.testing.assert_array_equal(made[f"results_{position}"], wanted)
