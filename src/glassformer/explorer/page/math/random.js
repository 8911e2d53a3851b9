/**
 * Seeded numbers from 0 to 1: the same seed gives the same draws on every machine (xoshiro128**, Blackman & Vigna).
 * @module
 */

/**
 * A generator of numbers in [0, 1) with 53 random bits.
 * @param {number} seed
 * @returns {() => number}
 */
export function dice(seed) {
  const state = spread(seed >>> 0);
  const next = () => {
    const result = Math.imul(rotate(Math.imul(state[1], 5), 7), 9) >>> 0;
    const shifted = state[1] << 9;
    state[2] ^= state[0];
    state[3] ^= state[1];
    state[1] ^= state[2];
    state[0] ^= state[3];
    state[2] ^= shifted;
    state[3] = rotate(state[3], 11);
    return result;
  };
  return () => ((next() >>> 5) * 67108864 + (next() >>> 6)) / 9007199254740992;
}

/**
 * @param {number} x
 * @param {number} by
 * @returns {number}
 */
function rotate(x, by) {
  return (x << by) | (x >>> (32 - by));
}

/**
 * Four words of state from one seed (splitmix32).
 * @param {number} seed
 * @returns {Int32Array}
 */
function spread(seed) {
  const state = new Int32Array(4);
  let x = seed;
  for (let i = 0; i < 4; i++) {
    x = (x + 0x9e3779b9) | 0;
    let z = x;
    z = Math.imul(z ^ (z >>> 16), 0x85ebca6b);
    z = Math.imul(z ^ (z >>> 13), 0xc2b2ae35);
    state[i] = z ^ (z >>> 16);
  }
  return state;
}
