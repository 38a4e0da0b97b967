"""The outcomes of ONNX's node tests, for `docs/operators.md`; printed if run as a script."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

import onnx

from tests.support.compiler.frontends.onnx_nodes import Outcome, node_cases, run_case

_UNSUPPORTED = "operators that are not supported: "
_NAMES = re.compile(r"([A-Za-z][\w.]*) of opset")
_TYPE = re.compile(r"(?:is of|not supported:) the type (\w+)")
_NODE = re.compile(r"^node (?:\S+ \((\w+)\)|(\w+) of \S+): (?:not supported: )?")
_KINDS = (
    (r"^(Sequence|SplitToSequence|Optional|ConcatFromSequence)", "sequences and optional values"),
    (r"^(String|Regex)|^ai\.onnx\.ml\.LabelEncoder$|^TfIdf", "strings and tables of words"),
    (r"^ImageDecoder$", "files of images"),
    (r"^(Bernoulli|Random)", "results are random"),
    (r"^(If|Loop|Scan)$", "control flow"),
    (r"^(LSTM|GRU|RNN)$", "recurrence"),
)
"""Why operators are missing, by their names."""


def counts(outcomes: Sequence[Outcome]) -> str:
    """One line: how many cases pass, are refused and fail."""
    passed = sum(each.passed for each in outcomes)
    refused = sum(bool(each.refusal) for each in outcomes)
    wrong = sum(bool(each.failure) for each in outcomes)
    return (
        f"Of the {len(outcomes):,} node tests of ONNX {onnx.__version__}, {passed:,} pass, "
        f"{refused:,} are refused, and {wrong or 'none'} {'are' if wrong > 1 else 'is'} wrong."
    )


def refusals(outcomes: Sequence[Outcome]) -> str:
    """A Markdown row for each operator with refused cases: their number, and the reasons."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for outcome in outcomes:
        if outcome.refusal:
            for operator, reason in _reasons(outcome):
                found[operator][reason] += 1
    lines = ["| operator | refused | because |", "|---|---|---|"]
    for operator, reasons in sorted(found.items()):
        why = "; ".join(sorted(reasons))
        lines.append(f"| {operator} | {sum(reasons.values())} | {why} |")
    return "\n".join(lines) + "\n"


def _reasons(outcome: Outcome) -> Iterator[tuple[str, str]]:
    """The operators that are refused in a case, with the reason."""
    text = outcome.refusal
    if text.startswith(_UNSUPPORTED):
        for name in sorted(set(_NAMES.findall(text))):
            yield name, next((why for form, why in _KINDS if re.search(form, name)), "missing")
        return
    found = _NODE.match(text)
    operators = ", ".join(sorted(outcome.operators))
    operator = next(filter(None, found.groups()), operators) if found else operators
    kind = _TYPE.search(text)
    if kind:
        yield operator, f"the type {re.sub('8e.*', '8', kind[1])}"
    elif text.endswith("is no tensor"):
        yield operator, "sequences and optional values"
    else:
        reason = text[found.end() :] if found else text
        yield operator, re.sub(r"^\w+\(\.\.\.\): .*\]: ", "", reason)


if __name__ == "__main__":
    results = [run_case(each) for each in node_cases()]
    print(counts(results))
    print()
    print(refusals(results))
