/**
 * Taking what is shown elsewhere: PNG, SVG, CSV, JSON, Python, the whole trace as one file.
 * @module
 */

import { h } from "../dom.js";
import { csvOf } from "./table.js";

/** @param {string} name @param {Blob} blob */
export function save(name, blob) {
  const link = h("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** Enlarged without blurring: a picture has one pixel for each number. @param {HTMLCanvasElement} canvas */
function enlarged(canvas) {
  const factor = Math.max(1, Math.min(16, Math.floor(1600 / Math.max(1, canvas.width, canvas.height))));
  const copy = h("canvas");
  copy.width = canvas.width * factor;
  copy.height = canvas.height * factor;
  const pen = copy.getContext("2d");
  if (pen) {
    pen.imageSmoothingEnabled = false;
    pen.drawImage(canvas, 0, 0, copy.width, copy.height);
  }
  return copy;
}

/** @param {SVGElement} drawing with the colours that it has on the page */
function standalone(drawing) {
  const copy = /** @type {SVGElement} */ (drawing.cloneNode(true));
  const wanted = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font-family", "font-size", "font-weight", "text-anchor"];
  const from = [drawing, ...drawing.querySelectorAll("*")];
  const to = [copy, ...copy.querySelectorAll("*")];
  from.forEach((element, i) => {
    const style = getComputedStyle(element);
    for (const name of wanted) to[i].setAttribute(name, style.getPropertyValue(name));
  });
  const box = drawing.getBoundingClientRect();
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", String(Math.round(box.width)));
  copy.setAttribute("height", String(Math.round(box.height)));
  return new XMLSerializer().serializeToString(copy);
}

/** @param {string} text */
function escaped(text) {
  return text.replace(/[<>&"]/g, (c) => `&#${c.charCodeAt(0)};`);
}

/**
 * What the current view can give away, by name.
 * @param {{view: any, mounted: import("./types.js").Mounted | null, ctx: any, copy: (text: string) => void}} now
 * @returns {[string, () => void][]}
 */
export function exportsOf({ view, mounted, ctx, copy }) {
  /** @type {[string, () => void][]} */
  const list = [];
  const name = `glassformer-${view.id}`;
  const picture = mounted?.picture?.() ?? null;
  if (picture instanceof HTMLCanvasElement) {
    list.push(["Picture as PNG", () => enlarged(picture).toBlob((/** @type {Blob | null} */ blob) => blob && save(`${name}.png`, blob))]);
    list.push([
      "Picture as SVG",
      () => {
        const { width, height } = picture;
        const image = enlarged(picture).toDataURL("image/png");
        const text = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}"><title>${escaped(view.title)}</title><image width="${width}" height="${height}" href="${image}"/></svg>`;
        save(`${name}.svg`, new Blob([text], { type: "image/svg+xml" }));
      },
    ]);
  } else if (picture) {
    list.push(["Picture as SVG", () => save(`${name}.svg`, new Blob([standalone(picture)], { type: "image/svg+xml" }))]);
    list.push(["Picture as PNG", () => pngOf(picture, name)]);
  }
  const table = mounted?.table?.();
  if (table) {
    list.push(["Numbers as CSV", () => save(`${name}.csv`, new Blob([csvOf(table)], { type: "text/csv" }))]);
    list.push([
      "Numbers as JSON",
      () => {
        const rows = Array.from({ length: table.count }, (_, i) => table.row(i));
        const whole = { selection: ctx.store.get(), request: ctx.trace?.request ?? null, caption: table.caption, columns: table.columns.map((c) => c.label), rows };
        save(`${name}.json`, new Blob([JSON.stringify(whole, null, 1)], { type: "application/json" }));
      },
    ]);
  }
  if (mounted?.python) list.push(["Copy Python", () => copy(/** @type {any} */ (mounted).python())]);
  list.push(["Copy link", () => copy(location.href)]);
  if (ctx.trace && ctx.source.live) {
    list.push(["Trace as one HTML file", () => ctx.saveTrace()]);
  }
  return list;
}

/** @param {SVGElement} drawing @param {string} name */
function pngOf(drawing, name) {
  const box = drawing.getBoundingClientRect();
  const url = URL.createObjectURL(new Blob([standalone(drawing)], { type: "image/svg+xml" }));
  const image = h("img");
  image.addEventListener("load", () => {
    const canvas = h("canvas");
    canvas.width = 2 * box.width;
    canvas.height = 2 * box.height;
    canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
    URL.revokeObjectURL(url);
    canvas.toBlob((/** @type {Blob | null} */ blob) => blob && save(`${name}.png`, blob));
  });
  image.src = url;
}
