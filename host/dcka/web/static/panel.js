// What stands around the pictures: the run's head, its verdict and parameters, starting and stopping.
import { $, el, say, short, whole } from "./words.js";

const NAMES = {
  kind: "consensus", k: "clusters K", n: "dimensions", bits: "bits", points: "readings", init: "start", seed: "seed", max_steps: "most steps",
  patience_ms: "patience", slot_ms: "slot", period: "slots a period", window: "window", tolerance: "tolerance", slots: "slots a step", max_slots: "most slots",
  dataset: "data set", root: "root", depth: "depth", bins: "bins", tail_ppm: "tail", scale: "scale", seeding: "drawn in run",
};
const WORDS = {
  patience_ms: (value) => `${value} ms`, slot_ms: (value) => `${value} ms`, tolerance: (value) => `${value}/256 of a grid step`,
  slots: (value) => (value ? whole(value) : "until agreed"), tail_ppm: (value) => `${value} ppm`, dataset: (value) => String(value), seed: (value) => String(value),
};

export function showHead(story, verdict, live) {
  const head = story.head;
  say($("run-title"), head ? head.title : "No run yet");
  say($("run-words"), head ? words(head, live) : "Start one below, or with dcka run.");
  const badge = $("verdict-badge");
  badge.hidden = !verdict;
  if (verdict) { badge.dataset.word = verdict.verdict; say(badge, verdict.verdict); }
}

function words(head, live) {
  const found = [];
  if (head.finished) found.push(`ended after ${head.step} step${head.step === 1 ? "" : "s"}${head.seconds === null || head.retained ? "" : ` in ${short(head.seconds, 3)} s`}`);
  else found.push(`${live ? "at" : "got to"} step ${head.step}`);
  found.push(`${head.done.length} of ${head.members.length} results`);
  if (head.missing.length) found.push(`without node${head.missing.length === 1 ? "" : "s"} ${head.missing.join(", ")} in all steps or some`);
  if (head.epoch) found.push(`root is node ${head.root} since epoch ${head.epoch}`);
  if (head.retained) found.push("it was on before we listened");
  if (head.thinned) found.push("of its earlier steps one node’s centres are kept");
  return `${found.join("; ")}.`;
}

export function showVerdict(story, verdict) {
  const head = story.head, key = JSON.stringify([head && head.number, head && head.finished, verdict]);
  if ($("verdict").dataset.key === key) return;
  $("verdict").dataset.key = key;
  if (!verdict) {
    $("verdict").replaceChildren(el("p", { class: "muted", text: head && head.finished ? "Not checked: its outcome is not kept on this computer. dcka run keeps it where it was started." : "A run is checked once it has ended." }));
    return;
  }
  const badge = el("p", { class: "badge", text: verdict.verdict, "data-word": verdict.verdict });
  $("verdict").replaceChildren(badge, el("ul", {}, ...verdict.reasons.map((text) => el("li", { text }))));
}

export function showParameters(story) {
  const head = story.head, list = $("parameters"), key = head ? JSON.stringify([head.number, head.parameters, head.grid && head.grid.name]) : "";
  if (list.dataset.key === key) return;
  list.dataset.key = key;
  if (!head) { list.replaceChildren(); return; }
  const shown = Object.entries(head.parameters).map(([name, value]) => [NAMES[name] || name, WORDS[name] ? WORDS[name](value) : typeof value === "number" ? whole(value) : String(value)]);
  if (head.grid) shown.unshift(["data", head.grid.name], ["columns", head.grid.columns.join(", ")]);
  shown.push(["members", whole(head.members.length)]);
  list.replaceChildren(...shown.map(([name, value]) => el("div", {}, el("dt", { text: name }), el("dd", { text: value }))));
}

export class ControlPanel {
  constructor(feed) {
    this._feed = feed;
    $("start").addEventListener("submit", (event) => { event.preventDefault(); this._start(event.target); });
    $("stop").addEventListener("click", async () => this._said(await feed.ask("/page/stop", {})));
  }

  show(control) {
    if (!control) return;
    for (const field of $("start").elements) field.disabled = !control.possible;
    $("start").querySelector("[type=submit]").disabled = !control.possible || control.busy;
    const lines = $("control-lines");
    lines.hidden = !control.lines.length;
    const text = control.lines.join("\n");
    if (lines.textContent !== text) { lines.textContent = text; lines.scrollTop = lines.scrollHeight; }
    if (!control.possible) say($("control-words"), control.why);
    else if (control.busy) say($("control-words"), control.what === "stop" ? "Stopping…" : "A run that was started here is on.");
    else if (control.code !== null) say($("control-words"), control.code === 0 ? "Done." : `It ended with exit code ${control.code}.`);
  }

  async _start(form) {
    const asked = {};
    for (const [name, value] of new FormData(form)) if (value !== "") asked[name] = name === "k" || name === "seed" ? Number(value) : value;
    this._said(await this._feed.ask("/page/run", asked));
  }

  _said(error) { say($("control-words"), error || "Asked for."); }
}
