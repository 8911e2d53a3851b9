/**
 * V3 Embedding and position: what a token's number becomes before the first layer.
 * @module
 */

import { bdi, formula, frac, h, mi, mn, mo, mtext, nameOf, num, num3, replace, root, row, sub, sup, token, visible } from "../dom.js";
import { headColour, resolve, signed } from "../draw/colour.js";
import { heatmap } from "../draw/heatmap.js";
import { chart, dashOf } from "../ui/chart.js";
import { button, renew, segmented, slider } from "../ui/controls.js";
import { gridPicture } from "../ui/grid.js";
import { latest, messageOf } from "../ui/latest.js";
import { bar, card, pythonOfTrace } from "../ui/parts.js";

const LENGTH = 64;

/** @type {any} */
export const view = {
  id: "embedding",
  title: "Embedding",
  about: "What a piece's number becomes before the first layer: its learned row, and its place",
  families: ["encoder-decoder", "decoder-only", "encoder-only"],
  /** @param {HTMLElement} stage @param {any} ctx */
  async mount(stage, ctx) {
    const { trace, model } = ctx;
    const a = model.architecture;
    let side = a.sides[0];
    let wantedSide = side;
    const [asking, askingNear] = [latest(), latest()];
    const picker = h("section", { class: "card" });
    const strips = h("section", { class: "card strips" });
    const near = h("div");
    const places = h("div", { class: "stack" });
    const plane = h("div");
    stage.append(picker, strips, h("div", { class: "columns" }, near, plane), places);
    /** @type {any} */ let parts = null;
    let at = 0;

    const tensor = (/** @type {string} */ name) => ctx.source.tensor(trace.id, `${wantedSide}.${name}`, { signal: ctx.signal });
    const adds = a.positions === "sinusoidal" || a.positions === "learned";

    async function load() {
      const last = asking();
      const [embedding, position, input] = await Promise.all([tensor("embedding"), adds ? tensor("position") : null, tensor("input")]);
      if (!last() || ctx.signal.aborted) return;
      side = wantedSide;
      parts = { embedding, position, input };
      at = Math.min(ctx.store.get().query, trace.tokens[side].length - 1);
      drawPicker();
      drawStrips();
      neighbours();
      await drawPlaces(last);
    }

    /** @param {string} value */
    function turnTo(value) {
      wantedSide = value;
      load().catch((error) => !ctx.signal.aborted && ctx.error(error));
    }

    function drawPicker() {
      renew(
        picker,
        h("div", { class: "controls" }, a.sides.length > 1 && segmented({ label: "side", hideLabel: true, options: a.sides.map((/** @type {string} */ one) => [one, one]), value: wantedSide, onchange: turnTo }), ctx.source.live && ctx.level !== "tour" && button("Run without positions", () => ctx.run({ interventions: [...trace.request.interventions, { type: "positions", side: null, op: "drop" }] }))),
        h("div", { class: "output-tokens", role: "group", aria: { label: "tokens" } }, trace.tokens[side].slice(0, 200).map((/** @type {any} */ tok, /** @type {number} */ i) => token(tok, { as: "button", type: "button", index: i, aria: { pressed: String(i === at) }, on: { click: () => ctx.select({ query: i }, { replace: true }) } }))),
      );
    }

    function drawStrips() {
      const d = a.d_model;
      const rows = /** @type {[string, any][]} */ ([[a.scale_embedding ? "E · √d" : "E", parts.embedding], ["position", parts.position], [parts.position ? "sum" : "input", parts.input]]).filter(([, one]) => one);
      const data = new Float32Array(rows.length * d);
      rows.forEach(([, one], i) => data.set(one.data.subarray(at * d, (at + 1) * d), i * d));
      const most = Math.max(...data.map(Math.abs), 1e-9);
      const readout = h("p", { class: "readout note" }, "Each cell is one of the numbers; orange is above 0, blue below.");
      const grid = gridPicture(ctx, {
        label: "embedding, position and sum by dimension",
        rows: rows.length,
        columns: d,
        rowName: (i) => rows[i][0],
        columnName: (j) => String(j),
        say: (i, j) => `${rows[i][0]}, dimension ${j}: ${num3(data[i * d + j])}${wavelength(j)}`,
        cell: { w: [1, 12], h: [30, 30], square: false },
        columnLabels: false,
        onhover: (i, j) => i >= 0 && replace(readout, `dimension ${j}${wavelength(j)}: `, rows.map(([name], r) => [r ? " · " : "", name, " ", num(data[r * d + j])])),
        onpick: (_i, j) => wave(j),
      });
      heatmap(grid.canvas, data, rows.length, d, { table: signed(ctx.theme), low: -most, high: most });
      replace(strips, h("h3", null, "From number to vector"), h("p", { class: "note" }, ["Piece ", h("b", { class: "mono" }, bdi(visible(nameOf(trace.tokens[side][at])))), `, id ${trace.tokens[side][at].id}, at position ${at}: ${d} numbers`]), grid.element, readout);
      grid.start();
      describe();
    }

    /** @type {any} */ let positions = null;
    const wavelength = (/** @type {number} */ j) => (positions?.wavelengths ? `, wavelength ${num3(positions.wavelengths[Math.floor(j / 2)])} positions` : "");
    /** @type {(dimension: number) => void} */ let wave = () => {};

    async function neighbours() {
      const tok = trace.tokens[side][at];
      const last = askingNear();
      try {
        const found = await ctx.source.json(`runs/${encodeURIComponent(trace.run)}/neighbours?token=${tok.id}&side=${side}&k=10`, { signal: ctx.signal });
        if (!last() || ctx.signal.aborted) return;
        replace(
          near,
          card(
            "Nearest pieces",
            h("p", { class: "note" }, "By cosine of the learned rows; the row of ", h("b", { class: "mono" }, bdi(visible(nameOf(tok)))), " has length ", num(found.norm), "."),
            h("ul", { class: "alternatives" }, found.neighbours.map((/** @type {any} */ one) => {
              const meter = bar("enc");
              meter.set(one.cosine, num3(one.cosine), String(one.cosine));
              return h("li", null, token(one), meter.element);
            })),
          ),
        );
        await scatter(tok, found.neighbours, last);
      } catch (error) {
        if (last() && !ctx.signal.aborted) replace(near, card("Nearest pieces", h("p", { class: "note" }, bdi(messageOf(error)))));
      }
    }

    /** @type {ResizeObserver | null} */ let plotted = null;
    ctx.signal.addEventListener("abort", () => plotted?.disconnect());

    /** @param {any} tok @param {any[]} close @param {() => boolean} last */
    async function scatter(tok, close, last) {
      const ids = [...new Set([tok.id, ...trace.tokens[side].map((/** @type {any} */ one) => one.id), ...close.map((one) => one.id)])].slice(0, 60);
      const found = await ctx.source.json(`runs/${encodeURIComponent(trace.run)}/pca?side=${side}&n=400&tokens=${ids.join(",")}`, { signal: ctx.signal });
      if (!last() || ctx.signal.aborted) return;
      const canvas = h("canvas", { class: "scatter", role: "img", aria: { label: "two main axes of a sample of the vocabulary" } });
      const near = new Set(close.map((one) => one.id));
      replace(plane, card("The vocabulary from afar", canvas, h("p", { class: "note" }, `Two main axes of ${found.points.length} rows (they hold ${num3(100 * (found.explained[0] + found.explained[1]))} % of the variance). Named: this sentence's pieces and the nearest ones.`)));
      const draw = () => {
        const ratio = window.devicePixelRatio || 1;
        const w = canvas.clientWidth;
        const tall = canvas.clientHeight;
        if (!w) return;
        canvas.width = w * ratio;
        canvas.height = tall * ratio;
        const pen = canvas.getContext("2d");
        if (!pen) return;
        pen.scale(ratio, ratio);
        const xs = found.points.map((/** @type {number[]} */ p) => p[0]);
        const ys = found.points.map((/** @type {number[]} */ p) => p[1]);
        const scale = (/** @type {number[]} */ list, /** @type {number} */ room) => {
          const low = Math.min(...list);
          const high = Math.max(...list);
          return (/** @type {number} */ v) => 14 + ((v - low) / (high - low || 1)) * (room - 28);
        };
        const x = scale(xs, w);
        const y = scale(ys, tall);
        pen.fillStyle = resolve(canvas, "--line-strong");
        found.points.forEach((/** @type {number[]} */ p) => pen.fillRect(x(p[0]) - 1.5, tall - y(p[1]) - 1.5, 3, 3));
        pen.font = `12px ${getComputedStyle(canvas).fontFamily}`;
        /** @type {{x: number, y: number, w: number}[]} */
        const taken = [];
        const order = [...found.marked].sort((/** @type {number} */ p, /** @type {number} */ q) => Number(found.ids[q] === tok.id) - Number(found.ids[p] === tok.id));
        for (const i of order) {
          const px = x(found.points[i][0]);
          const py = tall - y(found.points[i][1]);
          const self = found.ids[i] === tok.id;
          pen.fillStyle = resolve(canvas, self ? "--accent" : near.has(found.ids[i]) ? "--enc" : "--cross");
          pen.beginPath();
          pen.arc(px, py, self ? 5 : 3.2, 0, 7);
          pen.fill();
          const text = visible(nameOf({ piece: found.pieces[i] }));
          const wide = pen.measureText(text).width;
          const tx = Math.min(px + 6, w - wide - 2);
          if (taken.some((box) => Math.abs(box.y - py) < 12 && tx < box.x + box.w && box.x < tx + wide)) continue;
          taken.push({ x: tx, y: py, w: wide });
          pen.fillStyle = resolve(canvas, self ? "--text" : "--muted");
          pen.fillText(text, tx, py + 4);
        }
      };
      plotted?.disconnect();
      plotted = new ResizeObserver(() => requestAnimationFrame(draw));
      plotted.observe(canvas);
    }

    /** @param {() => boolean} last */
    async function drawPlaces(last) {
      const length = Math.max(LENGTH, Math.min(256, trace.tokens[side].length));
      try {
        const found = await ctx.source.json(`runs/${encodeURIComponent(trace.run)}/positions?length=${length}&side=${side}`, { signal: ctx.signal });
        if (!last() || ctx.signal.aborted) return;
        positions = found;
      } catch (error) {
        if (last() && !ctx.signal.aborted) replace(places, card("Positions", h("p", { class: "note" }, bdi(messageOf(error)))));
        return;
      }
      const draw = { sinusoidal: added, learned: added, rotary, alibi, relative }[/** @type {"alibi"} */ (positions.kind)];
      replace(places);
      if (draw) await draw(ctx, { places, positions, last, length, side, at: () => at, onwave: (/** @type {any} */ f) => (wave = f), go: (/** @type {number} */ i) => i < trace.tokens[side].length && ctx.select({ query: i }, { replace: true }) });
      else replace(places, card("Positions", h("p", null, "This model is told nothing about positions.")));
      describe();
    }

    function describe() {
      const tok = trace.tokens[side][at];
      const d = a.d_model;
      const norm = (/** @type {any} */ one) => (one ? Math.hypot(...one.data.subarray(at * d, (at + 1) * d)) : null);
      ctx.inspect({
        title: "Embedding and position",
        paper: a.positions === "sinusoidal" ? "3.4, 3.5" : "3.4",
        says: ["Piece ", h("strong", null, bdi(visible(nameOf(tok)))), ` is row ${tok.id} of a table of ${a.vocab_size.toLocaleString("en")}.`],
        equation: h(
          "div",
          null,
          formula(sub(mi("x"), mi("t")), mo("="), sub(mi("E"), mn(String(tok.id))), a.scale_embedding ? row(mo("·"), root(mn(String(d)))) : null, parts?.position ? row(mo("+"), sub(mi("PE"), mn(String(at)))) : null),
          a.positions === "sinusoidal" ? formula(sub(mi("PE"), row(mi("t"), mo(","), mn("2"), mi("i"))), mo("="), mi("sin"), mo("("), frac(mi("t"), sup(mn("10000"), frac(row(mn("2"), mi("i")), mi("d")))), mo(")")) : a.positions === "rotary" ? formula(mi("q"), mo("→"), sub(mi("R"), mi("t")), mi("q"), mtext("  in every layer")) : null,
        ),
        numbers: /** @type {[string, any][]} */ ([["length of E", norm(parts?.embedding)], ["length of the position", norm(parts?.position)], ["length of the sum", norm(parts?.input)]]).filter(([, value]) => value !== null),
        shapes: [["E", `${a.vocab_size} × ${d}`], ["input", `${trace.tokens[side].length} × ${d}`]],
        python: `${pythonOfTrace(ctx)}\ntrace.state(${JSON.stringify(side === "source" ? "enc" : "dec")}, 0, "input")[${at}]`,
      });
    }

    await load();
    return {
      /** @param {any} now @param {any} before */
      update(now, before) {
        if (now.query === before.query || !parts) return;
        at = Math.min(now.query, trace.tokens[side].length - 1);
        drawPicker();
        drawStrips();
        neighbours();
      },
      picture: () => strips.querySelector("canvas"),
      table: () => ({
        caption: `The vector of position ${at}`,
        columns: [{ label: "dimension", numeric: true }, { label: "embedding", numeric: true }, { label: "position", numeric: true }, { label: "sum", numeric: true }],
        count: a.d_model,
        row: (/** @type {number} */ i) => [i, ...["embedding", "position", "input"].map((name) => parts[name]?.data[at * a.d_model + i] ?? null)],
      }),
    };
  },
};

