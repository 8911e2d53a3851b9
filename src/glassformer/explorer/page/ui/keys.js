/**
 * The keyboard: what each key does, and where single letters must be left alone.
 * @module
 */

/** @typedef {{keys: string[], does: string, letter?: boolean}} Key */

/** @type {readonly Key[]} */
export const KEYS = Object.freeze([
  { keys: ["/"], does: "go to the sentence; Enter runs it", letter: true },
  { keys: ["Ctrl", "K"], does: "command palette" },
  { keys: ["1", "…", "9"], does: "views", letter: true },
  { keys: ["e", "d", "c"], does: "encoder, decoder, cross-attention", letter: true },
  { keys: ["[", "]"], does: "layer below, layer above", letter: true },
  { keys: [",", "."], does: "head before, head after", letter: true },
  { keys: ["←", "→", "↑", "↓"], does: "move in a picture; Home, End, Page Up, Page Down go further" },
  { keys: ["Enter"], does: "into the arithmetic of a cell; Esc goes back" },
  { keys: ["Space"], does: "on the timeline: play" },
  { keys: ["m"], does: "mute the selected head and run again", letter: true },
  { keys: ["x"], does: "keep this trace to compare the next one with", letter: true },
  { keys: ["l"], does: "scale of the weights: linear, √, log", letter: true },
  { keys: ["t"], does: "table instead of the picture", letter: true },
  { keys: ["?"], does: "help", letter: true },
]);

/** @param {EventTarget | null} target */
export function isTyping(target) {
  if (!(target instanceof HTMLElement)) return false;
  if (target.isContentEditable || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement) return true;
  return target instanceof HTMLInputElement && !["checkbox", "radio", "button", "range"].includes(target.type);
}

/**
 * @param {Record<string, (event: KeyboardEvent) => void>} actions by key
 * @param {{enabled: () => boolean, first: (event: KeyboardEvent) => boolean}} how `first` may use a key before the actions do
 */
export function listen(actions, { enabled, first }) {
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented) return;
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
      event.preventDefault();
      actions.palette(event);
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    if (document.querySelector("dialog[open]")) return;
    if (first(event)) {
      event.preventDefault();
      return;
    }
    const letter = event.key.length === 1 && event.key !== " ";
    if (letter && !enabled()) return;
    const native = event.target instanceof HTMLInputElement && /^Arrow| /.test(event.key);
    const action = actions[event.key];
    if (!action || native) return;
    event.preventDefault();
    action(event);
  });
}
