// The log of events, newest first; what matters most is said aloud, too.
import { $, clock, el, say } from "./words.js";

const ALOUD = ["run", "broker"];

export class Log {
  constructor() {
    this._list = $("log");
    this._shown = new Map();
    this._last = -1;
    $("log-bad").addEventListener("change", (event) => this._list.classList.toggle("only-bad", event.target.checked));
  }

  /** `events`: all that the feed has. */
  show(events) {
    const known = new Set();
    const fresh = [];
    for (const event of events) {
      known.add(event.number);
      if (!this._shown.has(event.number)) fresh.push(event);
    }
    for (const [number, item] of this._shown) if (!known.has(number)) { item.remove(); this._shown.delete(number); }
    fresh.sort((a, b) => a.number - b.number);
    for (const event of fresh) {
      const item = el("li", { class: event.bad ? "bad" : "" }, el("time", { text: clock(event.at) }), el("span", { text: event.text }));
      this._shown.set(event.number, item);
      this._list.prepend(item);
      if (event.number > this._last && this._last >= 0 && (event.bad || ALOUD.includes(event.kind))) say($("announce"), event.text);
      this._last = Math.max(this._last, event.number);
    }
  }

  clear() { this._list.replaceChildren(); this._shown.clear(); this._last = -1; }
}
