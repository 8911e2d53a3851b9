/**
 * V11 What-if: change something inside, run again, and see what became of the output.
 * @module
 */

import { bdi, h, num, num3, replace, token, visible } from "../dom.js";
import { button, renew, select } from "../ui/controls.js";
import { latest, messageOf } from "../ui/latest.js";
import { tokenDifference, wordDifference } from "../ui/change.js";
import { matrix } from "../ui/matrix.js";
import { card, figures, loading, pieceOf, pythonOf, pythonOfTrace, tokensOf } from "../ui/parts.js";
import { KINDS, KIND_NAMES, KIND_SHORT } from "../ui/types.js";

/** @type {Record<string, string>} */
const TYPES = {
  mute: "mute a head",
  keep: "keep only some heads",
  uniform: "spread a head evenly",
  edge: "set one weight",
  block: "forbid a look",
  scale: "divide by something else than √d_k",
  positions: "drop or shift positions",
  feed_forward: "leave out a feed-forward network",
  swap: "another word in the input",
  force: "another token in the output",
  causal: "let the decoder see ahead",
};
const LIMIT = 64;

/** The list under construction: it stays while one looks elsewhere. @type {{list: any[], type: string}} */
const kept = { list: [], type: "mute" };

/** @type {import("../ui/types.js").View} */
export const view = {
  id: "what-if",
  title: "What-if",
  about: "Mute a head, forbid a look, force a word: run again and see what became of the output",
  families: ["encoder-decoder", "decoder-only", "encoder-only"],
  live: true,
  mount(stage, ctx) {
    return whatIf(stage, ctx);
  },
};

