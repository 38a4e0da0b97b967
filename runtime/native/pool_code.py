"""The native functions of thread pools, in this process."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from ctypes import CFUNCTYPE, c_int64, c_void_p
from dataclasses import dataclass
from typing import Any

from tandem.runtime.native.linked import linked
from tandem.runtime.native.pool_object import PoolObject, make_pool_object, pool_version
from tandem.runtime.native.pool_text import SYMBOLS
from tandem.runtime.native.processor import this_triple

# The code that threads run is made once, by one of them, and never dropped.
_LINKING = threading.Lock()
_kept: list[PoolCode] = []


@dataclass(frozen=True)
class PoolCode:
    """The native functions of pools.

    Attributes
    ----------
    launch
        The address of `launch(call, task, closure, iterations)`, which returns when all iterations
        have run.
    help
        Of (pool, worker): runs parts of the pool's loops as worker 1 or above, until `dismiss`.
    dismiss
        Of (pool): ends the pool's helpers.
    """

    launch: int
    help: Any
    dismiss: Any
    library: Any


def pool_code(offered: Iterable[PoolObject] = ()) -> PoolCode:
    """The native code of pools, which stays in memory: threads run it as long as Python runs.

    Parameters
    ----------
    offered
        Machine code that may be used at the first call, if it is of this version and processor;
        otherwise LLVM makes it.

    Raises
    ------
    NativeCodeError
        LLVM is needed, and is not installed.
    """
    with _LINKING:
        if not _kept:
            _kept.append(_linked(offered))
        return _kept[0]


def _linked(offered: Iterable[PoolObject]) -> PoolCode:
    triple = this_triple()
    version = pool_version(triple)
    fitting = (each for each in offered if (each.triple, each.version) == (triple, version))
    chosen = next(fitting, None) or make_pool_object(triple)
    loaded = linked(triple, chosen.code, SYMBOLS)
    launch, help_, dismiss = (loaded.addresses[name] for name in SYMBOLS)
    return PoolCode(
        launch=launch,
        help=CFUNCTYPE(None, c_void_p, c_int64)(help_),
        dismiss=CFUNCTYPE(None, c_void_p)(dismiss),
        library=loaded,
    )
