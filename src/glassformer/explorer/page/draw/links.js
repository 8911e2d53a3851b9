/**
 * Attention as ribbons between two lists of tokens: the strongest, drawn last, and never more than a cap.
 * @module
 */

/** @typedef {{from: number, to: number, weight: number}} Link */
/**
 * @typedef {object} Style
 * @property {string | ((link: Link) => string)} colour
 * @property {number} [threshold] weaker links are left out
 * @property {number} [ratio] device pixels for each CSS pixel
 */

/** More links than this are not drawn: a picture of more shows nothing and stalls. */
const LINK_CAP = 1024;

/**
 * The strongest keys of each query, strongest first; nothing that is 0 or less.
 * @param {ArrayLike<number>} weights rows are queries
 * @param {number} rows
 * @param {number} columns
 * @param {number} most of each query
 * @returns {Link[][]}
 */
export function ranked(weights, rows, columns, most) {
  return Array.from({ length: rows }, (_, from) => {
    /** @type {Link[]} */
    const best = [];
    for (let to = 0; to < columns; to++) {
      const weight = weights[from * columns + to];
      if (!(weight > (best.length === most ? best[most - 1].weight : 0))) continue;
      let at = best.length;
      while (at > 0 && best[at - 1].weight < weight) at--;
      best.splice(at, 0, { from, to, weight });
      if (best.length > most) best.pop();
    }
    return best;
  });
}

/**
 * Of what was ranked, the first few of each query that reach a threshold, strongest first over all.
 * @param {Link[][]} best
 * @param {{top?: number, threshold?: number, cap?: number}} how
 * @returns {Link[]}
 */
export function topLinks(best, { top = 3, threshold = 0, cap = LINK_CAP }) {
  const list = best.flatMap((row) => row.slice(0, top).filter((link) => link.weight >= threshold));
  return list.sort((a, b) => b.weight - a.weight).slice(0, cap);
}

/**
 * Ribbons from tokens on the left to tokens on the right.
 * @param {CanvasRenderingContext2D} context
 * @param {Link[]} list
 * @param {Style & {fromY: ArrayLike<number>, toY: ArrayLike<number>, x0: number, x1: number}} how
 * @returns {number} how many were drawn
 */
export function links(context, list, how) {
  const { fromY, toY, x0, x1 } = how;
  const bend = (x1 - x0) * 0.5;
  return stroke(context, list, how, (link) => {
    const y0 = fromY[link.from];
    const y1 = toY[link.to];
    context.moveTo(x0, y0);
    context.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1, y1);
  });
}

/**
 * Ribbons from tokens above to tokens below.
 * @param {CanvasRenderingContext2D} context
 * @param {Link[]} list
 * @param {Style & {fromX: ArrayLike<number>, toX: ArrayLike<number>, y0: number, y1: number}} how
 * @returns {number} how many were drawn
 */
export function linksAcross(context, list, how) {
  const { fromX, toX, y0, y1 } = how;
  const bend = (y1 - y0) * 0.5;
  return stroke(context, list, how, (link) => {
    const x0 = fromX[link.from];
    const x1 = toX[link.to];
    context.moveTo(x0, y0);
    context.bezierCurveTo(x0, y0 + bend, x1, y1 - bend, x1, y1);
  });
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Link[]} list
 * @param {Style} how
 * @param {(link: Link) => void} path
 * @returns {number}
 */
function stroke(context, list, { colour, threshold = 0, ratio = 1 }, path) {
  const shown = list
    .filter((link) => link.weight >= threshold && link.weight > 0)
    .sort((a, b) => a.weight - b.weight)
    .slice(-LINK_CAP);
  context.save();
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.lineCap = "round";
  for (const link of shown) {
    const weight = Math.min(1, link.weight);
    context.globalAlpha = 0.12 + 0.78 * weight;
    context.lineWidth = 0.75 + 5.25 * weight;
    context.strokeStyle = typeof colour === "string" ? colour : colour(link);
    context.beginPath();
    path(link);
    context.stroke();
  }
  context.restore();
  return shown.length;
}
