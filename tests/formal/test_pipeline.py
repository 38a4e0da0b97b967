"""The Pipeline: every micro-op is written once, in its cycle, and so is what OUT gets of it."""

from __future__ import annotations

from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Const, Mux, Signal
from amaranth.lib import data

from tandem.hw.config import HardwareConfig
from tandem.hw.encoding import Opcode, alu_layout, gemm_layout
from tandem.hw.features import Feature
from tandem.hw.instruction_fields import OPCODE_BITS
from tandem.hw.operations import AluOp
from tandem.hw.rtl.layouts import view_of
from tandem.hw.rtl.micro_ops import mode_layout
from tandem.hw.rtl.pipeline import Pipeline
from tandem.hw.storage import INDEX_BITS
from tandem.hw.timing import OUT_STAGES, STALL_STAGE, pipeline_depth
from tests.formal.harness import Harness, implies
from tests.formal.plants import anything, planted
from tests.formal.prover import breaks, prove, true_of_anything
from tests.support.hw.configs import COMPUTE_FEATURES

GATHER = 3
"""Stages from that in which operands are gathered to the write."""


def machine(features: frozenset[Feature], log_block: int = 0, ports: int = 2) -> HardwareConfig:
    """Memories of a few elements."""
    return HardwareConfig(
        log_block_in=log_block,
        log_block_out=log_block,
        log_uop_buffer=4,
        log_inp_buffer=2 + log_block,
        log_wgt_buffer=2 + 2 * log_block,
        log_acc_buffer=4 + log_block,
        log_par_buffer=5 + log_block,
        acc_read_ports=ports,
        features=features,
    )


class _Followed:
    """One micro-op or REQUANTISE that was issued; which one, the solver chooses.

    Attributes
    ----------
    stage
        Its stage, from 1 to that of the write of OUT; 0: none is followed.
    computes
        It is a micro-op.
    active
        Its results are requantised; from stage 2 on.
    """

    def __init__(self, harness: Harness, dut: Any, config: HardwareConfig) -> None:
        self.requantises = Feature.REQUANTISE in config.features
        self.depth = pipeline_depth(config)
        self.end = self.depth + (OUT_STAGES if self.requantises else 0)
        self.stage = Signal(range(self.end + 2), name="stage")
        self.computes = Signal(name="computes")
        self.active = Signal(name="active")
        self.last = Signal(name="last")
        self.pushes = Signal(2, name="pushes")
        self.index = Signal(INDEX_BITS, name="index")
        self.dst = Signal(len(dut.offsets.dst) + 1, name="dst")
        is_requantise = dut.current[:OPCODE_BITS] == Opcode.REQUANTISE
        self.issued = dut.valid & ~dut.halt
        self.issued_computes = ~is_requantise if self.requantises else Const(1)
        self.moves = ~dut.stall | (self.stage > STALL_STAGE)
        dropped = self.computes & (
            ((self.stage == 2) & dut.bad_index) | ((self.stage == self.depth - 1) & dut.bad_shift)
        )
        fields = data.View(view_of(gemm_layout(config)), dut.current)
        offset = Signal(len(dut.offsets.dst), name="offset")
        self.chosen = (self.stage == 0) & self.issued & harness.choice()
        m = harness.module
        with m.If(self.stage == 0):
            with m.If(self.chosen):
                m.d.sync += [
                    self.stage.eq(1),
                    self.computes.eq(self.issued_computes),
                    self.last.eq(dut.last),
                    self.index.eq(dut.index),
                    self.pushes.eq((fields.push_next << 1) | fields.push_prev),
                    offset.eq(dut.offsets.dst),
                ]
        with m.Elif(self.moves):
            m.d.sync += self.stage.eq(Mux(dropped | (self.stage == self.end), 0, self.stage + 1))
            with m.If(self.stage == 1):
                m.d.sync += self.dst.eq(offset + dut.uop.dst)
                if self.requantises:
                    m.d.sync += self.active.eq(self.computes & dut.mode.active)
        self.offset = offset

    def at(self, stage: int) -> Any:
        """The micro-op is in this stage."""
        return (self.stage == stage) & self.computes

    def ends_at(self, stage: int) -> Any:
        """It, or the REQUANTISE, is in this stage."""
        return self.stage == stage


