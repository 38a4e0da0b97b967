"""Artifacts: compiled networks as values, and as files.

A file is a zip archive whose members are stored as they are:

    manifest.json       `Manifest`: tensors, steps, provenance
    config.json         the accelerator's configuration; absent if only the CPU is used
    constants.bin       weights, each at a multiple of 64 bytes
    code/NAME           native code, a `runtime.native.ObjectCode`
    streams/NAME        instruction streams of the accelerator, each a `StreamCode`
    fallback.tandem     the same network for the CPU alone, an artifact too

and whose comment is the SHA-256 of everything before it. Any changed byte is thus noticed before
any part is decoded, and any tool for archives can open the file.
"""

from runtime.artifact.artifact import Artifact
from runtime.artifact.files import from_bytes, is_artifact, read_artifact, to_bytes, write_artifact
from runtime.artifact.manifest import (
    Arena,
    Constant,
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
from runtime.artifact.stream import Layer, PlacedTensor, StreamCode

__all__ = [
    "Arena",
    "Artifact",
    "Constant",
    "Input",
    "KernelCall",
    "Layer",
    "Manifest",
    "Output",
    "PlacedTensor",
    "Port",
    "Provenance",
    "Scale",
    "Step",
    "StreamCall",
    "StreamCode",
    "Tensor",
    "from_bytes",
    "is_artifact",
    "read_artifact",
    "to_bytes",
    "write_artifact",
]