/** Positions that are added: the table, one dimension as a wave, likeness by distance. @param {any} ctx @param {any} how */
async function added(ctx, { places, positions, last, length, side, at, onwave, go }) {
  const table = await ctx.source.binary(`runs/${encodeURIComponent(ctx.trace.run)}/positions/table?length=${length}&side=${side}`, { signal: ctx.signal });
  if (!last() || ctx.signal.aborted) return;
  const [rows, d] = table.shape;
  let most = 0;
  for (const x of table.data) most = Math.max(most, Math.abs(x));
  const waves = chart(ctx, { label: "one dimension over positions", xLabel: "position", yLabel: "value", height: 200 });
  const line = (/** @type {number} */ j, /** @type {number} */ i) => ({ name: `dimension ${j}`, x: Array.from({ length: rows }, (_, p) => p), y: Array.from({ length: rows }, (_, p) => table.data[p * d + j]), colour: headColour(i), dash: dashOf(i) });
  const draw = (/** @type {number} */ j) => waves.draw({ series: [j, Math.min(d - 1, j + Math.floor(d / 8)), Math.min(d - 1, j + Math.floor(d / 4))].filter((one, i, all) => all.indexOf(one) === i).map(line), marks: [{ x: at(), label: `position ${at()}` }] });
  onwave(draw);
  const grid = gridPicture(ctx, {
    label: "positions by dimensions",
    rows,
    columns: d,
    rowName: String,
    columnName: String,
    axes: ["position", "dimension"],
    say: (i, j) => `position ${i}, dimension ${j}: ${num3(table.data[i * d + j])}`,
    cell: { w: [1, 6], h: [3, 6], square: false },
    height: 330,
    onpick: (i, j) => {
      draw(j);
      go(i);
    },
  });
  heatmap(grid.canvas, table.data, rows, d, { table: signed(ctx.theme), low: -most, high: most });
  const sinusoidal = positions.kind === "sinusoidal";
  const move = slider({ label: "dimension", min: 0, max: d - 1, step: 1, value: 0, format: (j) => (positions.wavelengths ? `${j} (λ ${num3(positions.wavelengths[Math.floor(j / 2)])})` : String(j)), oninput: draw });
  places.append(
    card("The position table", h("p", { class: "note" }, sinusoidal ? "Rows are positions, columns dimensions: sines and cosines, fast on the left, slow on the right. Nothing here is learned." : "Rows are positions, columns dimensions: every number is learned."), grid.element),
    h("div", { class: "columns" }, card("Waves", h("div", { class: "controls" }, move), waves.element), positions.dots ? likeness(ctx, positions) : null),
  );
  grid.start();
  draw(0);
}

