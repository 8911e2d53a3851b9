/**
 * Two sentences and the ribbons between the words that belong together.
 * @module
 */

import { bdi, h, num3, replace } from "../../dom.js";
import { resolve } from "../../draw/colour.js";
import { links, linksAcross } from "../../draw/links.js";
import { segmented } from "../../ui/controls.js";
import { latest, messageOf } from "../../ui/latest.js";

/** Below this width the two sentences stand side by side, one word a line. */
const NARROW = 620;
/** Two sentences and the ribbons between their words. @param {any} ctx */
export function aligned(ctx) {
  let found = ctx.trace.alignment;
  const canvas = h("canvas", { class: "ribbons", aria: { hidden: "true" } });
  const above = h("div", { class: "sentence", role: "group", aria: { label: "source words" } });
  const below = h("div", { class: "sentence", role: "group", aria: { label: "target words" } });
  const box = h("div", { class: "alignment scroll-x", tabIndex: 0, role: "region", aria: { label: "word alignment" } }, h("div", { class: "alignment-inner" }, above, h("div", { class: "between" }), below, canvas));
  const inner = box.firstElementChild;
  /** @type {{side: string, at: number} | null} */ let hovered = null;
  let frame = 0;

  const word = (/** @type {string} */ side) => (/** @type {string} */ written, /** @type {number} */ at) => {
    const say = sayPartners(written, partners(found, side, at));
    const on = () => {
      hovered = { side, at };
      later();
    };
    const off = () => {
      hovered = null;
      later();
    };
    return h("button", { type: "button", class: "word", title: say, aria: { label: say }, on: { pointerenter: on, focus: on, pointerleave: off, blur: off, click: () => ctx.announce(say) } }, bdi(written));
  };

  /** @param {any} next */
  function words(next) {
    found = next;
    replace(above, found.source.map(word("source")));
    replace(below, found.target.map(word("target")));
  }

  function later() {
    if (!frame) frame = requestAnimationFrame(draw);
  }

  function draw() {
    frame = 0;
    if (!inner.isConnected) return;
    const narrow = box.clientWidth < NARROW;
    inner.classList.toggle("narrow", narrow);
    const strong = resolve(box, "--cross");
    const faint = resolve(box, "--line-strong");
    const mine = (/** @type {any} */ link) => !hovered || (hovered.side === "source" ? link.from : link.to) === hovered.at;
    ribbons(canvas, found.links, { inner, above, below, narrow, colour: (link) => (mine(link) ? strong : faint) });
    const near = new Set(hovered ? partners(found, hovered.side, hovered.at).map((one) => one.at) : []);
    const lit = (/** @type {HTMLElement} */ row, /** @type {string} */ side) => [...row.children].forEach((element, i) => element.classList.toggle("lit", Boolean(hovered) && (hovered?.side === side ? hovered.at === i : near.has(i))));
    lit(above, "source");
    lit(below, "target");
  }

  words(found);
  const watcher = new ResizeObserver(later);
  watcher.observe(box);
  ctx.signal.addEventListener("abort", () => watcher.disconnect());
  const controls = layerChoice(ctx, (other) => {
    words(other);
    later();
  });
  return { element: h("div", null, box, controls), canvas };
}

/** The words that belong with one. @param {any} found @param {string} side @param {number} at @returns {{word: string, at: number, w: number}[]} */
function partners(found, side, at) {
  const mine = found.links.filter((/** @type {number[]} */ [s, t]) => (side === "source" ? s === at : t === at));
  return mine.map((/** @type {number[]} */ [s, t, w]) => ({ word: side === "source" ? found.target[t] : found.source[s], at: side === "source" ? t : s, w }));
}

/** @param {string} written @param {{word: string, w: number}[]} list */
function sayPartners(written, list) {
  return list.length ? `${written} belongs with ${list.map((one) => `${one.word} (${num3(one.w)})`).join(", ")}` : `${written}: no partner`;
}

/**
 * Draw over both sentences, as they stand now.
 * @param {HTMLCanvasElement} canvas @param {number[][]} found from, to, weight
 * @param {{inner: HTMLElement, above: HTMLElement, below: HTMLElement, narrow: boolean, colour: (link: any) => string}} how
 */
function ribbons(canvas, found, { inner, above, below, narrow, colour }) {
  const ratio = window.devicePixelRatio || 1;
  const { offsetWidth: w, offsetHeight: tall } = inner;
  canvas.width = Math.min(8192, Math.round(w * ratio));
  canvas.height = Math.round(tall * ratio);
  canvas.style.setProperty("inline-size", `${w}px`);
  canvas.style.setProperty("block-size", `${tall}px`);
  const pen = canvas.getContext("2d");
  if (!pen) return;
  const list = found.map(([from, to, weight]) => ({ from, to, weight }));
  if (narrow) {
    const y = (/** @type {any} */ element) => element.parentElement.offsetTop + element.offsetTop + element.offsetHeight / 2;
    links(pen, list, { fromY: [...above.children].map(y), toY: [...below.children].map(y), x0: above.offsetLeft + above.offsetWidth + 4, x1: below.offsetLeft - 4, colour, ratio });
  } else {
    const x = (/** @type {any} */ element) => element.parentElement.offsetLeft + element.offsetLeft + element.offsetWidth / 2;
    linksAcross(pen, list, { fromX: [...above.children].map(x), toX: [...below.children].map(x), y0: above.offsetTop + above.offsetHeight + 3, y1: below.offsetTop - 3, colour, ratio });
  }
}

/** From which layer the alignment is read. @param {any} ctx @param {(found: any) => void} onfound */
function layerChoice(ctx, onfound) {
  const { id, shapes, alignment } = ctx.trace;
  const layers = shapes.cross?.layers ?? 0;
  if (ctx.level === "tour" || layers < 2 || !ctx.source.live) return null;
  const asking = latest();
  return h(
    "div",
    { class: "controls hero-controls" },
    segmented({
      label: "read from cross-attention of layer",
      options: Array.from({ length: layers }, (_, i) => [i, i === alignment.layer ? `${i} ·` : String(i)]),
      value: alignment.layer,
      onchange: async (layer) => {
        const last = asking();
        try {
          const other = await ctx.source.json(`traces/${id}/alignment?layer=${layer}&fed=${alignment.fed}`, { signal: ctx.signal });
          if (last() && !ctx.signal.aborted) onfound(other);
        } catch (error) {
          if (last() && !ctx.signal.aborted) ctx.toast(messageOf(error), true);
        }
      },
    }),
    h("span", { class: "note" }, "Read off attention, so a hint and not a proof."),
  );
}
