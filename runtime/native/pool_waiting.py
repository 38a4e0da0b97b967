"""What threads of a pool wait for, in LLVM's language: they look for a while, sleep, and are woken.

A part of the program of `runtime.native.pool_text`, which says what its names with `$` are.
"""

from __future__ import annotations

from typing import Final

YIELD_AFTER: Final = 50_000
"""Nanoseconds of looking for something after which others may have the core."""
PAUSES: Final = {
    "x86_64": "call void @llvm.x86.sse2.pause()",
    "aarch64": "call void @llvm.aarch64.hint(i32 1)",
}
"""What a processor is told while a thread looks for what it waits for; others are told nothing."""

WAITING: Final = """\
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
"""
