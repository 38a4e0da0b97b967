"""The C source of a heap: values of data types, and frames of calls without a known bound.

The memory is the caller's. Cells of a form, and the frames of a function's calls, have a free list
of their own, so that what is free is used again by the same; C's library has nothing to do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tandem.compiler.machines.cpu.network.cells import CellLayout, refers
from tandem.compiler.machines.cpu.network.frames import Frames
from tandem.runtime.artifact import MAX_CALLS, BranchForm, MakeCell, Manifest, ReadCell, Tensor
from tandem.runtime.native import ALIGNMENT

HEAP_BYTES: Final = 65536
"""Of the heap of a program that checks a library, unless it is compiled with another number; in
WebAssembly of the first, which grows."""
NO_MEMORY: Final = "NO_MEMORY"
"""The result of a run whose heap is too small: the same run with a larger one may not be."""
MACHINE: Final = "MACHINE"
RESULTS: Final[Mapping[str, str]] = {
    "OK": "as it should be",
    "TOO_DEEP": f"more than {MAX_CALLS:,} calls wait for results",
    "OTHER_FORM": "a value is read that has another form",
    NO_MEMORY: "the heap is too small",
    MACHINE: "the accelerator's launch failed, as the network's `result` says",
}
"""What a run ended with, in the order of the numbers; the last one beside an accelerator only."""

_HEAP: Final = """\
static void *allocate(struct state *s, int kind, size_t bytes, size_t aligned)
{
    void **first = s->free[kind];
    const size_t skipped = (size_t)(-(uintptr_t)s->top & (aligned - 1));
    unsigned char *found = s->top + skipped;

    if (first) {
        s->free[kind] = *first;
        return first;
    }
    if (s->left < skipped || s->left - skipped < bytes) {
        s->result = $NAME_NO_MEMORY;
        return 0;
    }
    s->left -= skipped + bytes;
    s->top = found + bytes;
    return found;
}

static void recycle(struct state *s, int kind, void *memory)
{
    *(void **)memory = s->free[kind];
    s->free[kind] = memory;
}
"""
_CELLS: Final = """\
/* A value of a data type: how often it is used, or the next free one; then references to others,
 * then all other fields. */
struct cell {
    union {
        size_t uses;
        struct cell *next;
    } is;
    uint32_t form;
    uint32_t references;
};

/* Where the fields that are no references begin. */
#define FIELDS(references) \\
    ((sizeof(struct cell) + (references) * sizeof(struct cell *) + 7) / 8 * 8)

static struct cell **references(struct cell *cell)
{
    return (struct cell **)(void *)(cell + 1);
}

static struct cell *make(struct state *s, int form, uint32_t references, size_t fields)
{
    struct cell *cell = allocate(s, form, FIELDS(references) + fields, 8);

    if (!cell) return 0;
    cell->is.uses = 1;
    cell->form = (uint32_t)form;
    cell->references = references;
    return cell;
}

/* One use less of a cell, or of none: it and what nothing uses then are free. */
static void drop(struct state *s, struct cell *cell)
{
    if (!cell || --cell->is.uses) return;
    cell->is.next = 0;
    while (cell) {
        struct cell *waiting = cell->is.next;

        for (uint32_t i = 0; i < cell->references; i++) {
            struct cell *held = references(cell)[i];

            if (--held->is.uses) continue;
            held->is.next = waiting;
            waiting = held;
        }
        recycle(s, (int)cell->form, cell);
        cell = waiting;
    }
}

/* A place takes over a use of a cell, instead of that of another one or of none. */
static void refer(struct state *s, unsigned char *place, struct cell *cell)
{
    struct cell *old = *(struct cell **)(void *)place;

    *(struct cell **)(void *)place = cell;
    drop(s, old);
}

static struct cell *cell_of(const unsigned char *place)
{
    return *(struct cell *const *)(const void *)place;
}

/* One more use of a place's cell. */
static struct cell *kept(const unsigned char *place)
{
    struct cell *cell = cell_of(place);

    cell->is.uses++;
    return cell;
}

static void clear(unsigned char *places, int count)
{
    for (int i = 0; i < count; i++) *(struct cell **)(void *)(places + 8 * i) = 0;
}

