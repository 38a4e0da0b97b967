"""NVIDIA's driver, called through cuda-bindings: its status codes as errors of ours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tandem.runtime.errors import RunError


class CudaError(RunError):
    """A call that NVIDIA's driver refuses: names the call, and the driver's reason."""


@dataclass(frozen=True, slots=True)
class CudaDriver:
    """The functions of the driver.

    Attributes
    ----------
    library
        The module `cuda.bindings.driver`, or what has its functions: each returns a status and
        then its results.
    """

    library: Any

    def call(self, name: str, *arguments: Any) -> Any:
        """The result of a function of the driver; None if it has none.

        Raises
        ------
        RunError
            If there is no driver.
        CudaError
            If the driver reports an error.
        """
        try:
            status, *results = getattr(self.library, name)(*arguments)
        except RuntimeError as error:  # of cuda-bindings, which loads the driver at the first call
            raise RunError(f"there is no driver of NVIDIA's GPUs: {error}") from None
        if int(status):
            raise CudaError(f"{name}: {self._reason(status)}")
        return results[0] if results else None

    def _reason(self, status: Any) -> str:
        """The driver's name and words for a status."""
        parts = []
        for function in ("cuGetErrorName", "cuGetErrorString"):
            failed, text = getattr(self.library, function)(status)
            parts.append(f"status {int(status)}" if int(failed) else text.decode())
        return ": ".join(parts)


def cuda_driver() -> CudaDriver:
    """The driver, ready for calls.

    Raises
    ------
    RunError
        If cuda-bindings is not installed, or there is no driver.
    """
    try:
        from cuda.bindings import driver
    except ImportError:
        raise RunError(
            "CUDA needs cuda-bindings: install the extra, tandem-workbench[cuda]"
        ) from None
    return CudaDriver(driver)