/** @param {any} ctx @param {any} positions */
function likeness(ctx, positions) {
  const plot = chart(ctx, { label: "likeness of positions by distance", xLabel: "distance", yLabel: "PE · PE", height: 200, legend: false });
  requestAnimationFrame(() => plot.draw({ series: [{ name: "PE(p) · PE(p + k)", x: positions.dots.map((/** @type {number} */ _, /** @type {number} */ i) => i), y: positions.dots, colour: "var(--enc)", area: true }] }));
  return card("Near places are alike", plot.element, h("p", { class: "note" }, "Mean dot product of two position vectors, by how far apart they are."));
}

/** Positions as rotations of queries and keys. @param {any} ctx @param {any} how */
async function rotary(ctx, { places, positions, length, at }) {
  const plot = chart(ctx, { label: "angle of rotation by position", xLabel: "position", yLabel: "cosine of the angle", height: 220 });
  const x = Array.from({ length }, (_, p) => p);
  const pairs = positions.frequencies.length;
  const shown = [0, Math.floor(pairs / 8), Math.floor(pairs / 4), Math.floor(pairs / 2)];
  places.append(card("Rotation", h("p", { class: "note" }, `Nothing is added here. In every layer, pairs of dimensions of queries and keys (${pairs} pairs) turn by an angle that grows with the position; what two tokens see of each other then depends on their distance alone (base ${positions.base.toLocaleString("en")}).`), plot.element));
  plot.draw({ series: [...new Set(shown)].map((pair, i) => ({ name: `pair ${pair}, ${num3(positions.frequencies[pair])} rad a position`, x, y: x.map((p) => Math.cos(p * positions.frequencies[pair])), colour: headColour(i), dash: dashOf(i) })), marks: [{ x: at(), label: `position ${at()}` }] });
}

