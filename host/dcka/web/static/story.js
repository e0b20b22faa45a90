// A run as the page shows it: the parts that came, and what follows from them at a step of it.
export class Story {
  constructor() { this.parts = new Map(); this._numbers = new Map(); }

  set(name, value) {
    if (value === undefined || value === null) this.parts.delete(name);
    else this.parts.set(name, value);
    this._numbers.delete(name.split("/")[0]);
  }

  get head() { return this.parts.get("run"); }

  get number() { return this.head ? this.head.number : 0; }

  get clusters() { return Boolean(this.head && this.head.parameters.k && this.head.parameters.init); }

  /** The numbers of all parts `kind/<number>`, ascending. */
  numbers(kind) {
    if (!this._numbers.has(kind)) {
      const found = [];
      for (const name of this.parts.keys()) if (name.startsWith(`${kind}/`)) found.push(Number(name.slice(kind.length + 1)));
      this._numbers.set(kind, found.sort((a, b) => a - b));
    }
    return this._numbers.get(kind);
  }

  part(kind, number) { return this.parts.get(`${kind}/${number}`); }

  /** The steps whose centres can be shown, and those that have an SSD: what a replay goes through. */
  frames() {
    const centres = this.numbers("centres");
    return centres.length ? centres : this.numbers("step").map((step) => step + 1);
  }

  /** By node, its centres (K·n levels) at a frame: what it said last until then. */
  centresAt(frame) {
    const found = new Map();
    for (const step of this.numbers("centres")) {
      if (step > frame) break;
      const part = this.part("centres", step);
      for (const [node, at] of Object.entries(part.of)) found.set(Number(node), part.sets[at]);
    }
    return found;
  }

  countsAt(frame) {
    const part = this.part("centres", frame);
    return part ? part.counts : null;
  }

  /** The network's centres at each frame until this one, for the way that they have gone: those of one node. */
  way(frame) {
    const found = [];
    for (const step of this.numbers("centres")) {
      if (step > frame) break;
      const part = this.part("centres", step);
      if (part.sets.length) found.push(part.sets[Math.min(...Object.values(part.of))] || part.sets[0]);
    }
    return found;
  }

  unit(level, dimension) {
    const grid = this.head.grid;
    return grid ? grid.offset[dimension] + grid.steps[dimension] * level : level;
  }

  level(value, dimension) {
    const grid = this.head.grid;
    return grid ? (value - grid.offset[dimension]) / grid.steps[dimension] : value;
  }

  columns() {
    const grid = this.head.grid;
    return grid ? grid.columns : Array.from({ length: this.head.parameters.n }, (_, index) => `dimension ${index + 1}`);
  }
}

/** How many of the points changed their cluster from each frame to the next: exact, for the points that are here. */
export class Assignments {
  constructor() { this.clear(); }

  clear() { this._labels = new Map(); this._points = null; }

  labels(story, points, frame) {
    if (this._points !== points || this._number !== story.number) { this.clear(); this._points = points; this._number = story.number; }
    const part = story.part("centres", frame);
    const key = `${frame}`;
    const known = this._labels.get(key);
    if (known && known.part === part) return known.labels;
    const labels = assign(story, points, frame);
    this._labels.set(key, { part, labels });
    return labels;
  }

  changed(story, points, frame, before) {
    const now = this.labels(story, points, frame), then = this.labels(story, points, before);
    let count = 0;
    for (let at = 0; at < now.length; at += 1) count += now[at] !== then[at];
    return count;
  }
}

function assign(story, points, frame) {
  const { n, k } = story.head.parameters;
  const held = story.centresAt(frame);
  const any = held.values().next().value;
  const own = points.nodes.map((node) => held.get(node) || any);
  const labels = new Uint16Array(points.owner.length);
  if (!any) return labels;
  for (let at = 0; at < labels.length; at += 1) {
    const centres = own[points.owner[at]];
    let best = Infinity;
    for (let cluster = 0; cluster < k; cluster += 1) {
      let distance = 0;
      for (let j = 0; j < n; j += 1) {
        const apart = points.points[at * n + j] - centres[cluster * n + j];
        distance += apart * apart;
      }
      if (distance < best) { best = distance; labels[at] = cluster; }
    }
  }
  return labels;
}
