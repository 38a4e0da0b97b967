"""The page in a browser: no message on the console, and every chart drawn."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from tandem.hw.config_files import load_config
from tandem.runtime.artifact.stream import Layer, StreamCode
from tandem.runtime.layer_profiles import LayerProfile, profile_layers
from tandem.scripts.matmul import matmul_program
from tandem.sim.engine import Launch
from tandem.sim.engines import make_engine
from tandem.sim.memory import place_program
from tandem.workbench.pages.run import Area, AreaKind, Page, write_page
from tandem.workbench.pages.run.figures import figures
from tests.support.scripts.browser import RenderedPage, charts, find_chromium, marks, show
from tests.support.workbench.pages.profiles import LOSSES, page, profile

CHROMIUM = find_chromium()
needs_browser = pytest.mark.skipif(
    CHROMIUM is None, reason="no Chromium on this machine: .ci/packages installs it"
)


def shown(made: Page, folder: Path, width: int = 1200) -> RenderedPage:
    assert CHROMIUM is not None
    write_page(made, folder / "page.html")
    return show(CHROMIUM, folder / "page.html", folder / "profile", width)


def check(made: Page, found: RenderedPage) -> None:
    assert found.console == ()
    wanted = [each.key for each in figures(made)]
    drawings = charts(found.document)
    assert [*drawings] == wanted
    assert all(map(marks, drawings.values()))
    assert f'data-drawn="{len(wanted)}"' in found.document


@pytest.mark.every(6)
@needs_browser
@pytest.mark.parametrize(
    "made",
    [
        page(losses=LOSSES),
        page(without=None, memory="edge"),
        page(layers=(profile("a", macs=9),), without=None, engine="functional"),
        page(layers=(), without=None, areas=()),
        page(areas=(Area("nothing", 0, 0, AreaKind.MICRO_OPS),)),
        page(areas=(Area("one", 0, 64, AreaKind.MICRO_OPS),)),
    ],
    ids=["all", "one run", "no time", "CPU", "empty area", "wide area"],
)
def test_pages(made: Page, tmp_path: Path) -> None:
    check(made, shown(made, tmp_path))


@needs_browser
def test_what_is_drawn(tmp_path: Path) -> None:
    drawings = charts(shown(page(), tmp_path).document)
    for label in ("stem", "head", "42.6%", "67.3%"):
        assert f">{label}</text>" in drawings["utilisation"]
    # Two bars and two numbers for each of the layers that multiply.
    assert marks(drawings["utilisation"]) == 8
    for label in ("stem", "pool", "head", "with: 50,851", "without: 80,321", "waits for loads"):
        assert f">{label}</text>" in drawings["causes"]
    assert ">256 multipliers</text>" in drawings["roofline"]
    for chart in ("causes", "bytes", "memory"):
        assert ">0</text>" in drawings[chart], "without a prefix"
    for kind in ("inputs", "outputs", "weights"):
        assert f">{kind}</text>" in drawings["memory"]


@needs_browser
@pytest.mark.parametrize(
    ("column", "clicks", "wanted"),
    [
        pytest.param("cycles with", 1, ["stem", "pool", "head"], marks=pytest.mark.exhaustive),
        ("cycles with", 2, ["head", "pool", "stem"]),
        pytest.param("utilisation with", 1, ["stem", "head", "pool"], marks=pytest.mark.exhaustive),
        pytest.param("layer", 1, ["head", "pool", "stem"], marks=pytest.mark.exhaustive),
        pytest.param("#", 2, ["head", "pool", "stem"], marks=pytest.mark.exhaustive),
    ],
)
def test_the_table_sorts(column: str, clicks: int, wanted: list[str], tmp_path: Path) -> None:
    assert CHROMIUM is not None
    click = f"""
const heads = [...document.querySelectorAll("#layers table:first-of-type th")];
const head = heads.find((each) => each.textContent === {column!r});
for (let count = 0; count < {clicks}; count++) head.click();
"""
    path = tmp_path / "page.html"
    write_page(page(), path)
    path.write_text(f'{path.read_text()}<script type="module">{click}</script>')
    found = show(CHROMIUM, path, tmp_path / "profile")
    assert found.console == ()
    (table,) = re.findall(r'<section id="layers">.*?<tbody>(.*?)</tbody>', found.document, re.S)
    names = re.findall(r'<td>\d+</td><td class="text">(\w+)</td>', table)
    assert names == wanted
    way = "ascending" if (column in ("layer", "#")) == (clicks == 1) else "descending"
    (way_shown,) = re.findall(r'<th[^>]* aria-sort="(\w+)"', found.document)
    assert way_shown == way


@needs_browser
def test_names_that_others_gave(tmp_path: Path) -> None:
    nasty = """</script><b id="x">&'"\\{{ 7*7 }}<!--"""
    layers = tuple(profile(f"{nasty}{count}", 100, 3, macs=9) for count in range(40))
    made = page(model=nasty, layers=layers, without=None)
    found = shown(made, tmp_path, width=500)
    check(made, found)
    assert '<b id="x">' not in re.sub(r'"[^"]*"', "", found.document)


@needs_browser
def test_a_real_run(tmp_path: Path) -> None:
    layers, cycles = multiplied()
    made = page(config=load_config("tiny"), engine="pysim", layers=layers, without=None)
    assert sum(each.cycles or 0 for each in layers) == cycles
    found = shown(made, tmp_path)
    check(made, found)
    assert f"<b>{cycles:,}</b><span>cycles</span>" in found.document


@needs_browser
def test_the_console_is_heard(tmp_path: Path) -> None:
    assert CHROMIUM is not None
    (tmp_path / "page.html").write_text(
        "<script>console.warn('one'); setTimeout(() => absent(), 100)</script>"
        "<meta http-equiv='Content-Security-Policy' content=\"default-src 'none'\">"
        "<img src='http://localhost/x.png'>"
    )
    found = show(CHROMIUM, tmp_path / "page.html", tmp_path / "profile")
    first, *others = found.console
    assert "one" in first
    assert sum("absent is not defined" in each for each in others) == 1
    assert sum("Content Security Policy" in each for each in others) == 1


def multiplied() -> tuple[tuple[LayerProfile, ...], int]:
    """A matrix product on a small machine, its first half and its second as two layers."""
    config = load_config("tiny")
    side = 4 * max(config.block_in, config.block_out)
    program, at = matmul_program(config, side, side, side)
    first = Layer("first half", ("dense",), side**3 // 2, side * side)
    second = Layer("second half", ("dense",), side**3 // 2, side * side)
    count = len(program)
    zeros = np.zeros((side, side), np.int8)
    image = at.image(zeros, zeros)
    code = StreamCode(
        name="matmul",
        config=config,
        program=program.data,
        image=image,
        inputs=(),
        outputs=(),
        layers=(first, second),
        layer_of=np.array([2 * each // count for each in range(count)], np.int32),
        places=("",) * count,
    )
    memory, address = place_program(image, program)
    engine = make_engine("pysim", config)
    result = engine.launch(program, memory, Launch(address=address, events=True))
    assert result.cycles is not None
    return profile_layers(code, program, result), result.cycles
