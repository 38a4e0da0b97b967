"""A pool of threads of a library: compiled, and every iteration of its loops counted."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tandem.workbench.export.options import LibraryOptions
from tandem.workbench.export.threads import thread_files
from tests.support.workbench.small_networks import header_of, manifest

PROGRAM = r"""
#include "net_threads.h"
#include <stdio.h>

static int64_t times[1000];
static int workers[NET_THREADS];
static struct net_pool pool;

static void count(void *closure, int64_t begin, int64_t end, int64_t worker)
{
    for (int64_t i = begin; i < end; i++) ((int64_t *)closure)[i]++;
    workers[worker] = 1;
}

static void nested(void *closure, int64_t begin, int64_t end, int64_t worker)
{
    (void)end, (void)worker;
    /* The pool is at work: this is done alone. */
    if (begin == 0) pool.launcher.launch(&pool.launcher, count, closure, 10);
}

int main(void)
{
    struct net_launcher *launcher = net_pool_start(&pool);
    int64_t wrong = pool.started != NET_THREADS - 1;

    for (int64_t size = 0; size < 1000; size += 37) launcher->launch(launcher, count, times, size);
    for (int64_t i = 0; i < 1000; i++) wrong += times[i] != 27 - i / 37;
    launcher->launch(launcher, nested, times, 2);
    for (int64_t i = 0; i < 10; i++) wrong += times[i] != 28;
    net_pool_stop(&pool);
    printf("%d\n", (int)wrong);
    return 0;
}
"""


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_every_iteration_runs_once(tmp_path: Path) -> None:
    """Loops of 0, 37, ..., 999 iterations: number i runs in those that are longer."""
    files = thread_files("net")
    assert [*files] == ["net_threads.h", "net_threads.c"]
    header = header_of(manifest([], "", "", []), LibraryOptions(threads=3))
    for name, content in {**files, "net.h": header.text(), "main.c": PROGRAM}.items():
        (tmp_path / name).write_text(content)
    flags = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-pthread"]
    command = ["cc", *flags, "-o", "main", "main.c", "net_threads.c"]
    subprocess.run(command, cwd=tmp_path, check=True)
    done = subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=True)
    assert done.stdout == "0\n"


def test_names_of_libraries_differ() -> None:
    for content in thread_files("one").values():
        assert "net" not in content.replace("network", "")
        assert "ONE_THREADS" in content
        assert "$" not in content
