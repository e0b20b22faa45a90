// Elements and words. Whatever came over the network gets into the page as text, by textContent, and in no other way.
export const $ = (id) => document.getElementById(id);

export function el(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "text") made.textContent = value;
    else if (value !== false && value !== undefined) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children);
  return made;
}

export function svg(name, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/** Set the text of an element, or of a text, only where it differs: an unchanged page is not laid out anew. A text that
 * is there is changed in place, which costs less than a new one. */
export function say(element, text) {
  const inner = element instanceof Text ? element : element.firstChild;
  if (inner instanceof Text && !inner.nextSibling && text) { if (inner.data !== text) inner.data = text; }
  else if (element.textContent !== text) element.textContent = text;
}

// One formatter for all: toLocaleString makes a new one for every number, and that takes longer than all the rest.
const WHOLE = new Intl.NumberFormat("en-GB"), FINE = new Intl.NumberFormat("en-GB", { maximumFractionDigits: 6 });

export const whole = (value) => (value === null || value === undefined ? "" : value < 1000 && Number.isInteger(value) ? String(value) : WHOLE.format(value));

export function short(value, digits = 6) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e9 || size < 1e-4) return value.toExponential(3);
  return FINE.format(Number(value.toPrecision(digits)));
}

export function bytes(value) {
  if (!value) return "";
  if (value < 1024) return `${value} B`;
  return value < 1048576 ? `${(value / 1024).toFixed(1)} KB` : `${(value / 1048576).toFixed(1)} MB`;
}

export function ago(ms) {
  const seconds = Math.max(0, ms / 1000);
  if (seconds < 1.5) return "now";
  if (seconds < 120) return `${Math.round(seconds)} s ago`;
  return seconds < 7200 ? `${Math.round(seconds / 60)} min ago` : `${Math.round(seconds / 3600)} h ago`;
}

export const clock = (seconds) => new Date(seconds * 1000).toLocaleTimeString("en-GB");

/** A table of texts; `numbers`: how many of the last columns are numbers. */
export function table(head, rows, numbers = head.length - 1) {
  const kind = (index) => ({ class: index >= head.length - numbers ? "number" : "" });
  return el("table", {},
    el("thead", {}, el("tr", {}, ...head.map((text, index) => el("th", { scope: "col", text, ...kind(index) })))),
    el("tbody", {}, ...rows.map((row) => el("tr", {}, ...row.map((cell, index) =>
      cell instanceof Node ? el("td", kind(index), cell) : el("td", { text: cell, ...kind(index) }))))));
}

/** Rebuild a table only while somebody has it open; it is there in full as soon as it is opened. */
export function lazy(holder, build) {
  const details = holder.closest("details");
  let due = false;
  const fill = () => { if (details.open && due) { due = false; holder.replaceChildren(build()); } };
  details.addEventListener("toggle", fill);
  return () => { due = true; fill(); };
}

const HUES = ["#2f6fd0", "#dd8a1c", "#17946f", "#c2477f", "#7a5cc9", "#8a6d3b", "#2aa5c9", "#a3a51f", "#d1503f", "#5f7a94"];
export const colour = (cluster) =>
  cluster < HUES.length ? HUES[cluster] : `hsl(${Math.round((cluster * 137.508) % 360)} 60% 52%)`;

export const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
