"""ONNX models as graphs.

`read_model` reads a file or bytes, `import_model` converts the model to a graph. The table
`operators.CONVERTERS` has the supported operators and versions, also for `docs/operators.md`.
"""

from tandem.compiler.frontends.onnx.bindings import StatedShape, has_open_extents, stated_by_arrays
from tandem.compiler.frontends.onnx.importer import Imported, import_model
from tandem.compiler.frontends.onnx.inputs import input_names, input_types
from tandem.compiler.frontends.onnx.reading import external_files, read_model

__all__ = [
    "Imported",
    "StatedShape",
    "external_files",
    "has_open_extents",
    "import_model",
    "input_names",
    "input_types",
    "read_model",
    "stated_by_arrays",
]
