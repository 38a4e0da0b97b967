"""Memory and time of a step of training under limits of memory.

    python -m tandem.scripts.bench.training_memory

Of each network the memory of a step without a limit, and with limits from that
down to the least that is found: what the plan takes, how many kernels run again, and the time that
the processor spends on a step, the least of several. Weights after a step are compared bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from time import process_time
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from tandem.workbench.errors import TrainingError
from tandem.workbench.training.losses import TARGET, Loss
from tandem.workbench.training.samples import ArraySamples
from tandem.workbench.training.tinylm import OPTIONS, first_weights, tinylm_trainable
from tandem.workbench.training.trainable import Trainable, trainable
from tandem.workbench.training.trainer import Trainer, TrainingOptions

REPEATS = 5


class Model:
    """An ONNX model under construction."""

    def __init__(self, *shape: int | str) -> None:
        self.random = np.random.default_rng(0)
        self.nodes: list[NodeProto] = []
        self.weights: list[TensorProto] = []
        self.given = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)

    def add(self, operator: str, *names: str, **attributes: Any) -> str:
        """A node; the name of its result."""
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, names, [name], **attributes))
        return name

    def weight(self, *shape: int) -> str:
        """A weight with the variance of its inputs."""
        name = f"w{len(self.weights)}"
        values = self.random.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))
        self.weights.append(numpy_helper.from_array(values.astype(np.float32), name))
        return name

    def conv(self, x: str, inputs: int, outputs: int, size: int, stride: int = 1) -> str:
        """A convolution with borders."""
        weight, border = self.weight(outputs, inputs, size, size), size // 2
        return self.add("Conv", x, weight, strides=[stride] * 2, pads=[border] * 4)

    def done(self, result: str, *shape: int | str) -> ModelProto:
        """The model."""
        output = helper.make_tensor_value_info(result, TensorProto.FLOAT, shape)
        graph = helper.make_graph(self.nodes, "net", [self.given], [output], self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def residual() -> ModelProto:
    """MLPerf Tiny's ResNet-8 without normalisation: images of 32 x 32."""
    model = Model("N", 3, 32, 32)
    x = model.add("Relu", model.conv("x", 3, 16, 3))
    for inputs, outputs, stride in ((16, 16, 1), (16, 32, 2), (32, 64, 2)):
        first = model.add("Relu", model.conv(x, inputs, outputs, 3, stride))
        second = model.conv(first, outputs, outputs, 3)
        skip = x if stride == 1 else model.conv(x, inputs, outputs, 1, stride)
        x = model.add("Relu", model.add("Add", second, skip))
    pooled = model.add("Flatten", model.add("GlobalAveragePool", x))
    return model.done(model.add("Gemm", pooled, model.weight(10, 64), transB=1), "N", 10)


def autoencoder() -> ModelProto:
    """MLPerf Tiny's autoencoder without normalisation: vectors of 640."""
    sizes = (640, 128, 128, 128, 128, 8, 128, 128, 128, 128, 640)
    model, x = Model("N", 640), "x"
    for at, (inputs, outputs) in enumerate(pairwise(sizes)):
        x = model.add("Gemm", x, model.weight(outputs, inputs), transB=1)
        x = x if at == len(sizes) - 2 else model.add("Relu", x)
    return model.done(x, "N", 640)


def cases() -> Iterator[tuple[str, Trainable, ArraySamples, TrainingOptions]]:
    """Networks with samples for a batch."""
    random = np.random.default_rng(0)
    plain = TrainingOptions(threads=1, epochs=None, steps=10_000)
    images = random.standard_normal((32, 3, 32, 32)).astype(np.float32)
    samples = ArraySamples({"x": images, TARGET: random.integers(0, 10, 32)})
    yield "ResNet-8, 32 images", trainable(residual(), 32), samples, replace(plain, batch=32)
    vectors = random.standard_normal((512, 640)).astype(np.float32)
    samples = ArraySamples({"x": vectors, TARGET: vectors})
    options = replace(plain, batch=512, loss=Loss.MSE)
    yield "autoencoder, 512 vectors", trainable(autoencoder(), 512), samples, options
    lm = tinylm_trainable(16)
    (name,) = lm.inputs.values()
    tokens = random.integers(0, 256, (16, 129))
    samples = ArraySamples({name: tokens[:, :-1].copy(), TARGET: tokens[:, 1:].copy()})
    yield "tinylm, 16 x 128 bytes", lm, samples, replace(OPTIONS, batch=16, threads=1)


def measured(trainer: Trainer) -> float:
    """The milliseconds of a step."""
    times = []
    for _ in range(REPEATS):
        begun = process_time()
        trainer._advance(0.0)
        times.append(process_time() - begun)
    return 1e3 * min(times)


def main() -> None:
    """Print a table of each network."""
    for title, model, samples, options in cases():
        weights = first_weights(model) if "tinylm" in title else model.weights

        def made(
            limit: int | None,
            model: Trainable = model,
            samples: ArraySamples = samples,
            options: TrainingOptions = options,
            weights: dict[str, np.ndarray] = dict(weights),  # noqa: B006
        ) -> Trainer:
            given = replace(options, memory_limit=limit)
            return Trainer(model.function, weights, samples, given)

        whole = made(None)
        run = whole.memory.run
        try:
            made(1)
            raise AssertionError("a step in a byte")
        except TrainingError as error:
            least = int(str(error).split(": ")[1].split(" ")[0].replace(",", ""))
        print(f"{title}: {run}")
        print("| limit | memory | kernels | again | ms |")
        print("|---|---|---|---|---|")
        time = measured(whole)
        print(f"| - | {run.total:,} | {whole.memory.steps} | 0 | {time:.1f} |")
        for part in (0.75, 0.5, 0.25, 0.0):
            limit = least + int(part * (run.total - least))
            trainer = made(limit)
            memory = trainer.memory
            assert memory.run.total <= limit
            time = measured(trainer)
            for name, array in trainer.weights.items():
                np.testing.assert_array_equal(array, whole.weights[name])
            again = f"{memory.steps} | {memory.again} | {time:.1f}"
            print(f"| {limit:,} | {memory.run.total:,} | {again} |", flush=True)


if __name__ == "__main__":
    main()
