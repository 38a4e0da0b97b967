"""Checks that the parts of an artifact fit each other.

Native code trusts its caller: with a wrong shape or offset it would access memory outside its
arrays. So everything is checked once, before the first run.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NoReturn

from numpy.typing import NDArray

from tandem.runtime.artifact.check_code import check_code
from tandem.runtime.artifact.code import Code
from tandem.runtime.artifact.manifest import (
    Arena,
    ConstantPlace,
    InPlace,
    Input,
    Kept,
    Manifest,
    Output,
    Reference,
    Step,
    Tensor,
)
from tandem.runtime.element_types import DTYPES, dtype_of
from tandem.runtime.errors import ArtifactError
from tandem.runtime.native import ALIGNMENT
from tandem.runtime.native.objects import MOST_ELEMENTS, is_shape


def check(
    manifest: Manifest, codes: Mapping[str, Code], constants: Mapping[str, NDArray[Any]]
) -> None:
    """Raise an `ArtifactError` that names the first part that does not fit."""
    _Check(manifest, codes, constants).all()


_WRITTEN = (Arena, Output, InPlace, Kept)
"""The places of tensors that steps write."""


class _Check:
    def __init__(
        self,
        manifest: Manifest,
        codes: Mapping[str, Code],
        constants: Mapping[str, NDArray[Any]],
    ) -> None:
        self._manifest = manifest
        self._codes = codes
        self._constants = constants
        self._tensors = {each.name: each for each in manifest.tensors}
        self._frames = {
            name: function.frame_bytes
            for function in manifest.functions
            for name in function.tensors
        }

    def all(self) -> None:
        manifest = self._manifest
        if len(self._tensors) < len(manifest.tensors):
            self._fail("two tensors have one name")
        if manifest.arena_bytes < 0:
            self._fail(f"an arena of {manifest.arena_bytes} bytes")
        for tensor in manifest.tensors:
            self._tensor(tensor)
        for form in manifest.forms:
            for field in form.fields:
                if field is not None and not (is_shape(field[0]) and field[1] in DTYPES):
                    self._fail(f"{form.name} has a field of type {field[1]}, {list(field[0])}")
        for name in self._constants:
            if not isinstance(self._named(name, "a constant").place, ConstantPlace):
                self._fail(f"{name} has a value, but is no constant")
        inputs = [each.name for each in manifest.tensors if isinstance(each.place, Input)]
        named = [each.tensor for each in manifest.inputs]
        if sorted(inputs) != sorted(named):
            self._fail(f"its inputs are {_list(inputs)}, but {_list(named)} are named")
        for kind, ports in (("inputs", manifest.inputs), ("results", manifest.results)):
            names = [each.name for each in ports]
            if len(set(names)) < len(names):
                self._fail(f"two {kind} have one name: {_list(names)}")
        for step in manifest.steps:
            self._call(step)
        for result in manifest.results:
            returned = self._named(result.tensor, f"result {result.name}")
            if isinstance(returned.place, Arena | Kept | Reference):
                self._fail(f"result {result.name} lies in the arena, or stays on a device")
            if returned.padded:
                self._fail(f"result {result.name} has undefined padding")
        self._counts()
        if manifest.functions:
            check_code(manifest, self._tensors, self._fail)
        else:
            self._steps()

    def _counts(self) -> None:
        counts = self._manifest.counts
        results = {each.name: self._tensors[each.tensor] for each in self._manifest.results}
        if len({(each.result, each.axis) for each in counts}) < len(counts):
            self._fail("two counts are of one extent")
        for count in counts:
            what = f"the extent of {count.result} along axis {count.axis}"
            if count.result not in results:
                self._fail(f"{what} is counted, and there is no such result")
            if not 0 <= count.axis < len(results[count.result].shape):
                self._fail(f"{what} is counted, and it is {results[count.result]}")
            tensor = self._named(count.tensor, what)
            if (tensor.shape, tensor.dtype) != ((), "int64") or isinstance(
                tensor.place, Arena | Kept | Reference
            ):
                self._fail(f"{what} is {tensor.name}, {tensor}, which is no number or in the arena")

    def _tensor(self, tensor: Tensor) -> None:
        if tensor.dtype not in DTYPES:
            self._fail(f"{tensor.name} is of type {tensor.dtype}; {_list(sorted(DTYPES))} are")
        if not is_shape(tensor.shape):
            self._fail(f"{tensor.name} has the shape {tensor.shape}")
        for axis in tensor.padded:
            if not axis.fits(tensor.shape):
                self._fail(
                    f"{tensor.name}: {axis.extent} elements in blocks along the axes {axis.outer} "
                    f"and {axis.inner} of the shape {tensor.shape}"
                )
        if tensor.rows is not None and not 0 < tensor.rows < MOST_ELEMENTS:
            self._fail(f"{tensor.name} indexes {tensor.rows} rows")
        match tensor.place:
            case Arena(offset=offset):
                end = offset + tensor.bytes
                arena = self._frames.get(tensor.name, self._manifest.arena_bytes)
                if offset < 0 or offset % ALIGNMENT or end > arena:
                    self._fail(
                        f"{tensor.name} lies from {offset} to {end} in an arena of {arena} bytes, "
                        f"at multiples of {ALIGNMENT}"
                    )
            case ConstantPlace():
                array = self._constants.get(tensor.name)
                if array is None:
                    self._fail(f"constant {tensor.name} has no value")
                if (array.shape, array.dtype) != (tensor.shape, dtype_of(tensor.dtype)):
                    self._fail(
                        f"constant {tensor.name} is {array.dtype}{list(array.shape)}, not {tensor}"
                    )
            case Reference():
                if (tensor.shape, tensor.dtype) != ((), "int64") or tensor.name not in self._frames:
                    self._fail(f"{tensor.name}, {tensor}, refers to a cell in no function's frame")
            case InPlace(input=name):
                self._in_place(tensor, name)
            case Input() | Output() | Kept():
                pass

    def _in_place(self, tensor: Tensor, name: str) -> None:
        """Check that an output can lie in the memory of an input, and that no other one does."""
        source = self._named(name, f"the memory of {tensor.name}")
        if not isinstance(source.place, Input) or str(source) != str(tensor):
            self._fail(f"{tensor.name}, {tensor}, lies in the memory of {name}, {source}")
        places = [each.place for each in self._manifest.tensors]
        if places.count(tensor.place) > 1:
            self._fail(f"two outputs lie in the memory of {name}")
        if name in self._manifest.returned:
            self._fail(f"{tensor.name} lies in the memory of {name}, which is an output")
        if self._manifest.functions:
            self._fail(f"{tensor.name} lies in the memory of {name}, and there are branches")

    def _steps(self) -> None:
        """Check that steps read tensors that are written, and overwrite none that is live."""
        written: set[str] = set()
        lost: dict[str, str] = {}
        last_use = dict.fromkeys(self._manifest.returned, len(self._manifest.steps))
        for number, step in reversed([*enumerate(self._manifest.steps)]):
            for name in step.inputs:
                last_use.setdefault(name, number)
        live: dict[str, Arena] = {}
        for number, step in enumerate(self._manifest.steps):
            for name in step.inputs:
                if isinstance(self._tensors[name].place, _WRITTEN) and name not in written:
                    self._fail(f"{step.name} reads {name} before it is written")
                if name in lost:
                    self._fail(f"{step.name} reads {name}, in whose memory {lost[name]} lies")
            for name in step.outputs:
                place = self._tensors[name].place
                if name in written or not isinstance(place, _WRITTEN):
                    self._fail(f"{step.name} writes {name}, which is not its own")
                if isinstance(place, Arena):
                    self._check_apart(step, self._tensors[name], place, live)
                    live[name] = place
                if isinstance(place, InPlace):
                    lost[place.input] = name
                written.add(name)
            live = {name: arena for name, arena in live.items() if last_use.get(name, -1) > number}
        for result in self._manifest.results:
            self._is_written(f"result {result.name}", result.tensor, written)
        for count in self._manifest.counts:
            self._is_written(f"a count of {count.result}", count.tensor, written)

    def _is_written(self, what: str, name: str, written: Collection[str]) -> None:
        if isinstance(self._tensors[name].place, Output | InPlace) and name not in written:
            self._fail(f"{what} is never written")

    def _check_apart(
        self, step: Step, tensor: Tensor, place: Arena, live: Mapping[str, Arena]
    ) -> None:
        for name, other in live.items():
            end = other.offset + self._tensors[name].bytes
            if place.offset < end and other.offset < place.offset + tensor.bytes:
                self._fail(f"{step.name} writes {tensor.name} over {name}, which is still needed")

    def _call(self, step: Step) -> None:
        code = self._codes.get(step.code)
        if code is None:
            self._fail(f"{step.name} runs {step.code}, and there is no such code")
        reads, writes = code.reads, code.writes
        shared = {each.name for each in reads} & {each.name for each in writes}
        if shared:
            self._fail(f"{step.code} changes its input {_list(sorted(shared))}")
        for kind, wanted, given in (
            ("inputs", reads, step.inputs),
            ("outputs", writes, step.outputs),
        ):
            if len(wanted) != len(given):
                self._fail(f"{step.name} has {len(given)} {kind}, and {step.code} {len(wanted)}")
            for operand, actual in zip(wanted, given, strict=True):
                self._operand(step, actual, operand.dtype, operand.shape)

    def _operand(self, step: Step, actual: str, dtype: str, shape: tuple[int, ...]) -> None:
        tensor = self._named(actual, f"an operand of {step.name}")
        if (tensor.shape, tensor.dtype) != (shape, dtype):
            taken = f"{step.code} takes {dtype}{list(shape)}"
            self._fail(f"{step.name}: {actual} is {tensor}, and {taken}")
        if isinstance(tensor.place, Reference):
            self._fail(f"{actual} refers to a cell, and is no operand of {step.name}")
        if isinstance(tensor.place, Kept) and tensor.place.device != step.device:
            stays = f"{actual} stays in the memory of {tensor.place.device}"
            self._fail(f"{step.name} is on {step.device}, and {stays}")

    def _named(self, name: str, what: str) -> Tensor:
        tensor = self._tensors.get(name)
        if tensor is None:
            self._fail(f"{what} is {name}, and there is no such tensor")
        return tensor

    def _fail(self, reason: str) -> NoReturn:
        raise ArtifactError(f"artifact {self._manifest.name}: {reason}")


def _list(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"
