"""Processors of systems on chip."""

from __future__ import annotations

import pytest

from tandem.workbench.errors import SocError
from tandem.workbench.soc.cores import PROCESSORS, soc_processor


@pytest.mark.parametrize("name", PROCESSORS)
def test_processors_have_multiplication_and_no_compressed_instructions(name: str) -> None:
    processor = soc_processor(name)
    assert processor.name == name
    assert processor.architecture == "rv32im"
    assert processor.target.features == ("m",)


def test_another_name_is_refused_with_the_nearest() -> None:
    message = r"no processor 'vexrisc' of a system: there are vexriscv, picorv32; did you mean vex"
    with pytest.raises(SocError, match=message):
        soc_processor("vexrisc")


def test_a_name_like_none_has_no_suggestion() -> None:
    with pytest.raises(SocError, match=r"there are vexriscv, picorv32$"):
        soc_processor("z80")
