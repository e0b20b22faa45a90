// The network as a picture: nodes where their radio neighbours pull them, the tree, and who is heard in this slot.
import { $, el, lazy, say, svg, table } from "./words.js";

const WIDTH = 400, HEIGHT = 300, EDGE = 26;
const WORDS = { ready: "ready", running: "running", done: "done", asleep: "asleep", silent: "offline (silent)", offline: "offline" };

export class NetworkMap {
  constructor() {
    this._svg = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-labelledby": "map-title", "aria-describedby": "map-words" });
    this._edges = svg("g");
    this._dots = svg("g");
    this._svg.append(this._edges, this._dots);
    $("map").replaceChildren(this._svg);
    this._shape = "";
    this._nodes = new Map();
    this._links = new Map();
    this._table = lazy($("map-table"), () => this._asTable());
    legend();
  }

  /** `ids`: all nodes; `nodes(id)`: what is known of one; `slot`: of gossip, the phase that is shown; `changed`: the ids
   * of which something is new, where the links are as they were; null otherwise. */
  show(ids, nodes, story, slot, changed) {
    if (changed && this._ids === ids.join()) { this._colour(changed, nodes, story); return; }
    this._ids = ids.join();
    const rows = new Map(story.numbers("rows").map((node) => [node, story.part("rows", node)]));
    this._draw(ids, rows);
    const head = story.head;
    this._colour(ids, nodes, story);
    this._mark(rows, slot);
    this._rows = rows;
    this._table();
    const gossip = [...rows.values()].some((row) => row.hears);
    say($("map-words"), !rows.size ? "Links appear with the first run."
      : gossip ? `Who is in reach of whom${slot ? `; orange: who is heard in slot ${slot.slot + 1} of step ${slot.step + 1} (phase ${slot.phase + 1})` : ""}.`
      : `Who is in reach of whom; blue: the tree, with its root ringed${head && head.epoch ? ` (epoch ${head.epoch})` : ""}.`);
  }

  _colour(ids, nodes, story) {
    const root = story.head && story.head.root;
    for (const id of ids) {
      const view = nodes(id), shown = this._nodes.get(id);
      if (!shown) continue;
      const state = view ? view.state : "unseen";
      const key = `node ${state}${id === root ? " root" : ""}`;
      if (shown.key !== key) {
        shown.key = key;
        shown.group.setAttribute("class", key);
        shown.ring.setAttribute("visibility", id === root ? "visible" : "hidden");
        shown.title.textContent = `node ${id}: ${WORDS[state] || "not seen"}${id === root ? ", the root" : ""}`;
      }
    }
  }

  _draw(ids, rows) {
    const pairs = new Set();
    for (const [node, row] of rows) for (const other of row.near) pairs.add(node < other ? `${node}-${other}` : `${other}-${node}`);
    const shape = `${ids.join()}|${[...pairs].join()}`;
    if (shape === this._shape) return;
    this._shape = shape;
    const links = [...pairs].map((pair) => pair.split("-").map(Number)).filter(([a, b]) => ids.includes(a) && ids.includes(b));
    const places = layout(ids, links);
    const radius = ids.length > 120 ? 5 : ids.length > 40 ? 8 : 13;
    this._links = new Map();
    this._edges.replaceChildren(...links.map(([a, b]) => {
      const [from, to] = [places.get(a), places.get(b)];
      const line = svg("line", { class: "edge", x1: from[0], y1: from[1], x2: to[0], y2: to[1] });
      this._links.set(`${a}-${b}`, line);
      return line;
    }));
    this._nodes = new Map();
    this._dots.replaceChildren(...ids.map((id) => {
      const [x, y] = places.get(id);
      const title = svg("title"), ring = svg("circle", { class: "ring", r: radius + 4, visibility: "hidden" });
      const cross = svg("path", { class: "cross", d: `M${-radius} ${-radius}L${radius} ${radius}M${radius} ${-radius}L${-radius} ${radius}` });
      const group = svg("g", { class: "node", transform: `translate(${x} ${y})` }, title, ring, svg("circle", { class: "dot", r: radius }), cross);
      if (radius > 7) { const label = svg("text"); label.textContent = id; group.append(label); }
      this._nodes.set(id, { group, ring, title, key: "" });
      return group;
    }));
  }

