"""The program of thread pools, in LLVM's language: parallel loops run without Python's global lock.

A caller opens the pool's gate to a loop, and helpers join until it shuts the gate again. The caller
waits only for helpers that have joined: one that is asleep, or that has no core, delays nobody.

To wake a helper takes the caller 5 to 30 us, and the helper comes later still. So it is done for a
loop that is long, by the time of its first iteration, or when loops that are close to each other
have been long enough together.

In the text, `$pool_gate` is the offset of the field `gate` of `PoolState`
(`runtime.native.pool_state`), and so on.
"""

from __future__ import annotations

import ctypes
from string import Template
from typing import Final

from tandem.runtime.native.pool_ranges import COUNTED, RANGES
from tandem.runtime.native.pool_state import (
    CPU_SET_BYTES,
    CallState,
    HelperState,
    LoopState,
    PoolState,
    RangeState,
)
from tandem.runtime.native.pool_waiting import PAUSES, WAITING, YIELD_AFTER

_JOINED = (1 << 16) - 1
_OPEN = 1 << 16
_CALLER_SLEEPS = 1 << 17
_LOOP_NUMBER = 32
"""The parts of `PoolState.gate`: masks, and the shift of the loop's number."""

MOST_HELPERS = _JOINED

SYMBOLS: Final = ("launch", "help", "dismiss")
"""The functions that Python calls, or whose address it hands on."""

_DECLARATIONS = """
declare i32 @clock_gettime(i32, ptr)
declare i32 @sched_yield()
declare i32 @sched_getcpu()
declare i32 @sched_setaffinity(i32, i64, ptr)
declare i32 @sem_wait(ptr)
declare i32 @sem_post(ptr)
declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.smin.i64(i64, i64)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
"""

