/**
 * Curves with axes, a reading line for pointer and keyboard, and a brush that picks a range.
 * @module
 */

import { bdi, h, num3, replace, svg } from "../dom.js";
import { areaPath, curvePath, nearest } from "../draw/curve.js";
import { linear, logScale, logTicks, ticks, tickText } from "../draw/scale.js";
import { extent } from "../math/statistics.js";

/**
 * @typedef {object} Series
 * @property {string} name
 * @property {ArrayLike<number>} x rising
 * @property {ArrayLike<number>} y
 * @property {string} colour
 * @property {string} [dash] lines differ in their dashes too, so that colour is not the only carrier
 * @property {boolean} [faint] drawn thin and not read out
 * @property {boolean} [area] filled down to the axis
 * @property {boolean} [dots] each point marked
 */
/**
 * @typedef {object} Spec
 * @property {Series[]} series
 * @property {boolean} [xLog]
 * @property {boolean} [yLog]
 * @property {[number, number]} [xDomain]
 * @property {[number, number]} [yDomain]
 * @property {{x: number, label?: string}[]} [marks] upright lines
 * @property {{from: number, to: number}[]} [bands] shaded ranges
 * @property {(range: [number, number] | null) => void} [onbrush]
 * @property {(x: number) => void} [onpick]
 * @property {(x: number) => string} [xText] x in the readout
 * @property {string} [yLabel] where it changes with what is drawn
 * @property {boolean} [xWhole] x counts something: no ticks between whole numbers
 */

const MARGIN = { left: 58, right: 14, top: 10, bottom: 36 };
const DASHES = ["", "6 3", "2 3", "9 3 2 3", "12 4", "1 4", "5 2 1 2", "14 3 3 3"];

/** @type {{clips: number}} */
const made = { clips: 0 };

/** The dashes of the i-th line. @param {number} i */
export const dashOf = (i) => DASHES[i % DASHES.length];

/**
 * An empty chart; `draw` fills it, as often as wanted.
 * @param {any} ctx
 * @param {{label: string, xLabel: string, yLabel: string, height?: number, legend?: boolean}} how
 */
