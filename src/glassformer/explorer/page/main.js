/**
 * The page: opens a model, asks for a trace, and hands both to the view that the selection names.
 * @module
 */

import { bdi, h, replace, svg } from "./dom.js";
import { EmbeddedSource, HttpSource } from "./source.js";
import { remember, remembered, Store, takeToken } from "./store.js";
import { renew, segmented, select as selectBox } from "./ui/controls.js";
import { save } from "./ui/exports.js";
import { openHelp } from "./ui/help.js";
import { inspector } from "./ui/inspector.js";
import { listen } from "./ui/keys.js";
import { messageOf } from "./ui/latest.js";
import { modelMap } from "./ui/map.js";
import { commandPalette } from "./ui/palette.js";
import { stage } from "./ui/stage.js";
import { timeline } from "./ui/timeline.js";
import { tour } from "./ui/tour.js";
import { firstStep, fitted } from "./ui/traces.js";
import { KIND_NAMES } from "./ui/types.js";
import { view as arithmetic } from "./views/arithmetic.js";
import { view as atlas } from "./views/atlas.js";
import { view as beam } from "./views/beam.js";
import { view as compare } from "./views/compare.js";
import { view as embedding } from "./views/embedding.js";
import { view as head } from "./views/head.js";
import { view as layers } from "./views/layers.js";
import { view as masks } from "./views/masks.js";
import { view as nextToken } from "./views/next-token.js";
import { view as runs } from "./views/runs.js";
import { view as timeMachine } from "./views/time-machine.js";
import { view as tokens } from "./views/tokens.js";
import { view as translate } from "./views/translate.js";
import { view as weights } from "./views/weights.js";
import { view as whatIf } from "./views/what-if.js";

/** In the order of the paper; the first nine have a digit. A null begins a new group. */
const ORDER = [translate, null, tokens, embedding, atlas, head, arithmetic, masks, layers, nextToken, beam, null, whatIf, compare, timeMachine, null, runs, weights];
const VIEWS = /** @type {import("./ui/types.js").View[]} */ (ORDER.filter(Boolean));

const ASK = /** @type {Record<string, [string, string]>} */ ({
  "encoder-decoder": ["Translate", "A sentence to translate"],
  "decoder-only": ["Continue", "The beginning of a text"],
  "masked-lm": ["Fill", "A sentence with [MASK] for each blank"],
  classifier: ["Classify", "A text to classify"],
  embedding: ["Read", "A text to read"],
});

/** @param {string} id @returns {any} */
const place = (id) => document.getElementById(id);

class App {
  /** @type {any} */ about = null;
  /** @type {any[]} */ runs = [];
  /** @type {any} */ model = null;
  /** @type {any[]} */ checkpoints = [];
  /** @type {any} */ trace = null;
  /** @type {any} */ other = null;
  #visit = new AbortController();
  #asking = new AbortController();
  #turn = 0;
  #modelKey = "";
  #mountedFor = "";
  #toastTimer = 0;

  /** @param {any} source @param {Store} store */
  constructor(source, store) {
    this.source = source;
    this.store = store;
    const go = (/** @type {any} */ patch, /** @type {any} */ options = {}) => this.select(patch, options);
    const announce = (/** @type {string} */ text) => this.announce(text);
    this.map = modelMap(place("map"), { go });
    this.timeline = timeline(place("timeline"), { go, announce });
    this.inspector = inspector(place("inspector"), { copy: (text) => this.copy(text) });
    this.stage = stage({ head: place("stage-head"), slot: place("stage-slot") }, { copy: (text) => this.copy(text), fail: (error) => this.fail(error) });
    this.tour = tour(place("tour"), { go });
    this.palette = commandPalette(() => this.commands());
  }

