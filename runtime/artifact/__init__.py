"""Artifacts: compiled networks, as values in memory and as files.

An artifact file is a zip archive with these members, all uncompressed:

    manifest.json       `Manifest`: tensors, steps, provenance
    constants.bin       weights, each aligned to 64 bytes
    code/object/NAME    native code, a `runtime.native.ObjectCode`
    code/stream/NAME    an instruction stream of an accelerator, a `StreamCode`
    code/rows/NAME      places of rows in a tensor, a `RowsCode`
    code/opencl/NAME    kernels of a GPU in OpenCL C, an `OpenClCode`
    code/ptx/NAME       kernels of a GPU in PTX, a `PtxCode`
    code/KIND/NAME      code of another kind, for a device of one's own
    fallback.tandem     an artifact of the same network that needs only the CPU; optional

The archive's comment ends with the SHA-256 of all bytes before it. A changed byte is thus detected
before any member is decoded, and any zip tool can open the file.
"""

from tandem.runtime.artifact.artifact import Artifact
from tandem.runtime.artifact.code import Code
from tandem.runtime.artifact.counts import cut
from tandem.runtime.artifact.files import (
    KINDS,
    from_bytes,
    is_artifact,
    read_artifact,
    to_bytes,
    write_artifact,
)
from tandem.runtime.artifact.instructions import (
    MAX_CALLS,
    Branch,
    BranchForm,
    CallFunction,
    Form,
    FunctionCode,
    Instruction,
    Jump,
    MakeCell,
    Move,
    MoveRow,
    ReadCell,
    Return,
    RunStep,
    TailCall,
)
from tandem.runtime.artifact.manifest import (
    HOST,
    Arena,
    AxisScale,
    ConstantPlace,
    Count,
    InPlace,
    Input,
    Kept,
    Manifest,
    Output,
    Place,
    Port,
    Provenance,
    Reference,
    Scale,
    Step,
    StoredWeights,
    Tensor,
)
from tandem.runtime.artifact.padding import PaddedAxis
from tandem.runtime.artifact.rows import RowsCode
from tandem.runtime.artifact.stream import Layer, PlacedTensor, StreamCode
from tandem.runtime.artifact.streams import config_of, streams_of
from tandem.runtime.artifact.windows import Windows

__all__ = [
    "HOST",
    "KINDS",
    "MAX_CALLS",
    "Arena",
    "Artifact",
    "AxisScale",
    "Branch",
    "BranchForm",
    "CallFunction",
    "Code",
    "ConstantPlace",
    "Count",
    "Form",
    "FunctionCode",
    "InPlace",
    "Input",
    "Instruction",
    "Jump",
    "Kept",
    "Layer",
    "MakeCell",
    "Manifest",
    "Move",
    "MoveRow",
    "Output",
    "PaddedAxis",
    "Place",
    "PlacedTensor",
    "Port",
    "Provenance",
    "ReadCell",
    "Reference",
    "Return",
    "RowsCode",
    "RunStep",
    "Scale",
    "Step",
    "StoredWeights",
    "StreamCode",
    "TailCall",
    "Tensor",
    "Windows",
    "config_of",
    "cut",
    "from_bytes",
    "is_artifact",
    "read_artifact",
    "streams_of",
    "to_bytes",
    "write_artifact",
]
