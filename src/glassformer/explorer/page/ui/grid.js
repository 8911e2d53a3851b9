/**
 * A canvas that keyboard and screen reader can use: labels in the margins, one focusable cell, hover on an overlay.
 * @module
 */

import { clear, h, visible } from "../dom.js";

/** Labels stand at least this far apart, in CSS pixels. */
const LABEL = 14;
/** No more labels than this on a side, however many are in sight. */
const LABELS = 160;

/**
 * @typedef {object} GridOptions
 * @property {string} label what the picture is, for screen readers
 * @property {number} rows
 * @property {number} columns
 * @property {(i: number) => string} rowName
 * @property {(j: number) => string} columnName
 * @property {(i: number, j: number) => string} say what a cell is, in one line
 * @property {[string, string]} [axes] what rows and columns are
 * @property {(i: number) => boolean} [rowSpecial]
 * @property {(j: number) => boolean} [columnSpecial]
 * @property {(i: number, j: number) => void} [onhover] -1, -1 when the pointer leaves
 * @property {(i: number, j: number) => void} [onpick] a click, or the keyboard moved here
 * @property {(i: number, j: number) => void} [onopen] Enter or a double click
 * @property {{w?: [number, number], h?: [number, number], square?: boolean, tallness?: (width: number) => number}} [cell]
 *   limits of a cell in CSS pixels; `tallness`: its height as a function of its width
 * @property {(cell: {width: number, height: number}) => void} [onlayout] after sizes have changed; for pictures painted at screen resolution
 * @property {boolean} [columnLabels] names above the columns; true unless told
 * @property {boolean} [lines] thin lines between large cells; true unless told
 * @property {AbortSignal} [signal] when to stop listening; that of the view unless told
 * @property {number} [height] how tall the picture may become before cells shrink
 */

/** @param {HTMLElement | null} box */
function roomIn(box) {
  if (!box) return 600;
  const style = getComputedStyle(box);
  return box.clientWidth - parseFloat(style.paddingInlineStart) - parseFloat(style.paddingInlineEnd);
}

/** Spaces inside a name stay; a name of nothing but spaces is shown. @param {string} name */
function shownName(name) {
  const all = visible(name);
  return name.trim() ? all.replaceAll("␣", " ") : all;
}

