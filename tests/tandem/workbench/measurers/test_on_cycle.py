"""A layer's measured cycles are those of a run of its program with data."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tandem.compiler.machines.accelerator.lower import Operator, compile_stream
from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.compiler.machines.accelerator.templates.coded_packing import coded_weight
from tandem.compiler.machines.accelerator.templates.machine_cost import MemoryTiming
from tandem.compiler.tune.trial import Status
from tandem.hw.codings import Coding
from tandem.hw.config_files import load_config
from tandem.hw.memory_model import MEMORY_PRESETS
from tandem.hw.weight_formats import INT4, TERNARY, WeightFormat
from tandem.sim.engine import Launch
from tandem.sim.engines import make_engine
from tandem.sim.memory import place_program
from tandem.workbench.measurers.on_cycle import MeasuredLayer, cycles_of
from tandem.workbench.utilization.build import Convolution
from tandem.workbench.utilization.case import make_case
from tandem.workbench.utilization.conv_layers import parse_layer
from tests.support.compiler.plan.coded_graphs import random_codes

CONFIG = load_config("small8")
MEMORY = MEMORY_PRESETS["edge"]
CASE = make_case(parse_layer("a=6,6,8,8,3,1,1"), 1)
CONVOLUTION = Convolution.of(CASE, CONFIG, MemoryTiming(MEMORY.latency, MEMORY.interval))
LAYER = MeasuredLayer(
    CONFIG,
    MEMORY,
    Convolution.template,
    CONVOLUTION.workload,
    dict(CONVOLUTION.immediates),
    CONVOLUTION.channels,
)


@pytest.mark.parametrize("threads", [1, 2])
def test_the_same_cycles_as_a_run_with_data(threads: int) -> None:
    compiled = CONVOLUTION.build(threads)
    memory, address = place_program(compiled.image(), compiled.stream.program)
    engine = make_engine("cycle", CONFIG, MEMORY)
    result = engine.launch(compiled.stream.program, memory, Launch(address=address))
    outcome = cycles_of(LAYER, {**CONVOLUTION.choice, "threads": threads}, np.inf)
    assert outcome.status is Status.MEASURED
    assert outcome.cost == result.cycles


@pytest.mark.parametrize("weights", [INT4, TERNARY])
def test_layers_whose_weights_are_codes(weights: WeightFormat) -> None:
    config = load_config("small8-w")
    workload = replace(CONVOLUTION.workload, coding=Coding.of(weights))
    layer = replace(LAYER, config=config, workload=workload)
    shape = CASE.weight.shape
    codes = random_codes(np.random.default_rng(1), weights, shape, config.block_in)
    blocks = coded_weight(codes, config)
    machine = AcceleratorTarget.of(config)
    program = CONVOLUTION.template.schedule(workload, CONVOLUTION.choice, machine).program
    immediates = CONVOLUTION.immediates
    operator = Operator(program, {}, immediates=immediates, coded={"weight": blocks})
    stream = compile_stream([operator], machine)
    image = stream.image({**CONVOLUTION.values, "weight": blocks.data})
    memory, address = place_program(image, stream.program)
    result = make_engine("cycle", config, MEMORY).launch(
        stream.program, memory, Launch(address=address)
    )
    found = cycles_of(layer, CONVOLUTION.choice, np.inf)
    assert found.cost == result.cycles
    assert found.cost < cycles_of(LAYER, CONVOLUTION.choice, np.inf).cost


def test_the_limit_is_exact() -> None:
    cycles = cycles_of(LAYER, CONVOLUTION.choice, np.inf).cost
    assert cycles_of(LAYER, CONVOLUTION.choice, cycles).cost == cycles
    assert cycles_of(LAYER, CONVOLUTION.choice, cycles - 1).status is Status.ABANDONED


def test_a_choice_that_does_not_fit_has_failed_with_its_reason() -> None:
    small = CONFIG.replace(log_acc_buffer=CONFIG.log_acc_buffer - 6)
    choice = {**CONVOLUTION.choice, "oc": 8, "x": 6, "y": 6}
    outcome = cycles_of(replace(LAYER, config=small), choice, np.inf)
    assert outcome.status is Status.FAILED
    assert "ACC" in outcome.reason
