"""Compiled functions, loaded into this process and callable on NumPy arrays."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from tandem.runtime.errors import NativeCodeError
from tandem.runtime.native.linked import Loaded, linked
from tandem.runtime.native.objects import ALIGNMENT, ObjectCode, Parameter
from tandem.runtime.native.pool import LoopLauncher, ThreadPool
from tandem.runtime.native.processor import available_threads, missing_features, this_triple

_Array = NDArray[Any]


def load(
    code: ObjectCode, *, threads: int | None = None, pool: ThreadPool | None = None
) -> NativeFunction:
    """Link object code into this process and return it as a callable function.

    Parameters
    ----------
    threads
        The number of threads for the function's parallel loops; None for all cores.
    pool
        A pool to share with other functions; if given, `threads` is ignored.

    Raises
    ------
    NativeCodeError
        If the code is for another target triple or for instruction sets that this host lacks, or
        if it cannot be linked.
    """
    triple = this_triple()
    if code.triple != triple:
        raise NativeCodeError(f"{code.name} was compiled for {code.triple}; this is {triple}")
    missing = missing_features(code.features)
    if missing:
        raise NativeCodeError(f"{code.name} needs {', '.join(missing)}, which this processor lacks")
    if pool is None:
        pool = ThreadPool(available_threads() if threads is None else threads)
    return NativeFunction(code, pool)


class NativeFunction:
    """A function in machine code.

    Attributes
    ----------
    object_code
        The object code that the function was loaded from.
    pool
        The threads of the function's parallel loops.
    """

    def __init__(self, code: ObjectCode, pool: ThreadPool) -> None:
        self.object_code = code
        self.pool = pool
        self._library = _link(code)
        prototype = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * (len(code.parameters) + 2))
        self._call = prototype(self._library.addresses[code.symbol])
        self._free_workspaces: list[_Workspace] = []

    def __call__(self, *inputs: _Array, out: Sequence[_Array] | None = None) -> tuple[_Array, ...]:
        """Call the function; returns the outputs, in order.

        Arrays must be dense and row-major, with their parameter's shape and type. An input that is
        also an output is copied to the output first, unless `out` has the same array object.

        Raises
        ------
        NativeCodeError
            If an array does not fit its parameter, if an output overlaps another array, or if
            the workspace cannot be allocated.
        """
        code = self.object_code
        input_arrays = self._checked("input", code.inputs, inputs)
        if out is None:
            output_arrays = {
                parameter.name: _allocate(
                    code.name, f"output {parameter.name}", parameter.shape, parameter.numpy
                )
                for parameter in code.parameters
                if parameter.name in code.outputs
            }
        else:
            output_arrays = self._checked("output", code.outputs, out)
            _check_no_overlap(code.name, input_arrays, output_arrays)
        for name, array in output_arrays.items():
            if name in input_arrays and array is not input_arrays[name]:
                np.copyto(array, input_arrays[name])
        arrays = input_arrays | output_arrays
        pointers = [_pointer(arrays[each.name]) for each in code.parameters]
        self._run(pointers)
        return tuple(output_arrays[name] for name in code.outputs)

    @property
    def address(self) -> int:
        """The function's address, valid as long as this object."""
        return self._library.addresses[self.object_code.symbol]

    def prepare(self) -> None:
        """Make the first call's workspace and start the threads, so that the call need not."""
        workspace = self._workspace()
        if workspace.launcher is not None:
            workspace.launcher.pool.start()
        self._free_workspaces.append(workspace)

    def unchecked(self) -> Callable[[Sequence[_Array], Sequence[_Array]], None]:
        """The function of (inputs, outputs) without checks, for calls that use the same arrays
        repeatedly: arrays must fit, and outputs overlap no other array.

        An input that is also an output is the same array in both.
        """
        code = self.object_code
        names = (*code.inputs, *code.outputs)
        order = [len(names) - 1 - names[::-1].index(each.name) for each in code.parameters]
        addresses = [_Address() for _ in order]

        def run(inputs: Sequence[_Array], outputs: Sequence[_Array]) -> None:
            arrays = (*inputs, *outputs)
            self._run(
                [address.of(arrays[at]) for at, address in zip(order, addresses, strict=True)]
            )

        return run

    def _run(self, pointers: list[int]) -> None:
        workspace = self._workspace()
        launcher = workspace.launcher
        if launcher is None:
            self._call(*pointers, workspace.start, None)
        else:
            launcher.begin()
            self._call(*pointers, workspace.start, launcher.address)
            launcher.end()
        self._free_workspaces.append(workspace)

    def _workspace(self) -> _Workspace:
        """A free workspace of an earlier call, or a new one."""
        try:
            return self._free_workspaces.pop()
        except IndexError:
            pass
        code = self.object_code
        size = code.shared_bytes + self.pool.threads * code.worker_bytes
        shape = (size + ALIGNMENT,)
        memory = _allocate(code.name, "its workspace", shape, np.dtype(np.uint8))
        start = -(-_pointer(memory) // ALIGNMENT) * ALIGNMENT
        parallel = code.parallel and self.pool.threads > 1
        return _Workspace(memory, start, LoopLauncher(self.pool) if parallel else None)

    def _checked(
        self, kind: str, names: tuple[str, ...], arrays: Sequence[_Array]
    ) -> dict[str, _Array]:
        """The arrays by name, if each fits the parameter of that name."""
        function = self.object_code.name
        if len(arrays) != len(names):
            raise NativeCodeError(
                f"{function} has {len(names)} {kind}s ({', '.join(names)}), not {len(arrays)}"
            )
        parameters = {each.name: each for each in self.object_code.parameters}
        for name, array in zip(names, arrays, strict=True):
            _check(f"{kind} {name} of {function}", parameters[name], array, kind == "output")
        return dict(zip(names, arrays, strict=True))


@dataclass(frozen=True, slots=True)
class _Workspace:
    """What one call uses at a time: scratch memory, its aligned address, and what launches the
    call's loops, unless they are serial."""

    memory: _Array
    start: int
    launcher: LoopLauncher | None


class _Address:
    """The address of the array that it was last asked about: NumPy takes microseconds to say."""

    __slots__ = ("_address", "_last")

    def __init__(self) -> None:
        self._last: Callable[[], _Array | None] = lambda: None
        self._address = 0

    def of(self, array: _Array) -> int:
        """The address of an array's first element."""
        if self._last() is not array:
            self._address, self._last = _pointer(array), ref(array)
        return self._address


def _allocate(function: str, purpose: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> _Array:
    try:
        return np.empty(shape, dtype)
    except (MemoryError, ValueError):
        size = prod(shape) * dtype.itemsize
        raise NativeCodeError(
            f"{function} needs {size} bytes for {purpose}, more than there is"
        ) from None


def _pointer(array: _Array) -> int:
    return array.__array_interface__["data"][0]


def _check(label: str, parameter: Parameter, array: _Array, written: bool) -> None:
    if not isinstance(array, np.ndarray):
        raise NativeCodeError(f"{label} must be a NumPy array, not {type(array).__name__}")
    if array.shape != parameter.shape:
        raise NativeCodeError(f"{label} must have shape {parameter.shape}, not {array.shape}")
    if array.dtype != parameter.numpy:
        raise NativeCodeError(f"{label} must be {parameter.dtype}, not {array.dtype}")
    if not (array.flags.c_contiguous and array.flags.aligned):
        raise NativeCodeError(
            f"{label} must be dense, row-major and aligned; its strides are {array.strides}"
        )
    if written and not array.flags.writeable:
        raise NativeCodeError(f"{label} must be writeable, and this array is read-only")


def _check_no_overlap(
    function: str, input_arrays: dict[str, _Array], output_arrays: dict[str, _Array]
) -> None:
    """Refuse outputs that overlap another array: compiled code assumes that none alias."""
    outputs = list(output_arrays.items())
    for number, (name, array) in enumerate(outputs):
        others = [(f"output {key}", other) for key, other in outputs[number + 1 :]]
        others += [
            (f"input {key}", other)
            for key, other in input_arrays.items()
            if not (key == name and other is array)
        ]
        for label, other in others:
            if np.may_share_memory(array, other):
                raise NativeCodeError(f"{function}: output {name} and {label} overlap in memory")


def _link(code: ObjectCode) -> Loaded:
    try:
        return linked(code.triple, code.code, (code.symbol,))
    except NativeCodeError as error:
        raise NativeCodeError(f"{code.name} cannot be linked: {error}") from None
