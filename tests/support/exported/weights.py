"""Weights of the exported networks: random, and such that values keep their magnitude."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from tests.support.exported.catalogue import ExportedNetwork, Operand

_CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.ConvTranspose2d)
_NORMALISATIONS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)
_SAMPLES = 8


def seeded(network: ExportedNetwork, seed: int) -> nn.Module:
    """The network with weights drawn from `seed`, ready to evaluate.

    Batch normalisation has random scales and shifts, and the statistics of random inputs.
    """
    torch.manual_seed(seed)
    module = network.make()
    normalisations = [layer for layer in module.modules() if isinstance(layer, _NORMALISATIONS)]
    for layer in module.modules():
        if isinstance(layer, _CONVOLUTIONS):
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
    for layer in normalisations:
        nn.init.uniform_(layer.weight, 0.5, 1.5)
        nn.init.normal_(layer.bias, 0.0, 0.3)
        layer.momentum = None
    if normalisations:
        # The mean of two batches' statistics.
        module.train()
        with torch.no_grad():
            for _ in range(2):
                module(*drawn(network.inputs, _SAMPLES).values())
    return module.eval()


def drawn(inputs: Mapping[str, Operand], samples: int = 1) -> dict[str, Tensor]:
    """Random inputs, with the first extent `samples` times as large."""
    return {name: _drawn(operand, samples) for name, operand in inputs.items()}


def _drawn(operand: Operand, samples: int) -> Tensor:
    first, *rest = operand.shape
    shape = (first * samples, *rest)
    if operand.rows is None:
        return torch.randn(shape)
    return torch.randint(0, operand.rows, shape)
