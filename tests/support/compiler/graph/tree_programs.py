"""Programs in tests that take values of data types apart as models do: a tree LSTM, beam search."""

from __future__ import annotations

CELL = """type Tree = Leaf(float32[1, 4]) | Node(Tree, Tree)
type List[T] = Nil | Cons(T, List[T])

func @cell(tree: Tree, w: float32[4, 12], u: float32[8, 20]) -> (float32[1, 4], float32[1, 4]):
  r = match tree:
    Leaf(x):
      z = matmul(x, w)
      gates = split(z, sizes=[4, 4, 4], axis=1)
      i = gates[0]
      o = gates[1]
      g = gates[2]
      opened = sigmoid(i)
      given = tanh(g)
      c = multiply(opened, given)
      shown = sigmoid(o)
      bent = tanh(c)
      h = multiply(shown, bent)
      state = (h, c)
      yield state
    Node(left, right):
      ls = @cell(left, w, u)
      rs = @cell(right, w, u)
      lh = ls[0]
      lc = ls[1]
      rh = rs[0]
      rc = rs[1]
      both = concat(lh, rh, axis=1)
      z2 = matmul(both, u)
      gates2 = split(z2, sizes=[4, 4, 4, 4, 4], axis=1)
      i2 = gates2[0]
      lf = gates2[1]
      rf = gates2[2]
      o2 = gates2[3]
      g2 = gates2[4]
      opened2 = sigmoid(i2)
      given2 = tanh(g2)
      new = multiply(opened2, given2)
      lkept = sigmoid(lf)
      rkept = sigmoid(rf)
      lold = multiply(lkept, lc)
      rold = multiply(rkept, rc)
      old = add(lold, rold)
      c2 = add(new, old)
      shown2 = sigmoid(o2)
      bent2 = tanh(c2)
      h2 = multiply(shown2, bent2)
      state2 = (h2, c2)
      yield state2
  return r
"""
"""A tree LSTM with two children (Tai et al., ACL'15), without biases: hidden state and memory."""

KNOWN_TREE = (
    CELL
    + """
func @main(x: float32[3, 1, 4], w: float32[4, 12], u: float32[8, 20]) -> float32[1, 4]:
  x0 = gather(x, int64[](0), axis=0)
  x1 = gather(x, int64[](1), axis=0)
  x2 = gather(x, int64[](2), axis=0)
  a = Leaf(x0)
  b = Leaf(x1)
  c = Leaf(x2)
  ab = Node(a, b)
  tree = Node(ab, c)
  r = @cell(tree, w, u)
  h = r[0]
  return h
"""
)
"""The tree is written in the program; its words are inputs."""

READ_TREE = (
    CELL
    + """
func @read(
  codes: int64[9], x: float32[9, 1, 4], at: int64[], stack: List[Tree]) -> List[Tree]:
  more = less(at, int64[](9))
  r = if more:
    code = gather(codes, at, axis=0)
    next = add(at, int64[](1))
    leaf = equal(code, int64[](0))
    longer = if leaf:
      row = gather(x, at, axis=0)
      one = Leaf(row)
      pushed = Cons(one, stack)
      yield pushed
    else:
      joined = match stack:
        Cons(right, below):
          inner = match below:
            Cons(left, others):
              node = Node(left, right)
              top = Cons(node, others)
              yield top
            Nil:
              yield stack
          yield inner
        Nil:
          yield stack
      yield joined
    t = @read(codes, x, next, longer)
    yield t
  else:
    yield stack
  return r

func @main(
  codes: int64[9], x: float32[9, 1, 4], w: float32[4, 12], u: float32[8, 20]) -> float32[1, 4]:
  empty = Nil[Tree]()
  stack = @read(codes, x, int64[](0), empty)
  h = match stack:
    Cons(tree, others):
      r = @cell(tree, w, u)
      state = r[0]
      yield state
    Nil:
      row = gather(x, int64[](0), axis=0)
      yield row
  return h
"""
).replace("(\n  ", "(")
"""The tree is an input: a code 0 is a leaf, others join the last two trees."""

BEAMS = """type List[T] = Nil | Cons(T, List[T])
type Beam = Beam(float32[], int64[], List[int64[]])

func @insert(new: Beam, all: List[Beam], most: int64[]) -> List[Beam]:
  some = greater(most, int64[](0))
  r = if some:
    s = match all:
      Nil:
        none = Nil[Beam]()
        alone = Cons(new, none)
        yield alone
      Cons(first, others):
        left = subtract(most, int64[](1))
        a = @score(new)
        b = @score(first)
        better = greater(a, b)
        t = if better:
          after = @insert(first, others, left)
          u = Cons(new, after)
          yield u
        else:
          behind = @insert(new, others, left)
          v = Cons(first, behind)
          yield v
        yield t
    yield s
  else:
    full = Nil[Beam]()
    yield full
  return r

func @score(beam: Beam) -> float32[]:
  r = match beam:
    Beam(score, last, tokens):
      yield score
  return r

func @extend(beam: Beam, token: int64[], table: float32[3, 3], all: List[Beam]) -> List[Beam]:
  more = less(token, int64[](3))
  r = if more:
    longer = match beam:
      Beam(score, last, tokens):
        row = gather(table, last, axis=0)
        gain = gather(row, token, axis=0)
        total = add(score, gain)
        path = Cons(token, tokens)
        new = Beam(total, token, path)
        yield new
    best = @insert(longer, all, int64[](2))
    next = add(token, int64[](1))
    t = @extend(beam, next, table, best)
    yield t
  else:
    yield all
  return r

func @every(beams: List[Beam], table: float32[3, 3], all: List[Beam]) -> List[Beam]:
  r = match beams:
    Nil:
      yield all
    Cons(beam, others):
      best = @extend(beam, int64[](0), table, all)
      t = @every(others, table, best)
      yield t
  return r

func @search(n: int64[], table: float32[3, 3], beams: List[Beam]) -> List[Beam]:
  more = greater(n, int64[](0))
  r = if more:
    m = subtract(n, int64[](1))
    none = Nil[Beam]()
    best = @every(beams, table, none)
    t = @search(m, table, best)
    yield t
  else:
    yield beams
  return r

func @digits(tokens: List[int64[]], power: int64[], sum: int64[]) -> int64[]:
  r = match tokens:
    Nil:
      yield sum
    Cons(token, others):
      term = multiply(token, power)
      more = add(sum, term)
      next = multiply(power, int64[](10))
      t = @digits(others, next, more)
      yield t
  return r

func @main(n: int64[], table: float32[3, 3]) -> (float32[], int64[]):
  empty = Nil[int64[]]()
  start = Beam(float32[](0.0), int64[](0), empty)
  none = Nil[Beam]()
  beams = Cons(start, none)
  found = @search(n, table, beams)
  r = match found:
    Cons(best, others):
      s = match best:
        Beam(score, last, tokens):
          path = @digits(tokens, int64[](1), int64[](0))
          t = (score, path)
          yield t
      yield s
    Nil:
      u = (float32[](0.0), int64[](0))
      yield u
  return r
"""
"""Beam search of width 2 over three tokens, whose scores depend on the last: the best score, and
the tokens as the digits of a number."""
