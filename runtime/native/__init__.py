"""Native code: object code as a value, and loaded as a callable function.

The compiler is not needed: object code holds its target machine and its parameters.
"""

from runtime.native.function import NativeFunction, load
from runtime.native.host import Host
from runtime.native.objects import ALIGNMENT, ObjectCode, Parameter
from runtime.native.pool import ThreadPool

__all__ = [
    "ALIGNMENT",
    "Host",
    "NativeFunction",
    "ObjectCode",
    "Parameter",
    "ThreadPool",
    "load",
]
