"""The page as text: what stands in it, what is escaped, that it needs nothing else."""

from __future__ import annotations

import html
import json
import re
from functools import cache

import pytest

from tandem.hw.topology import TokenQueue
from tandem.sim.why.critical_path import Edge, EdgeKind
from tandem.workbench.accuracy import ClassAccuracy
from tandem.workbench.clock import Clock
from tandem.workbench.labels import Hits
from tandem.workbench.pages.run.figures import figures
from tandem.workbench.pages.run.page import CpuStep, Page
from tandem.workbench.pages.run.render import render
from tandem.workbench.round_trips import RoundTrip
from tandem.workbench.why import PathEdge, Why
from tests.support.scripts.cells import Cells
from tests.support.workbench.pages.profiles import LOSSES, page, profile

TIMES, NONE = "\N{MULTIPLICATION SIGN}", "\N{EN DASH}"
NASTY = """</script><b id="x">&'"{{ 7*7 }}<!--"""


@cache
def usual() -> str:
    """The page with everything; charts take most of the time of a page."""
    return render(page())


@cache
def without_comparison() -> str:
    """The page of one run."""
    return render(page(without=None))


def cards(made: Page) -> dict[str, tuple[str, str]]:
    """Of the summary: value and note, by what it is."""
    return cards_of(render(made))


def cards_of(text: str) -> dict[str, tuple[str, str]]:
    """Of the summary of a page that is rendered."""
    pattern = r'class="card ?\w*"><b>(.*?)</b><span>(.*?)</span>(?:<small>(.*?)</small>)?'
    return {what: (value, note) for value, what, note in re.findall(pattern, text)}


def test_the_table_of_layers() -> None:
    table = Cells(usual()).rows["layers"]
    assert table[0][4:6] == ["cycles without", "cycles with"]
    assert table[1] == [
        *("1", "stem", "conv2d + requantise", "8,765,432", "80,321", "50,851", f"1.58{TIMES}"),
        *("42.6%", "67.3%", "9,409", "55,345", "2,048", f"27.02{TIMES}"),
    ]
    assert table[2][3:9] == ["0", "7,175", "7,171", f"1.00{TIMES}", NONE, NONE]
    assert table[4] == [
        *("", "all layers", "", "8,816,632", "88,532", "58,757", f"1.51{TIMES}"),
        *("38.9%", "58.6%", "10,049", "118,308", "6,144", f"19.26{TIMES}"),
    ]
    causes = table[5:]
    assert causes[0][1:] == [
        *("products", "resets", "ALU", "loads by compute", "waits for loads"),
        *("waits for stores", "waits for tokens", "waits for fetch", "start and end", "cycles"),
    ]
    assert causes[1] == [
        *("stem", "40,000", "100", "9,000", "500", "1,234", "0", "0", "0", "17", "50,851"),
    ]


def test_accuracy() -> None:
    """The layer that loses most by itself is first; what is unknown comes last."""
    accuracy = ClassAccuracy(Hits(9, 10, 12), Hits(6, 8, 12))
    made = page(losses=LOSSES, accuracy=accuracy, warning="of <noise>")
    text = render(made)
    assert Cells(text).rows["accuracy"] == [
        ["layer", "operators", "SQNR, dB", "by itself, dB", "clipped"],
        ["head", "dense + cast", "11.5", "12.0", "1.25%"],
        ["stem", "conv2d", "30.2", "31.5", "1.25%"],
        ["pool", "max_pool", "29.0", "no error", "1.25%"],
        ["mask", "quantise", "unknown", "unknown", "1.25%"],
    ]
    assert "2 batches of noise (--input takes yours)" in text
    assert cards_of(text)["top-1 in int8, 12 samples"] == ("50.0%", "75.0% in float32; top-5 66.7%")
    assert "<b>Warning:</b> of &lt;noise&gt;." in text
    plain = render(page(accuracy=ClassAccuracy(Hits(9, 10, 12), None)))
    real = cards_of(plain)
    assert real["top-1 in float32, 12 samples"] == ("75.0%", "top-5 83.3%")
    assert "Warning" not in plain


