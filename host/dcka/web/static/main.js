// The page: what the feed brings is put into the pictures, at most once a frame of the screen.
import { Charts } from "./charts.js";
import { Feed } from "./feed.js";
import { History } from "./history.js";
import { Log } from "./log.js";
import { NetworkMap } from "./map.js";
import { NodeTable } from "./nodes.js";
import { ControlPanel, showHead, showParameters, showVerdict } from "./panel.js";
import { Replay } from "./replay.js";
import { DataSpace } from "./space.js";
import { Assignments, Story } from "./story.js";
import { $, el, say } from "./words.js";

const TICK_MS = 500; // ages grow by themselves
let live = new Story();
let shown = live;      // the live one, or one of before
let pastVerdict = null, pastPath = "";
let points = null, pointsOf = "";
const due = new Set(["all"]);
const changedNodes = new Set();
let asked = false, restUntil = 0;

const want = (...what) => {
  for (const one of what) due.add(one);
  if (asked) return;
  asked = true;
  // Where drawing takes long, as long a rest: whoever clicks is not to wait for numbers.
  const rest = restUntil - performance.now();
  if (rest > 0) setTimeout(() => requestAnimationFrame(render), rest);
  else requestAnimationFrame(render);
};
const charts = new Charts(), table = new NodeTable(), log = new Log(), assignments = new Assignments();
const map = new NetworkMap();
const space = new DataSpace(() => want("space"));
const replay = new Replay(() => want("space", "charts", "map", "head"));
const feed = new Feed(take, (state) => {
  $("link").dataset.state = state;
  say($("link"), state);
});
const panel = new ControlPanel(feed);
const history = new History((id) => { open(`/page/history/${id}`); $("run").scrollIntoView(); $("play").focus(); });
setInterval(() => want("nodes"), TICK_MS);
window.addEventListener("dcka-theme", () => want("space"));

function take(changed) {
  for (const name of changed) {
    if (name.startsWith("story/")) {
      live.set(name.slice(6), feed.get(name));
      if (shown === live) want("story");
    } else {
      const kind = name.split("/")[0];
      if (kind === "node") changedNodes.add(Number(name.slice(5)));
      want(kind);
    }
  }
}

const ids = () => {
  const network = feed.get("network"), found = new Set(network ? network.members : []);
  for (const name of feed.values.keys()) if (name.startsWith("node/")) found.add(Number(name.slice(5)));
  return [...found].sort((a, b) => a - b);
};
const node = (id) => feed.get(`node/${id}`);
let newest = 0;
const verdict = () => (shown === live ? feed.get("verdict") : pastVerdict);

function render() {
  asked = false;
  const began = performance.now();
  const has = (...names) => due.has("all") || names.some((name) => due.has(name));
  const all = ids(), now = feed.now();
  const network = has("network", "node"), story = has("story", "verdict");
  if (live.number !== newest) { newest = live.number; if (shown === live) replay.follow(); }
  if (story) { replay.setFrames(shown.clusters ? shown.frames() : []); load(); }
  if (network) showNetwork(all);
  const only = has("network") || story ? null : changedNodes;
  if (has("node", "network") || story) table.show(all, node, shown, now, only);
  if (has("nodes")) table.tick(all, node, now);
  if (has("node", "network", "map") || story) map.show(all, node, shown, slot(), has("map") ? null : only);
  if (story || has("head")) { showHead(shown, verdict(), shown === live && replay.following); showVerdict(shown, verdict()); showParameters(shown); $("live").hidden = shown === live && replay.following; }
  if (story || has("space", "charts", "points")) showSpace(story || has("charts", "points"));
  if (has("runs")) { showRuns(); history.look(feed.get("runs") || []); }
  if (has("event")) log.show([...feed.values].filter(([name]) => name.startsWith("event/")).map(([, event]) => event));
  if (has("control")) panel.show(feed.get("control"));
  if (feed.version) say($("version"), `dcka ${feed.version}`);
  due.clear();
  changedNodes.clear();
  window.dcka.painted = feed._last;
  const took = performance.now() - began;
  restUntil = took > 30 ? performance.now() + took : 0;
}

function showNetwork(all) {
  const network = feed.get("network");
  if (!network) return;
  say($("network"), network.name);
  say($("broker"), `${network.broker}${network.up ? "" : ": the broker does not answer"}`);
  const there = all.filter((id) => node(id) && node(id).there).length;
  say($("online"), `${there} of ${all.length} nodes online`);
  const title = `${there}/${all.length} ${network.name}, dcka monitor`;
  if (document.title !== title) document.title = title;
}

function slot() {
  if (shown !== live || !replay.following) {
    const { to } = replay.position(), rows = shown.numbers("rows");
    const phases = rows.length && shown.part("rows", rows[0]).hears ? shown.part("rows", rows[0]).hears.length : 0;
    return phases ? { step: Math.max(0, to - 1), slot: 0, phase: Math.floor(performance.now() / 600) % phases } : null;
  }
  return shown.parts.get("slot") || null;
}

function showSpace(withCharts) {
  const at = replay.position();
  const labelled = points && shown.numbers("centres").length ? assignments.labels(shown, points, at.to) : null;
  space.show(shown, points, replay.following || at.last >= shown.frames().at(-1) ? verdict() : null, at.from, at.to, at.part, labelled);
  if (withCharts) charts.show(shown, at.last, labelled ? points : null, (frame, before) => assignments.changed(shown, points, frame, before));
}

async function load() {
  const wanted = shown.clusters ? shown.head.parameters.dataset : "";
  if (wanted === pointsOf) return;
  pointsOf = wanted;
  points = null;
  if (!wanted) return;
  try {
    const answer = await fetch(`/page/points/${wanted}`);
    const found = answer.ok ? await answer.json() : null;
    if (pointsOf === wanted) { points = found; want("points"); }
  } catch { pointsOf = ""; }
}

function showRuns() {
  const runs = feed.get("runs") || [], select = $("runs"), chosen = shown === live ? "live" : pastPath.split("/").at(-1);
  select.replaceChildren(el("option", { value: "live", text: "the newest, live" }),
    ...runs.filter((run) => run.clusters).map((run) => el("option", { value: run.number, text: `${run.title}${run.verdict ? `: ${run.verdict}` : ""}` })));
  if (shown !== live && pastPath.includes("/history/")) select.append(el("option", { value: chosen, text: `${shown.head.title} (kept)` }));
  select.value = chosen;
}

/** Show a run: "live", or the parts that are at a path. */
async function open(path) {
  replay.pause();
  replay.following = true;
  if (path === "live") { shown = live; want("all"); return; }
  try {
    const answer = await fetch(path);
    if (!answer.ok) { say($("announce"), "That run could not be read."); return; }
    const parts = await answer.json(), past = new Story();
    for (const [name, value] of Object.entries(parts)) if (name !== "verdict") past.set(name, value);
    pastVerdict = parts.verdict;
    shown = past;
    pastPath = path;
    want("all");
  } catch { say($("announce"), "That run could not be read."); }
}

$("runs").addEventListener("change", (event) => open(event.target.value === "live" ? "live" : `/page/runs/${event.target.value}`));
$("live").addEventListener("click", () => { shown = live; replay.follow(); want("all"); });
// For measurements and tests: which change of the feed was drawn last, and what the page knows.
window.dcka = { painted: 0, values: () => Object.fromEntries(feed.values), get last() { return feed._last; } };
want("all");
