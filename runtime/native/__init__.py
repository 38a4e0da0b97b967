"""Machine code that was compiled elsewhere: as a value, and called.

Nothing of the compiler is needed here: object code says itself which machine it is for and what it
is called with.
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
