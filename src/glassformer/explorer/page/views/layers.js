/**
 * V8 Layers: what each layer did to each token, and what the output layer would say at every depth (logit lens).
 * @module
 */

import { bdi, formula, h, mi, mo, mtext, num, num3, percent, replace, row, sub, token, visible } from "../dom.js";
import { cssOf, inkOn, sequential } from "../draw/colour.js";
import { mean } from "../math/statistics.js";
import { chart, dashOf } from "../ui/chart.js";
import { renew, segmented } from "../ui/controls.js";
import { gridPicture } from "../ui/grid.js";
import { labelledPicture, matrix } from "../ui/matrix.js";
import { bar, card, figures, nothing, pieceOf, pythonOfTrace, pythonText } from "../ui/parts.js";

const WRITTEN = 96;
const MORE = 10;
/** @type {Record<string, string>} */
const STACKS = { enc: "encoder", dec: "decoder" };
/** @type {Record<string, string>} */
const PARTS = { attention: "self-attention", cross: "cross-attention", feed_forward: "feed-forward" };
/** @type {Record<string, string>} */
const HUES = { attention: "var(--kind)", cross: "var(--cross)", feed_forward: "var(--good)" };
/** @type {Record<string, string>} */
const MEASURES = {
  lens: "Each cell: the most likely token if the state at this depth went straight to the output layer. Framed: it is the token that was chosen.",
  norm: "Each cell: the length ‖x‖ of a token's state at this depth.",
  cosine: "Each cell: the cosine between a token's state and the same token's state one layer before; 1 is unchanged in direction.",
  share: "Each cell: length of what a sub-layer adds, as a share of the state's and the update's lengths together.",
};

/** What the reader looks at: it stays while sentences change. */
const kept = { measure: "lens", stack: "dec" };

/** @type {import("../ui/types.js").View} */
export const view = {
  id: "layers",
  title: "Layers",
  about: "How far each layer moved each token, and what the output layer would say at every depth",
  families: ["encoder-decoder", "decoder-only", "encoder-only"],
  async mount(stage, ctx) {
    const asked = { signal: ctx.signal };
    const [layers, lens] = await Promise.all([
      ctx.source.json(`traces/${ctx.trace.id}/layers`, asked),
      ctx.trace.lens.length ? ctx.source.lens(ctx.trace.id, asked) : null,
    ]);
    return layersView(stage, ctx, layers.stacks, lens);
  },
};

