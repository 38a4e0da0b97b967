"""Programs in tests with data types."""

from __future__ import annotations

LIST = """type List[T] = Nil | Cons(T, List[T])
"""

SUM = (
    LIST
    + """
func @count(n: int64[], all: List[int64[]]) -> List[int64[]]:
  more = greater(n, int64[](0))
  r = if more:
    m = subtract(n, int64[](1))
    longer = Cons(n, all)
    t = @count(m, longer)
    yield t
  else:
    yield all
  return r

func @sum(all: List[int64[]], start: int64[]) -> int64[]:
  r = match all:
    Nil:
      yield start
    Cons(head, tail):
      s = add(head, start)
      rest = @sum(tail, s)
      yield rest
  return r

func @main(n: int64[], x: int64[]) -> int64[]:
  none = Nil[int64[]]()
  all = @count(n, none)
  s = @sum(all, x)
  return s
"""
)
"""A list of unknown length, made by a loop and read by a loop."""

TREE = """type Tree = Leaf(float32[2]) | Node(Tree, Tree)

func @grow(n: int64[], x: float32[2]) -> Tree:
  more = greater(n, int64[](0))
  r = if more:
    m = subtract(n, int64[](1))
    y = add(x, x)
    left = @grow(m, x)
    right = @grow(m, y)
    node = Node(left, right)
    yield node
  else:
    leaf = Leaf(x)
    yield leaf
  return r

func @total(tree: Tree) -> float32[2]:
  r = match tree:
    Leaf(value):
      yield value
    Node(left, right):
      a = @total(left)
      b = @total(right)
      c = subtract(a, b)
      yield c
  return r

func @main(n: int64[], x: float32[2]) -> float32[2]:
  tree = @grow(n, x)
  r = @total(tree)
  return r
"""
"""A tree of a depth that an input says."""

ROSE = """type Tree = Node(int64[], Forest)
type Forest = Empty | More(Tree, Forest)

func @tree(tree: Tree) -> int64[]:
  r = match tree:
    Node(value, below):
      s = @forest(below)
      t = add(value, s)
      yield t
  return r

func @forest(all: Forest) -> int64[]:
  r = match all:
    Empty:
      yield int64[](0)
    More(first, others):
      a = @tree(first)
      b = @forest(others)
      c = add(a, b)
      yield c
  return r

func @wide(n: int64[], all: Forest) -> Forest:
  more = greater(n, int64[](0))
  r = if more:
    m = subtract(n, int64[](1))
    tree = Node(n, all)
    longer = More(tree, all)
    t = @wide(m, longer)
    yield t
  else:
    yield all
  return r

func @main(n: int64[]) -> int64[]:
  empty = Empty()
  all = @wide(n, empty)
  root = Node(n, all)
  r = @tree(root)
  return r
"""
"""Two types that hold each other; parts of a value are shared."""

OPTION = """type Option[T] = None | Some(T)
type Shape = Circle(float32[]) | Box(float32[], float32[]) | Dot

func @root(x: float32[]) -> Option[float32[]]:
  below = less(x, float32[](0.0))
  r = if below:
    none = None[float32[]]()
    yield none
  else:
    y = sqrt(x)
    some = Some(y)
    yield some
  return r

func @area(shape: Shape) -> float32[]:
  r = match shape:
    Box(width, height):
      a = multiply(width, height)
      yield a
    Circle(radius):
      b = multiply(radius, radius)
      yield b
    else:
      yield float32[](0.0)
  return r

func @main(x: float32[], y: float32[]) -> (float32[], float32[]):
  root = @root(x)
  shape = match root:
    None:
      above = greater(y, float32[](0.0))
      s = if above:
        circle = Circle(y)
        yield circle
      else:
        dot = Dot()
        yield dot
      yield s
    Some(value):
      box = Box(value, y)
      yield box
  a = @area(shape)
  z = match root:
    Some(found):
      yield found
    else:
      yield y
  r = (a, z)
  return r
"""
"""Types whose values hold no others of their type."""

