"""The pages of the site, in parts, for its sidebar: the pages themselves know nothing of it."""

from __future__ import annotations

SOURCES = (
    *("*.md", "docs/*.md", "docs/site/*.md", "tests/**/*.md"),
    *("docs/notebooks/*.ipynb", "docs/labs/*.md", "docs/labs/*.ipynb"),
)
"""Patterns of the files that are pages, from the repository's root."""

PARTS = {
    "Guides": (
        "docs/installation",
        "docs/demo",
        "docs/python",
        "docs/running-networks",
        "docs/generate",
        "docs/export",
        "docs/c-runtime",
        "docs/soc",
        "docs/deploy",
        "docs/accuracy",
        "docs/reasons",
        "docs/utilization",
        "docs/latency-hiding",
        "docs/tuning-guide",
        "docs/co-design",
        "docs/verilog",
        "docs/programs",
        "docs/own-operators",
        "docs/blur",
        "docs/accelerator",
        "docs/extending",
        "docs/promises",
    ),
    "Notebooks": (
        "docs/notebooks/1-first-run",
        "docs/notebooks/2-latency-hiding",
        "docs/notebooks/3-own-machine",
        "docs/notebooks/4-tuning",
        "docs/notebooks/5-search",
        "docs/notebooks/6-own-operator",
        "docs/notebooks/7-train",
    ),
    "Labs": (
        "docs/labs/README",
        "docs/labs/lab1",
        "docs/labs/lab2",
        "docs/labs/lab3",
        "docs/labs/lab4",
        "docs/labs/lab5",
        "docs/labs/lab6",
    ),
    "Reference": (
        "docs/site/commands",
        "docs/site/api",
        "docs/presets",
        "docs/instruction-set",
        "docs/registers",
        "docs/ip",
        "docs/ip-tools",
        "docs/operators",
        "docs/networks",
        "docs/tuning",
        "docs/vta",
        "docs/glossary",
    ),
    "How it works": (
        "ARCHITECTURE",
        "docs/machine",
        "docs/timing",
        "docs/extensions",
        "docs/resources",
        "docs/simulators",
        "docs/compiler",
        "docs/graphs",
        "docs/gradients",
        "docs/training",
        "docs/quantisation",
        "docs/schedule-templates",
        "docs/artifacts",
        "docs/cpu-kernels",
        "docs/gpu",
        "docs/tuner",
        "docs/sketches",
        "docs/machine-search",
        "docs/discover",
        "docs/verification",
        "docs/foundations",
    ),
    "The project": (
        "CONTRIBUTING",
        "CHANGELOG",
        "docs/moved",
        "tests/golden/vectors/README",
        "tests/formal/README",
        "tests/mutation/README",
        "tests/mutation/SURVIVORS",
        "tests/mutation/python/README",
        "tests/mutation/python/SURVIVORS",
    ),
}


def navigation() -> str:
    """Tables of contents that are not shown, for the sidebar."""
    blocks = (
        "\n".join(["```{toctree}", ":hidden:", f":caption: {caption}", "", *pages, "```"])
        for caption, pages in PARTS.items()
    )
    return "\n\n" + "\n\n".join(blocks) + "\n"
