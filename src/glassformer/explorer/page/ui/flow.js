/**
 * Attention as ribbons from queries to keys: the strongest of each query, and all of the one that is looked at.
 * @module
 */

import { clear, h, nameOf, visible } from "../dom.js";
import { resolve } from "../draw/colour.js";
import { links, ranked, topLinks } from "../draw/links.js";

/** Labels stand at least this far apart. */
const LABEL = 15;
const MARGIN = 104;
/** Links of a query that can be asked for. */
export const MOST = 8;

/**
 * @param {any} ctx
 * @param {{queries: any[], keys: any[], kind: string, onpick: (query: number) => void}} how tokens
 */
export function flow(ctx, { queries, keys, kind, onpick }) {
  const canvas = h("canvas", { aria: { hidden: "true" } });
  const overlay = h("canvas", { aria: { hidden: "true" } });
  const left = h("div", { class: "flow-side", aria: { hidden: "true" } });
  const right = h("div", { class: "flow-side right", aria: { hidden: "true" } });
  const element = h("div", { class: ["flow", `kind-${kind}`] }, left, canvas, overlay, right);
  /** @type {ArrayLike<number>} */ let weights = [];
  /** @type {import("../draw/links.js").Link[][]} */ let best = [];
  let how = { top: 3, threshold: 0.05 };
  let lit = -1;
  let width = 0;
  let tall = 0;
  let drawn = 0;

  const spread = (/** @type {number} */ count) => {
    const step = Math.min(24, tall / Math.max(1, count));
    return Float64Array.from({ length: count }, (_, i) => (i + 0.5) * step);
  };

  function labels() {
    const sides = /** @type {[HTMLElement, any[], number][]} */ ([[left, queries, lit], [right, keys, -1]]);
    for (const [box, list, on] of sides) {
      clear(box);
      const places = spread(list.length);
      const step = places.length > 1 ? places[1] - places[0] : LABEL;
      const every = Math.max(1, Math.ceil(LABEL / step));
      list.forEach((tok, i) => {
        if (i % every !== 0 && i !== on) return;
        box.append(h("span", { class: [i === on && "on", tok.special && "special"], style: { "inset-block-start": `${places[i]}px` } }, h("bdi", null, visible(nameOf(tok)))));
      });
    }
  }

  function resize() {
    width = Math.max(60, element.clientWidth - 2 * MARGIN);
    tall = Math.max(160, Math.min(620, 24 * Math.max(queries.length, keys.length)));
    element.style.setProperty("block-size", `${tall}px`);
    const ratio = window.devicePixelRatio || 1;
    for (const one of [canvas, overlay]) {
      one.width = Math.round(width * ratio);
      one.height = Math.round(tall * ratio);
      one.style.setProperty("inline-size", `${width}px`);
      one.style.setProperty("block-size", `${tall}px`);
    }
    labels();
    paint();
    light(lit);
  }

  function paint() {
    const pen = canvas.getContext("2d");
    if (!pen || !weights.length) return;
    pen.clearRect(0, 0, canvas.width, canvas.height);
    const list = topLinks(best, how);
    drawn = links(pen, list, { fromY: spread(queries.length), toY: spread(keys.length), x0: 4, x1: width - 4, colour: resolve(element, "--kind"), ratio: window.devicePixelRatio || 1 });
    element.dataset.links = String(drawn);
  }

  /** All links of one query, on the overlay. @param {number} query */
  function light(query) {
    const changed = lit !== query;
    lit = query;
    const pen = overlay.getContext("2d");
    if (!pen) return;
    pen.clearRect(0, 0, overlay.width, overlay.height);
    canvas.classList.toggle("faded", query >= 0);
    if (changed) labels();
    if (query < 0 || !weights.length) return;
    const list = [];
    for (let j = 0; j < keys.length; j++) list.push({ from: query, to: j, weight: weights[query * keys.length + j] });
    links(pen, list, { fromY: spread(queries.length), toY: spread(keys.length), x0: 4, x1: width - 4, colour: resolve(element, "--kind"), threshold: 0.001, ratio: window.devicePixelRatio || 1 });
  }

  let frame = 0;
  element.addEventListener("pointermove", (/** @type {PointerEvent} */ event) => {
    if (frame) return;
    frame = requestAnimationFrame(() => {
      frame = 0;
      const y = event.clientY - element.getBoundingClientRect().top;
      const places = spread(queries.length);
      const step = places.length > 1 ? places[1] - places[0] : 24;
      const at = Math.floor(y / step);
      light(at >= 0 && at < queries.length && event.clientX - element.getBoundingClientRect().left < element.clientWidth / 2 ? at : -1);
    });
  }, { signal: ctx.signal });
  element.addEventListener("pointerleave", () => requestAnimationFrame(() => light(-1)), { signal: ctx.signal });
  element.addEventListener("click", () => lit >= 0 && onpick(lit), { signal: ctx.signal });

  const watcher = new ResizeObserver(() => requestAnimationFrame(resize));
  watcher.observe(element);
  ctx.signal.addEventListener("abort", () => watcher.disconnect());

  return {
    element,
    canvas,
    light,
    /** @param {ArrayLike<number>} numbers @param {{top: number, threshold: number}} options */
    draw(numbers, options) {
      if (numbers !== weights) best = ranked(numbers, queries.length, keys.length, MOST);
      weights = numbers;
      how = options;
      if (width) {
        paint();
        light(lit);
      }
    },
    count: () => drawn,
  };
}
