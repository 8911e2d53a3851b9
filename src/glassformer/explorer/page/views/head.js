/**
 * V5 Head: one head's weights as a matrix and as a flow, linked.
 * @module
 */

import { bdi, h, nameOf, num, num3, replace, visible } from "../dom.js";
import { sequential, signed } from "../draw/colour.js";
import { heatmap } from "../draw/heatmap.js";
import { code } from "../draw/scale.js";
import { renormalise } from "../math/attention.js";
import { renew, segmented, select, slider, toggle } from "../ui/controls.js";
import { flow, MOST } from "../ui/flow.js";
import { gridPicture } from "../ui/grid.js";
import { weightCard } from "../ui/inspector.js";
import { latest, messageOf } from "../ui/latest.js";
import { labelledPicture } from "../ui/matrix.js";
import { headChoice, pythonOfTrace } from "../ui/parts.js";
import { keysOf, queriesOf } from "../ui/traces.js";
import { KIND_NAMES } from "../ui/types.js";
import { minimap, zoomable } from "../ui/zoom.js";

/** What can be painted: name, its tensor, whether it has a sign, what it is. */
const QUANTITIES = /** @type {Record<string, {text: string, tensor: (s: any) => string, both?: boolean, about: string, kinds?: string[]}>} */ ({
  weights: { text: "weights", tensor: (s) => `${s.kind}.${s.layer}.${s.head}.weights`, about: "softmax weights: each row adds up to 1" },
  norms: { text: "norm-weighted", tensor: (s) => `${s.kind}.${s.layer}.${s.head}.norms`, about: "‖α·v·W_O‖: how much each key really adds (Kobayashi et al. 2020)" },
  raw: { text: "raw q·k", tensor: (s) => `${s.kind}.${s.layer}.${s.head}.raw`, both: true, about: "dot products before scaling" },
  scaled: { text: "scaled", tensor: (s) => `${s.kind}.${s.layer}.${s.head}.scaled`, both: true, about: "q·k times the model's scale" },
  bias: { text: "bias", tensor: (s) => `${s.kind}.${s.layer}.${s.head}.bias`, both: true, about: "what positions add to the scores" },
  scores: { text: "scores", tensor: (s) => `${s.kind}.${s.layer}.${s.head}.scores`, both: true, about: "what enters the softmax; masked cells are empty" },
  mask: { text: "mask", tensor: (s) => `${s.kind}.mask`, about: "where a query may look" },
  mean: { text: "mean of heads", tensor: (s) => `${s.kind}.${s.layer}.mean`, about: "the mean weight of all heads of this layer" },
  rollout: { text: "rollout", tensor: (s) => `${s.kind}.${s.layer}.rollout`, kinds: ["enc", "dec"], about: "weights multiplied through the layers up to this one (Abnar & Zuidema 2020)" },
});

/** From so many tokens on, the picture can be zoomed by buttons too; from so many, a small map stands beside it. */
const [ZOOMED, MAPPED] = [24, 96];
/** Matrices of at most this many numbers are asked for in single precision. */
const EXACT = 4096;

/** What the reader has set stays while heads and sentences change. */
const kept = { quantity: "weights", hide: false, top: 3, threshold: 0.05, zoom: 1, second: "" };

