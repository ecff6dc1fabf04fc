// What all pages share: making elements, showing text that is not trusted, outcomes, numbers.
//
// Data reaches the page as text nodes and through the few attributes that `el` knows: no string is ever parsed
// as HTML. Modules here are plain ES modules with one-line imports; `report.html` holds them as one script.

export const OUTCOMES = ["correct", "partial", "wrong", "unparsed", "refused", "truncated", "failed", "unscored", "pending"];
export const SYMBOLS = {
  correct: "✓", partial: "½", wrong: "✗", unparsed: "?", refused: "⊘", truncated: "…", failed: "!", unscored: "–", pending: "·",
};

const ATTRIBUTES = new Set([
  "class", "id", "type", "title", "alt", "role", "for", "name", "value", "placeholder", "tabindex", "hidden", "open",
  "disabled", "selected", "scope", "colspan", "loading", "lang", "dir", "autocomplete", "size", "width", "height", "download",
]);

/** An element with attributes and children. Children are elements or texts; null and false are left out. */
export function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") for (const [event, handler] of Object.entries(value)) made.addEventListener(event, handler);
    else if (name === "href") made.setAttribute("href", safeAddress(value));
    else if (name === "src") made.src = safeImage(value);
    else if (ATTRIBUTES.has(name) || /^(aria|data)-[a-z-]+$/.test(name)) made.setAttribute(name, value === true ? "" : value);
    else throw new Error(`el: no attribute ${name}`);
  }
  made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

// Links lead within the page, to the same site or to the web; never to a script.
function safeAddress(address) {
  return /^(#|\/(?!\/)|\?|https?:\/\/)/i.test(address) ? address : "#";
}

function safeImage(address) {
  return /^(data:image\/(png|jpeg|webp|gif);base64,|blob:|\/(?!\/))/.test(address) ? address : "data:,";
}

// Characters that change how their neighbours are shown, or show nothing at all: controls, marks of direction,
// zero-width characters (but not the joiners that scripts and emoji need).
const UNSAFE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]/;
const UNSAFE_RUNS = new RegExp(`(${UNSAFE.source}+)`);

/** Text that is not trusted, with characters that would hide or turn text around shown by their codes. */
export function showText(text, attributes = {}, tag = "span") {
  const parts = String(text).replace(/\r\n/g, "\n").split(UNSAFE_RUNS);
  const shown = parts.map((part, index) => (index % 2 ? showCodes(part) : part));
  return el(tag, { ...attributes, class: `untrusted ${attributes.class ?? ""}`.trim() }, shown);
}

function showCodes(run) {
  const codes = [...run].slice(0, 8).map((one) => `U+${one.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`);
  const more = run.length > 8 ? ` … ${run.length} in all` : "";
  return el("span", { class: "unsafe-character", title: "characters that cannot be seen" }, codes.join(" ") + more);
}

// -- Outcomes and numbers

/** The outcome with its symbol and colour; a button where `on` is given. */
export function chip(outcome, { count = null, on = null, pressed = null, label = null } = {}) {
  const attributes = { class: "chip", "data-outcome": outcome, "data-symbol": SYMBOLS[outcome] ?? "·" };
  const shown = [label ?? outcome, count === null ? null : el("b", {}, formatCount(count))];
  if (!on) return el("span", attributes, shown);
  const state = pressed === null ? {} : { "aria-pressed": String(pressed) };
  return el("button", { ...attributes, ...state, type: "button", on: { click: on } }, shown);
}

export const formatCount = (n) => n.toLocaleString("en-US");
/** With so many decimals; of two equally near the even one, as Python rounds. Only odd multiples of 2^-(digits + 1) are. */
export function formatFixed(x, digits) {
  const isTie = Math.abs(x) * 2 ** (digits + 1) % 2 === 1;
  return (isTie ? (2 * Math.round((x * 10 ** digits) / 2)) / 10 ** digits : x).toFixed(digits);
}

export const formatTenths = (x) => formatFixed(x, 1);
export const formatPercent = (fraction) => (fraction === null || fraction === undefined ? "—" : formatTenths(100 * fraction));
export const formatRange = (ends) => (ends ? `${formatPercent(ends[0])}–${formatPercent(ends[1])}` : "");

/** A difference in percentage points, with its sign. */
export function formatPoints(fraction) {
  const text = formatTenths(Math.abs(100 * fraction));
  return text === "0.0" ? text : (fraction > 0 ? "+" : "−") + text;
}

export function formatSeconds(seconds) {
  if (seconds === null || seconds === undefined) return "—";
  return seconds < 0.1 ? `${Math.round(1000 * seconds)} ms` : seconds < 10 ? `${seconds.toFixed(2)} s` : `${seconds.toFixed(1)} s`;
}

// -- Menus

/** What opens below a button. */
export function menu(summary, ...content) {
  return el("details", { class: "menu" }, summary, el("div", { class: "menu-content" }, content));
}

export function checkBox(label, isChecked, on) {
  const box = el("input", { type: "checkbox", on: { change: on } });
  box.checked = isChecked;
  return el("label", {}, box, showText(label));
}

/** A button for light or dark whatever the system says; `keep` is told the choice, which a file cannot remember. */
export function schemeSwitch(keep = () => {}) {
  const root = document.documentElement;
  const isDark = () => (root.dataset.scheme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const name = () => (isDark() ? "Light" : "Dark");
  const button = el("button", { class: "link small", type: "button", on: { click: () => {
    root.dataset.scheme = isDark() ? "light" : "dark";
    button.replaceChildren(name());
    keep(root.dataset.scheme);
  } } }, name());
  return button;
}
