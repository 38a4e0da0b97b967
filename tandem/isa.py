"""The instruction set, from Python: `hw.isa` by its short name."""

from tandem.hw.isa import *  # noqa: F403 - all of its names, and no others
from tandem.hw.isa import __all__ as __all__
