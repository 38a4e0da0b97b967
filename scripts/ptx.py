"""The kernels of a network as PTX, a file for each, and what they need of a GPU.

    python -m tandem.scripts.ptx digits -o digits-ptx --arch sm_90

writes `digits-ptx/KERNEL.ptx`, and prints registers and shared memory of each launch if NVIDIA's
assembler `ptxas` is there; and of products of matrices whether warps multiply, or threads and why.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from tandem.scripts.console import errors_in_one_line
from tandem.workbench.gpu_kernels import PROCESSORS, gpu_kernels
from tandem.workbench.models import ModelOptions


def main() -> None:
    """Write the PTX of a model's kernels."""
    parser = argparse.ArgumentParser(description="the kernels of a network as PTX")
    parser.add_argument("model", help="a built-in model or an ONNX file")
    parser.add_argument("-o", "--output", type=Path, required=True, help="the folder to write")
    parser.add_argument("--arch", choices=PROCESSORS, default=PROCESSORS[0], help="the GPU")
    parser.add_argument("--float", action="store_true", help="float32 instead of int8")
    arguments = parser.parse_args()
    with errors_in_one_line(debug=False):
        options = ModelOptions(quantise=None) if arguments.float else ModelOptions()
        arguments.output.mkdir(parents=True, exist_ok=True)
        for kernel in gpu_kernels(arguments.model, options, arguments.arch):
            (arguments.output / f"{kernel.name}.ptx").write_text(kernel.text)
            if kernel.needs is None:
                print(f"{kernel.name}: {kernel.launches} launches")
            for product in kernel.products:
                print(f"{kernel.name}: {product}")
            for need in kernel.needs or ():
                print(
                    f"{need.kernel}: {need.registers} registers, {need.shared_bytes} bytes shared, "
                    f"{need.stack_bytes} bytes of stack, {need.spilled_bytes} bytes spilled"
                )


if __name__ == "__main__":
    main()
