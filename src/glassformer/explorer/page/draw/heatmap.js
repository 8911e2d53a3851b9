/**
 * A matrix as an image: one pixel for each number, through a table of 256 colours.
 * @module
 */

/**
 * Paint a matrix at data resolution; the style sheet enlarges it without blurring. NaN stays transparent.
 * @param {HTMLCanvasElement} canvas
 * @param {ArrayLike<number>} data row by row
 * @param {number} rows
 * @param {number} columns
 * @param {{table: Uint32Array, code?: (w: number) => number, low?: number, high?: number}} how
 * @returns {void}
 */
export function heatmap(canvas, data, rows, columns, how) {
  canvas.width = Math.max(1, columns);
  canvas.height = Math.max(1, rows);
  const context = canvas.getContext("2d");
  if (!context || rows * columns === 0) return;
  const image = context.createImageData(columns, rows);
  colourise(data, new Uint32Array(image.data.buffer), how);
  context.putImageData(image, 0, 0);
}

/**
 * Numbers to colours; `low` to `high` spans the table (0 to 1 unless told).
 * @param {ArrayLike<number>} data
 * @param {Uint32Array} words as long as the data
 * @param {{table: Uint32Array, code?: (w: number) => number, low?: number, high?: number}} how
 * @returns {void}
 */
function colourise(data, words, { table, code, low = 0, high = 1 }) {
  const span = high > low ? 1 / (high - low) : 0;
  for (let i = 0; i < words.length; i++) {
    let t = (data[i] - low) * span;
    if (t !== t) continue;
    t = t < 0 ? 0 : t > 1 ? 1 : t;
    if (code) t = code(t);
    words[i] = table[(t * 255 + 0.5) | 0];
  }
}