/** A penalty that grows with distance. @param {any} ctx @param {any} how */
async function alibi(ctx, { places, positions, length }) {
  const plot = chart(ctx, { label: "bias by distance", xLabel: "distance", yLabel: "added to the score", height: 220 });
  const x = Array.from({ length }, (_, p) => p);
  places.append(card("Distance as a penalty", h("p", { class: "note" }, "Nothing is added to the embedding. Scores fall with distance, each head with its own slope."), plot.element));
  plot.draw({ series: positions.slopes.slice(0, 8).map((/** @type {number} */ slope, /** @type {number} */ i) => ({ name: `head ${i}, slope ${num3(slope)}`, x, y: x.map((p) => -slope * p), colour: headColour(i), dash: dashOf(i) })) });
}

/** A learned number for each head and distance. @param {any} ctx @param {any} how */
async function relative(ctx, { places, positions }) {
  const plot = chart(ctx, { label: "bias by offset", xLabel: "offset (key − query)", yLabel: "added to the score", height: 220 });
  places.append(card("A learned bias for each offset", h("p", { class: "note" }, "Nothing is added to the embedding. Each head has learned a number for each bucket of offsets."), plot.element));
  plot.draw({ series: positions.bias.slice(0, 8).map((/** @type {number[]} */ y, /** @type {number} */ i) => ({ name: `head ${i}`, x: positions.offsets, y, colour: headColour(i), dash: dashOf(i) })) });
}
