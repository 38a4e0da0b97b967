"""The error about a layer that is not there."""

from __future__ import annotations

from tandem.scripts.layer_names import no_layer


def test_similar_names() -> None:
    names = ["stem", "layer1_conv1", "layer1_conv2", "head"]
    assert str(no_layer("--why", "layer1_conv3", names)) == (
        "--why: no layer of the accelerator is called 'layer1_conv3': there are layer1_conv2, "
        "layer1_conv1, and 2 others"
    )


def test_the_first_names_where_none_is_similar() -> None:
    names = [f"{letter * 3}" for letter in "abcdefg"]
    assert str(no_layer("--layer", "zzz", names)).endswith(
        "there are aaa, bbb, ccc, ddd, eee, and 2 others"
    )
    assert str(no_layer("--layer", "zzz", names[:5])).endswith("there are aaa, bbb, ccc, ddd, eee")
