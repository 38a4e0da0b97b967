"""The code of the heap, in LLVM's language: free lists over memory of the C library.

Cells of a form, and regions of a function's calls, have a free list of their own. What none has is
taken from a chunk of memory; chunks double, and the caller of the network frees them all.
"""

from __future__ import annotations

from string import Template
from typing import Final

from tandem.compiler.machines.cpu.network.cells import HEAD_BYTES
from tandem.runtime.native.network_state import Failure, NetworkState

_HEAP: Final = """
declare ptr @malloc(i64)

; Memory of a kind, aligned; null if there is none.
define internal ptr @allocate(ptr %state, i64 %kind, i64 %bytes, i64 %aligned) {
  %lists.at = getelementptr i8, ptr %state, i64 $free
  %lists = load ptr, ptr %lists.at
  %list = getelementptr ptr, ptr %lists, i64 %kind
  %first = load ptr, ptr %list
  %none = icmp eq ptr %first, null
  br i1 %none, label %new, label %again
again:
  %rest = load ptr, ptr %first
  store ptr %rest, ptr %list
  ret ptr %first
new:
  %top.at = getelementptr i8, ptr %state, i64 $top
  %end.at = getelementptr i8, ptr %state, i64 $end
  %less = sub i64 %aligned, 1
  %mask = sub i64 0, %aligned
  br label %try
try:
  %top = load i64, ptr %top.at
  %end = load i64, ptr %end.at
  %over = add i64 %top, %less
  %begin = and i64 %over, %mask
  %after = add i64 %begin, %bytes
  %fits = icmp ule i64 %after, %end
  br i1 %fits, label %take, label %grow
take:
  store i64 %after, ptr %top.at
  %place = inttoptr i64 %begin to ptr
  ret ptr %place
grow:
  %chunk.at = getelementptr i8, ptr %state, i64 $chunk
  %chunk = load i64, ptr %chunk.at
  %least.1 = add i64 %bytes, %aligned
  %least = add i64 %least.1, 16
  %small = icmp ult i64 %chunk, %least
  %size = select i1 %small, i64 %least, i64 %chunk
  %memory = call ptr @malloc(i64 %size)
  %failed = icmp eq ptr %memory, null
  br i1 %failed, label %nothing, label %grown
grown:
  %chunks.at = getelementptr i8, ptr %state, i64 $chunks
  %chunks = load ptr, ptr %chunks.at
  store ptr %chunks, ptr %memory
  store ptr %memory, ptr %chunks.at
  %double = shl i64 %chunk, 1
  %large = icmp ugt i64 %double, 67108864
  %next = select i1 %large, i64 67108864, i64 %double
  store i64 %next, ptr %chunk.at
  %all.at = getelementptr i8, ptr %state, i64 $heap_bytes
  %all = load i64, ptr %all.at
  %more = add i64 %all, %size
  store i64 %more, ptr %all.at
  %base = ptrtoint ptr %memory to i64
  %base.top = add i64 %base, 16
  %base.end = add i64 %base, %size
  store i64 %base.top, ptr %top.at
  store i64 %base.end, ptr %end.at
  br label %try
nothing:
  %failure.at = getelementptr i8, ptr %state, i64 $failure
  store i64 $memory, ptr %failure.at
  ret ptr null
}

; Memory of a kind is free.
define internal void @recycle(ptr %state, i64 %kind, ptr %memory) {
  %lists.at = getelementptr i8, ptr %state, i64 $free
  %lists = load ptr, ptr %lists.at
  %list = getelementptr ptr, ptr %lists, i64 %kind
  %first = load ptr, ptr %list
  store ptr %first, ptr %memory
  store ptr %memory, ptr %list
  ret void
}

; A new cell, used once.
define internal ptr @make(ptr %state, i64 %form, i64 %references, i64 %bytes) {
  %cell = call ptr @allocate(ptr %state, i64 %form, i64 %bytes, i64 16)
  %none = icmp eq ptr %cell, null
  br i1 %none, label %end, label %made
made:
  store i64 1, ptr %cell
  %form.at = getelementptr i8, ptr %cell, i64 8
  %form.short = trunc i64 %form to i32
  store i32 %form.short, ptr %form.at
  %references.at = getelementptr i8, ptr %cell, i64 12
  %references.short = trunc i64 %references to i32
  store i32 %references.short, ptr %references.at
  %cells.at = getelementptr i8, ptr %state, i64 $cells
  %cells = load i64, ptr %cells.at
  %more = add i64 %cells, 1
  store i64 %more, ptr %cells.at
  br label %end
end:
  ret ptr %cell
}

; One more use of a cell.
define internal void @keep(ptr %cell) {
  %uses = load i64, ptr %cell
  %more = add i64 %uses, 1
  store i64 %more, ptr %cell
  ret void
}

; One use less of a cell, or of none: it and what nothing uses then are free.
define internal void @drop(ptr %state, ptr %cell) {
entry:
  %none = icmp eq ptr %cell, null
  br i1 %none, label %end, label %used
used:
  %uses = load i64, ptr %cell
  %left = sub i64 %uses, 1
  store i64 %left, ptr %cell
  %over = icmp eq i64 %left, 0
  br i1 %over, label %first, label %end
first:
  store ptr null, ptr %cell
  br label %next
next:
  %this = phi ptr [ %cell, %first ], [ %waiting, %freed ]
  %others = load ptr, ptr %this
  %form.at = getelementptr i8, ptr %this, i64 8
  %form.short = load i32, ptr %form.at
  %form = zext i32 %form.short to i64
  %references.at = getelementptr i8, ptr %this, i64 12
  %references.short = load i32, ptr %references.at
  %references = zext i32 %references.short to i64
  %fields = getelementptr i8, ptr %this, i64 $head
  br label %field
field:
  %number = phi i64 [ 0, %next ], [ %following, %on ]
  %waiting = phi ptr [ %others, %next ], [ %longer, %on ]
  %all = icmp eq i64 %number, %references
  br i1 %all, label %freed, label %one
one:
  %held.at = getelementptr ptr, ptr %fields, i64 %number
  %held = load ptr, ptr %held.at
  %held.uses = load i64, ptr %held
  %held.left = sub i64 %held.uses, 1
  store i64 %held.left, ptr %held
  %held.over = icmp eq i64 %held.left, 0
  br i1 %held.over, label %wait, label %on
wait:
  store ptr %waiting, ptr %held
  br label %on
on:
  %longer = phi ptr [ %waiting, %one ], [ %held, %wait ]
  %following = add i64 %number, 1
  br label %field
freed:
  call void @recycle(ptr %state, i64 %form, ptr %this)
  %cells.at = getelementptr i8, ptr %state, i64 $cells
  %cells = load i64, ptr %cells.at
  %fewer = sub i64 %cells, 1
  store i64 %fewer, ptr %cells.at
  %more = icmp ne ptr %waiting, null
  br i1 %more, label %next, label %end
end:
  ret void
}

; A place refers to a cell, instead of another one or of none.
define internal void @refer(ptr %state, ptr %place, ptr %cell) {
  %old = load ptr, ptr %place
  store ptr %cell, ptr %place
  call void @drop(ptr %state, ptr %old)
  ret void
}

; A frame is free, and uses no cells: so many references from an address on.
define internal void @leave(ptr %state, ptr %references, i64 %count) {
entry:
  br label %next
next:
  %number = phi i64 [ 0, %entry ], [ %following, %one ]
  %all = icmp eq i64 %number, %count
  br i1 %all, label %end, label %one
one:
  %place = getelementptr ptr, ptr %references, i64 %number
  %cell = load ptr, ptr %place
  call void @drop(ptr %state, ptr %cell)
  %following = add i64 %number, 1
  br label %next
end:
  ret void
}
"""


def heap_text() -> str:
    """The functions of the heap."""
    fields = {name: getattr(NetworkState, name).offset for name, _ in NetworkState._fields_}
    return Template(_HEAP).substitute(fields, head=HEAD_BYTES, memory=Failure.MEMORY.value)
