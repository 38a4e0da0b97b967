"""What the compiler of Python functions refuses."""

from __future__ import annotations

from tandem.base.errors import BaseError


class MissingLlvmError(BaseError, ImportError):
    """LLVM, which is not installed, and without which the simulators cannot run."""

    def __init__(self, function: str) -> None:
        super().__init__(
            f"{function} is compiled by LLVM, which is not installed: pip install llvmlite"
        )


class CompilationError(BaseError):
    """A function, or an argument, that is outside the part of Python that `base.jit` compiles.

    Attributes
    ----------
    placed
        Whether the message says where in the source.
    """

    def __init__(self, message: str, placed: bool = False) -> None:
        super().__init__(message)
        self.placed = placed
