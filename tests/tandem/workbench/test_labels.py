"""Labels of samples, and how often a network finds them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tandem.compiler.driver import build
from tandem.runtime.artifact import Artifact, Provenance
from tandem.workbench.errors import LabelsError
from tandem.workbench.labels import ClassScores, Hits, Labels
from tests.support.compiler.graph.graphs import graph
from tests.support.compiler.plan.offloaded import HOST


def labels(*classes: int) -> Labels:
    return Labels(Path("labels.txt"), np.array(classes, np.int64))


def network(text: str) -> Artifact:
    return build(graph(text), [HOST], Provenance("net"), name="net")


SCORES = "func @main(x: float32[2, 3]):\n  y = relu(x)\n  return y"


@pytest.mark.parametrize("name", ["l.npy", "named.npz", "one.npz", "l.txt", "l.csv", "rows.csv"])
def test_kinds_of_files(tmp_path: Path, name: str) -> None:
    classes = np.array([3, 0, 12])
    np.save(tmp_path / "l.npy", classes.astype(np.uint8)[:, None])
    np.savez(tmp_path / "named.npz", images=np.zeros((3, 2)), labels=classes)
    np.savez(tmp_path / "one.npz", classes=classes)
    (tmp_path / "l.txt").write_text("3\n0\n\n12\n")
    (tmp_path / "l.csv").write_text("\ufeff3, 0,12\r\n")
    (tmp_path / "rows.csv").write_text("3\r\n0\r\n12")
    found = Labels.read(tmp_path / name).classes
    assert found.dtype == np.int64
    assert found.tolist() == [3, 0, 12]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("l.json", b"[3]", "ends in one of .npy, .npz, .txt, .csv"),
        ("l.txt", b"3\n1.5\n", "line 2: '1.5' is no integer"),
        ("l.csv", b"label\n3\n", "line 1: 'label' is no integer"),
        ("l.csv", b"3,,4\n", "line 1: '' is no integer"),
        ("l.txt", "\u0663".encode(), "is no integer"),
        ("l.txt", b"9" * 19, "is no integer"),
        ("l.txt", b"\xff\xfe", "a text of integers, in UTF-8"),
        ("l.npy", np.array([1.0, 2.0]), r"labels are float64[2]: an integer for each sample"),
        ("l.npy", np.zeros((2, 3), int), r"labels are int64[2, 3]: an integer for each sample"),
        ("l.npz", {"a": np.zeros(2, int), "b": np.zeros(2, int)}, "it holds a, b: --labels takes"),
        ("l.npz", {}, "it holds no array"),
    ],
)
def test_refused_files(tmp_path: Path, name: str, content: Any, message: str) -> None:
    path = tmp_path / name
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif isinstance(content, dict):
        np.savez(path, **content)
    else:
        np.save(path, content)
    with pytest.raises(LabelsError) as caught:
        Labels.read(path)
    assert message in str(caught.value)


def test_labels_of_another_number_or_beyond_the_classes() -> None:
    artifact = network(SCORES)
    assert labels(0, 2, 1, 0).check(artifact, 2) == ClassScores("y", 2, 3)
    with pytest.raises(LabelsError, match="has 3 labels, and --input 4 samples: a label for each"):
        labels(0, 1, 2).check(artifact, 2)
    for wrong in (3, -1):
        with pytest.raises(LabelsError, match=f"of sample 1 is {wrong}: output y has .* 0 to 2"):
            labels(0, wrong).check(artifact, 1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "func @main(x: float32[2, 3, 4, 4]):\n  y = relu(x)\n  return y",
            r"\[n, classes\], and none has in net: y float32\[2, 3, 4, 4\]$",
        ),
        ("func @main(x: float32[2, 1]):\n  y = relu(x)\n  return y", "and none has"),
        ("func @main(x: float32[6]):\n  y = relu(x)\n  return y", "and none has"),
        (
            "func @main(x: float32[2, 3]):\n  a = relu(x)\n  b = exp(x)\n  y = (a, b)\n  return y",
            r"and several have in net: a float32\[2, 3\], b float32\[2, 3\]$",
        ),
    ],
)
def test_outputs_that_are_no_scores_of_classes(text: str, message: str) -> None:
    with pytest.raises(LabelsError, match=message):
        labels(0, 0).check(network(text), 1)


def test_the_only_output_with_scores_is_taken() -> None:
    """Of others, say features; extents of 1 after the classes are nothing."""
    artifact = network(
        "func @main(x: float32[2, 3, 1, 1], f: float32[2, 3, 4, 4]):\n"
        "  a = relu(x)\n  b = relu(f)\n  y = (b, a)\n  return y"
    )
    assert ClassScores.of(artifact) == ClassScores("a", 2, 3)


@given(
    st.integers(2, 8).flatmap(
        lambda classes: st.lists(
            st.tuples(
                st.lists(
                    st.sampled_from([0.0, 1.0, -1.0, float("nan"), float("inf"), -float("inf")]),
                    min_size=classes,
                    max_size=classes,
                ),
                st.integers(0, classes - 1),
            ),
            min_size=1,
            max_size=6,
        )
    )
)
def test_hits_against_a_sorted_list(samples: list[tuple[list[float], int]]) -> None:
    """Python sorts by falling score, NaN last, and of equal scores the lower class first."""
    classes = len(samples[0][0])
    top1 = top5 = 0
    for scores, label in samples:
        lowest = [-float("inf") if score != score else score for score in scores]
        ranked = sorted(range(classes), key=lambda at: (-lowest[at], at))
        top1 += label in ranked[:1]
        top5 += label in ranked[:5]
    outputs = [np.array([scores], np.float32) for scores, _ in samples]
    found = ClassScores("y", 1, classes).hits(outputs, labels(*(label for _, label in samples)))
    assert found == Hits(top1, top5, len(samples))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.float16, ml_dtypes.bfloat16])
def test_scores_of_any_type(dtype: Any) -> None:
    scores: NDArray[Any] = np.array([[0, 9, 5], [7, 2, 3]]).astype(dtype)
    assert ClassScores("y", 2, 3).hits([scores], labels(2, 0)) == Hits(1, 2, 2)
    assert Hits(1, 2, 4).as_json() == {"top1": 0.25, "top5": 0.5, "samples": 4}
