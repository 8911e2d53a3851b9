/**
 * Scales from data to pixels, their ticks, and the codes that make small weights visible.
 * @module
 */

/** @typedef {[number, number]} Pair */
/** @typedef {((x: number) => number) & {invert: (y: number) => number}} Scale */

/**
 * A straight line through two points.
 * @param {Pair} domain
 * @param {Pair} range
 * @returns {Scale}
 */
export function linear([d0, d1], [r0, r1]) {
  const slope = d1 === d0 ? 0 : (r1 - r0) / (d1 - d0);
  /** @param {number} x */
  const scale = (x) => r0 + (x - d0) * slope;
  /** @param {number} y */
  const invert = (y) => (slope === 0 ? d0 : d0 + (y - r0) / slope);
  return Object.assign(scale, { invert });
}

/**
 * A straight line in the logarithm; both ends of the domain are above 0.
 * @param {Pair} domain
 * @param {Pair} range
 * @returns {Scale}
 */
export function logScale([d0, d1], range) {
  const inner = linear([Math.log(d0), Math.log(d1)], range);
  /** @param {number} x */
  const scale = (x) => inner(Math.log(Math.max(x, Number.MIN_VALUE)));
  /** @param {number} y */
  const invert = (y) => Math.exp(inner.invert(y));
  return Object.assign(scale, { invert });
}

/**
 * About n round numbers from d0 to d1.
 * @param {number} d0
 * @param {number} d1
 * @param {number} n
 * @returns {number[]}
 */
export function ticks(d0, d1, n) {
  if (!(d1 > d0)) return [d0];
  const rough = (d1 - d0) / Math.max(1, n);
  const power = 10 ** Math.floor(Math.log10(rough));
  const share = rough / power;
  const step = power * (share >= Math.sqrt(50) ? 10 : share >= Math.sqrt(10) ? 5 : share >= Math.SQRT2 ? 2 : 1);
  const out = [];
  for (let i = Math.ceil(d0 / step - 1e-9); i * step <= d1 + step * 1e-9; i++) {
    out.push(Number((i * step).toPrecision(12)));
  }
  return out;
}

/**
 * Powers of ten from d0 to d1, with 2 and 5 between them where there are few.
 * @param {number} d0
 * @param {number} d1
 * @returns {number[]}
 */
export function logTicks(d0, d1) {
  const low = Math.floor(Math.log10(d0));
  const high = Math.ceil(Math.log10(d1));
  const steps = high - low > 3 ? [1] : [1, 2, 5];
  const every = Math.max(1, Math.ceil((high - low) / 8));
  const out = [];
  for (let power = low; power <= high; power += every) {
    for (const step of steps) {
      const x = Number((step * 10 ** power).toPrecision(12));
      if (x >= d0 * (1 - 1e-9) && x <= d1 * (1 + 1e-9)) out.push(x);
    }
  }
  return out;
}

/**
 * A tick as short text: 2000 → "2k", 0.0001 → "1e-4".
 * @param {number} x
 * @returns {string}
 */
export function tickText(x) {
  const size = Math.abs(x);
  if (size >= 1e6) return `${Number((x / 1e6).toPrecision(4))}M`;
  if (size >= 1e4) return `${Number((x / 1e3).toPrecision(4))}k`;
  if (size !== 0 && size < 1e-3) return x.toExponential(0).replace("e+", "e");
  return String(Number(x.toPrecision(4)));
}

/** Weights below this share of the largest are the darkest in the logarithmic code. */
const LOG_FLOOR = 1e-4;

/**
 * How a weight from 0 to 1 becomes a brightness from 0 to 1.
 * @param {"linear" | "sqrt" | "log"} name
 * @returns {(w: number) => number}
 */
export function code(name) {
  if (name === "sqrt") return Math.sqrt;
  if (name === "log") return (w) => (w <= LOG_FLOOR ? 0 : 1 - Math.log10(w) / Math.log10(LOG_FLOOR));
  return (w) => w;
}
