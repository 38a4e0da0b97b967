"""What a system's memory begins with is what the C runtime would have loaded there."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.hw.config import PAGE_BYTES
from tandem.runtime.artifact import streams_of
from tandem.workbench.export.stream_file import stream_file
from tandem.workbench.soc.memory_contents import memory_words
from tests.support.compiler.models.digits import digits
from tests.support.sim.streams import memory_of


@pytest.mark.parametrize("bus_bits", [64, 128])
def test_streams_lie_one_behind_the_other_in_pages(bus_bits: int) -> None:
    artifact = digits("tiny-x").network.artifact
    (code,) = streams_of(artifact).values()
    stream = stream_file(code)
    text = memory_words([stream, stream], bus_bits)
    lines = text.splitlines()
    assert {len(line) for line in lines} == {bus_bits // 4}
    words = [[*bytes.fromhex(line)][::-1] for line in lines]
    found = np.array(words, np.uint8).reshape(2, -1)
    wanted = memory_of(stream.content)[0]
    assert found.shape[1] % PAGE_BYTES == 0
    for part in found:
        assert (part[: wanted.size] == wanted).all()
        assert not part[wanted.size :].any()


def test_no_streams() -> None:
    assert memory_words([], 64) == ""
