"""Recursive programs in tests."""

from __future__ import annotations

SUM = """
func @sum(n: int64[]) -> int64[]:
  z = equal(n, int64[](0))
  r = if z:
    yield n
  else:
    m = subtract(n, int64[](1))
    t = @sum(m)
    s = add(n, t)
    yield s
  return r
"""
"""n + ... + 1: recursion that is no tail call."""

EVEN = """
func @even(n: int64[]) -> bool[]:
  z = equal(n, int64[](0))
  r = if z:
    yield bool[](True)
  else:
    m = subtract(n, int64[](1))
    t = @odd(m)
    yield t
  return r

func @odd(n: int64[]) -> bool[]:
  z = equal(n, int64[](0))
  r = if z:
    yield bool[](False)
  else:
    m = subtract(n, int64[](1))
    t = @even(m)
    yield t
  return r

func @main(n: int64[]) -> bool[]:
  r = @even(n)
  return r
"""
"""Mutual recursion by tail calls."""

COUNT = """
func @loop(n: int64[], x: float32[N]) -> (float32[N], int64[]):
  go = greater(n, int64[](0))
  r = if go:
    m = subtract(n, int64[](1))
    y = add(x, float32[](1.0))
    t = @loop(m, y)
    yield t
  else:
    u = (x, n)
    yield u
  return r

func @main(n: int64[], x: float32[N]) -> (float32[N], int64[]):
  r = @loop(n, x)
  return r
"""
"""A loop: x + 1 + ... + 1, n times."""

SWAP = """
func @swap(n: int64[], a: int64[2], b: int64[2], c: int64[2]) -> (int64[2], int64[2], int64[2]):
  go = greater(n, int64[](0))
  r = if go:
    m = subtract(n, int64[](1))
    t = @swap(m, b, a, a)
    yield t
  else:
    u = (a, b, c)
    yield u
  return r

func @main(n: int64[], a: int64[2], b: int64[2], c: int64[2]) -> (int64[2], int64[2], int64[2]):
  r = @swap(n, a, b, c)
  return r
"""
"""A loop whose parameters change places."""

ROWS = """
func @rows(i: int64[], n: int64[], x: float32[4, 2], row: float32[2]) -> float32[4, 2]:
  more = less(i, n)
  r = if more:
    placed = put_row(x, row, i)
    next = add(i, int64[](1))
    twice = add(row, row)
    t = @rows(next, n, placed, twice)
    yield t
  else:
    yield x
  return r

func @main(i: int64[], n: int64[], x: float32[4, 2], row: float32[2]) -> float32[4, 2]:
  r = @rows(i, n, x, row)
  return r
"""
"""Writes rows i to n - 1 of those that x has, in place; each is twice the one before."""

TURNS = """type List[T] = Nil | Cons(T, List[T])

func @up(n: int64[], all: List[int64[]]) -> int64[]:
  more = greater(n, int64[](0))
  r = if more:
    m = subtract(n, int64[](1))
    longer = Cons(n, all)
    below = @down(m, longer)
    again = @up(m, all)
    both = add(below, again)
    yield both
  else:
    s = @total(all, n)
    yield s
  return r

func @down(n: int64[], all: List[int64[]]) -> int64[]:
  large = greater(n, int64[](3))
  r = if large:
    m = subtract(n, int64[](1))
    t = @across(all, m)
    yield t
  else:
    u = @up(n, all)
    yield u
  return r

func @across(all: List[int64[]], n: int64[]) -> int64[]:
  t = @down(n, all)
  return t

func @total(all: List[int64[]], sum: int64[]) -> int64[]:
  r = match all:
    Nil:
      yield sum
    Cons(head, tail):
      more = add(sum, head)
      t = @total(tail, more)
      yield t
  return r

func @main(n: int64[]) -> int64[]:
  none = Nil[int64[]]()
  y = @up(n, none)
  return y
"""
"""Functions that wait for each other and end with each other, in two frames of a region."""
