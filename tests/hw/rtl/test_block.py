"""Blocks: built in place, or as instances of one module."""

from __future__ import annotations

from amaranth.hdl import Fragment, Instance, Module, Signal, Value
from amaranth.lib.wiring import In, Out

from tandem.hw.rtl.block import Block, Exporter, ResetBy
from tests.support.hw.rtl.rtl import Context, only_built, simulate


class Toggle(Block):
    """Turns over in each cycle in which it may."""

    def __init__(self, width: int, *, start: int = 0) -> None:
        self._width = width
        self._start = start
        super().__init__({"go": In(1), "state": Out(width, init=start)})

    def build(self, m: Module) -> None:
        with m.If(self.go):
            m.d.sync += self.state.eq(~self.state)


class Recorder:
    """An exporter that notes what it is asked for."""

    def __init__(self) -> None:
        self.asked: list[tuple[Block, Value]] = []

    def instance(self, block: Block, reset: Value) -> Instance:
        self.asked.append((block, reset))
        return Instance("some_module")


class Parent(Block):
    """Two toggles, one of them reset by a signal."""

    def __init__(self) -> None:
        self.plain = Toggle(4)
        self.cleared = Toggle(4, start=5)
        super().__init__({"clear": In(1)})

    def build(self, m: Module) -> None:
        m.submodules.plain = self.plain
        m.submodules.cleared = ResetBy(self.clear, self.cleared)


def test_arguments_tell_blocks_apart() -> None:
    one, same, other = (only_built(Toggle(width, start=1)) for width in (3, 3, 4))
    assert one.arguments == same.arguments
    assert one.arguments != other.arguments
    assert one.arguments != only_built(Toggle(3, start=2)).arguments
    assert one.variant() == ""


def test_in_place_it_is_simulated() -> None:
    toggle = Toggle(4)

    async def bench(ctx: Context) -> None:
        await ctx.tick()
        assert ctx.get(toggle.state) == 0
        ctx.set(toggle.go, 1)
        await ctx.tick()
        assert ctx.get(toggle.state) == 0b1111

    simulate(toggle, bench)


def test_reset_by_a_signal_resets_that_block_only() -> None:
    parent = Parent()

    async def bench(ctx: Context) -> None:
        ctx.set(parent.plain.go, 1)
        ctx.set(parent.cleared.go, 1)
        await ctx.tick()
        assert (ctx.get(parent.plain.state), ctx.get(parent.cleared.state)) == (15, 10)
        ctx.set(parent.clear, 1)
        await ctx.tick()
        assert (ctx.get(parent.plain.state), ctx.get(parent.cleared.state)) == (0, 5)
        ctx.set(parent.clear, 0)
        await ctx.tick()
        assert (ctx.get(parent.plain.state), ctx.get(parent.cleared.state)) == (15, 10)

    simulate(parent, bench)


def test_an_exporter_gets_the_block_and_its_reset() -> None:
    recorder = Recorder()
    assert isinstance(recorder, Exporter)
    toggle, clear = Toggle(4), Signal(name="clear")
    assert isinstance(Fragment.get(toggle, recorder), Instance)
    assert isinstance(Fragment.get(ResetBy(clear, toggle), recorder), Instance)
    (first, plain), (second, combined) = recorder.asked
    assert first is toggle
    assert second is toggle
    assert "clear" not in repr(plain)
    assert "clear" in repr(combined)
