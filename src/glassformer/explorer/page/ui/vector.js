/**
 * A vector as bars, one for each dimension, that can be read by pointer and by keyboard.
 * @module
 */

import { h, num3, replace } from "../dom.js";
import { barHit, bars } from "../draw/bars.js";
import { resolve } from "../draw/colour.js";

/**
 * @param {any} ctx
 * @param {{label: string, values: ArrayLike<number>, names?: (i: number) => string, height?: number, most?: number,
 *          mark?: number, band?: [number, number], colour?: string, sum?: number, note?: any}} how
 *   `mark`: a bar that stands out; `band`: a range with a ground of its own; `most`: the number at full height
 */
export function vector(ctx, how) {
  const { label, values, names = (i) => `dimension ${i}`, height = 56, mark = -1, band, colour = "--accent" } = how;
  const count = values.length;
  const canvas = h("canvas", { aria: { hidden: "true" } });
  const out = h("output", { class: "num note" });
  const plot = h("div", { class: "vector-plot", tabIndex: 0, role: "group", aria: { label: `${label}, ${count} numbers. Arrow keys read them.` } }, canvas);
  const element = h("div", { class: "vector-bars" }, h("div", { class: "vector-head" }, h("span", null, label), out, how.note), plot);
  let at = -1;
  const say = (/** @type {number} */ i) => (i < 0 || i >= count ? (how.sum === undefined ? `${count} numbers` : `sum ${num3(how.sum)}`) : `${names(i)}: ${num3(values[i])}`);

  function draw() {
    const width = Math.max(40, plot.clientWidth);
    const ratio = window.devicePixelRatio || 1;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.setProperty("block-size", `${height}px`);
    const pen = canvas.getContext("2d");
    if (!pen) return;
    let most = how.most ?? 0;
    let least = 0;
    for (let i = 0; i < count; i++) {
      if (!Number.isFinite(values[i])) continue;
      if (how.most === undefined) most = Math.max(most, Math.abs(values[i]));
      least = Math.min(least, values[i]);
    }
    pen.clearRect(0, 0, canvas.width, canvas.height);
    const step = width / Math.max(1, count);
    if (band) {
      pen.fillStyle = resolve(plot, "--accent-soft");
      pen.fillRect(band[0] * step * ratio, 0, (band[1] - band[0]) * step * ratio, canvas.height);
    }
    const gap = step > 4 ? 1 : 0;
    const span = { x: 0, y: 0, width, height, low: least < 0 ? -most : 0, high: most || 1, gap, ratio };
    bars(pen, values, { ...span, colour: resolve(plot, colour), negative: resolve(plot, "--muted") });
    for (const i of new Set([mark, at])) {
      if (i < 0 || i >= count) continue;
      pen.strokeStyle = resolve(plot, "--text");
      pen.lineWidth = 1.5 * ratio;
      pen.strokeRect(i * step * ratio, 0.5, Math.max(step, 2) * ratio, canvas.height - 1);
    }
    replace(out, say(at >= 0 ? at : mark));
  }

  let frame = 0;
  const move = (/** @type {number} */ i) => {
    if (i === at) return;
    at = i;
    if (!frame) frame = requestAnimationFrame(() => ((frame = 0), draw()));
  };
  plot.addEventListener("pointermove", (/** @type {PointerEvent} */ event) => move(barHit(event.clientX - plot.getBoundingClientRect().left, { x: 0, width: plot.clientWidth, count })), { signal: ctx.signal });
  plot.addEventListener("pointerleave", () => move(-1), { signal: ctx.signal });
  plot.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    const moves = /** @type {Record<string, number>} */ ({ ArrowUp: at - 1, ArrowDown: at + 1, Home: 0, End: count - 1, PageUp: at - 10, PageDown: at + 10 });
    if (!(event.key in moves)) return;
    event.preventDefault();
    event.stopPropagation();
    move(Math.max(0, Math.min(count - 1, moves[event.key])));
    ctx.announce(`${label}, ${say(at)}`);
  }, { signal: ctx.signal });
  const watcher = new ResizeObserver(() => requestAnimationFrame(draw));
  watcher.observe(plot);
  ctx.signal.addEventListener("abort", () => watcher.disconnect());
  return element;
}
