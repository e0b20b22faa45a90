// The data space: the points that are here, every node's centres, the way they have come, and the reference's.
import { $, colour, css, el, lazy, say, short, table, whole } from "./words.js";

const MARGIN = { left: 62, right: 16, top: 14, bottom: 36 };

export class DataSpace {
  constructor(onAxes) {
    this._canvas = $("space");
    this._paint = this._canvas.getContext("2d");
    this._axes = [0, 1];
    this._table = lazy($("space-table"), () => this._asTable());
    for (const [at, id] of ["axis-x", "axis-y"].entries()) {
      $(id).addEventListener("change", (event) => { this._axes[at] = Number(event.target.value); onAxes(); });
    }
    new ResizeObserver(() => { this._fit(); onAxes(); }).observe(this._canvas);
    this._fit();
  }

  _fit() {
    const ratio = Math.min(2, window.devicePixelRatio || 1), box = this._canvas.getBoundingClientRect();
    this._size = [box.width, box.height];
    this._canvas.width = Math.max(1, Math.round(box.width * ratio));
    this._canvas.height = Math.max(1, Math.round(box.height * ratio));
    this._paint.setTransform(ratio, 0, 0, ratio, 0, 0);
  }

  /** `from`, `to`, `part`: the frames between which the centres are, and how far (0 … 1). */
  show(story, points, verdict, from, to, part, labels) {
    const paint = this._paint, [width, height] = this._size;
    paint.clearRect(0, 0, width, height);
    this._state = null;
    if (!story.clusters || !width) { say($("space-words"), "The centres appear with the first step of a run."); $("axes").hidden = true; return; }
    const { n, k } = story.head.parameters;
    this._offer(story, n);
    const held = between(story.centresAt(from), story.centresAt(to), part);
    const [ax, ay] = n > 1 ? this._axes : [0, -1];
    const view = this._view(story, points, held, ax, ay);
    this._grid(story, view, ax, ay);
    if (points) this._points(points, view, labels, n, ax, ay);
    this._ways(story, to, view, k, n, ax, ay);
    this._centres(held, view, k, n, ax, ay);
    if (verdict && verdict.reference) this._reference(story, verdict.reference, view, ax, ay);
    this._state = { story, held, labels, frame: to, k, n, points };
    this._words(story, held, points, verdict);
    this._table();
  }

  _offer(story, n) {
    $("axes").hidden = n < 3;
    const names = story.columns(), shown = names.join("\n");
    if (n < 2 || this._names === shown) return;
    this._names = shown;
    if (this._axes.some((axis) => axis >= n) || this._axes[0] === this._axes[1]) this._axes = [0, 1];
    for (const [at, id] of ["axis-x", "axis-y"].entries()) {
      $(id).replaceChildren(...names.map((text, value) => el("option", { value, text })));
      $(id).value = String(this._axes[at]);
    }
  }

  _view(story, points, held, ax, ay) {
    const grid = story.head.grid, most = 2 ** story.head.parameters.bits - 1;
    const reach = (axis) => (axis < 0 ? [-1, Math.max(1, (points ? points.nodes : [...held.keys()]).length)] : [0, grid ? Math.max(1, grid.extents[axis]) : most]);
    const [width, height] = this._size;
    const span = ([low, high], size, at, flip) => {
      const room = (high - low) * 0.04 || 1, from = low - room, scale = size / (high - low + 2 * room);
      return (value) => (flip ? at + size - (value - from) * scale : at + (value - from) * scale);
    };
    const rx = reach(ax), ry = reach(ay);
    const inner = [width - MARGIN.left - MARGIN.right, height - MARGIN.top - MARGIN.bottom];
    return { x: span(rx, inner[0], MARGIN.left, false), y: span(ry, inner[1], MARGIN.top, true), rx, ry, inner };
  }

  _grid(story, view, ax, ay) {
    const paint = this._paint, [width, height] = this._size;
    paint.font = "11px system-ui, sans-serif";
    paint.fillStyle = css("--muted");
    paint.strokeStyle = css("--line");
    paint.lineWidth = 1;
    const marks = ([low, high], axis) => (axis < 0 ? [] : nice(story.unit(low, axis), story.unit(high, axis)).map((value) => [story.level(value, axis), short(value, 6)]));
    paint.textAlign = "center";
    for (const [level, text] of marks(view.rx, ax)) {
      const x = Math.round(view.x(level)) + 0.5;
      paint.beginPath(); paint.moveTo(x, MARGIN.top); paint.lineTo(x, height - MARGIN.bottom); paint.stroke();
      paint.fillText(text, x, height - MARGIN.bottom + 14);
    }
    paint.textAlign = "right";
    for (const [level, text] of marks(view.ry, ay)) {
      const y = Math.round(view.y(level)) + 0.5;
      if (ay >= 0) { paint.beginPath(); paint.moveTo(MARGIN.left, y); paint.lineTo(width - MARGIN.right, y); paint.stroke(); }
      paint.fillText(text, MARGIN.left - 6, y + 4);
    }
    const names = story.columns();
    paint.textAlign = "center";
    paint.fillText(names[ax], MARGIN.left + view.inner[0] / 2, height - 6);
    paint.save(); paint.translate(11, MARGIN.top + view.inner[1] / 2); paint.rotate(-Math.PI / 2);
    paint.fillText(ay < 0 ? "node by node" : names[ay], 0, 0); paint.restore();
  }

