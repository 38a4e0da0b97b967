"""`import tandem`: it costs little, has what it lists, and changes only on purpose."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest

import tandem
from tandem.base.errors import BaseError, Error
from tandem.compiler.errors import CompilerError
from tandem.hw.errors import HardwareError
from tandem.runtime.errors import RunError
from tandem.sim.errors import SimulationError
from tandem.workbench.errors import MissingPackageError, TandemError


def printed(program: str) -> str:
    """What a program prints in a new interpreter."""
    command = [sys.executable, "-c", program]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_it_imports_nothing_but_the_standard_library() -> None:
    program = "import sys, tandem; dir(tandem); print(*sys.modules)"
    before, after = (
        {name.partition(".")[0] for name in printed(text).split()}
        for text in ("import sys; print(*sys.modules)", program)
    )
    assert after - before - sys.stdlib_module_names == {"tandem"}


def test_it_imports_none_of_its_own_modules() -> None:
    loaded = printed("import sys, tandem; print(*sys.modules)").split()
    assert [name for name in loaded if name.startswith("tandem")] == ["tandem"]


def test_tables_need_no_numpy() -> None:
    program = "import sys, tandem; tandem.Table((), ()), tandem.Cpu(), tandem.Error"
    assert printed(f"{program}; print('numpy' in sys.modules)") == "False\n"


def test_functions_are_not_hidden_by_packages() -> None:
    program = (
        "import tandem, tandem.workbench.search, tandem.workbench.utilization\n"
        "print(callable(tandem.utilization), callable(tandem.search))\n"
    )
    assert printed(program) == "True True\n"


def test_the_public_names_are_the_recorded_ones(golden: Callable[[str, str], None]) -> None:
    program = "from tests.tandem.api.listing import lines; print(*lines(), sep='\\n')"
    golden("tandem/public.txt", printed(program))


def test_dir_and_unknown_names() -> None:
    assert dir(tandem) == tandem.__all__ == sorted(tandem.__all__)
    with pytest.raises(AttributeError, match="module 'tandem' has no attribute 'Machine'"):
        tandem.Machine  # type: ignore[attr-defined]  # noqa: B018


def test_every_error_is_one_of_ours() -> None:
    assert tandem.Error is Error
    roots = (BaseError, HardwareError, SimulationError, RunError, CompilerError, TandemError)
    assert all(issubclass(root, tandem.Error) for root in roots)


def test_the_languages_are_those_of_the_compiler() -> None:
    import tandem.compiler.ir
    import tandem.compiler.te
    import tandem.hw.isa

    for short, whole in (
        (tandem.ir, tandem.compiler.ir),
        (tandem.te, tandem.compiler.te),
        (tandem.isa, tandem.hw.isa),
    ):
        assert short.__all__ == whole.__all__
        for name in whole.__all__:
            assert getattr(short, name) is getattr(whole, name)


@pytest.mark.parametrize("missing", ["onnx", "onnx.helper", "tandem.api.gone", "tandem", None])
@pytest.mark.parametrize("name", ["load", "te"])
def test_a_package_that_is_missing(
    name: str, missing: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is missing of our own is an error of ours: nothing would help to install."""

    def absent(module: str) -> None:
        raise ModuleNotFoundError(f"No module named {missing!r}", name=missing)

    monkeypatch.delitem(vars(tandem), name, raising=False)
    monkeypatch.setattr(tandem, "import_module", absent)
    with pytest.raises(ImportError) as caught:
        getattr(tandem, name)
    if missing in ("onnx", "onnx.helper"):
        assert str(caught.value) == (
            f"tandem.{name} needs onnx, which is not installed: pip install 'tandem-workbench'"
        )
        assert isinstance(caught.value, MissingPackageError)
    else:
        assert type(caught.value) is ModuleNotFoundError
