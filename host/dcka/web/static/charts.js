// SSD, consensus error and changed assignments, each a chart, a sentence and a table.
import { $, css, lazy, say, short, table, whole } from "./words.js";

const LEAST = 190, MOST = 320;

class Chart {
  constructor(id, make) {
    this._holder = $(id);
    this._make = make;
    this._data = null;
    this._plot = null;
    this._wide = this._high = 0;
    new ResizeObserver(() => this._resize()).observe(this._holder);
    window.addEventListener("dcka-theme", () => { this._key = null; if (this._data) this.show(this._data, this._wanted); });
  }

  /** `key`: what the chart's shape depends on; a new one makes it anew. */
  show(data, key = "") {
    this._wanted = key;
    this._data = data;
    if (!data) { this._drop(); return; }
    if (!this._plot || this._key !== key) {
      this._drop();
      this._key = key;
      this._measure();
      if (!this._wide) return;
      this._plot = new window.uPlot({ width: this._wide, height: this._high, ...this._make(key) }, data, this._holder);
    } else this._plot.setData(data);
  }

  _drop() { if (this._plot) this._plot.destroy(); this._plot = null; }

  /** Whether there is another room for it than before. */
  _measure() {
    const before = [this._wide, this._high];
    this._wide = this._holder.clientWidth;
    this._high = Math.min(MOST, Math.max(LEAST, this._holder.clientHeight));
    return before[0] !== this._wide || Math.abs(before[1] - this._high) > 4;
  }

  _resize() {
    if (!this._measure() || !this._wide) return;
    if (this._plot) this._plot.setSize({ width: this._wide, height: this._high });
    else if (this._data) this.show(this._data, this._wanted);
  }
}

const axis = (label, more = {}) => ({ stroke: css("--muted"), grid: { stroke: css("--line"), width: 1 }, ticks: { stroke: css("--line") }, font: "11px system-ui, sans-serif", labelFont: "11px system-ui, sans-serif", ...(label ? { label, labelSize: 16, labelGap: 0 } : {}), gap: 4, ...more });
const isDecade = (value) => Math.abs(Math.log10(value) - Math.round(Math.log10(value))) < 1e-9;
const decades = (plot, splits) => splits.map((value) => (isDecade(value) ? value : null));
const numbers = (plot, values) => values.map((value) => (value === null ? "" : short(value, 4)));
const steps = (plot, values) => values.map((value) => (Number.isInteger(value) ? String(value) : ""));

export class Charts {
  constructor() {
    this._ssd = new Chart("ssd", () => ({
      legend: { show: false }, scales: { x: { time: false } },
      axes: [axis("outer step", { values: steps, size: 26 }), axis("", { size: 64, values: numbers })],
      series: [{}, { label: "SSD", stroke: css("--accent"), width: 2, points: { show: true, size: 6 } }],
    }));
    this._spread = new Chart("spread", () => ({
      legend: { show: false }, scales: { x: { time: false }, y: { distr: 3 } },
      axes: [axis("slots since the run began", { values: steps, size: 26 }), axis("", { size: 62, filter: decades, grid: { stroke: css("--line"), width: 1, filter: decades }, ticks: { stroke: css("--line"), filter: decades }, values: (plot, values) => values.map((value) => (value === null ? "" : short(value, 2))) })],
      series: [{ label: "slot" },
        { label: "error", stroke: css("--accent"), width: 2, spanGaps: false, points: { show: true, size: 5 } },
        { label: "predicted", stroke: "#dd8a1c", width: 2, dash: [6, 4], spanGaps: false, points: { show: false } },
        { label: "tolerance", stroke: css("--good"), width: 1.5, dash: [2, 4], points: { show: false } }],
    }));
    this._moved = new Chart("moved", () => ({
      legend: { show: false }, scales: { x: { time: false, range: (plot, low, high) => [low - 0.6, high + 0.6] }, y: { range: (plot, low, high) => [0, Math.max(1, high * 1.1)] } },
      axes: [axis("outer step", { values: steps, size: 26 }), axis("", { size: 56, values: numbers })],
      series: [{}, { label: "changed", stroke: css("--accent"), fill: css("--accent-soft"), width: 1.5, paths: window.uPlot.paths.bars({ size: [0.7, 60] }), points: { show: false } }],
    }));
    this._tables = {
      ssd: lazy($("ssd-table"), () => table(["step", "missing", "SSD"], this._rows.ssd, 1)),
      spread: lazy($("spread-table"), () => table(["step", "slot", "error (grid steps)", "predicted"], this._rows.spread)),
      moved: lazy($("moved-table"), () => table(["step", "changed"], this._rows.moved)),
    };
    this._rows = { ssd: [], spread: [], moved: [] };
  }

