/**
 * V14 Runs: training curves while they grow, settings side by side, samples over time.
 * @module
 */

import { bdi, h, num3, replace } from "../dom.js";
import { headColour } from "../draw/colour.js";
import { smooth } from "../math/statistics.js";
import { chart, dashOf } from "../ui/chart.js";
import { button, renew, segmented, select, slider, toggle } from "../ui/controls.js";
import { latest, messageOf } from "../ui/latest.js";
import { card, loading, nothing, pythonText } from "../ui/parts.js";

/** @type {Record<string, string>} */
const NAMES = { loss: "loss", nll: "negative log-likelihood", ppl: "perplexity", lr: "learning rate", bleu: "BLEU", chrf: "chrF", accuracy: "accuracy", gnorm: "gradient norm", tok_s: "tokens a second" };
const FIRST = ["loss", "ppl", "bleu", "accuracy", "lr", "gnorm", "tok_s"];

/**
 * What the reader has set: it stays while one looks elsewhere.
 * @type {{metric: string, smoothing: number, xLog: boolean, yLog: boolean, range: [number, number] | null, runs: string[]}}
 */
const kept = { metric: "loss", smoothing: 0.4, xLog: false, yLog: false, range: null, runs: [] };

/** @type {import("../ui/types.js").View} */
export const view = {
  id: "runs",
  title: "Runs",
  about: "How training went, or is going: curves that grow while it runs, settings side by side, samples",
  families: ["encoder-decoder", "decoder-only", "encoder-only"],
  live: true,
  needsTrace: false,
  async mount(stage, ctx) {
    const { runs } = await ctx.source.json("runs", { signal: ctx.signal });
    return runsView(stage, ctx, runs);
  },
};

