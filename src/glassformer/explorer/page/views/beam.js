/**
 * V10 Beam tree: the whole search with what it dropped, and the length penalty as a live lever.
 * @module
 */

import { bdi, formula, frac, h, mi, mn, mo, num, row, sup, visible } from "../dom.js";
import { beside, childrenOf, foldAtFirst, layoutTree, orderOf, pathTo } from "../draw/tree.js";
import { lengthPenalty, rerank, score } from "../math/length.js";
import { button, renew, select, slider, toggle } from "../ui/controls.js";
import { card, nothing, pythonOfTrace, pythonText } from "../ui/parts.js";
import { sayNode, treePicture } from "./beam/picture.js";

const MOST = 2000;

/** @type {import("../ui/types.js").View} */
export const view = {
  id: "beam",
  title: "Beam tree",
  about: "Every beginning that beam search looked at, kept or dropped, and how the length penalty ranks what it finished",
  families: ["encoder-decoder", "decoder-only"],
  async mount(stage, ctx) {
    if (!ctx.trace.has_beam) {
      stage.append(
        nothing("Nothing was searched for this trace: its output was given or drawn at random."),
        h("p", null, button("Search with a beam of 4", () => ctx.run({ target: null, decode: { beam: 4 }, interventions: [] }), { class: "primary" })),
      );
      return {};
    }
    const log = await ctx.source.json(`traces/${ctx.trace.id}/beam`, { signal: ctx.signal });
    return beamTree(stage, ctx, log);
  },
};

