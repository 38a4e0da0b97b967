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
