"""Dense layers are exact for random shapes, tiles and machines."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.errors import CapacityError, LoweringError, Refusal
from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.compiler.machines.accelerator.target import accelerator
from tandem.compiler.machines.accelerator.templates.dense import DenseOnArray, DenseWorkload
from tandem.compiler.machines.accelerator.templates.epilogue import (
    AluPass,
    OperandKind,
)
from tandem.compiler.machines.accelerator.templates.packing import (
    pack_data,
    pack_weight,
    unpack_data,
)
from tandem.compiler.machines.accelerator.templates.products import Products
from tandem.compiler.machines.accelerator.templates.requantise_passes import (
    alu_passes,
)
from tandem.compiler.plan.planner import best_choice
from tandem.compiler.requantisation import RequantSpec
from tandem.compiler.te.knobs import Choice
from tandem.hw.operations import AluOp
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine
from tests.support.compiler.machines.accelerator.templates.random_operators import random_tests
from tests.support.compiler.machines.accelerator.templates.random_workloads import (
    check_of,
    draw_dense,
)
from tests.support.compiler.machines.accelerator.templates.streams import run_schedule, stream_of

TEMPLATE = DenseOnArray()
TINY = machine("tiny")
TARGET = AcceleratorTarget.of(TINY)

test_few, test_many, test_few_on_rtl, test_many_on_rtl = random_tests(check_of(draw_dense), few=12)


def on_tiny(rows: int, outputs: int, inputs: int, *passes: AluPass) -> DenseWorkload:
    return DenseWorkload(Products(rows, outputs, inputs, batch=1, lanes=4, depth=4), passes)


def test_a_layer_with_odd_sizes() -> None:
    """5 vectors of 37 numbers, 21 results, requantised for each channel, on a batch of 2."""
    config = machine("batch2")
    rng = np.random.default_rng(8)
    x = rng.integers(-128, 128, (5, 37), dtype=np.int8)
    w = rng.integers(-128, 128, (21, 37), dtype=np.int8)
    spec = RequantSpec.from_scales(
        rng.uniform(2**-11, 2**-8, 21).tolist(), rng.integers(-999, 999, 21).tolist(), -128, 127
    )
    passes, numbers = alu_passes(spec, 21, config)
    data = pack_data(x[:, :, None, None], config)
    weight = pack_weight(w[:, :, None, None], config)
    rows, inputs, _, _, batch, depth = data.shape
    products = Products(rows, weight.shape[0], inputs, batch, config.block_out, depth)
    workload, target = DenseWorkload(products, passes), accelerator(config)
    schedule = TEMPLATE.schedule(workload, best_choice(target, TEMPLATE, workload), target.machine)
    tensors = {"data": data, "weight": weight, **numbers.tensors}
    found = run_schedule(schedule, config, tensors, "functional", numbers.immediates)
    sums = x.astype(np.int64) @ w.T.astype(np.int64)
    np.testing.assert_array_equal(
        unpack_data(found, (5, 21, 1, 1))[:, :, 0, 0],
        spec.reference(sums, axis=1),
    )


def test_the_choice_loads_least() -> None:
    """ResNet's last layer on `pynq`, in the base space: every weight once, and half of WGT for each
    thread."""
    workload = DenseWorkload(Products(1, 63, 32, batch=1, lanes=16, depth=16), ())
    found = best_choice(accelerator(machine("pynq")), TEMPLATE, workload, {"threads": (2, 1)})
    assert found == {"threads": 2, "along": "oc", "n": 1, "oc": 32, "ic": 16}


def test_threads_share_the_batch_where_there_is_one_block_of_outputs() -> None:
    found = best_choice(accelerator(TINY), TEMPLATE, on_tiny(6, 1, 2))
    assert found == {"threads": 2, "along": "n", "n": 3, "oc": 1, "ic": 2}


def test_refuses_tiles_that_do_not_fit() -> None:
    choice: Choice = {"threads": 2, "along": "oc", "n": 1, "oc": 2, "ic": 9}
    schedule = TEMPLATE.schedule(on_tiny(1, 4, 9), choice, TARGET)
    with pytest.raises(CapacityError, match=r"WGT of tiny has 16 elements; .* 36: 20 too many"):
        stream_of(schedule, TINY)


def test_refuses_what_never_fits() -> None:
    added = [AluPass(AluOp.ADD, f"r{number}", OperandKind.ELEMENT) for number in range(40)]
    with pytest.raises(
        Refusal,
        match=r"^tiny is too small for the smallest tiles: ACC has 32 elements and they take 41, "
        r"for which log_acc_buffer would have to be 10$",
    ):
        best_choice(accelerator(TINY), TEMPLATE, on_tiny(1, 4, 2, *added))


def test_refuses_a_shift_that_the_machine_does_not_have() -> None:
    choice: Choice = {"threads": 1, "along": "oc", "n": 1, "oc": 1, "ic": 1}
    schedule = TEMPLATE.schedule(on_tiny(1, 1, 1, AluPass(AluOp.SHR, "by")), choice, TARGET)
    with pytest.raises(LoweringError, match="by: immediate 32 of SHR: 0 to 31 is allowed"):
        stream_of(schedule, TINY, {"by": 32})
