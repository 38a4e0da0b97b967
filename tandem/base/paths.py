"""Paths as users give them."""

from __future__ import annotations

import os
from typing import TypeAlias

AnyPath: TypeAlias = str | os.PathLike[str]
"""The path of a file or folder, as `open` takes it."""
