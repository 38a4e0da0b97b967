"""What quantisation makes of random networks stays what it was: the integer graph, its scales, and
why values stay in real numbers.

Nothing is computed: what a computation gives is drawn by the digest of its operands, so that scales
do not depend on the host.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from random import Random

import numpy as np

from tandem.compiler.errors import QuantisationError
from tandem.compiler.graph import Function
from tandem.compiler.graph.evaluate import Array, Computation, Runner
from tandem.compiler.graph.printer import text
from tandem.compiler.graph.visit import all_lets, functions
from tandem.compiler.machines.defaults import compile_options
from tandem.compiler.quantise.network import quantise_network
from tandem.compiler.quantise.options import Method, Mode, QuantiseOptions
from tandem.compiler.quantise.samples import synthetic
from tests.support.compiler.plan.accelerated_networks import accelerated_network
from tests.support.compiler.quantise.random_token_networks import token_network
from tests.support.compiler.rounded_text import rounded_text

DRAWS = 48
"""Networks of tokens, and half as many of images."""
EXACT_ON = compile_options().exact_on


class _Drawn(Runner):
    """Results of the right shapes, drawn by the digest of the operands."""

    def prepare(self, computations: Iterable[Computation]) -> None:
        """Nothing: nothing is compiled."""

    def __call__(self, computation: Computation, arrays: Sequence[Array]) -> Sequence[Array]:
        outputs, _ = computation.tensors()
        digest = sha256(b"".join(np.ascontiguousarray(array).tobytes() for array in arrays))
        rng = np.random.default_rng(list(digest.digest()[:8]))
        scale = 10 ** rng.uniform(-1, 1)
        return [(scale * rng.normal(size=each.shape)).astype(each.dtype.numpy) for each in outputs]


def _options(random: Random, function: Function) -> QuantiseOptions:
    names = [let.name for let in function.body.lets if let.name != "results"]
    kept = random.sample(names, random.choice((0, 0, 0, 1, 2)))
    return QuantiseOptions(
        mode=random.choice((Mode.MULTIPLIER, Mode.MULTIPLIER, Mode.POW2)),
        method=random.choice([*Method]),
        per_channel=random.random() < 0.7,
        keep_float=tuple(kept),
    )


def _quantised(function: Function, random: Random) -> str:
    options = _options(random, function)
    try:
        found = quantise_network(function, synthetic(function), _Drawn(), options, EXACT_ON)
    except QuantisationError as error:
        return f"{text(function)}\n{error}"
    given = (options.mode.value, options.method.value, options.per_channel, options.keep_float)
    lines = [f"{given}", text(function), text(found.function)]
    for one in functions(found.function):
        for let in all_lets(one.body):
            lines += [f"{let.name} {let.source}: {reason}" for reason in let.reasons]
    lines += [f"{name} {of} {scale}" for name, (of, scale) in found.scales.items()]
    return rounded_text("\n".join(lines))


def test_tokens(recorded: Callable[[str, Sequence[str]], None]) -> None:
    drawn = [token_network(np.random.default_rng([seed, 1])) for seed in range(DRAWS)]
    recorded(
        "recorded/quantise/tokens.txt",
        [_quantised(each, Random(f"tokens {seed}")) for seed, each in enumerate(drawn)],
    )


def test_images(recorded: Callable[[str, Sequence[str]], None]) -> None:
    drawn = [
        accelerated_network(np.random.default_rng([seed, 2]), 12, upsampling=seed % 2 == 0)
        for seed in range(DRAWS // 2)
    ]
    recorded(
        "recorded/quantise/images.txt",
        [_quantised(each, Random(f"images {seed}")) for seed, each in enumerate(drawn)],
    )
