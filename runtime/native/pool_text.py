"""The program of thread pools, in LLVM's language: parallel loops run without Python's global lock.

A caller opens the pool's gate to a loop, and helpers join until it shuts the gate again. A thread
takes chunks of its own range of the loop, large ones first, then of the others' ranges from their
ends: what threads write lies far apart, and while each has work of its own they pass no cache line
to each other, which takes 0.1 to 0.4 us. The caller waits only for helpers that have joined: one
that is asleep, or that has no core, delays nobody.

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

from tandem.runtime.native.pool_state import (
    CPU_SET_BYTES,
    CallState,
    HelperState,
    LoopState,
    PoolState,
    RangeState,
)

_JOINED = (1 << 16) - 1
_OPEN = 1 << 16
_CALLER_SLEEPS = 1 << 17
_LOOP_NUMBER = 32
"""The parts of `PoolState.gate`: masks, and the shift of the loop's number."""

_COUNTED = 31
"""Bits of the numbers of units of a loop: two of them are exchanged at once."""

MOST_HELPERS = _JOINED

SYMBOLS: Final = ("launch", "help", "dismiss")
"""The functions that Python calls, or whose address it hands on."""

_YIELD_AFTER = 50_000
"""Nanoseconds of looking for something after which others may have the core."""
_PAUSES = {
    "x86_64": "call void @llvm.x86.sse2.pause()",
    "aarch64": "call void @llvm.aarch64.hint(i32 1)",
}
"""What a processor is told while a thread looks for what it waits for; others are told nothing."""

