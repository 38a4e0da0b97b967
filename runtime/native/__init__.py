"""Native code: object code as a value, and loaded as a callable function.

The compiler is not needed: object code holds its target machine and its parameters.
"""

from tandem.runtime.native.function import NativeFunction, load
from tandem.runtime.native.host import Host
from tandem.runtime.native.objects import ALIGNMENT, ObjectCode, Parameter
from tandem.runtime.native.pool import ThreadPool

__all__ = [
    "ALIGNMENT",
    "Host",
    "NativeFunction",
    "ObjectCode",
    "Parameter",
    "ThreadPool",
    "load",
]
