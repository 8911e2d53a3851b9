/**
 * V13 Time machine: the same sentence at every checkpoint that was kept, from the first to the last.
 * @module
 */

import { bdi, h, num, num3, replace } from "../dom.js";
import { headColour, sequential } from "../draw/colour.js";
import { heatmap } from "../draw/heatmap.js";
import { code } from "../draw/scale.js";
import { chart, dashOf } from "../ui/chart.js";
import { button, renew, slider, toggle } from "../ui/controls.js";
import { messageOf } from "../ui/latest.js";
import { matrix } from "../ui/matrix.js";
import { card, headChoice, headIn, loading, nothing, pieceOf, pythonText, tokensOf } from "../ui/parts.js";
import { KIND_NAMES } from "../ui/types.js";

const PAUSE = 900;

/** What the reader has set. */
const kept = { same: true };

/** @type {import("../ui/types.js").View} */
export const view = {
  id: "time-machine",
  title: "Time machine",
  about: "The same sentence at every checkpoint: how output and attention came to be what they are",
  families: ["encoder-decoder", "decoder-only", "encoder-only"],
  live: true,
  async mount(stage, ctx) {
    const route = `runs/${encodeURIComponent(ctx.trace.run)}`;
    const { checkpoints } = await ctx.source.json(`${route}/checkpoints`, { signal: ctx.signal });
    if (checkpoints.length < 2) {
      stage.append(nothing("This model has one checkpoint. Open a run directory whose training kept several: glassformer explore RUN"));
      return {};
    }
    const { lines } = await ctx.source.json(`${route}/metrics`, { signal: ctx.signal }).catch(() => ({ lines: [] }));
    return timeMachine(stage, ctx, checkpoints, lines);
  },
};

