"""Windows of texts, and the text of `tinylm`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tandem.workbench.errors import TrainingError
from tandem.workbench.training.texts import TextSamples
from tandem.workbench.training.tinylm import bible, first_weights, tinylm_trainable

TEXT = np.arange(30, dtype=np.uint8)


def test_windows_and_what_follows() -> None:
    samples = TextSamples("ids", TEXT, 8)
    assert len(samples) == 3
    found = samples.batch(np.array([0, 2]))
    np.testing.assert_array_equal(found["ids"], [range(8), range(16, 24)])
    np.testing.assert_array_equal(found["target"], [range(1, 9), range(17, 25)])
    assert {array.dtype for array in found.values()} == {np.dtype(np.int64)}


def test_windows_begin_anywhere_in_training() -> None:
    samples = TextSamples("ids", TEXT, 8)
    starts = set[int]()
    for seed in range(200):
        found = samples.batch(np.arange(3), np.random.default_rng(seed))
        np.testing.assert_array_equal(found["ids"] + 1, found["target"])
        starts.update(found["ids"][:, 0].tolist())
    assert starts == set(range(22))


def test_digests_and_refusals() -> None:
    one = TextSamples("ids", TEXT, 8)
    others = TextSamples("ids", TEXT[::-1].copy(), 8), TextSamples("ids", TEXT, 9)
    assert one.digest == TextSamples("ids", TEXT.copy(), 8).digest
    assert one.digest not in {other.digest for other in others}
    with pytest.raises(TrainingError, match=r"^a text of 30 bytes: windows of 30 take one more"):
        TextSamples("ids", TEXT, 30)


def test_paragraphs_are_held_out(tmp_path: Path) -> None:
    lines = [f"{at + 1}. Verse [the] n{at}, 7. More." for at in range(40)]
    file = tmp_path / "book.py"
    file.write_text("import nothing\n\nbook = Bible('short', '''\n" + "\n".join(lines) + "''')\n")
    seen, unseen = bible(file)
    assert bytes(unseen) == b"Verse the n10, More.\nVerse the n30, More.\n"
    assert bytes(seen).startswith(b"Verse the n0, More.\nVerse the n1, More.\n")
    assert bytes(seen).count(b"\n") == 38
    file.write_text("x = 'short'")
    with pytest.raises(TrainingError, match=r"has a text of 1 lines, which is no book$"):
        bible(file)


def test_the_model_can_be_trained() -> None:
    model = tinylm_trainable(2)
    assert sum(array.size for array in model.weights.values()) == 842_496
    assert model.inputs == {"ids": "ids"}
    first = first_weights(model)
    assert (first["layer0_norm1_scale"] == 1).all()
    assert (first["layer3_perceptron_bias"] == 0).all()
    np.testing.assert_array_equal(first["words"], model.weights["words"])