/** @param {HTMLElement} stage @param {any} ctx @param {Record<string, any>} stacks @param {any} lens @returns {import("../ui/types.js").Mounted} */
function layersView(stage, ctx, stacks, lens) {
  const names = Object.keys(stacks);
  if (!stacks[kept.stack]) kept.stack = names[names.length - 1];
  /** @type {AbortController} */
  let life = new AbortController();
  /** @type {any} */
  let shown = null;
  let at = { depth: 0, place: ctx.store.get().step };

  const controls = h("div", { class: "controls" });
  const says = h("p", { class: "note" });
  const board = h("div", { class: "board" });
  const cell = h("section", { class: "card", aria: { label: "the chosen cell" } });
  const shares = chart(ctx, { label: "What sub-layers add, by layer", xLabel: "layer", yLabel: "mean share", height: 200 });
  const units = h("div", { class: "units" });
  stage.append(
    h("section", { class: "card", aria: { label: "states by layer" } }, controls, says, board),
    h("div", { class: "columns" }, cell, h("div", { class: "stack" }, card("What sub-layers add, on average", shares.element), card("Feed-forward units", units))),
  );
  ctx.signal.addEventListener("abort", () => life.abort());

  const tokens = () => ctx.trace.tokens[kept.stack === "enc" ? "source" : "target"];
  const stackNow = () => stacks[kept.stack];
  const lensHere = () => (lens && lens.stack === kept.stack ? lens : null);
  /** @param {number} depth */
  const depthName = (depth) => (depth === 0 ? "input" : `layer\u2009${depth - 1}`) /* a thin space: other spaces are drawn in labels */;

  function draw() {
    if (kept.measure === "lens" && !lensHere()) kept.measure = "norm";
    life.abort();
    life = new AbortController();
    /** @type {[string, string][]} */
    const measures = [["norm", "length"], ["cosine", "cosine to the layer before"], ["share", "attention or feed-forward"]];
    if (lensHere()) measures.unshift(["lens", "logit lens"]);
    renew(
      controls,
      names.length > 1 && segmented({ label: "stack", options: names.map((name) => [name, STACKS[name]]), value: kept.stack, onchange: (value) => { kept.stack = value; draw(); } }),
      segmented({ label: "show", options: measures, value: kept.measure, onchange: (value) => { kept.measure = value; draw(); } }),
    );
    stage.classList.toggle("kind-enc", kept.stack === "enc");
    stage.classList.toggle("kind-dec", kept.stack === "dec");
    says.textContent = MEASURES[kept.measure];
    shown = kept.measure === "lens" ? drawLens() : drawMeasure();
    replace(board, shown.element);
    shown.start();
    at.place = Math.min(at.place, tokens().length - 1);
    at.depth = Math.min(at.depth || stackNow().depths - 1, stackNow().depths - 1);
    shown.go(at.depth, at.place);
    drawShares();
    showCell();
  }

  /** Pictures stand with the last depth on top, as the paper draws its stacks. @param {number} i */
  const depthOf = (i) => stackNow().depths - 1 - i;

  function drawLens() {
    const { cells, depths } = lensHere();
    const list = tokens();
    const written = list.length <= WRITTEN;
    const table = sequential(ctx.theme);
    /** @param {number} i @param {number} j */
    const say = (i, j) => {
      const found = cells[depthOf(i)][j];
      const best = found.top[0];
      const chosen = found.chosen ? `; the chosen one has rank ${found.chosen.rank}` : "";
      return `${depthName(depthOf(i))}, token ${pieceOf(list[j])}: ${visible(best.piece)} ${percent(best.p)}${chosen}`;
    };
    const grid = gridPicture(ctx, /** @type {any} */ ({
      label: "Logit lens: the most likely token by depth and position",
      rows: depths,
      columns: list.length,
      rowName: (/** @type {number} */ i) => depthName(depthOf(i)),
      columnName: (/** @type {number} */ j) => pieceOf(list[j]),
      columnSpecial: (/** @type {number} */ j) => list[j].special,
      say,
      axes: ["depth", "token"],
      cell: written ? { w: [58, 104], h: [30, 34], square: false } : { w: [3, 10], h: [18, 26], square: false },
      signal: life.signal,
      onpick: (/** @type {number} */ i, /** @type {number} */ j) => pick(depthOf(i), j),
      onhover: (/** @type {number} */ i, /** @type {number} */ j) => (grid.element.title = i < 0 ? "" : say(i, j)),
    }));
    grid.canvas.classList.remove("pixelated");
    const paint = () => paintLens(grid, { cells, depths, count: list.length, depthOf, written, table });
    const watcher = new ResizeObserver(paint);
    watcher.observe(grid.plane);
    life.signal.addEventListener("abort", () => watcher.disconnect());
    return {
      element: grid.element,
      start: () => { grid.start(); paint(); },
      go: (/** @type {number} */ depth, /** @type {number} */ place) => grid.select(depths - 1 - depth, place),
      picture: () => labelledPicture({ canvas: grid.canvas, rows: Array.from({ length: depths }, (_, i) => depthName(depthOf(i))), columns: list.map(pieceOf), title: "Logit lens", theme: ctx.theme }),
    };
  }

  function drawMeasure() {
    const found = stackNow();
    const list = tokens();
    const parts = kept.measure === "share";
    const lines = parts ? found.updates.map((/** @type {any} */ each) => each.share) : found[kept.measure];
    const count = lines.length;
    const rows = Array.from({ length: count }, (_, i) => {
      const source = count - 1 - i;
      return parts ? `${found.updates[source].layer}\u2009${PARTS[found.updates[source].sublayer]}` : depthName(source);
    });
    const data = Float32Array.from(rows.flatMap((_, i) => lines[count - 1 - i].map((/** @type {number | null} */ x) => x ?? NaN)));
    const picture = matrix(ctx, {
      label: `${view.title}: ${kept.measure}`,
      rows,
      columns: list.map(pieceOf),
      value: { norm: "length", cosine: "cosine", share: "share" }[kept.measure],
      rowWord: "depth",
      columnWord: "token",
      axes: [parts ? "sub-layer" : "depth", "token"],
      both: kept.measure === "cosine",
      cell: { w: [3, 72], h: [20, 32], square: false },
      signal: life.signal,
      onpick: (i, j) => pick(parts ? found.updates[count - 1 - i].layer + 1 : count - 1 - i, j),
    });
    picture.paint(data, kept.measure === "norm" ? {} : { most: 1 });
    const scale = h("p", { class: "note scale-note" }, kept.measure === "norm" ? ["strongest colour: ", num(Math.max(...data.filter(Number.isFinite)))] : kept.measure === "cosine" ? "blue −1 · no colour 0 · orange 1" : "no colour 0 · strongest colour 1");
    return {
      element: h("div", { class: "stack" }, picture.element, scale),
      start: picture.start,
      go: (/** @type {number} */ depth, /** @type {number} */ place) => picture.select(parts ? Math.max(0, count - depth * found.sublayers.length) : count - 1 - depth, place),
      picture: picture.picture,
    };
  }

  /** @param {number} depth @param {number} place */
  function pick(depth, place) {
    at = { depth, place };
    showCell();
  }

  async function showCell() {
    const { depth, place } = at;
    const list = tokens();
    const found = stackNow();
    const layer = depth - 1;
    const updates = found.updates.filter((/** @type {any} */ each) => each.layer === layer);
    const ready = lensHere()?.cells[depth]?.[place] ?? null;
    const guesses = h("div", { class: "guesses" });
    replace(
      cell,
      h("h3", null, "At ", depthName(depth), ", ", token({ text: pieceOf(list[place]), id: list[place].id, special: list[place].special })),
      figures([
        ["length ‖x‖", found.norm[depth][place], "of the state"],
        ["cosine to the layer before", found.cosine[depth][place], "1: same direction"],
        ...updates.map((/** @type {any} */ each) => [`${PARTS[each.sublayer]} adds`, percent(each.share[place]), `length ${num3(each.norm[place])}, as a share of state and update`]),
      ]),
      guesses,
    );
    showUnits();
    inspect(ready);
    if (!ready) return;
    list10(guesses, ready.top, ready);
    if (!ctx.source.live) return;
    const { signal } = life; // `life` is another one as soon as the reader chooses something else
    try {
      const more = await ctx.source.json(`traces/${ctx.trace.id}/lens/${depth}/${place}?k=${MORE}`, { signal });
      if (at.depth === depth && at.place === place) list10(guesses, more.top ?? more.cell?.top ?? ready.top, more);
    } catch (error) {
      if (!signal.aborted) ctx.error(error);
    }
  }

  /** @param {HTMLElement} box @param {any[]} top @param {any} found */
  function list10(box, top, found) {
    replace(
      box,
      h("h4", null, `The output layer here: ${top.length} most likely`),
      h(
        "ol",
        { class: "bars-list" },
        top.map((each) => {
          const line = bar(kept.stack);
          line.set(each.p, num3(each.p), String(each.p));
          return h("li", null, token({ text: each.piece, id: each.id }), line.element);
        }),
      ),
      h("p", { class: "note" }, "entropy ", num(found.entropy), " nats", found.chosen && [" · chosen token: rank ", num(found.chosen.rank), ", p ", num(found.chosen.p)]),
    );
  }

  function showUnits() {
    const found = stackNow().feed_forward;
    const { depth, place } = at;
    const layer = Math.max(0, depth - 1);
    const here = found.find((/** @type {any} */ each) => each.layer === layer);
    replace(
      units,
      h("p", { class: "note" }, "Share of units above 0, over all tokens:"),
      h(
        "ol",
        { class: "bars-list narrow" },
        found.map((/** @type {any} */ each) => {
          const line = bar();
          line.set(each.active, percent(each.active), String(each.active));
          return h("li", { class: each.layer === layer && "on" }, h("span", null, `layer ${each.layer}`), line.element);
        }),
      ),
      here && here.top[place] && [
        h("h4", null, `Largest of ${here.units} units, layer ${layer}, `, token({ text: pieceOf(tokens()[place]) })),
        h("ul", { class: "unit-list" }, here.top[place].map((/** @type {any} */ each) => h("li", null, `unit ${each.unit}`, " ", num(each.value)))),
      ],
    );
  }

  function drawShares() {
    const found = stackNow();
    shares.draw({
      xWhole: true,
      xText: (x) => `layer ${x}`,
      series: found.sublayers.map((/** @type {string} */ name, /** @type {number} */ i) => {
        const own = found.updates.filter((/** @type {any} */ each) => each.sublayer === name);
        return { name: PARTS[name], x: own.map((/** @type {any} */ each) => each.layer), y: own.map((/** @type {any} */ each) => mean(each.share)), colour: HUES[name], dash: dashOf(i), dots: true };
      }),
    });
  }

  /** @param {any} found */
  function inspect(found) {
    const { depth, place } = at;
    const architecture = ctx.trace.architecture;
    ctx.inspect({
      title: `${STACKS[kept.stack]}, ${depthName(depth)}`,
      kind: kept.stack,
      paper: "3.1",
      equation: found && formula(mi("p"), mo("="), mtext("softmax"), mo("("), architecture.final_norm ? row(mtext("norm"), mo("("), sub(mi("x"), mi(String(depth))), mo(")")) : sub(mi("x"), mi(String(depth))), sub(mi("W"), mtext("out")), mo(")")),
      says: found
        ? ["If the state at this depth went straight to the output layer, ", bdi(visible(found.top[0].piece)), " would have a probability of ", num(found.top[0].p), ". Only the last depth was trained to be read like this."]
        : "A residual stream: every sub-layer adds to the state that came in.",
      numbers: [["length ‖x‖", stackNow().norm[depth][place]], ["cosine to the layer before", stackNow().cosine[depth][place]], ...(found ? [["entropy", found.entropy]] : [])],
      shapes: [["x", `[${tokens().length}, ${architecture.d_model}]`]],
      python: python(),
    });
  }

  function python() {
    const lines = [pythonOfTrace(ctx), "", "from glassformer.probe.lens import depths, lens_logits", "", `x = depths(trace, ${pythonText(kept.stack)})[${at.depth}]   # (token, d_model)`];
    if (lensHere()) lines.push(`p = lens_logits(trace, ${at.depth})[${at.place}].softmax(-1)`);
    return lines.join("\n");
  }

  if (!names.length) {
    stage.replaceChildren(nothing("This trace holds no states."));
    return {};
  }
  draw();
  return {
    update(now, before) {
      if (now.step !== before.step && kept.stack === "dec") {
        at.place = Math.min(now.step, tokens().length - 1);
        shown.go(at.depth, at.place);
        showCell();
      }
    },
    table() {
      const found = stackNow();
      const list = tokens();
      const cells = lensHere()?.cells;
      return {
        caption: `States of the ${STACKS[kept.stack]} by depth and token`,
        columns: [{ label: "depth", numeric: true }, { label: "position", numeric: true }, { label: "token" }, { label: "length", numeric: true }, { label: "cosine", numeric: true }, ...(cells ? [{ label: "lens" }, { label: "p", numeric: true }, { label: "rank of chosen", numeric: true }] : [])],
        count: found.depths * list.length,
        row: (i) => {
          const [depth, place] = [Math.floor(i / list.length), i % list.length];
          const lensed = cells ? [visible(cells[depth][place].top[0].piece), cells[depth][place].top[0].p, cells[depth][place].chosen?.rank ?? null] : [];
          return [depth, place, pieceOf(list[place]), found.norm[depth][place], found.cosine[depth][place], ...lensed];
        },
      };
    },
    picture: () => shown.picture(),
    python,
  };
}