def test_formats_of_weights() -> None:
    """Where one was asked for: by layer, and beside the layer's error."""
    formats = {"stem": "int4/32", "head": "ternary, int8 in memory"}
    rows = Cells(render(page(losses=LOSSES, formats=formats))).rows
    at = rows["layers"][0].index("weights")
    assert rows["layers"][0][at : at + 2] == ["weights", "bytes of weights"]
    assert [row[at] for row in rows["layers"][1:4]] == ["int4/32", "", formats["head"]]
    assert [row[at + 1] for row in rows["layers"][1:5]] == ["9,409", "0", "640", "10,049"]
    assert rows["accuracy"][0][2] == "weights"
    assert [row[2] for row in rows["accuracy"][1:]] == [formats["head"], "int4/32", "", ""]
    assert "weights" not in Cells(usual()).rows["layers"][0]


def test_round_trips() -> None:
    trip = RoundTrip("stem", "head", ("convert", "softmax"), 65_536, 1_024, 0.0125, 0.0025)
    text = render(page(round_trips=(trip,), batches=3))
    assert Cells(text).rows["cpu"][-1] == [
        *("stem", "head", "convert + softmax", "65,536", "1,024", "12.500", "2.500"),
    ]
    assert "The 1 round trip between launches" in text
    assert "sums over all 3 batches" in text
    assert "round trip" not in usual()


def test_the_critical_path() -> None:
    made = page()
    stem, pool, _ = made.layers
    edges = (
        Edge(EdgeKind.LOAD, 0, 11_000, 3),
        Edge(EdgeKind.TOKEN, 11_000, 11_001, 4, TokenQueue.LOAD_TO_COMPUTE),
        Edge(EdgeKind.GEMM, 11_001, 31_001, 4),
        Edge(EdgeKind.LOAD, 31_001, 50_851, 5),
    )
    reasons = (
        Why(stem, tuple(PathEdge(edge, f"text <{edge.instruction}>") for edge in edges)),
        Why(pool, ()),
    )
    table = Cells(render(page(reasons=reasons))).rows["why"]
    assert table[0] == ["layer", *(kind.value for kind in EdgeKind), "cycles"]
    cells = dict(zip(table[0], table[1], strict=True))
    assert {name: cells[name] for name in ("loads", "tokens", "products", "ALU", "cycles")} == {
        "loads": "30,850",
        "tokens": "1",
        "products": "20,000",
        "ALU": "0",
        "cycles": "50,851",
    }
    assert table[3][0] == "layer"
    assert table[4:] == [["stem", "products", "20,000", "11,001", "4: text <4>"]]
    assert "why" not in Cells(usual()).rows


def test_the_summary() -> None:
    found = cards(page(clock=Clock(125.0, "as given")))
    assert found == {
        "cycles": ("58,757", "88,532 without latency hiding"),
        "utilisation": ("58.6%", "38.9% without latency hiding"),
        "faster by latency hiding": (f"1.51{TIMES}", ""),
        "at 125 MHz, as given": ("0.47 ms", ""),
        "multiply-accumulates": ("8.8 M", "in 3 layers"),
        "moved": ("118.3 kB", f"19.26{TIMES} the least possible"),
        "to the CPU": ("equal", "at every boundary, bit for bit"),
        "on this computer": ("1.75 ms", "2 steps on its CPU"),
    }


def test_milliseconds_are_of_a_known_clock() -> None:
    measured = "measured: ECP5 85k, speed 6, median of 3 seeds"
    text = render(page(clock=Clock(89.9, measured)))
    assert f"<b>0.654 ms</b><span>at 89.9 MHz, {measured}</span>" in text
    assert "No clock is known" not in text
    without = render(page(cpu_steps=()))
    assert "No clock is known" in without
    assert "<code>--clock MHZ</code>" in without
    assert not [
        card for card in cards_of(without).items() if "MHz" in card[0] or " ms" in card[1][0]
    ]


def test_without_cycles_no_clock_is_asked_for() -> None:
    made = page(engine="functional", layers=(profile("a", macs=9),), without=None)
    assert "No clock is known" not in render(made)


@pytest.mark.parametrize(
    ("mhz", "told"), [(0.058757, "1,000 ms"), (0.0588, "999 ms"), (0.001, "58,757 ms")]
)
def test_milliseconds_have_no_exponent(mhz: float, told: str) -> None:
    clock = Clock(mhz, "as given")
    assert cards(page(clock=clock))[f"at {clock}"][0] == told


@pytest.mark.parametrize(
    ("equal", "what", "value"),
    [
        (True, "to the CPU", "equal"),
        (False, "to the CPU", "NOT equal"),
        (None, "with the CPU", "not compared"),
    ],
)
def test_whether_it_was_compared(equal: bool | None, what: str, value: str) -> None:
    assert cards(page(equal=equal))[what][0] == value


