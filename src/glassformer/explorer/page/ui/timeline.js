/**
 * The timeline: one token for each decoding step; colour is its probability, the bar its entropy.
 * @module
 */

import { h, num3, percent, replace, svg, token } from "../dom.js";
import { cssOf, inkOn, sequential } from "../draw/colour.js";
import { atStep, confidence } from "./traces.js";

/** Steps shown as buttons around the current one; the whole output is in the views. */
const SPAN = 80;

/** @param {HTMLElement} panel @param {{go: (patch: any, options?: any) => void, announce: (text: string) => void}} how */
export function timeline(panel, { go, announce }) {
  const list = h("ol", { aria: { label: "decoding steps" } });
  const icon = (/** @type {string} */ label, /** @type {string} */ path, /** @type {() => void} */ act) =>
    h(
      "button",
      { type: "button", class: "quiet icon", title: label, aria: { label }, on: { click: act } },
      svg("svg", { viewBox: "0 0 24 24", fill: "currentColor", aria: { hidden: "true" } }, svg("path", { d: path })),
    );
  const play = icon("play", "M5 4.5 14 12l-9 7.5ZM16 5h2v14h-2ZM20 5h2v14h-2Z", () => toggle());
  const inner = h(
    "div",
    { class: "timeline-inner" },
    h(
      "div",
      { class: "transport", role: "group", aria: { label: "step" } },
      icon("first step", "M6 5h2v14H6ZM19 5v14L9 12Z", () => goTo(0)),
      icon("step back", "M17 5v14L6 12Z", () => goTo(step - 1)),
      play,
      icon("step forward", "M7 5v14l11-7Z", () => goTo(step + 1)),
      icon("last step", "M5 5v14l10-7ZM16 5h2v14h-2Z", () => goTo(Infinity)),
    ),
    list,
    h("p", { class: "key" }, "colour: probability", h("br"), "bar: entropy"),
  );
  replace(panel, h("h2", { class: "sr-only" }, "Timeline"), inner);
  /** @type {any} */ let trace = null;
  /** @type {any} */ let selection = null;
  let step = 0;
  let timer = 0;

  /** @param {number} to */
  function goTo(to) {
    if (!trace?.steps.length) return;
    const next = Math.max(0, Math.min(trace.steps.length - 1, to));
    go(atStep(selection, next, trace), { replace: true });
    const at = trace.steps[next];
    if (at.chosen) announce(`step ${next}: ${at.chosen.piece}, probability ${num3(Math.exp(at.chosen.logp))}, rank ${at.chosen.rank}`);
  }

  function pause() {
    clearInterval(timer);
    timer = 0;
    play.setAttribute("aria-pressed", "false");
    play.setAttribute("aria-label", "play");
  }

  function toggle() {
    if (timer) {
      pause();
      return;
    }
    play.setAttribute("aria-pressed", "true");
    play.setAttribute("aria-label", "pause");
    if (step >= trace.steps.length - 1) goTo(0);
    timer = window.setInterval(() => (step >= trace.steps.length - 1 ? pause() : goTo(step + 1)), 700);
  }

  panel.addEventListener("keydown", (event) => {
    const moves = /** @type {Record<string, () => void>} */ ({
      ArrowLeft: () => goTo(step - 1),
      ArrowRight: () => goTo(step + 1),
      Home: () => goTo(0),
      End: () => goTo(Infinity),
      " ": toggle,
    });
    const act = moves[event.key];
    if (!act || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    event.stopPropagation();
    const had = list.contains(document.activeElement);
    act();
    if (had) list.querySelector("[aria-current]")?.focus();
  });

  return {
    /** @param {any} now @param {any} meta @param {"light" | "dark"} theme */
    draw(now, meta, theme) {
      trace = meta;
      selection = now;
      step = now.step;
      panel.hidden = !meta?.steps.length;
      if (panel.hidden) {
        pause();
        return;
      }
      const table = sequential(theme);
      const most = Math.max(1, ...meta.steps.map((/** @type {any} */ s) => s.entropy ?? 0));
      const from = Math.max(0, Math.min(step - SPAN / 2, meta.steps.length - SPAN));
      const held = list.contains(document.activeElement);
      replace(
        list,
        from > 0 && h("li", { class: "note" }, `… ${from}`),
        meta.steps.slice(from, from + SPAN).map((/** @type {any} */ s, /** @type {number} */ at) => {
          const i = from + at;
          const p = confidence(s);
          const piece = s.chosen ?? { piece: "?", id: undefined };
          return h(
            "li",
            null,
            token(
              { ...piece, special: /^<.*>$/.test(piece.piece) },
              {
                as: "button",
                type: "button",
                class: i === step && "selected",
                tabIndex: i === step ? 0 : -1,
                aria: { current: i === step ? "step" : null, label: `step ${i}: ${piece.piece}, probability ${num3(p)}` },
                title: `step ${i}: ${piece.piece} · p ${percent(p)} · entropy ${num3(s.entropy)} nats${s.given ? " · given" : s.forced ? " · forced" : ""}`,
                style: { "--tint": cssOf(table, 0.08 + 0.85 * p), "--tint-text": inkOn(table, 0.08 + 0.85 * p), "--entropy": (s.entropy ?? 0) / most },
                on: { click: () => goTo(i) },
              },
            ),
          );
        }),
        from + SPAN < meta.steps.length && h("li", { class: "note" }, `${meta.steps.length - from - SPAN} …`),
      );
      for (const chip of list.querySelectorAll(".token")) chip.append(h("span", { class: "entropy" }));
      const current = list.querySelector("[aria-current]");
      if (current) {
        const box = current.parentElement;
        list.scrollLeft = box.offsetLeft - list.offsetLeft - list.clientWidth / 2 + box.offsetWidth / 2;
        if (held) current.focus({ preventScroll: true });
      }
    },
    toggle,
  };
}
