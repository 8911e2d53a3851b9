/**
 * Figures that describe many numbers: mean, extent, a smoothed curve.
 * @module
 */

/** @typedef {import("./softmax.js").Numbers} Numbers */

/**
 * @param {Numbers} x
 * @returns {number} NaN of none
 */
export function mean(x) {
  let sum = 0;
  for (let i = 0; i < x.length; i++) sum += x[i];
  return sum / x.length;
}

/**
 * The smallest and the largest finite number; [0, 1] of none.
 * @param {Numbers} x
 * @returns {[number, number]}
 */
export function extent(x) {
  let low = Infinity;
  let high = -Infinity;
  for (let i = 0; i < x.length; i++) {
    if (!Number.isFinite(x[i])) continue;
    if (x[i] < low) low = x[i];
    if (x[i] > high) high = x[i];
  }
  return low > high ? [0, 1] : [low, high];
}

/**
 * An exponential moving average, corrected for its start, so that the first value is the first given.
 * @param {Numbers} y
 * @param {number} keep from 0 (no smoothing) to just under 1
 * @returns {Float64Array}
 */
export function smooth(y, keep) {
  const out = new Float64Array(y.length);
  let sum = 0;
  let weight = 0;
  for (let i = 0; i < y.length; i++) {
    if (Number.isFinite(y[i])) {
      sum = keep * sum + (1 - keep) * y[i];
      weight = keep * weight + (1 - keep);
    }
    out[i] = weight ? sum / weight : NaN;
  }
  return out;
}