export function chart(ctx, { label, xLabel, yLabel, height = 240, legend = true }) {
  const picture = svg("svg", { class: "chart-picture", height, role: "presentation" });
  const readout = h("div", { class: "chart-readout", hidden: true });
  const names = h("ul", { class: "chart-legend" });
  const plot = h(
    "div",
    { class: "chart-plot", tabIndex: 0, role: "group", aria: { label: `${label}. Arrow keys read values.` } },
    picture,
    readout,
  );
  const element = h("figure", { class: "chart" }, legend && names, plot);
  const clip = `chart-clip-${made.clips++}`;
  /** @type {Spec} */
  let spec = { series: [] };
  /** @type {any} */
  let frame = null;
  let cursor = NaN;
  let waiting = 0;

  /** @param {Spec} next */
  function draw(next) {
    spec = next;
    if (legend) replace(names, spec.series.filter((each) => !each.faint).map(legendItem));
    render();
  }

  function render() {
    const width = Math.max(220, plot.clientWidth || 640);
    frame = frameOf(spec, width, height);
    const { x, y, box } = frame;
    picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
    picture.setAttribute("width", String(width));
    replace(
      picture,
      svg("clipPath", { id: clip }, svg("rect", { x: box.left, y: box.top - 2, width: box.width, height: box.height + 4 })),
      (spec.bands ?? []).map((band) =>
        svg("rect", { class: "chart-band", x: x(band.from), y: box.top, width: Math.max(0, x(band.to) - x(band.from)), height: box.height, "clip-path": `url(#${clip})` }),
      ),
      axes(frame, xLabel, spec.yLabel ?? yLabel, width, height),
      svg("g", { "clip-path": `url(#${clip})` }, spec.series.map((each) => line(each, frame))),
      (spec.marks ?? []).filter((mark) => x(mark.x) >= box.left - 1 && x(mark.x) <= box.left + box.width + 1).map((mark) => upright(mark, frame)),
      svg("rect", { class: "chart-brush", y: box.top, height: box.height, width: 0, x: 0 }),
      svg("g", { class: "chart-cursor" }),
      svg("rect", { class: "chart-hit", x: box.left, y: 0, width: box.width, height, fill: "transparent" }),
    );
    if (!Number.isNaN(cursor)) show(cursor, false);
  }

  /** @param {number} at @param {boolean} aloud */
  function show(at, aloud) {
    cursor = at;
    const { x, y, box } = frame;
    const read = spec.series.filter((each) => !each.faint && each.x.length).map((each) => {
      const i = nearest(each.x, at);
      return { series: each, x: each.x[i], y: each.y[i] };
    });
    if (!read.length) return;
    const where = read.reduce((best, each) => (Math.abs(each.x - at) < Math.abs(best - at) ? each.x : best), read[0].x);
    const group = picture.querySelector(".chart-cursor");
    replace(
      group,
      svg("line", { x1: x(where), x2: x(where), y1: box.top, y2: box.top + box.height }),
      read.filter((each) => Number.isFinite(each.y)).map((each) => svg("circle", { cx: x(each.x), cy: y(each.y), r: 3.5, fill: each.series.colour })),
    );
    const text = spec.xText ? spec.xText(where) : `${xLabel} ${num3(where)}`;
    replace(
      readout,
      h("div", { class: "chart-readout-x" }, bdi(text)),
      read.slice(0, 10).map((each) => h("div", null, h("i", { style: { background: each.series.colour } }), bdi(each.series.name), h("b", { class: "num" }, num3(each.y)))),
    );
    readout.hidden = false;
    const right = x(where) > box.left + box.width * 0.6;
    readout.style.setProperty("left", right ? "auto" : `${x(where) + 12}px`);
    readout.style.setProperty("right", right ? `${plot.clientWidth - x(where) + 12}px` : "auto");
    if (aloud) ctx.announce(`${text}: ${read.slice(0, 6).map((each) => `${each.series.name} ${num3(each.y)}`).join(", ")}`);
  }

  function hide() {
    cursor = NaN;
    readout.hidden = true;
    const group = picture.querySelector(".chart-cursor");
    if (group) replace(group);
  }

  /** @param {PointerEvent} event */
  const dataX = (event) => {
    const { box, x } = frame;
    const px = event.clientX - picture.getBoundingClientRect().left;
    return x.invert(Math.min(box.left + box.width, Math.max(box.left, px)));
  };

  let from = NaN;
  plot.addEventListener("pointermove", (/** @type {PointerEvent} */ event) => {
    if (!frame) return;
    const at = dataX(event);
    cancelAnimationFrame(waiting);
    waiting = requestAnimationFrame(() => {
      show(at, false);
      if (!Number.isNaN(from)) brushed(from, at);
    });
  });
  plot.addEventListener("pointerleave", () => Number.isNaN(from) && hide());
  plot.addEventListener("pointerdown", (/** @type {PointerEvent} */ event) => {
    if (!frame || event.button !== 0) return;
    from = dataX(event);
    if (spec.onbrush) plot.setPointerCapture(event.pointerId);
  });
  plot.addEventListener("pointerup", (/** @type {PointerEvent} */ event) => {
    const to = dataX(event);
    const far = Math.abs(frame.x(to) - frame.x(from)) > 8;
    brushed(0, 0);
    if (far && spec.onbrush) spec.onbrush([Math.min(from, to), Math.max(from, to)]);
    else spec.onpick?.(to);
    from = NaN;
  });
  plot.addEventListener("dblclick", () => spec.onbrush?.(null));
  plot.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => key(event) && event.preventDefault());
  plot.addEventListener("blur", hide);

  /** @param {number} a @param {number} b */
  function brushed(a, b) {
    const rect = picture.querySelector(".chart-brush");
    if (!rect) return;
    rect.setAttribute("x", String(Math.min(frame.x(a), frame.x(b))));
    rect.setAttribute("width", a === b || !spec.onbrush ? "0" : String(Math.abs(frame.x(b) - frame.x(a))));
  }

  /** @param {KeyboardEvent} event */
  function key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return false;
    const first = spec.series.find((each) => !each.faint && each.x.length);
    if (!first || !frame) return false;
    const here = Number.isNaN(cursor) ? -1 : nearest(first.x, cursor);
    const last = first.x.length - 1;
    /** @type {Record<string, number>} */
    const moves = { ArrowRight: here + 1, ArrowLeft: here - 1, Home: 0, End: last, PageUp: here + 10, PageDown: here - 10 };
    if (event.key in moves) show(first.x[Math.min(last, Math.max(0, moves[event.key]))], true);
    else if (event.key === "Enter" && spec.onpick && here >= 0) spec.onpick(first.x[here]);
    else if ((event.key === "+" || event.key === "-") && spec.onbrush) spec.onbrush(zoomed(event.key === "+" ? 0.5 : 2));
    else if (event.key === "0" && spec.onbrush) spec.onbrush(null);
    else return false;
    event.stopPropagation();
    return true;
  }

  /** @param {number} by @returns {[number, number]} */
  function zoomed(by) {
    const { x, box } = frame;
    const centre = Number.isNaN(cursor) ? box.left + box.width / 2 : x(cursor);
    const half = (box.width * by) / 2;
    return [x.invert(centre - half), x.invert(centre + half)];
  }

  const observer = new ResizeObserver(() => spec.series.length && render());
  observer.observe(plot);
  ctx.signal.addEventListener("abort", () => observer.disconnect());
  return { element, draw, picture };
}

