"""`tandem.disassemble` and `tandem.verify`: programs of the accelerator as text, and proved."""

from __future__ import annotations

from tandem.api.machines import Machine
from tandem.api.program_arguments import AnyProgram, Image, loaded_program
from tandem.hw.isa import disassemble as disassemble_program
from tandem.sim.errors import MemoryImageError
from tandem.workbench.arguments import at_least, value_errors
from tandem.workbench.program_proof import Proof, prove


def disassemble(
    program: AnyProgram, *, machine: Machine | None = None, stream: str | None = None
) -> str:
    """A program as text, one line an instruction; illegal ones say what is wrong about them.

    >>> assembler = tandem.isa.Assembler(tandem.Accelerator("tiny").config)
    >>> end = assembler.finish()
    >>> print(tandem.disassemble(assembler.build()))
    0  FINISH

    Parameters
    ----------
    program, machine, stream
        As of `simulate`.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        An argument that is not allowed; says what is.
    OSError
        A file cannot be read.
    """
    loaded = loaded_program(program, None, machine, stream, "disassemble")
    return disassemble_program(loaded.program).rstrip("\n")


def verify(
    program: AnyProgram,
    image: Image | None = None,
    *,
    machine: Machine | None = None,
    stream: str | None = None,
    address: int | None = None,
) -> Proof:
    """Prove that a program's tokens order all accesses that conflict, or say what they do not.

    Without an image the accesses of GEMM and ALU, which depend on micro-ops, are not checked.

    Parameters
    ----------
    program, image, machine, stream, address
        As of `simulate`.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        An argument that is not allowed; says what is.
    OSError
        A file cannot be read.
    """
    loaded = loaded_program(program, image, machine, stream, "verify")
    with value_errors(MemoryImageError):
        return prove(loaded, None if address is None else at_least("address", address, 0))
