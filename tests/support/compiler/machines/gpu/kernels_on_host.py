"""Kernels that are made for PTX, run on this processor: their LLVM module with its own code for a
thread's numbers and barriers, and a Python thread for each of a block's."""

from __future__ import annotations

import ctypes
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np
from llvmlite import binding
from numpy.typing import NDArray

from tandem.compiler.ir.stmt import PrimFunc, parameters
from tandem.compiler.ir.visit import statements
from tandem.compiler.machines.cpu.codegen.cpu_target import CpuTarget
from tandem.compiler.machines.cpu.codegen.machine_code import machine_of, optimise
from tandem.compiler.machines.gpu.codegen.opencl import kernel_name
from tandem.compiler.machines.gpu.codegen.ptx import TRIPLE
from tandem.compiler.machines.gpu.codegen.ptx_module import llvm_text
from tandem.compiler.machines.gpu.launch import GpuProgram, grid_of, is_barrier
from tandem.compiler.machines.gpu.warps import is_warp_product
from tests.support.compiler.machines.gpu.warps_on_host import (
    LOAD,
    MULTIPLY,
    Warps,
    with_warp_products,
)

_NUMBER = ctypes.CFUNCTYPE(ctypes.c_int32)
_WAIT = ctypes.CFUNCTYPE(None)
_HOST_WORDS = {
    "ptx_kernel ": "",
    "addrspace(1)": "",
    "addrspace(3)": "",
    "llvm.nvvm.read.ptx.sreg.ctaid.x": "host.block",
    "llvm.nvvm.read.ptx.sreg.tid.x": "host.thread",
    "llvm.nvvm.barrier0": "host.barrier",
    "llvm.nvvm.idp4a": "host.idp4a",
}
"""What a module for a GPU says, and one for a processor."""
RunKernel: TypeAlias = Callable[[str, Sequence[int]], int]
"""Runs the kernel of a name on the addresses of its buffers; returns the barriers at which a thread
of its last block waited."""


@contextmanager
def host_kernels(program: GpuProgram) -> Iterator[RunKernel]:
    """A context with what runs a program's kernels."""
    text = llvm_text(program, CpuTarget(TRIPLE, "sm_80", ()))
    host = CpuTarget.host(1)
    for gpu, processor in _HOST_WORDS.items():
        text = text.replace(gpu, processor)
    text = with_warp_products(_with_dots(text.replace(TRIPLE, host.triple)))
    here, waits = threading.local(), threading.Barrier(1)
    warps = Warps(here, 1)

    def wait() -> None:
        here.waited += 1
        waits.wait()

    callbacks = {
        "host.block": _NUMBER(lambda: here.block),
        "host.thread": _NUMBER(lambda: here.number),
        "host.barrier": _WAIT(wait),
        "host.multiply": MULTIPLY(lambda *passed: warps.multiply(*passed)),
        "host.load": LOAD(lambda *passed: warps.load(*passed)),
    }
    for name, callback in callbacks.items():
        address = ctypes.cast(callback, ctypes.c_void_p).value
        assert address is not None
        binding.add_symbol(name, address)
    launches = {kernel_name(each): each for each in program.launches}
    machine = machine_of(host)
    with binding.create_mcjit_compiler(optimise(text, machine), machine) as engine:
        engine.finalize_object()

        def run(name: str, addresses: Sequence[int]) -> int:
            nonlocal waits, warps
            launch = launches[name]
            grid = grid_of(launch)
            parts = [*statements(grid.body)]
            together = any(map(is_barrier, parts)) or any(map(is_warp_product, parts))
            warps = Warps(here, grid.threads)
            waits, counts = threading.Barrier(grid.threads), [0] * grid.threads
            function = _function(engine, launch)

            def thread(block: int, number: int) -> None:
                here.block, here.number, here.waited = block, number, 0
                function(*addresses)
                counts[number] = here.waited

            for block in range(grid.blocks):
                if not together:
                    for number in range(grid.threads):
                        thread(block, number)
                    continue
                every = [
                    threading.Thread(target=thread, args=(block, number))
                    for number in range(grid.threads)
                ]
                for one in every:
                    one.start()
                for one in every:
                    one.join()
            assert len(set(counts)) == 1, "all threads wait at the same barriers"
            return counts[0]

        yield run


def run_on_host(
    program: GpuProgram, arrays: Sequence[NDArray[Any]]
) -> tuple[list[NDArray[Any]], list[int]]:
    """The outputs of a program, whose memory is full of ones before, and for each launch the
    barriers at which a thread waited."""
    held = {each.name: array for each, array in zip(program.inputs, arrays, strict=True)}
    for buffer in (*program.outputs, *program.scratch):
        held[buffer.name] = np.ones(buffer.shape, buffer.dtype.numpy)
    with host_kernels(program) as run:
        waited = [
            run(kernel_name(launch), [held[each.name].ctypes.data for each in parameters(launch)])
            for launch in program.launches
        ]
    return [held[each.name] for each in program.outputs], waited


def _with_dots(text: str) -> str:
    """A module with the body of each dot product that it declares, such as `host.idp4a.s.u`."""
    found = re.findall(r'declare i32 @"?host\.idp4a\.([su])\.([su])"?\(', text)
    text = re.sub(r'declare i32 @"?host\.idp4a.*\n', "", text)
    return "\n".join((text, *(_dot(*signs) for signs in found)))


def _dot(*signs: str) -> str:
    """The definition of the sum of four products of bytes, from an instruction for each byte."""
    lines = [f'define i32 @"host.idp4a.{".".join(signs)}"(i32 %a, i32 %b, i32 %sum0) {{']
    for number in range(4):
        for operand, sign in zip("ab", signs, strict=True):
            shift = "ashr" if sign == "s" else "lshr"
            lines.append(f"%{operand}{number} = shl i32 %{operand}, {24 - 8 * number}")
            lines.append(f"%{operand}w{number} = {shift} i32 %{operand}{number}, 24")
        lines.append(f"%p{number} = mul i32 %aw{number}, %bw{number}")
        lines.append(f"%sum{number + 1} = add i32 %sum{number}, %p{number}")
    return "\n".join((*lines, "ret i32 %sum4", "}", ""))


def _function(engine: Any, launch: PrimFunc) -> Any:
    kind = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(parameters(launch)))
    return kind(engine.get_function_address(kernel_name(launch)))
