/**
 * The page as a whole: keeps model, trace and view in line with the selection.
 * @module
 */

import { place } from "./dom.js";
import { remember, remembered } from "./store.js";
import { commandsOf, listenToKeys } from "./ui/commands.js";
import { save } from "./ui/exports.js";
import { inspector } from "./ui/inspector.js";
import { messageOf } from "./ui/latest.js";
import { modelMap } from "./ui/map.js";
import { announce, copy, toast } from "./ui/notices.js";
import { commandPalette } from "./ui/palette.js";
import { stage } from "./ui/stage.js";
import { timeline } from "./ui/timeline.js";
import { choices, navigation, tools } from "./ui/topbar.js";
import { tour } from "./ui/tour.js";
import { firstStep, fitted } from "./ui/traces.js";

export class App {
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

  /**
   * @param {any} source @param {import("./store.js").Store} store
   * @param {(import("./ui/types.js").View | null)[]} order of the views; a null begins a new group
   */
  constructor(source, store, order) {
    this.source = source;
    this.store = store;
    this.order = order;
    this.views = order.filter((view) => view !== null);
    const go = (/** @type {any} */ patch, /** @type {any} */ options = {}) => this.select(patch, options);
    this.map = modelMap(place("map"), { go });
    this.timeline = timeline(place("timeline"), { go, announce });
    this.inspector = inspector(place("inspector"), { copy });
    this.stage = stage({ head: place("stage-head"), slot: place("stage-slot") }, { copy, fail: (error) => this.fail(error) });
    this.tour = tour(place("tour"), { go });
    this.palette = commandPalette(() => commandsOf(this));
  }

  async start() {
    this.applyTheme(remembered("theme", "system"));
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.settle());
    tools(this);
    listenToKeys(this);
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
    choices(this, now);
    return true;
  }

  /** @param {any} now @param {number} turn @returns {Promise<boolean>} whether this is still what is wanted */
  async loadTraces(now, turn) {
    const belongs = this.trace && this.trace.run === now.run && (now.checkpoint === null || this.trace.checkpoint === now.checkpoint);
    if (!now.trace || (this.trace?.id === now.trace && !belongs)) return this.traceAnew(now);
    if (this.trace?.id !== now.trace && !(await this.loadTrace(now, turn))) return false;
    if (now.compare === (this.other?.id ?? null)) return true;
    this.other = null;
    if (!now.compare) return true;
    try {
      this.other = await this.source.meta(now.compare);
    } catch {
      this.store.set({ compare: null }, { replace: true });
    }
    return turn === this.#turn;
  }

  /** @param {any} now @param {number} turn */
  async loadTrace(now, turn) {
    let meta;
    try {
      meta = await this.source.meta(now.trace);
    } catch (error) {
      if (!this.source.live || !(error instanceof Error) || ![404, 410].includes(/** @type {any} */ (error).status)) throw error;
      return turn === this.#turn && this.traceAnew(now);
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
    return true;
  }

  /** @param {any} now */
  async traceAnew(now) {
    await this.run({ source: now.text ?? this.example(), replace: true });
    return false; // the new trace settles the page
  }

  /** @param {any} now @param {any} before */
  show(now, before) {
    const list = this.available();
    const view = list.find((one) => one.id === now.view) ?? list[0];
    const key = [view.id, now.trace, now.run, now.checkpoint, now.compare, now.level, this.theme].join(" ");
    navigation(this, list, view);
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
      announce,
      error: (/** @type {unknown} */ error) => {
        if (!signal.aborted) app.fail(error);
      },
      toast,
      copy,
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
      toast("This file holds one trace. To run the model, open it with glassformer explore.");
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
      announce(meta.result?.text ? `output: ${meta.result.text}` : "done");
      return meta;
    } catch (error) {
      if (signal.aborted || this.store.get().run !== run) return null;
      if (this.trace) toast(messageOf(error), true);
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
    return this.views.filter((view) => view.families.includes(family) && (this.source.live || !view.live));
  }

  /** @param {any} view */
  titleOf(view) {
    return view.titleFor?.(this.model) ?? view.title;
  }

  /** @param {string} theme @param {boolean} [again] */
  applyTheme(theme, again = false) {
    if (theme === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    if (!again) return;
    remember("theme", theme);
    if (this.model) this.settle();
  }

  async saveTrace() {
    try {
      const blob = await this.source.blob(`traces/${this.trace.id}/export.html`);
      save(`glassformer-${this.trace.id}.html`, blob);
    } catch (error) {
      toast(messageOf(error), true);
    }
  }

  /** @param {unknown} error */
  fail(error) {
    this.#mountedFor = ""; // whatever is chosen next is drawn from the beginning
    this.stage.error(messageOf(error));
    if (!(error instanceof Error) || error.name !== "SourceError") console.error(error);
  }
}
