// The page of an audit: the verdict, the score of every condition, what the image adds to it, the letters, and the
// questions that the model answers right without the image.
import { el, formatCount, formatPercent, formatPoints, formatRange, showText } from "./dom.js";
import { factsList } from "./card.js";
import { differencesChart, groupsChart } from "./charts.js";
import { Blocks, SampleBrowser, readLines } from "./samples.js";
import { cell, footer, imagesNote, letters, masthead, numbersTable, section } from "./run_page.js";
import { formatP } from "./compare_page.js";

const MEANINGS = {
  image: "with the image", none: "without the image", blank: "a white image of the same size", shuffled: "the image of another question", caption: "a caption in place of the image", ocr: "the text in the image in its place", rotations: "every rotation of the options", rewordings: "neutral sentences around the question",
};

/** Fill the page with an audit. */
export async function showAudit(root, data) {
  const index = await readLines(data.index);
  const browser = new SampleBrowser({ index, page: data, blocks: new Blocks(index.starts, index.n), noun: "question" });
  const conditions = Object.entries(data.conditions);
  root.append(
    masthead(data.benchmark, data.model, "Does the image matter? The same questions with the image and without it.", [["conditions", "Conditions"], ["letters", "Letters"], ["samples", "Answered without the image"]]),
    el("main", {},
      data.is_complete ? null : el("p", { class: "note" }, "The audit is not complete: run the same command again to resume."),
      el("section", { class: "panel", "aria-label": "Verdict" }, showText(data.verdict, { class: "verdict" }, "p"),
        el("div", { class: "section" }, groupsChart(conditions.map(([name, one]) => [name, { ...one, chance: data.chance }]), { score: null }, "condition"), el("p", { class: "muted small" }, "Point: score. Bar: 95 % interval. Cross: chance."))),
      section("conditions", "Conditions", "What the image adds: the score with it minus that of the condition, on the same questions.", conditionsParts(conditions)),
      leakage(data),
      letters(data.letter_bias),
      section("run", "The run with the images", null, factsList(data.facts)),
      section("samples", "Answered right without the image", solvedNote(data, index), index.n ? browser.build() : el("p", { class: "empty" }, "none" in data.conditions ? "No question is answered right without the image in every trial." : "The audit has no condition without the image."))),
    footer(data));
  if (index.n) browser.start();
}

function conditionsParts(conditions) {
  const compared = conditions.filter(([, one]) => one.gain !== null);
  const rows = compared.map(([name, one]) => ({ name, x: one.gain, ends: one.gain_ci95, isClear: one.p_adjusted < 0.05 }));
  const hasChanges = conditions.some(([, one]) => one.changed !== null);
  const lines = conditions.map(([name, one]) => el("tr", {},
    el("th", { scope: "row", title: MEANINGS[name] ?? null }, name), cell(formatCount(one.n)), cell(formatPercent(one.score)), cell(formatRange(one.ci95)),
    cell(one.gain === null ? "" : formatPoints(one.gain)), cell(one.gain_ci95 ? `${formatPoints(one.gain_ci95[0])} to ${formatPoints(one.gain_ci95[1])}` : ""), cell(formatP(one.p_adjusted)), hasChanges ? cell(one.changed === null ? "" : formatPercent(one.changed)) : null));
  return [
    rows.length ? differencesChart(rows, "What the image adds to each condition, in points; the numbers are in the table") : null,
    numbersTable("conditions", ["condition", "n", "score %", "95 % interval", "image adds", "95 % interval", "p (Holm)", ...(hasChanges ? ["verdict changes %"] : [])], lines),
    el("p", { class: "muted small" }, conditions.map(([name]) => `${name}: ${MEANINGS[name] ?? name}`).join(" · ")),
  ];
}

function leakage(data) {
  const found = data.leakage;
  if (!found) return null;
  return section("leakage", "A text-only model", null, showText(`${found.model} answers ${formatPercent(found.score)} % (${formatRange(found.ci95)}) of ${formatCount(found.n)} questions right without the image; ${formatCount(found.n_both)} of these questions the audited model answers right so, too.`, {}, "p"));
}

function solvedNote(data, index) {
  const expected = data.chance ? ` Guessing alone would answer ${formatPercent(data.chance)} % right.` : "";
  return [index.n ? `${formatCount(data.blind_solvable)} of ${formatCount(data.n)} questions, in every trial.${expected}` : null, imagesNote({ ...data, index })].filter(Boolean).join(" ") || null;
}