/** @param {any} ctx @param {GridOptions} options */
export function gridPicture(ctx, options) {
  const { rows, columns, rowName, columnName, say, signal = ctx.signal } = /** @type {any} */ (options);
  const [minimum, maximum] = options.cell?.w ?? [2, 40];
  const [lowest, highest] = options.cell?.h ?? [minimum, maximum];
  let width = 10;
  let height = 10;
  let zoom = 1;
  let at = { i: 0, j: 0 };
  let hovered = { i: -1, j: -1 };
  let frame = 0;

  const canvas = h("canvas", { class: "pixelated", aria: { hidden: "true" } });
  const overlay = h("canvas", { class: "grid-overlay", aria: { hidden: "true" } });
  const focus = h("div", { class: "grid-focus", role: "gridcell", tabIndex: 0 });
  const focusRow = h("div", { role: "row" }, focus);
  const plane = h(
    "div",
    { class: "grid-plane", role: "grid", aria: { label: options.label, rowcount: rows, colcount: columns } },
    canvas,
    overlay,
    focusRow,
  );
  const top = h("div", { class: "grid-columns", aria: { hidden: "true" } });
  const side = h("div", { class: "grid-rows", aria: { hidden: "true" } });
  const corner = h("div", { class: "grid-corner", aria: { hidden: "true" } });
  const element = h("div", { class: "grid-picture" }, corner, top, side, plane);

  const longest = (/** @type {number} */ count, /** @type {(i: number) => string} */ name) => {
    let most = 1;
    for (let i = 0; i < count; i++) most = Math.max(most, Math.min(16, [...visible(name(i))].length));
    return most;
  };
  const sideWidth = Math.max(options.axes ? 66 : 0, 14 + 7.4 * longest(rows, rowName));
  const columnText = longest(columns, columnName);

  function layout() {
    const room = roomIn(element.parentElement) - sideWidth - 6;
    const tall = options.height ?? Math.max(320, Math.min(620, window.innerHeight * 0.62));
    const aside = options.columnLabels === false || columns > 96 ? 0 : Math.min(room / 5, columnText * 3.6);
    const share = (room - aside) / Math.max(1, columns);
    width = Math.min(maximum, Math.max(minimum, columns > 96 ? Math.floor(share * 10) / 10 : Math.floor(share)));
    const each = tall / Math.max(1, rows);
    height = Math.min(highest, Math.max(lowest, rows > 96 ? Math.floor(each * 10) / 10 : Math.floor(each)));
    if (options.cell?.square !== false) {
      // Wide enough for the eye, never wider than tall by more than half.
      width = Math.min(width, Math.max(minimum, Math.ceil(height * 1.5)));
      height = Math.min(height, Math.max(lowest, Math.ceil(width * 1.2)));
    }
    if (options.cell?.tallness) height = Math.round(options.cell.tallness(width));
    width *= zoom;
    height *= zoom;
    plane.style.setProperty("--cell-w", `${width}px`);
    plane.style.setProperty("--cell-h", `${height}px`);
    plane.classList.toggle("lined", options.lines !== false && width >= 9 && height >= 9);
    const flat = columnText * 7.6 + 8 <= width;
    const topHeight = options.columnLabels === false ? 2 : flat ? 24 : 20 + columnText * 5.7;
    top.classList.toggle("slanted", !flat);
    const w = width * columns;
    const tallness = height * rows;
    const slack = flat ? 0 : Math.max(0, Math.min(columnText * 5.4 - width / 2 + 4, room - w));
    element.style.setProperty("grid-template-columns", `${sideWidth}px ${w + slack}px`);
    element.style.setProperty("grid-template-rows", `${topHeight}px ${tallness}px`);
    plane.style.setProperty("inline-size", `${w}px`);
    plane.style.setProperty("block-size", `${tallness}px`);
    overlay.width = Math.min(4096, w);
    overlay.height = Math.min(4096, tallness);
    clear(corner);
    if (options.axes) {
      corner.append(
        h("span", { style: { "inset-inline-end": "8px", "inset-block-end": "4px" } }, `${options.axes[0]} ↓`),
        h("span", { style: { "inset-inline-end": "8px", "inset-block-end": "20px" } }, `${options.axes[1]} →`),
      );
    }
    labels();
    place();
    paintOverlay();
    options.onlayout?.({ width, height });
  }

  function labels() {
    const lines = [
      { box: top, count: columns, cell: width, name: columnName, special: options.columnSpecial, seen: element.scrollLeft, room: element.clientWidth, on: [at.j, hovered.j], side: "inset-inline-start" },
      { box: side, count: rows, cell: height, name: rowName, special: options.rowSpecial, seen: element.scrollTop, room: element.clientHeight, on: [at.i, hovered.i], side: "inset-block-start" },
    ];
    for (const line of lines) {
      if (line.box === top && options.columnLabels === false) continue;
      const every = Math.max(1, Math.ceil(LABEL / line.cell));
      const from = Math.max(0, Math.floor(line.seen / line.cell) - 4);
      const to = Math.min(line.count, Math.ceil((line.seen + Math.max(400, line.room)) / line.cell) + 4, from + LABELS * every);
      const wanted = new Set(line.on.filter((i) => i >= 0));
      for (let i = from; i < to; i++) if (i % every === 0 && ![...line.on].some((o) => o >= 0 && o !== i && Math.abs(o - i) < every)) wanted.add(i);
      clear(line.box);
      for (const i of wanted) {
        const flat = line.box === top && !top.classList.contains("slanted");
        const place = line.box === top ? (i + 0.5) * line.cell + (flat ? 0 : 2) : (i + 0.5) * line.cell;
        line.box.append(
          h(
            "span",
            { class: [line.on.includes(i) && "on", line.special?.(i) && "special"], style: { [line.side]: `${place}px` } },
            h("bdi", null, shownName(line.name(i))),
          ),
        );
      }
    }
  }

  function place() {
    focus.style.setProperty("inset-inline-start", `${at.j * width - 1}px`);
    focus.style.setProperty("inset-block-start", `${at.i * height - 1}px`);
    focus.style.setProperty("inline-size", `${width + 2}px`);
    focus.style.setProperty("block-size", `${height + 2}px`);
    focusRow.setAttribute("aria-rowindex", String(at.i + 1));
    focus.setAttribute("aria-colindex", String(at.j + 1));
    focus.setAttribute("aria-label", rows && columns ? say(at.i, at.j) : "empty");
  }

  function paintOverlay() {
    const pen = overlay.getContext("2d");
    if (!pen) return;
    pen.clearRect(0, 0, overlay.width, overlay.height);
    if (hovered.i < 0) return;
    const x = overlay.width / (width * columns);
    const y = overlay.height / (height * rows);
    const colour = getComputedStyle(focus).color;
    pen.strokeStyle = colour;
    pen.globalAlpha = 0.55;
    pen.lineWidth = 1;
    pen.strokeRect(0.5, hovered.i * height * y + 0.5, overlay.width - 1, height * y - 1);
    pen.strokeRect(hovered.j * width * x + 0.5, 0.5, width * x - 1, overlay.height - 1);
  }

  /** @param {number} i @param {number} j */
  function select(i, j) {
    const next = { i: Math.max(0, Math.min(rows - 1, i)), j: Math.max(0, Math.min(columns - 1, j)) };
    if (next.i === at.i && next.j === at.j) return;
    at = next;
    place();
    labels();
  }

  /** @param {number} i @param {number} j @param {boolean} [quiet] */
  function go(i, j, quiet = false) {
    select(i, j);
    if (!quiet) ctx.announce(say(at.i, at.j));
    options.onpick?.(at.i, at.j);
  }

  /** @param {PointerEvent | MouseEvent} event */
  const cellAt = (event) => {
    const box = plane.getBoundingClientRect();
    const j = Math.floor((event.clientX - box.left) / width);
    const i = Math.floor((event.clientY - box.top) / height);
    return i < 0 || j < 0 || i >= rows || j >= columns ? { i: -1, j: -1 } : { i, j };
  };

  /** @param {{i: number, j: number}} cell */
  function hover(cell) {
    if (cell.i === hovered.i && cell.j === hovered.j) return;
    hovered = cell;
    if (frame) return;
    frame = requestAnimationFrame(() => {
      frame = 0;
      paintOverlay();
      labels();
      options.onhover?.(hovered.i, hovered.j);
    });
  }

  plane.addEventListener("pointermove", (/** @type {PointerEvent} */ event) => hover(cellAt(event)), { signal });
  plane.addEventListener("pointerleave", () => hover({ i: -1, j: -1 }), { signal });
  plane.addEventListener(
    "click",
    (/** @type {MouseEvent} */ event) => {
      const cell = cellAt(event);
      if (cell.i < 0) return;
      focus.focus({ preventScroll: true });
      go(cell.i, cell.j);
    },
    { signal },
  );
  plane.addEventListener(
    "dblclick",
    (/** @type {MouseEvent} */ event) => {
      const cell = cellAt(event);
      if (cell.i >= 0) options.onopen?.(cell.i, cell.j);
    },
    { signal },
  );
  element.addEventListener("scroll", () => requestAnimationFrame(labels), { signal, passive: true });
  focus.addEventListener(
    "keydown",
    (/** @type {KeyboardEvent} */ event) => {
      if (event.altKey || event.metaKey) return;
      const { i, j } = at;
      const far = event.ctrlKey;
      const moves = /** @type {Record<string, [number, number]>} */ ({
        ArrowUp: [i - 1, j],
        ArrowDown: [i + 1, j],
        ArrowLeft: [i, j - 1],
        ArrowRight: [i, j + 1],
        Home: far ? [0, 0] : [i, 0],
        End: far ? [rows - 1, columns - 1] : [i, columns - 1],
        PageUp: [i - 10, j],
        PageDown: [i + 10, j],
      });
      const move = moves[event.key];
      if (move) {
        go(move[0], move[1]);
        focus.scrollIntoView({ block: "nearest", inline: "nearest" });
      } else if (event.key === "Enter" && options.onopen) options.onopen(i, j);
      else return;
      event.preventDefault();
      event.stopPropagation();
    },
    { signal },
  );

  const watcher = new ResizeObserver(() => requestAnimationFrame(layout));
  let watched = false;
  const start = () => {
    if (watched || !element.parentElement) return;
    watched = true;
    watcher.observe(element.parentElement);
    layout();
  };
  requestAnimationFrame(start);
  signal?.addEventListener("abort", () => watcher.disconnect());

  return {
    element,
    plane,
    canvas,
    overlay,
    focusCell: focus,
    select,
    layout,
    start,
    /** @param {number} factor */
    zoomTo(factor) {
      zoom = factor;
      layout();
    },
    cell: () => ({ width, height }),
    at: () => at,
  };
}
