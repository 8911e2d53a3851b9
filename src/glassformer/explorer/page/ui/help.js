/**
 * Help: what the page shows, and every key.
 * @module
 */

import { h } from "../dom.js";
import { toggle } from "./controls.js";
import { KEYS } from "./keys.js";

/** @param {{views: {title: string, about: string}[], letters: boolean, onletters: (on: boolean) => void}} how */
export function openHelp({ views, letters, onletters }) {
  const close = h("button", { type: "button", class: "quiet", aria: { label: "close help" } }, "✕");
  const dialog = h(
    "dialog",
    { aria: { labelledby: "help-title" } },
    h("div", { class: "dialog-head" }, h("h2", { id: "help-title" }, "Help"), close),
    h(
      "div",
      { class: "dialog-body stack", tabIndex: 0, role: "region", aria: { label: "help" } },
      h(
        "p",
        null,
        "Every number on this page was computed by the model you opened, in the pass that made the output you see. " +
          "The badge in the inspector says how far the recomputed attention is from what the model's own kernel gave.",
      ),
      h("p", null, "Attention shows where a head looked. It does not say why the model decided as it did: mute the head and measure."),
      h("h3", null, "Keys"),
      h(
        "div",
        { class: "keys-table" },
        KEYS.map((key) => [h("span", null, key.keys.map((k) => (k === "…" ? " … " : [h("kbd", null, k), " "]))), h("span", null, key.does)]),
      ),
      toggle({ label: "Single letters act as keys", checked: letters, onchange: onletters }),
      h("h3", null, "Views"),
      h("div", { class: "keys-table" }, views.map((view, i) => [h("strong", null, i < 9 ? `${i + 1}  ${view.title}` : view.title), h("span", null, view.about)])),
    ),
  );
  close.addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
