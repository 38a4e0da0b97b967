"""What libraries have for an accelerator: the runtime's files by platform, and statements of C."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tandem.hw.config_files import load_config
from tandem.hw.header import c_header
from tandem.workbench.export.header import Header
from tandem.workbench.export.machine import (
    board_source,
    failed_source,
    launch_source,
    machine_files,
    machine_sources,
    open_source,
    opened_source,
    platform_of,
)
from tandem.workbench.export.stream_file import StreamFile
from tests.support.runtime.c_runtime import SOURCES
from tests.support.workbench.small_networks import header_of, manifest

TINY = load_config("tiny")
STREAMS = (StreamFile("s", b"12345", 64, 0, (), ()), StreamFile("t", b"123", 64, 0, (), ()))
LINUX = header_of(manifest([], "", "", []), streams=STREAMS, config=TINY)
BARE = replace(LINUX, triple="riscv64-unknown-elf")


@pytest.mark.parametrize(
    ("header", "platform", "sources"),
    [
        (LINUX, "tandem_uio", ("tandem.c", "tandem_bare.c", "tandem_uio.c")),
        (BARE, "tandem_bare", ("tandem.c", "tandem_bare.c")),
        (replace(LINUX, streams=()), "tandem_uio", ()),
    ],
)
def test_platforms(header: Header, platform: str, sources: tuple[str, ...]) -> None:
    assert platform_of(header) == platform
    assert machine_sources(header) == sources
    assert f'#include "{platform}.h"' in board_source(header)


def test_files() -> None:
    found = machine_files(BARE, TINY)
    runtime = [f"{name}.{suffix}" for name in ("tandem", "tandem_bare", "tandem_uio")
               for suffix in "hc"]  # fmt: skip
    assert [*found] == [*runtime, "tandem_registers.h", "board.c"]
    assert all(found[name] == (SOURCES / name).read_bytes() for name in runtime)
    assert found["tandem_registers.h"].decode() == c_header(TINY)
    assert found["board.c"].decode() == board_source(BARE)


def test_a_launch() -> None:
    assert [*launch_source("net", heap=False)] == [
        "/* Runs a stream; a step that fails ends the run. */",
        "static int launch(struct state *s, int number)",
        "{",
        "    struct net *network = s->network;",
        "    const struct tandem_stream *stream = &network->streams[number];",
        "",
        "    s->result = tandem_run(network->machine, stream, network->limit);",
        "    if (s->result != TANDEM_RESULT_OK) return -1;",
        "    network->cycles += tandem_cycles(network->machine);",
        "    return 0;",
        "}",
        "",
    ]
    assert [*launch_source("net", heap=True)][6:9] == [
        "    network->result = tandem_run(network->machine, stream, network->limit);",
        "    if (network->result != TANDEM_RESULT_OK) s->result = NET_MACHINE;",
        "    if (network->result != TANDEM_RESULT_OK) return -1;",
    ]


def test_streams_are_loaded_in_order() -> None:
    assert [*open_source(LINUX)] == [
        "enum tandem_result net_open(struct net *network, struct tandem *machine)",
        "{",
        "    enum tandem_result result;",
        "",
        "    network->machine = machine;",
        "    network->limit = 0;",
        "    network->cycles = 0;",
        "    result = tandem_load(machine, net_stream_0, 5, &network->streams[0]);",
        "    if (result != TANDEM_RESULT_OK) return result;",
        "    result = tandem_load(machine, net_stream_1, 3, &network->streams[1]);",
        "    if (result != TANDEM_RESULT_OK) return result;",
        "    return TANDEM_RESULT_OK;",
        "}",
        "",
    ]


def test_a_program_opens_the_machine_and_says_how_it_failed() -> None:
    assert [*opened_source("net")] == [
        "    const struct tandem_platform *platform = board_platform();",
        "    static struct tandem machine;",
        "    static struct net network;",
        "    enum tandem_result result;",
        "",
        "    if (platform == NULL) {",
        '        perror("board");',
        "        return 1;",
        "    }",
        "    result = tandem_open(&machine, platform);",
        "    if (result == TANDEM_RESULT_OK) result = net_open(&network, &machine);",
        "    if (result != TANDEM_RESULT_OK) return failed(&machine, result);",
    ]
    assert [*failed_source()] == [
        "const struct tandem_platform *board_platform(void); /* in board.c */",
        "",
        "static int failed(const struct tandem *machine, enum tandem_result result)",
        "{",
        "    const struct tandem_fault *fault = tandem_fault(machine);",
        "",
        r'    printf("%s (fault %lu, instruction %ld)\n", tandem_text(result),',
        "        (unsigned long)fault->code, (long)(int32_t)fault->instruction);",
        "    return 1;",
        "}",
        "",
    ]
