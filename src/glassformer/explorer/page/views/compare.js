/**
 * V12 Compare: two traces side by side, or their difference: sentences, heads, checkpoints, runs.
 * @module
 */

import { bdi, h, num, num3, replace } from "../dom.js";
import { button, renew, segmented, select, toggle } from "../ui/controls.js";
import { tokenDifference, wordDifference } from "../ui/change.js";
import { latest, messageOf } from "../ui/latest.js";
import { matrix } from "../ui/matrix.js";
import { card, headChoice, headIn, loading, pieceOf, pythonOfTrace, pythonText, tokensOf } from "../ui/parts.js";
import { KIND_NAMES, KIND_SHORT } from "../ui/types.js";

/** What the reader has set. @type {{mode: string, linked: boolean, right: {kind: string, layer: number, head: number} | null}} */
const kept = { mode: "side", linked: true, right: null };

/** @type {import("../ui/types.js").View} */
export const view = {
  id: "compare",
  title: "Compare",
  about: "Two traces side by side, or their difference: another sentence, head, checkpoint or run",
  families: ["encoder-decoder", "decoder-only", "encoder-only"],
  live: true,
  mount(stage, ctx) {
    return compare(stage, ctx);
  },
};

/** @param {HTMLElement} stage @param {any} ctx @returns {import("../ui/types.js").Mounted} */
function compare(stage, ctx) {
  const a = ctx.trace;
  const b = ctx.other ?? ctx.trace;
  const sameTrace = !ctx.other;
  let life = new AbortController();
  ctx.signal.addEventListener("abort", () => life.abort());
  /** @type {any} */
  let diff = null;
  /** @type {any[]} */
  let pictures = [];
  const asking = latest();

  const choose = h("section", { class: "card", aria: { label: "what to compare with" } });
  const outputs = h("div", { class: "stack" });
  const controls = h("div", { class: "controls" });
  const board = h("div", { class: "pair" });
  const numbers = h("div", { class: "columns" });
  stage.append(choose, outputs, h("section", { class: "card", aria: { label: "two heads" } }, controls, board), numbers);

  const left = () => headIn(a.shapes, ctx.store.get());
  const right = () => headIn(b.shapes, kept.linked && !sameTrace ? left() : kept.right ?? beside(left()));
  /** The next head: the first thing one wants beside a head of the same trace. @param {{kind: string, layer: number, head: number}} head */
  const beside = (head) => ({ ...head, head: (head.head + 1) % a.shapes[head.kind].heads });
  /** @param {any} trace */
  const nameOf = (trace) => {
    const changes = trace.interventions?.length ? ` · ${trace.interventions.length} changed` : "";
    return `${trace.run}${trace.step ? ` step ${trace.step}` : ""}${changes}`;
  };

  function showChoice() {
    const box = h("input", { type: "text", value: b.request.source, aria: { label: "other sentence" }, class: "grow", on: { keydown: (/** @type {KeyboardEvent} */ event) => event.key === "Enter" && ask({ source: box.value }) } });
    const runs = (ctx.runs ?? []).filter((/** @type {any} */ run) => run.has_model && !run.error);
    const checkpoints = ctx.checkpoints ?? [];
    replace(
      choose,
      h("h3", null, "Compare with"),
      h(
        "div",
        { class: "levers" },
        h("label", { class: "field grow" }, h("span", null, "sentence"), box),
        button("Run", () => ask({ source: box.value })),
        checkpoints.length > 1 && select({ label: "checkpoint", options: [["", "…"], ...checkpoints.map((/** @type {any} */ each) => [each.id, `step ${each.step}`])], value: b.run === a.run ? b.checkpoint : "", onchange: (checkpoint) => checkpoint && ask({ source: box.value, checkpoint }) }),
        runs.length > 1 && select({ label: "run", options: [["", "…"], ...runs.map((/** @type {any} */ each) => [each.id, each.name])], value: b.run, onchange: (run) => run && ask({ source: box.value, run, checkpoint: null }) }),
        !sameTrace && button("Swap", () => ctx.select({ trace: b.id, compare: a.id, run: b.run, checkpoint: null }), { class: "quiet" }),
        !sameTrace && button("Two heads of one trace", () => ctx.select({ compare: null }), { class: "quiet" }),
      ),
      sameTrace && h("p", { class: "note" }, "Now: two heads of the same trace. Give another sentence, checkpoint or run, or press x on any trace to keep it for comparison."),
    );
  }

  /** @param {any} patch */
  async function ask(patch) {
    const last = asking();
    try {
      const request = a.request;
      const meta = await ctx.traceOf({ checkpoint: request.checkpoint, decode: request.decode ?? {}, ...patch });
      if (!last() || ctx.signal.aborted) return;
      if (meta.id === a.id) ctx.announce("this is the trace already shown");
      ctx.select({ compare: meta.id === a.id ? null : meta.id });
    } catch (error) {
      if (last() && !ctx.signal.aborted) ctx.toast(messageOf(error), true);
    }
  }

  async function showOutputs() {
    if (sameTrace) return;
    replace(outputs, loading("comparing"));
    try {
      diff = await ctx.source.json(`diff/${a.id}/${b.id}`, { signal: ctx.signal });
    } catch (error) {
      if (!ctx.signal.aborted) replace(outputs, h("p", { class: "note" }, bdi(`No difference of outputs: ${messageOf(error)}`)));
      return;
    }
    const line = (/** @type {string} */ name, /** @type {any} */ trace) => h("div", { class: "side-line" }, h("span", { class: "side-name" }, name), h("div", null, h("p", { class: "note" }, bdi(nameOf(trace)), " · ", bdi(trace.request.source)), h("p", null, bdi(trace.result?.text ?? trace.text?.target ?? ""), trace.result?.logp !== undefined && [" ", h("span", { class: "note" }, "log-prob ", num(trace.result.logp))])));
    replace(outputs, h("section", { class: "card", aria: { label: "outputs" } }, h("h3", null, "Outputs"), line("A", a), line("B", b), diff.text?.length > 0 && wordDifference(diff.text)));
    const top = (diff.heads ?? []).filter((/** @type {any} */ each) => each.max > 0).sort((/** @type {any} */ x, /** @type {any} */ y) => y.max - x.max).slice(0, 12);
    replace(
      numbers,
      diff.same_target && card("A's output under both", tokenDifference(diff.same_target, ["A", "B"])),
      top.length > 0 &&
        card(
          "Heads that differ most",
          h("ol", { class: "bars-list narrow" }, top.map((/** @type {any} */ each) => {
            const go = button(`${KIND_SHORT[each.kind]} ${each.layer}.${each.head}`, () => ctx.select({ kind: each.kind, layer: each.layer, head: each.head }), { class: ["link", `kind-${each.kind}`], title: "show this head" });
            return h("li", null, go, h("span", { class: "bar" }, h("i", { class: `kind-${each.kind}`, style: { "--share": each.max } }), h("span", { class: "num" }, num3(each.max))));
          })),
          h("p", { class: "note" }, "the largest difference of one weight"),
        ),
    );
    showControls();
    draw();
  }

  function comparable() {
    const [x, y] = [left(), right()];
    const [p, q] = [a.shapes[x.kind], b.shapes[y.kind]];
    return p.queries === q.queries && p.keys === q.keys;
  }

  function showControls() {
    const other = right();
    const can = comparable();
    renew(
      controls,
      segmented({ label: "show", hideLabel: true, options: [["side", "side by side"], ["difference", "difference"]], value: kept.mode, onchange: (mode) => { kept.mode = mode; draw(); } }),
      !ownHeads() && headChoice(a.shapes, left(), (patch) => ctx.select(patch)),
      !sameTrace && toggle({ label: "link", checked: kept.linked, title: "B shows the same head, the same cell and scrolls along", onchange: (linked) => { kept.linked = linked; kept.right = linked ? null : { ...other }; showControls(); draw(); } }),
      kept.mode === "difference" && !can && h("span", { class: "badge warn" }, "different lengths: no difference"),
    );
  }

  async function draw() {
    life.abort();
    life = new AbortController();
    const { signal } = life;
    const [x, y] = [left(), right()];
    const name = (/** @type {any} */ head) => `${head.kind}.${head.layer}.${head.head}.weights`;
    try {
      const [first, second] = await Promise.all([ctx.source.tensor(a.id, name(x), { signal }), ctx.source.tensor(b.id, name(y), { signal })]);
      if (signal.aborted) return;
      const scale = ctx.store.get().scale;
      const most = Math.max(...[first, second].map((each) => each.data.reduce((/** @type {number} */ top, /** @type {number} */ w) => Math.max(top, w), 0)));
      pictures = [];
      if (kept.mode === "difference" && comparable()) {
        const picture = one(a, x, "B minus A", true, signal);
        picture.paint(second.data.map((/** @type {number} */ w, /** @type {number} */ i) => w - first.data[i]));
        place([["B − A", x, picture]]);
      } else {
        const pair = [one(a, x, "A", false, signal, 0), one(b, y, "B", false, signal, 1)];
        pair[0].paint(first.data, { scale, most });
        pair[1].paint(second.data, { scale, most });
        place([["A", x, pair[0]], ["B", y, pair[1]]]);
        follow(signal);
      }
      inspect(x, y, first.data, second.data);
    } catch (error) {
      if (!signal.aborted && !ctx.signal.aborted) ctx.error(error);
    }
  }

  /** @param {any} trace @param {any} head @param {string} side @param {boolean} both @param {AbortSignal} signal @param {number} [at] */
  function one(trace, head, side, both, signal, at = 0) {
    const { rows, columns } = tokensOf(trace, head.kind);
    const picture = matrix(ctx, {
      label: `${side}: ${KIND_NAMES[head.kind].toLowerCase()}, layer ${head.layer}, head ${head.head}`,
      rows: rows.map(pieceOf),
      columns: columns.map(pieceOf),
      value: both ? "difference" : "weight",
      both,
      axes: ["query", "key"],
      cell: { w: [2, 32], h: [2, 32] },
      height: 460,
      signal,
      onpick: (i, j) => mirror(at, i, j),
    });
    pictures.push(picture);
    return picture;
  }

  /** Whether B has a head of its own and does not follow A. */
  function ownHeads() {
    return sameTrace || !kept.linked;
  }

  /** What stands over a picture: its head, or where both have one of their own, the choice of it. @param {string} name */
  function chooser(name) {
    const forA = () => headChoice(a.shapes, left(), (patch) => ctx.select(patch));
    const forB = () => headChoice(b.shapes, right(), (patch) => { kept.right = { ...right(), ...patch }; showControls(); draw(); });
    const said = (/** @type {any} */ head) => h("span", null, `${KIND_SHORT[head.kind]}, layer ${head.layer}, head ${head.head}`);
    if (!ownHeads()) return [said(left())];
    if (name === "A") return [forA()];
    return name === "B" ? [forB()] : [forA(), h("span", null, "and B"), forB()];
  }

  /** @param {[string, any, any][]} list */
  function place(list) {
    renew(board, list.map(([name, head, picture]) => h("figure", { class: `kind-${head.kind}` }, h("figcaption", null, h("span", { class: "side-name" }, name), ...chooser(name)), picture.element)));
    const { query, key } = ctx.store.get();
    for (const [, , picture] of list) {
      picture.start();
      picture.select(query, key);
    }
  }

  /** The same cell on the other side. @param {number} from @param {number} i @param {number} j */
  function mirror(from, i, j) {
    if (kept.linked) pictures[1 - from]?.select(i, j);
    const other = pictures[1 - from];
    const said = other ? `; on the other side ${num3(other.valueAt(i, j))}` : "";
    ctx.announce(`${pictures[from].say(i, j)}${kept.linked ? said : ""}`);
    if (from === 0 || kept.linked) ctx.select({ query: i, key: j }, { replace: true });
  }

  /** Scrolling one side scrolls the other. @param {AbortSignal} signal */
  function follow(signal) {
    let busy = false;
    pictures.forEach((picture, at) =>
      picture.element.addEventListener("scroll", () => {
        const other = pictures[1 - at];
        if (!kept.linked || busy || !other) return;
        busy = true;
        other.element.scrollTop = picture.element.scrollTop;
        other.element.scrollLeft = picture.element.scrollLeft;
        requestAnimationFrame(() => (busy = false));
      }, { signal, passive: true }),
    );
  }

  /** @param {any} x @param {any} y @param {ArrayLike<number>} first @param {ArrayLike<number>} second */
  function inspect(x, y, first, second) {
    let total = 0;
    let most = 0;
    const can = comparable();
    if (can) for (let i = 0; i < first.length; i++) {
      total += Math.abs(first[i] - second[i]);
      most = Math.max(most, Math.abs(first[i] - second[i]));
    }
    const rows = a.shapes[x.kind].queries;
    ctx.inspect({
      title: "Two sets of weights",
      kind: x.kind,
      says: can ? "Half of the summed difference of a row is the share of weight that lies elsewhere; the mean over rows stands below." : "The two have different lengths, so only the pictures can be compared.",
      numbers: can ? [["weight elsewhere, mean of rows", total / (2 * rows)], ["largest difference", most]] : [],
      shapes: [["A", `[${first.length / a.shapes[x.kind].keys}, ${a.shapes[x.kind].keys}]`], ["B", `[${second.length / b.shapes[y.kind].keys}, ${b.shapes[y.kind].keys}]`]],
      python: python(),
    });
  }

  function python() {
    const x = left();
    const y = right();
    const other = sameTrace ? "other = trace" : `other = load(${pythonText(b.run)}).explain(${pythonText(b.request.source)})`;
    return `${pythonOfTrace(ctx)}\n${other}\na = trace.${x.kind}[${x.layer}].weights[${x.head}]\nb = other.${y.kind}[${y.layer}].weights[${y.head}]`;
  }

  showChoice();
  showControls();
  draw();
  showOutputs();
  return {
    update(now, before) {
      const moved = ["kind", "layer", "head", "scale"].some((name) => now[name] !== before[name]);
      if (!moved) return;
      showControls();
      draw();
    },
    table: () => pictures[0]?.table() ?? null,
    picture: () => pictures[0]?.picture() ?? null,
    python,
  };
}