/**
 * Cells with their best token written in them, or coloured alone where there are too many.
 * @param {any} grid
 * @param {{cells: any[][], depths: number, count: number, depthOf: (i: number) => number, written: boolean, table: Uint32Array}} how
 */
function paintLens(grid, { cells, depths, count, depthOf, written, table }) {
  const { width, height } = grid.cell();
  const ratio = written ? Math.min(2, window.devicePixelRatio || 1) : 1;
  const canvas = grid.canvas;
  canvas.width = Math.max(1, Math.min(16000, Math.round(width * count * ratio)));
  canvas.height = Math.max(1, Math.round(height * depths * ratio));
  const pen = canvas.getContext("2d");
  pen.setTransform(canvas.width / (width * count), 0, 0, ratio, 0, 0);
  pen.font = `12px ${getComputedStyle(grid.element).getPropertyValue("--mono") || "monospace"}`;
  pen.textBaseline = "middle";
  pen.textAlign = "center";
  for (let i = 0; i < depths; i++) {
    for (let j = 0; j < count; j++) {
      const found = cells[depthOf(i)][j];
      const strength = Math.sqrt(found.top[0].p);
      pen.fillStyle = cssOf(table, strength);
      pen.fillRect(j * width, i * height, width - (written ? 1 : 0), height - 1);
      if (!written) continue;
      pen.fillStyle = inkOn(table, strength);
      const text = visible(found.top[0].piece);
      pen.fillText(text.length > 11 ? `${text.slice(0, 10)}…` : text, (j + 0.5) * width, (i + 0.5) * height, width - 8);
      if (found.chosen?.rank === 1) {
        pen.strokeStyle = pen.fillStyle;
        pen.globalAlpha = 0.75;
        pen.lineWidth = 1.5;
        pen.strokeRect(j * width + 2.5, i * height + 2.5, width - 6, height - 6);
        pen.globalAlpha = 1;
      }
    }
  }
}
