"""When micro-ops of GEMM and ALU wait for results of those ahead."""

from __future__ import annotations

from functools import reduce
from operator import or_

from amaranth.hdl import Mux, Value
from amaranth.lib import data

from tandem.hw.config import HardwareConfig
from tandem.hw.timing import EARLY_OPS, FORWARD_DISTANCE, STALL_STAGE, forward_distance


def needs_stall(
    config: HardwareConfig, stall: Value, flows: list[data.View], valid: Value
) -> Value:
    """Whether the micro-op in the stall's stage in the next cycle has to wait there.

    Parameters
    ----------
    stall
        Whether one waits in this cycle.
    flows, valid
        By stage, the micro-op's fields, and whether there is one.
    """
    comes, stays = STALL_STAGE - 1, STALL_STAGE
    near = range(1, forward_distance(config, custom=bool(config.alu_operations)))

    def waits(stage: int, ahead: int) -> Value:
        """Whether the micro-op in `stage` waits for the result of the one in `ahead`, which is less
        than `forward_distance` ahead of custom operations at least."""
        user, writer = flows[stage], flows[ahead]
        early = ~user.gemm & reduce(or_, (user.op == op for op in EARLY_OPS))
        if config.alu_operations:
            early |= user.custom
        uses = (early & (user.dst == writer.dst)) | (user.second_acc & (user.src == writer.dst))
        if ahead - stage >= FORWARD_DISTANCE - (stage == stays):
            uses &= user.custom
        return valid[stage] & valid[ahead] & uses

    return Mux(
        stall,
        reduce(or_, (waits(stays, stays + distance) for distance in near[:-1])),
        reduce(or_, (waits(comes, comes + distance) for distance in near)),
    )
