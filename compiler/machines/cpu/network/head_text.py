"""What the code of every network begins with, in LLVM's language: the clock, the looks at signals,
and the function that is called."""

from __future__ import annotations

from string import Template
from typing import Final

from tandem.runtime.native.network_object import ENTRY
from tandem.runtime.native.network_state import POLL_AFTER, NetworkState
from tandem.runtime.native.pool_state import CallState

_HEAD: Final = """
declare i32 @clock_gettime(i32, ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

define internal i64 @now(ptr %state) {
  %time = alloca { i64, i64 }
  %clock.at = getelementptr i8, ptr %state, i64 $clock
  %clock = load i64, ptr %clock.at
  %number = trunc i64 %clock to i32
  call i32 @clock_gettime(i32 %number, ptr %time)
  %seconds = load i64, ptr %time
  %rest.at = getelementptr i8, ptr %time, i64 8
  %rest = load i64, ptr %rest.at
  %scaled = mul i64 %seconds, 1000000000
  %now = add i64 %scaled, %rest
  ret i64 %now
}

; Lets the caller stop the run if it is time for that.
define internal i64 @look(ptr %state, i64 %now) {
  %call.at = getelementptr i8, ptr %state, i64 $call
  %call = load ptr, ptr %call.at
  %next.at = getelementptr i8, ptr %call, i64 $next_poll
  %next = load i64, ptr %next.at
  %due = icmp sgt i64 %now, %next
  br i1 %due, label %poll, label %rest
poll:
  %every.at = getelementptr i8, ptr %call, i64 $poll_every
  %every = load i64, ptr %every.at
  %later = add i64 %now, %every
  store i64 %later, ptr %next.at
  %poll.at = getelementptr i8, ptr %call, i64 $poll
  %poll.function = load ptr, ptr %poll.at
  call void %poll.function()
  br label %rest
rest:
  %stopped.at = getelementptr i8, ptr %call, i64 $stopped
  %stopped = load i64, ptr %stopped.at
  ret i64 %stopped
}

; Adds the time since the last step to this one, and lets the caller stop the run.
define internal i64 @after(ptr %state, i64 %step) noinline {
  %now = call i64 @now(ptr %state)
  %last.at = getelementptr i8, ptr %state, i64 $last
  %last = load i64, ptr %last.at
  store i64 %now, ptr %last.at
  %taken = sub i64 %now, %last
  %times.at = getelementptr i8, ptr %state, i64 $times
  %times = load ptr, ptr %times.at
  %time.at = getelementptr i64, ptr %times, i64 %step
  %time = load i64, ptr %time.at
  %longer = add i64 %time, %taken
  store i64 %longer, ptr %time.at
  %counts.at = getelementptr i8, ptr %state, i64 $counts
  %counts = load ptr, ptr %counts.at
  %count.at = getelementptr i64, ptr %counts, i64 %step
  %count = load i64, ptr %count.at
  %more = add i64 %count, 1
  store i64 %more, ptr %count.at
  %stopped = call i64 @look(ptr %state, i64 %now)
  ret i64 %stopped
}

; Where a loop or a call begins: looks at the clock now and then, in a run without steps too.
define internal i64 @breathe(ptr %state) {
  %until_poll.at = getelementptr i8, ptr %state, i64 $until_poll
  %until_poll = load i64, ptr %until_poll.at
  %less = sub i64 %until_poll, 1
  store i64 %less, ptr %until_poll.at
  %due = icmp slt i64 %less, 0
  br i1 %due, label %poll, label %on
on:
  ret i64 0
poll:
  store i64 $breaths, ptr %until_poll.at
  %now = call i64 @now(ptr %state)
  %stopped = call i64 @look(ptr %state, i64 %now)
  ret i64 %stopped
}

define i64 @"$entry"(ptr %state) {
  %now = call i64 @now(ptr %state)
  %last.at = getelementptr i8, ptr %state, i64 $last
  store i64 %now, ptr %last.at
  %frames.at = getelementptr i8, ptr %state, i64 $frames
  %frames = load ptr, ptr %frames.at
  %references = getelementptr i8, ptr %frames, i64 $begin
  call void @llvm.memset.p0.i64(ptr %references, i8 0, i64 $bytes, i1 false)
  %status = call i64 @enter(ptr %state, i64 0, ptr %frames, ptr null)
  ret i64 %status
}
"""


def head_text(begin: int, size: int) -> str:
    """The functions that do not depend on the network, and the one that is called.

    Parameters
    ----------
    begin, size
        Where in the network's own frame its references to cells begin, and their bytes.
    """
    fields = {name: getattr(NetworkState, name).offset for name, _ in NetworkState._fields_}
    fields |= {
        name: getattr(CallState, name).offset for name in ("poll", "poll_every", "next_poll")
    }
    return Template(_HEAD).substitute(
        fields,
        stopped=CallState.stopped.offset,
        entry=ENTRY,
        breaths=POLL_AFTER,
        begin=begin,
        bytes=size,
    )
