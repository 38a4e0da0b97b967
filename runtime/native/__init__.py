"""Native code: object code as a value, and loaded as a callable function.

The compiler is not needed: object code holds its target machine and its parameters.
"""

from tandem.runtime.native.function import NativeFunction, load
from tandem.runtime.native.network_object import NETWORK, NetworkObject
from tandem.runtime.native.objects import ALIGNMENT, ObjectCode, Parameter
from tandem.runtime.native.pool import ThreadPool
from tandem.runtime.native.pool_object import POOL, PoolObject

__all__ = [
    "ALIGNMENT",
    "NETWORK",
    "POOL",
    "NativeFunction",
    "NetworkObject",
    "ObjectCode",
    "Parameter",
    "PoolObject",
    "ThreadPool",
    "load",
]
