/**
 * Curves as SVG path data: no more points than the picture has pixels, gaps where a number is missing.
 * @module
 */

/** @typedef {import("./scale.js").Scale} Scale */

/**
 * The path of a curve. Where several points share a pixel column, the first, lowest, highest and last are kept,
 * so that no spike is lost.
 * @param {ArrayLike<number>} x rising
 * @param {ArrayLike<number>} y
 * @param {Scale} toX
 * @param {Scale} toY
 * @returns {string}
 */
export function curvePath(x, y, toX, toY) {
  /** @type {string[]} */
  const path = [];
  let pen = "M";
  /** @type {[number, number][]} */
  let column = [];
  let at = NaN;
  const flush = () => {
    for (const [px, py] of corners(column)) {
      path.push(`${pen}${px.toFixed(1)} ${py.toFixed(1)}`);
      pen = "L";
    }
    column = [];
  };
  for (let i = 0; i < x.length; i++) {
    if (!Number.isFinite(y[i]) || !Number.isFinite(x[i])) {
      flush();
      pen = "M";
      at = NaN;
      continue;
    }
    const px = toX(x[i]);
    if (Math.floor(px) !== at) {
      flush();
      at = Math.floor(px);
    }
    column.push([px, toY(y[i])]);
  }
  flush();
  return path.join("");
}

/**
 * @param {[number, number][]} points of one pixel column
 * @returns {[number, number][]}
 */
function corners(points) {
  if (points.length <= 4) return points;
  let low = 0;
  let high = 0;
  points.forEach(([, py], i) => {
    if (py < points[low][1]) low = i;
    if (py > points[high][1]) high = i;
  });
  const kept = new Set([0, low, high, points.length - 1]);
  return points.filter((_, i) => kept.has(i));
}

/**
 * The area between a curve and a level.
 * @param {ArrayLike<number>} x
 * @param {ArrayLike<number>} y
 * @param {Scale} toX
 * @param {Scale} toY
 * @param {number} level in data
 * @returns {string}
 */
export function areaPath(x, y, toX, toY, level) {
  const line = curvePath(x, y, toX, toY);
  if (!line || x.length === 0) return "";
  const base = toY(level).toFixed(1);
  return `${line}L${toX(x[x.length - 1]).toFixed(1)} ${base}L${toX(x[0]).toFixed(1)} ${base}Z`;
}

/**
 * The place in a rising list that is nearest to a number, -1 of none.
 * @param {ArrayLike<number>} x
 * @param {number} wanted
 * @returns {number}
 */
export function nearest(x, wanted) {
  let low = 0;
  let high = x.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (x[middle] < wanted) low = middle + 1;
    else high = middle;
  }
  if (x.length === 0) return -1;
  if (low === x.length) return low - 1;
  return low > 0 && wanted - x[low - 1] < x[low] - wanted ? low - 1 : low;
}
