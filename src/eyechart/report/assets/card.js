// One sample in full: images with boxes, question, options, reply, what was read out of it, why the verdict.
import { chip, el, showText } from "./dom.js";
import { showReply } from "./text.js";

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
    dialogueParts(sample),
    answerParts(sample),
    factsList(sample.facts));
}

/** The turns of a dialogue with closer looks, before the reply. */
function dialogueParts({ turns }) {
  if (!turns?.length) return null;
  return el("details", { class: "dialogue", open: "" }, el("summary", {}, "Dialogue"),
    turns.map(([role, text]) => [el("h4", {}, role), showReply(text, "", role)]));
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
          sample.reply === "" ? el("p", { class: "muted" }, "(empty)") : showReply(sample.reply, sample.place)),
    sample.thinking ? el("details", {}, el("summary", {}, "Thinking"), showReply(sample.thinking, "", "Thinking")) : null,
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
  for (const { left, top, right, bottom, is_target: isTarget, is_crop: isCrop, label } of boxes.items) {
    const [x, y] = [Math.max(0, left), Math.max(0, top)];
    const [across, down] = [Math.min(width, right) - x, Math.min(height, bottom) - y];
    if (across < 1 || down < 1) continue;
    const kind = isCrop ? "crop" : isTarget ? "target" : "other";
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
