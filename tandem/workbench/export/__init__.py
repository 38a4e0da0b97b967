"""Networks as C libraries: for other programs, and for other processors."""

from tandem.workbench.export.blobs import Format
from tandem.workbench.export.library import Exported, export_library
from tandem.workbench.export.names import check_name
from tandem.workbench.export.network import compiled_with_inputs, export_compiled, export_network
from tandem.workbench.export.options import LibraryOptions

__all__ = [
    "Exported",
    "Format",
    "LibraryOptions",
    "check_name",
    "compiled_with_inputs",
    "export_compiled",
    "export_library",
    "export_network",
]
