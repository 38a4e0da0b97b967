"""The text of one LLVM function, as it grows."""

from __future__ import annotations


class Writer:
    """An LLVM function under construction: blocks of instructions, and variables on the stack.

    Attributes
    ----------
    block
        The label of the block that instructions are added to; "" after the block's last one, when
        what follows is never executed and is dropped.
    """

    def __init__(self) -> None:
        self.block = "entry"
        self._variables: list[str] = []
        self._blocks: dict[str, list[str]] = {"entry": self._variables, "body": []}
        self._lines = self._blocks["body"]
        self.block = "body"
        self._count = 0

    @property
    def body(self) -> str:
        """The blocks, as text."""
        blocks = (f"{label}:\n" + "\n".join(lines) for label, lines in self._blocks.items())
        return "\n".join(blocks).replace("\nbody:", "\n  br label %body\nbody:", 1)

    def emit(self, instruction: str) -> str:
        """Add an instruction; returns the name of its value."""
        self._count += 1
        name = f"%v{self._count}"
        if self.block:
            self._lines.append(f"  {name} = {instruction}")
        return name

    def do(self, instruction: str) -> None:
        """Add an instruction without a value."""
        if self.block:
            self._lines.append(f"  {instruction}")

    def variable(self, llvm: str) -> str:
        """A variable on the stack, zero at first; returns its address."""
        self._count += 1
        name = f"%a{self._count}"
        zero = {"ptr": "null", "double": "0.0"}.get(llvm, "0")
        self._variables.append(f"  {name} = alloca {llvm}\n  store {llvm} {zero}, ptr {name}")
        return name

    def label(self) -> str:
        """A new label."""
        self._count += 1
        return f"b{self._count}"

    def begin(self, label: str) -> None:
        """Begin a block."""
        self._lines = self._blocks[label] = []
        self.block = label

    def resume(self, label: str) -> None:
        """Continue a block that has begun and has not ended."""
        self._lines = self._blocks[label]
        self.block = label

    def end(self, instruction: str) -> None:
        """End the block with an instruction."""
        self.do(instruction)
        self.block = ""

    def jump(self, label: str) -> None:
        """End the block with a jump."""
        self.end(f"br label %{label}")

    def branch(self, condition: str, then: str, otherwise: str) -> None:
        """End the block with a choice."""
        match condition:
            case "true":
                self.jump(then)
            case "false":
                self.jump(otherwise)
            case _:
                self.end(f"br i1 {condition}, label %{then}, label %{otherwise}")
