"""Functions in text of which several tests take gradients."""

SLOPE = """
func @f(x: float64[]) -> float64[]:
  s = sin(x)
  y = multiply(s, x)
  return y

func @slope(x: float64[]) -> float64[]:
  g = grad(@f)
  d = call g(x)
  r = d[0]
  return r
"""
"""x sin(x), and its slope."""

GEOMETRIC = """
func @loop(n: int64[], x: float64[], s: float64[]) -> float64[]:
  go = greater(n, int64[](0))
  r = if go:
    m = subtract(n, int64[](1))
    y = multiply(x, s)
    t = @loop(m, y, s)
    yield t
  else:
    yield x
  return r
"""
"""x s^n, by a loop."""
