/**
 * Attention weights of one head, shown in another way than they were computed.
 * @module
 */

/**
 * Weights without some keys, each row scaled to sum to 1 again (or 0 if nothing is left).
 * @param {Float32Array | Float64Array} weights
 * @param {number} queries
 * @param {number} keys
 * @param {(key: number) => boolean} hidden
 * @returns {Float32Array}
 */
export function renormalise(weights, queries, keys, hidden) {
  const out = new Float32Array(queries * keys);
  const shown = Array.from({ length: keys }, (_, key) => !hidden(key));
  for (let i = 0; i < queries; i++) {
    let sum = 0;
    for (let j = 0; j < keys; j++) if (shown[j]) sum += weights[i * keys + j];
    if (sum === 0) continue;
    for (let j = 0; j < keys; j++) if (shown[j]) out[i * keys + j] = weights[i * keys + j] / sum;
  }
  return out;
}
