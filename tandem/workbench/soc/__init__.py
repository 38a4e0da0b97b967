"""Systems on chip: an accelerator, a processor, and firmware that runs a network."""

from tandem.workbench.soc.console import SocOutput, SocRun
from tandem.workbench.soc.cores import PROCESSORS, SocProcessor, soc_processor
from tandem.workbench.soc.gateware import GatewareOptions, SocGateware
from tandem.workbench.soc.make import Soc, SocOptions, make_soc

__all__ = [
    "PROCESSORS",
    "GatewareOptions",
    "Soc",
    "SocGateware",
    "SocOptions",
    "SocOutput",
    "SocProcessor",
    "SocRun",
    "make_soc",
    "soc_processor",
]
