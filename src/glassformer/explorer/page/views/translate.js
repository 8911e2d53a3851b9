/**
 * V1 Translate, generate, fill, classify: what the model answered, how sure it was, and what it might have said.
 * @module
 */

import { bdi, formula, frac, h, mi, mn, mo, nameOf, num, num3, percent, replace, row, sub, token, visible } from "../dom.js";
import { tint } from "../draw/colour.js";
import { button } from "../ui/controls.js";
import { latest, messageOf } from "../ui/latest.js";
import { bar, card, figures, pythonOfTrace } from "../ui/parts.js";
import { atStep, confidence } from "../ui/traces.js";
import { aligned } from "./translate/alignment.js";
import { classify, embed, fill } from "./translate/encoder-only.js";

/** @type {any} */
export const view = {
  id: "translate",
  title: "Translate",
  about: "What went in, what came out, which words belong together, and what else was likely",
  families: ["encoder-decoder", "decoder-only", "encoder-only"],
  /** @param {any} model */
  titleFor(model) {
    const { family, head } = model.architecture;
    if (family === "encoder-decoder") return "Translate";
    if (family === "decoder-only") return "Generate";
    return head === "masked-lm" ? "Fill" : head === "classifier" ? "Classify" : "Read";
  },
  /** @param {HTMLElement} stage @param {any} ctx */
  mount(stage, ctx) {
    const { result } = ctx.trace;
    if (result.kind === "fill") return fill(stage, ctx);
    if (result.kind === "classify") return classify(stage, ctx);
    if (result.kind === "embed") return embed(stage, ctx);
    return text(stage, ctx);
  },
};

/** The output, token by token; a click shows what else was likely there. @param {any} ctx @param {(step: number) => void} pick */
function outputTokens(ctx, pick) {
  const { trace } = ctx;
  const given = trace.tokens.target.slice(1, trace.n_given);
  return h(
    "div",
    { class: "output-tokens", role: "group", aria: { label: "output tokens" } },
    given.map((/** @type {any} */ tok) => token(tok, { class: "given" })),
    trace.steps.map((/** @type {any} */ step, /** @type {number} */ i) => {
      if (!step.chosen || step.given) return null;
      const p = confidence(step);
      return token(
        { ...step.chosen, special: /^<.*>$/.test(step.chosen.piece) },
        {
          as: "button",
          type: "button",
          class: "tinted",
          data: { step: i },
          style: tint(ctx.theme, p),
          aria: { label: `${step.chosen.piece}, probability ${num3(p)}; show alternatives` },
          title: `probability ${percent(p)}, rank ${step.chosen.rank}`,
          on: { click: () => pick(i) },
        },
      );
    }),
  );
}

/** The most likely tokens of the selected step. @param {any} ctx @param {HTMLElement} box @param {any} selection */
function alternatives(ctx, box, selection) {
  const step = ctx.trace.steps[selection.step];
  if (!step) {
    replace(box);
    return;
  }
  const most = Math.max(...step.top.map((/** @type {any} */ one) => Math.exp(one.logp)), 1e-9);
  const can = ctx.source.live && !step.given && ctx.trace.result.kind === "text";
  replace(
    box,
    card(
      `Step ${selection.step}: what was likely`,
      h("p", { class: "note" }, "Probabilities over the whole vocabulary. ", can ? "Pick another token: the output up to here stays, this token is forced, and the model goes on." : ""),
      h(
        "ul",
        { class: "alternatives" },
        step.top.map((/** @type {any} */ one) => {
          const p = Math.exp(one.logp);
          const meter = bar("dec");
          meter.set(p / most, percent(p), String(p));
          const chosen = one.id === step.chosen?.id;
          return h(
            "li",
            null,
            can && !chosen
              ? token(one, { as: "button", type: "button", aria: { label: `force ${one.piece}` }, on: { click: () => force(ctx, selection.step, one) } })
              : token(one, { class: chosen && "selected" }),
            meter.element,
            chosen && h("span", { class: "chip" }, step.forced ? "forced" : step.given ? "given" : "chosen"),
          );
        }),
      ),
      figures([["entropy (nats)", step.entropy], ["rank of the chosen", step.chosen?.rank ?? null], ["log-probability", step.chosen?.logp ?? null]]),
    ),
  );
}

/** @param {any} ctx @param {number} step @param {any} one */
async function force(ctx, step, one) {
  const before = ctx.trace.request.interventions.filter((/** @type {any} */ change) => change.type !== "force" || change.step < step);
  await ctx.run({ interventions: [...before, { type: "force", step, token: one.id }] });
}

/** @param {any} ctx @param {any} selection */
function describe(ctx, selection) {
  const { result, steps } = ctx.trace;
  const step = steps[selection.step];
  const product = row(mi("log"), mi("p"), mo("("), sub(mi("y"), mi("t")), mo("|"), sub(mi("y"), row(mo("<"), mi("t"))), mo(","), mi("x"), mo(")"));
  ctx.inspect({
    title: step?.chosen ? ["Step ", selection.step].join("") : "The output",
    paper: "6.1",
    says: step?.chosen
      ? ["The model gave ", h("strong", null, bdi(visible(nameOf(step.chosen)))), " a probability of ", percent(confidence(step)), `, rank ${step.chosen.rank}.`]
      : "One token after the other, each given all before it.",
    equation:
      result.kind === "text"
        ? h("div", null, formula(mi("score"), mo("="), frac(row(mo("∑"), product), mi("lp"))), formula(mi("score"), mo("="), frac(mn(result.logp), mn(result.divisor ?? 1)), mo("="), mn(result.score)))
        : null,
    numbers: [
      ["log-probability", result.logp],
      ["length", result.length],
      ["length penalty", result.divisor],
      ["score", result.score],
      ["perplexity", Math.exp(-result.logp / Math.max(1, result.length))],
    ],
    shapes: [["steps", String(steps.length)]],
    python: pythonOfTrace(ctx),
  });
}