  _points(points, view, labels, n, ax, ay) {
    const paint = this._paint, size = points.owner.length > 2000 ? 2 : 3;
    paint.globalAlpha = 0.45;
    for (let at = 0; at < points.owner.length; at += 1) {
      paint.fillStyle = labels ? colour(labels[at]) : css("--muted");
      const y = ay < 0 ? points.owner[at] : points.points[at * n + ay];
      paint.fillRect(view.x(points.points[at * n + ax]) - size / 2, view.y(y) - size / 2, size, size);
    }
    paint.globalAlpha = 1;
  }

  _ways(story, to, view, k, n, ax, ay) {
    if (ay < 0) return;
    const paint = this._paint, way = story.way(to);
    paint.lineWidth = 1.5;
    for (let cluster = 0; cluster < k && way.length > 1; cluster += 1) {
      paint.strokeStyle = css("--ink"); paint.globalAlpha = 0.35;
      paint.beginPath();
      way.forEach((set, at) => paint[at ? "lineTo" : "moveTo"](view.x(set[cluster * n + ax]), view.y(set[cluster * n + ay])));
      paint.stroke();
    }
    paint.globalAlpha = 1;
  }

  _centres(held, view, k, n, ax, ay) {
    const paint = this._paint, ink = css("--ink"), many = held.size > 30;
    let row = 0;
    for (const set of new Set(held.values())) {
      for (let cluster = 0; cluster < k; cluster += 1) {
        const x = view.x(set[cluster * n + ax]), y = view.y(ay < 0 ? row : set[cluster * n + ay]);
        paint.beginPath(); paint.arc(x, y, many ? 5 : 7, 0, 2 * Math.PI);
        paint.fillStyle = colour(cluster); paint.fill();
        paint.lineWidth = 2; paint.strokeStyle = ink; paint.stroke();
      }
      row += 1;
    }
  }

  _reference(story, reference, view, ax, ay) {
    const paint = this._paint, grid = story.head.grid;
    if (!grid || ay < 0) return;
    const level = (value, axis) => story.level(value, axis);
    for (const [width, ink] of [[4, css("--card")], [2, css("--ink")]]) {
      paint.strokeStyle = ink; paint.lineWidth = width;
      for (const centre of reference) {
        const x = view.x(level(centre[ax], ax)), y = view.y(level(centre[ay], ay));
        paint.beginPath(); paint.moveTo(x - 5, y); paint.lineTo(x + 5, y); paint.moveTo(x, y - 5); paint.lineTo(x, y + 5); paint.stroke();
      }
    }
  }

  _words(story, held, points, verdict) {
    const words = [`Discs: the centres of ${held.size} node${held.size === 1 ? "" : "s"}, ${new Set(held.values()).size === 1 ? "all the same" : `${new Set(held.values()).size} different sets`}`];
    if (verdict && verdict.reference) words.push("crosses: the reference’s");
    words.push(points ? (points.owner.length < points.total ? `${whole(points.owner.length)} of ${whole(points.total)} readings` : `${whole(points.total)} readings`) : "the readings stay on the nodes, and are not on this computer");
    say($("space-words"), `${words.join("; ")}.`);
  }

  _asTable() {
    if (!this._state) return el("p", { class: "muted", text: "No centres yet." });
    const { story, held, labels, frame, k, n } = this._state, sizes = story.countsAt(frame) || sizesOf(labels, k);
    const set = held.values().next().value || [];
    const rows = Array.from({ length: k }, (_, cluster) => {
      const swatch = el("span", {}, el("span", { class: "swatch" }), String(cluster));
      swatch.firstChild.style.background = colour(cluster);
      return [swatch, sizes ? whole(sizes[cluster]) : "–", ...Array.from({ length: n }, (_, j) => (set.length ? short(story.unit(set[cluster * n + j], j)) : "–"))];
    });
    return table(["cluster", story.countsAt(frame) ? "points" : "points shown", ...story.columns()], rows);
  }
}

/** Round numbers from `low` to `high`, some five of them. */
function nice(low, high) {
  const raw = (high - low) / 5, size = 10 ** Math.floor(Math.log10(raw)), step = [1, 2, 5, 10].find((one) => one * size >= raw) * size;
  const found = [];
  for (let at = Math.ceil(low / step); at * step <= high + step * 1e-9; at += 1) found.push(Number((at * step).toPrecision(12)));
  return Number.isFinite(step) && step > 0 ? found : [low];
}

function sizesOf(labels, k) {
  if (!labels) return null;
  const sizes = new Array(k).fill(0);
  for (const label of labels) sizes[label] += 1;
  return sizes;
}

function between(from, to, part) {
  if (part >= 1) return to;
  const made = new Map(), same = new Map();
  for (const [node, set] of to) {
    const before = from.get(node) || set, known = same.get(set);
    if (known && known.before === before) { made.set(node, known.mixed); continue; }
    const mixed = set.map((level, at) => before[at] + (level - before[at]) * part);
    same.set(set, { before, mixed });
    made.set(node, mixed);
  }
  return made;
}
