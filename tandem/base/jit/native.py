"""Machine code: from an LLVM module's text to a function in this process."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

import llvmlite
from llvmlite import binding

from tandem.base.jit.module import ENTRY
from tandem.base.processor import Host, initialise

_LEVEL = 3
_PROTOTYPE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


@cache
def settings() -> tuple[str, ...]:
    """What determines machine code beside the module: LLVM, its options, and the processor."""
    host = Host.detect()
    return (llvmlite.__version__, str(_LEVEL), host.triple, host.cpu, ",".join(host.features))


def machine_code(text: str) -> bytes:
    """The object file of a module, for this processor."""
    initialise()
    host = Host.detect()
    features = ",".join([f"+{name}" for name in host.features] + [f"-{n}" for n in host.absent])
    machine = binding.Target.from_triple(host.triple).create_target_machine(
        cpu=host.cpu, features=features, opt=_LEVEL, reloc="pic", codemodel="small"
    )
    module = binding.parse_assembly(text)
    module.triple = host.triple
    module.data_layout = str(machine.target_data)
    module.verify()
    options = binding.create_pipeline_tuning_options(_LEVEL)
    passes = binding.create_pass_builder(machine, options)
    passes.getModulePassManager().run(module, passes)
    return machine.emit_object(module)


def load(code: bytes) -> Callable[[int], None]:
    """Link an object file into this process; returns its entry, which releases Python's lock."""
    initialise()
    builder = binding.JITLibraryBuilder()
    builder.add_object_img(code).add_current_process().export_symbol(ENTRY)
    library: Any = builder.link(binding.create_lljit_compiler(), ENTRY)
    entry = _PROTOTYPE(library[ENTRY])

    def call(address: int, _library: Any = library) -> None:
        entry(address)

    return call