def pipeline_harness(block: Any, config: HardwareConfig) -> Harness:
    """Any instruction, micro-op and mode, in any cycle in which nothing stalls."""
    harness = Harness()
    harness.module.submodules.dut = dut = block(config)
    for name, member in dut.signature.members.items():
        if member.flow.name == "In":
            harness.free(getattr(dut, name))
    harness.suppose(implies(dut.valid, ~dut.stall))
    requantises = Feature.REQUANTISE in config.features
    one = _Followed(harness, dut, config)
    depth = one.depth

    # What left: written, refused, or a REQUANTISE at its end.
    leaves_at_end = dut.write_enable | dut.ends
    refused_early = dut.bad_index & ~dut.stall
    bits = depth.bit_length() + 1
    inside = Signal(bits, name="inside")
    harness.sync(inside.eq(inside + one.issued - leaves_at_end - refused_early - dut.bad_shift))
    written = one.at(depth)
    harness.must("empty_is_without_any", dut.empty == (inside == 0))
    harness.must("writes_what_is_inside", implies(leaves_at_end, inside != 0))
    harness.must("is_written_in_its_cycle", implies(written, dut.write_enable))
    harness.must(
        "is_written_in_its_place",
        implies(written, dut.write_address == one.dst[: len(dut.write_address)]),
    )
    harness.must("ends_with_its_last", implies(written, dut.ends == one.last))
    ending = one.ends_at(depth)
    harness.must("changes_no_accumulator", implies(ending & ~one.computes, ~dut.write_enable))
    harness.must("ends_itself", implies(ending & ~one.computes, dut.ends))
    ends = ending & dut.ends
    pushes = (dut.push_next << 1) | dut.push_prev
    harness.must("names_the_instruction", implies(ends, dut.end_index == one.index))
    harness.must("pushes_its_tokens", implies(ends, pushes == one.pushes))
    harness.must("pushes_at_an_end", implies(pushes != 0, dut.ends))
    harness.must(
        "is_not_empty_before", implies((one.stage != 0) & (one.stage <= depth), ~dut.empty)
    )
    harness.must("lanes_gather_it", implies(one.at(depth - GATHER), dut.control.gather))
    harness.must("lanes_execute_it", implies(one.at(depth - 1), dut.control.execute))
    if requantises:
        _requantisation(harness, dut, one, config)
    _invariants(harness, dut, one, inside)

    harness.reach("written_after_two_stalls", written & dut.write_enable & _stalled(harness, dut))
    harness.reach("the_last_of_all", written & dut.ends & (inside == 1))
    harness.reach("many", inside == depth - 2)
    harness.reach("refused", dut.bad_index & one.at(2) & one.moves)
    harness.reach("shift_refused", dut.bad_shift & one.at(depth - 1))
    return harness


def _flows(harness: Harness, dut: Any, depth: int) -> dict[int, data.View]:
    """The registers of the stages, by number."""
    layout = dut._flow()
    return {
        stage: data.View(layout, harness.peek(f"dut.stage_{stage}", layout.size))
        for stage in range(1, depth + 1)
    }


def _invariants(harness: Harness, dut: Any, one: _Followed, inside: Any) -> None:
    """How the registers of the stages relate to what is followed and counted."""
    depth = one.depth
    later = harness.peek("dut.later", depth)
    changes = harness.peek("dut.changes", depth) if one.requantises else Const(0, depth)
    harness.invariant("one_in_a_stage", (later & changes) == 0)
    count = reduce(add, (later | changes))
    harness.invariant("counts_the_stages", inside == count)
    for stage, flow in _flows(harness, dut, depth).items():
        here = one.stage == stage
        micro_op = one.at(stage)
        bits = later[stage - 1], changes[stage - 1]
        harness.invariant(f"is_in_{stage}", implies(micro_op, bits[0]))
        harness.invariant(f"changes_in_{stage}", implies(here & ~one.computes, bits[1]))
        harness.invariant(f"last_in_{stage}", implies(micro_op, flow.last == one.last))
        harness.invariant(f"index_in_{stage}", implies(here, flow.index == one.index))
        pushes = (flow.push_next << 1) | flow.push_prev
        harness.invariant(f"pushes_in_{stage}", implies(here, pushes == one.pushes))
        dst = one.offset if stage == 1 else one.dst
        harness.invariant(f"dst_in_{stage}", implies(here, flow.dst == dst))
    harness.invariant("stage_in_range", one.stage <= one.end)


def _stalled(harness: Harness, dut: Any) -> Any:
    """There were two stalls in a row before."""
    seen = Signal(name="stalled")
    with harness.module.If(dut.stall & harness.delayed(dut.stall)):
        harness.sync(seen.eq(1))
    return seen


