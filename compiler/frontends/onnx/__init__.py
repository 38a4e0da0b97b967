"""ONNX models as graphs.

`read_model` reads a file or bytes, `import_model` makes a graph of it. Which operators of which
versions are supported is one table (`operators.CONVERTERS`); `docs/operators.md` is made of it.
"""

from compiler.frontends.onnx.importer import Imported, import_model
from compiler.frontends.onnx.reading import read_model

__all__ = ["Imported", "import_model", "read_model"]
