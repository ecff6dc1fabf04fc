// Texts of models: shown as they are, or as Markdown with formulas, with the place that the answer was read from.
//
// marked's lexer gives tokens and Temml gives MathML (vendor/rich.js); elements are made of both here, so that no
// string is ever parsed as HTML. Links are shown, not followed. What is too long or cannot be read stays source.
import { el, showText } from "./dom.js";

const MOST_CHARS = 50_000;
const LOOKS_RICH = /\*\*|__|```|`[^`\n]+`|^#{1,6} |^ *[-*+] |^ *\d+[.)] |^ *>|^ *\|.*\||\$|\\[([]/m;
// Characters of ours in a text: around the number of a formula, around the marked part, and for "<", which would begin
// HTML.
const [FORMULA, END, MARK, UNMARK, LESS] = ["\ue000", "\ue001", "\ue002", "\ue003", "\ue004"];
const OURS = /[\ue000-\ue004]/g;
const PIECES = /(\ue000\d+\ue001|\ue002|\ue003)/;
const EDGES = /^[\s>#*_`|+\-\d.)$\\[\](){}]*/;

/** A reply: a switch between Markdown and source where they differ, opened at `evidence`, which is marked. */
export function showReply(text, evidence = "", label = "Reply") {
  const place = findEvidence(text, evidence);
  const attributes = { class: "reply", tabindex: "0", role: "group", "aria-label": label };
  const source = markedText(text, place, attributes);
  const rich = globalThis.Rich && text.length <= MOST_CHARS && LOOKS_RICH.test(text) ? makeRich(text, place, attributes) : null;
  if (!rich) return el("div", { class: "texts" }, source);
  source.hidden = true;
  const toggle = el("button", { class: "link small", type: "button", "aria-pressed": "false", on: { click: () => {
    source.hidden = !source.hidden;
    rich.hidden = !rich.hidden;
    toggle.setAttribute("aria-pressed", String(rich.hidden));
    scrollToMark(rich.hidden ? source : rich);
  } } }, "source");
  return el("div", { class: "texts" }, toggle, rich, source);
}

/** Show the marked place of each reply inside, which may be far below. */
export function scrollToMarks(root) {
  for (const reply of root.querySelectorAll(".reply")) scrollToMark(reply);
}

function scrollToMark(reply) {
  const mark = reply.querySelector("mark");
  if (mark) reply.scrollTop += mark.getBoundingClientRect().top - reply.getBoundingClientRect().top - reply.clientHeight / 2;
}

// The last place where the evidence stands, not within a word; null if it is not there, or is all of the text.
function findEvidence(text, evidence) {
  if (!evidence || evidence.length >= text.trim().length) return null;
  const isWithin = (place) => /\w/.test(evidence[0]) && /\w/.test(text[place - 1] ?? "") || /\w/.test(evidence.at(-1)) && /\w/.test(text[place + evidence.length] ?? "");
  let start = text.lastIndexOf(evidence);
  while (start > 0 && isWithin(start)) start = text.lastIndexOf(evidence, start - 1);
  return start < 0 || isWithin(start) ? null : [start, start + evidence.length];
}

function markedText(text, place, attributes) {
  if (!place) return showText(text, attributes, "div");
  const [start, end] = place;
  return el("div", attributes, showText(text.slice(0, start)), el("mark", {}, showText(text.slice(start, end))), showText(text.slice(end)));
}

function makeRich(text, place, attributes) {
  try {
    const { source, formulas } = takeFormulas(place ? setMarks(text, place) : text.replace(OURS, ""));
    const state = { formulas, isMarked: false };
    const blocks = Rich.lexer(source, { gfm: true, breaks: true }).map((token) => showBlock(token, state));
    return el("div", { ...attributes, class: "reply rich", dir: "auto" }, blocks);
  } catch {
    return null; // nested too deeply
  }
}

// Marks around the words of the evidence: at the signs of Markdown around them they would change what those mean.
function setMarks(text, [start, end]) {
  const words = text.slice(start, end).replace(OURS, "");
  const from = EDGES.exec(words)[0].length;
  if (from === words.length) return text.replace(OURS, "");
  const line = words.slice(from).split("\n", 1)[0].replace(/[\s*_`|$\\)\]}]*$/, "");
  const marked = line.includes("$") || line.includes("\\") ? words.slice(from, from + 1) : line;
  const rest = words.slice(from + marked.length);
  return text.slice(0, start).replace(OURS, "") + words.slice(0, from) + MARK + marked + UNMARK + rest + text.slice(end).replace(OURS, "");
}

// -- Formulas

// The text with a number in the place of each formula: Markdown would change their signs.
function takeFormulas(text) {
  const formulas = [];
  let source = "";
  let place = 0;
  while (place < text.length) {
    const found = readFormula(text, place);
    if (found) {
      source += `${FORMULA}${formulas.length}${END}`;
      formulas.push({ ...found, source: text.slice(place, found.end) });
      place = found.end;
    } else {
      const next = nextSign(text, place + 1);
      source += text.slice(place, next).replaceAll("<", LESS);
      place = next;
    }
  }
  return { source, formulas };
}

function nextSign(text, from) {
  for (let place = from; place < text.length; place += 1) {
    if (text[place] === "$" || text[place] === "\\") return place;
  }
  return text.length;
}

const PAIRS = [["$$", "$$", true], ["\\[", "\\]", true], ["\\(", "\\)", false]];

function readFormula(text, place) {
  for (const [open, close, isBlock] of PAIRS) {
    if (!text.startsWith(open, place)) continue;
    const window = text.slice(place + open.length, place + 2000);
    const end = window.indexOf(close);
    return end > 0 ? { tex: window.slice(0, end), isBlock, end: place + open.length + end + close.length } : null;
  }
  if (text[place] !== "$") return null;
  // Within a line; not money: "$5 and $10".
  const found = /^\$(?=\S)((?:[^$\\\n]|\\.){1,500})\$(?!\d)/.exec(text.slice(place, place + 510));
  return found && !/\s$/.test(found[1]) ? { tex: found[1], isBlock: false, end: place + found[0].length } : null;
}

function showFormula({ tex, isBlock, source }) {
  const place = el(isBlock ? "div" : "span", { class: "formula" });
  try {
    Rich.render(tex.replace(OURS, ""), place, { displayMode: isBlock, throwOnError: true, trust: false, maxExpand: 100, maxSize: [20, 200] });
    return place;
  } catch {
    return showText(source.replace(OURS, ""));
  }
}

// -- Tokens

function showBlock(token, state) {
  const inside = () => showInline(token.tokens ?? [], state);
  switch (token.type) {
    case "space": return null;
    case "heading": return el("p", { class: "heading", dir: "auto" }, inside());
    case "paragraph": case "text": return el("p", { dir: "auto" }, token.tokens ? inside() : showPieces(token.text, state));
    case "blockquote": return el("blockquote", {}, token.tokens.map((one) => showBlock(one, state)));
    case "code": return el("pre", {}, showText(restore(token.text, state), {}, "code"));
    case "hr": return el("hr", {});
    case "list": return showList(token, state);
    case "table": return showTable(token, state);
    default: return showText(restore(token.raw, state), {}, "p");
  }
}

function showList(token, state) {
  const items = token.items.map((item) => el("li", { dir: "auto" }, item.tokens.map((one) =>
    one.type === "text" ? showInline(one.tokens ?? [], state) : one.type === "checkbox" ? (one.checked ? "☑ " : "☐ ") : showBlock(one, state))));
  const made = el(token.ordered ? "ol" : "ul", {}, items);
  if (token.ordered && token.start > 1) made.start = token.start;
  return made;
}

function showTable(token, state) {
  const row = (cells, tag) => el("tr", {}, cells.map((cell) => el(tag, { dir: "auto" }, showInline(cell.tokens, state))));
  return el("div", { class: "table-scroll" }, el("table", {}, el("thead", {}, row(token.header, "th")), el("tbody", {}, token.rows.map((cells) => row(cells, "td")))));
}

function showInline(tokens, state) {
  return tokens.map((token) => {
    const inside = () => showInline(token.tokens ?? [], state);
    switch (token.type) {
      case "strong": case "em": case "del": return el(token.type, {}, inside());
      case "codespan": return showText(restore(token.text, state), {}, "code");
      case "br": return el("br", {});
      case "link": return el("span", { class: "address", title: restore(token.href, state) }, inside());
      case "text": return token.tokens ? inside() : showPieces(token.text, state);
      case "escape": return showPieces(token.text, state);
      default: return showText(restore(token.raw, state));
    }
  });
}

// Text with its formulas, and the marked part of it.
function showPieces(text, state) {
  return text.split(PIECES).map((piece) => {
    if (piece === MARK || piece === UNMARK) {
      state.isMarked = piece === MARK;
      return null;
    }
    if (!piece) return null;
    const shown = piece[0] === FORMULA ? showFormula(state.formulas[Number(piece.slice(1, -1))]) : showText(piece.replaceAll(LESS, "<"));
    return state.isMarked ? el("mark", {}, shown) : shown;
  });
}

// What stood in the place of formulas and marks, where nothing is to be made of them.
function restore(text, state) {
  return text.replace(/\ue000(\d+)\ue001/g, (_, number) => state.formulas[Number(number)].source).replaceAll(LESS, "<").replace(OURS, "");
}