_CODE = """
declare i32 @clock_gettime(i32, ptr)
declare i32 @sched_yield()
declare i32 @sched_getcpu()
declare i32 @sched_setaffinity(i32, i64, ptr)
declare i32 @sem_wait(ptr)
declare i32 @sem_post(ptr)
declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.smin.i64(i64, i64)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

; Nanoseconds of the monotonic clock.
define internal i64 @now() {
  %time = alloca { i64, i64 }
  call i32 @clock_gettime(i32 1, ptr %time)
  %seconds = load i64, ptr %time
  %rest.at = getelementptr i8, ptr %time, i64 8
  %rest = load i64, ptr %rest.at
  %whole = mul i64 %seconds, 1000000000
  %sum = add i64 %whole, %rest
  ret i64 %sum
}

; Lets a moment pass, and gives others the core if there is nothing to see for long; returns the
; nanoseconds since a time.
define internal i64 @idle(i64 %begun) {
  $PAUSE
  %time = call i64 @now()
  %elapsed = sub i64 %time, %begun
  %long = icmp sgt i64 %elapsed, $YIELD_AFTER
  br i1 %long, label %yield, label %done
yield:
  call i32 @sched_yield()
  br label %done
done:
  ret i64 %elapsed
}

; Sleeps until the semaphore is posted; signals do not end it.
define internal void @sleep(ptr %semaphore) {
entry:
  br label %wait
wait:
  %failed = call i32 @sem_wait(ptr %semaphore)
  %interrupted = icmp ne i32 %failed, 0
  br i1 %interrupted, label %wait, label %done
done:
  ret void
}

; The gate, if it is open to a loop of another number than the one seen; else 0.
define internal i64 @open_gate(ptr %pool, i64 %seen) {
  %gate.at = getelementptr i8, ptr %pool, i64 $pool_gate
  %gate = load atomic i64, ptr %gate.at seq_cst, align 8
  %open = and i64 %gate, $OPEN
  %is_open = icmp ne i64 %open, 0
  %number = lshr i64 %gate, $LOOP_NUMBER
  %is_new = icmp ne i64 %number, %seen
  %both = and i1 %is_open, %is_new
  %found = select i1 %both, i64 %gate, i64 0
  ret i64 %found
}

define internal i1 @closed(ptr %pool) {
  %closed.at = getelementptr i8, ptr %pool, i64 $pool_closed
  %closed = load atomic i32, ptr %closed.at seq_cst, align 4
  %yes = icmp ne i32 %closed, 0
  ret i1 %yes
}

define internal ptr @helper(ptr %pool, i64 %number) {
  %before = mul i64 %number, $HELPER_BYTES
  %offset = add i64 %before, $POOL_BYTES
  %helper = getelementptr i8, ptr %pool, i64 %offset
  ret ptr %helper
}

; Lets a helper that sleeps wake on any CPU but this one. Linux likes to wake a thread where the one
; runs that wakes it, and leaves both there for milliseconds, with another CPU idle.
define internal void @place(ptr %helper) {
  %set = alloca [ $CPU_SET_BYTES x i8 ], align 8
  %thread.at = getelementptr i8, ptr %helper, i64 $helper_thread
  %thread = load i32, ptr %thread.at
  %is_placed = icmp ne i32 %thread, 0
  br i1 %is_placed, label %find, label %done
find:
  %cpu = call i32 @sched_getcpu()
  %known = icmp ult i32 %cpu, $CPUS
  br i1 %known, label %exclude, label %done
exclude:
  %cpus.at = getelementptr i8, ptr %helper, i64 $helper_cpus
  call void @llvm.memcpy.p0.p0.i64(ptr %set, ptr %cpus.at, i64 $CPU_SET_BYTES, i1 false)
  %wide = zext i32 %cpu to i64
  %word = lshr i64 %wide, 6
  %word.at = getelementptr i64, ptr %set, i64 %word
  %bit = and i64 %wide, 63
  %mask = shl i64 1, %bit
  %others = xor i64 %mask, -1
  %allowed = load i64, ptr %word.at
  %rest = and i64 %allowed, %others
  store i64 %rest, ptr %word.at
  call i32 @sched_setaffinity(i32 %thread, i64 $CPU_SET_BYTES, ptr %set)
  br label %done
done:
  ret void
}

; Whether one of the first `count` helpers sleeps.
define internal i1 @asleep(ptr %pool, i64 %count) {
entry:
  br label %check
check:
  %number = phi i64 [ 0, %entry ], [ %next, %look ]
  %more = icmp slt i64 %number, %count
  br i1 %more, label %look, label %done
look:
  %helper = call ptr @helper(ptr %pool, i64 %number)
  %asleep.at = getelementptr i8, ptr %helper, i64 $helper_asleep
  %asleep = load atomic i32, ptr %asleep.at seq_cst, align 4
  %sleeps = icmp ne i32 %asleep, 0
  %next = add i64 %number, 1
  br i1 %sleeps, label %done, label %check
done:
  ret i1 %more
}

; Wakes those of the first `count` helpers that sleep.
define internal void @wake(ptr %pool, i64 %count) {
entry:
  br label %check
check:
  %number = phi i64 [ 0, %entry ], [ %next, %awake ]
  %more = icmp slt i64 %number, %count
  br i1 %more, label %look, label %done
look:
  %helper = call ptr @helper(ptr %pool, i64 %number)
  %asleep.at = getelementptr i8, ptr %helper, i64 $helper_asleep
  %asleep = load atomic i32, ptr %asleep.at seq_cst, align 4
  %sleeps = icmp ne i32 %asleep, 0
  br i1 %sleeps, label %claim, label %awake
claim:
  %was = atomicrmw xchg ptr %asleep.at, i32 0 seq_cst
  %ours = icmp ne i32 %was, 0
  br i1 %ours, label %post, label %awake
post:
  call void @place(ptr %helper)
  %semaphore = getelementptr i8, ptr %helper, i64 $helper_semaphore
  call i32 @sem_post(ptr %semaphore)
  br label %awake
awake:
  %next = add i64 %number, 1
  br label %check
done:
  ret void
}

; Describes a loop whose iterations are shared out among `count` ranges.
define internal void @describe(
    ptr %loop, ptr %call, ptr %task, ptr %closure, i64 %iterations, i64 %shares,
    ptr %ranges, i64 %count) {
entry:
  %call.at = getelementptr i8, ptr %loop, i64 $loop_call
  store ptr %call, ptr %call.at
  %task.at = getelementptr i8, ptr %loop, i64 $loop_task
  store ptr %task, ptr %task.at
  %closure.at = getelementptr i8, ptr %loop, i64 $loop_closure
  store ptr %closure, ptr %closure.at
  %iterations.at = getelementptr i8, ptr %loop, i64 $loop_iterations
  store i64 %iterations, ptr %iterations.at
  %beyond = lshr i64 %iterations, $COUNTED
  %unit = add i64 %beyond, 1
  %unit.at = getelementptr i8, ptr %loop, i64 $loop_unit
  store i64 %unit, ptr %unit.at
  %ranges.at = getelementptr i8, ptr %loop, i64 $loop_ranges
  store ptr %ranges, ptr %ranges.at
  %count.at = getelementptr i8, ptr %loop, i64 $loop_range_count
  store i64 %count, ptr %count.at
  %shares.at = getelementptr i8, ptr %loop, i64 $loop_shares
  store i64 %shares, ptr %shares.at
  %rounding = add i64 %iterations, %beyond
  %units = udiv i64 %rounding, %unit
  br label %share
share:
  %number = phi i64 [ 0, %entry ], [ %next, %share ]
  %begin = phi i64 [ 0, %entry ], [ %end, %share ]
  %next = add i64 %number, 1
  %rest = sub i64 %units, %begin
  %threads = sub i64 %count, %number
  %own = udiv i64 %rest, %threads
  %end = add i64 %begin, %own
  %high = shl i64 %end, 32
  %left = or i64 %high, %begin
  %offset = mul i64 %number, $RANGE_BYTES
  %range = getelementptr i8, ptr %ranges, i64 %offset
  store atomic i64 %left, ptr %range monotonic, align 8
  %more = icmp slt i64 %next, %count
  br i1 %more, label %share, label %done
done:
  ret void
}

; Runs chunks of a loop until none is left or the call is stopped; or one unit, of the own range.
; Worker 0, the caller, polls: it looks at the clock after a chunk, and again after as many as could
; take it to the next poll if all took as long as the call has until then.
define internal void @work(ptr %loop, i64 %worker, i1 %once) {
entry:
  %unclocked = alloca i64
  store i64 0, ptr %unclocked
  %call.at = getelementptr i8, ptr %loop, i64 $loop_call
  %call = load ptr, ptr %call.at
  %stopped.at = getelementptr i8, ptr %call, i64 $call_stopped
  %task.at = getelementptr i8, ptr %loop, i64 $loop_task
  %task = load ptr, ptr %task.at
  %closure.at = getelementptr i8, ptr %loop, i64 $loop_closure
  %closure = load ptr, ptr %closure.at
  %iterations.at = getelementptr i8, ptr %loop, i64 $loop_iterations
  %iterations = load i64, ptr %iterations.at
  %unit.at = getelementptr i8, ptr %loop, i64 $loop_unit
  %unit = load i64, ptr %unit.at
  %ranges.at = getelementptr i8, ptr %loop, i64 $loop_ranges
  %ranges = load ptr, ptr %ranges.at
  %count.at = getelementptr i8, ptr %loop, i64 $loop_range_count
  %count = load i64, ptr %count.at
  %shares.at = getelementptr i8, ptr %loop, i64 $loop_shares
  %shares = load i64, ptr %shares.at
  %is_caller = icmp eq i64 %worker, 0
  %has_own = icmp slt i64 %worker, %count
  %first = select i1 %has_own, i64 %worker, i64 0
  br label %range
range:
  %number = phi i64 [ %first, %entry ], [ %following, %finished ]
  %unseen = phi i64 [ %count, %entry ], [ %unseen.rest, %finished ]
  %offset = mul i64 %number, $RANGE_BYTES
  %left.at = getelementptr i8, ptr %ranges, i64 %offset
  %is_own = icmp eq i64 %number, %worker
  br label %chunk
chunk:
  %stopped = load atomic i64, ptr %stopped.at monotonic, align 8
  %goes_on = icmp eq i64 %stopped, 0
  br i1 %goes_on, label %look, label %done
look:
  %seen = load atomic i64, ptr %left.at monotonic, align 8
  br label %choose
choose:
  %left = phi i64 [ %seen, %look ], [ %found, %take ]
  %front = and i64 %left, $LOW
  %back = lshr i64 %left, 32
  %units = sub i64 %back, %front
  %any = icmp sgt i64 %units, 0
  br i1 %any, label %take, label %finished
take:
  %share = udiv i64 %units, %shares
  %shared = call i64 @llvm.smax.i64(i64 %share, i64 1)
  %size = select i1 %once, i64 1, i64 %shared
  %front.taken = add i64 %front, %size
  %back.taken = sub i64 %back, %size
  %begin = select i1 %is_own, i64 %front, i64 %back.taken
  %end = select i1 %is_own, i64 %front.taken, i64 %back
  %front.left = select i1 %is_own, i64 %front.taken, i64 %front
  %back.left = select i1 %is_own, i64 %back, i64 %back.taken
  %high = shl i64 %back.left, 32
  %rest.left = or i64 %high, %front.left
  %exchange = cmpxchg ptr %left.at, i64 %left, i64 %rest.left monotonic monotonic
  %found = extractvalue { i64, i1 } %exchange, 0
  %taken = extractvalue { i64, i1 } %exchange, 1
  br i1 %taken, label %run, label %choose
run:
  %begin.all = mul i64 %begin, %unit
  %end.all = mul i64 %end, %unit
  %end.there = call i64 @llvm.smin.i64(i64 %end.all, i64 %iterations)
  call void %task(ptr %closure, i64 %begin.all, i64 %end.there, i64 %worker)
  br i1 %once, label %done, label %ran
ran:
  br i1 %is_caller, label %count.chunk, label %chunk
count.chunk:
  %before = load i64, ptr %unclocked
  %fewer = sub i64 %before, 1
  store i64 %fewer, ptr %unclocked
  %skips = icmp sgt i64 %before, 0
  br i1 %skips, label %chunk, label %clock
clock:
  %time = call i64 @now()
  %next_poll.at = getelementptr i8, ptr %call, i64 $call_next_poll
  %next_poll = load i64, ptr %next_poll.at
  %due = icmp sge i64 %time, %next_poll
  %every.at = getelementptr i8, ptr %call, i64 $call_poll_every
  %every = load i64, ptr %every.at
  br i1 %due, label %poll, label %plan
plan:
  %rest = sub i64 %next_poll, %time
  %polled.last = sub i64 %next_poll, %every
  %since = sub i64 %time, %polled.last
  %taken.most = call i64 @llvm.smax.i64(i64 %since, i64 1)
  %chunks = sdiv i64 %rest, %taken.most
  store i64 %chunks, ptr %unclocked
  br label %chunk
poll:
  %poll.at = getelementptr i8, ptr %call, i64 $call_poll
  %function = load ptr, ptr %poll.at
  call void %function()
  %polled = call i64 @now()
  store i64 0, ptr %unclocked
  %later = add i64 %polled, %every
  store i64 %later, ptr %next_poll.at
  br label %chunk
finished:
  %unseen.rest = sub i64 %unseen, 1
  %after = add i64 %number, 1
  %wraps = icmp eq i64 %after, %count
  %following = select i1 %wraps, i64 0, i64 %after
  %more = icmp sgt i64 %unseen.rest, 0
  br i1 %more, label %range, label %done
done:
  ret void
}

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
    pause = _PAUSES.get(triple.partition("-")[0], "")
    return Template(_CODE).substitute(
        offsets,
        CPUS=8 * CPU_SET_BYTES,
        CPU_SET_BYTES=CPU_SET_BYTES,
        HELPER_BYTES=ctypes.sizeof(HelperState),
        LOOP_BYTES=ctypes.sizeof(LoopState),
        POOL_BYTES=ctypes.sizeof(PoolState),
        RANGE_BYTES=ctypes.sizeof(RangeState),
        COUNTED=_COUNTED,
        LOW=(1 << 32) - 1,
        JOINED=_JOINED,
        OPEN=_OPEN,
        NOT_OPEN=~_OPEN,
        CALLER_SLEEPS=_CALLER_SLEEPS,
        JOINED_OR_CALLER_SLEEPS=_JOINED | _CALLER_SLEEPS,
        LAST_AND_CALLER_SLEEPS=1 | _CALLER_SLEEPS,
        LOOP_NUMBER=_LOOP_NUMBER,
        PAUSE=pause,
        YIELD_AFTER=_YIELD_AFTER,
    )
