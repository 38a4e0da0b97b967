"""The table of supported operators of `docs/operators.md`, printed if run as a script."""

from __future__ import annotations

from tandem.compiler.frontends.onnx.operators import CONVERTERS, EXPANDED


def table() -> str:
    """A Markdown row for each operator: versions from opset 7 on, and unsupported features."""
    lines = ["| operator | versions | limits |", "|---|---|---|"]
    for name, converter in sorted(CONVERTERS.items()):
        versions = ", ".join(map(str, converter.versions))
        lines.append(f"| {name} | {versions} | {converter.limits} |")
    lines += ["", "As what the standard says they are short for:", ""]
    lines += [f"- {name} ({', '.join(map(str, them))})" for name, them in sorted(EXPANDED.items())]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(table())
