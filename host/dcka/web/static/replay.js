// Where in a run we are: at its latest step, or at one that a person, or the replay, has chosen.
import { $, say } from "./words.js";

const STILL = matchMedia("(prefers-reduced-motion: reduce)");

export class Replay {
  constructor(onMove) {
    this._onMove = onMove;
    this.following = true;
    this._frames = [];
    this._at = 0;
    this._playing = 0;
    $("play").addEventListener("click", () => (this._playing ? this.pause() : this._play()));
    $("cursor").addEventListener("input", (event) => { this.pause(); this.following = false; this._at = Number(event.target.value); this._moved(); });
  }

  get playing() { return Boolean(this._playing); }

  /** The frames that there are now; where nobody has chosen one, the last is shown. */
  setFrames(frames) {
    this._frames = frames;
    if (this.following) this._at = Math.max(0, frames.length - 1);
    this._at = Math.min(this._at, Math.max(0, frames.length - 1));
    const cursor = $("cursor");
    cursor.disabled = $("play").disabled = frames.length < 2;
    cursor.max = String(Math.max(0, frames.length - 1));
    this._words();
  }

  /** The frames between which we are, and how far. */
  position() {
    const low = Math.floor(this._at), part = this._at - low, frames = this._frames;
    if (!frames.length) return { from: 0, to: 0, part: 1, last: Infinity };
    if (STILL.matches || !part) return { from: frames[low], to: frames[low], part: 1, last: this.following ? Infinity : frames[low] };
    return { from: frames[low], to: frames[Math.min(low + 1, frames.length - 1)], part, last: frames[low] };
  }

  /** Back to what is newest. */
  follow() { this.pause(); this.following = true; this.setFrames(this._frames); this._moved(); }

  pause() { cancelAnimationFrame(this._playing); this._playing = 0; say($("play"), "▶ Replay"); }

  _play() {
    if (this.following || this._at >= this._frames.length - 1) this._at = 0;
    this.following = false;
    let before = performance.now();
    const turn = (now) => {
      this._at = Math.min(this._frames.length - 1, this._at + ((now - before) / 1000) * Number($("speed").value));
      before = now;
      if (this._at >= this._frames.length - 1) this.pause();
      else this._playing = requestAnimationFrame(turn);
      this._moved();
    };
    this._playing = requestAnimationFrame(turn);
    say($("play"), "❚❚ Pause");
    this._moved();
  }

  _moved() { this._words(); this._onMove(); }

  _words() {
    const frames = this._frames, cursor = $("cursor");
    cursor.value = String(Math.round(this._at));
    const text = frames.length ? `step ${frames[Math.floor(this._at)]} of ${frames.at(-1)}` : "";
    cursor.setAttribute("aria-valuetext", text);
    say($("at"), text);
  }
}
