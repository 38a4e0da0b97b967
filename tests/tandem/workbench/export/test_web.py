"""Networks in WebAssembly: the module in Node, and the page in a browser."""

from __future__ import annotations

import functools
import json
import queue
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

import tandem
from tests.support.scripts.browser import find_chromium
from tests.support.workbench.cross import CROSS, make


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of `digits`, built."""
    CROSS["wasm32"].require()
    folder = tmp_path_factory.mktemp("web")
    tandem.compile("digits", tandem.Cpu("wasm32"), quantize="multiplier").export(folder)
    make(folder)
    return folder


def test_a_drawn_digit_is_read_as_here(digits: Path) -> None:
    """A vertical stroke, as typed arrays of JavaScript hold it: the same class and values."""
    image = np.zeros((1, 1, 8, 8), np.float32)
    image[0, 0, :, 3:5] = 1
    script = f"""
import {{ readFileSync }} from "node:fs";
import {{ Network }} from "{(digits / "network.mjs").as_uri()}";
const description = JSON.parse(readFileSync("{digits}/digits.json"));
const network = await Network.load(readFileSync("{digits}/digits.wasm"), description);
const image = Float32Array.from({image.ravel().tolist()});
const twice = [network.run({{ input: image }}), network.run({{ input: image }})];
console.log(JSON.stringify(twice.map((outputs) => [...outputs.output])));
let refused = "";
try {{ network.run({{ input: [1, 2] }}); }} catch (error) {{ refused = error.message; }}
console.log(refused);
"""
    command = ["node", "--input-type=module", "-e", script]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    first, refused = done.stdout.splitlines()
    found = json.loads(first)
    here = tandem.compile("digits", tandem.Cpu(), quantize="multiplier")
    wanted = tandem.Session(here).run({"input": image})["output"][0]
    assert found[0] == found[1]
    np.testing.assert_allclose(found[0], wanted, rtol=0, atol=1e-4 * float(np.abs(wanted).max()))
    assert int(np.argmax(found[0])) == 1
    assert refused == "input: 64 elements are needed"


def test_another_result_is_noticed(digits: Path) -> None:
    data = bytearray((digits / "check.bin").read_bytes())
    data[-64:] = bytes(64)
    folder = digits / "changed"
    folder.mkdir()
    for name in ("network.mjs", "check.mjs", "digits.json", "digits.wasm"):
        (folder / name).write_bytes((digits / name).read_bytes())
    (folder / "check.bin").write_bytes(data)
    command = ["node", "check.mjs", "digits"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "output differs\nNOT as expected\n")


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_what_is_no_number_or_infinite_is_compared_too() -> None:
    """Such elements have to be the same, and beside them others as ever."""
    text = files("tandem.workbench.export").joinpath("web", "check.mjs").read_text()
    agrees = text[text.index("function agrees") : text.index("const given")]
    tolerances = next(line for line in text.splitlines() if line.startswith("const TOLERANCES"))
    cases = (
        ("NaN, Infinity, -Infinity", "NaN, Infinity, -Infinity", True),
        ("NaN, 2, 3", "1, 2, 3", False),
        ("1, 2, 3", "NaN, 2, 3", False),
        ("Infinity, 2", "Infinity, 2.1", False),
        ("Infinity, 2", "Infinity, 2.0001", True),
        ("Infinity, 2", "3, 2", False),
        ("0, 2", "-0, 2", True),
        ("1, 2", "1, 2, 3", False),
        ("", "", True),
    )
    calls = (
        f"agrees(Float32Array.of({found}), Float32Array.of({wanted}), 'float32')"
        for found, wanted, _ in cases
    )
    script = f"{tolerances}\n{agrees}\nconsole.log(JSON.stringify([{','.join(calls)}]));"
    done = subprocess.run(["node", "-e", script], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [same for *_, same in cases]


class _Server(ThreadingHTTPServer):
    """Serves a folder; a page that posts a text has `posted` hold it."""

    posted: queue.Queue[str]


class _Quiet(SimpleHTTPRequestHandler):
    server: _Server

    def do_POST(self) -> None:
        self.server.posted.put(self.rfile.read(int(self.headers["Content-Length"])).decode())
        self.send_response(204)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: pytest would show it."""


@contextmanager
def served(folder: Path) -> Iterator[_Server]:
    """The server of a folder, while the `with` block runs."""
    handler = functools.partial(_Quiet, directory=str(folder))
    with _Server(("127.0.0.1", 0), handler) as server:
        server.posted = queue.Queue()
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def test_the_page(digits: Path, tmp_path: Path) -> None:
    """A stroke on the canvas, and the rows of its classes."""
    chromium = find_chromium()
    if chromium is None:
        pytest.skip("Chromium is not installed")
    page = (digits / "index.html").read_text()
    stroke = """
const box = byId("canvas").getBoundingClientRect();
for (let i = 0; i <= 16; i++) {
  byId("canvas").dispatchEvent(new PointerEvent("pointermove", { buttons: 1,
    clientX: box.left + box.width / 2, clientY: box.top + box.height * i / 16 }));
}
await fetch("page", { method: "POST", body: document.documentElement.outerHTML });
</script>
</html>"""
    assert page.rstrip().endswith("</script>\n</html>")
    (digits / "drawn.html").write_text(page.rstrip().removesuffix("</script>\n</html>") + stroke)
    with served(digits) as server:
        command = [chromium, "--headless", "--no-sandbox", "--disable-gpu"]
        command += ["--disable-dev-shm-usage", f"--user-data-dir={tmp_path}"]
        # A port that stays open keeps the browser; the page says when it is done.
        command += [
            "--remote-debugging-port=0",
            f"http://127.0.0.1:{server.server_port}/drawn.html",
        ]
        errors = tmp_path / "errors.txt"
        with errors.open("w") as log, subprocess.Popen(command, stderr=log) as browser:
            try:
                shown = server.posted.get(timeout=120)
            except queue.Empty:
                pytest.fail(f"the page was not done after two minutes:\n{errors.read_text()}")
            finally:
                browser.terminate()
    rows = shown.partition('<table id="outputs">')[2].partition("</table>")[0]
    assert rows.count("<tr>") == 10
    assert rows.startswith("<tbody><tr><td>output[1]</td>") or rows.startswith("<tr><td>output[1]")
    assert "KiB of code and weights" in shown
    assert '<div id="drawing">' in shown
