"""ONNX models as graphs.

`read_model` reads a file or bytes, `import_model` converts the model to a graph. The table
`operators.CONVERTERS` has the supported operators and versions, also for `docs/operators.md`.
"""

from compiler.frontends.onnx.importer import Imported, import_model
from compiler.frontends.onnx.inputs import input_names
from compiler.frontends.onnx.reading import external_files, read_model

__all__ = ["Imported", "external_files", "import_model", "input_names", "read_model"]
