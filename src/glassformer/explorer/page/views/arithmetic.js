/**
 * V6 Arithmetic: one query and one key, from the dot product to the state after the layer, in the model's own order.
 * @module
 */

import { bdi, formula, frac, h, mi, mn, mo, mtext, nameOf, num3, replace, root, row, sub, sup, visible } from "../dom.js";
import { button, renew, select, toggle } from "../ui/controls.js";
import { latest } from "../ui/latest.js";
import { headChoice, pythonOfTrace } from "../ui/parts.js";
import { tensorPanel } from "../ui/tensor.js";
import { keysOf, queriesOf } from "../ui/traces.js";
import { vector } from "../ui/vector.js";
import { aimAt } from "./weights.js";

const kept = { step: 1, unscaled: false };

/** @type {any} */
export const view = {
  id: "arithmetic",
  title: "Arithmetic",
  about: "One weight worked out with its real numbers, from the dot product to the state after the layer",
  families: ["encoder-decoder", "decoder-only", "encoder-only"],
  /** @param {HTMLElement} stage @param {any} ctx */
  async mount(stage, ctx) {
    const { trace } = ctx;
    const choice = h("div", { class: "controls" });
    const rail = h("ol", { class: "steps", aria: { label: "steps" } });
    const detail = h("section", { class: "card step-detail", tabIndex: -1 });
    const panel = tensorPanel(ctx, { pick: (patch) => ctx.select(patch, { replace: true }) });
    stage.append(choice, h("div", { class: "arithmetic" }, rail, h("div", { class: "stack" }, detail, panel.element)));
    /** @type {any} */ let cell = null;
    /** @type {any[]} */ let steps = [];
    const asking = latest();

    async function load() {
      const last = asking();
      const now = ctx.store.get();
      drawChoice(now);
      const found = await ctx.source.cell(trace.id, `${now.kind}.${now.layer}.${now.head}`, now.query, now.key, { signal: ctx.signal });
      if (!last()) return;
      const moved = cell && ["kind", "layer", "head"].some((name) => cell[name] !== found[name]);
      cell = found;
      if (moved) panel.close();
      draw();
    }

    /** @param {any} now */
    function drawChoice(now) {
      const list = (/** @type {any[]} */ tokens) => tokens.map((tok, i) => /** @type {[number, string]} */ ([i, `${i} ${visible(nameOf(tok))}`]));
      renew(
        choice,
        headChoice(trace.shapes, now, (patch) => ctx.select(patch)),
        select({ label: "query", options: list(queriesOf(trace, now.kind)), value: now.query, onchange: (query) => ctx.select({ query: Number(query) }, { replace: true }) }),
        select({ label: "key", options: list(keysOf(trace, now.kind)), value: now.key, onchange: (key) => ctx.select({ key: Number(key) }, { replace: true }) }),
        toggle({ label: "without ÷ √d_k", checked: kept.unscaled, title: "what the softmax would become without the division", onchange: (on) => ((kept.unscaled = on), cell && draw()) }),
      );
    }

    /** Open the tensor that a number stands in. @param {import("../ui/tensor.js").Place} place */
    function open(place) {
      panel.show(place, cell);
    }

    /** @param {string} path of a parameter */
    function learned(path) {
      aimAt(path);
      ctx.select({ view: "weights" });
    }

    function draw() {
      steps = stepsOf(ctx, cell);
      kept.step = Math.min(kept.step, steps.length - 1);
      renew(
        rail,
        steps.map((one, i) =>
          h("li", null, h("button", { type: "button", class: "step", aria: { current: i === kept.step ? "step" : null }, on: { click: () => go(i) } }, h("span", { class: "step-number" }, String(i + 1)), h("span", { class: "grow" }, one.title), one.result !== undefined && h("span", { class: "num step-result" }, typeof one.result === "number" ? num3(one.result) : one.result))),
        ),
      );
      const one = steps[kept.step];
      renew(
        detail,
        h("div", { class: "row" }, h("h3", { class: "grow" }, `${kept.step + 1}. ${one.title}`), button("← Back", () => go(kept.step - 1), { disabled: kept.step === 0 }), button("Next →", () => go(kept.step + 1), { disabled: kept.step === steps.length - 1, class: "primary" })),
        h("p", null, one.says),
        one.equation && h("div", { class: "equation", tabIndex: 0, role: "region", aria: { label: "equation" } }, one.equation),
        h("div", { class: "stack" }, one.show()),
        h(
          "p",
          { class: "step-links" },
          h("span", { class: "note" }, "These numbers stand in"),
          one.from.map((/** @type {any} */ place) => button(place.text, () => open(place), { class: "link mono", title: `${place.name}: the whole tensor`, data: { tensor: place.name } })),
          ctx.source.live && (one.learned ?? []).map((/** @type {[string, string]} */ [text, path]) => button(text, () => learned(path), { class: "link mono", title: `${path}: a learned matrix`, data: { parameter: path } })),
        ),
      );
      ctx.inspect(cardOf(ctx, cell, one, open));
    }

    /** @param {number} to */
    function go(to) {
      kept.step = Math.max(0, Math.min(steps.length - 1, to));
      draw();
      ctx.announce(`${kept.step + 1}: ${steps[kept.step].title}${steps[kept.step].result === undefined ? "" : `, ${typeof steps[kept.step].result === "number" ? num3(steps[kept.step].result) : ""}`}`);
    }

    await load();
    return {
      update: () => load().catch((error) => !ctx.signal.aborted && ctx.error(error)),
      /** @param {KeyboardEvent} event */
      key(event) {
        if (event.key === "Escape") ctx.select({ view: "head" });
        else if (event.key === "ArrowRight") go(kept.step + 1);
        else if (event.key === "ArrowLeft") go(kept.step - 1);
        else return false;
        return true;
      },
      python: () => pythonOf(ctx, cell),
      table: () => ({
        caption: "Query, key and their products by dimension",
        columns: [{ label: "dimension", numeric: true }, { label: "q", numeric: true }, { label: "k", numeric: true }, { label: "q·k", numeric: true }],
        count: cell?.q.length ?? 0,
        row: (/** @type {number} */ i) => [i, cell.q[i], cell.k[i], cell.products[i]],
      }),
    };
  },
};

