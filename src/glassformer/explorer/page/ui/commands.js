/**
 * What can be done from anywhere: by a key, or by a name in the palette.
 * @module
 */

import { place } from "../dom.js";
import { remember, remembered } from "../store.js";
import { openHelp } from "./help.js";
import { listen } from "./keys.js";
import { announce, toast } from "./notices.js";
import { KIND_NAMES } from "./types.js";

/** @typedef {import("../app.js").App} App */

/** @param {App} app */
export function listenToKeys(app) {
  const turn = (/** @type {"layer" | "head"} */ what, /** @type {number} */ by) => () => {
    const now = app.store.get();
    app.select({ [what]: Math.max(0, now[what] + by) }, { replace: true });
    const next = app.store.get();
    announce(`${KIND_NAMES[next.kind]}, layer ${next.layer}, head ${next.head}`);
  };
  const kind = (/** @type {string} */ to) => () => {
    if (!app.trace?.kinds.includes(to)) return;
    app.select({ kind: to });
    announce(KIND_NAMES[to]);
  };
  /** @type {Record<string, (event: KeyboardEvent) => void>} */
  const actions = {
    palette: () => app.palette.open(),
    "/": () => {
      place("sentence").focus();
      place("sentence").select();
    },
    "?": () => help(app),
    "[": turn("layer", -1),
    "]": turn("layer", 1),
    ",": turn("head", -1),
    ".": turn("head", 1),
    e: kind("enc"),
    d: kind("dec"),
    c: kind("cross"),
    l: () => turnScale(app),
    m: () => mute(app),
    x: () => keep(app),
    t: () => app.stage.toggleTable(),
  };
  for (let digit = 1; digit <= 9; digit++) actions[String(digit)] = () => goTo(app, app.views[digit - 1]);
  listen(actions, { enabled: () => remembered("letters", "on") === "on", first: (event) => app.stage.key(event) });
}

/** @param {App} app */
export function commandsOf(app) {
  if (!app.model) return [];
  const now = app.store.get();
  const list = app.available().map((view) => ({ name: app.titleOf(view), hint: view.about, run: () => app.select({ view: view.id }) }));
  for (const kind of app.trace?.kinds ?? []) list.push({ name: KIND_NAMES[kind], hint: "kind of attention", run: () => app.select({ kind }) });
  const shape = app.trace?.shapes[now.kind];
  if (shape) {
    for (let layer = 0; layer < shape.layers; layer++) {
      for (let at = 0; at < shape.heads; at++) list.push({ name: `Layer ${layer}, head ${at}`, hint: KIND_NAMES[now.kind], run: () => app.select({ layer, head: at, view: "head" }) });
    }
  }
  list.push(
    { name: "Mute this head and run again", hint: "m", run: () => mute(app) },
    { name: "Keep this trace to compare", hint: "x", run: () => keep(app) },
    { name: "Light or dark", hint: "theme", run: () => turnTheme(app) },
    { name: "Theme of the system", hint: "theme", run: () => app.applyTheme("system", true) },
    { name: "Tour", hint: "twelve stops through the model", run: () => app.select({ level: "tour", stop: 0 }) },
    { name: "Explore", hint: "level", run: () => app.select({ level: "explore" }) },
    { name: "Expert", hint: "level", run: () => app.select({ level: "expert" }) },
    { name: "Table instead of the picture", hint: "t", run: () => app.stage.toggleTable() },
    { name: "Help and keys", hint: "?", run: () => help(app) },
  );
  for (const text of app.about?.examples ?? []) list.push({ name: `Run: ${text}`, hint: "example", run: () => app.run({ source: text }) });
  return list;
}

/** @param {App} app @param {any} view */
function goTo(app, view) {
  if (view && app.model && app.available().includes(view)) app.select({ view: view.id });
}

/** @param {App} app */
function turnScale(app) {
  const next = /** @type {Record<string, string>} */ ({ linear: "sqrt", sqrt: "log", log: "linear" })[app.store.get().scale] ?? "sqrt";
  app.select({ scale: next }, { replace: true });
  announce(`scale ${next}`);
}

/** Without the selected head, once more. @param {App} app */
function mute(app) {
  const { kind, layer, head } = app.store.get();
  if (!app.trace) return;
  app.run({ interventions: [...app.trace.request.interventions, { type: "mute", kind, layer, head }], compare: undefined });
  toast(`Muted ${KIND_NAMES[kind].toLowerCase()}, layer ${layer}, head ${head}.`);
}

/** @param {App} app */
function keep(app) {
  if (!app.trace) return;
  app.select({ compare: app.trace.id });
  toast("Kept. The next trace can be compared with this one.");
}

/** @param {App} app */
export function turnTheme(app) {
  app.applyTheme(app.theme === "dark" ? "light" : "dark", true);
}

/** @param {App} app */
export function help(app) {
  openHelp({
    views: app.model ? app.available().map((view) => ({ title: app.titleOf(view), about: view.about })) : [],
    letters: remembered("letters", "on") === "on",
    onletters: (on) => remember("letters", on ? "on" : "off"),
  });
}