def _requantisation(harness: Harness, dut: Any, one: _Followed, config: HardwareConfig) -> None:
    """What becomes of a micro-op's results on their way to OUT."""
    depth = one.depth
    mode = mode_layout(config)
    kept = {
        name: Signal(mode[name].width, name=f"kept_{name}") for name in ("low", "high", "scale")
    }
    par = Signal(len(dut.offsets.par) + 1, name="kept_par")
    offset = Signal(len(dut.offsets.par), name="par_offset")
    m = harness.module
    with m.If(one.chosen):
        m.d.sync += offset.eq(dut.offsets.par)
    with m.If((one.stage == 1) & one.moves):
        m.d.sync += [value.eq(dut.mode[name]) for name, value in kept.items()]
        m.d.sync += par.eq(offset + dut.mode.par_base)
    control = dut.requantise
    gather = depth - GATHER
    for place in range(len(control.enable)):
        here = one.stage == gather + 1 + place
        active = one.active & one.computes
        harness.must(f"stage_{place}_takes_it", implies(here, control.enable[place] == active))
    reads = one.at(gather) & one.active
    harness.must("reads_its_parameters", implies(one.at(gather), dut.par_enable == one.active))
    harness.must(
        "reads_them_in_their_place", implies(reads, dut.par_address == par[: len(dut.par_address)])
    )
    harness.must("residual_is_requantised", implies(control.residual, control.enable[1]))
    if AluOp.RESIDUAL in config.operations:
        _residuals(harness, dut, one, config)
        harness.must("has_its_scale", implies(one.at(gather), dut.scale.value == kept["scale"]))
    clips = one.at(depth + OUT_STAGES - 1)
    for name in ("low", "high"):
        value = control[name].as_unsigned()
        harness.must(f"has_its_{name}", implies(clips, value == kept[name]))
    done = one.at(depth + OUT_STAGES)
    harness.must("out_takes_the_requantised", implies(done, dut.requantised == one.active))
    # Registers without reset hold anything until they took something.
    age = Signal(range(OUT_STAGES + 1), name="age")
    m.d.sync += age.eq(Mux(age == OUT_STAGES, age, age + 1))
    wrote = dut.write_enable
    for later in range(1, OUT_STAGES + 1):
        wrote = harness.delayed(wrote)
        active = harness.peek(f"dut.active_{later}", 1)
        harness.invariant(f"active_{later}", implies((age >= later) & active, wrote))
        harness.invariant(f"is_{later}", implies(one.at(depth + later), active == one.active))
    for later in range(1, OUT_STAGES):
        for name in ("low", "high"):
            value = harness.peek(f"dut.{name}_{later}", len(kept[name]))
            same = value == kept[name]
            harness.invariant(f"{name}_{later}", implies(one.at(depth + later), same))
    layout = dut._mode_flow()
    for stage in range(1, depth + 1):
        flow = data.View(layout, harness.peek(f"dut.mode_{stage}", layout.size))
        here = one.at(stage)
        if stage == 1:
            harness.invariant("par_offset", implies(here, flow.par == offset))
            continue
        harness.invariant(f"active_in_{stage}", implies(here, flow.active == one.active))
        harness.invariant(f"par_in_{stage}", implies(here, flow.par == par))
        for name, value in kept.items():
            same = flow[name].as_unsigned() == value
            harness.invariant(f"{name}_in_{stage}", implies(here, same))
    harness.must(
        "requantises_what_was_written",
        implies((age == OUT_STAGES) & dut.requantised, wrote),
    )
    harness.reach(
        "requantised_beside_another", done & dut.requantised & ~harness.delayed(dut.requantised)
    )
    if AluOp.RESIDUAL in config.operations:
        harness.reach("residual", control.residual)


def _residuals(harness: Harness, dut: Any, one: _Followed, config: HardwareConfig) -> None:
    """Whether the operand of a micro-op is scaled, and enters its requantisation."""
    residual = Signal(name="residual")
    fields = data.View(view_of(alu_layout(config)), dut.current)
    with harness.module.If(one.chosen):
        is_alu = fields.opcode != Opcode.GEMM
        harness.sync(residual.eq(is_alu & (fields.alu_opcode == AluOp.RESIDUAL)))
    gather = one.depth - GATHER
    harness.must("is_scaled", implies(one.at(gather), dut.scale.enters == residual))
    enters = one.active & residual
    harness.must("enters_scaled", implies(one.at(gather + 2), dut.requantise.residual == enters))
    for stage, flow in _flows(harness, dut, one.depth).items():
        same = (flow.op == AluOp.RESIDUAL) == residual
        harness.invariant(f"residual_in_{stage}", implies(one.at(stage), same))