_THREADS = """\
; The caller's part of a loop on the pool, `wanted` of whose helpers are of use.
define internal void @lead(ptr %pool, ptr %loop, i64 %iterations, i64 %wanted) {
entry:
  %sleeps = call i1 @asleep(ptr %pool, i64 %wanted)
  br i1 %sleeps, label %weigh, label %together
together:
  call void @work(ptr %loop, i64 0, i1 0)
  ret void
weigh:
  %begun = call i64 @now()
  %ended.at = getelementptr i8, ptr %pool, i64 $pool_ended
  %ended = load i64, ptr %ended.at
  %between = sub i64 %begun, %ended
  %spin.at = getelementptr i8, ptr %pool, i64 $pool_spin
  %spin = load i64, ptr %spin.at
  %is_near = icmp sle i64 %between, %spin
  %missed.at = getelementptr i8, ptr %pool, i64 $pool_missed
  %missed.last = load i64, ptr %missed.at
  %missed = select i1 %is_near, i64 %missed.last, i64 0
  %worth.at = getelementptr i8, ptr %pool, i64 $pool_worth
  %worth = load i64, ptr %worth.at
  %wanting = sub i64 %worth, %missed
  %is_worth = icmp sle i64 %wanting, 0
  br i1 %is_worth, label %wake, label %try
try:
  call void @work(ptr %loop, i64 0, i1 1)
  %tried = call i64 @now()
  %first = sub i64 %tried, %begun
  %least = sdiv i64 %wanting, %iterations
  %is_long = icmp sgt i64 %first, %least
  br i1 %is_long, label %wake, label %alone
wake:
  store i64 0, ptr %missed.at
  call void @wake(ptr %pool, i64 %wanted)
  br label %together
alone:
  call void @work(ptr %loop, i64 0, i1 0)
  %done = call i64 @now()
  %more = sub i64 %done, %begun
  %sum = add i64 %missed, %more
  store i64 %sum, ptr %missed.at
  store i64 %done, ptr %ended.at
  ret void
}

; Runs a parallel loop: on the calling thread alone if another launches one at this moment.
define void @launch(ptr %call, ptr %task, ptr %closure, i64 %iterations) {
entry:
  %own = alloca [ $LOOP_BYTES x i8 ], align 64
  %own.range = alloca [ $RANGE_BYTES x i8 ], align 64
  %pool.at = getelementptr i8, ptr %call, i64 $call_pool
  %pool = load ptr, ptr %pool.at
  %busy.at = getelementptr i8, ptr %pool, i64 $pool_busy
  %gate.at = getelementptr i8, ptr %pool, i64 $pool_gate
  %shares.at = getelementptr i8, ptr %pool, i64 $pool_shares
  %shares = load i64, ptr %shares.at
  %several = icmp sgt i64 %iterations, 1
  br i1 %several, label %enter, label %alone
enter:
  %exchange = cmpxchg ptr %busy.at, i32 0, i32 1 acquire monotonic
  %entered = extractvalue { i32, i1 } %exchange, 1
  br i1 %entered, label %together, label %alone
alone:
  call void @describe(
    ptr %own, ptr %call, ptr %task, ptr %closure, i64 %iterations, i64 %shares,
    ptr %own.range, i64 1)
  call void @work(ptr %own, i64 0, i1 0)
  ret void
together:
  %loop = getelementptr i8, ptr %pool, i64 $pool_loop
  %helpers.at = getelementptr i8, ptr %pool, i64 $pool_helpers
  %helpers = load i64, ptr %helpers.at
  %others = sub i64 %iterations, 1
  %wanted = call i64 @llvm.smin.i64(i64 %helpers, i64 %others)
  %threads = add i64 %wanted, 1
  %ranges = call ptr @helper(ptr %pool, i64 %helpers)
  call void @describe(
    ptr %loop, ptr %call, ptr %task, ptr %closure, i64 %iterations, i64 %shares,
    ptr %ranges, i64 %threads)
  %shut = load atomic i64, ptr %gate.at monotonic, align 8
  %last = lshr i64 %shut, $LOOP_NUMBER
  %number = add i64 %last, 1
  %numbered = shl i64 %number, $LOOP_NUMBER
  %opened = or i64 %numbered, $OPEN
  store atomic i64 %opened, ptr %gate.at seq_cst, align 8
  call void @lead(ptr %pool, ptr %loop, i64 %iterations, i64 %wanted)
  %gate = atomicrmw and ptr %gate.at, i64 $NOT_OPEN acq_rel
  %joined = and i64 %gate, $JOINED
  %is_free = icmp eq i64 %joined, 0
  br i1 %is_free, label %leave, label %wait
wait:
  %begun = call i64 @now()
  %spin.at = getelementptr i8, ptr %pool, i64 $pool_spin
  %spin = load i64, ptr %spin.at
  br label %look
look:
  %gate.seen = load atomic i64, ptr %gate.at acquire, align 8
  %joined.seen = and i64 %gate.seen, $JOINED
  %is_free.seen = icmp eq i64 %joined.seen, 0
  br i1 %is_free.seen, label %leave, label %pause
pause:
  %waited = call i64 @idle(i64 %begun)
  %patient = icmp slt i64 %waited, %spin
  br i1 %patient, label %look, label %announce
announce:
  %gate.last = atomicrmw or ptr %gate.at, i64 $CALLER_SLEEPS acq_rel
  %joined.last = and i64 %gate.last, $JOINED
  %is_free.last = icmp eq i64 %joined.last, 0
  br i1 %is_free.last, label %leave, label %sleep
sleep:
  %left = getelementptr i8, ptr %pool, i64 $pool_left
  call void @sleep(ptr %left)
  br label %leave
leave:
  store atomic i32 0, ptr %busy.at release, align 4
  ret void
}

; The life of a helper: returns when the pool is closed.
define void @help(ptr %pool, i64 %worker) {
entry:
  %index = sub i64 %worker, 1
  %helper = call ptr @helper(ptr %pool, i64 %index)
  %asleep.at = getelementptr i8, ptr %helper, i64 $helper_asleep
  %gate.at = getelementptr i8, ptr %pool, i64 $pool_gate
  %spin.at = getelementptr i8, ptr %pool, i64 $pool_spin
  %spin = load i64, ptr %spin.at
  br label %idle
idle:
  %seen = phi i64 [ 0, %entry ], [ %number, %leave ], [ %number, %last ],
                  [ %seen, %stir ], [ %seen, %sleep ]
  %begun = call i64 @now()
  br label %look
look:
  %is_closed = call i1 @closed(ptr %pool)
  br i1 %is_closed, label %done, label %open
open:
  %gate = call i64 @open_gate(ptr %pool, i64 %seen)
  %is_open = icmp ne i64 %gate, 0
  br i1 %is_open, label %join, label %pause
pause:
  %waited = call i64 @idle(i64 %begun)
  %patient = icmp slt i64 %waited, %spin
  br i1 %patient, label %look, label %drowse
join:
  %more = add i64 %gate, 1
  %exchange = cmpxchg ptr %gate.at, i64 %gate, i64 %more acq_rel monotonic
  %joined = extractvalue { i64, i1 } %exchange, 1
  br i1 %joined, label %run, label %look
run:
  %number = lshr i64 %gate, $LOOP_NUMBER
  %loop = getelementptr i8, ptr %pool, i64 $pool_loop
  call void @work(ptr %loop, i64 %worker, i1 0)
  br label %leave.loop
leave.loop:
  %before = atomicrmw sub ptr %gate.at, i64 1 acq_rel
  %state = and i64 %before, $JOINED_OR_CALLER_SLEEPS
  %is_last = icmp eq i64 %state, $LAST_AND_CALLER_SLEEPS
  br i1 %is_last, label %last, label %leave
leave:
  br label %idle
last:
  %left = getelementptr i8, ptr %pool, i64 $pool_left
  call i32 @sem_post(ptr %left)
  br label %idle
drowse:
  ; A caller that opened the gate before this saw nobody asleep: look once more.
  store atomic i32 1, ptr %asleep.at seq_cst, align 4
  %closed.last = call i1 @closed(ptr %pool)
  %gate.last = call i64 @open_gate(ptr %pool, i64 %seen)
  %is_open.last = icmp ne i64 %gate.last, 0
  %awake = or i1 %closed.last, %is_open.last
  br i1 %awake, label %stir, label %sleep
stir:
  %was = atomicrmw xchg ptr %asleep.at, i32 0 seq_cst
  %unseen = icmp ne i32 %was, 0
  br i1 %unseen, label %idle, label %sleep  ; else the semaphore is posted
sleep:
  %semaphore = getelementptr i8, ptr %helper, i64 $helper_semaphore
  call void @sleep(ptr %semaphore)
  br label %idle
done:
  ret void
}

; Ends the helpers.
define void @dismiss(ptr %pool) {
  %closed.at = getelementptr i8, ptr %pool, i64 $pool_closed
  store atomic i32 1, ptr %closed.at seq_cst, align 4
  %helpers.at = getelementptr i8, ptr %pool, i64 $pool_helpers
  %helpers = load i64, ptr %helpers.at
  call void @wake(ptr %pool, i64 %helpers)
  ret void
}
"""


