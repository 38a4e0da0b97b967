"""An instruction leaves its queue with both its tokens, or not at all."""

from __future__ import annotations

import random

from tandem.hw.config_files import load_config
from tandem.hw.encoding import memory_layout
from tandem.hw.rtl.gate import Gate
from tandem.hw.rtl.layouts import queued_layout
from tests.support.hw.rtl.rtl import Context, bits, simulate

TINY = load_config("tiny")


def test_every_case() -> None:
    gate = Gate(TINY)
    layout = memory_layout(TINY)
    rng = random.Random(4)

    async def bench(ctx: Context) -> None:
        for case in range(1 << 6):
            valid, ready, pop_prev, pop_next, has_prev, has_next = (
                case >> bit & 1 for bit in range(6)
            )
            word = rng.getrandbits(128) & ~(0b11 << layout["pop_prev"].lsb)
            word |= pop_prev << layout["pop_prev"].lsb | pop_next << layout["pop_next"].lsb
            index = rng.getrandbits(32)
            ctx.set(gate.queue.valid, valid)
            ctx.set(gate.queue.payload.as_value(), bits(queued_layout(), word=word, index=index))
            ctx.set(gate.ready, ready)
            ctx.set(gate.prev.available, has_prev)
            ctx.set(gate.next.available, has_next)

            lacks = (pop_prev and not has_prev) | (pop_next and not has_next) << 1
            starts = int(bool(valid and ready and not lacks))
            assert ctx.get(gate.start) == starts
            assert ctx.get(gate.queue.ready) == starts
            assert ctx.get(gate.prev.pop) == (starts and pop_prev)
            assert ctx.get(gate.next.pop) == (starts and pop_next)
            assert ctx.get(gate.valid) == valid
            assert ctx.get(gate.waits) == (lacks if valid else 0)
            assert ctx.get(gate.word) == word
            assert ctx.get(gate.index) == index

    simulate(gate, bench)
