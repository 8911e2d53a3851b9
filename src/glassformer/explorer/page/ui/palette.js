/**
 * The command palette: everything that can be done, found by typing a part of its name.
 * @module
 */

import { h, replace } from "../dom.js";

/** @typedef {{name: string, hint?: string, run: () => void}} Command */

/** @param {() => Command[]} commands */
export function commandPalette(commands) {
  /** @type {Command[]} */ let found = [];
  let at = 0;
  const list = h("ul", { role: "listbox", id: "palette-list", aria: { label: "commands" } });
  const input = h("input", {
    type: "text",
    role: "combobox",
    placeholder: "Go to, change, run …",
    autocomplete: "off",
    spellcheck: false,
    aria: { label: "command", expanded: "true", controls: "palette-list", autocomplete: "list" },
    on: { input: () => search(), keydown: onkey },
  });
  const dialog = h("dialog", { class: "palette", aria: { label: "command palette" } }, input, list);
  dialog.addEventListener("click", (/** @type {MouseEvent} */ event) => {
    if (event.target === dialog) dialog.close();
  });
  document.body.append(dialog);

  function search() {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    found = commands()
      .filter((command) => words.every((/** @type {string} */ word) => `${command.name} ${command.hint ?? ""}`.toLowerCase().includes(word)))
      .slice(0, 60);
    at = 0;
    show();
  }

  function show() {
    replace(
      list,
      found.map((command, i) =>
        h(
          "li",
          { role: "option", id: `command-${i}`, aria: { selected: String(i === at) }, on: { click: () => run(i), pointermove: () => point(i) } },
          h("span", null, command.name),
          h("span", { class: "note" }, command.hint ?? ""),
        ),
      ),
      !found.length && h("li", { role: "option", aria: { selected: "false", disabled: "true" } }, "nothing of that name"),
    );
    input.setAttribute("aria-activedescendant", found.length ? `command-${at}` : "");
    list.children[at]?.scrollIntoView({ block: "nearest" });
  }

  /** @param {number} i */
  function point(i) {
    if (i === at) return;
    list.children[at]?.setAttribute("aria-selected", "false");
    at = i;
    list.children[at]?.setAttribute("aria-selected", "true");
    input.setAttribute("aria-activedescendant", `command-${at}`);
    list.children[at]?.scrollIntoView({ block: "nearest" });
  }

  /** @param {number} i */
  function run(i) {
    dialog.close();
    found[i]?.run();
  }

  /** @param {KeyboardEvent} event */
  function onkey(event) {
    if (event.key === "ArrowDown") point(Math.min(found.length - 1, at + 1));
    else if (event.key === "ArrowUp") point(Math.max(0, at - 1));
    else if (event.key === "Enter") run(at);
    else return;
    event.preventDefault();
  }

  return {
    open() {
      input.value = "";
      dialog.showModal();
      search();
      input.focus();
    },
  };
}