def pool_text(triple: str) -> str:
    """The program for a triple's processors; it uses no feature that one of them lacks."""
    structures = {"call": CallState, "loop": LoopState, "helper": HelperState, "pool": PoolState}
    offsets = {
        f"{name}_{field[0]}": getattr(structure, field[0]).offset
        for name, structure in structures.items()
        for field in structure._fields_
    }
    pause = PAUSES.get(triple.partition("-")[0], "")
    return Template("\n".join((_DECLARATIONS, WAITING, RANGES, _THREADS))).substitute(
        offsets,
        CPUS=8 * CPU_SET_BYTES,
        CPU_SET_BYTES=CPU_SET_BYTES,
        HELPER_BYTES=ctypes.sizeof(HelperState),
        LOOP_BYTES=ctypes.sizeof(LoopState),
        POOL_BYTES=ctypes.sizeof(PoolState),
        RANGE_BYTES=ctypes.sizeof(RangeState),
        COUNTED=COUNTED,
        LOW=(1 << 32) - 1,
        JOINED=_JOINED,
        OPEN=_OPEN,
        NOT_OPEN=~_OPEN,
        CALLER_SLEEPS=_CALLER_SLEEPS,
        JOINED_OR_CALLER_SLEEPS=_JOINED | _CALLER_SLEEPS,
        LAST_AND_CALLER_SLEEPS=1 | _CALLER_SLEEPS,
        LOOP_NUMBER=_LOOP_NUMBER,
        PAUSE=pause,
        YIELD_AFTER=YIELD_AFTER,
    )
