"""Times of a step of training, and those of PyTorch's on the same network.

    python -m tandem.scripts.bench.training_steps

PyTorch is not installed with the project: whoever measures installs it beside. Both take one
thread, float32, AdamW and random data; a time is what the processor spent on the step, so that
other programs matter less, the least of several.
"""

from __future__ import annotations

import io
import itertools
import math
from collections.abc import Callable
from time import thread_time

import numpy as np
import onnx
import torch
from torch import Tensor, nn

from tandem.workbench.training.losses import TARGET, Loss
from tandem.workbench.training.samples import ArraySamples
from tandem.workbench.training.trainable import trainable
from tandem.workbench.training.trainer import Trainer, TrainingOptions

REPEATS = 12


class Block(nn.Module):
    """Two convolutions and a skip connection."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(inputs, outputs, 3, stride, 1)
        self.second = nn.Conv2d(outputs, outputs, 3, 1, 1)
        self.skip = nn.Conv2d(inputs, outputs, 1, stride) if stride > 1 else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        """The sum of both branches."""
        return torch.relu(self.second(torch.relu(self.first(x))) + self.skip(x))


def residual() -> nn.Module:
    """MLPerf Tiny's ResNet-8 without normalisation: images of 32 x 32."""
    return nn.Sequential(
        *(nn.Conv2d(3, 16, 3, 1, 1), nn.ReLU(), Block(16, 16, 1), Block(16, 32, 2)),
        *(Block(32, 64, 2), nn.AvgPool2d(8), nn.Flatten(), nn.Linear(64, 10)),
    )


def autoencoder() -> nn.Module:
    """MLPerf Tiny's autoencoder without normalisation: vectors of 640."""
    sizes = (640, 128, 128, 128, 128, 8, 128, 128, 128, 128, 640)
    layers: list[nn.Module] = []
    for inputs, outputs in itertools.pairwise(sizes):
        layers += [nn.Linear(inputs, outputs), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


class Layer(nn.Module):
    """A layer of a transformer: attention of 4 heads, and a feed-forward network."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.one, self.two = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        """The sum of the input and both branches."""
        batch, length, width = x.shape
        shape = (batch, length, 4, width // 4)
        parts = self.qkv(self.one(x)).chunk(3, 2)
        q, k, v = (each.reshape(shape).transpose(1, 2) for each in parts)
        scores = torch.softmax(q @ k.transpose(2, 3) / math.sqrt(width // 4), -1)
        x = x + self.out((scores @ v).transpose(1, 2).reshape(batch, length, width))
        return x + self.down(torch.relu(self.up(self.two(x))))


def transformer() -> nn.Module:
    """Two layers of 64 on sequences of 64 vectors, and classes of each."""
    return nn.Sequential(Layer(64), Layer(64), nn.LayerNorm(64), nn.Linear(64, 64))


NETWORKS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...], Loss]] = {
    "ResNet-8": (residual, (16, 3, 32, 32), Loss.CROSS_ENTROPY),
    "autoencoder": (autoencoder, (64, 640), Loss.MSE),
    "transformer": (transformer, (8, 64, 64), Loss.CROSS_ENTROPY),
}
"""Modules, the shapes of their input, and their losses."""


def seconds(step: Callable[[], object]) -> float:
    """The least time of a step, after one that warms up."""
    times = []
    for _ in range(REPEATS + 1):
        begun = thread_time()
        step()
        times.append(thread_time() - begun)
    return min(times[1:])


def measured(name: str) -> tuple[float, float]:
    """The time of Tandem's step and of PyTorch's, in seconds."""
    make, shape, loss = NETWORKS[name]
    torch.manual_seed(0)
    module = make()
    x = torch.randn(shape)
    with torch.no_grad():
        y = module(x)
    target = x.clone() if loss is Loss.MSE else torch.randint(0, y.shape[-1], y.shape[:-1])
    buffer = io.BytesIO()
    torch.onnx.export(
        module, (x,), buffer, input_names=["x"], output_names=["y"], opset_version=17, dynamo=False
    )
    found = trainable(onnx.load_from_string(buffer.getvalue()), shape[0])
    (param,) = found.inputs.values()
    samples = ArraySamples({param: x.numpy(), TARGET: target.numpy()})
    options = TrainingOptions(loss=loss, batch=shape[0], epochs=None, steps=10_000, threads=1)
    trainer = Trainer(found.function, found.weights, samples, options)
    own = seconds(lambda: trainer._advance(0.0))
    optimiser = torch.optim.AdamW(module.parameters(), lr=1e-4)

    def step() -> None:
        optimiser.zero_grad()
        output = module(x)
        if loss is Loss.MSE:
            value = nn.functional.mse_loss(output, target)
        else:
            value = nn.functional.cross_entropy(output.flatten(0, -2), target.flatten())
        value.backward()
        optimiser.step()

    return own, seconds(step)


def main() -> None:
    """Print a row for each network."""
    torch.set_num_threads(1)
    ratios = []
    print(f"{'network':12} {'Tandem ms':>10} {'PyTorch ms':>10} {'ratio':>6}")
    for name in NETWORKS:
        own, other = measured(name)
        ratios.append(own / other)
        print(f"{name:12} {1e3 * own:10.2f} {1e3 * other:10.2f} {own / other:6.2f}", flush=True)
    print(f"geometric mean {math.exp(np.log(ratios).mean()):.2f}; 1.5 or less is the aim")


if __name__ == "__main__":
    main()
