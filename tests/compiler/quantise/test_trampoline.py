from __future__ import annotations

import pytest

from tandem.compiler.quantise.trampoline import Steps, run

DEEP = 20_000


def total(number: int) -> Steps[int]:
    if number == 0:
        return 0
    below: int = yield total(number - 1)
    return below + number


def fibonacci(number: int) -> Steps[int]:
    if number < 2:
        return number
    left: int = yield fibonacci(number - 1)
    right: int = yield fibonacci(number - 2)
    return left + right


def failing(number: int) -> Steps[int]:
    if number == 0:
        raise ValueError("at the bottom")
    below: int = yield failing(number - 1)
    return below


def test_calls_may_be_deep() -> None:
    assert run(total(DEEP)) == DEEP * (DEEP + 1) // 2


def test_a_call_may_make_several() -> None:
    assert run(fibonacci(15)) == 610


def test_an_exception_ends_all_calls() -> None:
    with pytest.raises(ValueError, match=r"^at the bottom$"):
        run(failing(DEEP))