  /** `frame`: the last one that is shown. `changed(frame, before)`: how many points changed, or null without points. */
  show(story, frame, points, changed) {
    this._showSsd(story, frame);
    this._showSpread(story, frame);
    this._showMoved(story, frame, points, changed);
    for (const fill of Object.values(this._tables)) fill();
  }

  _showSsd(story, frame) {
    const shown = story.clusters ? story.numbers("step").filter((step) => step < frame) : [];
    const unit = story.head && story.head.grid ? (story.head.grid.scale === "one" ? "in the readings’ units, squared" : "in widths of the columns, squared") : "in grid steps, squared";
    const values = shown.map((step) => story.part("step", step).ssd);
    say($("ssd-words"), shown.length ? `After ${shown.length} step${shown.length === 1 ? "" : "s"}: ${short(values.at(-1), 8)} (${unit}).` : "Of each outer step.");
    this._ssd.show(shown.length ? [shown.map((step) => step + 1), values] : null);
    this._rows.ssd = shown.map((step, at) => [String(step + 1), story.part("step", step).missing.join(", ") || "nobody", short(values[at], 9)]);
  }

  _showSpread(story, frame) {
    const head = story.head, gossip = head && head.parameters.kind === "gossip";
    $("spread").hidden = $("spread-legend").hidden = !gossip;
    if (!gossip) {
      this._spread.show(null);
      this._rows.spread = [];
      say($("spread-words"), head && head.parameters.kind === "tree" ? "None: in a tree the root adds up everybody’s whole numbers, so there is nothing to converge to. It is of interest in gossip." : "How far apart the nodes are, slot by slot, in gossip.");
      return;
    }
    const tolerance = head.parameters.tolerance / 256, x = [], error = [], predicted = [], limit = [];
    this._rows.spread = [];
    let before = 0;
    for (const step of story.numbers("spread").filter((one) => one < frame)) {
      const windows = story.part("spread", step).windows, first = windows.find(([, value]) => value > 0);
      for (const [slot, value] of windows) {
        const expected = head.rate !== null && first ? first[1] * head.rate ** (slot - first[0]) : null;
        x.push(before + slot); error.push(value > 0 ? value : null); limit.push(tolerance || null);
        predicted.push(expected && expected > 1e-4 ? expected : null);
        this._rows.spread.push([String(step + 1), String(slot), short(value, 4), expected === null ? "–" : short(expected, 4)]);
      }
      const done = story.part("step", step);
      before += (done && done.slots) || (windows.length ? windows.at(-1)[0] + head.parameters.window : 0);
      x.push(before - 0.5); error.push(null); predicted.push(null); limit.push(tolerance || null); // a gap between steps
    }
    const rate = head.rate === null ? "" : `; the schedule’s second eigenvalue predicts a factor of ${head.rate.toFixed(3)} a slot`;
    say($("spread-words"), x.length ? `Greatest distance between two nodes’ centres, in grid steps (log scale), at each window’s first slot${rate}.` : "No message between nodes has been seen: a broker with rules shows them to neighbours alone.");
    this._spread.show(x.length ? [x, error, predicted, limit] : null);
  }

  _showMoved(story, frame, points, changed) {
    const frames = story.clusters ? story.frames().filter((one) => one <= frame) : [], x = [], y = [];
    for (let at = 1; at < frames.length; at += 1) {
      const value = points ? changed(frames[at], frames[at - 1]) : atLeast(story.countsAt(frames[at]), story.countsAt(frames[at - 1]));
      if (value !== null) { x.push(frames[at]); y.push(value); }
    }
    const of = points ? `of ${whole(points.owner.length)}${points.owner.length < points.total ? " that are shown" : ""}` : "";
    say($("moved-words"), points ? `Readings ${of} that went to another cluster.` : "At least so many readings went to another cluster, by the clusters’ sizes; the readings are not on this computer.");
    this._moved.show(x.length ? [x, y] : null);
    this._rows.moved = x.map((step, at) => [String(step), whole(y[at])]);
  }
}

function atLeast(now, then) {
  if (!now || !then) return null;
  return now.reduce((sum, count, at) => sum + Math.abs(count - then[at]), 0) / 2;
}

