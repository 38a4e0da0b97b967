"""Gradients by reverse mode, as functions of the graph language.

A function of gradients is written from a function, and is one like any other: passes rewrite it,
the evaluator and artifacts run it, gradients of it are second derivatives. The rule of an operator
is part of its specification (`opspec.OpSpec.gradient`); what functions, tuples, branches and loops
become is here. Closures are made first order before.
"""

from tandem.compiler.graph.gradients.functions import pullback, value_and_grad
from tandem.compiler.graph.gradients.optimisers import Adam, Optimiser, Sgd
from tandem.compiler.graph.gradients.training import training_step

__all__ = ["Adam", "Optimiser", "Sgd", "pullback", "training_step", "value_and_grad"]
