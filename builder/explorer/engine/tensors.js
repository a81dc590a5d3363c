// Numbers as the model keeps them: a vector is a Float32Array, a matrix a list of vectors, one per token.
// Sums are taken in double precision and stored in single precision.

/**
 * What sums and the like need of an array.
 * @typedef {ArrayLike<number> & { reduce(step: (so: number, value: number) => number, start: number): number }} Numbers
 */

// Four partial sums: the processor need not wait for one addition before it starts another.
/** @type {(a: Numbers, b: Numbers) => number} */
function dot(a, b) {
  let s0 = 0;
  let s1 = 0;
  let s2 = 0;
  let s3 = 0;
  let i = 0;
  for (; i + 3 < a.length; i += 4) {
    s0 += a[i] * b[i];
    s1 += a[i + 1] * b[i + 1];
    s2 += a[i + 2] * b[i + 2];
    s3 += a[i + 3] * b[i + 3];
  }
  for (; i < a.length; i++) s0 += a[i] * b[i];
  return s0 + s1 + s2 + s3;
}

// W x: the dot product of each row of W with x. A translation spends nearly all of its time here.
/** @type {(W: Matrix, x: Vector) => Vector} */
export function times(W, x) {
  const product = new Float32Array(W.length);
  const wide = new Float64Array(x); // once, rather than once for each row
  for (let row = 0; row < W.length; row++) product[row] = dot(W[row], wide);
  return product;
}

/** @type {(values: Numbers) => number} */
export const sum = (values) => values.reduce((total, value) => total + value, 0);

/** @type {(a: Vector, b: Vector) => Vector} */
export const add = (a, b) => a.map((value, i) => value + b[i]);

/** @type {(values: Numbers) => number} */
export const largest = (values) => values.reduce((best, value) => Math.max(best, value), -Infinity);

// exp(x_j) / sum of exp(x): a score of minus infinity gives 0.
/** @type {(scores: Numbers) => Vector} */
export function softmax(scores) {
  const top = largest(scores);
  const powers = new Float64Array(scores).map((score) => Math.exp(score - top));
  const total = sum(powers);
  return new Float32Array(powers.map((power) => power / total));
}

// log(exp(x_j) / sum of exp(x)), in double precision.
/** @type {(scores: Numbers) => Float64Array} */
export function logSoftmax(scores) {
  const top = largest(scores);
  const logSum = top + Math.log(scores.reduce((total, score) => total + Math.exp(score - top), 0));
  return new Float64Array(scores).map((score) => score - logSum);
}

// The indices of the k largest values, the largest first; of equal values, the first one.
/** @type {(values: Numbers, k: number) => number[]} */
export function topk(values, k) {
  /** @type {number[]} */
  const best = [];
  for (let i = 0; i < values.length; i++) {
    if (best.length === k && values[i] <= values[best[k - 1]]) continue;
    let place = best.length;
    while (place > 0 && values[i] > values[best[place - 1]]) place--;
    best.splice(place, 0, i);
    if (best.length > k) best.pop();
  }
  return best;
}

/** @type {Record<string, (buffer: ArrayBuffer) => Vector>} */
const TYPES = {
  F32: (buffer) => new Float32Array(buffer),
  I8: (buffer) => new Float32Array(new Int8Array(buffer)),
};

// The metadata of a safetensors file and its tensors by name: a length, a header in JSON, and the numbers. A matrix `x`
// of whole numbers has a step for each row in `x.step`.
/** @type {(buffer: ArrayBuffer) => { metadata: Record<string, string>, tensors: Map<string, any> }} */
export function readSafetensors(buffer) {
  const length = Number(new DataView(buffer).getBigUint64(0, true));
  const text = new TextDecoder().decode(new Uint8Array(buffer, 8, length));
  const { __metadata__: metadata, ...header } = JSON.parse(text);
  const tensors = new Map();
  for (const [name, { dtype, shape, data_offsets }] of Object.entries(header)) {
    const read = TYPES[dtype];
    if (!read) {
      throw new Error(`${name} is stored as ${dtype}; this engine reads ${Object.keys(TYPES).join(", ")}`);
    }
    const [start, end] = data_offsets;
    const numbers = read(buffer.slice(8 + length + start, 8 + length + end));
    const width = shape.at(-1);
    const rows = Array.from({ length: numbers.length / width }, (_, row) =>
      numbers.subarray(row * width, (row + 1) * width),
    );
    tensors.set(name, shape.length === 1 ? numbers : rows);
  }
  for (const [name, steps] of [...tensors].filter(([name]) => name.endsWith(".step"))) {
    /** @type {Matrix} */
    const rows = tensors.get(name.replace(/\.step$/, ""));
    rows.forEach((row, i) => row.forEach((number, j) => (row[j] = number * steps[i])));
    tensors.delete(name);
  }
  return { metadata, tensors };
}
