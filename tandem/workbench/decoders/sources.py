"""Models that are decoders: built in, or ONNX files with inputs for a cache."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NoReturn

from onnx import ModelProto

from tandem.base.input_files import read_input
from tandem.compiler.driver.compile_onnx import import_network
from tandem.compiler.frontends.onnx import Imported, StatedShape, input_names, read_model
from tandem.compiler.frontends.onnx.reading import MODEL_BYTES
from tandem.compiler.models import BUILT_IN
from tandem.compiler.models.decoders import DECODERS, DecoderModel
from tandem.runtime.decoder import CachePort, DecoderError, DecoderPorts
from tandem.workbench.errors import ModelError
from tandem.workbench.models import as_text

_PAST: Final = "past_key_values."
_PRESENT: Final = "present."
_IDS, _POSITIONS, _MASK, _LOGITS = "input_ids", "position_ids", "attention_mask", "logits"


@dataclass(frozen=True, slots=True, eq=False)
class DecoderSource:
    """A decoder that is not compiled yet.

    Attributes
    ----------
    digest
        SHA-256 of the model's file; None for a built-in model.
    seed
        Of the random weights of a built-in model.
    model
        A function from numbers of tokens, and of rows of the cache, to an ONNX model.
    longest
        The most tokens of a text; None if the model does not say.
    vocabulary
        The number of words; None if the model does not say.
    """

    name: str
    digest: str | None
    seed: int
    ports: DecoderPorts
    longest: int | None
    vocabulary: int | None
    model: Callable[[int, int], ModelProto]

    def imported(self, tokens: int, rows: int) -> Imported:
        """The decoder as a graph for some tokens behind a cache of some rows.

        Raises
        ------
        CompilerError
            Something in the model is not supported; it has other extents.
        """
        ports = self.ports
        shapes: dict[str, tuple[int | None, ...]] = {
            ports.ids: (1, tokens),
            ports.positions: (1, tokens),
            ports.mask: (1, rows + tokens),
            **{each.past: (1, None, rows, None) for each in ports.caches},
        }
        source = f"{tokens} tokens behind {rows}"
        stated = [StatedShape(name, extents, source) for name, extents in shapes.items()]
        return import_network(self.model(tokens, rows), stated=stated)


def open_decoder(model: str | Path | ModelProto | DecoderModel, seed: int = 0) -> DecoderSource:
    """The decoder of a built-in name, a file or a model in memory.

    Raises
    ------
    DecoderError
        The model is no decoder.
    ModelError
        A text that is neither a built-in name nor a file.
    FrontendError, OSError
        The file cannot be read, or holds no model.
    """
    if isinstance(model, str) and model in DECODERS:
        model = DECODERS[model]
    if isinstance(model, DecoderModel):
        return _built_in(model, seed)
    if isinstance(model, ModelProto):
        name = model.graph.name or "model"
        return _exported(name, read_model(model), None)
    if isinstance(model, str) and model in BUILT_IN:
        raise DecoderError(f"{model} is no decoder; built-in ones are {', '.join(DECODERS)}")
    path = Path(model)
    if not path.suffix and not path.exists():
        known = ", ".join(DECODERS)
        raise ModelError(
            f"{str(model)!r} is neither a decoder that is built in ({known}) nor a file"
        )
    proto = read_model(path)
    digest = hashlib.sha256(read_input(path, MODEL_BYTES)).hexdigest()
    return _exported(as_text(path.name), proto, digest)


def _built_in(model: DecoderModel, seed: int) -> DecoderSource:
    caches = [
        CachePort(f"{_PAST}{layer}.{part}", f"{_PRESENT}{layer}.{part}")
        for layer in range(model.sizes.layers)
        for part in ("key", "value")
    ]
    ports = DecoderPorts(_IDS, _POSITIONS, _MASK, _LOGITS, tuple(caches))
    return DecoderSource(
        model.name,
        None,
        seed,
        ports,
        model.context,
        model.sizes.vocabulary,
        lambda tokens, rows: model.model(tokens, rows, seed),
    )


def _exported(name: str, proto: ModelProto, digest: str | None) -> DecoderSource:
    """The decoder of an export that has the usual names."""
    inputs, outputs = input_names(proto), [each.name for each in proto.graph.output]
    pasts = [each for each in inputs if each.startswith(_PAST)]
    if not pasts:
        _refuse(name, f"it has no inputs {_PAST}*, but {_listed(inputs)}")
    caches = [CachePort(past, _PRESENT + past.removeprefix(_PAST)) for past in pasts]
    ports = DecoderPorts(_IDS, _POSITIONS, _MASK, _LOGITS, tuple(caches))
    if missing := [each for each in ports.inputs if each not in inputs]:
        _refuse(name, f"it has no input {_listed(missing)}")
    if others := [each for each in inputs if each not in ports.inputs]:
        _refuse(name, f"it has inputs that are not a decoder's: {_listed(others)}")
    wanted = [_LOGITS, *(each.present for each in caches)]
    if missing := [each for each in wanted if each not in outputs]:
        _refuse(name, f"it has no output {_listed(missing)}")
    scores = next(each for each in proto.graph.output if each.name == _LOGITS)
    words = [each.dim_value for each in scores.type.tensor_type.shape.dim][-1:]
    vocabulary = words[0] or None if words else None
    return DecoderSource(name, digest, 0, ports, None, vocabulary, lambda tokens, rows: proto)


def _refuse(name: str, reason: str) -> NoReturn:
    raise DecoderError(f"{name} is no decoder: {reason}")


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:4])
    return f"{shown} and {len(names) - 4} more" if len(names) > 4 else shown or "none"
