/**
 * The stage: the head of a view with its tools, and the picture or its table.
 * @module
 */

import { h, replace } from "../dom.js";
import { button } from "./controls.js";
import { exportsOf } from "./exports.js";
import { dataTable } from "./table.js";

/**
 * @param {{head: HTMLElement, slot: HTMLElement}} places
 * @param {{copy: (text: string) => void, fail: (error: unknown) => void}} how
 */
export function stage({ head, slot }, { copy, fail }) {
  /** @type {any} */ let view = null;
  /** @type {any} */ let ctx = null;
  /** @type {import("./types.js").Mounted | null} */ let mounted = null;
  /** @type {HTMLElement | null} */ let body = null;
  /** @type {HTMLElement | null} */ let tabled = null;
  /** @type {HTMLElement | null} */ let items = null;
  const asTable = button("Table", () => toggleTable(), { class: "quiet", aria: { pressed: "false" }, title: "table instead of the picture (t)" });
  const exporting = button("Export", () => toggleMenu(), { class: "quiet", aria: { expanded: "false", haspopup: "true" } });
  const menu = h("div", { class: "menu" }, exporting);

  function closeMenu() {
    items?.remove();
    items = null;
    exporting.setAttribute("aria-expanded", "false");
  }

  function toggleMenu() {
    if (items) {
      closeMenu();
      return;
    }
    const list = exportsOf({ view, mounted, ctx, copy });
    items = h("div", { class: "menu-items" }, list.map(([name, act]) => button(name, () => (closeMenu(), act()))));
    exporting.setAttribute("aria-expanded", "true");
    menu.append(/** @type {HTMLElement} */ (items));
    /** @type {HTMLElement} */ (/** @type {HTMLElement} */ (items).firstElementChild)?.focus();
  }
  menu.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    if (event.key !== "Escape" || !items) return;
    event.stopPropagation();
    event.preventDefault();
    closeMenu();
    exporting.focus();
  });
  document.addEventListener("pointerdown", (event) => {
    if (items && !menu.contains(/** @type {Node} */ (event.target))) closeMenu();
  });

  function toggleTable() {
    if (!body) return;
    if (tabled) {
      tabled.remove();
      tabled = null;
      body.hidden = false;
      asTable.setAttribute("aria-pressed", "false");
      return;
    }
    const table = mounted?.table?.();
    if (!table) {
      ctx.announce("this view has no table");
      return;
    }
    tabled = h("div", { class: "stage-body" }, h("p", { class: "note" }, table.caption), dataTable(table));
    body.hidden = true;
    slot.append(/** @type {HTMLElement} */ (tabled));
    asTable.setAttribute("aria-pressed", "true");
    /** @type {HTMLElement} */ (tabled).querySelector(/** @type {any} */ (".data-table-scroll"))?.focus();
  }

  return {
    /** @param {any} next @param {any} nextCtx @param {string} title */
    async mount(next, nextCtx, title) {
      mounted?.destroy?.();
      mounted = null;
      closeMenu();
      tabled = null;
      asTable.setAttribute("aria-pressed", "false");
      view = next;
      ctx = nextCtx;
      body = h("div", { class: "stage-body" });
      const first = nextCtx.store.get();
      const loading = h("p", { class: "loading" }, "Reading …");
      slot.className = `view-${view.id}`;
      replace(head, h("div", { class: "grow" }, h("h2", { id: "view-title" }, title), h("p", null, view.about)), h("div", { class: "tools" }, asTable, menu));
      asTable.hidden = true;
      const late = setTimeout(() => slot.append(loading), 150);
      delete slot.dataset.ready;
      replace(slot, body);
      try {
        const made = (await next.mount(body, nextCtx)) ?? null;
        if (nextCtx.signal.aborted) {
          made?.destroy?.();
          return;
        }
        mounted = made;
        asTable.hidden = !mounted?.table;
        const now = nextCtx.store.get();
        if (now !== first) mounted?.update?.(now, first); // the reader went on while the view was on its way
        slot.dataset.trace = nextCtx.trace?.id ?? "";
        slot.dataset.ready = next.id;
      } catch (error) {
        if (!nextCtx.signal.aborted) fail(error);
      } finally {
        clearTimeout(late);
        loading.remove();
      }
    },
    /** @param {any} now @param {any} before */
    update(now, before) {
      if (tabled) toggleTable();
      mounted?.update?.(now, before);
    },
    /** @param {KeyboardEvent} event */
    key: (event) => !tabled && (mounted?.key?.(event) ?? false),
    toggleTable,
    /** @param {string} message */
    error(message) {
      body = null;
      tabled = null;
      replace(slot, h("p", { class: "error", role: "alert" }, h("bdi", null, message)));
    },
  };
}
