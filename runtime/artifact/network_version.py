"""A digest by which the code of a whole network and its artifact know each other."""

from __future__ import annotations

from hashlib import sha256

import msgspec

from tandem.runtime.artifact.manifest import Manifest
from tandem.runtime.native.network_state import state_version


def network_version(manifest: Manifest) -> str:
    """A digest of what the code of a network depends on beside its kernels."""
    parts = (
        *(manifest.tensors, manifest.steps, manifest.functions, manifest.arena_bytes),
        manifest.forms,
    )
    return sha256(state_version().encode() + msgspec.msgpack.encode(parts)).hexdigest()
