"""A network on machines: its cycles, and what an answer is known by."""

from __future__ import annotations

from math import inf
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tandem.base.errors import CacheError
from tandem.compiler.machines.accelerator.discovery.costs import with_operations
from tandem.hw.config_files import load_config
from tandem.hw.custom_operations import CustomOperation
from tandem.hw.memory_model import parse_memory
from tandem.workbench.discovery import measure
from tandem.workbench.discovery.measure import Question, answer, chains, passes
from tandem.workbench.models import ModelOptions
from tandem.workbench.search.measure import Network

CONFIG = load_config("small8")
FAST = Question(Network("digits", ModelOptions()), parse_memory("fast"))
HIGH = CustomOperation.from_json({"name": "HIGH", "result": "int32(a * uint16(b) >> 8)"})


def test_an_answer() -> None:
    found = answer(FAST, CONFIG, inf)
    assert 0 < found.alu < found.cycles
    assert not found.reason
    # Passes of the chains' layers are no more than what the ALU does in all.
    own = chains(FAST, CONFIG, inf)
    assert 0 < sum(5 * layer.vectors for layer in own) <= 1.5 * found.alu
    cut = [step.cut for layer in own for chain in layer.chains for step in chain]
    assert {*cut} > {None, 8}


def test_what_passes_are_for() -> None:
    """Counted in loops, they are what the streams' instructions issue."""
    found = passes(FAST, CONFIG)
    assert found.total == answer(FAST, CONFIG, inf).alu
    assert min(found.numbers, found.residuals, found.terms, found.copies) > 0
    assert found.saved_of_windows == found.results < found.terms


def test_a_network_that_is_refused() -> None:
    found = answer(Question(Network("absent.onnx", ModelOptions()), FAST.memory), CONFIG, inf)
    assert found.cycles == 0
    assert "absent.onnx" in found.reason


def test_keys() -> None:
    """An answer is another one's for another memory, machine or seed; a name is no matter."""
    other = Question(FAST.network, parse_memory("edge"))
    seeded = Question(Network("digits", ModelOptions(seed=1)), FAST.memory)
    keys = [
        FAST.key(CONFIG),
        FAST.key(with_operations(CONFIG, (HIGH,))),
        other.key(CONFIG),
        seeded.key(CONFIG),
    ]
    assert len({*keys}) == len(keys)
    assert FAST.key(CONFIG.replace(name="another")) == keys[0]


def test_a_key_has_the_content_of_samples_and_tensors(tmp_path: Path) -> None:
    """In whatever files they are."""
    samples, weights = tmp_path / "samples", tmp_path / "weights.bin"
    samples.mkdir()
    tensor = numpy_helper.from_array(np.ones(300, np.float32), "w")
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "w"], ["y"])],
        "sum",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [300])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [300])],
        [tensor],
    )
    model = tmp_path / "sum.onnx"
    onnx.save_model(
        helper.make_model(graph),
        str(model),
        save_as_external_data=True,
        location=weights.name,
        size_threshold=0,
    )
    question = Question(Network(str(model), ModelOptions(calibrate=samples)), FAST.memory)
    keys = [question.key(CONFIG)]
    for changed in (samples / "a.npy", samples / "b.npy", weights):
        changed.write_bytes(b"1")
        keys.append(question.key(CONFIG))
    (samples / "b.npy").write_bytes(b"2")
    keys.append(question.key(CONFIG))
    assert len({*keys}) == 5
    assert question.key(CONFIG) == keys[-1]


def test_what_went_wrong_beside_the_network_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise CacheError("no space left")

    monkeypatch.setattr(measure, "make_engine", full)
    found = answer(FAST, CONFIG, inf)
    assert (found.cycles, found.reason) == (0, "CacheError: no space left")
    assert not found.lasting
