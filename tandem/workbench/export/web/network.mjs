// Runs a network in WebAssembly, in a browser or in Node. Made by Tandem.

const ARRAYS = {
  bool: Uint8Array, int8: Int8Array, uint8: Uint8Array, int16: Int16Array, uint16: Uint16Array,
  int32: Int32Array, uint32: Uint32Array, int64: BigInt64Array, uint64: BigUint64Array,
  float16: Uint16Array, bfloat16: Uint16Array, float32: Float32Array, float64: Float64Array,
};
const PAGE = 65536;
const POINTER = 4;
const MOST_HEAP_BYTES = 2 ** 28;

/** Functions of C's mathematics that the network calls, by their names there. */
function mathematics(names) {
  const found = {};
  for (const name of names) {
    const single = name.endsWith("f") && !(name in Math);
    const run = Math[single ? name.slice(0, -1) : name];
    if (run === undefined) throw new Error(`this network calls ${name}, which JavaScript lacks`);
    found[name] = single ? (...values) => Math.fround(run(...values)) : run;
  }
  return found;
}

/** The elements of a result within extents of some axes: an object of extents by axis. */
export function within(elements, shape, extents) {
  const valid = shape.map((extent, axis) => Number(extents[axis] ?? extent));
  return elements.filter((_, position) => {
    let rest = position;
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      if (rest % shape[axis] >= valid[axis]) return false;
      rest = Math.floor(rest / shape[axis]);
    }
    return true;
  });
}

/** A network whose buffers lie in its module's memory. */
export class Network {
  /**
   * @param {BufferSource} code the module: the bytes of the .wasm file
   * @param {object} description the .json file beside it
   */
  static async load(code, description) {
    const env = mathematics(description.calls);
    const { instance } = await WebAssembly.instantiate(code, { env });
    return new Network(instance.exports, description);
  }

  constructor(exports, description) {
    this.description = description;
    this.run_ = exports[`${description.name}_run`];
    this.memory = exports.memory;
    this.end = exports.__heap_base.value;
    this.arena = this.reserve(description.arena_bytes);
    this.workspace = this.reserve(description.workspace_bytes);
    this.inputs = this.place(description.inputs);
    this.outputs = this.place(description.outputs);
    // Behind all others, where it can grow.
    this.heapBytes = description.heap?.bytes ?? 0;
    this.mostHeapBytes = MOST_HEAP_BYTES;
    this.heap = this.reserve(this.heapBytes);
  }

  /** The address of memory that is reserved behind what the module has. */
  reserve(bytes) {
    const { alignment } = this.description;
    const begin = Math.ceil(this.end / alignment) * alignment;
    this.end = begin + bytes;
    const missing = this.end - this.memory.buffer.byteLength;
    if (missing > 0) this.memory.grow(Math.ceil(missing / PAGE));
    return begin;
  }

  /** Reserves tensors, and the struct of their addresses. */
  place(tensors) {
    const addresses = tensors.map((tensor) => this.reserve(tensor.bytes));
    const struct = this.reserve(POINTER * Math.max(tensors.length, 1));
    new Uint32Array(this.memory.buffer, struct, tensors.length).set(addresses);
    return { struct, addresses };
  }

  /** The elements of a tensor, in the module's memory. */
  elements(tensor, address) {
    const kind = ARRAYS[tensor.dtype];
    return new kind(this.memory.buffer, address, tensor.bytes / kind.BYTES_PER_ELEMENT);
  }

  /**
   * Runs the network once.
   * @param {object} given arrays of elements by the names of inputs, in the order of their memory
   * @returns {object} typed arrays by the names of outputs; floats of 16 bits as their bits.
   *     Of results whose extents are known after a run it has these, and nothing beyond
   * @throws {Error} a run of a network with a heap failed: says why
   */
  run(given) {
    this.description.inputs.forEach((tensor, at) => {
      const elements = this.elements(tensor, this.inputs.addresses[at]);
      const values = given[tensor.name];
      if (values?.length !== elements.length) {
        throw new Error(`${tensor.name}: ${elements.length} elements are needed`);
      }
      elements.set(values);
    });
    this.call();
    const found = {};
    this.description.outputs.forEach((tensor, at) => {
      found[tensor.name] = this.elements(tensor, this.outputs.addresses[at]).slice();
    });
    for (const tensor of this.description.outputs) {
      const extents = this.extents(tensor, found);
      found[tensor.name] = within(found[tensor.name], tensor.shape, extents);
    }
    return found;
  }

  /** Runs the module on its buffers; with a heap of twice the size where it was too small. */
  call() {
    const buffers = [this.inputs.struct, this.outputs.struct, this.arena, this.workspace];
    const { heap } = this.description;
    if (!heap) {
      this.run_(...buffers);
      return;
    }
    for (;;) {
      const result = this.run_(...buffers, this.heap, this.heapBytes);
      if (result === 0) return;
      if (result !== heap.grows_for || 2 * this.heapBytes > this.mostHeapBytes) {
        throw new Error(`${heap.results[result]} (a heap of ${this.heapBytes} bytes)`);
      }
      this.reserve(this.heapBytes);
      this.heapBytes *= 2;
    }
  }

  /** The extents of an output that are known after a run, by axis. */
  extents(tensor, found) {
    const known = Object.entries(tensor.extents);
    return Object.fromEntries(known.map(([axis, name]) => [axis, found[name][0]]));
  }
}
