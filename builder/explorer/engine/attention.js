// Scaled dot-product attention: equation 1 of the paper, annotated_transformer/model/attention.py.
import { times } from "./tensors.js";

// q k^T / sqrt(d_k), whose softmax gives the weights; mask[i][j] is true where query i may attend to key j.
/** @type {(query: Matrix, key: Matrix, mask?: boolean[][]) => Matrix} */
export function attentionScores(query, key, mask) {
  const scale = Math.sqrt(query[0].length);
  return query.map((q, i) =>
    times(key, q).map((product, j) => (!mask || mask[i][j] ? product / scale : -Infinity)),
  );
}

// One weighted mean of the values for each query.
/** @type {(weights: Matrix, value: Matrix) => Matrix} */
export function weightedMeans(weights, value) {
  return weights.map((row) => {
    const mean = new Float64Array(value[0].length);
    row.forEach((weight, j) => {
      for (let i = 0; i < mean.length; i++) mean[i] += weight * value[j][i];
    });
    return Float32Array.from(mean);
  });
}
