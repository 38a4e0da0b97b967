"""Values that are computed a second time instead of being kept: memory for time.

A gradient needs values of the network long after the network itself has used them. Those that are
not kept are computed again from those that are, as late as possible (Chen et al., 2016: Training
deep nets with sublinear memory cost). This happens after fusion, on calls of kernels: the second
call runs the same code on the same numbers, so that results are equal bit for bit; no pass behind
it merges the two; and the memory of a sequence of calls is known exactly.
"""

from tandem.compiler.graph.recompute.choose import MemoryLimitError, limited
from tandem.compiler.graph.recompute.steps import Part, Run, Step

__all__ = ["MemoryLimitError", "Part", "Run", "Step", "limited"]
