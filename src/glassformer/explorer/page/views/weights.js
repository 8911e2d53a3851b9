/**
 * V15 Weights: every parameter in a tree that sums to the whole, what its numbers look like, and spectra of heads.
 * @module
 */

import { bdi, h, num, num3, percent, replace } from "../dom.js";
import { headColour } from "../draw/colour.js";
import { chart, dashOf } from "../ui/chart.js";
import { button, renew, segmented, select, slider } from "../ui/controls.js";
import { latest, messageOf } from "../ui/latest.js";
import { matrix } from "../ui/matrix.js";
import { card, figures, loading, pythonText } from "../ui/parts.js";
import { KINDS, KIND_NAMES, KIND_SHORT } from "../ui/types.js";

const ROWS = 128;
const COLUMNS = 512;

/** What the reader has set: the part that was open stays open. @type {{path: string | null, open: Set<string>, kind: string | null, layer: number, product: string}} */
const kept = { path: null, open: new Set([""]), kind: null, layer: 0, product: "qk" };

/** Which parameter the view shows when it is opened next. @param {string} path */
export function aimAt(path) {
  kept.path = path;
}

/** @type {import("../ui/types.js").View} */
export const view = {
  id: "weights",
  title: "Weights",
  about: "Every number the model learned: where it stands, how its matrices are distributed, what is shared",
  families: ["encoder-decoder", "decoder-only", "encoder-only"],
  live: true,
  needsTrace: false,
  async mount(stage, ctx) {
    const run = encodeURIComponent(ctx.model.id ?? ctx.store.get().run);
    const checkpoint = ctx.store.get().checkpoint;
    const query = checkpoint ? `checkpoint=${encodeURIComponent(checkpoint)}` : "";
    const found = await ctx.source.json(`runs/${run}/weights${query && `?${query}`}`, { signal: ctx.signal });
    return weightsView(stage, ctx, found, { run, query });
  },
};

