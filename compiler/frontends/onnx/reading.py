"""ONNX models from files and bytes, checked by the `onnx` package."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Iterator
from math import prod
from pathlib import Path
from typing import Final, TypeVar

import onnx
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError, Message
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, defs, external_data_helper, inliner

from tandem.base.input_files import open_input, read_input
from tandem.base.paths import AnyPath
from tandem.compiler.errors import FrontendError

T = TypeVar("T")
MODEL_BYTES: Final = (1 << 31) - 1
"""Limit of a model's file, which is that of Protocol Buffers."""
WEIGHT_BYTES: Final = 1 << 34
"""Limit of a file of a model's external data."""


def read_model(source: AnyPath | bytes | ModelProto) -> ModelProto:
    """A model from a file, with its external data, or from bytes.

    `import_model` checks that the model is legal.

    Raises
    ------
    FrontendError
        The file or its external data is missing, or the file is no ONNX model.
    """
    if isinstance(source, ModelProto):
        return source
    if isinstance(source, bytes):
        return _parsed(source, "the model")
    path = Path(source)
    try:
        content = read_input(path, MODEL_BYTES)
    except (OSError, ValueError) as error:
        raise FrontendError(f"{path}: {getattr(error, 'strerror', None) or error}") from error
    model = _parsed(content, str(path))
    try:
        _check_external_data(model, path.parent)
        external_data_helper.load_external_data_for_model(model, str(path.parent))
    except (OSError, ValueError, TypeError, onnx.checker.ValidationError) as error:
        raise FrontendError(
            f"{path}: what lies in other files cannot be read: {in_one_line(error)}"
        ) from error
    return model


def external_files(path: AnyPath) -> tuple[Path, ...]:
    """The other files that the model in a file keeps tensors in; none if it is no model."""
    path = Path(path)
    try:
        model = _parsed(read_input(path, MODEL_BYTES), str(path))
        names = {
            entry.value
            for tensor in _external_tensors(model)
            for entry in tensor.external_data
            if entry.key == "location"
        }
        return tuple(path.parent / name for name in sorted(names))
    except (OSError, ValueError, FrontendError):
        return ()


def _external_tensors(message: Message) -> Iterator[TensorProto]:
    """All tensors in a message that keep their values in other files."""
    for field, value in message.ListFields():
        if field.type != FieldDescriptor.TYPE_MESSAGE:
            continue
        for element in (value,) if isinstance(value, Message) else value:
            if not isinstance(element, TensorProto):
                yield from _external_tensors(element)
            elif external_data_helper.uses_external_data(element):
                yield element


def _check_external_data(model: ModelProto, folder: Path) -> None:
    """Raise `OSError` unless the files are regular ones of which `WEIGHT_BYTES` in all are read."""
    total = 0
    for tensor in _external_tensors(model):
        told = {entry.key: entry.value for entry in tensor.external_data}
        location = Path(told.get("location", ""))
        path = folder / location
        if location.is_absolute() or ".." in location.parts:
            raise OSError(errno.EACCES, "the file is not in the model's folder", str(path))
        with open_input(path, WEIGHT_BYTES) as file:
            size = os.fstat(file.fileno()).st_size
        # `onnx` checks that this part lies in the file.
        total += abs(int(told["length"])) if "length" in told else size
        if total > WEIGHT_BYTES:
            reason = f"the tensors in it have more than {WEIGHT_BYTES:,} bytes in all"
            raise OSError(errno.EFBIG, reason, str(path))


def _parsed(content: bytes, what: str) -> ModelProto:
    model = ModelProto()
    try:
        model.ParseFromString(content)
    except DecodeError as error:
        raise FrontendError(f"{what} is no ONNX model, or not all of one") from error
    if not model.HasField("graph") or not model.opset_import or not model.ir_version:
        raise FrontendError(f"{what} is no ONNX model: it has no graph, or no version")
    return model


MAX_SHAPE_ELEMENTS: Final = 1 << 12
"""The maximum number of elements of a constant that may determine shapes."""


def opsets(model: ModelProto) -> dict[str, int]:
    """The opset version of each domain.

    Raises
    ------
    FrontendError
        The version of a domain is newer than the `onnx` package, or no version.
    """
    found = {
        "" if opset.domain == "ai.onnx" else opset.domain: opset.version
        for opset in model.opset_import
    }
    newest = defs.onnx_opset_version()
    if not 1 <= found.get("", 1) <= newest:
        raise FrontendError(f"the model is of opset {found['']}: 1 to {newest} are supported")
    return found


def without_weights(model: ModelProto) -> ModelProto:
    """The model with large initialisers replaced by inputs, and functions inlined, for checks."""
    _readable(model)
    graph = model.graph
    small = ModelProto(
        ir_version=model.ir_version,
        opset_import=model.opset_import,
        functions=model.functions,
    )
    own = small.graph
    own.name = graph.name
    for field in ("node", "input", "output", "value_info", "sparse_initializer"):
        getattr(own, field).extend(getattr(graph, field))
    declared = {each.name for each in graph.input}
    for tensor in graph.initializer:
        if prod(tensor.dims) <= MAX_SHAPE_ELEMENTS:
            own.initializer.append(tensor)
        elif tensor.name not in declared:
            own.input.append(
                onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims)
            )
    if not model.functions:
        return small
    return guarded(lambda: inliner.inline_local_functions(small))


def all_graphs(graph: GraphProto) -> Iterator[GraphProto]:
    """The graph, and the graphs in the attributes of its nodes, at any depth."""
    yield graph
    yield from graphs_of(graph.node)


def all_nodes(nodes: Iterable[NodeProto]) -> Iterator[NodeProto]:
    """The nodes, and the nodes of graphs in their attributes, at any depth."""
    for node in nodes:
        yield node
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs):
                yield from all_nodes(inner.node)


def graphs_of(nodes: Iterable[NodeProto]) -> Iterator[GraphProto]:
    """The graphs in the attributes of nodes, at any depth."""
    for node in all_nodes(nodes):
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs):
                if inner.node or inner.output:
                    yield inner


def in_one_line(error: Exception) -> str:
    """The message of an error joined to one line; messages of `onnx` have several lines."""
    return " ".join(str(error).split())


def _readable(model: ModelProto) -> None:
    """Raise a `FrontendError` for strings that are not UTF-8, which protobuf decodes on access."""
    try:
        whole = all(isinstance(each, str) for each in _texts(model))
    except UnicodeDecodeError:
        whole = False
    if not whole:
        raise FrontendError("the model is not legal: a name in it is no text")


def _texts(message: Message) -> Iterator[object]:
    """All strings in a message."""
    for field, value in message.ListFields():
        if field.type not in (FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_MESSAGE):
            continue
        for element in (value,) if isinstance(value, str | bytes | Message) else value:
            if field.type == FieldDescriptor.TYPE_STRING:
                yield element
            else:
                yield from _texts(element)


def guarded(check: Callable[[], T]) -> T:
    """The result of a call of the `onnx` package, whose errors become a `FrontendError`."""
    try:
        return check()
    except (
        onnx.checker.ValidationError,
        onnx.shape_inference.InferenceError,
        # Raised by the C++ code of `onnx` for inputs that the code does not check.
        RuntimeError,
        ValueError,
        TypeError,
        IndexError,
        OverflowError,
    ) as error:
        raise FrontendError(f"the model is not legal: {in_one_line(error)}") from error
