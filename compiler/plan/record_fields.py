"""Fields of workloads that records leave out."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

UNLESS_NONE: Final[Mapping[str, bool]] = MappingProxyType({"unless_none": True})
"""The metadata of a field that records have only where it is not None: it came later than them."""