/** @param {HTMLElement} stage @param {any} ctx @param {any[]} runs @returns {import("../ui/types.js").Mounted} */
function runsView(stage, ctx, runs) {
  const measured = runs.filter((run) => run.has_metrics);
  const current = ctx.store.get().run ?? ctx.model?.id ?? null;
  const first = measured.find((run) => run.id === current) ?? measured[0];
  kept.runs = kept.runs.filter((id) => measured.some((run) => run.id === id));
  if (!kept.runs.length && first) kept.runs = [first.id];
  /** @type {Map<string, {lines: any[], done: boolean, life: AbortController}>} */
  const data = new Map();
  let waiting = 0;
  const asking = latest();
  ctx.signal.addEventListener("abort", () => data.forEach((each) => each.life.abort()));

  const list = h("div", { class: "run-list" });
  const controls = h("div", { class: "controls" });
  const state = h("p", { class: "note row", role: "status" });
  const curves = chart(ctx, { label: "Training curves", xLabel: "step", yLabel: "", height: 320 });
  const samples = h("div", { class: "samples" });
  const differences = h("div", { class: "differences" });
  stage.append(
    card("Runs", list),
    measured.length
      ? h("section", { class: "card", aria: { label: "curves" } }, controls, curves.element, state)
      : nothing("No run with curves was opened. Start the explorer with a run directory: glassformer explore RUN"),
    h("div", { class: "columns" }, card("Samples while training", samples), card("Settings", differences)),
  );

  const scored = runs.some((run) => Object.keys(run.scores ?? {}).length > 0);
  const chosen = () => measured.filter((run) => kept.runs.includes(run.id));

  function showList() {
    replace(
      list,
      h(
        "div",
        { class: "scroll-x", tabIndex: 0, role: "region", aria: { label: "table of runs" } },
        h(
          "table",
          { class: "run-table" },
          h("caption", { class: "sr-only" }, "Models and runs that are open"),
          h("thead", null, h("tr", null, ["curve", "name", "family", "parameters", "step", "state", ...(scored ? ["best"] : [])].map((name, i) => h("th", { scope: "col", class: (i === 3 || i === 4) && "numeric" }, name)))),
          h("tbody", null, runs.map((run) => runRow(run))),
        ),
      ),
    );
  }

  /** @param {any} run */
  function runRow(run) {
    const at = measured.indexOf(run);
    const scores = Object.entries(run.scores ?? {}).map(([name, value]) => `${NAMES[name] ?? name} ${num3(/** @type {number} */ (value))}`);
    return h(
      "tr",
      { class: run.id === current && "chosen" },
      h("td", null, run.has_metrics ? toggle({ label: "", checked: kept.runs.includes(run.id), onchange: (on) => switchRun(run.id, on), title: `show the curve of ${run.name}` }) : h("span", { class: "note" }, "–"), run.has_metrics && h("i", { class: "swatch", style: { background: headColour(at) } })),
      h("th", { scope: "row" }, run.has_model && run.id !== current ? button(bdi(run.name), () => ctx.select({ run: run.id, checkpoint: null, trace: null }), { class: "link", title: "look inside this one" }) : bdi(run.name)),
      h("td", null, run.family ?? "–"),
      h("td", { class: "numeric" }, run.parameters ? run.parameters.toLocaleString("en") : "–"),
      h("td", { class: "numeric" }, run.kind === "run" ? String(run.step) : "–"),
      h("td", null, run.error ? h("span", { class: "badge bad" }, bdi(run.error)) : h("span", { class: ["badge", run.status === "training" && "good"] }, bdi(run.status))),
      scored && h("td", null, scores.join(", ")),
    );
  }

  /** @param {string} id @param {boolean} on */
  function switchRun(id, on) {
    kept.runs = on ? [...kept.runs, id] : kept.runs.filter((each) => each !== id);
    if (!on) {
      data.get(id)?.life.abort();
      data.delete(id);
    }
    follow();
    showMore();
    schedule();
  }

  /** Read what there is, then what is added. */
  function follow() {
    for (const run of chosen()) if (!data.has(run.id)) followOne(run.id);
  }

  /** @param {string} id */
  async function followOne(id) {
    const life = new AbortController();
    const entry = { lines: /** @type {any[]} */ ([]), done: false, life };
    data.set(id, entry);
    const route = `runs/${encodeURIComponent(id)}/metrics`;
    try {
      const start = await ctx.source.json(route, { signal: life.signal });
      entry.lines = start.lines;
      entry.done = start.done;
      schedule();
      if (start.done) return;
      await ctx.source.stream(`${route}/stream?after=${start.next}`, (/** @type {string} */ name, /** @type {any} */ told) => {
        if (name === "metrics") entry.lines.push(...told.lines);
        if (name === "end" || told.done) entry.done = true;
        schedule();
      }, { signal: life.signal });
    } catch (error) {
      if (life.signal.aborted || ctx.signal.aborted) return;
      entry.done = true; // the curve that is there stays
      ctx.toast(messageOf(error), true);
      schedule();
    }
  }

  /** Many lines may come at once: draw once. */
  function schedule() {
    if (waiting) return;
    waiting = requestAnimationFrame(() => {
      waiting = 0;
      showControls();
      draw();
    });
  }

  /** @returns {string[]} metrics that any chosen run has */
  function metrics() {
    const found = new Set();
    for (const { lines } of data.values()) for (const line of lines) for (const name of Object.keys(line)) if (!["t", "step", "split"].includes(name) && typeof line[name] === "number") found.add(name);
    return [...FIRST.filter((name) => found.has(name)), ...[...found].filter((name) => !FIRST.includes(name))];
  }

  let offered = "";
  function showControls() {
    const names = metrics();
    const key = names.join();
    if (key === offered && offered) return;
    offered = key;
    if (!names.includes(kept.metric) && names.length) kept.metric = names[0];
    renew(
      controls,
      select({ label: "curve", options: names.map((name) => [name, NAMES[name] ?? name]), value: kept.metric, onchange: (value) => { kept.metric = value; draw(); } }),
      slider({ label: "smoothing", min: 0, max: 0.98, step: 0.02, value: kept.smoothing, format: (x) => x.toFixed(2), oninput: (x) => { kept.smoothing = x; draw(); } }),
      segmented({ label: "steps", options: [["linear", "linear"], ["log", "log"]], value: kept.xLog ? "log" : "linear", onchange: (value) => { kept.xLog = value === "log"; kept.range = null; draw(); } }),
      segmented({ label: "values", options: [["linear", "linear"], ["log", "log"]], value: kept.yLog ? "log" : "linear", onchange: (value) => { kept.yLog = value === "log"; draw(); } }),
      button("All steps", () => { kept.range = null; draw(); }, { class: "quiet" }),
    );
  }

  function draw() {
    /** @type {any[]} */
    const series = [];
    for (const run of chosen()) {
      const found = data.get(run.id);
      if (!found) continue;
      const colour = headColour(measured.indexOf(run));
      for (const split of ["train", "valid"]) {
        const lines = found.lines.filter((line) => line.split === split && typeof line[kept.metric] === "number" && (!kept.xLog || line.step > 0));
        if (!lines.length) continue;
        const x = lines.map((line) => line.step);
        const y = lines.map((line) => line[kept.metric]);
        const name = `${chosen().length > 1 ? `${run.name} ` : ""}${split === "train" ? "training" : "validation"}`;
        const smoothed = split === "train" && kept.smoothing > 0 && lines.length > 3;
        if (smoothed) series.push({ name: `${name}, as measured`, x, y, colour, faint: true });
        series.push({ name, x, y: smoothed ? smooth(y, kept.smoothing) : y, colour: split === "train" ? colour : validColour(colour), dash: split === "train" ? dashOf(0) : dashOf(1), dots: split === "valid" });
      }
    }
    curves.draw({
      series,
      xLog: kept.xLog,
      yLog: kept.yLog,
      xDomain: kept.range ?? undefined,
      yLabel: NAMES[kept.metric] ?? kept.metric,
      xText: (step) => `step ${Math.round(step)}`,
      onbrush: (range) => {
        kept.range = range;
        draw();
        ctx.announce(range ? `steps ${Math.round(range[0])} to ${Math.round(range[1])}` : "all steps");
      },
    });
    showState();
  }

  /** Validation of one run is drawn darker or lighter than its training. @param {string} colour */
  const validColour = (colour) => `color-mix(in oklab, ${colour} 55%, var(--text))`;

  function showState() {
    replace(
      state,
      chosen().map((run) => {
        const found = data.get(run.id);
        const last = found?.lines[found.lines.length - 1];
        return h("span", null, h("span", { class: ["badge", found && !found.done && "good"] }, found ? (found.done ? "ended" : "live") : "reading"), " ", bdi(run.name), last ? ` at step ${last.step}` : "");
      }),
      h("span", null, "Drag over the curve, or press + and −, to see fewer steps."),
    );
  }

  async function showMore() {
    const last = asking();
    const [a, b] = chosen();
    if (a) await showSamples(a, last);
    else replace(samples, h("p", { class: "note" }, "–"));
    if (last()) await showSettings(a, b, last);
  }

  /** @param {any} run @param {() => boolean} last */
  async function showSamples(run, last) {
    replace(samples, loading("reading samples"));
    try {
      const found = (await ctx.source.json(`runs/${encodeURIComponent(run.id)}/samples`, { signal: ctx.signal })).samples;
      if (!last() || ctx.signal.aborted) return;
      if (!found.length) {
        replace(samples, h("p", { class: "note" }, "none yet: they come with each validation"));
        return;
      }
      const box = h("div");
      let at = found.length - 1;
      const show = () => {
        const now = found[at];
        replace(
          box,
          now.rows.map((/** @type {any} */ each) =>
            h("dl", { class: "sample" }, h("dt", null, "source"), h("dd", null, bdi(each.source ?? "–")), h("dt", null, "reference"), h("dd", null, bdi(each.reference ?? "–")), h("dt", null, "model"), h("dd", { class: "said" }, bdi(each.hypothesis ?? "–"))),
          ),
        );
      };
      replace(samples, found.length > 1 && slider({ label: "step", min: 0, max: found.length - 1, step: 1, value: at, format: (i) => String(found[i].step), oninput: (i) => { at = i; show(); } }), found.length === 1 && h("p", { class: "note" }, `step ${found[0].step}`), box);
      show();
    } catch (error) {
      if (last() && !ctx.signal.aborted) replace(samples, h("p", { class: "error" }, bdi(messageOf(error))));
    }
  }

  /** @param {any} a @param {any} b @param {() => boolean} last */
  async function showSettings(a, b, last) {
    if (!a) {
      replace(differences, h("p", { class: "note" }, "–"));
      return;
    }
    try {
      if (b) {
        const found = (await ctx.source.json(`runs/${encodeURIComponent(a.id)}/diff/${encodeURIComponent(b.id)}`, { signal: ctx.signal })).differences;
        if (!last() || ctx.signal.aborted) return;
        const same = h("p", { class: "note" }, "No setting differs.");
        replace(differences, found.length ? settingsTable(["setting", a.name, b.name], found.map((/** @type {any} */ each) => [each.key, each.a, each.b])) : same);
      } else {
        const found = (await ctx.source.json(`runs/${encodeURIComponent(a.id)}`, { signal: ctx.signal })).settings ?? {};
        if (!last() || ctx.signal.aborted) return;
        const rows = Object.entries(found).filter(([, value]) => value !== null);
        replace(differences, h("p", { class: "note" }, "Tick a second run to see only what differs."), settingsTable(["setting", a.name], rows));
      }
    } catch (error) {
      if (last() && !ctx.signal.aborted) replace(differences, h("p", { class: "error" }, bdi(messageOf(error))));
    }
  }

  /** @param {string[]} heads @param {any[][]} rows */
  function settingsTable(heads, rows) {
    return h(
      "div",
      { class: "scroll-x settings-scroll", tabIndex: 0, role: "region", aria: { label: "table of settings" } },
      h("table", { class: "settings" }, h("caption", { class: "sr-only" }, "Settings"), h("thead", null, h("tr", null, heads.map((name) => h("th", { scope: "col" }, bdi(name))))), h("tbody", null, rows.map(([key, ...values]) => h("tr", null, h("th", { scope: "row" }, key), values.map((value) => h("td", null, bdi(value === null ? "–" : typeof value === "object" ? JSON.stringify(value) : String(value)))))))),
    );
  }

  showList();
  if (measured.length) {
    showControls();
    follow();
    draw();
    showMore();
  } else {
    replace(samples, h("p", { class: "note" }, "–"));
    replace(differences, h("p", { class: "note" }, "–"));
  }
  ctx.inspect({
    title: "Runs",
    says: "Curves are read from metrics.jsonl of each run; a run in training sends its new lines here as it writes them.",
    numbers: [["open", runs.length], ["with curves", measured.length]],
    python: python(),
  });

  function python() {
    return ["import json", "from pathlib import Path", "", `lines = [json.loads(line) for line in (Path(${pythonText(first?.id ?? "RUN")}) / "metrics.jsonl").read_text().splitlines()]`, `curve = [(line["step"], line[${pythonText(kept.metric)}]) for line in lines if ${pythonText(kept.metric)} in line]`].join("\n");
  }

  return {
    table() {
      const rows = chosen().flatMap((run) => (data.get(run.id)?.lines ?? []).filter((line) => typeof line[kept.metric] === "number").map((line) => [run.name, line.step, line.split, line[kept.metric]]));
      return {
        caption: `${NAMES[kept.metric] ?? kept.metric} by step`,
        columns: [{ label: "run" }, { label: "step", numeric: true }, { label: "split" }, { label: NAMES[kept.metric] ?? kept.metric, numeric: true }],
        count: rows.length,
        row: (i) => rows[i],
      };
    },
    picture: () => curves.picture,
    python,
  };
}
