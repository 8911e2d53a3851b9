/**
 * V1 Translate, generate, fill, classify: what the model answered, how sure it was, and what it might have said.
 * @module
 */

import { bdi, formula, frac, h, mi, mn, mo, nameOf, num, num3, percent, replace, row, sub, token, visible } from "../dom.js";
import { cssOf, inkOn, resolve, sequential } from "../draw/colour.js";
import { links, linksAcross } from "../draw/links.js";
import { button, segmented } from "../ui/controls.js";
import { latest, messageOf } from "../ui/latest.js";
import { bar, card, figures, pythonOfTrace } from "../ui/parts.js";
import { atStep, confidence } from "../ui/traces.js";

/** Below this width the two sentences stand side by side, one word a line. */
const NARROW = 620;

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

/** Tinted by probability. @param {any} ctx @param {number} p */
function tint(ctx, p) {
  const table = sequential(ctx.theme);
  const t = 0.06 + 0.86 * p;
  return { "--tint": cssOf(table, t), "--tint-text": inkOn(table, t) };
}

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
          style: tint(ctx, p),
          aria: { label: `${step.chosen.piece}, probability ${num3(p)}; show alternatives` },
          title: `probability ${percent(p)}, rank ${step.chosen.rank}`,
          on: { click: () => pick(i) },
        },
      );
    }),
  );
}

/** @param {any} ctx @param {HTMLElement} box @param {any} selection */
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

/** Two sentences and the ribbons between their words. @param {any} ctx */
function aligned(ctx) {
  let found = ctx.trace.alignment;
  const canvas = h("canvas", { class: "ribbons", aria: { hidden: "true" } });
  const above = h("div", { class: "sentence", role: "group", aria: { label: "source words" } });
  const below = h("div", { class: "sentence", role: "group", aria: { label: "target words" } });
  const box = h("div", { class: "alignment scroll-x", tabIndex: 0, role: "region", aria: { label: "word alignment" } }, h("div", { class: "alignment-inner" }, above, h("div", { class: "between" }), below, canvas));
  const inner = box.firstElementChild;
  /** @type {{side: string, at: number} | null} */ let hovered = null;
  let frame = 0;

  const partners = (/** @type {string} */ side, /** @type {number} */ at) =>
    found.links.filter((/** @type {number[]} */ [s, t]) => (side === "source" ? s === at : t === at)).map((/** @type {number[]} */ [s, t, w]) => ({ word: side === "source" ? found.target[t] : found.source[s], at: side === "source" ? t : s, w }));

  const word = (/** @type {string} */ side) => (/** @type {string} */ written, /** @type {number} */ at) => {
    const say = () => {
      const list = partners(side, at);
      return list.length ? `${written} belongs with ${list.map((/** @type {any} */ one) => `${one.word} (${num3(one.w)})`).join(", ")}` : `${written}: no partner`;
    };
    const on = () => {
      hovered = { side, at };
      later();
    };
    const off = () => {
      hovered = null;
      later();
    };
    return h("button", { type: "button", class: "word", title: say(), aria: { label: say() }, on: { pointerenter: on, focus: on, pointerleave: off, blur: off, click: () => ctx.announce(say()) } }, bdi(written));
  };

  function words() {
    replace(above, found.source.map(word("source")));
    replace(below, found.target.map(word("target")));
  }

  function later() {
    if (!frame) frame = requestAnimationFrame(draw);
  }

  function draw() {
    frame = 0;
    if (!inner.isConnected) return;
    const narrow = box.clientWidth < NARROW;
    inner.classList.toggle("narrow", narrow);
    const ratio = window.devicePixelRatio || 1;
    const { offsetWidth: w, offsetHeight: tall } = inner;
    canvas.width = Math.min(8192, Math.round(w * ratio));
    canvas.height = Math.round(tall * ratio);
    canvas.style.setProperty("inline-size", `${w}px`);
    canvas.style.setProperty("block-size", `${tall}px`);
    const pen = canvas.getContext("2d");
    if (!pen) return;
    const strong = resolve(box, "--cross");
    const faint = resolve(box, "--line-strong");
    const list = found.links.map((/** @type {number[]} */ [from, to, weight]) => ({ from, to, weight }));
    const mine = (/** @type {any} */ link) => !hovered || (hovered.side === "source" ? link.from : link.to) === hovered.at;
    const colour = (/** @type {any} */ link) => (mine(link) ? strong : faint);
    const sources = [...above.children];
    const targets = [...below.children];
    if (narrow) {
      const y = (/** @type {any} */ element) => element.parentElement.offsetTop + element.offsetTop + element.offsetHeight / 2;
      links(pen, list, { fromY: sources.map(y), toY: targets.map(y), x0: above.offsetLeft + above.offsetWidth + 4, x1: below.offsetLeft - 4, colour, ratio });
    } else {
      const x = (/** @type {any} */ element) => element.parentElement.offsetLeft + element.offsetLeft + element.offsetWidth / 2;
      linksAcross(pen, list, { fromX: sources.map(x), toX: targets.map(x), y0: above.offsetTop + above.offsetHeight + 3, y1: below.offsetTop - 3, colour, ratio });
    }
    const near = new Set(hovered ? partners(hovered.side, hovered.at).map((/** @type {any} */ one) => one.at) : []);
    const lit = (/** @type {any[]} */ elements, /** @type {string} */ side) => elements.forEach((element, i) => element.classList.toggle("lit", Boolean(hovered) && (hovered?.side === side ? hovered.at === i : near.has(i))));
    lit(sources, "source");
    lit(targets, "target");
  }

  words();
  const watcher = new ResizeObserver(later);
  watcher.observe(box);
  ctx.signal.addEventListener("abort", () => watcher.disconnect());
  const layers = ctx.trace.shapes.cross?.layers ?? 0;
  const chosen = found.layer;
  const asking = latest();
  const controls =
    ctx.level !== "tour" && layers > 1 && ctx.source.live
      ? h(
          "div",
          { class: "controls hero-controls" },
          segmented({
            label: "read from cross-attention of layer",
            options: Array.from({ length: layers }, (_, i) => [i, i === chosen ? `${i} ·` : String(i)]),
            value: chosen,
            onchange: async (layer) => {
              const last = asking();
              try {
                const other = await ctx.source.json(`traces/${ctx.trace.id}/alignment?layer=${layer}&fed=${found.fed}`, { signal: ctx.signal });
                if (!last() || ctx.signal.aborted) return;
                found = other;
                words();
                later();
              } catch (error) {
                if (last() && !ctx.signal.aborted) ctx.toast(messageOf(error), true);
              }
            },
          }),
          h("span", { class: "note" }, "Read off attention, so a hint and not a proof."),
        )
      : null;
  return { element: h("div", null, box, controls), canvas };
}

