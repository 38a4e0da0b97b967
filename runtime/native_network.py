"""A whole network in machine code, ready to be run: one call from Python for all its steps."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import Any, Final

from numpy.typing import NDArray

from tandem.runtime.aligned_arrays import address_of, aligned_empty
from tandem.runtime.artifact.artifact import Artifact
from tandem.runtime.artifact.instructions import MAX_CALLS
from tandem.runtime.artifact.manifest import ConstantPlace
from tandem.runtime.artifact.network_version import network_version
from tandem.runtime.errors import NativeCodeError, RunError
from tandem.runtime.native import NativeFunction, NetworkObject, ThreadPool
from tandem.runtime.native.heap import Heap
from tandem.runtime.native.linked import linked
from tandem.runtime.native.network_object import ENTRY
from tandem.runtime.native.network_state import PATIENCE, Failure, NetworkState
from tandem.runtime.native.pool import LoopLauncher
from tandem.runtime.native.processor import this_triple
from tandem.runtime.profile import Numbers

_Array = NDArray[Any]
_FUNCTION: Final = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)


class NativeNetwork:
    """The steps of an artifact as one native function.

    Parameters
    ----------
    kernels
        The functions of the steps, by the names of their code; they live as long as this object.
    pool
        The threads of parallel loops.

    Attributes
    ----------
    heap
        The memory of values of data types, and of calls that nest without a known bound.

    Raises
    ------
    RunError
        There is no memory for the network's tensors.
    NativeCodeError
        The code cannot be linked.
    """

    def __init__(
        self,
        artifact: Artifact,
        code: NetworkObject,
        kernels: Mapping[str, NativeFunction],
        pool: ThreadPool,
    ) -> None:
        self._artifact = artifact
        self.heap = Heap(code.kinds)
        self._library = linked(code.triple, code.code, (ENTRY,))
        self._call = _FUNCTION(self._library.addresses[ENTRY])
        self._kernels = kernels
        self._steps = len(artifact.manifest.steps)
        self._numbers = ctypes.c_int64 * self._steps
        codes = [kernels[name].object_code for name in code.kernels]
        size = max(each.shared_bytes + pool.threads * each.worker_bytes for each in codes)
        self._workspace = _memory(artifact, size)
        self._frames = _memory(artifact, code.frame_bytes)
        self._results = (ctypes.c_void_p * max(code.results, 1))()
        self._slots = (ctypes.c_void_p * (len(code.kernels) + len(code.tensors)))()
        self._places = {name: len(code.kernels) + at for at, name in enumerate(code.tensors)}
        for at, name in enumerate(code.kernels):
            self._slots[at] = kernels[name].address
        self._constants = artifact.constants
        for tensor in artifact.manifest.tensors:
            if isinstance(tensor.place, ConstantPlace):
                self._slots[self._places[tensor.name]] = address_of(self._constants[tensor.name])
        self._parallel = pool.threads > 1 and any(each.parallel for each in codes)
        self._launcher = self._new_launcher(pool)
        self._state = NetworkState(
            slots=ctypes.addressof(self._slots),
            workspace=address_of(self._workspace),
            frames=address_of(self._frames),
            results=ctypes.addressof(self._results),
            patience=PATIENCE,
        )
        self._pool = pool

    def run(self, arrays: Mapping[str, _Array], clock: int) -> tuple[Numbers, Numbers]:
        """Run the network once. Runs must not overlap in time.

        Parameters
        ----------
        arrays
            Inputs and outputs, by the names of their tensors: dense, aligned, of their types.
        clock
            The number of the system's clock that tells the time of steps.

        Returns
        -------
        For each step the nanoseconds that it took, and how often it ran.

        Raises
        ------
        RunError
            More than `MAX_CALLS` calls wait for results, a cell has another form than the artifact
            says, or there is no memory for a cell or a call.
        """
        for name, array in arrays.items():
            self._slots[self._places[name]] = address_of(array)
        times, counts = self._numbers(), self._numbers()
        state, launcher = self._state, self._launcher
        state.times, state.counts = ctypes.addressof(times), ctypes.addressof(counts)
        state.clock, state.call = clock, launcher.address
        state.launch = launcher.address if self._parallel else None
        launcher.begin()
        self.heap.begin(state)
        try:
            self._call(ctypes.addressof(state))
        finally:
            self.heap.end(state)
        try:
            launcher.end()
        except BaseException:
            # One that was stopped stays so.
            self._launcher = self._new_launcher(self._pool)
            raise
        if state.failure:
            raise RunError(self._failed(Failure(state.failure), state.failed))
        return times, counts

    def _failed(self, failure: Failure, number: int) -> str:
        manifest = self._artifact.manifest
        match failure:
            case Failure.CALLS:
                name = manifest.functions[number].name
                return (
                    f"function {name} of {manifest.name}: more than {MAX_CALLS} calls wait for "
                    "results"
                )
            case Failure.FORM:
                return f"{manifest.name} reads a cell of another form"
            case Failure.MEMORY:
                return (
                    f"{manifest.name} needs more memory for its values and calls than there is: "
                    f"{self.heap.bytes} bytes were not enough"
                )

    def _new_launcher(self, pool: ThreadPool) -> LoopLauncher:
        return LoopLauncher(pool, parallel=self._parallel)


def load_network(
    artifact: Artifact, kernels: Mapping[str, NativeFunction], pool: ThreadPool
) -> NativeNetwork | None:
    """The network's native function; None if the artifact has none, or one of another version of
    Tandem, whose steps are called one by one. Raises as `NativeNetwork`."""
    version = network_version(artifact.manifest)
    for code in artifact.of_kind(NetworkObject).values():
        if code.version == version and code.triple == this_triple():
            if not kernels.keys() >= {*code.kernels}:
                raise NativeCodeError("the code of the network calls kernels that are no steps'")
            return NativeNetwork(artifact, code, kernels, pool)
    return None


def _memory(artifact: Artifact, size: int) -> _Array:
    try:
        return aligned_empty((size,), "uint8")
    except (MemoryError, ValueError):
        name = artifact.manifest.name
        raise RunError(f"{name} needs {size} bytes, more than there is") from None