  async start() {
    this.applyTheme(remembered("theme", "system"));
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.settle());
    this.tools();
    this.keyboard();
    place("ask").addEventListener("submit", (/** @type {Event} */ event) => {
      event.preventDefault();
      this.run({ source: place("sentence").value });
    });
    place("skip-stage").addEventListener("click", (/** @type {Event} */ event) => {
      event.preventDefault();
      place("stage").focus();
    });
    this.about = await this.source.json("about");
    this.runs = (await this.source.json("runs")).runs;
    const start = this.source.live ? {} : { run: this.source.run, trace: this.source.trace };
    const now = this.store.get();
    const known = this.runs.some((run) => run.id === now.run && run.has_model && !run.error);
    this.store.set({ ...start, run: known ? now.run : start.run ?? this.about.default_run }, { replace: true });
    this.store.subscribe((selection, before) => this.settle(selection, before));
    await this.settle();
  }

  get theme() {
    const chosen = document.documentElement.dataset.theme;
    if (chosen === "light" || chosen === "dark") return chosen;
    return window.matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  }

  /** @param {any} patch @param {{replace?: boolean}} [options] */
  select(patch, options) {
    const next = { ...this.store.get(), ...patch };
    this.store.set(this.trace ? { ...patch, ...fitted(next, this.trace) } : patch, options);
  }

  /** Bring the page in line with the selection. @param {any} [now] @param {any} [before] */
  async settle(now = this.store.get(), before = now) {
    const turn = ++this.#turn;
    try {
      if (!(await this.loadModel(now, turn)) || !(await this.loadTraces(now, turn))) return;
    } catch (error) {
      if (turn === this.#turn && !(error instanceof DOMException && error.name === "AbortError")) this.fail(error);
      return;
    }
    this.show(this.store.get(), before);
  }

  /** @param {any} now @param {number} turn @returns {Promise<boolean>} whether this is still what is wanted */
  async loadModel(now, turn) {
    if (!now.run) {
      this.fail(new Error("no model here; start glassformer explore with a model or run directory"));
      return false;
    }
    const key = `${now.run} ${now.checkpoint}`;
    if (this.#modelKey === key) return true;
    const asked = now.checkpoint ? `?checkpoint=${encodeURIComponent(now.checkpoint)}` : "";
    const model = await this.source.json(`runs/${encodeURIComponent(now.run)}${asked}`);
    const list = this.source.live ? (await this.source.json(`runs/${encodeURIComponent(now.run)}/checkpoints`)).checkpoints : [];
    if (turn !== this.#turn) return false;
    this.model = model;
    this.checkpoints = list;
    this.#modelKey = key;
    this.map.draw(model);
    this.choices(now);
    return true;
  }

  /** @param {any} now @param {number} turn */
  async loadTraces(now, turn) {
    const belongs = this.trace && this.trace.run === now.run && (now.checkpoint === null || this.trace.checkpoint === now.checkpoint);
    if (!now.trace || (this.trace?.id === now.trace && !belongs)) {
      await this.run({ source: now.text ?? this.example(), replace: true });
      return false; // the new trace settles the page
    }
    if (this.trace?.id !== now.trace) {
      let meta;
      try {
        meta = await this.source.meta(now.trace);
      } catch (error) {
        if (!this.source.live || !(error instanceof Error) || ![404, 410].includes(/** @type {any} */ (error).status)) throw error;
        if (turn !== this.#turn) return false;
        await this.run({ source: now.text ?? this.example(), replace: true });
        return false;
      }
      if (turn !== this.#turn) return false;
      this.trace = meta;
      this.sentence(meta.request.source);
      if (meta.run !== now.run) {
        this.store.set({ run: meta.run, checkpoint: null }, { replace: true });
        return false;
      }
      const fit = fitted(now, meta);
      if (Object.entries(fit).some(([name, value]) => now[name] !== value)) this.store.set(fit, { replace: true });
    }
    if (now.compare !== (this.other?.id ?? null)) {
      this.other = null;
      if (now.compare) {
        try {
          this.other = await this.source.meta(now.compare);
        } catch {
          this.store.set({ compare: null }, { replace: true });
        }
        if (turn !== this.#turn) return false;
      }
    }
    return true;
  }

  /** @param {any} now @param {any} before */
  show(now, before) {
    const list = this.available();
    const view = list.find((one) => one.id === now.view) ?? list[0];
    const key = [view.id, now.trace, now.run, now.checkpoint, now.compare, now.level, this.theme].join(" ");
    this.navigation(list, view);
    this.map.mark({ ...now, view: view.id }, this.trace);
    this.timeline.draw(now, this.trace, this.theme);
    this.inspector.trust(this.trace);
    document.title = `${this.titleOf(view)} · Glassformer`;
    if (key === this.#mountedFor) this.stage.update(now, before);
    else {
      const tourMoved = this.#mountedFor.split(" ")[0] !== view.id;
      this.#mountedFor = key;
      this.#visit.abort();
      this.#visit = new AbortController();
      this.inspector.show(null);
      if (tourMoved) place("stage").scrollTop = 0;
      this.stage.mount(view, this.context(), this.titleOf(view));
    }
    this.tour.draw(now, this.model, this.trace, this.source);
  }

  context() {
    const app = this;
    const signal = this.#visit.signal;
    return {
      store: this.store,
      source: this.source,
      model: this.model,
      about: this.about,
      runs: this.runs,
      checkpoints: this.checkpoints,
      trace: this.trace,
      other: this.other,
      level: this.store.get().level,
      theme: this.theme,
      signal,
      select: (/** @type {any} */ patch, /** @type {any} */ options) => app.select(patch, options),
      run: (/** @type {any} */ patch) => app.run(patch),
      traceOf: (/** @type {any} */ patch) => app.traceOf(patch),
      inspect: (/** @type {any} */ card) => {
        if (!signal.aborted) app.inspector.show(card);
      },
      announce: (/** @type {string} */ text) => app.announce(text),
      error: (/** @type {unknown} */ error) => {
        if (!signal.aborted) app.fail(error);
      },
      toast: (/** @type {string} */ text, /** @type {boolean} */ bad = false) => app.toast(text, bad),
      copy: (/** @type {string} */ text) => app.copy(text),
      saveTrace: () => app.saveTrace(),
    };
  }

  /** @param {any} patch @param {AbortSignal} [signal] */
  async traceOf(patch, signal) {
    const now = this.store.get();
    // What is typed but was not run yet does not count: levers act on the sentence that is shown.
    const request = { run: now.run, source: this.trace?.request.source ?? place("sentence").value, ...patch };
    if (now.checkpoint && request.checkpoint === undefined) request.checkpoint = now.checkpoint;
    const { meta } = await this.source.post("traces", request, { signal });
    return meta;
  }

  /** @param {any} patch */
  async run({ replace: inPlace = false, ...patch }) {
    if (!this.source.live) {
      this.toast("This file holds one trace. To run the model, open it with glassformer explore.");
      return null;
    }
    this.#asking.abort();
    this.#asking = new AbortController();
    const { signal } = this.#asking;
    const { run, checkpoint } = this.store.get();
    place("progress").hidden = false;
    place("stage").setAttribute("aria-busy", "true");
    try {
      const meta = await this.traceOf(patch, signal);
      const now = this.store.get();
      if (signal.aborted || now.run !== run || now.checkpoint !== checkpoint) return null; // another model was chosen
      this.trace = meta;
      this.sentence(meta.request.source);
      const step = Math.max(now.step, firstStep(meta));
      this.store.set({ trace: meta.id, text: meta.request.source, hypothesis: meta.request.hypothesis ?? 0, ...fitted({ ...now, step }, meta) }, { replace: inPlace || !now.trace });
      if (now.trace === meta.id) this.settle();
      this.announce(meta.result?.text ? `output: ${meta.result.text}` : "done");
      return meta;
    } catch (error) {
      if (signal.aborted || this.store.get().run !== run) return null;
      if (this.trace) this.toast(messageOf(error), true);
      else this.fail(error);
      return null;
    } finally {
      if (this.#asking.signal === signal) {
        place("progress").hidden = true;
        place("stage").removeAttribute("aria-busy");
      }
    }
  }

  example() {
    const a = this.model.architecture;
    const given = this.about.examples?.[0] ?? "The cat chased the mouse.";
    return a.head === "masked-lm" && !given.includes("[MASK]") ? "The [MASK] chased the mouse." : given;
  }

  /** @param {string} text */
  sentence(text) {
    const box = place("sentence");
    if (document.activeElement !== box || !box.value) box.value = text;
  }

  available() {
    const family = this.model.architecture.family;
    return VIEWS.filter((view) => view.families.includes(family) && (this.source.live || !view.live));
  }

  /** @param {any} view */
  titleOf(view) {
    return view.titleFor?.(this.model) ?? view.title;
  }

  /** @param {any[]} list @param {any} current */
  navigation(list, current) {
    const nav = place("views");
    /** @type {any[][]} */
    const groups = [[]];
    for (const view of ORDER) {
      if (view === null) groups.push([]);
      else if (list.includes(view)) groups[groups.length - 1].push(view);
    }
    renew(
      nav,
      groups.filter((group) => group.length).map((group) =>
        h(
          "div",
          { class: "group" },
          h(
            "ul",
            null,
            group.map((view) => {
              const digit = VIEWS.indexOf(view) + 1;
              return h(
                "li",
                null,
                h("button", { type: "button", title: digit < 10 ? `${view.about} (${digit})` : view.about, aria: { current: view === current ? "page" : null }, on: { click: () => this.select({ view: view.id }) } }, this.titleOf(view)),
              );
            }),
          ),
        ),
      ),
    );
    const mark = nav.querySelector("[aria-current]");
    if (mark) nav.scrollLeft = Math.max(0, mark.offsetLeft - nav.clientWidth / 2 + mark.offsetWidth / 2);
  }

  /** @param {any} now */
  choices(now) {
    const a = this.model.architecture;
    const [verb, hint] = ASK[a.family === "encoder-only" ? a.head : a.family] ?? ASK.embedding;
    place("run").textContent = verb;
    place("sentence").placeholder = hint;
    place("ask").hidden = false;
    const usable = this.runs.filter((run) => run.has_model && !run.error);
    renew(
      place("model-choice"),
      usable.length > 1
        ? selectBox({ label: "model", hideLabel: true, options: usable.map((run) => [run.id, run.name]), value: now.run, onchange: (run) => this.store.set({ run, checkpoint: null, trace: null, compare: null }) })
        : h("span", { class: "chip" }, bdi(this.model.name)),
      this.checkpoints.length > 1 &&
        selectBox({
          label: "checkpoint",
          hideLabel: true,
          options: [["", "newest"], ...this.checkpoints.map((point) => /** @type {[string, string]} */ ([point.id, `step ${point.step.toLocaleString("en")}${point.best ? " · best" : ""}`]))],
          value: now.checkpoint ?? "",
          onchange: (checkpoint) => this.store.set({ checkpoint: checkpoint || null, trace: null }),
        }),
    );
  }

  tools() {
    const icon = (/** @type {string} */ label, /** @type {string} */ path, /** @type {() => void} */ act) =>
      h(
        "button",
        { type: "button", class: "quiet icon", title: label, aria: { label }, on: { click: act } },
        svg("svg", { viewBox: "0 0 24 24", fill: "none", stroke: "currentColor", "stroke-width": 1.8, "stroke-linecap": "round", "stroke-linejoin": "round", aria: { hidden: "true" } }, svg("path", { d: path })),
      );
    const level = h("span", { id: "level" });
    replace(
      place("tools"),
      level,
      icon("Commands (Ctrl K)", "M4 7h16M4 12h10M4 17h13", () => this.palette.open()),
      icon("Light or dark", "M12 3a9 9 0 1 0 9 9 7 7 0 0 1-9-9Z", () => this.turnTheme()),
      icon("Help (?)", "M9.2 9a2.9 2.9 0 1 1 4.3 2.6c-1 .6-1.5 1.1-1.5 2.4M12 17.6v.1M12 21a9 9 0 1 1 0-18 9 9 0 0 1 0 18Z", () => this.help()),
      h("span", { class: "inspect-toggle" }, icon("Inspector", "M12 8.2v.1M11 12h1v4.5h1M12 21a9 9 0 1 1 0-18 9 9 0 0 1 0 18Z", () => place("app").classList.toggle("inspecting"))),
    );
    const draw = () =>
      replace(
        level,
        segmented({
          label: "level",
          hideLabel: true,
          options: [["tour", "Tour"], ["explore", "Explore"], ["expert", "Expert"]],
          value: this.store.get().level,
          onchange: (value) => this.select({ level: value }),
        }),
      );
    draw();
    this.store.subscribe((now, before) => {
      if (now.level === before.level) return;
      const box = level.querySelector(`input[value="${now.level}"]`);
      if (box) box.checked = true;
      else draw();
    });
  }

  keyboard() {
    const turn = (/** @type {"layer" | "head"} */ what, /** @type {number} */ by) => () => {
      const now = this.store.get();
      this.select({ [what]: Math.max(0, now[what] + by) }, { replace: true });
      const next = this.store.get();
      this.announce(`${KIND_NAMES[next.kind]}, layer ${next.layer}, head ${next.head}`);
    };
    const kind = (/** @type {string} */ to) => () => {
      if (!this.trace?.kinds.includes(to)) return;
      this.select({ kind: to });
      this.announce(KIND_NAMES[to]);
    };
    /** @type {Record<string, (event: KeyboardEvent) => void>} */
    const actions = {
      palette: () => this.palette.open(),
      "/": () => {
        place("sentence").focus();
        place("sentence").select();
      },
      "?": () => this.help(),
      "[": turn("layer", -1),
      "]": turn("layer", 1),
      ",": turn("head", -1),
      ".": turn("head", 1),
      e: kind("enc"),
      d: kind("dec"),
      c: kind("cross"),
      l: () => {
        const next = /** @type {Record<string, string>} */ ({ linear: "sqrt", sqrt: "log", log: "linear" })[this.store.get().scale] ?? "sqrt";
        this.select({ scale: next }, { replace: true });
        this.announce(`scale ${next}`);
      },
      m: () => this.mute(),
      x: () => this.keep(),
      t: () => this.stage.toggleTable(),
    };
    for (let digit = 1; digit <= 9; digit++) {
      actions[String(digit)] = () => {
        const view = VIEWS[digit - 1];
        if (view && this.model && this.available().includes(view)) this.select({ view: view.id });
      };
    }
    listen(actions, { enabled: () => remembered("letters", "on") === "on", first: (event) => this.stage.key(event) });
  }

  mute() {
    const { kind, layer, head: at } = this.store.get();
    if (!this.trace) return;
    this.run({ interventions: [...this.trace.request.interventions, { type: "mute", kind, layer, head: at }], compare: undefined });
    this.toast(`Muted ${KIND_NAMES[kind].toLowerCase()}, layer ${layer}, head ${at}.`);
  }

  keep() {
    if (!this.trace) return;
    this.select({ compare: this.trace.id });
    this.toast("Kept. The next trace can be compared with this one.");
  }

  commands() {
    if (!this.model) return [];
    const now = this.store.get();
    const list = this.available().map((view) => ({ name: this.titleOf(view), hint: view.about, run: () => this.select({ view: view.id }) }));
    for (const kind of this.trace?.kinds ?? []) list.push({ name: KIND_NAMES[kind], hint: "kind of attention", run: () => this.select({ kind }) });
    const shape = this.trace?.shapes[now.kind];
    if (shape) {
      for (let layer = 0; layer < shape.layers; layer++) {
        for (let at = 0; at < shape.heads; at++) list.push({ name: `Layer ${layer}, head ${at}`, hint: KIND_NAMES[now.kind], run: () => this.select({ layer, head: at, view: "head" }) });
      }
    }
    list.push(
      { name: "Mute this head and run again", hint: "m", run: () => this.mute() },
      { name: "Keep this trace to compare", hint: "x", run: () => this.keep() },
      { name: "Light or dark", hint: "theme", run: () => this.turnTheme() },
      { name: "Theme of the system", hint: "theme", run: () => this.applyTheme("system", true) },
      { name: "Tour", hint: "twelve stops through the model", run: () => this.select({ level: "tour", stop: 0 }) },
      { name: "Explore", hint: "level", run: () => this.select({ level: "explore" }) },
      { name: "Expert", hint: "level", run: () => this.select({ level: "expert" }) },
      { name: "Table instead of the picture", hint: "t", run: () => this.stage.toggleTable() },
      { name: "Help and keys", hint: "?", run: () => this.help() },
    );
    for (const text of this.about?.examples ?? []) list.push({ name: `Run: ${text}`, hint: "example", run: () => this.run({ source: text }) });
    return list;
  }

  help() {
    openHelp({
      views: this.model ? this.available().map((view) => ({ title: this.titleOf(view), about: view.about })) : [],
      letters: remembered("letters", "on") === "on",
      onletters: (on) => remember("letters", on ? "on" : "off"),
    });
  }

  /** @param {string} theme @param {boolean} [again] */
  applyTheme(theme, again = false) {
    if (theme === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    if (!again) return;
    remember("theme", theme);
    if (this.model) this.settle();
  }

  turnTheme() {
    this.applyTheme(this.theme === "dark" ? "light" : "dark", true);
  }

  /** @param {string} text */
  announce(text) {
    place("live").textContent = text;
  }

  /** @param {string} text @param {boolean} [bad] */
  toast(text, bad = false) {
    const box = place("toast");
    replace(box, h("bdi", null, text));
    box.classList.toggle("bad", bad);
    box.hidden = false;
    clearTimeout(this.#toastTimer);
    this.#toastTimer = window.setTimeout(() => {
      box.hidden = true;
    }, bad ? 9000 : 4000);
  }

  /** @param {string} text */
  async copy(text) {
    try {
      await navigator.clipboard.writeText(text);
      this.toast("Copied.");
    } catch {
      this.toast("The browser does not let this page copy.", true);
    }
  }

  async saveTrace() {
    try {
      const blob = await this.source.blob(`traces/${this.trace.id}/export.html`);
      save(`glassformer-${this.trace.id}.html`, blob);
    } catch (error) {
      this.toast(messageOf(error), true);
    }
  }

  /** @param {unknown} error */
  fail(error) {
    this.#mountedFor = ""; // whatever is chosen next is drawn from the beginning
    this.stage.error(messageOf(error));
    if (!(error instanceof Error) || error.name !== "SourceError") console.error(error);
  }
}

async function boot() {
  const blob = document.getElementById("glassformer-data");
  const source = blob ? await EmbeddedSource.unpack(blob.textContent ?? "") : new HttpSource(takeToken());
  const app = new App(source, new Store());
  try {
    await app.start();
  } catch (error) {
    app.fail(error);
  }
}

boot();
