"""Nearest resizing: exact for random shapes, factors, tiles and machines."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.errors import Unsupported
from compiler.graph import Call, Function
from compiler.graph.operators.shapes import Upsample
from compiler.target import AcceleratorTarget
from compiler.targets.accelerator.target import accelerator
from compiler.targets.planner import Planner, best_choice
from compiler.te.knobs import Choice
from compiler.templates.accelerator.machine_cost import MachineCost
from compiler.templates.accelerator.upsample import UpsampleByStores, UpsampleWorkload
from compiler.templates.space import Choices
from hw.encoding import Opcode
from hw.isa.work import work_of
from tests.support.accelerator_operators import machine
from tests.support.alu_passes import draw_values
from tests.support.graphs import graph
from tests.support.random_operators import random_tests
from tests.support.random_workloads import check_of, draw_upsample
from tests.support.streams import run_schedule, run_stream, stream_of

TEMPLATE = UpsampleByStores()

test_few, test_many, test_few_on_rtl, test_many_on_rtl = random_tests(
    check_of(draw_upsample), few=12
)
