// The table of nodes. Two hundred nodes may speak ten times a second, and to lay out and paint a row costs far more than to
// know its words: a cell is touched where its text changes, a row in view at once, one out of view every two seconds.
// Every row is a grid of its own: a browser that lays out a real table looks at all its rows where one cell changes. In a
// row, a figure stands in a box whose size no text changes (`.still`): there the work ends. What a table is to those who
// do not see it, the roles say.
import { $, ago, bytes, el, say, short, whole } from "./words.js";

const OUT_OF_VIEW_MS = 2000;
// Name, class, width in em: shares of the room, and the least.
const COLUMNS = [
  ["node", "number", 5], ["status", "", 7.5], ["heard", "", 8], ["step", "number", 5], ["readings", "number", 6.5], ["heap", "number", 13.5], ["RSSI", "number", 6],
  ["sent", "number", 6], ["bytes", "number", 6.5], ["slots awake", "number", 8.5], ["battery", "number", 7], ["dropped", "wide", 12], ["firmware", "wide", 13], ["remarks", "wide", 18],
];

export class NodeTable {
  constructor() {
    this._body = el("tbody", { role: "rowgroup" });
    const holder = $("nodes");
    holder.setAttribute("role", "table");
    holder.setAttribute("aria-labelledby", "nodes-title");
    holder.style.setProperty("--columns", COLUMNS.map(([, , width]) => `minmax(${width}em, ${width}fr)`).join(" "));
    holder.style.minWidth = `${COLUMNS.reduce((sum, [, , width]) => sum + width, 0)}em`;
    holder.replaceChildren(
      el("caption", { class: "visually-hidden", text: "Every node: its state, memory, radio, energy, and what it dropped" }),
      el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, ...COLUMNS.map(([text, kind]) => el("th", { role: "columnheader", scope: "col", text, class: kind })))), this._body);
    this._rows = new Map();
    this._stale = new Map();
    this._seen = new Set();
    this._allAt = 0;
    this._eye = new IntersectionObserver((entries) => {
      for (const { target, isIntersecting } of entries) {
        const id = Number(target.dataset.node);
        if (isIntersecting) this._seen.add(id); else this._seen.delete(id);
        if (isIntersecting && this._stale.has(id)) this._fillStale(id);
      }
    });
  }

  /** `changed`: the ids of which something is new; null: all. */
  show(ids, nodes, story, now, changed) {
    const shape = ids.join();
    if (this._shape !== shape) { this._shape = shape; this._rebuild(ids); changed = null; }
    const all = !changed || now - this._allAt > OUT_OF_VIEW_MS;
    if (all) this._allAt = now;
    for (const id of changed || ids) if (this._rows.has(id)) this._stale.set(id, [nodes(id), story.part("result", id), now]);
    for (const id of [...this._stale.keys()]) if (all || this._seen.has(id)) this._fillStale(id);
  }

  _fillStale(id) {
    const row = this._rows.get(id);
    if (row) this._fill(row, ...this._stale.get(id));
    this._stale.delete(id);
  }

  /** Ages grow by themselves; and what is out of view has its turn where nothing else comes. */
  tick(ids, nodes, now) {
    if (this._stale.size && now - this._allAt > OUT_OF_VIEW_MS) {
      this._allAt = now;
      for (const id of [...this._stale.keys()]) this._fillStale(id);
    }
    for (const id of ids) {
      const view = nodes(id), row = this._rows.get(id);
      if (!view || !row || !this._seen.has(id)) continue;
      say(row.cells.heard, heard(view, now));
      if (!view.there) say(row.cells.remarks, remarks(view, now));
    }
  }

  _rebuild(ids) {
    for (const id of ids) if (!this._rows.has(id)) this._rows.set(id, row(id));
    const sorted = new Map(ids.map((id) => [id, this._rows.get(id)]));
    this._rows = sorted;
    this._body.replaceChildren(...[...sorted.values()].map(({ element }) => element));
    this._eye.disconnect();
    this._seen.clear();
    for (const { element } of sorted.values()) this._eye.observe(element);
  }

  _fill({ cells, state }, view, result, now) {
    if (!view) { say(state, "not seen"); state.className = "muted"; return; }
    const word = view.state === "silent" ? "offline" : view.state;
    say(state, word);
    if (state.className !== `state ${view.state}`) state.className = `state ${view.state}`;
    say(cells.heard, heard(view, now));
    say(cells.step, view.run ? whole(view.step) : "");
    say(cells.readings, view.rows ? whole(view.rows) : "");
    say(cells.heap, view.heap ? (view.free ? `${bytes(view.heap)} of ${bytes(view.heap + view.free)}` : bytes(view.heap)) : "");
    say(cells.RSSI, view.rssi ? `${view.rssi} dBm` : "–");
    const ledger = view.ledger;
    say(cells.sent, ledger ? whole(ledger.broadcasts) : "");
    say(cells.bytes, ledger ? bytes(ledger.payload_sent) : "");
    say(cells["slots awake"], ledger ? whole(ledger.slots_awake) : "");
    say(cells.battery, result && result.battery_days ? days(result.battery_days) : "–");
    say(cells.dropped, Object.entries(view.dropped).map(([why, count]) => `${why} ×${whole(count)}`).join(", "));
    say(cells.firmware, [view.firmware, view.runtime].filter(Boolean).join(", "));
    say(cells.remarks, remarks(view, now));
  }
}

function row(id) {
  const state = el("span", {}), cells = {};
  const element = el("tr", { role: "row", "data-node": id }, ...COLUMNS.map(([name, kind], at) => {
    if (at === 0) return el("th", { role: "rowheader", scope: "row", class: kind, text: String(id) });
    const inner = name === "status" ? state : document.createTextNode("");
    cells[name] = inner;
    return el("td", { role: "cell", class: kind }, kind === "wide" ? inner : el("div", { class: "still" }, inner));
  }));
  return { element, cells, state };
}

function heard(view, now) {
  if (view.heard === null) return `kept by the broker, over ${ago(now - view.known).replace(" ago", "").replace("now", "1 s")} old`;
  return ago(now - view.heard);
}

function days(value) {
  return value >= 1 ? `${short(value, 3)} days` : `${short(value * 24, 2)} h`;
}

function remarks(view, now) {
  const words = [];
  if (view.state === "silent") words.push("silent: it missed two heartbeats");
  if (view.state === "offline") words.push(view.since === null ? "gone before we looked" : `gone since ${ago(now - view.since).replace(" ago", "")}`);
  if (!view.member) words.push("not in the network file");
  if (view.twin) words.push("there twice");
  if (view.stalled) words.push("stalled: half of the nodes or more are missing");
  const held = Object.entries(view.quarantined).map(([node, why]) => `node ${node} (${why})`);
  if (held.length) words.push(`quarantine: ${held.join(", ")}`);
  if (view.waiting.length) words.push(`waits for ${view.waiting.join(", ")}`);
  if (view.problem) words.push(view.problem);
  return words.join("; ");
}