/** @type {any} */
export const view = {
  id: "head",
  title: "Head",
  about: "Where one head looks: rows are queries, columns are keys, the stronger a cell, the more weight",
  families: ["encoder-decoder", "decoder-only", "encoder-only"],
  /** @param {HTMLElement} stage @param {any} ctx */
  async mount(stage, ctx) {
    const { trace } = ctx;
    const choice = h("div");
    const controls = h("div", { class: "controls" });
    const pictures = h("div", { class: "head-pictures" });
    const readout = h("p", { class: "readout", aria: { hidden: "true" } });
    const caption = h("p", { class: "note" });
    const legend = h("div", { class: "legend" });
    stage.append(choice, h("section", { class: "card head-card" }, controls, readout, pictures, legend, caption));

    /** @type {any} */ let built = null;
    /** @type {{shape: number[], data: any, most: number, low: number} | null} */ let shown = null;
    /** @type {any} */ let stats = null;
    /** What `shown` belongs to, and whether something else is on its way. */
    let shownAt = "";
    let waiting = false;
    const [asking, askingBeside, askingCell] = [latest(), latest(), latest()];
    const placeOf = (/** @type {any} */ now) => `${now.kind}.${now.layer}.${now.head}`;
    ctx.source.heads(trace.id, { signal: ctx.signal }).then((/** @type {any} */ found) => {
      stats = found.heads;
      describe(ctx.store.get());
    }, () => {});

    const quantity = (/** @type {any} */ now) => {
      const one = QUANTITIES[kept.quantity];
      return one.kinds && !one.kinds.includes(now.kind) ? "weights" : kept.quantity;
    };

    /** @param {any} now */
    async function load(now) {
      const name = quantity(now);
      const { queries, keys: width } = trace.shapes[now.kind];
      // Half precision is for the large ones: what fits a glance comes with all its digits.
      const tensor = await ctx.source.tensor(trace.id, QUANTITIES[name].tensor(now), { full: queries * width <= EXACT, signal: ctx.signal });
      let data = tensor.data;
      const [rows, columns] = tensor.shape;
      if (kept.hide && !QUANTITIES[name].both && name !== "mask") {
        const keys = keysOf(trace, now.kind);
        data = renormalise(data, rows, columns, (j) => Boolean(keys[j]?.special));
      }
      let most = 0;
      for (let i = 0; i < data.length; i++) if (Number.isFinite(data[i])) most = Math.max(most, Math.abs(data[i]));
      return { shape: tensor.shape, data, most };
    }

    /** @param {HTMLCanvasElement} canvas @param {any} found @param {any} now */
    function paint(canvas, found, now) {
      const one = QUANTITIES[quantity(now)];
      const [rows, columns] = found.shape;
      if (one.both) {
        const finite = Float32Array.from(found.data, (/** @type {number} */ x) => (Number.isFinite(x) ? x : NaN));
        heatmap(canvas, finite, rows, columns, { table: signed(ctx.theme), low: -found.most, high: found.most });
      } else heatmap(canvas, found.data, rows, columns, { table: sequential(ctx.theme), code: code(now.scale), low: 0, high: high(now, found) });
    }

    /** Weights have a fixed scale, so that heads can be compared. @param {any} now @param {any} found */
    const high = (now, found) => (["weights", "mask", "mean", "rollout"].includes(quantity(now)) ? 1 : found.most || 1);

    const value = (/** @type {number} */ i, /** @type {number} */ j) => (shown ? shown.data[i * shown.shape[1] + j] : NaN);

    /** @param {number} i @param {number} j */
    function rank(i, j) {
      if (!shown) return 0;
      const row = shown.data.subarray(i * shown.shape[1], (i + 1) * shown.shape[1]);
      let above = 1;
      for (let k = 0; k < row.length; k++) if (row[k] > row[j]) above++;
      return above;
    }

    /** @param {string} kind */
    function build(kind) {
      const queries = queriesOf(trace, kind);
      const keys = keysOf(trace, kind);
      const say = (/** @type {number} */ i, /** @type {number} */ j) =>
        `query ${nameOf(queries[i])}, key ${nameOf(keys[j])}, ${QUANTITIES[quantity(ctx.store.get())].text === "weights" ? "weight" : QUANTITIES[quantity(ctx.store.get())].text} ${num3(value(i, j))}, rank ${rank(i, j)} of ${keys.length}`;
      const grid = gridPicture(ctx, {
        label: `${KIND_NAMES[kind]}, queries by keys`,
        rows: queries.length,
        columns: keys.length,
        rowName: (i) => nameOf(queries[i]),
        columnName: (j) => nameOf(keys[j]),
        rowSpecial: (i) => queries[i].special,
        columnSpecial: (j) => keys[j].special,
        axes: ["query", "key"],
        say,
        cell: { w: [1, 44], h: [1, 34] },
        onhover: (i, j) => {
          read(i, j);
          built?.ribbons.light(i);
        },
        onpick: (query, key) => ctx.select({ query, key, ...(kind === "enc" ? {} : { step: Math.min(query, Math.max(0, trace.steps.length - 1)) }) }, { replace: true }),
        onopen: (query, key) => ctx.select({ query, key, view: "arithmetic" }),
      });
      const ribbons = flow(ctx, { queries, keys, kind, onpick: (query) => ctx.select({ query }, { replace: true }) });
      const most = Math.max(queries.length, keys.length);
      const mini = most > MAPPED ? minimap(grid, ctx.signal) : null;
      const second = h("div", { class: "second" });
      const closer = h("div", { class: "closer" }, mini?.element);
      pictures.classList.toggle("large", most > MAPPED);
      renew(
        pictures,
        h("div", { class: "figure" }, h("h3", null, "Matrix"), grid.element, closer),
        h("div", { class: "figure" }, h("h3", null, "Flow"), ribbons.element),
        second,
      );
      grid.start();
      const zoom = zoomable(grid, {
        signal: ctx.signal,
        start: most > ZOOMED ? kept.zoom : 1,
        onchange: (factor) => {
          kept.zoom = factor;
          mini?.frame();
          ctx.announce(`zoom ${num3(factor)}`);
        },
      });
      if (most > ZOOMED) closer.append(zoom.element);
      return { kind, grid, ribbons, mini, second, queries, keys };
    }

    /** @param {number} i @param {number} j */
    function read(i, j) {
      const at = i < 0 ? ctx.store.get() : { query: i, key: j };
      const q = built?.queries[at.query];
      const k = built?.keys[at.key];
      if (!q || !k || !shown) return;
      replace(readout, h("b", { class: "mono" }, bdi(visible(nameOf(q)))), writes(at.query), " → ", h("b", { class: "mono" }, bdi(visible(nameOf(k)))), " ", num(value(at.query, at.key)), h("span", { class: "note" }, ` rank ${rank(at.query, at.key)} of ${built.keys.length}`));
    }

    /** What the decoder is about to write in a row. @param {number} query */
    function writes(query) {
      const chosen = built.kind !== "enc" && trace.steps[query]?.chosen;
      return chosen ? h("span", { class: "note" }, " (writes ", bdi(visible(nameOf(chosen))), ")") : "";
    }

    function drawControls() {
      const now = ctx.store.get();
      const name = quantity(now);
      renew(choice, headChoice(trace.shapes, now, (patch) => ctx.select(patch)));
      const names = Object.entries(QUANTITIES).filter(([id, one]) => (!one.kinds || one.kinds.includes(now.kind)) && (ctx.level === "expert" || !["raw", "scaled", "bias", "scores"].includes(id) || id === name));
      const shape = trace.shapes[now.kind];
      /** @type {[string, string][]} */
      const heads = [["", "none"]];
      for (let layer = 0; layer < shape.layers; layer++) for (let head = 0; head < shape.heads; head++) heads.push([`${layer}.${head}`, `layer ${layer}, head ${head}`]);
      renew(
        controls,
        select({ label: "show", options: names.map(([id, one]) => [id, one.text]), value: name, onchange: (id) => ((kept.quantity = id), drawControls(), refresh()) }),
        !QUANTITIES[name].both && segmented({ label: "scale", options: [["linear", "linear"], ["sqrt", "√"], ["log", "log"]], value: now.scale, onchange: (scale) => ctx.select({ scale }, { replace: true }) }),
        ctx.level !== "tour" && slider({ label: "links a query", min: 1, max: MOST, step: 1, value: kept.top, oninput: (top) => ((kept.top = top), ribbons()) }),
        ctx.level !== "tour" && slider({ label: "from weight", min: 0, max: 0.5, step: 0.01, value: kept.threshold, format: num3, oninput: (threshold) => ((kept.threshold = threshold), ribbons()) }),
        ctx.level !== "tour" && toggle({ label: "hide specials, renormalise", checked: kept.hide, onchange: (hide) => ((kept.hide = hide), refresh()) }),
        ctx.level !== "tour" && select({ label: "beside it", options: heads, value: kept.second, onchange: (id) => ((kept.second = id), beside()) }),
      );
    }

    /** What the ribbons were last made of. */
    let shares = { of: /** @type {any} */ (null), most: 1, data: new Float32Array() };

    function ribbons() {
      if (!shown || !built || waiting) return;
      const most = high(ctx.store.get(), shown);
      if (shares.of !== shown || shares.most !== most) {
        shares = { of: shown, most, data: Float32Array.from(shown.data, (/** @type {number} */ x) => (Number.isFinite(x) ? Math.max(0, x) / most : 0)) };
      }
      built.ribbons.draw(shares.data, { top: kept.top, threshold: kept.threshold });
    }

    async function beside() {
      const last = askingBeside();
      const now = ctx.store.get();
      const shape = trace.shapes[now.kind];
      const [layer, head] = kept.second.split(".").map(Number);
      if (!kept.second || layer >= shape.layers || head >= shape.heads) {
        replace(built.second);
        return;
      }
      let found;
      try {
        found = await load({ ...now, layer, head });
      } catch (error) {
        if (!ctx.signal.aborted && last()) replace(built.second, h("p", { class: "note" }, bdi(messageOf(error))));
        return;
      }
      if (ctx.signal.aborted || !last() || built.kind !== now.kind) return;
      const { query: row, key: column } = ctx.store.get();
      const grid = gridPicture(ctx, {
        label: `layer ${layer}, head ${head}`,
        rows: built.queries.length,
        columns: built.keys.length,
        rowName: (i) => nameOf(built.queries[i]),
        columnName: (j) => nameOf(built.keys[j]),
        say: (i, j) => `layer ${layer}, head ${head}: query ${nameOf(built.queries[i])}, key ${nameOf(built.keys[j])}, ${num3(found.data[i * found.shape[1] + j])}`,
        cell: { w: [2, 44], h: [2, 34] },
        onpick: (query, key) => ctx.select({ query, key }, { replace: true }),
      });
      paint(grid.canvas, found, now);
      replace(built.second, h("div", { class: "figure" }, h("h3", null, `Layer ${layer}, head ${head}`), grid.element));
      grid.start();
      grid.select(row, column);
    }

    /** @param {any} now */
    function describe(now) {
      if (!shown || shownAt !== placeOf(now)) return;
      const weight = kept.quantity === "weights" && !kept.hide ? value(now.query, now.key) : undefined;
      ctx.inspect({ ...weightCard(ctx, now, { weight, rank: rank(now.query, now.key) }), python: python(now) });
      const mine = stats?.find((/** @type {any} */ one) => one.kind === now.kind && one.layer === now.layer && one.head === now.head);
      replace(
        caption,
        QUANTITIES[quantity(now)].about,
        kept.hide ? "; specials are hidden and the rest of each row is scaled up to 1" : "",
        mine ? [". This head: ", h("b", null, mine.label), ` (${mine.statistic} ${num3(mine.value)}), entropy ${num3(mine.entropy)} nats, mean distance ${num3(mine.distance)}`, mine.importance !== null && mine.importance !== undefined ? `, importance ${num3(mine.importance)}` : "", "."] : ".",
        ` At most 1,024 links are drawn. Press Enter on a cell for its arithmetic; +, − and 0 zoom, as do a pinch and the wheel once a cell was chosen.`,
      );
    }

    let details = 0;
    /** The numbers that the matrix does not hold, once the reader rests on a cell. @param {any} now */
    function rest(now) {
      const last = askingCell();
      clearTimeout(details);
      details = window.setTimeout(async () => {
        try {
          const cell = await ctx.source.cell(trace.id, `${now.kind}.${now.layer}.${now.head}`, now.query, now.key, { signal: ctx.signal });
          if (ctx.signal.aborted || !last() || cell.row.max === null || cell.score === null) return;
          const card = weightCard(ctx, now, { weight: cell.weight, rank: rank(now.query, now.key), scaled: cell.score - cell.row.max, denominator: cell.row.denominator });
          card.numbers?.push(["q·k", cell.dot], ["scaled", cell.scaled], ["largest score", cell.row.max], ["denominator", cell.row.denominator]);
          ctx.inspect({ ...card, python: python(now) });
        } catch {
          // Not in an exported file: the weight itself is enough.
        }
      }, 220);
    }

    /** @param {any} now */
    const python = (now) => `${pythonOfTrace(ctx)}\nlayer = trace.layers(${JSON.stringify(now.kind)})[${now.layer}]\nlayer.weights[${now.head}, ${now.query}, ${now.key}]`;

    async function refresh() {
      const last = asking();
      let now = ctx.store.get();
      waiting = true;
      let found;
      try {
        found = await load(now);
      } catch (error) {
        if (!ctx.signal.aborted && last()) replace(readout, h("span", { class: "error" }, bdi(messageOf(error))));
        return;
      }
      if (!last() || ctx.signal.aborted) return;
      waiting = false;
      shownAt = placeOf(now);
      const { query, key } = ctx.store.get();
      now = { ...now, query, key }; // the reader may have moved on while the numbers were on their way
      if (built?.kind !== now.kind) built = build(now.kind);
      shown = /** @type {any} */ (found);
      pictures.dataset.shown = shownAt;
      paint(built.grid.canvas, found, now);
      built.mini?.paint(built.grid.canvas);
      built.grid.select(now.query, now.key);
      built.grid.focusCell.setAttribute("aria-label", built.grid ? `query ${nameOf(built.queries[now.query])}, key ${nameOf(built.keys[now.key])}, weight ${num3(value(now.query, now.key))}, rank ${rank(now.query, now.key)} of ${built.keys.length}` : "");
      ribbons();
      built.ribbons.light(-1);
      read(-1, -1);
      drawLegend(now);
      describe(now);
      rest(now);
      if (kept.second) beside();
      idle(now);
    }

    /** @param {any} now */
    function drawLegend(now) {
      const one = QUANTITIES[quantity(now)];
      const ramp = h("canvas", { width: 256, height: 1, aria: { hidden: "true" } });
      const top = shown ? (one.both ? shown.most : high(now, shown)) : 1;
      if (one.both) heatmap(ramp, Float32Array.from({ length: 256 }, (_, i) => i / 127.5 - 1), 1, 256, { table: signed(ctx.theme), low: -1, high: 1 });
      else heatmap(ramp, Float32Array.from({ length: 256 }, (_, i) => i / 255), 1, 256, { table: sequential(ctx.theme), code: code(now.scale) });
      replace(legend, h("span", { class: "num" }, one.both ? num3(-top) : "0"), ramp, h("span", { class: "num" }, num3(top)), h("span", null, one.both ? "signed" : `${now.scale === "sqrt" ? "√" : now.scale} scale`));
    }

    /** Neighbours when nothing else is to be done. @param {any} now */
    function idle(now) {
      const wait = window.requestIdleCallback ?? ((/** @type {any} */ f) => setTimeout(f, 200));
      wait(() => {
        const shape = trace.shapes[now.kind];
        for (const head of [now.head + 1, now.head - 1]) {
          if (head >= 0 && head < shape.heads && !ctx.signal.aborted) ctx.source.tensor(trace.id, QUANTITIES[quantity(now)].tensor({ ...now, head }), { full: shape.queries * shape.keys <= EXACT, signal: ctx.signal }).catch(() => {});
        }
      });
    }

    drawControls();
    await refresh();
    return {
      /** @param {any} now @param {any} before */
      update(now, before) {
        const other = ["kind", "layer", "head", "scale"].some((name) => now[name] !== before[name]);
        if (other) {
          drawControls();
          refresh();
          return;
        }
        built?.grid.select(now.query, now.key);
        if (waiting) return; // what is on its way describes itself when it is there
        read(-1, -1);
        describe(now);
        rest(now);
      },
      /** @param {KeyboardEvent} event */
      key(event) {
        if (event.key === "Enter" && (event.target === document.body || event.target === document.getElementById("stage"))) {
          ctx.select({ view: "arithmetic" });
          return true;
        }
        return false;
      },
      picture: () => built && labelledPicture({ canvas: built.grid.canvas, rows: built.queries.map(nameOf), columns: built.keys.map(nameOf), title: title(ctx.store.get()), theme: ctx.theme }),
      python: () => python(ctx.store.get()),
      table: () => {
        const now = ctx.store.get();
        const columns = built.keys.length;
        return {
          caption: `${title(now)}: ${QUANTITIES[quantity(now)].text}`,
          columns: [{ label: "query", numeric: true }, { label: "query token" }, { label: "key", numeric: true }, { label: "key token" }, { label: QUANTITIES[quantity(now)].text, numeric: true }],
          count: built.queries.length * columns,
          row: (/** @type {number} */ i) => {
            const [q, k] = [Math.floor(i / columns), i % columns];
            return [q, nameOf(built.queries[q]), k, nameOf(built.keys[k]), value(q, k)];
          },
        };
      },
    };
  },
};

/** @param {any} now */
const title = (now) => `${KIND_NAMES[now.kind]}, layer ${now.layer}, head ${now.head}`;
