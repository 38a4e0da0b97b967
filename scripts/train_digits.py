"""Train the model `digits`: a small residual network, on scikit-learn's images of digits.

    python -m tandem.scripts.train_digits

writes `compiler/models/digits.onnx`, and `digits.npz` beside it: the test images with their labels,
and some training images to calibrate quantisation with. Only this module needs PyTorch and
scikit-learn, which are not installed with the project. Training takes one core two minutes. Other
versions of PyTorch may give other weights.

The images are those of Alpaydin and Kaynak, Optical Recognition of Handwritten Digits, UCI Machine
Learning Repository (1998), CC BY 4.0: 8 x 8 pixels from 0 to 16.
"""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, pad, relu

MODELS = Path(__file__).parents[1] / "compiler" / "models"
SEED = 0
HELD_OUT = 360
CALIBRATION = 128
EPOCHS = 60
BATCH = 64


class Block(nn.Module):
    """A residual block: two convolutions and a skip connection."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.first = convolution(inputs, outputs, 3, stride)
        self.second = convolution(outputs, outputs, 3, 1)
        same = inputs == outputs and stride == 1
        self.skip = nn.Identity() if same else convolution(inputs, outputs, 1, stride)

    def forward(self, x: Tensor) -> Tensor:
        """The sum of both branches."""
        return relu(self.second(relu(self.first(x))) + self.skip(x))


class Digits(nn.Module):
    """The network: from images [N, 1, 8, 8] of 0 to 1 to a logit for each digit."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = convolution(1, 16, 3, 1)
        self.blocks = nn.Sequential(Block(16, 16, 1), Block(16, 32, 2), Block(32, 64, 2))
        self.head = nn.Linear(64, 10)

    def forward(self, x: Tensor) -> Tensor:
        """Logits."""
        return self.head(self.blocks(relu(self.stem(x))).mean((2, 3)))


def convolution(inputs: int, outputs: int, kernel: int, stride: int) -> nn.Module:
    """A convolution with batch normalisation, which the exporter folds into the convolution."""
    layer = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False)
    return nn.Sequential(layer, nn.BatchNorm2d(outputs))


def shifted(images: Tensor) -> Tensor:
    """Data augmentation: each image shifted at random by up to a pixel."""
    padded = pad(images, (1, 1, 1, 1))
    y, x = torch.randint(0, 3, (2, len(images)))
    rows = (y[:, None] + torch.arange(8))[:, :, None]
    columns = (x[:, None] + torch.arange(8))[:, None, :]
    return padded[torch.arange(len(images))[:, None, None], 0, rows, columns][:, None]


def train(images: Tensor, labels: Tensor) -> Digits:
    """A model trained on the images."""
    model = Digits()
    optimiser = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=1e-2)
    steps = EPOCHS * -(-len(images) // BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 3e-3, total_steps=steps)
    for _ in range(EPOCHS):
        for batch in torch.randperm(len(images)).split(BATCH):
            optimiser.zero_grad()
            cross_entropy(model(shifted(images[batch])), labels[batch]).backward()
            optimiser.step()
            schedule.step()
    return model.eval()


def exported(model: Digits) -> onnx.ModelProto:
    """The model as ONNX, without the exporter's metadata about this machine."""
    buffer = io.BytesIO()
    torch.onnx.export(
        model,
        (torch.zeros(1, 1, 8, 8),),
        buffer,
        input_names=["input"],
        output_names=["output"],
        dynamic_axes={"input": {0: "N"}, "output": {0: "N"}},
        opset_version=17,
        dynamo=False,
    )
    found = onnx.load_from_string(buffer.getvalue())
    for part in (found, found.graph, *found.graph.node):
        part.ClearField("doc_string")
        part.ClearField("metadata_props")
    onnx.checker.check_model(found, full_check=True)
    return found


def main() -> None:
    """Train the model, and write it with its images."""
    torch.manual_seed(SEED)
    torch.set_num_threads(1)
    digits = load_digits()
    pixels: NDArray[np.uint8] = digits.images.astype(np.uint8)[:, None]
    labels: NDArray[np.uint8] = digits.target.astype(np.uint8)
    order = np.random.default_rng(SEED).permutation(len(pixels))
    unseen, seen = order[:HELD_OUT], order[HELD_OUT:]

    def images(which: NDArray[np.int64]) -> Tensor:
        return torch.tensor(pixels[which], dtype=torch.float32) / 16

    model = train(images(seen), torch.tensor(labels[seen], dtype=torch.long))
    with torch.no_grad():
        right = (model(images(unseen)).argmax(1).numpy() == labels[unseen]).sum()
    onnx.save(exported(model), MODELS / "digits.onnx")
    np.savez_compressed(
        MODELS / "digits.npz",
        images=pixels[unseen],
        labels=labels[unseen],
        calibration=pixels[seen[:CALIBRATION]],
    )
    print(f"{right} of {HELD_OUT} images that it had not seen")


if __name__ == "__main__":
    main()
