"""Packs the codes of a weight into the blocks that LOADs of WGT_CODES widen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tandem.compiler.errors import Refusal
from tandem.compiler.machines.accelerator.lower.coded_blocks import CodedBlocks
from tandem.compiler.machines.accelerator.templates.packing import block_groups, pack_weight
from tandem.compiler.plan.codes import Codes
from tandem.compiler.plan.schedule_template import KernelMatch
from tandem.hw.codings import Coding
from tandem.hw.config import HardwareConfig
from tandem.hw.encoding import Opcode, instruction_layout
from tandem.hw.errors import ConfigError
from tandem.hw.features import Feature
from tandem.hw.topology import MemoryId
from tandem.hw.weight_blocks import packed_blocks

_RANK = 4


@dataclass(frozen=True, slots=True)
class StoredWeight:
    """How a machine stores the weight of a layer.

    Attributes
    ----------
    forms
        Its blocks of codes, if the graph has codes that the machine widens; else nothing, for int8
        (`Arguments.forms`).
    remark
        For readers: its codes, or why it is int8 although the graph has codes; empty without codes.
    """

    forms: Mapping[str, CodedBlocks]
    remark: str

    @staticmethod
    def of(found: KernelMatch, config: HardwareConfig, groups: int = 1) -> StoredWeight:
        """The weight of a match; `groups` are those of its convolution."""
        if "weight" not in found.match.codes:
            return StoredWeight({}, "")
        try:
            coded = coded_weight(found.match.codes["weight"], config, groups)
        except Refusal as refusal:
            return StoredWeight({}, f"int8: {refusal}")
        scales = ", scaled" if coded.coding.scaled else ""
        return StoredWeight({"weight": coded}, f"codes of {coded.coding.bits} bits{scales}")

    @property
    def coding(self) -> Coding | None:
        """How its codes lie in DRAM; None for int8."""
        return self.forms["weight"].coding if "weight" in self.forms else None


def blank_forms(
    weight: Sequence[int], coding: Coding | None, config: HardwareConfig
) -> dict[str, CodedBlocks]:
    """Forms of a packed weight of a shape without numbers of its own, to measure time with."""
    if coding is None:
        return {}
    size = config.element_bytes(MemoryId.WGT_CODES, coding)
    table = (0,) * (1 << coding.bits)
    return {"weight": CodedBlocks(coding, table, np.zeros((*weight[:-2], size), np.uint8))}


def coded_weight(codes: Codes, config: HardwareConfig, groups: int = 1) -> CodedBlocks:
    """The blocks of a weight [O, C, KH, KW] or [O, C], as `pack_weight` orders them.

    Parameters
    ----------
    groups
        The groups of the convolution, which `block_groups` merges to whole blocks.

    Raises
    ------
    Refusal
        The machine cannot widen these codes: it has no such extension, groups of weights end within
        a row of a block, or blocks have to be filled up and no code stands for 0.
    """
    if Feature.COMPRESSED_WEIGHTS not in config.features:
        raise Refusal(f"{config.name} has no {Feature.COMPRESSED_WEIGHTS.value}")
    try:
        coding = Coding.of(codes.format)
    except ConfigError as error:
        raise Refusal(str(error)) from None

    def packed(array: NDArray[Any]) -> NDArray[np.uint8]:
        whole = array.reshape(*array.shape, *(1,) * (_RANK - array.ndim))
        return pack_weight(block_groups(whole, groups, config)[0], config).astype(np.uint8)

    given = codes.codes.array.astype(np.uint8)
    inside = packed(np.ones_like(given)).astype(bool)
    table = codes.attributes.table
    if 0 not in table and not inside.all():
        raise Refusal(
            f"blocks of {config.block_out} x {config.block_in} weights are filled up with zeros, "
            f"and no code stands for 0"
        )
    zero = table.index(0) if 0 in table else 0
    filled = packed(given ^ np.uint8(zero)) ^ np.uint8(zero)
    scales = _row_scales(packed(codes.scale_of_each), inside, config) if coding.scaled else None
    found = CodedBlocks(coding, table, packed_blocks(config, coding, filled, scales))
    stride = prod(found.data.shape[1:]) // config.bus_bytes
    _, most = instruction_layout(config, Opcode.LOAD)["x_stride"].limits
    if stride > most:
        raise Refusal(
            f"{config.block_out} output channels take {stride:,} beats, of which LOAD's stride "
            f"reaches {most:,}"
        )
    return found


def _row_scales(
    scales: NDArray[np.uint8], inside: NDArray[np.bool_], config: HardwareConfig
) -> NDArray[np.uint8]:
    """The scale of each row of each block; `inside` are the weights that are no filling."""
    found: NDArray[np.uint8] = np.where(inside, scales, 0).max(-1)
    if ((scales != found[..., None]) & inside).any():
        raise Refusal(
            f"a scale is for a whole row of a block, {config.block_in} weights: groups that are no "
            f"multiple of it end within one"
        )
    return found