  _mark(rows, slot) {
    const marks = new Map();
    for (const [node, row] of rows) {
      if (row.parent) marks.set(key(node, row.parent), "tree");
      if (row.hears && slot) for (const other of row.hears[slot.phase % row.hears.length]) marks.set(key(node, other), "now");
    }
    for (const [pair, line] of this._links) {
      const wanted = `edge ${marks.get(pair) || ""}`.trim();
      if (line.getAttribute("class") !== wanted) line.setAttribute("class", wanted);
    }
  }

  _asTable() {
    const rows = [...(this._rows || [])].map(([node, row]) => [
      String(node), row.near.join(", "),
      row.hears ? row.hears.map((who, phase) => `phase ${phase + 1}: ${who.join(", ") || "nobody"}`).join("; ")
        : row.parent ? `parent ${row.parent}${row.children.length ? `, children ${row.children.join(", ")}` : ""}` : `root, children ${row.children.join(", ")}`,
      row.slots ? `up ${row.slots.up}, hears ${row.slots.hear.join(", ") || "–"}, gets ${row.slots.get}, down ${row.slots.down}` : "",
    ]);
    return table(["node", "in reach", "schedule", "slots"], rows, 0);
  }
}

const key = (a, b) => (a < b ? `${a}-${b}` : `${b}-${a}`);

function legend() {
  const mark = (state, text) => el("li", {}, (() => {
    const cross = svg("path", { class: "cross", d: "M-6 -6L6 6M6 -6L-6 6" });
    return svg("svg", { viewBox: "-9 -9 18 18", "aria-hidden": "true" }, svg("g", { class: `node ${state}` }, svg("circle", { class: "dot", r: 6 }), cross));
  })(), text);
  $("map-legend").replaceChildren(...[["ready", "ready"], ["running", "running"], ["done", "done"], ["asleep", "asleep"], ["offline", "offline"], ["", "not seen"]].map(([state, text]) => mark(state, text)));
}

/** Places by springs between neighbours and repulsion between all, from a circle: the same network, the same picture. */
function layout(ids, links) {
  const count = ids.length, index = new Map(ids.map((id, at) => [id, at]));
  const x = new Float64Array(count), y = new Float64Array(count);
  ids.forEach((_, at) => { x[at] = Math.cos((2 * Math.PI * at) / count - Math.PI / 2); y[at] = Math.sin((2 * Math.PI * at) / count - Math.PI / 2); });
  const rounds = count > 400 || !links.length ? 0 : count > 150 ? 120 : 300;
  const far = 1.6 / Math.sqrt(Math.max(1, count));
  for (let round = 0; round < rounds; round += 1) {
    const dx = new Float64Array(count), dy = new Float64Array(count), heat = 0.12 * (1 - round / rounds) + 0.002;
    for (let a = 0; a < count; a += 1) for (let b = a + 1; b < count; b += 1) {
      const ax = x[a] - x[b], ay = y[a] - y[b], square = Math.max(1e-4, ax * ax + ay * ay), push = (far * far) / square;
      dx[a] += ax * push; dy[a] += ay * push; dx[b] -= ax * push; dy[b] -= ay * push;
    }
    for (const [from, to] of links) {
      const a = index.get(from), b = index.get(to), ax = x[a] - x[b], ay = y[a] - y[b], pull = Math.hypot(ax, ay) / far;
      dx[a] -= ax * pull; dy[a] -= ay * pull; dx[b] += ax * pull; dy[b] += ay * pull;
    }
    for (let a = 0; a < count; a += 1) {
      const length = Math.hypot(dx[a], dy[a]) || 1, step = Math.min(heat, length);
      x[a] += (dx[a] / length) * step; y[a] += (dy[a] / length) * step;
    }
  }
  const span = (values) => [Math.min(...values), Math.max(...values)];
  const [[left, right], [top, bottom]] = [span(x), span(y)];
  const place = (value, low, high, size) => (high > low ? EDGE + ((value - low) / (high - low)) * (size - 2 * EDGE) : size / 2);
  return new Map(ids.map((id, at) => [id, [place(x[at], left, right, WIDTH).toFixed(1), place(y[at], top, bottom, HEIGHT).toFixed(1)]]));
}