/** @param {HTMLElement} stage @param {any} ctx @param {any} log @returns {import("../ui/types.js").Mounted} */
function beamTree(stage, ctx, log) {
  const byId = new Map(log.nodes.map((/** @type {any} */ node) => [node.id, node]));
  const children = childrenOf(log.nodes);
  /** @type {any[]} */
  const finished = log.finished.map((/** @type {any} */ each) => ({ ...each, id: each.node }));
  const average = log.length_penalty === "average";
  let alpha = log.alpha;
  let withPruned = log.nodes.length <= 400;
  let selected = log.chosen ?? 0;
  /** @type {Set<number>} */
  let folded = new Set(log.nodes.length > MOST ? foldAtFirst(log.nodes, children, MOST) : []);
  /** @type {any} */
  let placed = null;
  const order = orderOf(log.nodes, finished, byId);

  const tree = treePicture(byId, children, { onpick, onopen: open });
  const ranking = h("div", { class: "ranking" });
  const detail = h("div", { class: "tree-detail", role: "status" });
  const hint = h("p", { class: "note" });

  stage.append(
    h(
      "section",
      { class: "card", aria: { label: "length penalty" } },
      h(
        "div",
        { class: "levers" },
        slider({ label: "length penalty α", min: -1, max: 3, step: 0.05, value: alpha, format: (x) => x.toFixed(2), oninput: (x) => { alpha = x; rank(); showDetail(byId.get(selected)); } }),
        ctx.source.live && select({ label: "beam", options: [1, 2, 3, 4, 5, 6, 8, 10, 12, 16].map((n) => [n, String(n)]), value: log.beam, onchange: (value) => again({ beam: Number(value) }) }),
        toggle({ label: `show the ${count("pruned")} dropped`, checked: withPruned, onchange: (checked) => { withPruned = checked; drawTree(); } }),
        button("Unfold all", () => { folded = new Set(); drawTree(); }, { class: "quiet" }),
        ctx.source.live && button("Search again with this α", () => again({ alpha })),
      ),
      hint,
    ),
    card("Finished hypotheses", ranking),
    h(
      "section",
      { class: "card tree-card", aria: { label: "search tree" } },
      h("h3", null, "The search"),
      h(
        "ul",
        { class: "legend-row" },
        [["kept", "kept"], ["finished", "ended in </s>"], ["pruned", "looked at and dropped"], ["best", "best under α"]].map(([name, text]) => h("li", null, h("i", { class: `swatch ${name}` }), text)),
      ),
      tree.element,
      detail,
    ),
  );

  /** @param {string} status */
  function count(status) {
    return log.nodes.filter((/** @type {any} */ node) => node.status === status).length;
  }

  /** @param {Record<string, number>} patch */
  function again(patch) {
    const decode = { ...(ctx.trace.request.decode ?? {}), beam: log.beam, alpha: Number(alpha.toFixed(4)), ...patch };
    ctx.run({ target: null, decode: { ...decode, nbest: Math.min(decode.nbest ?? 1, decode.beam) }, interventions: ctx.trace.request.interventions ?? [] });
  }

  /** The finished hypotheses, best first. @param {number} under which α */
  function ordered(under) {
    return rerank(finished.map((/** @type {any} */ each) => ({ ...each })), under, average);
  }

  /** The order under this α, and the path it makes the best. */
  function rank() {
    const list = ordered(alpha);
    renew(ranking, list.length ? hypotheses(list, ordered(log.alpha), { average, alpha, selected, go, open: ctx.source.live ? open : null }) : h("p", { class: "note" }, "No hypothesis ended before the limit."));
    hint.textContent =
      alpha === log.alpha
        ? `score = log-probability ÷ ${average ? "length^α" : "((5 + length) / 6)^α"}; the search ran with α = ${log.alpha.toFixed(2)}`
        : `the same finished hypotheses compared with α = ${alpha.toFixed(2)} instead of ${log.alpha.toFixed(2)}; a search with this α may also finish others`;
    tree.markBest(new Set(list.length ? pathTo(byId, list[0].id) : []));
    inspect();
  }

  function visibleNodes() {
    const onPath = new Set(pathTo(byId, selected));
    return log.nodes.filter((/** @type {any} */ node) => withPruned || node.status !== "pruned" || onPath.has(node.id));
  }

  function drawTree() {
    let nodes = visibleNodes();
    const hidden = layoutTree(nodes, { folded }).places;
    if (hidden.size > MOST) {
      withPruned = false;
      nodes = visibleNodes();
    }
    placed = layoutTree(nodes, { folded, rank: (id) => /** @type {number} */ (order.get(id)) });
    tree.draw(placed, folded);
    rank();
    focusNode(selected, false);
  }

  /** @param {number} id */
  function onpick(id) {
    if (id === selected && children.has(id)) fold(id);
    else go(id, true);
  }

  /** @param {number} id @param {boolean} aloud */
  function go(id, aloud) {
    selected = id;
    for (const at of pathTo(byId, id).slice(0, -1)) folded.delete(at);
    if (!placed.places.has(id)) drawTree();
    else {
      focusNode(id, true);
      inspect();
    }
    if (aloud) ctx.announce(sayNode(byId.get(id)));
  }

  /** @param {number} id @param {boolean} scroll */
  function focusNode(id, scroll) {
    const place = placed.places.get(id);
    if (!place) return;
    tree.select(place, scroll);
    showDetail(byId.get(id));
  }

  /** @param {any} node */
  function showDetail(node) {
    const path = pathTo(byId, node.id).slice(1).map((id) => byId.get(id));
    const below = children.get(node.id) ?? [];
    renew(
      detail,
      h("p", { class: "tree-path" }, path.length ? path.map((each) => h("span", { class: ["token", each.status], title: `log-probability ${each.logp}` }, bdi(visible(each.piece)))) : h("span", { class: "note" }, "start of the search")),
      h(
        "p",
        { class: "row note" },
        node.parent !== null && h("span", null, "token ", num(node.logp), " · sum ", num(node.total), ` · ${path.length} tokens · as finished now: `, num(score(node.total, Math.max(1, path.length), alpha, average))),
        below.length > 0 && button(folded.has(node.id) ? "Unfold" : "Fold", () => fold(node.id), { class: "quiet" }),
        ctx.source.live && node.parent !== null && button("Open its trace", () => open(node.id), { class: "quiet" }),
        ctx.source.live && node.parent !== null && node.status !== "finished" && button("Continue from here", () => fork(node.id), { class: "quiet" }),
      ),
    );
  }

  /** @param {number} id */
  function fold(id) {
    if (folded.has(id)) folded.delete(id);
    else folded.add(id);
    selected = id;
    drawTree();
    ctx.announce(folded.has(id) ? "folded" : "unfolded");
  }

  /** Look at the output that a node stands for, as a given target. @param {number} id */
  function open(id) {
    if (!ctx.source.live) return;
    const known = log.finished.find((/** @type {any} */ each) => each.node === id);
    const text = known ? known.text : textOf(id);
    if (text) ctx.run({ target: text, interventions: ctx.trace.request.interventions ?? [] });
  }

  /** @param {number} id */
  function textOf(id) {
    const nodes = pathTo(byId, id).slice(1).map((at) => byId.get(at)).filter((each) => each.token !== log.end);
    return nodes.map((each) => each.piece).join("").replace(/▁/g, " ").trim();
  }

  /** Force the tokens up to a node and let the search go on from there. @param {number} id */
  function fork(id) {
    const path = pathTo(byId, id).slice(1).map((at) => byId.get(at));
    const chosen = pathTo(byId, log.chosen ?? 0).slice(1).map((at) => byId.get(at));
    const start = Math.max(0, ctx.trace.steps.length - chosen.length); // a prompt or a forced beginning was not searched
    const others = (ctx.trace.request.interventions ?? []).filter((/** @type {any} */ each) => each.type !== "force" || each.step < start);
    let same = 0;
    while (same < path.length && chosen[same]?.token === path[same].token) same++;
    const forces = path.map((each, step) => ({ type: "force", step: start + step, token: each.token })).slice(Math.min(same, path.length - 1));
    ctx.run({ decode: ctx.trace.request.decode, interventions: [...others, ...forces] });
  }

  tree.picture.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    if (!event.ctrlKey && !event.metaKey && !event.altKey && treeKey(event.key)) {
      event.preventDefault();
      event.stopPropagation();
    }
  });

  /** @param {string} key */
  function treeKey(key) {
    const node = byId.get(selected);
    const shown = (children.get(selected) ?? []).filter((id) => placed.places.has(id)).sort((a, b) => placed.places.get(a).row - placed.places.get(b).row);
    if (key === "ArrowRight") {
      if (folded.has(selected)) fold(selected);
      else if (shown.length) go(shown[0], true);
    } else if (key === "ArrowLeft") {
      if (node.parent !== null) go(node.parent, true);
    } else if (key === "ArrowDown" || key === "ArrowUp") {
      const next = beside(placed.places, selected, key === "ArrowDown" ? 1 : -1);
      if (next !== null) go(next, true);
    } else if (key === "Home") go(log.nodes[0].id, true);
    else if (key === "End") go(log.chosen ?? selected, true);
    else if (key === "Enter") open(selected);
    else if (key === "f" && (children.get(selected) ?? []).length) fold(selected);
    else return false;
    return true;
  }

  function inspect() {
    const node = byId.get(selected);
    const length = Math.max(1, pathTo(byId, selected).length - 1);
    const divisor = lengthPenalty(length, alpha, average);
    const base = average ? mi("n") : row(mo("("), frac(row(mn(5), mo("+"), mi("n")), mn(6)), mo(")"));
    ctx.inspect({
      title: "Beam search",
      paper: "6.1",
      equation: formula(mi("s"), mo("="), frac(row(mi("log"), mi("p")), sup(base, mi("α"))), mo("="), frac(mn(node.total), mn(divisor)), mo("="), mn(node.total / divisor)),
      says: ["Each step keeps the ", num(log.beam), " best beginnings of all; a longer output is divided by more, so that length alone does not lose."],
      numbers: [["log p of the token", node.logp], ["log p so far", node.total], ["tokens n", length], ["α", alpha], ["penalty", divisor], ["nodes looked at", log.nodes.length - 1], ["kept", count("kept")], ["dropped", count("pruned")], ["finished", count("finished")]],
      python: python(),
    });
  }

  function python() {
    const verb = ctx.trace.family === "decoder-only" ? "generate" : "translate";
    return `${pythonOfTrace(ctx)}\nfound = model.${verb}([${pythonText(ctx.trace.request.source ?? "")}], beam=${log.beam}, nbest=${log.beam}, alpha=${Number(alpha.toFixed(4))})`;
  }

  drawTree();
  return {
    table() {
      const list = ordered(alpha);
      return {
        caption: `Every node of the search, then the ${list.length} finished hypotheses by score`,
        columns: [{ label: "node", numeric: true }, { label: "after", numeric: true }, { label: "step", numeric: true }, { label: "token" }, { label: "log-prob", numeric: true }, { label: "sum", numeric: true }, { label: "status" }, { label: "score", numeric: true }],
        count: log.nodes.length,
        row: (i) => {
          const node = log.nodes[i];
          const done = list.find((each) => each.id === node.id);
          return [node.id, node.parent, node.step, node.piece, node.logp, node.total, node.status, done ? done.score : null];
        },
      };
    },
    picture: () => tree.picture,
    python,
  };
}

