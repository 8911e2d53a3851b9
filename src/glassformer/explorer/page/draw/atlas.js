/**
 * Many thumbnails in one image.
 * @module
 */

/** @typedef {{side: number, columns: number, gap: number, count: number}} Sheet */

/**
 * Draw thumbnails side by side; `order` says which tile stands at which place (all of them, as they come, if absent).
 * @param {HTMLCanvasElement} canvas
 * @param {Uint8Array} tiles side × side bytes each
 * @param {Sheet & {table: Uint32Array, order?: ArrayLike<number>}} how
 * @returns {void}
 */
export function atlas(canvas, tiles, { count, side, columns, gap, table, order }) {
  const rows = Math.ceil(count / columns);
  const width = Math.max(1, columns * (side + gap) - gap);
  canvas.width = width;
  canvas.height = Math.max(1, rows * (side + gap) - gap);
  const context = canvas.getContext("2d");
  if (!context || count === 0) return;
  const image = context.createImageData(width, canvas.height);
  const words = new Uint32Array(image.data.buffer);
  for (let place = 0; place < count; place++) {
    let from = (order ? order[place] : place) * side * side;
    let to = Math.floor(place / columns) * (side + gap) * width + (place % columns) * (side + gap);
    for (let y = 0; y < side; y++, to += width) {
      for (let x = 0; x < side; x++) words[to + x] = table[tiles[from++]];
    }
  }
  context.putImageData(image, 0, 0);
}