/** @param {any} ctx @param {any} cell */
function pythonOf(ctx, cell) {
  const { kind, layer, head, query, key } = cell;
  return `${pythonOfTrace(ctx)}\nlayer = trace.layers(${JSON.stringify(kind)})[${layer}]\nq, k = layer.q[${head}, ${query}], layer.k[${head}, ${key}]\nprint(q @ k, layer.scores[${head}, ${query}, ${key}], layer.weights[${head}, ${query}, ${key}])`;
}

/** A node stands in one place only. @param {any} says */
const copied = (says) => (Array.isArray(says) ? says.map((part) => (part instanceof Node ? part.cloneNode(true) : part)) : says);

/** @param {any} ctx @param {any} cell @param {any} one @param {(place: import("../ui/tensor.js").Place) => void} open */
function cardOf(ctx, cell, one, open) {
  const linked = (/** @type {string} */ name, /** @type {string} */ what) => button(name, () => open(placeIn(cell, what)), { class: "link", title: "the whole tensor" });
  return {
    title: one.title,
    kind: cell.kind,
    paper: one.paper ?? "3.2.1",
    equation: formula(sub(mi("α"), mtext(`${cell.query},${cell.key}`)), mo("="), frac(sup(mi("e"), sub(mi("s"), mn(String(cell.key)))), row(mo("∑"), sup(mi("e"), sub(mi("s"), mi("j")))))),
    says: copied(one.says),
    numbers: [[linked("q·k", "raw"), cell.dot], ["scale", cell.scale], [linked("scaled", "scaled"), cell.scaled], [linked("bias", "bias"), cell.bias], [linked("score", "scores"), cell.allowed ? cell.score : "masked"], [linked("weight α", "weights"), cell.weight], ["denominator", cell.row.denominator], ["Δ kernel", cell.fidelity]],
    shapes: [["q, k", String(cell.d_k)], ["v", String(cell.d_v)], ["state", String(cell.d_model)]],
    python: pythonOf(ctx, cell),
  };
}

/** Where a number of a head stands. @param {any} cell @param {string} what @returns {import("../ui/tensor.js").Place} */
function placeIn(cell, what) {
  const square = ["raw", "scaled", "bias", "scores", "weights"].includes(what);
  return { name: `${cell.kind}.${cell.layer}.${cell.head}.${what}`, text: what, rows: what === "k" || what === "v" ? "key" : "query", square };
}

/** The learned matrix of an attention, by its name in the model. @param {any} cell @param {"query" | "key" | "value" | "output"} part @returns {[string, string]} */
function learnedIn(cell, part) {
  const stack = cell.kind === "enc" ? "encoder" : "decoder";
  return [`W_${part[0].toUpperCase()}`, `${stack}.blocks.${cell.layer}.${cell.kind === "cross" ? "cross_attention" : "attention"}.${part}.weight`];
}

