"""Artifacts: compiled networks, as values in memory and as files.

An artifact file is a zip archive with these members, all uncompressed:

    manifest.json       `Manifest`: tensors, steps, provenance
    config.json         the accelerator's configuration; absent if only the CPU is used
    constants.bin       weights, each aligned to 64 bytes
    code/NAME           native code, a `runtime.native.ObjectCode`
    streams/NAME        instruction streams of the accelerator, each a `StreamCode`
    fallback.tandem     an artifact of the same network that needs only the CPU; optional

The archive's comment ends with the SHA-256 of all bytes before it. A changed byte is thus detected
before any member is decoded, and any zip tool can open the file.
"""

from runtime.artifact.artifact import Artifact
from runtime.artifact.counts import cut
from runtime.artifact.files import from_bytes, is_artifact, read_artifact, to_bytes, write_artifact
from runtime.artifact.instructions import (
    MAX_CALLS,
    Branch,
    CallFunction,
    FunctionCode,
    Instruction,
    Jump,
    Move,
    Return,
    RunStep,
    TailCall,
)
from runtime.artifact.manifest import (
    Arena,
    Constant,
    Count,
    Input,
    KernelCall,
    Manifest,
    Output,
    Port,
    Provenance,
    Scale,
    Step,
    StreamCall,
    Tensor,
)
from runtime.artifact.padding import PaddedAxis
from runtime.artifact.stream import Layer, PlacedTensor, StreamCode

__all__ = [
    "MAX_CALLS",
    "Arena",
    "Artifact",
    "Branch",
    "CallFunction",
    "Constant",
    "Count",
    "FunctionCode",
    "Input",
    "Instruction",
    "Jump",
    "KernelCall",
    "Layer",
    "Manifest",
    "Move",
    "Output",
    "PaddedAxis",
    "PlacedTensor",
    "Port",
    "Provenance",
    "Return",
    "RunStep",
    "Scale",
    "Step",
    "StreamCall",
    "StreamCode",
    "TailCall",
    "Tensor",
    "cut",
    "from_bytes",
    "is_artifact",
    "read_artifact",
    "to_bytes",
    "write_artifact",
]
