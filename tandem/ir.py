"""The loop language: `compiler.ir` by its short name."""

from tandem.compiler.ir import *  # noqa: F403 - all of its names, and no others
from tandem.compiler.ir import __all__ as __all__
