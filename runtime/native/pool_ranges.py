"""How threads share the iterations of a loop, in LLVM's language: each has a range of its own.

A thread takes chunks of its own range, large ones first, then of the others' ranges from their
ends: what threads write lies far apart, and while each has work of its own they pass no cache line
to each other, which takes 0.1 to 0.4 us. A part of the program of `runtime.native.pool_text`, which
says what its names with `$` are.
"""

from __future__ import annotations

from typing import Final

COUNTED: Final = 31
"""Bits of the numbers of units of a loop: two of them are exchanged at once."""

RANGES: Final = """\
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
"""
