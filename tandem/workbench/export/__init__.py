"""Networks as C libraries: for other programs, and for other processors."""

from tandem.workbench.export.library import Exported, export_library
from tandem.workbench.export.network import export_compiled, export_network

__all__ = ["Exported", "export_compiled", "export_library", "export_network"]