/** The way of the numbers, in this model's order. @param {any} ctx @param {any} cell */
function stepsOf(ctx, cell) {
  const { trace } = ctx;
  const keys = keysOf(trace, cell.kind);
  const q = h("strong", { class: "mono" }, bdi(visible(nameOf(queriesOf(trace, cell.kind)[cell.query] ?? {}))));
  const k = h("strong", { class: "mono" }, bdi(visible(nameOf(keys[cell.key] ?? {}))));
  const both = (/** @type {any[]} */ ...nodes) => nodes.map((node) => (node instanceof Node ? node.cloneNode(true) : node));
  const keyName = (/** @type {number} */ j) => `key ${j} ${visible(nameOf(keys[j] ?? {}))}`;
  const hue = `--${cell.kind}`;
  const of = (/** @type {string[]} */ ...names) => names.map((name) => placeIn(cell, name));
  const state = (/** @type {any} */ one) => ({ name: one.tensor, text: one.label, rows: "query" });
  const steps = [];
  const last = cell.before[cell.before.length - 1];
  steps.push({
    title: cell.before.length > 1 ? "State, normalised" : "State of the query",
    paper: "3.1",
    says: both("The query token ", q, ` arrives at layer ${cell.layer} as ${cell.d_model} numbers`, cell.before.length > 1 ? ", is normalised, and is projected to a query." : " and is projected to a query."),
    equation: formula(mi("q"), mo("="), mi("x"), sub(mi("W"), mi("Q"))),
    show: () => cell.before.map((/** @type {any} */ one) => vector(ctx, { label: one.label, values: one.value, colour: hue, note: one.op === "norm" ? h("span", { class: "note" }, `deviation ${num3(one.deviation)}`) : null })),
    result: last ? `‖x‖ ${num3(Math.hypot(...last.value))}` : undefined,
    from: cell.before.map(state),
    learned: [learnedIn(cell, "query")],
  });
  const most = Math.max(...cell.q.map(Math.abs), ...cell.k.map(Math.abs));
  steps.push({
    title: "Multiply by dimension and add",
    says: both("The query of ", q, " and the key of ", k, ` are multiplied number by number; the ${cell.d_k} products are added up.`),
    equation: formula(mi("q"), mo("·"), mi("k"), mo("="), mo("∑"), sub(mi("q"), mi("i")), sub(mi("k"), mi("i")), mo("="), mn(cell.dot)),
    show: () => [vector(ctx, { label: "q", values: cell.q, most, colour: hue }), vector(ctx, { label: "k", values: cell.k, most, colour: hue }), vector(ctx, { label: "q ⊙ k", values: cell.products, sum: cell.dot, height: 84, colour: hue })],
    result: cell.dot,
    from: of("q", "k", "raw"),
    learned: [learnedIn(cell, "query"), learnedIn(cell, "key")],
  });
  steps.push({
    title: "Divide by √d_k",
    says: `Sums of ${cell.d_k} products are large; divided by √${cell.d_k} ≈ ${num3(Math.sqrt(cell.d_k))} they keep a size at which the softmax is not yet saturated.`,
    equation: formula(frac(mn(cell.dot), root(mn(String(cell.d_k)))), mo("="), mn(cell.scaled)),
    show: () => [
      h("p", { class: "note" }, "The whole row with the division (above) and without it (below): without it, one key takes nearly everything."),
      vector(ctx, { label: "weights of the row", values: cell.row.weights, names: keyName, mark: cell.key, most: 1, colour: hue }),
      vector(ctx, { label: "without the division", values: cell.saturation.weights, names: keyName, mark: cell.key, most: 1, colour: hue }),
    ],
    result: cell.scaled,
    from: of("raw", "scaled"),
  });
  const masked = cell.row.scores.filter((/** @type {any} */ s) => s === null).length;
  steps.push({
    title: "Bias and mask",
    says: [cell.bias !== 0 ? `Positions add ${num3(cell.bias)} to this score. ` : "This model adds nothing to the score here. ", masked ? `${masked} of ${cell.row.scores.length} keys are masked: their score is −∞ and their weight exactly 0. ` : "No key of this row is masked. ", cell.allowed ? "" : "This very key is masked."],
    equation: formula(mi("s"), mo("="), mn(cell.scaled), mo("+"), mn(cell.bias), mo("="), cell.allowed ? mn(cell.score) : mtext("−∞")),
    show: () => [vector(ctx, { label: "scores of the row", values: cell.row.scores.map((/** @type {any} */ s) => s ?? NaN), names: keyName, mark: cell.key, height: 84, colour: hue })],
    result: cell.allowed ? cell.score : "masked",
    from: [...of("bias"), { name: `${cell.kind}.mask`, text: "mask", rows: "query", square: true }, ...of("scores")],
  });
  const unscaled = kept.unscaled;
  steps.push({
    title: unscaled ? "Softmax, without ÷ √d_k" : "Softmax",
    says: unscaled ? `Without the division this weight would be ${num3(cell.saturation.weight)} instead of ${num3(cell.weight)}.` : ["Each score becomes e to its power (the largest is taken off first, which changes nothing but keeps numbers small); divided by their sum they add up to 1.", cell.intervened ? " An intervention then changed this weight." : ""],
    equation: cell.allowed && cell.row.max !== null ? formula(mi("α"), mo("="), frac(sup(mi("e"), row(mn(cell.score), mo("−"), mn(cell.row.max))), mn(cell.row.denominator)), mo("="), frac(mn(cell.exponential), mn(cell.row.denominator)), mo("="), mn(cell.weight)) : formula(mi("α"), mo("="), mn(cell.weight)),
    show: () => [
      vector(ctx, { label: "e^(score − largest)", values: cell.row.exponentials, names: keyName, mark: cell.key, most: 1, sum: cell.row.denominator, colour: hue }),
      vector(ctx, { label: unscaled ? "weights without the division" : "weights", values: unscaled ? cell.saturation.weights : cell.row.weights, names: keyName, mark: cell.key, most: 1, height: 84, colour: hue }),
    ],
    result: unscaled ? cell.saturation.weight : cell.weight,
    from: of("scores", "weights"),
  });
  const mostV = Math.max(...cell.v.map(Math.abs));
  steps.push({
    title: "Weigh the value",
    says: both("The value of ", k, ` (${cell.d_v} numbers) is multiplied by the weight ${num3(cell.weight)}.`),
    equation: formula(mi("α"), mi("v"), mo("="), mn(cell.weight), mo("·"), mi("v")),
    show: () => [vector(ctx, { label: "v", values: cell.v, most: mostV, colour: hue }), vector(ctx, { label: "α · v", values: cell.contribution, most: mostV, colour: hue })],
    result: `‖αv‖ ${num3(Math.hypot(...cell.contribution))}`,
    from: of("weights", "v"),
    learned: [learnedIn(cell, "value")],
  });
  const mostC = Math.max(...cell.context.map(Math.abs), ...cell.contribution.map(Math.abs));
  steps.push({
    title: "Add up over all keys",
    says: `The weighted values of all ${cell.row.weights.length} keys add up to this head's output for the query. The upper strip is this key's part of it.`,
    equation: formula(mi("z"), mo("="), mo("∑"), sub(mi("α"), mi("j")), sub(mi("v"), mi("j"))),
    show: () => [vector(ctx, { label: "this key's part", values: cell.contribution, most: mostC, colour: hue }), vector(ctx, { label: "output of the head", values: cell.context, most: mostC, height: 84, colour: hue })],
    result: `‖z‖ ${num3(Math.hypot(...cell.context))}`,
    from: of("weights", "v", "context"),
  });
  for (const one of cell.after) {
    const value = `‖·‖ ${num3(Math.hypot(...one.value))}`;
    if (one.op === "project") {
      steps.push({
        title: "Join the heads, project",
        paper: "3.2.2",
        says: `The outputs of all heads stand side by side, ${cell.concat.width} numbers, of which this head fills ${cell.concat.start} to ${cell.concat.stop - 1}; a learned matrix mixes them${one.bias ? " and a bias is added" : ""}. The lower strip is this head's share.`,
        equation: formula(mi("o"), mo("="), mi("concat"), mo("("), sub(mi("z"), mn("0")), mo("…"), mo(")"), sub(mi("W"), mi("O"))),
        show: () => [vector(ctx, { label: one.label, values: one.value, colour: hue }), vector(ctx, { label: "this head's share", values: one.share, most: Math.max(...one.value.map(Math.abs)), colour: hue })],
        result: value,
        from: [...of("context"), state(one)],
        learned: [learnedIn(cell, "output")],
      });
    } else if (one.op === "norm") {
      steps.push({
        title: one.norm === "rms" ? "RMSNorm" : "Layer norm",
        paper: "3.1",
        says: one.norm === "rms" ? `Divided by its own size (${num3(one.deviation)}) and scaled by learned numbers.` : `Its mean (${num3(one.mean)}) is taken off, it is divided by its deviation (${num3(one.deviation)}), then scaled and shifted by learned numbers.`,
        equation: one.norm === "rms" ? formula(frac(mi("x"), mtext("rms")), mo("·"), mi("g")) : formula(frac(row(mi("x"), mo("−"), mi("μ")), mi("σ")), mo("·"), mi("g"), mo("+"), mi("b")),
        show: () => [vector(ctx, { label: one.label, values: one.value, height: 84, colour: hue })],
        result: value,
        from: [state(one)],
      });
    } else {
      steps.push({
        title: "Add to the state",
        paper: "3.1",
        says: "What attention found is added to what the token already was: the residual connection.",
        equation: formula(mi("x"), mo("+"), mi("attention"), mo("("), mi("x"), mo(")")),
        show: () => [vector(ctx, { label: one.label, values: one.value, height: 84, colour: hue })],
        result: value,
        from: [state(one)],
      });
    }
  }
  return steps;
}