/** @param {any} ctx */
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
        h("div", { class: "output-tokens" }, found.tokens.map((/** @type {any} */ one) => token({ ...one, special: /^<.*>$/.test(one.piece) }, { class: "tinted", style: tint(ctx, Math.exp(one.logp)), title: `${one.piece}: probability ${percent(Math.exp(one.logp))}` }))),
        h("p", null, "log-probability ", num(found.logp), ", perplexity ", num(found.perplexity), better ? ": more likely than what the search found." : ": less likely than the output above."),
        button("Look inside this one", () => ctx.run({ target })),
      );
    } catch (error) {
      if (last() && !ctx.signal.aborted) replace(answer, h("p", { class: "error" }, bdi(messageOf(error))));
    }
  };
  return card("Why not this?", h("p", { class: "note" }, "Paste another output: the model says how likely it finds each token."), h("form", { class: "stack", on: { submit: (/** @type {Event} */ event) => (event.preventDefault(), score()) } }, box, h("div", null, h("button", { type: "submit" }, "Score it"))), answer);
}

/** @param {HTMLElement} stage @param {any} ctx */
function fill(stage, ctx) {
  const { trace } = ctx;
  const { blanks } = trace.result;
  const at = new Map(blanks.map((/** @type {any} */ blank) => [blank.position, blank]));
  stage.append(
    h("section", { class: "card hero" }, h("div", { class: "output-tokens" }, trace.tokens.source.map((/** @type {any} */ tok) => (at.has(tok.index) ? token({ ...tok, special: false, piece: at.get(tok.index).guesses[0]?.piece ?? "?" }, { class: ["tinted", "guess"], style: tint(ctx, at.get(tok.index).guesses[0]?.p ?? 0) }) : token(tok))))),
    blanks.length
      ? h("div", { class: "columns" }, blanks.map((/** @type {any} */ blank, /** @type {number} */ i) => guesses(`Blank ${i + 1}, position ${blank.position}`, blank.guesses.map((/** @type {any} */ g) => ({ name: g.piece, p: g.p })))))
      : h("p", { class: "empty" }, "Write [MASK] where a word is missing."),
  );
  ctx.inspect({ title: "Fill the blanks", says: "Each blank is guessed from both sides at once: the encoder has no mask over the future.", numbers: blanks.map((/** @type {any} */ b) => [`position ${b.position}`, b.guesses[0]?.p ?? 0]), python: pythonOfTrace(ctx) });
  const rows = blanks.flatMap((/** @type {any} */ b) => b.guesses.map((/** @type {any} */ g) => [b.position, g.piece, g.p]));
  return { python: () => pythonOfTrace(ctx), table: () => ({ caption: "Guesses at each blank", columns: [{ label: "position", numeric: true }, { label: "piece" }, { label: "probability", numeric: true }], count: rows.length, row: (/** @type {number} */ i) => rows[i] }) };
}