/** @param {HTMLElement} stage @param {any} ctx */
function text(stage, ctx) {
  const { trace } = ctx;
  const result = trace.result;
  const others = h("div");
  const pick = (/** @type {number} */ step) => ctx.select(atStep(ctx.store.get(), step, trace));
  const tokens = outputTokens(ctx, pick);
  const alignment = trace.alignment ? aligned(ctx) : null;
  const changes = trace.request.interventions.length;
  stage.append(
    h(
      "section",
      { class: "card hero", aria: { label: "result" } },
      alignment ? alignment.element : h("p", { class: "result-text", dir: "auto" }, trace.family === "decoder-only" && [h("span", { class: "given" }, bdi(trace.text.source)), " "], bdi(trace.text.target || result.text || "(nothing)")),
      h("div", { class: "hero-foot" }, h("span", { class: "note" }, "Output tokens, tinted by probability"), tokens),
      (changes > 0 || trace.warnings.length > 0) && h("div", { class: "row" }, changes > 0 && [h("span", { class: "badge warn" }, `${changes} change${changes > 1 ? "s" : ""} to the model`), button("Undo", () => ctx.run({}))], trace.warnings.map((/** @type {string} */ w) => h("span", { class: "badge warn" }, bdi(w)))),
    ),
    h("div", { class: "columns" }, others, h("div", { class: "stack" }, nBest(ctx), whyNot(ctx))),
  );

  const mark = (/** @type {any} */ now) => {
    for (const chip of tokens.querySelectorAll("button")) {
      if (Number(chip.dataset.step) === now.step) chip.setAttribute("aria-current", "step");
      else chip.removeAttribute("aria-current");
    }
    alternatives(ctx, others, now);
    describe(ctx, now);
  };
  mark(ctx.store.get());
  return {
    update: mark,
    picture: () => alignment?.canvas ?? null,
    python: () => pythonOfTrace(ctx),
    table: () => ({
      caption: "Output tokens",
      columns: [{ label: "step", numeric: true }, { label: "token" }, { label: "probability", numeric: true }, { label: "log-probability", numeric: true }, { label: "rank", numeric: true }, { label: "entropy", numeric: true }],
      count: trace.steps.length,
      row: (/** @type {number} */ i) => {
        const s = trace.steps[i];
        return [i, s.chosen?.piece ?? "", s.chosen ? Math.exp(s.chosen.logp) : null, s.chosen?.logp ?? null, s.chosen?.rank ?? null, s.entropy];
      },
    }),
  };
}

/** What the search also finished; a click looks inside. @param {any} ctx */
function nBest(ctx) {
  const { result, request } = ctx.trace;
  if (!result.hypotheses || result.hypotheses.length < 2) return null;
  const now = request.hypothesis ?? 0;
  const canRun = ctx.source.live;
  return card(
    "Other whole outputs",
    h(
      "ol",
      { class: "n-best" },
      result.hypotheses.map((/** @type {any} */ one) =>
        h(
          "li",
          null,
          h("button", { type: "button", class: "hypothesis", disabled: !canRun, aria: { pressed: String(one.index === now) }, on: { click: () => ctx.run({ ...repeat(request), hypothesis: one.index }) } }, h("span", { class: "grow" }, bdi(one.text)), h("span", { class: "note" }, "score ", num(one.score)), h("span", { class: "note" }, "log p ", num(one.logp))),
        ),
      ),
    ),
  );
}

/** What has to be asked again to get the same search. @param {any} request */
function repeat(request) {
  const { decode, interventions, target } = request;
  return { decode: decode ?? undefined, interventions, target };
}

/** "Why not this?": the probability of an output of the reader's own. @param {any} ctx */
function whyNot(ctx) {
  if (!ctx.source.live) return null;
  const box = h("textarea", { rows: 2, dir: "auto", placeholder: "An output of your own", aria: { label: "an output of your own" } });
  const answer = h("div", { aria: { live: "polite" } });
  const asking = latest();
  const score = async () => {
    if (!box.value.trim()) return;
    const last = asking();
    const target = box.value;
    try {
      const found = await ctx.source.post("score", { run: ctx.trace.run, source: ctx.trace.request.source, target }, { signal: ctx.signal });
      if (!last() || ctx.signal.aborted) return;
      const better = found.logp > ctx.trace.result.logp;
      replace(
        answer,
        h("div", { class: "output-tokens" }, found.tokens.map((/** @type {any} */ one) => token({ ...one, special: /^<.*>$/.test(one.piece) }, { class: "tinted", style: tint(ctx.theme, Math.exp(one.logp)), title: `${one.piece}: probability ${percent(Math.exp(one.logp))}` }))),
        h("p", null, "log-probability ", num(found.logp), ", perplexity ", num(found.perplexity), better ? ": more likely than what the search found." : ": less likely than the output above."),
        button("Look inside this one", () => ctx.run({ target })),
      );
    } catch (error) {
      if (last() && !ctx.signal.aborted) replace(answer, h("p", { class: "error" }, bdi(messageOf(error))));
    }
  };
  return card("Why not this?", h("p", { class: "note" }, "Paste another output: the model says how likely it finds each token."), h("form", { class: "stack", on: { submit: (/** @type {Event} */ event) => (event.preventDefault(), score()) } }, box, h("div", null, h("button", { type: "submit" }, "Score it"))), answer);
}
