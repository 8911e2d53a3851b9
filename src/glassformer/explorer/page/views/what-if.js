/**
 * V11 What-if: change something inside, run again, and see what became of the output.
 * @module
 */

import { bdi, h, num, num3, replace, token } from "../dom.js";
import { tokenDifference, wordDifference } from "../ui/change.js";
import { button, renew } from "../ui/controls.js";
import { latest, messageOf } from "../ui/latest.js";
import { headMatrix, matrix } from "../ui/matrix.js";
import { card, figures, loading, pieceOf, pythonOf, pythonOfTrace, tokensOf } from "../ui/parts.js";
import { KIND_NAMES, KIND_SHORT } from "../ui/types.js";
import { changeForm, describe, fits, ideas, kindsOf } from "./what-if/changes.js";

const LIMIT = 64;

/** The list under construction: it stays while one looks elsewhere. @type {{list: any[]}} */
const kept = { list: [] };

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
  kept.list = kept.list.filter((each) => fits(trace, each));
  const form = changeForm(ctx, add);
  const list = h("div", { class: "what-list" });
  const after = outcome(ctx);
  const muted = sweep(ctx, (place) => form.begin("mute", place));
  const run = () => after.run(kept.list);
  stage.append(h("section", { class: "card", aria: { label: "what to change" } }, h("h3", null, "Change"), form.element, list), after.element, muted.element);

  /** @param {any} change */
  function add(change) {
    if (kept.list.length >= LIMIT) return;
    kept.list.push(change);
    ctx.announce(`added: ${describe(trace, change)}`);
    showList();
  }

  function showList() {
    inspect();
    renew(
      list,
      kept.list.length === 0
        ? h("div", { class: "row" }, h("span", { class: "note" }, "Nothing is changed yet. Add one or several, or try:"), ideas(trace).map((each) => button(bdi(describe(trace, each)), () => { kept.list = [each]; showList(); run(); }, { class: "idea" })))
        : h(
            "ul",
            { class: "changes" },
            kept.list.map((each, i) =>
              h("li", { class: ["change", each.kind && `kind-${each.kind}`] }, bdi(describe(trace, each)), button("×", () => { kept.list.splice(i, 1); showList(); ctx.announce("removed"); }, { class: "quiet", aria: { label: `remove: ${describe(trace, each)}` } })),
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

  function inspect() {
    ctx.inspect({
      title: "What-if",
      says: "The model runs again with the change inside; nothing is simulated. The first output is also read under the change, so that its tokens can be compared one by one.",
      numbers: [["log-prob of the output", trace.result?.logp ?? null]],
      python: python(),
    });
  }

  function python() {
    const lines = kept.list.map((each) => `    ${pythonOf(each)},`);
    const changed = lines.length ? `trace.what_if(\n${lines.join("\n")}\n)` : "trace.what_if()";
    return `${pythonOfTrace(ctx)}\nchanged = ${changed}\nprint(trace.diff(changed).to_dict())`;
  }

  showList();
  if (kept.list.length) run();
  return { table: () => after.table() ?? muted.table(), picture: after.picture, python };
}

/** The model run with changes, beside the trace without them. @param {any} ctx */
function outcome(ctx) {
  const trace = ctx.trace;
  /** @type {any} */
  let shown = null;
  /** @type {any} */
  let moved = null;
  let life = new AbortController();
  const asking = latest();
  const element = h("div", { class: "stack", role: "region", aria: { label: "what changed" } });
  ctx.signal.addEventListener("abort", () => life.abort());

  /** @param {any[]} changes */
  async function run(changes) {
    life.abort();
    life = new AbortController();
    const { signal } = life;
    replace(element, loading("running the model with these changes"));
    const request = trace.request;
    try {
      const meta = await ctx.traceOf({ source: request.source, target: request.target ?? null, decode: request.decode ?? {}, checkpoint: request.checkpoint, interventions: [...(request.interventions ?? []), ...changes] });
      const diff = await ctx.source.json(`diff/${trace.id}/${meta.id}`, { signal });
      if (signal.aborted) return;
      shown = { meta, diff };
      show();
      const said = meta.result?.text ? `output now: ${meta.result.text}` : "done";
      ctx.announce(diff.same_target ? `${said}; log-probability of the first output changed by ${num3(diff.same_target.total)}` : said);
    } catch (error) {
      if (ctx.signal.aborted || signal.aborted) return;
      replace(element, h("p", { class: "error", role: "alert" }, bdi(messageOf(error))));
    }
  }

  function show() {
    const { meta, diff } = shown;
    const heads = h("div", { class: "kind-columns" });
    const matrices = h("div", { class: "delta" });
    replace(
      element,
      h(
        "section",
        { class: "card", aria: { label: "the output before and after" } },
        h("h3", null, "Output"),
        h("dl", { class: "before-after" }, h("dt", null, "before"), h("dd", null, answer(trace.result)), h("dt", null, "changed"), h("dd", null, answer(meta.result))),
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

  /** @param {HTMLElement} box @param {HTMLElement} below @param {any[]} heads */
  function showHeads(box, below, heads) {
    const most = Math.max(...heads.map((each) => each.max)) || 1;
    replace(
      box,
      kindsOf(trace).filter((kind) => heads.some((each) => each.kind === kind)).map((kind) => {
        const picture = headMatrix(ctx, kind, { value: "largest change", signal: life.signal, onpick: (layer, head) => showDelta(below, kind, layer, head) });
        picture.paint(picture.valuesOf(heads, "max"), { scale: "sqrt", most });
        requestAnimationFrame(picture.start);
        return h("div", { class: `kind-${kind}` }, h("h4", null, KIND_NAMES[kind]), picture.element);
      }),
    );
    const largest = heads.reduce((a, b) => (b.max > a.max ? b : a));
    showDelta(below, largest.kind, largest.layer, largest.head);
  }

  /** @param {HTMLElement} box @param {string} kind @param {number} layer @param {number} head */
  async function showDelta(box, kind, layer, head) {
    const { diff, meta } = shown;
    if (!diff.comparable[kind]) return;
    const last = asking();
    const { signal } = life;
    try {
      const { data, shape } = await ctx.source.binary(`diff/${trace.id}/${meta.id}/t/${kind}.${layer}.${head}.weights`, { signal });
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

  return {
    element,
    run,
    picture: () => moved?.picture() ?? null,
    /** @returns {import("../ui/types.js").TableOf | null} */
    table() {
      const same = shown?.diff.same_target;
      return same ? { caption: "The first output under both", columns: [{ label: "token" }, { label: "before", numeric: true }, { label: "changed", numeric: true }, { label: "difference", numeric: true }], count: same.tokens.length, row: (i) => [same.tokens[i], same.a[i], same.b[i], same.difference[i]] } : null;
    },
  };
}

/** What a model answered, in a line. @param {any} result */
function answer(result) {
  if (result.kind === "text") return bdi(result.text || "∅");
  if (result.kind === "fill") return result.blanks.map((/** @type {any} */ blank) => [token({ text: blank.guesses[0]?.piece ?? "–" }), " ", num(blank.guesses[0]?.p)]);
  if (result.kind === "classify") return result.labels.map((/** @type {any} */ label) => [bdi(label.name), " ", num(label.p), " "]);
  return ["norm ", num(result.norm)];
}

/** Every head silent once. @param {any} ctx @param {(place: {kind: string, layer: number, head: number}) => void} onpick */
function sweep(ctx, onpick) {
  const trace = ctx.trace;
  const kinds = kindsOf(trace);
  /** @type {Map<string, Float32Array>} */
  const importance = new Map();
  let life = new AbortController();
  const state = h("p", { class: "note", role: "status" }, "");
  const grids = h("div", { class: "kind-columns" });
  const top = h("div");
  const start = button("Mute each head once", run, { class: "primary" });
  ctx.signal.addEventListener("abort", () => life.abort());

  /** A picture for each kind. @param {AbortSignal} signal */
  function empty(signal) {
    const pictures = new Map(
      kinds.map((kind) => {
        const onhead = (/** @type {number} */ layer, /** @type {number} */ head) => {
          onpick({ kind, layer, head });
          ctx.select({ kind, layer, head }, { replace: true });
        };
        return [kind, headMatrix(ctx, kind, { value: "fall of log-probability", both: true, signal, onpick: onhead })];
      }),
    );
    replace(grids, kinds.map((kind) => h("div", { class: `kind-${kind}` }, h("h4", null, KIND_NAMES[kind]), pictures.get(kind)?.element)));
    requestAnimationFrame(() => pictures.forEach((picture) => picture.start()));
    return pictures;
  }

  async function run() {
    life.abort();
    life = new AbortController();
    const { signal } = life;
    start.disabled = true;
    /** @type {any[]} */
    const found = [];
    const pictures = empty(signal);
    let waiting = 0;
    const draw = () => {
      waiting = 0;
      const most = Math.max(1e-6, ...found.map((each) => Math.abs(each.importance)));
      for (const [kind, picture] of pictures) {
        const data = picture.valuesOf(found, "importance");
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

  return {
    element: card(
      "Mute each head once",
      h("p", { class: "note" }, "The same output is read again with one head silent at a time. The figure is the fall of its log-probability: above 0 the output became less likely, below 0 more likely."),
      h("div", { class: "sweep" }, h("div", { class: "row" }, start, state), grids, top),
    ),
    /** @returns {import("../ui/types.js").TableOf | null} */
    table() {
      const rows = [...importance].flatMap(([kind, data]) => Array.from(data, (value, i) => [KIND_SHORT[kind], Math.floor(i / trace.shapes[kind].heads), i % trace.shapes[kind].heads, value]));
      return rows.length ? { caption: "Fall of the log-probability with one head muted", columns: [{ label: "kind" }, { label: "layer", numeric: true }, { label: "head", numeric: true }, { label: "fall", numeric: true }], count: rows.length, row: (i) => rows[i] } : null;
    },
  };
}
