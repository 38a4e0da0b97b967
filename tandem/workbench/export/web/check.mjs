// Runs the network once in Node: ends with 0 if its outputs are as expected. Made by Tandem.

import { readFileSync } from "node:fs";
import { Network, within } from "./network.mjs";

const BLOCK = 64;
const TOLERANCES = { float32: 1e-4, float64: 1e-10 };

const at = (name) => new URL(name, import.meta.url);
const [name] = process.argv.slice(2);
const description = JSON.parse(readFileSync(at(`${name}.json`)));
const network = await Network.load(readFileSync(at(`${name}.wasm`)), description);
const bytes = readFileSync(at("check.bin"));

let offset = 0;
/** The next tensor in the file: each begins at a multiple of the block's size. */
function next(tensor) {
  const copy = new Uint8Array(tensor.bytes);
  copy.set(bytes.subarray(offset, offset + tensor.bytes));
  offset += Math.ceil(tensor.bytes / BLOCK) * BLOCK;
  const kind = network.elements(tensor, 0).constructor;
  return new kind(copy.buffer);
}

/** An expected output, within the extents that the run gave: these are compared, too. */
function expected(tensor) {
  return within(next(tensor), tensor.shape, network.extents(tensor, outputs));
}

/** Whether elements are as expected: sums of reals may be rounded otherwise, integers are equal. */
function agrees(found, wanted, dtype) {
  if (found.length !== wanted.length) return false;
  const bound = TOLERANCES[dtype];
  if (bound === undefined) return found.every((element, i) => element === wanted[i]);
  const size = (element) => (Number.isFinite(element) ? Math.abs(element) : 0);
  const greatest = wanted.reduce((most, element) => Math.max(most, size(element)), 0);
  return found.every(
    (element, i) =>
      element === wanted[i] ||
      Object.is(element, wanted[i]) ||
      Math.abs(element - wanted[i]) <= bound * greatest,
  );
}

const given = Object.fromEntries(description.inputs.map((each) => [each.name, next(each)]));
const outputs = network.run(given);
let wrong = 0;
for (const tensor of description.outputs) {
  const found = outputs[tensor.name];
  if (!description.checked) {
    console.log(tensor.name, ...found.slice(0, 8));
  } else if (!agrees(found, expected(tensor), tensor.dtype)) {
    console.log(`${tensor.name} differs`);
    wrong += 1;
  }
}
if (description.checked) console.log(wrong ? "NOT as expected" : "as expected");
process.exitCode = wrong ? 1 : 0;
