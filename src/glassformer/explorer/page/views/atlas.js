/**
 * V4 Head atlas: every head of every kind in one picture, with where its weight lies.
 * @module
 */

import { h, num, num3, replace } from "../dom.js";
import { resolve, sequential } from "../draw/colour.js";
import { heatmap } from "../draw/heatmap.js";
import { atlas } from "../draw/atlas.js";
import { button, renew, select } from "../ui/controls.js";
import { gridPicture } from "../ui/grid.js";
import { attentionFormula } from "../ui/inspector.js";
import { latest, messageOf } from "../ui/latest.js";
import { pythonOfTrace } from "../ui/parts.js";
import { KIND_NAMES } from "../ui/types.js";

const SIDE = 64;
const CAPTION = 20;

/** How heads can be ordered; null keeps layers and heads. */
const ORDERS = /** @type {Record<string, [string, ((one: any) => number) | null]>} */ ({
  place: ["layer and head", null],
  entropy: ["entropy, low first", (one) => one.entropy],
  distance: ["distance, near first", (one) => one.distance],
  confidence: ["confidence, high first", (one) => -one.confidence],
  importance: ["importance, high first", (one) => -(one.importance ?? -Infinity)],
});

const kept = { order: "place", label: "" };

/** @type {any} */
export const view = {
  id: "atlas",
  title: "Head atlas",
  about: "All heads at a glance: every thumbnail is one head's whole matrix",
  families: ["encoder-decoder", "decoder-only", "encoder-only"],
  /** @param {HTMLElement} stage @param {any} ctx */
  async mount(stage, ctx) {
    const { trace } = ctx;
    const sheets = h("div", { class: "stack" });
    const controls = h("div", { class: "controls" });
    const chosen = new Set();
    const tray = h("div", { class: "tray", hidden: true });
    stage.append(controls, tray, sheets);
    const [stats, ...tiles] = await Promise.all([ctx.source.heads(trace.id, { signal: ctx.signal }), ...trace.kinds.map((/** @type {string} */ kind) => ctx.source.atlas(trace.id, kind, { signal: ctx.signal }))]);
    /** @type {Map<string, any>} */
    const byName = new Map(stats.heads.map((/** @type {any} */ one) => [`${one.kind}.${one.layer}.${one.head}`, one]));
    /** @type {any[]} */
    let grids = [];
    let sweeping = false;
    const [averaging, meanOf] = [latest(), h("div")];

    function drawControls() {
      const labels = [...new Set(stats.heads.map((/** @type {any} */ one) => one.label))].sort();
      renew(
        controls,
        select({ label: "order", options: Object.entries(ORDERS).filter(([id]) => id !== "importance" || stats.heads.some((/** @type {any} */ one) => one.importance !== null)).map(([id, [text]]) => [id, text]), value: kept.order, onchange: (order) => ((kept.order = order), draw()) }),
        select({ label: "only", options: [["", "all heads"], ...labels.map((/** @type {any} */ one) => /** @type {[string, string]} */ ([one, one]))], value: kept.label, onchange: (label) => ((kept.label = label), draw()) }),
        ctx.source.live && ctx.level !== "tour" && button("Measure importance", () => sweep(), { title: "mute each head once and see how much less likely the output becomes" }),
        h("span", { class: "note" }, "Shift-click or Space selects several."),
      );
    }

    function draw() {
      grids = [];
      replace(sheets);
      trace.kinds.forEach((/** @type {string} */ kind, /** @type {number} */ at) => {
        const shape = trace.shapes[kind];
        const all = Array.from({ length: shape.layers * shape.heads }, (_, i) => i);
        const statOf = (/** @type {number} */ i) => byName.get(`${kind}.${Math.floor(i / shape.heads)}.${i % shape.heads}`);
        const by = ORDERS[kept.order][1];
        let order = kept.label ? all.filter((i) => statOf(i)?.label === kept.label) : all;
        if (by) order = [...order].sort((a, b) => by(statOf(a)) - by(statOf(b)));
        const inPlace = !by && !kept.label;
        const heading = h("div", { class: ["row", `kind-${kind}`] }, h("h3", null, KIND_NAMES[kind]), h("span", { class: "chip" }, `${order.length} of ${all.length} heads`));
        if (!order.length) {
          sheets.append(h("section", { class: "card" }, heading, h("p", { class: "note" }, "No head of that kind here.")));
          return;
        }
        grids.push(sheet({ kind, order, inPlace, tiles: squares(tiles[at]), shape, statOf, heading }));
      });
      mark(ctx.store.get());
    }

    /** @param {any} how */
    function sheet({ kind, order, inPlace, tiles: bytes, shape, statOf, heading }) {
      const columns = Math.min(inPlace ? shape.heads : Math.max(4, shape.heads), order.length);
      const rows = Math.ceil(order.length / columns);
      const nameAt = (/** @type {number} */ place) => ({ kind, layer: Math.floor(order[place] / shape.heads), head: order[place] % shape.heads });
      const card = h("section", { class: ["card", `kind-${kind}`] }, heading);
      const source = h("canvas");
      atlas(source, bytes, { count: order.length, side: SIDE, columns, gap: 0, table: sequential(ctx.theme), order });
      const say = (/** @type {number} */ i, /** @type {number} */ j) => {
        const place = i * columns + j;
        if (place >= order.length) return "empty";
        const one = statOf(order[place]);
        const at = nameAt(place);
        return `layer ${at.layer}, head ${at.head}: ${one ? `${one.label}, ${one.statistic} ${num3(one.value)}, entropy ${num3(one.entropy)}, mean distance ${num3(one.distance)}${one.importance !== null && one.importance !== undefined ? `, importance ${num3(one.importance)}` : ""}` : ""}${chosen.has(`${kind}.${at.layer}.${at.head}`) ? ", selected" : ""}`;
      };
      const pick = (/** @type {number} */ i, /** @type {number} */ j) => {
        const place = i * columns + j;
        if (place < order.length) ctx.select(nameAt(place), { replace: true });
      };
      const grid = gridPicture(ctx, {
        label: `${KIND_NAMES[kind]}: layers by heads`,
        rows,
        columns,
        rowName: (i) => (inPlace ? `layer ${i}` : `${i * columns + 1}`),
        columnName: (j) => (inPlace ? `head ${j}` : ""),
        say,
        cell: { w: [34, 132], square: false, tallness: (width) => (width < 60 ? width - 2 : width - 6 + CAPTION) },
        height: 10_000,
        lines: false,
        onhover: (i, j) => i >= 0 && describe(nameAt(Math.min(order.length - 1, i * columns + j))),
        onpick: pick,
        onopen: (i, j) => i * columns + j < order.length && ctx.select({ ...nameAt(i * columns + j), view: "head" }),
        onlayout: () => paint(),
      });
      grid.plane.classList.add("atlas-plane");
      grid.focusCell.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
        if (event.key !== " ") return;
        event.preventDefault();
        event.stopPropagation();
        const { i, j } = grid.at();
        toggle(nameAt(i * columns + j));
        paint();
        ctx.announce(say(i, j));
      }, { signal: ctx.signal });

      grid.plane.addEventListener("click", (/** @type {MouseEvent} */ event) => {
        if (!event.shiftKey && !event.ctrlKey && !event.metaKey) return;
        const { i, j } = grid.at();
        if (i * columns + j >= order.length) return;
        toggle(nameAt(i * columns + j));
        paint();
      }, { signal: ctx.signal });

      function paint() {
        const { width, height } = grid.cell();
        const ratio = window.devicePixelRatio || 1;
        const { canvas } = grid;
        canvas.width = Math.round(columns * width * ratio);
        canvas.height = Math.round(rows * height * ratio);
        const pen = canvas.getContext("2d");
        if (!pen) return;
        const style = getComputedStyle(card);
        const ink = resolve(card, "--muted");
        const ring = resolve(card, "--accent");
        const line = resolve(card, "--line");
        pen.imageSmoothingEnabled = width * ratio < SIDE;
        pen.scale(ratio, ratio);
        const inner = width < 60 ? width - 5 : Math.min(width - 8, height - CAPTION);
        for (let place = 0; place < order.length; place++) {
          const x = (place % columns) * width;
          const y = Math.floor(place / columns) * height;
          pen.drawImage(source, (place % columns) * SIDE, Math.floor(place / columns) * SIDE, SIDE, SIDE, x + 4, y + 2, inner, inner);
          pen.lineWidth = 1;
          pen.strokeStyle = line;
          pen.strokeRect(x + 4.5, y + 2.5, inner - 1, inner - 1);
          const at = nameAt(place);
          if (chosen.has(`${at.kind}.${at.layer}.${at.head}`)) {
            pen.lineWidth = 3;
            pen.strokeStyle = ring;
            pen.strokeRect(x + 5.5, y + 3.5, inner - 3, inner - 3);
          }
          const one = statOf(order[place]);
          pen.fillStyle = ink;
          pen.font = `11px ${style.fontFamily}`;
          const short = inPlace ? "" : `${at.layer}.${at.head} `;
          const text = one ? `${short}${kept.order === "importance" ? num3(one.importance) : one.label}` : short;
          if (inner > 44) pen.fillText(text, x + 4, y + inner + 15, inner);
        }
      }

      card.append(grid.element);
      sheets.append(card);
      grid.start();
      return { grid, kind, order, columns, nameAt, paint, say };
    }

    /** @param {{kind: string, layer: number, head: number}} at */
    function toggle(at) {
      const name = `${at.kind}.${at.layer}.${at.head}`;
      if (!chosen.delete(name)) chosen.add(name);
      drawTray();
    }

    function drawTray() {
      tray.hidden = chosen.size === 0;
      averaging(); // a mean on its way is of another choice
      replace(meanOf);
      if (tray.hidden) return;
      renew(
        tray,
        h("span", { class: "badge good" }, `${chosen.size} selected`),
        ctx.source.live && button("Mute them and run again", () => ctx.run({ interventions: [...trace.request.interventions, ...[...chosen].map((name) => spec(name, "mute"))] }), { class: "primary" }),
        button("Mean of them", () => mean()),
        button("Clear", () => {
          chosen.clear();
          drawTray();
          grids.forEach((one) => one.paint());
        }),
        meanOf,
      );
    }

    async function mean() {
      const last = averaging();
      const names = [...chosen];
      const kind = names[0].split(".")[0];
      const same = names.filter((name) => name.startsWith(`${kind}.`));
      try {
        const found = await Promise.all(same.map((name) => ctx.source.tensor(trace.id, `${name}.weights`, { signal: ctx.signal })));
        if (!last() || ctx.signal.aborted) return;
        const [rows, columns] = found[0].shape;
        const total = new Float32Array(rows * columns);
        for (const one of found) for (let i = 0; i < total.length; i++) total[i] += one.data[i] / found.length;
        const canvas = h("canvas", { class: "pixelated mean-picture", role: "img", aria: { label: `mean of ${same.length} heads` } });
        heatmap(canvas, total, rows, columns, { table: sequential(ctx.theme), code: Math.sqrt });
        replace(meanOf, h("figure", { class: "figure" }, canvas, h("figcaption", null, `mean of ${same.length} heads of ${KIND_NAMES[kind].toLowerCase()}, √ scale`)));
      } catch (error) {
        if (last() && !ctx.signal.aborted) ctx.toast(messageOf(error), true);
      }
    }

    async function sweep() {
      if (sweeping) return;
      sweeping = true;
      try {
        await ctx.source.stream(
          `traces/${trace.id}/sweep`,
          (/** @type {string} */ name, /** @type {any} */ data) => {
            if (name !== "head") return;
            const one = byName.get(`${data.kind}.${data.layer}.${data.head}`);
            if (one) one.importance = data.importance;
            replace(controls.lastElementChild, `muted ${data.done} of ${data.total} heads`);
          },
          { signal: ctx.signal, body: {} },
        );
        kept.order = "importance";
        ctx.announce("importance measured");
        drawControls();
        draw();
      } catch (error) {
        if (!ctx.signal.aborted) ctx.toast(messageOf(error), true);
      }
      sweeping = false;
    }

    /** @param {any} at */
    function describe(at) {
      const one = byName.get(`${at.kind}.${at.layer}.${at.head}`);
      const shape = trace.shapes[at.kind];
      ctx.inspect({
        title: `Layer ${at.layer}, head ${at.head}`,
        kind: at.kind,
        paper: "3.2.2",
        says: one ? ["Most weight lies: ", h("strong", null, one.label), ` (${one.statistic} `, num(one.value), "). The label says where weight lies and claims nothing more."] : undefined,
        equation: attentionFormula(),
        numbers: one
          ? [["entropy (nats)", one.entropy], ["of the largest possible", one.entropy_share], ["mean distance", one.distance], ["offset", one.offset], ["mean largest weight", one.confidence], ["importance", one.importance ?? "not measured"], ...(ctx.level === "expert" ? Object.entries(one.shares).map(([name, value]) => /** @type {[string, any]} */ ([`share ${name}`, value])) : []), ["Δ kernel", one.fidelity]]
          : [],
        shapes: [["weights", `${shape.queries} × ${shape.keys}`], ["thumbnail", `${Math.min(64, shape.queries)} × ${Math.min(64, shape.keys)}, largest of each patch, √`]],
        python: `${pythonOfTrace(ctx)}\ntrace.layers(${JSON.stringify(at.kind)})[${at.layer}].weights[${at.head}]`,
      });
    }

    /** @param {any} now */
    function mark(now) {
      for (const one of grids) {
        const place = one.kind === now.kind ? one.order.findIndex((/** @type {number} */ i) => i === now.layer * trace.shapes[now.kind].heads + now.head) : -1;
        one.grid.plane.classList.toggle("current", place >= 0);
        if (place >= 0) one.grid.select(Math.floor(place / one.columns), place % one.columns);
      }
      describe(now);
    }

    drawControls();
    draw();
    return {
      update: mark,
      picture: () => (grids.find((one) => one.kind === ctx.store.get().kind) ?? grids[0])?.grid.canvas ?? null,
      python: () => `${pythonOfTrace(ctx)}\nfrom glassformer.probe.heads import head_figures\n\nhead_figures(trace)`,
      table: () => ({
        caption: "All heads",
        columns: [{ label: "kind" }, { label: "layer", numeric: true }, { label: "head", numeric: true }, { label: "label" }, { label: "value", numeric: true }, { label: "entropy", numeric: true }, { label: "distance", numeric: true }, { label: "confidence", numeric: true }, { label: "importance", numeric: true }],
        count: stats.heads.length,
        row: (/** @type {number} */ i) => {
          const one = stats.heads[i];
          return [one.kind, one.layer, one.head, one.label, one.value, one.entropy, one.distance, one.confidence, one.importance ?? null];
        },
      }),
    };
  },
};

/** @param {string} name @param {string} type */
function spec(name, type) {
  const [kind, layer, head] = name.split(".");
  return { type, kind, layer: Number(layer), head: Number(head) };
}

/** Thumbnails stretched to squares, so that all have one size. @param {{shape: number[], data: any}} found */
function squares({ shape, data }) {
  const [layers, heads, rows, columns] = shape;
  const out = new Uint8Array(layers * heads * SIDE * SIDE);
  const fromX = Int32Array.from({ length: SIDE }, (_, x) => Math.floor((x * columns) / SIDE));
  for (let tile = 0; tile < layers * heads; tile++) {
    for (let y = 0; y < SIDE; y++) {
      const from = tile * rows * columns + Math.floor((y * rows) / SIDE) * columns;
      const to = (tile * SIDE + y) * SIDE;
      for (let x = 0; x < SIDE; x++) out[to + x] = data[from + fromX[x]];
    }
  }
  return out;
}
