/**
 * The top of the page: which model, what is asked of it, tools, and the way from view to view.
 * @module
 */

import { bdi, h, place, replace, svg } from "../dom.js";
import { help, turnTheme } from "./commands.js";
import { renew, segmented, select } from "./controls.js";

/** @typedef {import("../app.js").App} App */

const ASK = /** @type {Record<string, [string, string]>} */ ({
  "encoder-decoder": ["Translate", "A sentence to translate"],
  "decoder-only": ["Continue", "The beginning of a text"],
  "masked-lm": ["Fill", "A sentence with [MASK] for each blank"],
  classifier: ["Classify", "A text to classify"],
  embedding: ["Read", "A text to read"],
});

/** The views that this model has, in groups. @param {App} app @param {any[]} list @param {any} current */
export function navigation(app, list, current) {
  const nav = place("views");
  /** @type {any[][]} */
  const groups = [[]];
  for (const view of app.order) {
    if (view === null) groups.push([]);
    else if (list.includes(view)) groups[groups.length - 1].push(view);
  }
  /** @param {any} view */
  const link = (view) => {
    const digit = app.views.indexOf(view) + 1;
    return h(
      "li",
      null,
      h("button", { type: "button", title: digit < 10 ? `${view.about} (${digit})` : view.about, aria: { current: view === current ? "page" : null }, on: { click: () => app.select({ view: view.id }) } }, app.titleOf(view)),
    );
  };
  renew(
    nav,
    groups.filter((group) => group.length).map((group) => h("div", { class: "group" }, h("ul", null, group.map(link)))),
  );
  const mark = nav.querySelector("[aria-current]");
  if (mark) nav.scrollLeft = Math.max(0, mark.offsetLeft - nav.clientWidth / 2 + mark.offsetWidth / 2);
}

/** Model and checkpoint, and what the field for a text asks for. @param {App} app @param {any} now */
export function choices(app, now) {
  const a = app.model.architecture;
  const [verb, hint] = ASK[a.family === "encoder-only" ? a.head : a.family] ?? ASK.embedding;
  place("run").textContent = verb;
  place("sentence").placeholder = hint;
  place("ask").hidden = false;
  const usable = app.runs.filter((run) => run.has_model && !run.error);
  renew(
    place("model-choice"),
    usable.length > 1
      ? select({ label: "model", hideLabel: true, options: usable.map((run) => [run.id, run.name]), value: now.run, onchange: (run) => app.store.set({ run, checkpoint: null, trace: null, compare: null }) })
      : h("span", { class: "chip" }, bdi(app.model.name)),
    app.checkpoints.length > 1 &&
      select({
        label: "checkpoint",
        hideLabel: true,
        options: [["", "newest"], ...app.checkpoints.map((point) => /** @type {[string, string]} */ ([point.id, `step ${point.step.toLocaleString("en")}${point.best ? " · best" : ""}`]))],
        value: now.checkpoint ?? "",
        onchange: (checkpoint) => app.store.set({ checkpoint: checkpoint || null, trace: null }),
      }),
  );
}

/** @param {App} app */
export function tools(app) {
  const box = h("span", { id: "level" });
  replace(
    place("tools"),
    box,
    icon("Commands (Ctrl K)", "M4 7h16M4 12h10M4 17h13", () => app.palette.open()),
    icon("Light or dark", "M12 3a9 9 0 1 0 9 9 7 7 0 0 1-9-9Z", () => turnTheme(app)),
    icon("Help (?)", "M9.2 9a2.9 2.9 0 1 1 4.3 2.6c-1 .6-1.5 1.1-1.5 2.4M12 17.6v.1M12 21a9 9 0 1 1 0-18 9 9 0 0 1 0 18Z", () => help(app)),
    h("span", { class: "inspect-toggle" }, icon("Inspector", "M12 8.2v.1M11 12h1v4.5h1M12 21a9 9 0 1 1 0-18 9 9 0 0 1 0 18Z", () => place("app").classList.toggle("inspecting"))),
  );
  levels(app, box);
}

/** @param {string} label @param {string} path @param {() => void} act */
function icon(label, path, act) {
  return h(
    "button",
    { type: "button", class: "quiet icon", title: label, aria: { label }, on: { click: act } },
    svg("svg", { viewBox: "0 0 24 24", fill: "none", stroke: "currentColor", "stroke-width": 1.8, "stroke-linecap": "round", "stroke-linejoin": "round", aria: { hidden: "true" } }, svg("path", { d: path })),
  );
}

/** How much is said; follows the selection. @param {App} app @param {any} box */
function levels(app, box) {
  const draw = () =>
    replace(
      box,
      segmented({
        label: "level",
        hideLabel: true,
        options: [["tour", "Tour"], ["explore", "Explore"], ["expert", "Expert"]],
        value: app.store.get().level,
        onchange: (value) => app.select({ level: value }),
      }),
    );
  draw();
  app.store.subscribe((now, before) => {
    if (now.level === before.level) return;
    const option = box.querySelector(`input[value="${now.level}"]`);
    if (option) option.checked = true;
    else draw();
  });
}
