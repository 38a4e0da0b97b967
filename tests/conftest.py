"""What every test shares: Hypothesis' settings and golden files."""

from __future__ import annotations

import gc
import os
import signal
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.support.recorded import differing, listing, write_texts

GOLDEN = Path(__file__).parent / "golden"

EXAMPLES = 25
"""Examples of a property that does not say how many: `make test` has some two hundred of them."""
MANY_EXAMPLES = 200
"""The same for `make test-exhaustive`."""

# A first call compiles or builds: a deadline for one example would measure that.
settings.register_profile("here", deadline=None, max_examples=EXAMPLES)
settings.register_profile("exhaustive", deadline=None, max_examples=MANY_EXAMPLES)
# In CI a red run must be red again when it is repeated.
# How fast it draws examples says something about the machine, not about them.
settings.register_profile(
    "ci",
    deadline=None,
    max_examples=EXAMPLES,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("ci" if os.environ.get("CI") else "here")

# While tests are collected nothing becomes garbage.
gc.disable()

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell starts commands in the background so, and what tests start inherits it.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--update-golden` writes golden files instead of comparing with them, `--recorded-texts` the
    texts of which golden files have digests."""
    parser.addoption("--update-golden", action="store_true", help="rewrite golden files")
    parser.addoption(
        "--recorded-texts",
        type=Path,
        metavar="FOLDER",
        help="write the texts of which golden files have digests",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of a test with the mark `every(n)`, all cases but every n-th are exhaustive.

    With several lists of parameters, they are counted along the diagonals: each n-th case of a
    list whose length n divides would have the same values of the next list again and again.
    """
    seen = defaultdict[object, dict[tuple[int, ...], int]](dict)
    for item in items:
        _refuse_sets(item)
        mark = item.get_closest_marker("every")
        if mark is None:
            continue
        diagonal = 0
        for names, values in _parameters(item):
            places = seen[item.nodeid.partition("[")[0], names]
            diagonal += places.setdefault(tuple(map(id, values)), len(places))
        (step,) = mark.args
        if diagonal % step:
            item.add_marker(pytest.mark.exhaustive)


def _refuse_sets(item: pytest.Item) -> None:
    """Two processes print a set of texts in two orders, and would not collect the same names."""
    if not (isinstance(item, pytest.Function) and hasattr(item, "callspec")):
        return
    for name, value in item.callspec.params.items():
        if isinstance(value, set | frozenset) and str(value) in item.name:
            raise pytest.UsageError(f"{item.nodeid}: the set {name} is in its name: give a list")


def _parameters(item: pytest.Item) -> Iterator[tuple[tuple[str, ...], list[object]]]:
    """The names and values that a case has from each list of parameters, those of fixtures too."""
    if not (isinstance(item, pytest.Function) and hasattr(item, "callspec")):
        return
    left = dict(item.callspec.params)
    for mark in item.iter_markers("parametrize"):
        names = mark.args[0]
        names = names.split(",") if isinstance(names, str) else names
        names = tuple(name.strip() for name in names)
        yield names, [left.pop(name) for name in names]
    for name, value in left.items():
        yield (name,), [value]


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """The garbage collector visits what tests make, and not, each time, every module and test.

    With Python's thresholds, made for smaller programs, it takes a sixth of the tests' time.
    """
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    gc.enable()


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """`golden(name, text)`: the text equals the file `tests/golden/<name>`.

    A file that is missing is a failure, and does not write itself.
    """
    update = request.config.getoption("--update-golden")

    def compare(name: str, text: str) -> None:
        path = GOLDEN / name
        if update:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        assert path.is_file(), f"no golden file {name}: look at the text, then --update-golden"
        assert text == path.read_text()

    return compare


@pytest.fixture
def recorded(
    request: pytest.FixtureRequest,
) -> Callable[[str, Mapping[str, str] | Sequence[str]], None]:
    """`recorded(name, texts)`: the texts of all cases have the digests of `tests/golden/<name>`."""
    update = request.config.getoption("--update-golden")
    written = request.config.getoption("--recorded-texts")

    def compare(name: str, texts: Mapping[str, str] | Sequence[str]) -> None:
        path = GOLDEN / name
        if written is not None:
            write_texts(texts, written / Path(name).with_suffix(""))
        if update:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(listing(texts))
        assert path.is_file(), f"no golden file {name}: look at the texts, then --update-golden"
        different = differing(texts, path.read_text())
        assert not different, f"{name}: " + "\n".join(different)

    return compare