/* A frame is free, and uses no cells. */
static void leave(struct state *s, unsigned char *places, int count)
{
    for (int i = 0; i < count; i++) drop(s, cell_of(places + 8 * i));
}
"""


@dataclass(frozen=True, slots=True)
class HeapSource:
    """The parts of a network's source that need its heap.

    Attributes
    ----------
    name
        The prefix of all names of the library.
    address
        The expression of a tensor's address.
    """

    name: str
    manifest: Manifest
    frames: Frames
    tensors: Mapping[str, Tensor]
    address: Callable[[str], str]

    def __bool__(self) -> bool:
        """Whether there is a heap at all."""
        return bool(self.manifest.forms or self.frames.regions)

    @property
    def result_ok(self) -> str:
        """The result of a run that has come to its end."""
        return f"{self.name.upper()}_OK"

    def state(self) -> Iterator[str]:
        """What a run's state has for it."""
        kinds = len(self.manifest.forms) + len(self.manifest.functions)
        yield f"    enum {self.name}_result result;"
        yield f"    void *free[{kinds}]; /* cells of each form, frames of each function */"
        yield "    unsigned char *top;"
        yield "    size_t left;"
        yield "    unsigned char *spare;"
        yield "    int waiting;"

    def functions(self) -> Iterator[str]:
        """The functions of the heap."""
        yield from _HEAP.replace("$NAME", self.name.upper()).splitlines()
        yield ""
        if self.manifest.forms:
            yield from _CELLS.splitlines()
            yield ""

    def make(self, made: MakeCell) -> Iterator[str]:
        """The statements that make a cell."""
        layout = CellLayout.of(self.manifest.forms[made.form])
        fields = f"{made.form}, {layout.references}, {layout.field_bytes}"
        yield "{"
        yield f"    struct cell *cell = make(s, {fields});"
        yield "    if (!cell) return -1;"
        for number, name in enumerate(made.fields):
            place = self._in_cell(layout, number, reference=refers(self.tensors, name))
            if refers(self.tensors, name):
                yield f"    {place} = kept({self.address(name)});"
            else:
                yield f"    memcpy({place}, {self.address(name)}, {layout.sizes[number]});"
        yield f"    refer(s, {self.address(made.target)}, cell);"
        yield "}"

    def branch(self, tested: BranchForm) -> Iterator[str]:
        """The statement that goes on where a cell's form says."""
        found = f"cell_of({self.address(tested.source)})->form"
        yield f"if ({found} != {tested.form}) goto i{tested.otherwise};"

    def read(self, read: ReadCell) -> Iterator[str]:
        """The statements that copy the fields of a cell."""
        layout = CellLayout.of(self.manifest.forms[read.form])
        yield "{"
        yield f"    struct cell *cell = cell_of({self.address(read.source)});"
        yield f"    if (cell->form != {read.form}) {{"
        yield f"        s->result = {self.name.upper()}_OTHER_FORM;"
        yield "        return -1;"
        yield "    }"
        for number, name in enumerate(read.fields):
            place = self._in_cell(layout, number, reference=refers(self.tensors, name))
            if refers(self.tensors, name):
                kept = f"kept((const unsigned char *)&{place})"
                yield f"    refer(s, {self.address(name)}, {kept});"
            else:
                yield f"    memcpy({self.address(name)}, {place}, {layout.sizes[number]});"
        yield "}"

    @staticmethod
    def _in_cell(layout: CellLayout, number: int, *, reference: bool) -> str:
        offset = layout.offsets[number]
        if reference:
            return f"references(cell)[{offset}]"
        return f"(unsigned char *)cell + FIELDS({layout.references}) + {offset}"

    def clear(self, function: str, frame: str) -> Iterator[str]:
        """The statement that makes a function's frame refer to no cells."""
        begin, count = self.frames.references[function]
        if count:
            yield f"clear({frame} + {begin}, {count});"

    def leave(self, function: str, frame: str = "frame") -> Iterator[str]:
        """The statement that gives back the cells of a function's frame."""
        begin, count = self.frames.references[function]
        if count:
            yield f"leave(s, {frame} + {begin}, {count});"

    def region(self, function: str, number: int) -> Iterator[str]:
        """The statements that begin the block of a call: of a function with a region, or not."""
        region = self.frames.regions.get(function)
        yield "{"
        if region is None:
            yield f"    unsigned char *region = s->frames + {self.frames.first[function]};"
        else:
            sizes = f"{self._kind(number)}, {region.bytes}, {ALIGNMENT}"
            yield f"    unsigned char *region = allocate(s, {sizes});"
            yield "    if (!region) return -1;"
        yield f"    if (s->waiting >= {MAX_CALLS}) {{"
        yield f"        s->result = {self.name.upper()}_TOO_DEEP;"
        yield "        return -1;"
        yield "    }"
        yield "    s->waiting++;"

    def enter(self, function: str, number: int) -> Iterator[str]:
        """The statements that run a function in its region."""
        region = self.frames.regions.get(function)
        spare = 0 if region is None else region.second
        yield f"enter(s, {number}, region, region + {spare});"
        yield f"if (s->result != {self.result_ok}) return -1;"

    def end(self, function: str, number: int) -> Iterator[str]:
        """The statements that end the block of a call."""
        yield "    s->waiting--;"
        if function in self.frames.regions:
            yield f"    recycle(s, {self._kind(number)}, region);"
        yield "}"

    def take(self, place: str, result: str) -> str:
        """The statement by which a place takes over a result that refers to a cell."""
        return f"refer(s, {place}, (struct cell *)(uintptr_t){result});"

    def header(self, *, streams: bool) -> Sequence[str]:
        """What the header says; `streams` if an accelerator is beside."""
        upper = self.name.upper()
        results = {name: said for name, said in RESULTS.items() if streams or name != MACHINE}
        width = len(upper) + max(map(len, results)) + 2
        lines = [f"    {f'{upper}_{name},':{width}} /* {said} */" for name, said in results.items()]
        return (
            "/* What a run ended with. */",
            f"enum {self.name}_result {{",
            *lines[:-1],
            lines[-1].replace(",", " ", 1),
            "};",
            "",
        )

    def _kind(self, number: int) -> int:
        return len(self.manifest.forms) + number
