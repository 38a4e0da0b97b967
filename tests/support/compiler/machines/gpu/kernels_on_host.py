"""Kernels that are made for PTX, run on this processor: their LLVM module with its own code for a
thread's numbers and barriers, and a Python thread for each of a block's."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
from llvmlite import binding
from numpy.typing import NDArray

from tandem.compiler.ir.stmt import PrimFunc, parameters
from tandem.compiler.machines.cpu.codegen.cpu_target import CpuTarget
from tandem.compiler.machines.cpu.codegen.machine_code import machine_of, optimise
from tandem.compiler.machines.gpu.codegen.opencl import kernel_name
from tandem.compiler.machines.gpu.codegen.ptx import TRIPLE
from tandem.compiler.machines.gpu.codegen.ptx_module import llvm_text
from tandem.compiler.machines.gpu.launch import GpuProgram, grid_of

_NUMBER = ctypes.CFUNCTYPE(ctypes.c_int32)
_WAIT = ctypes.CFUNCTYPE(None)
_HOST_WORDS = {
    "ptx_kernel ": "",
    "addrspace(1)": "",
    "addrspace(3)": "",
    "llvm.nvvm.read.ptx.sreg.ctaid.x": "host.block",
    "llvm.nvvm.read.ptx.sreg.tid.x": "host.thread",
    "llvm.nvvm.barrier0": "host.barrier",
}
"""What a module for a GPU says, and one for a processor."""


def run_on_host(
    program: GpuProgram, arrays: Sequence[NDArray[Any]]
) -> tuple[list[NDArray[Any]], list[int]]:
    """The outputs of a program, whose memory is full of ones before, and for each launch the
    barriers at which a thread of its first block waited."""
    text = llvm_text(program, CpuTarget(TRIPLE, "sm_80", ()))
    host = CpuTarget.host(1)
    for gpu, processor in _HOST_WORDS.items():
        text = text.replace(gpu, processor)
    text = text.replace(TRIPLE, host.triple)
    held = {each.name: array for each, array in zip(program.inputs, arrays, strict=True)}
    for buffer in (*program.outputs, *program.scratch):
        held[buffer.name] = np.ones(buffer.shape, buffer.dtype.numpy)
    here, waits = threading.local(), threading.Barrier(1)

    def wait() -> None:
        here.waited += 1
        waits.wait()

    callbacks = {
        "host.block": _NUMBER(lambda: here.block),
        "host.thread": _NUMBER(lambda: here.thread),
        "host.barrier": _WAIT(wait),
    }
    for name, callback in callbacks.items():
        address = ctypes.cast(callback, ctypes.c_void_p).value
        assert address is not None
        binding.add_symbol(name, address)
    machine = machine_of(host)
    waited = []
    with binding.create_mcjit_compiler(optimise(text, machine), machine) as engine:
        engine.finalize_object()
        for launch in program.launches:
            grid = grid_of(launch)
            waits, counts = threading.Barrier(grid.threads), [0] * grid.threads
            function = _function(engine, launch)
            pointers = [held[each.name].ctypes.data for each in parameters(launch)]

            def thread(block: int, number: int) -> None:
                here.block, here.thread, here.waited = block, number, 0
                function(*pointers)  # noqa: B023
                counts[number] = here.waited  # noqa: B023

            for block in range(grid.blocks):
                every = [
                    threading.Thread(target=thread, args=(block, number))
                    for number in range(grid.threads)
                ]
                for one in every:
                    one.start()
                for one in every:
                    one.join()
            assert len(set(counts)) == 1, "all threads wait at the same barriers"
            waited.append(counts[0])
    return [held[each.name] for each in program.outputs], waited


def _function(engine: Any, launch: PrimFunc) -> Any:
    kind = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(parameters(launch)))
    return kind(engine.get_function_address(kernel_name(launch)))
