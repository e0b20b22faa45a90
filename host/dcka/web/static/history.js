// The runs that are kept, page by page; each can be opened, and replayed.
import { $, clock, el, say, short, whole } from "./words.js";

const HEAD = ["run", "when", "consensus", "K", "nodes", "steps", "SSD", "state", "verdict", ""];

export class History {
  constructor(onOpen) {
    this._onOpen = onOpen;
    this._before = null;
    this._runs = [];
    this._seen = "";
    $("history-more").addEventListener("click", () => this._load(this._before));
  }

  /** The first page anew, where a run has ended or was judged since. */
  look(runs) {
    const seen = JSON.stringify(runs.map((run) => [run.number, run.finished, run.verdict]));
    if (seen === this._seen) return;
    this._seen = seen;
    clearTimeout(this._due);
    this._due = setTimeout(() => this._load(null), 600); // the recorder writes a moment later
  }

  async _load(before) {
    let found;
    try {
      const answer = await fetch(`/page/history${before === null ? "" : `?before=${before}`}`);
      found = answer.ok ? await answer.json() : null;
    } catch { found = null; }
    if (!found) { say($("history-words"), "The history cannot be read at the moment."); return; }
    this._runs = before === null ? found.runs : [...this._runs, ...found.runs];
    this._before = found.more;
    $("history-more").hidden = found.more === null;
    say($("history-words"), found.where === null ? "No history is kept." : this._runs.length ? `Kept in ${found.where}.` : "None yet.");
    $("history").replaceChildren(
      el("thead", {}, el("tr", {}, ...HEAD.map((text) => (text ? el("th", { scope: "col", text }) : el("td"))))),
      el("tbody", {}, ...this._runs.map((run) => this._row(run))));
  }

  _row(run) {
    const open = el("button", { type: "button", text: "Open", "aria-label": `Open run ${run.number} of ${new Date(run.at * 1000).toLocaleString("en-GB")}` });
    open.addEventListener("click", () => this._onOpen(run.id));
    const day = new Date(run.at * 1000).toLocaleDateString("en-GB");
    const cells = [String(run.number), `${day} ${clock(run.at)}`, run.kind, run.k ? whole(run.k) : "–", whole(run.nodes), whole(run.steps), run.ssd === null ? "–" : short(run.ssd, 7), run.state, run.verdict || "–"];
    return el("tr", {}, ...cells.map((text) => el("td", { text })), el("td", {}, open));
  }
}
