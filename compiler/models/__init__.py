"""Built-in networks, as ONNX models.

The weights of `digits` and `tinylm` were trained; `tandem train digits` trains others, with the
same images, and `scripts/train_tinylm.py` those of `tinylm`. The other networks are made with
random weights.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from onnx import ModelProto

from tandem.compiler.frontends.onnx.reading import read_model
from tandem.compiler.models.bert import bert, bert_tiny
from tandem.compiler.models.dcgan import dcgan, dcgan_tiny
from tandem.compiler.models.dqn import dqn, dqn_tiny
from tandem.compiler.models.gpt2 import gpt2, gpt2_decode, gpt2_decode_tiny, gpt2_tiny
from tandem.compiler.models.llama import llama, llama_decode, llama_decode_tiny, llama_tiny
from tandem.compiler.models.lstm import lstm, lstm_tiny
from tandem.compiler.models.mobilenet import (
    mobilenet_v1,
    mobilenet_v1_tiny,
    mobilenet_v2,
    mobilenet_v2_tiny,
)
from tandem.compiler.models.resnet import resnet18, resnet34, resnet50
from tandem.compiler.models.tinylm import tinylm
from tandem.compiler.models.vit import vit, vit_tiny

__all__ = ["BUILT_IN", "built_in", "resnet18", "resnet34", "resnet50"]


def _digits(_: int) -> ModelProto:
    return read_model(Path(__file__).parent / "digits.onnx")


BUILT_IN: Final[Mapping[str, Callable[[int], ModelProto]]] = MappingProxyType(
    {
        "digits": _digits,
        "resnet18": resnet18,
        "resnet34": resnet34,
        "resnet50": resnet50,
        "mobilenet-v1": mobilenet_v1,
        "mobilenet-v1-tiny": mobilenet_v1_tiny,
        "mobilenet-v2": mobilenet_v2,
        "mobilenet-v2-tiny": mobilenet_v2_tiny,
        "dqn": dqn,
        "dqn-tiny": dqn_tiny,
        "dcgan": dcgan,
        "dcgan-tiny": dcgan_tiny,
        "lstm": lstm,
        "lstm-tiny": lstm_tiny,
        "vit": vit,
        "vit-tiny": vit_tiny,
        "bert": bert,
        "bert-tiny": bert_tiny,
        "gpt2": gpt2,
        "gpt2-tiny": gpt2_tiny,
        "gpt2-decode": gpt2_decode,
        "gpt2-decode-tiny": gpt2_decode_tiny,
        "llama": llama,
        "llama-tiny": llama_tiny,
        "llama-decode": llama_decode,
        "llama-decode-tiny": llama_decode_tiny,
        "tinylm": tinylm,
    }
)
"""Functions from the seed of random weights to the model, by name."""


def built_in(name: str, seed: int = 0) -> ModelProto:
    """The built-in model of this name; KeyError if there is none."""
    return BUILT_IN[name](seed)