ALL = COMPUTE_FEATURES
NONE = frozenset[Feature]()
SOME = [
    pytest.param(features, log_block, ports, marks=pytest.mark.exhaustive)
    for log_block in (0, 5)
    for ports in (1, 2)
    for features in (
        NONE,
        *(frozenset({feature}) for feature in sorted(ALL, key=lambda it: it.bit)),
        ALL,
    )
    if (features, log_block, ports) != (ALL, 0, 2)
]
REACH = 18


@pytest.mark.parametrize(("features", "log_block", "ports"), [(ALL, 0, 2), *SOME])
def test_every_run(
    features: frozenset[Feature], log_block: int, ports: int, tmp_path: Path
) -> None:
    config = machine(features, log_block, ports)
    prove(pipeline_harness(Pipeline, config), tmp_path, reach=REACH)


@pytest.mark.exhaustive
def test_each_property_says_something(tmp_path: Path) -> None:
    harness = pipeline_harness(anything(Pipeline), machine(ALL))
    assert not true_of_anything(harness, tmp_path, steps=16)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("was", "becomes", "broken"),
    [
        pytest.param(
            "self._accepts() & self._is_requantise(), changes",
            "self._accepts(), changes",
            "empty_is_without_any",
            id="a_micro_op_ends_twice",
        ),
        pytest.param(
            "(later | changes) == 0", "later == 0", "empty_is_without_any", id="mode_not_waited_for"
        ),
        pytest.param("ends |= changes[-1]", "pass", "ends_itself", id="mode_never_ends"),
        pytest.param(
            "micro_op &= ~self._is_requantise()",
            "pass",
            "changes_no_accumulator",
            id="mode_taken_for_a_micro_op",
        ),
        pytest.param(
            "stages[STALL_STAGE].eq(0)",
            "stages[STALL_STAGE].eq(passes[STALL_STAGE])",
            "writes_what_is_inside",
            id="written_again_after_a_stall",
        ),
        pytest.param(
            "valid[:write] & ~refused",
            "valid[:write]",
            "writes_what_is_inside",
            id="refused_and_written",
        ),
        pytest.param(
            "Cat(active[1:], line[:-1])",
            "Cat(active[1:], line[1:])",
            "stage_2_takes_it",
            id="requantiser_too_late",
        ),
        pytest.param(
            "[valid[stage] & modes[stage].active",
            "[modes[stage].active & (stage > gather)",
            "reads_its_parameters",
            id="parameters_not_read",
        ),
        pytest.param(
            "self.par_address.eq(modes[gather].par)",
            "self.par_address.eq(modes[prepare].par)",
            "reads_them_in_their_place",
            id="parameters_of_another",
        ),
        pytest.param(
            "control.residual.eq(active[1] & ",
            "control.residual.eq(modes[prepare].active & ",
            "residual_is_requantised",
            id="residual_of_no_micro_op",
        ),
        pytest.param(
            "self.scale.enters.eq(residual)",
            "self.scale.enters.eq(self._is_residual(flows[gather]))",
            "is_scaled",
            id="another_is_scaled",
        ),
        pytest.param(
            "active[1] & self._is_residual(flows[prepare])",
            "active[1] & self._is_residual(flows[gather])",
            "enters_scaled",
            id="another_s_product_enters",
        ),
        pytest.param(
            'delayed(m, written.low, 3, "low")',
            'delayed(m, modes[write - 1].low, 3, "low")',
            "has_its_low",
            id="limit_of_the_next",
        ),
        pytest.param(
            "self.requantised.eq(line[-1])",
            "self.requantised.eq(line[-2])",
            "out_takes_the_requantised",
            id="out_takes_the_next",
        ),
        pytest.param(
            "valid[write] & written.active, OUT_STAGES",
            "written.active, OUT_STAGES",
            "requantises_what_was_written",
            id="requantised_though_nothing_was_written",
        ),
    ],
)
def test_fault_is_found(was: str, becomes: str, broken: str, tmp_path: Path) -> None:
    harness = pipeline_harness(planted(Pipeline, (was, becomes)), machine(ALL))
    assert breaks(harness, broken, tmp_path, steps=16)
