"""Numbers of bytes in texts."""

from __future__ import annotations

import pytest

from tandem.workbench.byte_sizes import bytes_of, shown_bytes


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("64MB", 64_000_000),
        ("64 mb", 64_000_000),
        ("1.5GB", 1_500_000_000),
        ("512KiB", 512 << 10),
        ("2MiB", 2 << 20),
        ("1kB", 1000),
        ("100B", 100),
        ("4096", 4096),
    ],
)
def test_texts(text: str, count: int) -> None:
    assert bytes_of(text) == count


@pytest.mark.parametrize(
    "text", ["", "MB", "-1MB", "0", "0.1B", "1e9", "1TB", "1 M B", "nan", "٣MB"]
)
def test_what_says_no_number_of_bytes(text: str) -> None:
    assert bytes_of(text) is None


@pytest.mark.parametrize(
    ("count", "text"),
    [(999, "999 B"), (1000, "1 kB"), (64_240_000, "64.2 MB"), (3_210_000_000, "3.21 GB")],
)
def test_what_is_shown(count: int, text: str) -> None:
    assert shown_bytes(count) == text
