"""Bytes of an artifact as parts of another's: what is found, and segments that lie."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from tandem.hw.config_files import load_config
from tandem.runtime.artifact import Artifact, ConstantPlace, Input, PlacedTensor, Tensor
from tandem.runtime.decoder.shared_bytes import Segment, divided, joined
from tandem.runtime.errors import ArtifactError
from tests.support.runtime.plain_artifacts import plain_artifact, plain_step, plain_stream

LARGE, OTHER = (np.arange(512, dtype=np.uint8).view(np.int8) + one for one in (0, 1))
LEAST = LARGE[:511] + 3
"""A byte less than what is looked for."""


def artifact(**constants: NDArray[np.int8]) -> Artifact:
    tensors = [Tensor("x", (), "int8", Input())]
    tensors += [Tensor(name, it.shape, "int8", ConstantPlace()) for name, it in constants.items()]
    return plain_artifact(tensors, [], ["x"], constants=constants)


def written(*parts: NDArray[np.int8] | bytes) -> bytes:
    return b"".join(part if isinstance(part, bytes) else part.tobytes() for part in parts)


def test_arrays_that_both_have_are_stored_once() -> None:
    one = artifact(a=OTHER, b=LARGE, c=LEAST)
    data = written(b"head", OTHER, b"mid", LARGE, LEAST, b"end")
    other = artifact(p=LARGE, q=LEAST, r=OTHER)
    stored = written(b"other", LARGE, LEAST, b"--", OTHER)
    segments, own = divided(data, one, stored, other)
    assert segments == [
        Segment(4),
        Segment(512, 5 + 512 + 511 + 2),
        Segment(3),
        Segment(512, 5),
        Segment(511 + 3),
    ]
    assert own == written(b"head", b"mid", LEAST, b"end")
    assert joined(segments, own, stored) == data


def test_tensors_in_the_memory_of_streams() -> None:
    # The bytes 0 to 255, six times: the second tensor lies over others, the last is too small.
    places = [(1024, 511), (512, 512), (256, 512), (0, 512)]
    contents = [PlacedTensor(f"t{at}", at, (size,), "int8") for at, size in places]
    stream = plain_stream("s", load_config("tiny"), b"", image_bytes=1536, contents=contents)
    steps = [plain_step("s", device="accelerator")]
    one = plain_artifact([], steps, streams={"s": stream})
    data, stored = written(b"head", stream.image.view(np.int8)), written(b"other", LARGE)
    segments, own = divided(data, one, stored, artifact(p=LARGE))
    assert segments == [Segment(4), Segment(512, 5), Segment(0), Segment(512, 5), Segment(512)]
    assert joined(segments, own, stored) == data
    # Those of a fallback lie behind them.
    constant = [Tensor("a", OTHER.shape, "int8", ConstantPlace())]
    alone = plain_artifact(constant, [], constants={"a": OTHER})
    whole = plain_artifact([], steps, streams={"s": stream}, fallback=alone)
    data, stored = written(stream.image.view(np.int8), OTHER), written(OTHER)
    segments, own = divided(data, whole, stored, artifact(p=OTHER))
    assert segments == [Segment(1536), Segment(512, 0), Segment(0)]


def test_of_nothing_in_common_all_is_its_own() -> None:
    data = written(b"head", OTHER)
    segments, own = divided(data, artifact(a=OTHER), written(LARGE), artifact(a=LARGE))
    assert (segments, own) == ([Segment(len(data))], data)


@pytest.mark.parametrize(
    "segment",
    [Segment(4), Segment(-1), Segment(2, 3), Segment(1, 4), Segment(1, -1), Segment(-1, 0)],
)
def test_segments_of_nothing(segment: Segment) -> None:
    with pytest.raises(ArtifactError, match=r"^a segment of its bytes is nowhere$"):
        joined([segment], b"own", b"more")


def test_segments_to_the_last_byte() -> None:
    assert joined([Segment(3), Segment(2, 2), Segment(0, 4)], b"own", b"more") == b"ownre"
    with pytest.raises(ArtifactError, match=r"^its segments have 2 bytes of 3$"):
        joined([Segment(2), Segment(1, 0)], b"own", b"more")