/** @typedef {{average: boolean, alpha: number, selected: number, go: (id: number, aloud: boolean) => void, open: ((id: number) => void) | null}} Ranking */

/** The finished hypotheses as a table. @param {any[]} list best first @param {any[]} searched as the search ranked them @param {Ranking} how */
function hypotheses(list, searched, how) {
  const places = searched.map((each) => each.id);
  const low = Math.min(...list.map((each) => each.score));
  const high = Math.max(...list.map((each) => each.score));
  return h(
    "div",
    { class: "scroll-x", tabIndex: 0, role: "region", aria: { label: "table of finished hypotheses" } },
    h(
      "table",
      { class: "hypotheses" },
      h("caption", { class: "sr-only" }, "Finished hypotheses under this length penalty, best first"),
      h("thead", null, h("tr", null, ["", "text", "log-prob", "tokens", "÷ penalty", "score", ""].map((name, i) => h("th", { scope: "col", class: i > 1 && i < 6 && "numeric" }, name || h("span", { class: "sr-only" }, i ? "open" : "rank"))))),
      h("tbody", null, list.map((each, i) => hypothesis(each, i, places.indexOf(each.id) - i, high === low ? 1 : (each.score - low) / (high - low), how))),
    ),
  );
}

/** @param {any} each @param {number} i @param {number} moved @param {number} share @param {Ranking} how */
function hypothesis(each, i, moved, share, { average, alpha, selected, go, open }) {
  return h(
    "tr",
    { class: [i === 0 && "chosen", each.id === selected && "selected"], on: { click: () => go(each.id, false) } },
    h("td", { class: "numeric" }, String(i + 1), h("span", { class: moved > 0 ? "up" : moved < 0 ? "down" : "same", title: moved === 0 ? "as searched" : "moved against the α of the search" }, moved > 0 ? ` ▲${moved}` : moved < 0 ? ` ▼${-moved}` : "")),
    h("th", { scope: "row" }, bdi(each.text || "∅")),
    h("td", { class: "numeric" }, num(each.logp)),
    h("td", { class: "numeric" }, String(each.length)),
    h("td", { class: "numeric" }, num(lengthPenalty(each.length, alpha, average))),
    h("td", { class: "numeric" }, h("span", { class: "score-bar", style: { "--share": share } }), num(each.score)),
    h("td", null, open && button("open", () => open(each.id), { class: "quiet", aria: { label: `open the trace of ${each.text}` } })),
  );
}
