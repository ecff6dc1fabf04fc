// What all pages share: making elements, showing text that is not trusted, outcomes, numbers, the sample card.
//
// Data reaches the page as text nodes and through the few attributes that `el` knows: no string is ever parsed
// as HTML. Modules here are plain ES modules with one-line imports; `report.html` holds them as one script.

export const OUTCOMES = ["correct", "partial", "wrong", "unparsed", "refused", "truncated", "failed", "unscored", "pending"];
export const SYMBOLS = {
  correct: "✓", partial: "½", wrong: "✗", unparsed: "?", refused: "⊘", truncated: "…", failed: "!", unscored: "–", pending: "·",
};

const ATTRIBUTES = new Set([
  "class", "id", "type", "title", "alt", "role", "for", "name", "value", "placeholder", "tabindex", "hidden", "open",
  "disabled", "selected", "scope", "colspan", "loading", "lang", "dir", "autocomplete", "width", "height", "download",
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
export const formatPercent = (fraction) => (fraction === null || fraction === undefined ? "—" : (100 * fraction).toFixed(1));
export const formatRange = (ends) => (ends ? `${formatPercent(ends[0])}–${formatPercent(ends[1])}` : "");
export const formatPoints = (fraction) => `${fraction > 0 ? "+" : fraction < 0 ? "−" : ""}${Math.abs(100 * fraction).toFixed(1)}`;

export function formatSeconds(seconds) {
  if (seconds === null || seconds === undefined) return "—";
  return seconds < 0.1 ? `${Math.round(1000 * seconds)} ms` : seconds < 10 ? `${seconds.toFixed(2)} s` : `${seconds.toFixed(1)} s`;
}

// -- One sample in full

/**
 * The card of a sample-trial.
 *
 * `sample`: {id, trial?, outcome, question, hint?, choices: [[letter, text]], golds, reply, thinking?, read, route,
 * why, facts: [[name, value]], images: [{src?, caption?, missing?, boxes?}], cut?}. `tools`: elements at the right of the title.
 */
export function sampleCard(sample, { tools = [], level = "h3" } = {}) {
  return el("article", { class: "card" },
    el("header", {},
      showText(sample.id + (sample.trial ? ` · trial ${sample.trial}` : ""), {}, level),
      chip(sample.outcome),
      tools.length ? el("div", { class: "tools" }, tools) : null),
    questionParts(sample),
    answerParts(sample),
    factsList(sample.facts));
}

/** Image, question and options: what stands once where two runs are shown side by side. */
export function questionParts(sample, { reads = null } = {}) {
  return [
    sample.images?.length ? el("div", { class: "images" }, sample.images.map(showImage)) : null,
    el("div", {}, el("h4", {}, "Question"),
      showText(sample.question, { class: "question" }, "div"),
      sample.hint ? showText(`Hint: ${sample.hint}`, { class: "muted small" }, "div") : null),
    sample.choices?.length ? optionsList(sample, reads ?? [[sample.read, "read"]]) : null,
    !sample.choices?.length && sample.options ? showText(sample.options, {}, "div") : null,
  ];
}

/** Reply, what was read out of it, the accepted answers and the reason of the verdict. */
export function answerParts(sample) {
  const noReply = sample.outcome === "failed" ? "no reply" : "not asked yet";
  return [
    sample.reply === null || sample.reply === undefined
      ? el("div", {}, el("h4", {}, "Reply"), el("p", { class: "muted" }, noReply))
      : el("div", {}, el("h4", {}, "Reply"),
          sample.reply === "" ? el("p", { class: "muted" }, "(empty)") : showText(sample.reply, { class: "reply", tabindex: "0", role: "group", "aria-label": "Reply" }, "div")),
    sample.thinking ? el("details", {}, el("summary", {}, "Thinking"), showText(sample.thinking, { class: "reply" }, "div")) : null,
    el("dl", { class: "verdicts" },
      fact("Read", sample.read === null || sample.read === undefined ? "nothing" : sample.read),
      fact("Rule", sample.route || "—"),
      fact(sample.golds?.length === 1 ? "Accepted answer" : "Accepted answers", sample.golds?.length ? sample.golds.join(" | ") : "none public")),
    sample.why ? showText(sample.why, { class: "muted small" }, "p") : null,
    sample.cut ? el("p", { class: "muted small" }, sample.cut) : null,
  ];
}

function fact(name, value) {
  return el("div", {}, el("dt", {}, name), showText(value, {}, "dd"));
}

/** Pairs of a name and a value. */
export function factsList(facts) {
  return facts?.length ? el("dl", { class: "facts small" }, facts.map(([name, value]) => fact(name, value))) : null;
}

function optionsList(sample, reads) {
  return el("div", {}, el("h4", {}, "Options"), el("ul", { class: "options" }, sample.choices.map(([letter, text]) => {
    const isGold = sample.golds.includes(letter);
    const readers = reads.filter(([read]) => read === letter).map(([, who]) => who);
    const marks = [isGold ? "gold" : null, ...readers].filter(Boolean).join(" · ");
    return el("li", { class: isGold ? "gold" : readers.length ? "missed" : null },
      showText(letter, { class: "letter" }), showText(text), marks ? el("small", {}, marks) : null);
  })));
}

function showImage(image, index) {
  const caption = image.caption || image.missing;
  if (!image.src) return el("figure", {}, el("div", { class: "empty small" }, "image not in this file"), el("figcaption", {}, showText(caption || "")));
  const shown = boxedImage(image, { alt: `Image ${index + 1} of the question`, loading: "lazy" });
  const button = el("button", { type: "button", title: "enlarge", on: { click: () => zoom(image) } }, shown);
  return el("figure", {}, button, caption ? el("figcaption", {}, showText(caption)) : null);
}

/**
 * An image with the boxes of its row drawn on it.
 *
 * `boxes`: {size: [width, height], items: [{left, top, right, bottom, is_target, label}]} in pixels of the original. The
 * drawing has the shape of the original, so it fits the image at any size.
 */
function boxedImage({ src, boxes }, attributes) {
  const shown = el("img", { src, ...attributes });
  if (!boxes) return shown;
  const [width, height] = boxes.size;
  const drawing = svg("svg", { class: "boxes", viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" });
  const letter = Math.max(width, height) / 28;
  for (const { left, top, right, bottom, is_target: isTarget, label } of boxes.items) {
    const [x, y] = [Math.max(0, left), Math.max(0, top)];
    const [across, down] = [Math.min(width, right) - x, Math.min(height, bottom) - y];
    if (across < 1 || down < 1) continue;
    const kind = isTarget ? "target" : "other";
    drawing.append(svg("rect", { x, y, width: across, height: down, class: kind }));
    if (label) drawing.append(svg("text", { x: x + letter / 4, y: y + letter, "font-size": letter, class: kind }, label));
  }
  return el("span", { class: "boxed" }, shown, drawing);
}

function svg(tag, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** The image on the whole screen; a click or Escape closes it. */
export function zoom(image) {
  const close = el("button", { type: "button", "aria-label": "close" }, boxedImage(image, { alt: "Image of the question, enlarged" }));
  const dialog = el("dialog", { class: "zoom", "aria-label": "Image" }, close);
  close.addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
