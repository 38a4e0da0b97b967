"""`base.sources`: the modules that something depends on, and the digest of their source."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from tandem.base.sources import source_digest, source_modules

_NUMBERS = count()
FILES = {
    "__init__.py": "",
    "first.py": "import os\nfrom P.second import thing\n\ndef f():\n    import P.late\n",
    "second.py": "from P import third as other, fourth\nfrom P.inner.deep import x\nthing = 1\n",
    "third.py": "try:\n    from P.first import f\nexcept ImportError:\n    pass\n",
    "fourth.py": '"""A text.\n\nfrom P import apart\n"""\nfrom P.names import y\n',
    "late.py": "if True:\n    from Q.helper import z\nelse:\n    import P.other\n",
    "other.py": "raise SystemExit('nothing is executed')\n",
    "apart.py": "a = 1\n",
    "inner/__init__.py": "from P import apart\n",
    "inner/deep.py": "x = 1\n",
    "names/__init__.py": "from P.names.defined import y\n",
    "names/defined.py": "y = 1\n",
}
REACHED = (
    *("first", "fourth", "inner.deep", "late", "names", "names.defined", "other", "second"),
    "third",
)
"""Of a package from which names are imported its own file, of another not."""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package of `FILES`, and one beside it, that no other test knows."""
    number = next(_NUMBERS)
    folder, beside = tmp_path / f"package_{number}", tmp_path / f"beside_{number}"
    for name, text in FILES.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text.replace("P", folder.name).replace("Q", beside.name))
    beside.mkdir()
    (beside / "__init__.py").write_text("")
    (beside / "helper.py").write_text("z = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    yield folder
    source_digest.cache_clear()


def digest(package: Path, *others: str) -> str:
    source_digest.cache_clear()
    return source_digest(f"{package.name}.first", within=(package.name, *others))


def test_imports_are_followed_wherever_they_stand(package: Path) -> None:
    name = package.name
    found = source_modules(f"{name}.first", within=(name,))
    assert found == tuple(f"{name}.{module}" for module in REACHED)


def test_only_what_is_within_counts(package: Path) -> None:
    name, beside = package.name, package.name.replace("package", "beside")
    first = f"{name}.first"
    assert source_modules(first, within=(first, f"{name}.second")) == (first, f"{name}.second")
    assert f"{beside}.helper" in source_modules(first, within=(name, beside))
    # Nor is what is left out looked into.
    without = source_modules(first, within=(name,), without=(f"{name}.names", f"{name}.late"))
    left = {*REACHED} - {"names", "names.defined", "late", "other"}
    assert {*without} == {f"{name}.{module}" for module in left}
    # `second` is no package that `second_other` would be in.
    assert source_modules(f"{name}.first", within=(f"{name}.fir",)) == ()


def test_the_digest_is_of_these_files_alone(package: Path) -> None:
    before = digest(package)
    for apart in ("apart.py", "__init__.py", "inner/__init__.py"):
        (package / apart).write_text("changed = True\n")
    (package.parent / package.name.replace("package", "beside") / "helper.py").write_text("z = 2\n")
    assert digest(package) == before
    for module in REACHED:
        plain = package / f"{module.replace('.', '/')}.py"
        file = plain if plain.exists() else plain.with_suffix("") / "__init__.py"
        text = file.read_text()
        file.write_text(text + "changed = True\n")
        assert digest(package) != before
        file.write_text(text)
    assert digest(package) == before


def test_a_module_that_moves_is_another(package: Path) -> None:
    (package / "one.py").write_text("a = 1\n")
    (package / "two.py").write_text("a = 1\n")
    one, two = (
        source_digest(f"{package.name}.{n}", within=(package.name,)) for n in ("one", "two")
    )
    assert one != two


def test_what_cannot_be_followed_is_refused(package: Path) -> None:
    (package / "bad.py").write_text("\nfrom . import first\n")
    with pytest.raises(ValueError, match=r"\.bad:2: imports are absolute"):
        source_modules(f"{package.name}.bad", within=(package.name,))
    with pytest.raises(ModuleNotFoundError, match=r"there is no source of .*\.missing"):
        source_modules(f"{package.name}.missing", within=(package.name,))
