"""What artifacts record of tensors that the host packs for a device: their scales, and windows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.nodes import Atom, Call, Function, Var
from tandem.compiler.graph.operators.layouts import Convert, PackWindows, View
from tandem.compiler.graph.operators.quantised import Quantise
from tandem.compiler.layouts.layout import Bytes, Layout
from tandem.compiler.plan.parts import Invocation
from tandem.runtime.artifact import Scale, Windows


@dataclass(frozen=True, slots=True)
class PackedTensor:
    """A tensor that has the numbers of another one in other places.

    Attributes
    ----------
    scale
        The scale of its integers; None if unknown.
    windows
        The windows that it has as channels; None if it has none.
    """

    scale: Scale | None = None
    windows: Windows | None = None


def packed_tensors(
    calls: Iterable[Invocation], scales: Mapping[str, Scale]
) -> Mapping[str, PackedTensor]:
    """The packed results of kernels, by name.

    Parameters
    ----------
    calls
        Calls of kernels; a call follows those whose results it reads.
    scales
        Scales of the network's tensors, by name.
    """
    found = dict[str, PackedTensor]()
    for call in calls:
        source, windows = _source(call.kernel)
        match source:
            case Scale():
                scale: Scale | None = source
            case Var(name=name):
                at = [param.name for param in call.kernel.params].index(name)
                match call.operands[at]:
                    case str(operand):
                        known = found.get(operand, PackedTensor())
                        scale = scales.get(operand, known.scale)
                    case Constant():
                        scale = None
            case None:
                continue
        (result,) = call.outputs
        found[result] = PackedTensor(scale, windows)
    return found


def _source(kernel: Function) -> tuple[Scale | Var | None, Windows | None]:
    """The parameter that a kernel packs, or the scale of what it quantises and packs; None if it
    computes something else. And the windows."""
    values = {let.name: let.value for let in kernel.body.lets}
    windows: Windows | None = None
    atom: Atom = kernel.body.result
    if not isinstance(atom, Var) or atom.name not in values:
        return None, None
    while isinstance(atom, Var) and atom.name in values:
        match values[atom.name]:
            case Call(attributes=PackWindows() as packing, args=(atom,)):
                windows = Windows(
                    packing.kernel, packing.strides, packing.padding, packing.dilation
                )
            case Call(attributes=Convert() | View() as given, args=(atom,)) if not _has_planes(
                given
            ):
                pass
            case Call(attributes=Quantise(), args=(_, Constant() as step, Constant() as zero)) if (
                step.array.size == zero.array.size == 1
            ):
                return Scale(step.array.item(), zero.array.item()), windows
            case _:
                return None, None
    return (atom if isinstance(atom, Var) else None), windows


def _has_planes(given: Convert | View) -> bool:
    """Whether bytes become integers, or integers bytes: then numbers are not the same."""
    layouts: tuple[Layout | None, ...]
    match given:
        case Convert(source=source, target=target):
            layouts = (source, target)
        case View(layout=layout):
            layouts = (layout,)
    return any(layout is not None and Bytes() in layout.parts for layout in layouts)
