/**
 * Softmax and its relatives in double precision, over rows of any length.
 * @module
 */

/** @typedef {Float32Array | Float64Array | number[]} Numbers */

/**
 * The largest number, -Infinity of none.
 * @param {Numbers} x
 * @returns {number}
 */
function largest(x) {
  let best = -Infinity;
  for (let i = 0; i < x.length; i++) if (x[i] > best) best = x[i];
  return best;
}

/**
 * log Σ exp(x), exact where exp alone would overflow.
 * @param {Numbers} x
 * @returns {number}
 */
export function logSumExp(x) {
  const top = largest(x);
  if (!Number.isFinite(top)) return top;
  let sum = 0;
  for (let i = 0; i < x.length; i++) sum += Math.exp(x[i] - top);
  return top + Math.log(sum);
}

/**
 * Probabilities of logits at a temperature; at 0 all of it is on the first largest one.
 * @param {Numbers} x
 * @param {number} [temperature]
 * @returns {Float64Array}
 */
export function softmax(x, temperature = 1) {
  const out = new Float64Array(x.length);
  if (x.length === 0) return out;
  const top = largest(x);
  if (top === -Infinity) return out;
  if (temperature === 0) {
    out[Array.prototype.indexOf.call(x, top)] = 1;
    return out;
  }
  let sum = 0;
  for (let i = 0; i < x.length; i++) {
    out[i] = Math.exp((x[i] - top) / temperature);
    sum += out[i];
  }
  for (let i = 0; i < out.length; i++) out[i] /= sum;
  return out;
}

/**
 * Shannon entropy of probabilities, in nats.
 * @param {Numbers} p
 * @returns {number}
 */
export function entropy(p) {
  let sum = 0;
  for (let i = 0; i < p.length; i++) if (p[i] > 0) sum -= p[i] * Math.log(p[i]);
  return sum;
}
