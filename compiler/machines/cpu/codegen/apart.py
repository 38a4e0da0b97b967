"""Machine code made in a process of its own, which LLVM ends where it cannot make the code.

`python -m tandem.compiler.machines.cpu.codegen.apart TRIPLE CPU FEATURES ABI RELOCATION` reads an
LLVM module's text and writes the object file.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence

from tandem.compiler.errors import CodegenError
from tandem.compiler.machines.cpu.codegen.machine_code import code_of

_UNKNOWN = re.compile(r"'([^']*)' is not a recognized (processor|feature) for this target")
_FATAL = re.compile(r"(?:LLVM ERROR: |Assertion )(.*)")


def made_apart(text: str, settings: Sequence[str]) -> bytes:
    """The object file of an LLVM module's text, for the settings of a processor.

    Raises
    ------
    CodegenError
        LLVM does not know the processor or a feature by its name, or cannot make the code.
    """
    command = [sys.executable, "-m", __name__, *settings]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        command, input=text.encode(), capture_output=True, check=False, env=environment
    )
    said = done.stderr.decode(errors="replace")
    triple, cpu, features, *_ = settings
    unknown = sorted({(kind, name.lstrip("+-")) for name, kind in _UNKNOWN.findall(said)})
    if unknown:
        names = ", ".join(f"{kind} {name!r}" for kind, name in unknown)
        raise CodegenError(f"LLVM knows no {names} of {triple}")
    if done.returncode == 0:
        return done.stdout
    reason = _FATAL.search(said)
    why = reason[1] if reason else (said.strip().splitlines() or ["it says nothing"])[-1]
    raise CodegenError(
        f"LLVM cannot make code for {triple}, processor {cpu or 'generic'}, with "
        f"{features or 'no features'}: {why.strip(' .')}. Other features, or a processor that "
        "`tandem export --help` names, may do"
    )


def _main(settings: Sequence[str]) -> None:
    sys.stdout.buffer.write(code_of(sys.stdin.buffer.read().decode(), *settings))


if __name__ == "__main__":
    _main(sys.argv[1:])
