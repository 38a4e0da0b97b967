"""The tensor language and its schedules: `compiler.te` by its short name."""

from tandem.compiler.te import *  # noqa: F403 - all of its names, and no others
from tandem.compiler.te import __all__ as __all__