/** @param {HTMLElement} stage @param {any} ctx @returns {import("../ui/types.js").Mounted} */
function whatIf(stage, ctx) {
  const trace = ctx.trace;
  const family = trace.family;
  const kinds = KINDS.filter((kind) => trace.kinds.includes(kind));
  const now = ctx.store.get();
  /** @type {any} */
  let draft = {};
  /** @type {any} */
  let shown = null;
  /** @type {any} */
  let moved = null;
  /** @type {Map<string, Float32Array>} */
  const importance = new Map();
  let life = new AbortController();
  let sweepLife = new AbortController();
  const askingDelta = latest();
  kept.list = kept.list.filter(fits);
  ctx.signal.addEventListener("abort", () => {
    life.abort();
    sweepLife.abort();
  });

  const form = h("div", { class: "what-form" });
  const list = h("div", { class: "what-list" });
  const outcome = h("div", { class: "stack", role: "region", aria: { label: "what changed" } });
  const sweep = h("div", { class: "sweep" });
  stage.append(
    h("section", { class: "card", aria: { label: "what to change" } }, h("h3", null, "Change"), form, list),
    outcome,
    card(
      "Mute each head once",
      h("p", { class: "note" }, "The same output is read again with one head silent at a time. The figure is the fall of its log-probability: above 0 the output became less likely, below 0 more likely."),
      sweep,
    ),
  );

  /** Whether a change that was made for another trace can be made to this one. @param {any} each */
  function fits(each) {
    const shape = each.kind ? trace.shapes[each.kind] : each.stack ? trace.shapes[each.stack] : null;
    if ((each.kind || each.stack) && !shape) return false;
    if (shape && ((each.layer ?? 0) >= shape.layers || (each.head ?? 0) >= shape.heads)) return false;
    if (shape && ((each.query ?? 0) >= shape.queries || (each.key ?? 0) >= shape.keys)) return false;
    if ((each.step ?? 0) >= Math.max(1, trace.steps.length) || (each.word ?? 0) >= Math.max(1, (trace.words.source ?? []).length)) return false;
    return types().includes(each.type);
  }

  /** @returns {string[]} */
  function types() {
    return Object.keys(TYPES).filter((type) => {
      if (type === "causal") return family !== "encoder-only";
      if (type === "force") return family !== "encoder-only" && trace.steps.length > 0;
      if (type === "swap") return (trace.words.source ?? trace.words.target ?? []).length > 0 && family !== "decoder-only";
      if (type === "positions") return trace.architecture.positions !== "none";
      return true;
    });
  }

  /** @param {string} type */
  function begin(type) {
    const kind = kinds.includes(now.kind) ? now.kind : kinds[0];
    const head = { kind, layer: now.layer, head: now.head };
    /** @type {Record<string, any>} */
    const starts = {
      mute: head,
      keep: head,
      uniform: head,
      edge: { ...head, query: now.query, key: now.key, weight: 0 },
      block: { ...head, layer: null, head: null, query: now.query, key: now.key },
      scale: { kind, layer: null, head: null, divisor: 1 },
      positions: { side: trace.kinds.includes("enc") ? "source" : "target", op: "drop" },
      feed_forward: { stack: trace.kinds.includes("dec") ? "dec" : "enc", layer: 0 },
      swap: { word: Math.min(1, (trace.words.source ?? []).length - 1), text: "" },
      force: { step: Math.min(now.step, trace.steps.length - 1), text: "" },
      causal: { value: false },
    };
    kept.type = type;
    draft = { type, ...starts[type] };
    showForm();
  }

  function showForm() {
    /** @param {any} patch */
    const change = (patch) => {
      Object.assign(draft, patch);
      showForm();
    };
    renew(
      form,
      h("div", { class: "levers" }, select({ label: "what", options: types().map((type) => [type, TYPES[type]]), value: draft.type, onchange: begin }), fields(change), button("Add", add, { class: "add" })),
    );
  }

  /** @param {(patch: any) => void} change */
  function fields(change) {
    const has = (/** @type {string} */ name) => name in draft;
    const shape = has("kind") ? trace.shapes[draft.kind] : null;
    const sides = has("kind") ? tokensOf(trace, draft.kind) : null;
    const places = (/** @type {any[]} */ tokens) => tokens.slice(0, 512).map((each, i) => /** @type {[number, string]} */ ([i, `${i} ${visible(pieceOf(each))}`]));
    const orNull = (/** @type {string} */ value) => (value === "all" ? null : Number(value));
    const layers = (/** @type {number} */ n) => [...Array(n).keys()].map((i) => /** @type {[any, string]} */ ([i, String(i)]));
    return [
      has("kind") && kinds.length > 1 && select({ label: "in", options: kinds.map((kind) => [kind, KIND_SHORT[kind]]), value: draft.kind, onchange: (kind) => change({ kind, layer: draft.layer === null ? null : 0, head: draft.head === null ? null : 0, ...(has("query") ? { query: 0, key: 0 } : {}) }) }),
      shape && select({ label: "layer", options: [["all", "all"], ...layers(shape.layers)], value: draft.layer ?? "all", onchange: (value) => change({ layer: orNull(value) }) }),
      shape && select({ label: "head", options: [["all", "all"], ...layers(shape.heads)], value: draft.head ?? "all", onchange: (value) => change({ head: orNull(value) }) }),
      sides && has("query") && select({ label: "query", options: [...(draft.type === "block" ? [/** @type {[any, string]} */ (["all", "all"])] : []), ...places(sides.rows)], value: draft.query ?? "all", onchange: (value) => change({ query: orNull(value) }) }),
      sides && has("key") && select({ label: "key", options: places(sides.columns), value: draft.key, onchange: (value) => change({ key: Number(value) }) }),
      has("weight") && number("weight", draft.weight, { min: 0, max: 1, step: 0.05 }, (weight) => (draft.weight = weight)),
      has("divisor") && number("divide by", draft.divisor, { min: 0.01, step: 0.5 }, (divisor) => (draft.divisor = divisor)),
      has("side") && trace.kinds.includes("cross") && select({ label: "of", options: [["both", "both"], ["source", "source"], ["target", "target"]], value: draft.side ?? "both", onchange: (side) => change({ side: side === "both" ? null : side }) }),
      has("op") && select({ label: "how", options: [["drop", "drop"], ["shift", "shift"]], value: draft.op, onchange: (op) => { delete draft.by; change(op === "shift" ? { op, by: 1 } : { op }); } }),
      has("by") && number("by", draft.by, { step: 1 }, (by) => (draft.by = Math.round(by))),
      has("stack") && trace.kinds.includes("cross") && select({ label: "of the", options: [["enc", "encoder"], ["dec", "decoder"]], value: draft.stack, onchange: (stack) => change({ stack, layer: 0 }) }),
      has("stack") && select({ label: "layer", options: [["all", "all"], ...layers(trace.shapes[draft.stack].layers)], value: draft.layer ?? "all", onchange: (value) => change({ layer: orNull(value) }) }),
      has("word") && select({ label: "word", options: trace.words.source.map((/** @type {string} */ word, /** @type {number} */ i) => [i, `${i} ${word}`]), value: draft.word, onchange: (word) => change({ word: Number(word) }) }),
      has("step") && select({ label: "step", options: trace.steps.map((/** @type {any} */ step, /** @type {number} */ i) => [i, `${i} ${visible(step.chosen?.piece ?? "")}`]), value: draft.step, onchange: (step) => change({ step: Number(step) }) }),
      has("text") && text(),
    ];
  }

  function text() {
    const box = h("input", { type: "text", value: draft.text, placeholder: "new text", on: { input: () => (draft.text = box.value), keydown: (/** @type {KeyboardEvent} */ event) => event.key === "Enter" && add() } });
    return h("label", { class: "field" }, h("span", null, "becomes"), box);
  }

  /** @param {string} label @param {number} value @param {any} limits @param {(x: number) => void} oninput */
  function number(label, value, limits, oninput) {
    const box = h("input", { type: "number", value, ...limits, on: { input: () => Number.isFinite(box.valueAsNumber) && oninput(box.valueAsNumber) } });
    return h("label", { class: "field" }, h("span", null, label), box);
  }

  function add() {
    if ("text" in draft && !draft.text.trim()) {
      ctx.announce("write the new text first");
      form.querySelector("input[type=text]")?.focus();
      return;
    }
    if (kept.list.length >= LIMIT) return;
    kept.list.push({ ...draft });
    ctx.announce(`added: ${describe(draft)}`);
    showList();
  }

  /** @param {any} each */
  function describe(each) {
    const place = each.kind ? `${KIND_SHORT[each.kind]}, layer ${each.layer ?? "all"}, head ${each.head ?? "all"}` : "";
    const sides = each.kind ? tokensOf(trace, each.kind) : null;
    const name = (/** @type {any[]} */ tokens, /** @type {number | null} */ i) => (i === null ? "all" : visible(tokens[i] ? pieceOf(tokens[i]) : String(i)));
    switch (each.type) {
      case "mute": return `mute ${place}`;
      case "keep": return `keep only ${place}`;
      case "uniform": return `even weights in ${place}`;
      case "edge": return `weight ${name(sides?.rows ?? [], each.query)} → ${name(sides?.columns ?? [], each.key)} = ${num3(each.weight)} in ${place}`;
      case "block": return `no look ${name(sides?.rows ?? [], each.query)} → ${name(sides?.columns ?? [], each.key)} in ${place}`;
      case "scale": return `divide by ${num3(each.divisor)} in ${place}`;
      case "positions": return each.op === "drop" ? `no positions (${each.side ?? "both"})` : `positions ${each.by} later (${each.side ?? "both"})`;
      case "feed_forward": return `no feed-forward: ${each.stack === "enc" ? "encoder" : "decoder"}, layer ${each.layer ?? "all"}`;
      case "swap": return `“${trace.words.source?.[each.word] ?? each.word}” becomes “${each.text}”`;
      case "force": return `step ${each.step}: “${each.text ?? each.token}”`;
      default: return "the decoder sees ahead";
    }
  }

  function showList() {
    inspect();
    renew(
      list,
      kept.list.length === 0
        ? h("div", { class: "row" }, h("span", { class: "note" }, "Nothing is changed yet. Add one or several, or try:"), ideas().map((each) => button(bdi(describe(each)), () => { kept.list = [each]; showList(); run(); }, { class: "idea" })))
        : h(
            "ul",
            { class: "changes" },
            kept.list.map((each, i) =>
              h("li", { class: ["change", each.kind && `kind-${each.kind}`] }, bdi(describe(each)), button("×", () => { kept.list.splice(i, 1); showList(); ctx.announce("removed"); }, { class: "quiet", aria: { label: `remove: ${describe(each)}` } })),
            ),
          ),
      h(
        "div",
        { class: "row" },
        button("Run", run, { class: "primary", disabled: kept.list.length === 0 }),
        kept.list.length > 0 && button("Remove all", () => { kept.list = []; showList(); }, { class: "quiet" }),
      ),
    );
  }

  /** Changes worth a first look, as far as this model has them. */
  function ideas() {
    const kind = kinds[kinds.length - 1];
    const words = trace.words.source ?? [];
    const list = [{ type: "uniform", kind, layer: trace.shapes[kind].layers - 1, head: null }];
    if (types().includes("positions")) list.push(/** @type {any} */ ({ type: "positions", side: null, op: "drop" }));
    if (types().includes("swap") && words.length > 1) list.push(/** @type {any} */ ({ type: "swap", word: 1, text: words[1] === "dog" ? "cat" : "dog" }));
    list.push(/** @type {any} */ ({ type: "feed_forward", stack: trace.kinds.includes("dec") ? "dec" : "enc", layer: 0 }));
    return list;
  }

  async function run() {
    life.abort();
    life = new AbortController();
    const { signal } = life;
    replace(outcome, loading("running the model with these changes"));
    const request = trace.request;
    try {
      const meta = await ctx.traceOf({ source: request.source, target: request.target ?? null, decode: request.decode ?? {}, checkpoint: request.checkpoint, interventions: [...(request.interventions ?? []), ...kept.list] });
      const diff = await ctx.source.json(`diff/${trace.id}/${meta.id}`, { signal });
      if (signal.aborted) return;
      shown = { meta, diff };
      showOutcome();
      const said = meta.result?.text ? `output now: ${meta.result.text}` : "done";
      ctx.announce(diff.same_target ? `${said}; log-probability of the first output changed by ${num3(diff.same_target.total)}` : said);
    } catch (error) {
      if (ctx.signal.aborted || signal.aborted) return;
      replace(outcome, h("p", { class: "error", role: "alert" }, bdi(messageOf(error))));
    }
  }

  function showOutcome() {
    const { meta, diff } = shown;
    const heads = h("div", { class: "kind-columns" });
    const matrices = h("div", { class: "delta" });
    replace(
      outcome,
      h(
        "section",
        { class: "card", aria: { label: "the output before and after" } },
        h("h3", null, "Output"),
        resultLines(meta),
        diff.text?.length > 0 && [h("h4", null, "word by word"), wordDifference(diff.text)],
        diff.logp && figures([["log-prob before", diff.logp.a], ["log-prob after", diff.logp.b, "of its own output"], ["difference", diff.logp.difference]]),
        h("div", { class: "row" }, button("Go to the changed trace", () => ctx.select({ trace: meta.id, compare: trace.id })), button("Compare both", () => ctx.select({ view: "compare", compare: meta.id }))),
      ),
      h(
        "div",
        { class: "columns" },
        diff.same_target && card("The first output under both", h("p", { class: "note" }, "Log-probability of each token when the same output is read."), tokenDifference(diff.same_target, ["before", "changed"])),
        diff.heads?.length > 0 && card("Where weights moved", h("p", { class: "note" }, "Each cell is a head: the largest change of one of its weights. Pick one to see the change."), heads),
      ),
      matrices,
    );
    if (diff.heads?.length) showHeads(heads, matrices, diff.heads);
  }

  /** @param {any} meta */
  function resultLines(meta) {
    const said = (/** @type {any} */ result) => {
      if (result.kind === "text") return bdi(result.text || "∅");
      if (result.kind === "fill") return result.blanks.map((/** @type {any} */ blank) => [token({ text: blank.guesses[0]?.piece ?? "–" }), " ", num(blank.guesses[0]?.p)]);
      if (result.kind === "classify") return result.labels.map((/** @type {any} */ label) => [bdi(label.name), " ", num(label.p), " "]);
      return ["norm ", num(result.norm)];
    };
    return h("dl", { class: "before-after" }, h("dt", null, "before"), h("dd", null, said(trace.result)), h("dt", null, "changed"), h("dd", null, said(meta.result)));
  }

  /** @param {HTMLElement} box @param {HTMLElement} below @param {any[]} heads */
  function showHeads(box, below, heads) {
    replace(
      box,
      kinds.filter((kind) => heads.some((each) => each.kind === kind)).map((kind) => {
        const picture = headGrid(kind, "largest change", (layer, head) => showDelta(below, kind, layer, head), life.signal);
        picture.paint(gridOf(kind, heads, "max"), { scale: "sqrt", most: Math.max(...heads.map((each) => each.max)) || 1 });
        requestAnimationFrame(picture.start);
        return h("div", { class: `kind-${kind}` }, h("h4", null, KIND_NAMES[kind]), picture.element);
      }),
    );
    const largest = heads.reduce((a, b) => (b.max > a.max ? b : a));
    showDelta(below, largest.kind, largest.layer, largest.head);
  }

  /** @param {string} kind @param {any[]} heads @param {string} name */
  function gridOf(kind, heads, name) {
    const { heads: width, layers } = trace.shapes[kind];
    const data = new Float32Array(width * layers).fill(NaN);
    for (const each of heads) if (each.kind === kind) data[each.layer * width + each.head] = each[name];
    return data;
  }

  /** @param {string} kind @param {string} value @param {(layer: number, head: number) => void} onpick @param {AbortSignal} signal @param {boolean} [both] */
  function headGrid(kind, value, onpick, signal, both = false) {
    const { layers, heads } = trace.shapes[kind];
    return matrix(ctx, {
      label: `${KIND_NAMES[kind]}: ${value} by layer and head`,
      rows: Array.from({ length: layers }, (_, i) => `layer ${i}`),
      columns: Array.from({ length: heads }, (_, i) => String(i)),
      value,
      rowWord: "",
      columnWord: "head",
      both,
      cell: { w: [18, 40], h: [20, 30] },
      signal,
      onpick,
    });
  }

  /** @param {HTMLElement} box @param {string} kind @param {number} layer @param {number} head */
  async function showDelta(box, kind, layer, head) {
    const { diff, meta } = shown;
    if (!diff.comparable[kind]) return;
    const name = `${kind}.${layer}.${head}.weights`;
    const last = askingDelta();
    const { signal } = life;
    try {
      const { data, shape } = await ctx.source.binary(`diff/${trace.id}/${meta.id}/t/${name}`, { signal });
      const { rows, columns } = tokensOf(trace, kind);
      if (!last() || signal.aborted) return;
      if (rows.length !== shape[0] || columns.length !== shape[1]) return;
      moved = matrix(ctx, { label: `Change of ${KIND_NAMES[kind].toLowerCase()}, layer ${layer}, head ${head}`, rows: rows.map(pieceOf), columns: columns.map(pieceOf), value: "change", both: true, axes: ["query", "key"], signal, onopen: (i, j) => ctx.select({ view: "arithmetic", kind, layer, head, query: i, key: j }) });
      moved.paint(data);
      let most = 0;
      for (let i = 0; i < data.length; i++) most = Math.max(most, Math.abs(data[i]));
      replace(box, h("section", { class: ["card", `kind-${kind}`], aria: { label: "change of the weights" } }, h("h3", null, `${KIND_NAMES[kind]}, layer ${layer}, head ${head}: changed minus before`), h("p", { class: "note" }, "orange: more weight than before · blue: less · strongest colour: ", num(most)), moved.element));
      moved.start();
    } catch (error) {
      if (last() && !signal.aborted && !ctx.signal.aborted) ctx.error(error);
    }
  }

  function showSweep() {
    const state = h("p", { class: "note", role: "status" }, "");
    const grids = h("div", { class: "kind-columns" });
    const top = h("div");
    const start = button("Mute each head once", () => runSweep(state, grids, top, start), { class: "primary" });
    replace(sweep, h("div", { class: "row" }, start, state), grids, top);
  }

  /** @param {HTMLElement} state @param {HTMLElement} grids @param {HTMLElement} top @param {any} start */
  async function runSweep(state, grids, top, start) {
    sweepLife.abort();
    sweepLife = new AbortController();
    const { signal } = sweepLife;
    start.disabled = true;
    /** @type {any[]} */
    const found = [];
    const pictures = new Map(kinds.map((kind) => [kind, headGrid(kind, "fall of log-probability", (layer, head) => { begin("mute"); Object.assign(draft, { kind, layer, head }); showForm(); ctx.select({ kind, layer, head }, { replace: true }); }, sweepLife.signal, true)]));
    replace(grids, kinds.map((kind) => h("div", { class: `kind-${kind}` }, h("h4", null, KIND_NAMES[kind]), pictures.get(kind)?.element)));
    requestAnimationFrame(() => pictures.forEach((picture) => picture.start()));
    let waiting = 0;
    const draw = () => {
      waiting = 0;
      const most = Math.max(1e-6, ...found.map((each) => Math.abs(each.importance)));
      for (const [kind, picture] of pictures) {
        const data = gridOf(kind, found, "importance");
        importance.set(kind, data);
        picture.paint(data, { most });
      }
    };
    try {
      await ctx.source.stream(`traces/${trace.id}/sweep`, (/** @type {string} */ name, /** @type {any} */ told) => {
        if (name !== "head") return;
        found.push(told);
        state.textContent = `${told.done} of ${told.total} heads`;
        waiting ||= requestAnimationFrame(draw);
      }, { signal, body: { kinds } });
      draw();
      const best = [...found].sort((a, b) => b.importance - a.importance).slice(0, 6);
      replace(top, h("p", { class: "note" }, "largest falls: ", best.map((each, i) => [i > 0 && " · ", `${KIND_SHORT[each.kind]} ${each.layer}.${each.head} `, num(each.importance)])), h("p", { class: "note" }, "Pick a cell to put that head into the form above. One head at a time says nothing about heads that stand in for each other."));
      ctx.announce(`all ${found.length} heads muted once`);
    } catch (error) {
      if (!ctx.signal.aborted && !signal.aborted) ctx.error(error);
    }
    start.disabled = false;
  }

  function python() {
    const lines = kept.list.map((each) => `    ${pythonOf(each)},`);
    const changed = lines.length ? `trace.what_if(\n${lines.join("\n")}\n)` : "trace.what_if()";
    return `${pythonOfTrace(ctx)}\nchanged = ${changed}\nprint(trace.diff(changed).to_dict())`;
  }

  begin(types().includes(kept.type) ? kept.type : types()[0]);
  showList();
  showSweep();
  if (kept.list.length) run();

  function inspect() {
    ctx.inspect({
      title: "What-if",
      says: "The model runs again with the change inside; nothing is simulated. The first output is also read under the change, so that its tokens can be compared one by one.",
      numbers: [["log-prob of the output", trace.result?.logp ?? null]],
      python: python(),
    });
  }

  return {
    table() {
      const same = shown?.diff.same_target;
      if (same) return { caption: "The first output under both", columns: [{ label: "token" }, { label: "before", numeric: true }, { label: "changed", numeric: true }, { label: "difference", numeric: true }], count: same.tokens.length, row: (i) => [same.tokens[i], same.a[i], same.b[i], same.difference[i]] };
      const rows = [...importance].flatMap(([kind, data]) => Array.from(data, (value, i) => [KIND_SHORT[kind], Math.floor(i / trace.shapes[kind].heads), i % trace.shapes[kind].heads, value]));
      return rows.length ? { caption: "Fall of the log-probability with one head muted", columns: [{ label: "kind" }, { label: "layer", numeric: true }, { label: "head", numeric: true }, { label: "fall", numeric: true }], count: rows.length, row: (i) => rows[i] } : null;
    },
    picture: () => moved?.picture() ?? null,
    python,
  };
}