MAPPED = (
    LIST
    + """
func @map[T](f: fn(T[N]) -> T[N], all: List[T[N]]) -> List[T[N]]:
  r = match all:
    Nil:
      none = Nil[T[N]]()
      yield none
    Cons(head, tail):
      y = call f(head)
      rest = @map(f, tail)
      more = Cons(y, rest)
      yield more
  return r

func @fold[T](f: fn(T[N], T[N]) -> T[N], start: T[N], all: List[T[N]]) -> T[N]:
  r = match all:
    Nil:
      yield start
    Cons(head, tail):
      y = call f(start, head)
      t = @fold(f, y, tail)
      yield t
  return r

func @rows(n: int64[], x: float32[N], all: List[float32[N]]) -> List[float32[N]]:
  more = greater(n, int64[](0))
  r = if more:
    m = subtract(n, int64[](1))
    y = add(x, x)
    longer = Cons(x, all)
    t = @rows(m, y, longer)
    yield t
  else:
    yield all
  return r

func @main(n: int64[], c: float32[], x: float32[2]) -> float32[2]:
  none = Nil[float32[2]]()
  all = @rows(n, x, none)
  scale = fun(y: float32[2]):
    z = multiply(y, c)
    yield z
  plus = fun(a: float32[2], b: float32[2]):
    s = subtract(b, a)
    yield s
  scaled = @map(scale, all)
  r = @fold(plus, x, scaled)
  return r
"""
)
"""Functions of lists of any element type and extent, which take functions."""

LAYERS = (
    LIST
    + """
func @run(layers: List[fn(float32[2]) -> float32[2]], x: float32[2]) -> float32[2]:
  r = match layers:
    Nil:
      yield x
    Cons(layer, others):
      y = call layer(x)
      z = @run(others, y)
      yield z
  return r

func @main(c: float32[], x: float32[2]) -> float32[2]:
  scale = fun(u: float32[2]):
    v = multiply(u, c)
    yield v
  bend = fun(s: float32[2]):
    t = relu(s)
    yield t
  none = Nil[fn(float32[2]) -> float32[2]]()
  last = Cons(bend, none)
  both = Cons(scale, last)
  all = Cons(scale, both)
  r = @run(all, x)
  return r
"""
)
"""A list of functions, which is known."""

PROGRAMS = (SUM, TREE, ROSE, OPTION, MAPPED, LAYERS)

ALLOCATES = """type List[T] = Nil | Cons(T, List[T])

func @last(all: List[float32[4]], start: float32[4]) -> float32[4]:
  r = match all:
    Nil:
      yield start
    Cons(head, tail):
      t = @last(tail, head)
      yield t
  return r

func @loop(n: int64[], kept: List[float32[4]], x: float32[4]) -> float32[4]:
  more = greater(n, int64[](0))
  r = if more:
    m = subtract(n, int64[](1))
    none = Nil[float32[4]]()
    one = Cons(x, none)
    two = Cons(x, one)
    y = @last(two, x)
    t = @loop(m, two, y)
    yield t
  else:
    z = @last(kept, x)
    yield z
  return r

func @long(n: int64[], all: List[float32[4]], x: float32[4]) -> List[float32[4]]:
  more = greater(n, int64[](0))
  r = if more:
    m = subtract(n, int64[](1))
    longer = Cons(x, all)
    t = @long(m, longer, x)
    yield t
  else:
    yield all
  return r

func @main(n: int64[], length: int64[], x: float32[4]) -> float32[4]:
  none = Nil[float32[4]]()
  y = @loop(n, none, x)
  all = @long(length, none, y)
  z = @last(all, x)
  return z
"""
"""A loop that makes values and keeps the last of them, and one that makes a long one."""

_WEIGHT = ", ".join(str(number * 37 % 255 - 127) for number in range(64))
LISTED_LAYERS = (
    LIST
    + f"""
func @layers(n: int64[], x: int8[1, 8], all: List[int8[1, 8]]) -> List[int8[1, 8]]:
  more = greater(n, int64[](0))
  r = if more:
    sums = dense(x, int8[8, 8]({_WEIGHT}), out_dtype=int32)
    y = requantise(sums, int32[1](20000), int64[1](4194304), shift=23, low=-128, high=127)
    m = subtract(n, int64[](1))
    longer = Cons(y, all)
    t = @layers(m, y, longer)
    yield t
  else:
    yield all
  return r

func @total(all: List[int8[1, 8]], start: int32[1, 8]) -> int32[1, 8]:
  r = match all:
    Nil:
      yield start
    Cons(head, tail):
      wide = cast(head, to=int32)
      doubled = add(start, start)
      s = add(doubled, wide)
      rest = @total(tail, s)
      yield rest
  return r

func @main(n: int64[], x: int8[1, 8]) -> int32[1, 8]:
  none = Nil[int8[1, 8]]()
  all = @layers(n, x, none)
  s = @total(all, int32[1, 8](0, 0, 0, 0, 0, 0, 0, 0))
  return s
"""
)
"""A layer for an accelerator in a loop, whose results are a list."""