/** @param {Series} series */
function legendItem(series) {
  const sample = svg("svg", { class: "chart-sample", width: 26, height: 10, "aria-hidden": "true" });
  sample.append(svg("line", { x1: 1, x2: 25, y1: 5, y2: 5, "stroke-dasharray": series.dash || null, stroke: series.colour }));
  return h("li", null, sample, bdi(series.name));
}

/** @param {Spec} spec @param {number} width @param {number} height */
function frameOf(spec, width, height) {
  const box = { left: MARGIN.left, top: MARGIN.top, width: width - MARGIN.left - MARGIN.right, height: height - MARGIN.top - MARGIN.bottom };
  const xDomain = spec.xDomain ?? domain(spec.series.map((each) => each.x), Boolean(spec.xLog), 0);
  const inside = spec.series.map((each) => within(each, xDomain));
  const yDomain = spec.yDomain ?? domain(inside, Boolean(spec.yLog), 0.06);
  /** @type {[number, number]} */
  const across = [box.left, box.left + box.width];
  /** @type {[number, number]} */
  const up = [box.top + box.height, box.top];
  const x = spec.xLog ? logScale(xDomain, across) : linear(xDomain, across);
  const y = spec.yLog ? logScale(yDomain, up) : linear(yDomain, up);
  const xTicks = spec.xLog ? logTicks(...xDomain) : ticks(...xDomain, Math.max(2, box.width / 90)).filter((at) => !spec.xWhole || Number.isInteger(at));
  const yTicks = spec.yLog ? logTicks(...yDomain) : ticks(...yDomain, Math.max(2, box.height / 44));
  return { box, x, y, xTicks, yTicks };
}

/** The y values whose x is in a range. @param {Series} series @param {[number, number]} range */
function within(series, [low, high]) {
  const y = [];
  for (let i = 0; i < series.x.length; i++) if (series.x[i] >= low && series.x[i] <= high) y.push(series.y[i]);
  return y;
}

/** @param {ArrayLike<number>[]} lists @param {boolean} log @param {number} air @returns {[number, number]} */
function domain(lists, log, air) {
  const all = [];
  for (const list of lists) {
    const kept = log ? Array.from(list).filter((each) => each > 0) : Array.from(list);
    if (kept.length) all.push(...extent(kept));
  }
  const [low, high] = extent(all);
  if (log) return low === high ? [low / 2, high * 2] : [low, high];
  const room = (high - low) * air || (low === high ? Math.abs(low) * 0.1 || 0.5 : 0);
  return [low - room, high + room];
}

/** @param {any} frame @param {string} xLabel @param {string} yLabel @param {number} width @param {number} height */
function axes({ box, x, y, xTicks, yTicks }, xLabel, yLabel, width, height) {
  const bottom = box.top + box.height;
  return svg(
    "g",
    { class: "chart-axes" },
    yTicks.map((/** @type {number} */ at) => [
      svg("line", { class: "chart-grid", x1: box.left, x2: box.left + box.width, y1: y(at), y2: y(at) }),
      svg("text", { x: box.left - 7, y: y(at) + 4, "text-anchor": "end" }, tickText(at)),
    ]),
    svg("line", { x1: box.left, x2: box.left + box.width, y1: bottom, y2: bottom }),
    xTicks.map((/** @type {number} */ at) => [
      svg("line", { x1: x(at), x2: x(at), y1: bottom, y2: bottom + 4 }),
      svg("text", { x: x(at), y: bottom + 16, "text-anchor": "middle" }, tickText(at)),
    ]),
    svg("text", { class: "chart-title", x: width - MARGIN.right, y: height - 4, "text-anchor": "end" }, xLabel),
    svg("text", { class: "chart-title", transform: `translate(11 ${box.top}) rotate(-90)`, "text-anchor": "end" }, yLabel),
  );
}

/** @param {Series} series @param {any} frame */
function line(series, { x, y, box }) {
  const path = svg("path", {
    class: ["chart-line", series.faint && "faint"],
    d: curvePath(series.x, series.y, x, y),
    "stroke-dasharray": series.dash || null,
    stroke: series.colour,
  });
  const fill = series.area && svg("path", { class: "chart-area", d: areaPath(series.x, series.y, x, y, y.invert(box.top + box.height)), fill: series.colour });
  const few = series.dots && series.x.length <= 120;
  const dots = few && Array.from(series.x, (at, i) => Number.isFinite(series.y[i]) && svg("circle", { cx: x(at), cy: y(series.y[i]), r: 3, fill: series.colour }));
  return svg("g", null, fill, path, dots);
}

/** @param {{x: number, label?: string}} mark @param {any} frame */
function upright(mark, { x, box }) {
  const at = x(mark.x);
  const end = at > box.left + box.width * 0.75;
  return svg(
    "g",
    { class: "chart-mark" },
    svg("line", { x1: at, x2: at, y1: box.top, y2: box.top + box.height }),
    mark.label && svg("text", { x: at + (end ? -5 : 5), y: box.top + 11, "text-anchor": end ? "end" : "start" }, mark.label),
  );
}