/** @param {HTMLElement} stage @param {any} ctx @param {any} found @param {{run: string, query: string}} where @returns {import("../ui/types.js").Mounted} */
function weightsView(stage, ctx, found, { run, query }) {
  /** @type {Map<string, any>} */
  const byPath = new Map();
  /** @type {Map<string, string>} */
  const parents = new Map();
  (function index(/** @type {any} */ node, /** @type {string} */ parent) {
    const path = node.path ?? "";
    byPath.set(path, node);
    parents.set(path, parent);
    for (const child of node.children) index(child, path);
  })(found.tree, "");
  /** @type {any} */
  let values = null;
  let life = new AbortController();
  const [askingRows, askingSpectrum] = [latest(), latest()];
  ctx.signal.addEventListener("abort", () => life.abort());

  const tree = h("div", { class: "weight-tree", role: "tree", tabIndex: 0, aria: { label: "parameters. Arrow keys move, right opens, left closes, Enter shows." } });
  const detail = h("div", { class: "stack" });
  const spectrum = chart(ctx, { label: "Singular values of each head", xLabel: "singular value, largest first", yLabel: "size", height: 250 });
  const spectrumControls = h("div", { class: "controls" });
  stage.append(
    h(
      "div",
      { class: "weights-grid" },
      card("Parameters", h("p", { class: "weight-total" }, h("b", null, found.total.toLocaleString("en")), h("span", { class: "note" }, " numbers, each counted once")), tree, ties()),
      detail,
    ),
    h("section", { class: "card", aria: { label: "spectra of heads" } }, h("h3", null, "Spectra of heads"), spectrumControls, spectrum.element, h("p", { class: "note" }, "W_Q W_Kᵀ decides where a head looks, W_V W_O what it moves. Few large values: the head uses few directions.")),
  );

  let cursor = kept.path && byPath.has(kept.path) ? kept.path : "";

  function ties() {
    if (!found.ties.length) return h("p", { class: "note" }, "No matrix is shared.");
    return found.ties.map((/** @type {string[]} */ group) => h("p", { class: "note ties" }, "one matrix, ", String(group.length), " names: ", group.map((name, i) => [i > 0 && " = ", button(name, () => show(name), { class: "link" })])));
  }

  /** @returns {string[]} paths in sight, from top to bottom */
  function inSight() {
    /** @type {string[]} */
    const list = [];
    (function walk(/** @type {any} */ node) {
      const path = node.path ?? "";
      list.push(path);
      if (kept.open.has(path)) node.children.forEach(walk);
    })(found.tree);
    return list;
  }

  function drawTree() {
    const list = inSight();
    if (!list.includes(cursor)) cursor = "";
    const width = String(found.total).length;
    replace(
      tree,
      list.map((path) => {
        const node = byPath.get(path);
        const depth = path === "" ? 0 : depthOf(path);
        const has = node.children.length > 0;
        const line = h(
          "div",
          {
            class: ["weight-line", path === cursor && "cursor", path === kept.path && "selected"],
            role: "treeitem",
            id: idOf(path),
            style: { "--depth": depth },
            aria: { level: depth + 1, expanded: has ? String(kept.open.has(path)) : null, selected: String(path === cursor), label: `${path || "all"}, ${node.parameters.toLocaleString("en")} numbers, ${percent(node.parameters / found.total)}${node.shared?.length ? ", shared" : ""}` },
            on: { click: () => { cursor = path; if (has) flip(path); else show(path); tree.focus({ preventScroll: true }); } },
          },
          h("span", { class: "twist", aria: { hidden: "true" } }, has ? (kept.open.has(path) ? "▾" : "▸") : ""),
          h("span", { class: "weight-name" }, bdi(node.name || "all"), node.shape && h("span", { class: "note" }, ` ${node.shape.join(" × ")}`), node.shared?.length > 0 && h("span", { class: "chip", title: `also ${node.shared.join(", ")}` }, "shared")),
          h("span", { class: "weight-share" }, h("i", { style: { "--share": node.parameters / found.total } })),
          h("span", { class: "num weight-count", style: { "--digits": width } }, node.parameters.toLocaleString("en")),
        );
        return line;
      }),
    );
    tree.setAttribute("aria-activedescendant", idOf(cursor));
  }

  /** @param {string} path */
  const depthOf = (path) => {
    let depth = 0;
    for (let at = path; at !== ""; at = parents.get(at) ?? "") depth++;
    return depth;
  };
  /** @param {string} path */
  const idOf = (path) => `weight-${path.replace(/[^\w-]/g, "-") || "all"}`;

  /** @param {string} path */
  function flip(path) {
    if (kept.open.has(path)) kept.open.delete(path);
    else kept.open.add(path);
    drawTree();
  }

  tree.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (!treeKey(event.key)) return;
    event.preventDefault();
    event.stopPropagation();
    tree.querySelector(".cursor")?.scrollIntoView({ block: "nearest" });
  });

  /** @param {string} key */
  function treeKey(key) {
    const list = inSight();
    const at = list.indexOf(cursor);
    const node = byPath.get(cursor);
    if (key === "ArrowDown") cursor = list[Math.min(list.length - 1, at + 1)];
    else if (key === "ArrowUp") cursor = list[Math.max(0, at - 1)];
    else if (key === "Home") cursor = list[0];
    else if (key === "End") cursor = list[list.length - 1];
    else if (key === "ArrowRight") {
      if (!node.children.length) return true;
      if (kept.open.has(cursor)) cursor = node.children[0].path;
      else kept.open.add(cursor);
    } else if (key === "ArrowLeft") {
      if (kept.open.has(cursor) && node.children.length) kept.open.delete(cursor);
      else cursor = parents.get(cursor) ?? "";
    } else if (key === "Enter" || key === " ") {
      if (node.children.length) flip(cursor);
      else show(cursor);
    } else return false;
    drawTree();
    return true;
  }

  /** The numbers of one parameter. @param {string} path */
  async function show(path) {
    const owner = byPath.has(path) ? path : [...byPath.keys()].find((each) => byPath.get(each).shared?.includes(path)) ?? path;
    kept.path = owner;
    cursor = owner;
    for (let at = parents.get(owner) ?? ""; ; at = parents.get(at) ?? "") {
      kept.open.add(at);
      if (at === "") break;
    }
    drawTree();
    life.abort();
    life = new AbortController();
    const { signal } = life;
    replace(detail, loading("reading numbers"));
    try {
      const stats = await ctx.source.json(`runs/${run}/weights/${owner}?bins=64${query && `&${query}`}`, { signal });
      if (!signal.aborted) showStats(stats, signal);
    } catch (error) {
      if (!signal.aborted && !ctx.signal.aborted) replace(detail, h("p", { class: "error" }, bdi(messageOf(error))));
    }
  }

  /** @param {any} stats @param {AbortSignal} signal */
  function showStats(stats, signal) {
    const spread = chart(ctx, { label: `Histogram of ${stats.path}`, xLabel: "value", yLabel: "count", height: 190, legend: false });
    const singular = stats.singular_values.length > 1 ? chart(ctx, { label: `Singular values of ${stats.path}`, xLabel: "largest first", yLabel: "singular value", height: 180, legend: false }) : null;
    const work = attentionOf(stats.path);
    const board = h("div");
    replace(
      detail,
      h(
        "section",
        { class: "card", aria: { label: "one parameter" } },
        h("h3", { class: "weight-title" }, bdi(stats.path)),
        figures([["shape", stats.shape.join(" × ")], ["numbers", stats.count.toLocaleString("en")], ["mean", stats.mean], ["deviation", stats.deviation], ["smallest", stats.min], ["largest", stats.max], ["norm", stats.norm], ["zeros", String(stats.zeros)]]),
        work && ctx.trace && h("p", null, button("See it at work on one query and key", () => ctx.select({ view: "arithmetic", ...work }))),
        spread.element,
        singular && [h("h4", null, "Singular values"), singular.element],
      ),
      stats.shape.length === 2 && h("section", { class: "card", aria: { label: "the matrix itself" } }, h("h3", null, "The matrix itself"), board),
    );
    drawHistogram(spread, stats.histogram);
    singular?.draw({ yDomain: [0, 1.05 * stats.singular_values[0]], series: [{ name: "singular value", x: stats.singular_values.map((/** @type {number} */ _, /** @type {number} */ i) => i + 1), y: stats.singular_values, colour: "var(--accent)", area: true }], xText: (i) => `number ${i}` });
    if (stats.shape.length === 2) showMatrix(board, stats, 0, signal);
    ctx.inspect({
      title: "One parameter",
      says: ["A matrix of ", num(stats.count), " learned numbers."],
      numbers: [["mean", stats.mean], ["deviation", stats.deviation], ["norm", stats.norm], ...(stats.singular_values.length ? [["largest singular value", stats.singular_values[0]]] : [])],
      shapes: [[stats.path.split(".").slice(-2).join("."), `[${stats.shape.join(", ")}]`]],
      python: python(),
    });
    ctx.announce(`${stats.path}, ${stats.count} numbers, mean ${num3(stats.mean)}, deviation ${num3(stats.deviation)}`);
  }

  /** @param {any} picture @param {{edges: number[], counts: number[]}} histogram */
  function drawHistogram(picture, { edges, counts }) {
    /** @type {number[]} */
    const x = [];
    /** @type {number[]} */
    const y = [];
    counts.forEach((count, i) => {
      x.push(edges[i], edges[i + 1]);
      y.push(count, count);
    });
    picture.draw({ yDomain: [0, Math.max(1, ...counts) * 1.05], series: [{ name: "count", x, y, colour: "var(--accent)", area: true }], xText: (/** @type {number} */ value) => `near ${num3(value)}` });
  }

  /** @param {HTMLElement} board @param {any} stats @param {number} from @param {AbortSignal} signal */
  async function showMatrix(board, stats, from, signal) {
    const [rows, columns] = stats.shape;
    const to = Math.min(rows, from + ROWS);
    const last = askingRows();
    try {
      const { data } = await ctx.source.binary(`runs/${run}/weights/${stats.path}/values?rows=${from}:${to}${query && `&${query}`}`, { signal });
      if (!last() || signal.aborted) return;
      const width = Math.min(columns, COLUMNS);
      const cut = new Float32Array((to - from) * width);
      for (let i = 0; i < to - from; i++) cut.set(data.subarray(i * columns, i * columns + width), i * width);
      values = matrix(ctx, {
        label: `${stats.path}, rows ${from} to ${to - 1}`,
        rows: Array.from({ length: to - from }, (_, i) => String(from + i)),
        columns: Array.from({ length: width }, (_, i) => String(i)),
        value: "value",
        rowWord: "row",
        columnWord: "column",
        both: true,
        cell: { w: [2, 14], h: [2, 14] },
        height: 360,
        signal,
      });
      const most = 3 * stats.deviation || 1;
      values.paint(cut, { most });
      renew(
        board,
        h("p", { class: "note" }, "blue: below 0 · orange: above 0 · strongest colour: three deviations, ", num(most), width < columns && ` · the first ${width} of ${columns} columns`),
        rows > ROWS && slider({ label: "rows from", min: 0, max: rows - ROWS, step: Math.max(1, Math.floor(ROWS / 2)), value: from, format: (x) => `${x} – ${Math.min(rows, x + ROWS) - 1}`, oninput: debounced((x) => showMatrix(board, stats, x, signal)) }),
        values.element,
      );
      values.start();
    } catch (error) {
      if (last() && !signal.aborted && !ctx.signal.aborted) replace(board, h("p", { class: "error" }, bdi(messageOf(error))));
    }
  }

  function showSpectrumControls() {
    const architecture = ctx.model.architecture;
    const kinds = KINDS.filter((kind) => architecture.kinds.includes(kind));
    if (!kept.kind || !kinds.includes(kept.kind)) kept.kind = kinds[0];
    kept.layer = Math.min(kept.layer, architecture.layers[kept.kind] - 1);
    renew(
      spectrumControls,
      kinds.length > 1 && segmented({ label: "attention", hideLabel: true, options: kinds.map((kind) => [kind, KIND_SHORT[kind]]), value: kept.kind, onchange: (kind) => { kept.kind = kind; showSpectrumControls(); drawSpectrum(); } }),
      select({ label: "layer", options: Array.from({ length: architecture.layers[kept.kind] }, (_, i) => [i, String(i)]), value: kept.layer, onchange: (layer) => { kept.layer = Number(layer); drawSpectrum(); } }),
      segmented({ label: "product", hideLabel: true, options: [["qk", "W_Q W_Kᵀ"], ["ov", "W_V W_O"]], value: kept.product, onchange: (product) => { kept.product = product; drawSpectrum(); } }),
    );
  }

  async function drawSpectrum() {
    const last = askingSpectrum();
    try {
      const told = await ctx.source.json(`runs/${run}/spectrum/${kept.kind}.${kept.layer}${query && `?${query}`}`, { signal: ctx.signal });
      if (!last() || ctx.signal.aborted) return;
      spectrum.draw({
        yDomain: [0, 1.05 * Math.max(...told.heads.map((/** @type {any} */ head) => head[kept.product][0]))],
        xText: (i) => `${KIND_NAMES[kept.kind ?? "enc"]}, layer ${told.layer}: number ${i}`,
        series: told.heads.map((/** @type {any} */ head) => ({ name: `head ${head.head}`, x: head[kept.product].map((/** @type {number} */ _, /** @type {number} */ i) => i + 1), y: head[kept.product], colour: headColour(head.head), dash: dashOf(head.head) })),
      });
    } catch (error) {
      if (last() && !ctx.signal.aborted) ctx.error(error);
    }
  }

  function python() {
    const path = kept.path ?? "encoder.blocks.0.attention.query.weight";
    return ["from glassformer import load", "", `model = load(${pythonText(ctx.model.id ?? "")})`, `weight = dict(${ctx.model.architecture.family === "encoder-only" ? "model.model" : "model.models[0]"}.named_parameters())[${pythonText(path)}]`, "print(weight.shape, weight.mean(), weight.std())"].join("\n");
  }

  drawTree();
  showSpectrumControls();
  drawSpectrum();
  const firstMatrix = kept.path && byPath.has(kept.path) ? kept.path : [...byPath.keys()].find((path) => byPath.get(path).shape?.length === 2 && /attention/.test(path)) ?? [...byPath.keys()].find((path) => byPath.get(path).shape);
  if (firstMatrix) show(firstMatrix);
  return {
    table() {
      const leaves = [...byPath.values()].filter((node) => node.shape);
      return {
        caption: `All ${leaves.length} parameters; they sum to ${found.total.toLocaleString("en")}`,
        columns: [{ label: "name" }, { label: "shape" }, { label: "numbers", numeric: true }, { label: "share", numeric: true }, { label: "also called" }],
        count: leaves.length,
        row: (i) => [leaves[i].path, leaves[i].shape.join(" × "), leaves[i].parameters, leaves[i].parameters / found.total, (leaves[i].shared ?? []).join(", ")],
      };
    },
    picture: () => spectrum.picture,
    python,
  };
}

/** The last call of a burst. @param {(x: number) => void} act */
function debounced(act) {
  let timer = 0;
  return (/** @type {number} */ x) => {
    clearTimeout(timer);
    timer = window.setTimeout(() => act(x), 120);
  };
}

/** Which attention a parameter belongs to, if to any. @param {string} path */
function attentionOf(path) {
  const found = /(?:^|\.)(encoder|decoder|stack)?\.?blocks\.(\d+)\.(\w*attention)\./.exec(path);
  if (!found) return null;
  const [, stack, layer, part] = found;
  const kind = part.startsWith("cross") ? "cross" : stack === "encoder" ? "enc" : stack === "decoder" ? "dec" : null;
  return kind ? { kind, layer: Number(layer) } : null;
}