/** @param {HTMLElement} stage @param {any} ctx @param {any[]} checkpoints @param {any[]} lines of metrics.jsonl @returns {import("../ui/types.js").Mounted} */
function timeMachine(stage, ctx, checkpoints, lines) {
  const trace = ctx.trace;
  let at = Math.max(0, checkpoints.findIndex((each) => each.id === trace.checkpoint));
  let playing = 0;
  let life = new AbortController();
  /** Traces and heads by checkpoint. @type {Map<string, any>} */
  const known = new Map();
  /** @type {any} */
  let picture = null;
  ctx.signal.addEventListener("abort", () => {
    life.abort();
    stop();
  });

  /** @param {any} each a checkpoint */
  const keyOf = (each) => `${each.id} ${kept.same}`;
  /** @param {any} each a checkpoint */
  const stepOf = (each) => `${each.step.toLocaleString("en")}${each.origin === "model" ? " · model" : ""}`;

  const bar = h("div", { class: "levers time-bar" });
  const curve = chart(ctx, { label: "Loss by step", xLabel: "step", yLabel: "loss", height: 190 });
  const says = h("div", { class: "time-says", role: "status" });
  const controls = h("div", { class: "controls" });
  const board = h("div", { class: "board" });
  const film = h("div", { class: "film", role: "list", aria: { label: "this head at every checkpoint that was read" } });
  const entropies = chart(ctx, { label: "Entropy of the heads of this layer by step", xLabel: "step", yLabel: "entropy share", height: 220 });
  const story = h("div", { class: "story" });
  stage.append(
    h("section", { class: "card", aria: { label: "checkpoint" } }, bar, curve.element, says),
    h(
      "section",
      { class: "card", aria: { label: "attention at this checkpoint" } },
      controls,
      h("div", { class: "time-grid" }, board, h("div", { class: "stack" }, h("h3", null, "All heads of this layer"), entropies.element, h("p", { class: "note" }, "entropy as a share of the largest possible: 1 is spread evenly, 0 is all on one key"))),
      h("h3", null, "This head at each checkpoint"),
      film,
    ),
    card("Outputs over time", story),
  );

  const range = slider({ label: "checkpoint", min: 0, max: checkpoints.length - 1, step: 1, value: at, format: (i) => `step ${stepOf(checkpoints[i])}`, oninput: (i) => { stop(); go(i); } });
  const play = button("▶ Play", () => (playing ? stop() : start()), { class: "primary" });
  const decoded = trace.family !== "encoder-only";
  replace(
    bar,
    play,
    button("◀", () => go(at - 1), { aria: { label: "earlier checkpoint" } }),
    range,
    button("▶", () => go(at + 1), { aria: { label: "later checkpoint" } }),
    decoded && toggle({ label: "read the same output everywhere", checked: kept.same, title: "the output of the trace on the stage is read at every checkpoint, so that attention can be compared; otherwise each checkpoint gives its own", onchange: (same) => { kept.same = same; go(at); } }),
  );

  function start() {
    if (at === checkpoints.length - 1) at = -1;
    play.textContent = "❚❚ Pause";
    const step = async () => {
      await go(at + 1);
      if (!playing) return;
      if (at < checkpoints.length - 1) playing = window.setTimeout(step, PAUSE);
      else stop();
    };
    playing = window.setTimeout(step, 0);
  }

  function stop() {
    clearTimeout(playing);
    playing = 0;
    play.textContent = "▶ Play";
  }

  const head = () => headIn(trace.shapes, ctx.store.get());

  /** @param {number} i */
  async function go(i) {
    const next = Math.max(0, Math.min(checkpoints.length - 1, i));
    at = next;
    range.querySelector("input").value = String(next);
    range.querySelector("output").textContent = `step ${stepOf(checkpoints[next])}`;
    drawCurve();
    life.abort();
    life = new AbortController();
    const { signal } = life;
    if (!known.has(keyOf(checkpoints[next]))) replace(says, loading("reading the sentence at this checkpoint"));
    try {
      const found = await read(checkpoints[next]);
      if (signal.aborted || ctx.signal.aborted) return;
      showResult(checkpoints[next], found);
      await showHead(checkpoints[next], found, signal);
      if (signal.aborted || ctx.signal.aborted) return;
      showStory();
      drawEntropies();
    } catch (error) {
      if (signal.aborted || ctx.signal.aborted) return;
      stop();
      replace(says, h("p", { class: "error" }, bdi(messageOf(error))));
    }
  }

  /** The sentence at a checkpoint: asked once. @param {any} checkpoint */
  async function read(checkpoint) {
    const key = keyOf(checkpoint); // what is read may be changed while an answer is on its way
    const before = known.get(key);
    if (before) return before;
    const request = trace.request;
    const target = decoded && kept.same ? trace.text.target : null;
    const meta = await ctx.traceOf({ run: trace.run, checkpoint: checkpoint.id, source: request.source, target, decode: request.decode ?? {}, interventions: request.interventions ?? [] });
    const { heads } = await ctx.source.heads(meta.id, { signal: ctx.signal });
    const found = { meta, heads };
    known.set(key, found);
    return found;
  }

  /** @param {any} checkpoint @param {any} found */
  function showResult(checkpoint, { meta }) {
    const result = meta.result ?? {};
    const said = result.kind === "fill" ? result.blanks.map((/** @type {any} */ blank) => blank.guesses[0]?.piece ?? "–").join(" ") : result.kind === "classify" ? `${result.labels[0]?.name} ${num3(result.labels[0]?.p)}` : result.text ?? "";
    const measured = Object.entries(checkpoint.metrics ?? {}).map(([name, value]) => `${name} ${num3(/** @type {number} */ (value))}`).join(" · ");
    replace(
      says,
      h("p", { class: "time-output" }, bdi(said || "∅")),
      h("p", { class: "note" }, `step ${checkpoint.step.toLocaleString("en")}`, measured && ` · ${measured}`, result.logp !== undefined && [" · log-prob of ", kept.same && decoded ? "the given output " : "its output ", num(result.logp)], " · ", button("look inside this checkpoint", () => ctx.select({ checkpoint: meta.checkpoint, trace: meta.id }), { class: "link" })),
    );
    ctx.announce(`step ${checkpoint.step}: ${said}`);
  }

  /** @param {any} checkpoint @param {any} found @param {AbortSignal} signal */
  async function showHead(checkpoint, { meta, heads }, signal) {
    const now = headIn(meta.shapes, head());
    const name = `${now.kind}.${now.layer}.${now.head}.weights`;
    const { data, shape } = await ctx.source.tensor(meta.id, name, { signal });
    if (signal.aborted) return;
    const { rows, columns } = tokensOf(meta, now.kind);
    const key = [now.kind, now.layer, now.head, ...rows.map(pieceOf), "|", ...columns.map(pieceOf)].join(" ");
    if (!picture || picture.key !== key) {
      const made = matrix(ctx, { label: `${KIND_NAMES[now.kind]}, layer ${now.layer}, head ${now.head}, by checkpoint`, rows: rows.map(pieceOf), columns: columns.map(pieceOf), axes: ["query", "key"], cell: { w: [2, 34], h: [2, 34] }, height: 420, onopen: (i, j) => ctx.select({ view: "arithmetic", checkpoint: checkpoint.id, trace: meta.id, ...now, query: i, key: j }) });
      picture = { ...made, key };
      renew(board, made.element);
      made.start();
      const { query, key: column } = ctx.store.get();
      made.select(query, column);
    }
    picture.paint(data, { scale: ctx.store.get().scale, most: 1 });
    frame(checkpoint, data, shape, now);
    const figures = heads.find((/** @type {any} */ each) => each.kind === now.kind && each.layer === now.layer && each.head === now.head);
    inspect(checkpoint, now, figures);
  }

  /** One small picture of the film. @param {any} checkpoint @param {Float32Array} data @param {number[]} shape @param {any} now */
  function frame(checkpoint, data, shape, now) {
    const name = `${now.kind}.${now.layer}.${now.head} ${kept.same}`;
    if (film.dataset.head !== name) {
      replace(film, checkpoints.map((each, i) => h("div", { role: "listitem", class: "unread" }, h("button", { type: "button", class: "film-frame", aria: { label: `step ${each.step}` }, on: { click: () => { stop(); go(i); } } }, h("canvas", { class: "pixelated", width: 1, height: 1 }), h("span", { class: "num" }, stepOf(each))))));
      film.dataset.head = name;
    }
    const one = film.children[checkpoints.indexOf(checkpoint)];
    one.classList.remove("unread");
    heatmap(one.querySelector("canvas"), data, shape[0], shape[1], { table: sequential(ctx.theme), code: code(ctx.store.get().scale), low: 0, high: 1 });
    for (const each of film.children) each.classList.toggle("on", each === one);
  }

  function showStory() {
    const rows = checkpoints.filter((each) => known.has(keyOf(each)));
    replace(
      story,
      h(
        "div",
        { class: "scroll-x settings-scroll", tabIndex: 0, role: "region", aria: { label: "table of outputs" } },
        h(
          "table",
          { class: "settings" },
          h("caption", { class: "sr-only" }, "What each checkpoint gave"),
          h("thead", null, h("tr", null, h("th", { scope: "col", class: "numeric" }, "step"), h("th", { scope: "col" }, kept.same && decoded ? "most likely token at each place of the given output" : "output"), h("th", { scope: "col", class: "numeric" }, "log-prob"))),
          h("tbody", null, rows.map((each) => {
            const { meta } = known.get(keyOf(each));
            const guesses = meta.steps.filter((/** @type {any} */ step) => !step.given && step.top?.[0]?.piece !== "</s>").map((/** @type {any} */ step) => step.top?.[0]?.piece ?? "").join("").replace(/▁/g, " ");
            return h("tr", { class: each === checkpoints[at] && "chosen" }, h("td", { class: "numeric" }, stepOf(each)), h("td", null, bdi((kept.same && decoded ? guesses : meta.result?.text ?? guesses) || "–")), h("td", { class: "numeric" }, num(meta.result?.logp)));
          })),
        ),
      ),
      rows.length < checkpoints.length && h("p", { class: "note" }, `${rows.length} of ${checkpoints.length} checkpoints read; play to read them all`),
    );
  }

  function drawEntropies() {
    const now = head();
    const read = checkpoints.filter((each) => known.has(keyOf(each)));
    entropies.draw({
      xDomain: [checkpoints[0].step, checkpoints[checkpoints.length - 1].step],
      yDomain: [0, 1],
      xText: (step) => `step ${step}`,
      marks: [{ x: checkpoints[at].step }],
      series: Array.from({ length: trace.shapes[now.kind].heads }, (_, i) => ({
        name: `head ${i}`,
        x: read.map((each) => each.step),
        y: read.map((each) => known.get(keyOf(each)).heads.find((/** @type {any} */ one) => one.kind === now.kind && one.layer === now.layer && one.head === i)?.entropy_share ?? NaN),
        colour: headColour(i),
        dash: i === now.head ? "" : dashOf(1 + (i % 7)),
        dots: true,
      })),
    });
  }

  function drawCurve() {
    const series = ["train", "valid"].map((split) => {
      const own = lines.filter((line) => line.split === split && typeof line.loss === "number");
      return { name: split === "train" ? "training" : "validation", x: own.map((line) => line.step), y: own.map((line) => line.loss), colour: split === "train" ? "var(--muted)" : "var(--accent)", dash: split === "train" ? "" : dashOf(1), dots: split === "valid" };
    }).filter((each) => each.x.length);
    curve.element.hidden = !series.length;
    curve.draw({ series, marks: [{ x: checkpoints[at].step, label: `step ${checkpoints[at].step.toLocaleString("en")}` }], xText: (step) => `step ${step}`, onpick: (step) => { stop(); go(nearestCheckpoint(step)); } });
  }

  /** @param {number} step */
  function nearestCheckpoint(step) {
    let best = 0;
    checkpoints.forEach((each, i) => {
      if (Math.abs(each.step - step) < Math.abs(checkpoints[best].step - step)) best = i;
    });
    return best;
  }

  function showControls() {
    renew(controls, headChoice(trace.shapes, head(), (patch) => ctx.select(patch)));
  }

  /** @param {any} checkpoint @param {any} now @param {any} figures */
  function inspect(checkpoint, now, figures) {
    ctx.inspect({
      title: `Step ${checkpoint.step.toLocaleString("en")}`,
      kind: now.kind,
      says: "The weights of this checkpoint read the same sentence; nothing is interpolated between checkpoints.",
      numbers: figures ? [["entropy", figures.entropy], ["entropy share", figures.entropy_share], ["mean distance", figures.distance], ["largest weight, mean", figures.confidence]] : [],
      python: python(),
    });
  }

  function python() {
    return [`from glassformer import load`, "", `model = load(${pythonText(trace.run)})   # or the directory of checkpoint ${checkpoints[at].id}`, `trace = model.explain(${pythonText(trace.request.source)})`].join("\n");
  }

  showControls();
  go(at);
  return {
    update(now, before) {
      if (!["kind", "layer", "head", "scale"].some((name) => now[name] !== before[name])) return;
      showControls();
      go(at);
    },
    table: () => picture?.table() ?? null,
    key(event) {
      if (event.key === " ") playing ? stop() : start();
      else return false;
      return true;
    },
    picture: () => picture?.picture() ?? null,
    python,
    destroy: stop,
  };
}
