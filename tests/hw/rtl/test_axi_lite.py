"""The AXI4-Lite slave, in front of the registers of a machine."""

from __future__ import annotations

from tandem.hw.config import HardwareConfig
from tandem.hw.registers import register_map
from tests.support.hw.rtl.register_slave import RegisterSlave
from tests.support.hw.rtl.rtl import Context, simulate

BASE = HardwareConfig()


def test_an_answer_is_kept_while_the_master_is_busy() -> None:
    """Neither a second write nor a second read is mixed up with the first, unanswered one."""
    slave = RegisterSlave(BASE)
    registers = slave.registers
    axi = slave.axi
    offset = next(each.offset for each in register_map() if each.name == "base_inp")

    async def bench(ctx: Context) -> None:
        for value in (1, 2):
            ctx.set(axi.awaddr, offset)
            ctx.set(axi.awvalid, 1)
            ctx.set(axi.wdata, value)
            ctx.set(axi.wstrb, 0b1111)
            ctx.set(axi.wvalid, 1)
            assert ctx.get(axi.awready)
            assert ctx.get(axi.wready)
            await ctx.tick()
            ctx.set(axi.awvalid, 0)
            ctx.set(axi.wvalid, 0)
            await ctx.tick()
        # The second is taken, but not done before the first has been answered.
        for _ in range(5):
            assert ctx.get(axi.bvalid)
            assert ctx.get(registers.base_inp) == 1
            await ctx.tick()
        ctx.set(axi.bready, 1)
        await ctx.tick()
        assert not ctx.get(axi.bvalid)
        await ctx.tick()
        assert ctx.get(axi.bvalid)
        assert ctx.get(registers.base_inp) == 2
        await ctx.tick()
        ctx.set(axi.araddr, offset)
        ctx.set(axi.arvalid, 1)
        await ctx.tick()
        ctx.set(axi.araddr, 0)
        assert not ctx.get(axi.arready)
        assert not ctx.get(axi.rvalid)
        await ctx.tick()
        for _ in range(3):
            assert not ctx.get(axi.arready)
            assert ctx.get(axi.rvalid)
            assert ctx.get(axi.rdata) == 2
            await ctx.tick()

    simulate(slave, bench)