@pytest.mark.parametrize(
    ("macs", "told"),
    [
        (0, "0 "),
        (999, "999 "),
        (1000, "1.0 k"),
        (999_949, "999.9 k"),
        (999_950, "1.0 M"),
        (1_814_073_344, "1.8 G"),
        (7 * 10**15, "7,000.0 T"),
    ],
)
def test_headlines_are_short(macs: int, told: str) -> None:
    made = page(layers=(profile("a", 10**14, macs=macs),), without=None)
    assert cards(made)["multiply-accumulates"][0] == told


def test_without_the_other_run_its_columns_are_left_out() -> None:
    table = Cells(without_comparison()).rows["layers"]
    assert table[0][3:6] == ["MACs", "cycles", "utilisation"]
    assert table[1][3:6] == ["8,765,432", "50,851", "67.3%"]
    assert len({len(row) for row in table[:5]}) == 1
    assert "latency hiding" not in without_comparison()


def test_without_time_the_page_says_so() -> None:
    made = page(engine="functional", layers=(profile("a", macs=9),), without=None)
    text = render(made)
    assert "The functional engine has no time" in text
    head = Cells(text).rows["layers"][0]
    assert head[3:] == ["MACs", "bytes of weights", "bytes moved", "least bytes", "moved / least"]
    assert "cycles" not in cards_of(text)


def test_on_the_cpu_alone() -> None:
    made = page(layers=(), without=None, areas=(), equal=None)
    cells = Cells(render(made))
    assert [*cells.rows] == ["cpu"]
    assert cells.rows["cpu"] == [
        ["step", "ms", "operators", "why not on the accelerator"],
        ["quantised", "1.250", "quantise", "no schedule template for quantise"],
        ["answer", "0.500", "reshape + dequantise", "layout <of> blocks"],
        ["all steps", "1.750", "", ""],
    ]


def test_a_step_of_which_nobody_says_why() -> None:
    cells = Cells(render(page(cpu_steps=(CpuStep("answer", 0.0005),))))
    assert cells.rows["cpu"][1] == ["answer", "0.500", "", ""]


def test_areas_by_address() -> None:
    assert Cells(usual()).rows["memory"][1:] == [
        ["stem.weight", "weights", "0x00001000", "65,536"],
        ["image", "inputs", "0x00020000", "150,528"],
        ["answer_bytes", "outputs", "0x00050000", "16"],
    ]


def test_it_says_what_made_it() -> None:
    text = usual()
    assert "<pre>tandem run little_net.onnx --report page.html</pre>" in text
    assert "tandem-workbench 0.1.0 · verilator 5.48.1" in text


def test_every_chart_is_there() -> None:
    text = usual()
    for figure in figures(page()):
        found = re.search(rf'id="spec-{figure.key}">(.*?)</script>', text)
        assert found is not None
        assert json.loads(found[1]) == figure.spec
        assert f'data-spec="spec-{figure.key}"' in text


def test_what_others_named_is_escaped() -> None:
    made = page(
        model=NASTY,
        command=NASTY,
        layers=(profile(NASTY, 100, macs=9, operators=(NASTY,)),),
        without=None,
        versions=((NASTY, NASTY),),
    )
    clean = Cells(without_comparison())
    text = render(made)
    found = Cells(text)
    count = text.count(html.escape(NASTY, quote=False).split("&lt;b ")[0])
    assert count >= 6
    assert found.rows["layers"][1][1:3] == [NASTY, NASTY]
    assert not [each for each in found.elements if each[1].get("id") == "x"]
    kinds = {tag for tag, _ in clean.elements}
    assert {tag for tag, _ in found.elements} == kinds
    assert text.count("<!--") == 0


def test_nothing_is_fetched() -> None:
    elements = Cells(usual()).elements
    for tag, given in elements:
        assert tag not in ("link", "img", "iframe")
        assert "src" not in given
        assert (given.get("href") or "#").startswith("#")
    (policy,) = (g["content"] for t, g in elements if t == "meta" and "http-equiv" in g)
    assert policy is not None
    assert policy.startswith("default-src 'none'; ")
    assert "http" not in policy


def test_the_same_page_is_the_same_text() -> None:
    assert render(page()) == usual()
