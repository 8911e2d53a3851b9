/**
 * Bars on a canvas: strips of signed numbers by dimension, and histograms.
 * @module
 */

/**
 * One upright bar for each number, from a zero line that lies where 0 is between low and high.
 * @param {CanvasRenderingContext2D} context
 * @param {ArrayLike<number>} values
 * @param {{x: number, y: number, width: number, height: number, low?: number, high?: number, gap?: number,
 *   colour: string, negative?: string, ratio?: number}} how positions in CSS pixels
 * @returns {void}
 */
export function bars(context, values, how) {
  const { x, y, width, height, low = Math.min(0, ...extremes(values)), high = Math.max(0, ...extremes(values)) } = how;
  const { colour, negative = colour, gap = 0, ratio = 1 } = how;
  const span = high - low || 1;
  const zero = y + (high / span) * height;
  const step = width / Math.max(1, values.length);
  context.save();
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  for (let i = 0; i < values.length; i++) {
    const value = Math.min(high, Math.max(low, values[i]));
    if (!Number.isFinite(value)) continue;
    const tall = (Math.abs(value) / span) * height;
    context.fillStyle = value < 0 ? negative : colour;
    context.fillRect(x + i * step, value < 0 ? zero : zero - tall, Math.max(step - gap, 0.5), tall);
  }
  context.restore();
}

/**
 * Which bar a point is on, -1 beside them.
 * @param {number} at in CSS pixels
 * @param {{x: number, width: number, count: number}} where
 * @returns {number}
 */
export function barHit(at, { x, width, count }) {
  const i = Math.floor(((at - x) / width) * count);
  return i >= 0 && i < count ? i : -1;
}

/**
 * @param {ArrayLike<number>} values
 * @returns {[number, number]} the smallest and the largest finite number
 */
function extremes(values) {
  let low = 0;
  let high = 0;
  for (let i = 0; i < values.length; i++) {
    if (values[i] < low && values[i] > -Infinity) low = values[i];
    if (values[i] > high && values[i] < Infinity) high = values[i];
  }
  return [low, high];
}
