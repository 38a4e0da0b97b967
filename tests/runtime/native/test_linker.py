"""`runtime.native.linker`: code of a C compiler in this process, with every kind of relocation."""

from __future__ import annotations

import ctypes
import gc
import math
import platform
import shutil
import subprocess
from pathlib import Path

import pytest

from tandem.runtime.errors import NativeCodeError
from tandem.runtime.native.linker import LinkedCode, link
from tandem.runtime.native.x86_64 import Relocations, relocated

pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64" or shutil.which("gcc") is None, reason="x86-64 and gcc"
)
SOURCE = """
#include <stddef.h>
#include <math.h>
#include <string.h>
static const double table[4] = {1.0, 2.0, 4.0, 8.0};
static const double *const pointers[2] = {&table[3], &table[1]};
static int counted = 5;
static int zeroed[3000];
int visible = 7;
int count(void) { zeroed[2999] += 1; return counted += zeroed[2999]; }
double look(int at) { return *pointers[at] + table[at]; }
double library(double x) { return sin(x) + visible; }
void *copier(void) { return (void *) memmove; }
int (*itself(void))(void) { return count; }
"""


def compiled(folder: Path, source: str, *options: str) -> bytes:
    """An object file of position-independent code."""
    (folder / "code.c").write_text(source)
    command = ["gcc", "-c", "-O1", "-fPIC", *options, "code.c", "-o", "code.o"]
    subprocess.run(command, cwd=folder, check=True)
    return (folder / "code.o").read_bytes()


@pytest.fixture(params=["-fplt", "-fno-plt"])
def code(request: pytest.FixtureRequest, tmp_path: Path) -> LinkedCode:
    """The functions, linked; calls by stubs, or by addresses in a table."""
    found = compiled(tmp_path, SOURCE, request.param)
    return link(found, ("count", "look", "library", "copier", "itself", "visible"))


def test_data_is_initialised_and_written(code: LinkedCode) -> None:
    count = ctypes.CFUNCTYPE(ctypes.c_int)(code.addresses["count"])
    # 5, plus 1, plus 2, ...
    assert [count(), count(), count()] == [6, 8, 11]


def test_constants_and_addresses_in_them(code: LinkedCode) -> None:
    look = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_int)(code.addresses["look"])
    assert [look(0), look(1)] == [9.0, 4.0]


def test_functions_and_data_by_a_table(code: LinkedCode) -> None:
    library = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(code.addresses["library"])
    assert library(0.5) == math.sin(0.5) + 7
    ctypes.c_int.from_address(code.addresses["visible"]).value = 8
    assert library(0.5) == math.sin(0.5) + 8


def test_addresses_of_functions(code: LinkedCode) -> None:
    copier = ctypes.CFUNCTYPE(ctypes.c_void_p)(code.addresses["copier"])
    expected = ctypes.cast(ctypes.CDLL(None).memmove, ctypes.c_void_p).value
    assert copier() == expected
    itself = ctypes.CFUNCTYPE(ctypes.c_void_p)(code.addresses["itself"])
    assert itself() == code.addresses["count"]


def test_code_cannot_be_written_nor_constants(code: LinkedCode) -> None:
    """As /proc/self/maps has it: no page that can be both written and executed."""
    at = code.addresses["count"]
    for line in Path("/proc/self/maps").read_text().splitlines():
        span, rights = line.split()[:2]
        begin, end = (int(part, 16) for part in span.split("-"))
        if begin <= at < end:
            assert rights.startswith("r-x")
            return
    pytest.fail("the code is in no mapping")


def test_memory_is_given_back(tmp_path: Path) -> None:
    object_file = compiled(tmp_path, SOURCE)
    linked = link(object_file, ("count",))
    page = f"{linked.addresses['count'] & -4096:x}-"
    assert page in Path("/proc/self/maps").read_text()
    del linked
    gc.collect()
    assert page not in Path("/proc/self/maps").read_text()


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    source = (
        "int no_such_function_anywhere(void); int f(void) { return no_such_function_anywhere(); }"
    )
    object_file = compiled(tmp_path, source)
    with pytest.raises(NativeCodeError, match="calls no_such_function_anywhere"):
        link(object_file, ("f",))
    with pytest.raises(NativeCodeError, match="no symbol g"):
        link(compiled(tmp_path, "int f(void) { return 1; }"), ("g",))


def test_code_that_is_not_position_independent_is_refused(tmp_path: Path) -> None:
    source = "int a[9]; int f(long i) { return a[i]; }"
    object_file = compiled(tmp_path, source, "-fno-pic", "-mcmodel=small")
    with pytest.raises(NativeCodeError, match="none of position-independent code"):
        link(object_file, ("f",))


@pytest.mark.parametrize("kind", [each for each in Relocations if each.name not in ("R64", "PC64")])
def test_distances_that_do_not_fit(kind: Relocations) -> None:
    assert len(relocated(kind, 1 << 40, (1 << 40) + 100, (1 << 40) - 16, 0)) == 4
    with pytest.raises(NativeCodeError, match="2 GB is most"):
        relocated(kind, 0, 1 << 32, 1 << 32, 0)