/** @param {string} title @param {{name: string, p: number}[]} list */
function guesses(title, list) {
  const most = Math.max(...list.map((one) => one.p), 1e-9);
  return card(
    title,
    h(
      "ul",
      { class: "alternatives" },
      list.map((one) => {
        const meter = bar("enc");
        meter.set(one.p / most, percent(one.p), String(one.p));
        return h("li", null, token({ piece: one.name }), meter.element);
      }),
    ),
  );
}

/** @param {HTMLElement} stage @param {any} ctx */
function classify(stage, ctx) {
  const { labels } = ctx.trace.result;
  const best = labels.reduce((/** @type {any} */ a, /** @type {any} */ b) => (b.p > a.p ? b : a), labels[0]);
  stage.append(h("section", { class: "card hero" }, h("p", { class: "note", dir: "auto" }, bdi(ctx.trace.text.source)), h("p", { class: "result-text" }, bdi(best?.name ?? ""), " ", h("span", { class: "note" }, percent(best?.p ?? 0)))), guesses("Labels", labels));
  ctx.inspect({ title: "Classify", says: ["The model finds ", h("strong", null, bdi(best?.name ?? "")), " most likely."], equation: formula(mi("p"), mo("="), mi("softmax"), mo("("), mi("W"), mi("x"), mo("+"), mi("b"), mo(")")), numbers: labels.map((/** @type {any} */ l) => [bdi(l.name), l.p]), python: pythonOfTrace(ctx) });
  return { python: () => pythonOfTrace(ctx), table: () => ({ caption: "Labels", columns: [{ label: "label" }, { label: "probability", numeric: true }], count: labels.length, row: (/** @type {number} */ i) => [labels[i].name, labels[i].p] }) };
}

/** @param {HTMLElement} stage @param {any} ctx */
function embed(stage, ctx) {
  const { vector, norm } = ctx.trace.result;
  const most = Math.max(...vector.map(Math.abs), 1e-9);
  stage.append(h("section", { class: "card hero" }, h("p", { dir: "auto" }, bdi(ctx.trace.text.source)), figures([["dimensions", vector.length], ["length", norm]]), h("div", { class: "vector" }, vector.slice(0, 512).map((/** @type {number} */ x, /** @type {number} */ i) => h("i", { title: `${i}: ${x}`, style: { "--x": x / most }, class: x < 0 && "below" })))));
  ctx.inspect({ title: "A text as one vector", says: "The states of all positions, pooled into one.", numbers: [["length", norm]], shapes: [["vector", String(vector.length)]], python: pythonOfTrace(ctx) });
  return { python: () => pythonOfTrace(ctx), table: () => ({ caption: "The vector", columns: [{ label: "dimension", numeric: true }, { label: "value", numeric: true }], count: vector.length, row: (/** @type {number} */ i) => [i, vector[i]] }) };
}
