"""Programs in tests with functions that are values."""

from __future__ import annotations

CHOSEN = """
func @scale(factor: float32[], x: float32[N]) -> float32[N]:
  y = multiply(factor, x)
  return y

func @twice(f: fn(float32[N]) -> float32[N]) -> fn(float32[N]) -> float32[N]:
  g = fun(x: float32[N]) -> float32[N]:
    a = call f(x)
    b = call f(a)
    yield b
  return g

func @loop(n: int64[], f: fn(float32[N]) -> float32[N], x: float32[N]) -> float32[N]:
  go = greater(n, int64[](0))
  r = if go:
    m = subtract(n, int64[](1))
    y = call f(x)
    t = @loop(m, f, y)
    yield t
  else:
    yield x
  return r

func @main(n: int64[], c: float32[], x: float32[3]) -> float32[3]:
  scaled: fn(float32[3]) -> float32[3] = partial @scale(c)
  raised = fun(y: float32[3]):
    z = add(y, c)
    yield z
  big = greater(c, float32[](2.0))
  h = if big:
    g = @twice(scaled)
    yield g
  else:
    yield raised
  r = @loop(n, h, x)
  return r
"""
"""A function that a branch chooses at run time, called in a loop."""

STATES = """
func @up(n: int64[], x: int64[], step: fn(int64[]) -> int64[]) -> int64[]:
  y = call step(x)
  down = fun(a: int64[]):
    b = subtract(a, int64[](1))
    yield b
  r = @next(n, y, down)
  return r

func @next(n: int64[], x: int64[], step: fn(int64[]) -> int64[]) -> int64[]:
  go = greater(n, int64[](0))
  r = if go:
    m = subtract(n, int64[](1))
    t = @up(m, x, step)
    yield t
  else:
    yield x
  return r

func @main(n: int64[], x: int64[]) -> int64[]:
  double = fun(c: int64[]):
    d = add(c, c)
    yield d
  r = @next(n, x, double)
  return r
"""
"""A loop that keeps a function in a variable: each state of it is known."""

KEPT = """
func @run(n: int64[], x: int64[], step: fn(int64[]) -> int64[]) -> int64[]:
  go = greater(n, int64[](0))
  r = if go:
    m = subtract(n, int64[](1))
    y = call step(x)
    odd = greater(y, int64[](10))
    new = if odd:
      down = fun(a: int64[]):
        b = subtract(a, y)
        yield b
      yield down
    else:
      yield step
    t = @run(m, y, new)
    yield t
  else:
    yield x
  return r

func @main(n: int64[], x: int64[]) -> int64[]:
  double = fun(c: int64[]):
    d = add(c, c)
    yield d
  r = @run(n, x, double)
  return r
"""
"""A loop that keeps a function in a variable, which depends on data, with what it holds."""

COMPOSED = """
func @compose(n: int64[], f: fn(float32[]) -> float32[]) -> fn(float32[]) -> float32[]:
  go = greater(n, int64[](0))
  r = if go:
    m = subtract(n, int64[](1))
    g = fun(x: float32[]):
      y = call f(x)
      z = call f(y)
      yield z
    t = @compose(m, g)
    yield t
  else:
    yield f
  return r

func @main(n: int64[], x: float32[]) -> float32[]:
  double = fun(a: float32[]):
    b = add(a, a)
    yield b
  g = @compose(n, double)
  y = call g(x)
  return y
"""
"""A recursion that composes functions, as often as an input says."""

GROWING = """
func @grow(n: int64[], f: fn(int64[]) -> int64[]) -> int64[]:
  go = greater(n, int64[](0))
  r = if go:
    m = subtract(n, int64[](1))
    g = fun(x: int64[]):
      y = call f(x)
      yield y
    t = @grow(m, g)
    yield t
  else:
    z = call f(n)
    yield z
  return r

func @main(n: int64[]) -> int64[]:
  f = fun(a: int64[]):
    b = add(a, a)
    yield b
  r = @grow(n, f)
  return r
"""
"""A loop whose variable is ever another function, which holds the one before."""

LISTED = """
type List[T] = Nil | Cons(T, List[T])

func @many(n: int64[], all: List[fn(int64[]) -> int64[]]) -> List[fn(int64[]) -> int64[]]:
  go = greater(n, int64[](0))
  r = if go:
    m = subtract(n, int64[](1))
    f = fun(x: int64[]):
      y = multiply(x, n)
      yield y
    longer = Cons(f, all)
    t = @many(m, longer)
    yield t
  else:
    yield all
  return r

func @run(all: List[fn(int64[]) -> int64[]], x: int64[]) -> int64[]:
  r = match all:
    Nil:
      yield x
    Cons(f, rest):
      y = call f(x)
      t = @run(rest, y)
      yield t
  return r

func @main(n: int64[], x: int64[]) -> int64[]:
  none = Nil[fn(int64[]) -> int64[]]()
  all = @many(n, none)
  y = @run(all, x)
  return y
"""
"""A list of functions, as long as an input says."""

BOXED = """
type Box[T] = Box(fn(T) -> T) | Both(Box[T], Box[T])

func @run(all: Box[int64[]], x: int64[]) -> int64[]:
  r = match all:
    Box(f):
      y = call f(x)
      yield y
    Both(one, other):
      z = @run(one, x)
      u = @run(other, z)
      yield u
  return r

func @grow(n: int64[], all: Box[int64[]]) -> Box[int64[]]:
  go = greater(n, int64[](0))
  r = if go:
    m = subtract(n, int64[](1))
    both = Both(all, all)
    t = @grow(m, both)
    yield t
  else:
    yield all
  return r

func @main(n: int64[], z: float32[3]) -> (int64[], float32[3]):
  f = fun(a: int64[]):
    b = add(a, n)
    yield b
  g = fun(c: float32[3]):
    d = add(c, z)
    yield d
  one = Box(f)
  other = Box(g)
  many = @grow(n, one)
  y = @run(many, n)
  w = match other:
    Box(h):
      v = call h(z)
      yield v
    else:
      yield z
  r = (y, w)
  return r
"""
"""A data type whose fields are functions, for two types of functions."""
