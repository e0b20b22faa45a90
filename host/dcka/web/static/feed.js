// The feed: values under names, kept as the server has them. It reconnects by itself, and asks for what it has missed.
const SILENT_MS = 3500; // the server says something every second
const AGAIN_MS = 700;

export class Feed {
  /** `onChange(names, fresh)`: after each frame; `onLink(state)`: "connected" or "disconnected". */
  constructor(onChange, onLink) {
    this.values = new Map();
    this.token = "";
    this.version = "";
    this._onChange = onChange;
    this._onLink = onLink;
    this._name = "";
    this._last = 0;
    this._offset = 0;
    this._heardAt = performance.now();
    this._open();
    setInterval(() => this._look(), 500);
  }

  /** The server's clock, in ms: every age on the page is of this one clock. */
  now() { return performance.now() + this._offset; }

  get(name) { return this.values.get(name); }

  _open() {
    this._source = new EventSource(`/events?since=${encodeURIComponent(`${this._name}:${this._last}`)}`);
    this._source.onmessage = (message) => this._take(JSON.parse(message.data));
    this._source.onerror = () => this._lost();
  }

  _lost() {
    if (!this._source) return;
    this._source.close(); // its own way of trying again would ask for all that it has asked for before
    this._source = null;
    this._onLink("disconnected");
    setTimeout(() => this._open(), AGAIN_MS);
  }

  _look() {
    if (this._source && performance.now() - this._heardAt > SILENT_MS) this._lost();
    if (!this._source) this._heardAt = performance.now();
  }

  _take(frame) {
    this._heardAt = performance.now();
    this._offset = frame.now - this._heardAt;
    if (frame.token) { this.token = frame.token; this.version = frame.version; this._onLink("connected"); }
    const changed = new Set([...Object.keys(frame.set), ...frame.gone]);
    if (frame.fresh || frame.feed !== this._name) {
      for (const name of this.values.keys()) changed.add(name);
      this.values.clear();
    }
    this._name = frame.feed;
    this._last = frame.last;
    for (const name of frame.gone) this.values.delete(name);
    for (const [name, value] of Object.entries(frame.set)) this.values.set(name, value);
    this._onChange(changed);
  }

  /** Ask for something to be done; the error's words, or "" where it was taken. */
  async ask(path, record) {
    try {
      const answer = await fetch(path, {
        method: "POST",
        headers: { "Content-Type": "application/json", "X-Dcka-Token": this.token },
        body: JSON.stringify(record),
      });
      if (answer.ok) return "";
      const text = await answer.text();
      try { return JSON.parse(text).error || text; } catch { return text; }
    } catch {
      return "the monitor does not answer";
    }
  }
}
