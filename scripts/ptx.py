"""The kernels of a network as PTX, a file for each, and what they need of a GPU.

    python -m tandem.scripts.ptx digits -o digits-ptx --arch sm_90

writes `digits-ptx/KERNEL.ptx`, and prints registers and shared memory of each launch if NVIDIA's
assembler `ptxas` is there.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from tandem.compiler.machines.gpu.codegen.ptx import PROCESSORS, ptx_text
from tandem.compiler.machines.gpu.machine import GpuMachine
from tandem.compiler.machines.gpu.network_programs import network_programs
from tandem.compiler.machines.gpu.ptxas import assembled, ptxas_path
from tandem.scripts.console import errors_in_one_line
from tandem.workbench.models import ModelOptions, import_model


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
        function = import_model(arguments.model, options, None).prepared(None).function
        arguments.output.mkdir(parents=True, exist_ok=True)
        assembler = ptxas_path()
        for name, program in network_programs(function, GpuMachine()).items():
            text = ptx_text(program, arguments.arch)
            (arguments.output / f"{name}.ptx").write_text(text)
            if assembler is None:
                print(f"{name}: {len(program.launches)} launches")
                continue
            for need in assembled(text, arguments.arch, assembler):
                print(
                    f"{need.kernel}: {need.registers} registers, {need.shared_bytes} bytes shared, "
                    f"{need.stack_bytes} bytes of stack, {need.spilled_bytes} bytes spilled"
                )


if __name__ == "__main__":
    main()
