// The page of a comparison: the verdict, the standings, differences overall and by group, then the questions with the
// replies of both runs beside each other, those that flipped first.
import { chip, el, formatCount, formatFixed, formatPercent, formatPoints, formatRange, formatTenths, showText } from "./dom.js";
import { answerParts, factsList, questionParts } from "./card.js";
import { differencesChart, groupsChart } from "./charts.js";
import { Blocks, SampleBrowser, describeSample, readLines } from "./samples.js";
import { cell, footer, imagesNote, masthead, numbersTable, section } from "./run_page.js";

const KIND_OUTCOMES = ["correct", "wrong", "failed", "unscored"]; // whose colours the kinds of a question take
const KIND_SYMBOLS = ["A", "B", "✗", "✓"];

/** Fill the page with a comparison. */
export async function showComparison(root, data) {
  const index = await readLines(data.index);
  const { comparison } = data;
  const browser = new SampleBrowser({
    index, page: data, blocks: new Blocks(index.starts, index.n), kinds: data.kinds, makeChip: kindChip,
    makeCard: (sample, row, tools) => pairCard(sample, data, data.kinds[index.outcomes[row]], tools),
    noun: "question", tellAnswers: (lines, row) => (lines.golds[row] ? `gold ${lines.golds[row]}` : ""),
  });
  const [verdict, ...lines] = comparison.verdict.split("\n");
  const about = `${comparison.runs.length} runs compared on ${formatCount(comparison.n)} shared questions`;
  root.append(
    masthead(comparison.benchmark, null, about, [["differences", "Differences"], ["conditions", "Conditions"], ["samples", "Questions"]]),
    el("main", {},
      el("section", { class: "panel", "aria-label": "Verdict" }, showText(verdict, { class: "verdict" }, "p"), el("div", { class: "pair section" }, standingsChart(data), standingsTable(data))),
      [...lines, ...comparison.warnings].map((warning) => showText(warning, { class: "note" }, "p")),
      section("differences", "Differences", "In points, with 95 % intervals, question by question. Filled: distinguishable from zero.", differences(data)),
      Object.entries(comparison.by).map(([key, groups], place) => groupSection(key, groups, data, place)),
      section("conditions", "Conditions", null, conditionsTable(data)),
      section("samples", "Questions", pairNote(data, index), sideKey(data), browser.build())),
    footer(data));
  browser.start();
}

function kindChip(kind, options = {}) {
  const place = ["only A right", "only B right", "both wrong", "both right"].indexOf(kind);
  const made = chip(KIND_OUTCOMES[place], { ...options, label: kind });
  made.dataset.symbol = KIND_SYMBOLS[place];
  made.dataset.outcome = ["side-a", "side-b", "failed", "unscored"][place];
  return made;
}

function standingsChart(data) {
  const rows = data.comparison.runs.map((run) => [data.labels[run.run], { score: run.score, ci95: run.ci95, chance: null, n: data.comparison.n }]);
  return groupsChart(rows, { score: null }, "run");
}

function standingsTable(data) {
  const rows = data.comparison.runs;
  return numbersTable("Standings", ["run", "rank", "score %", "95 % interval"], rows.map((run) => el("tr", {},
    showText(data.labels[run.run], { scope: "row" }, "th"), cell(run.ranks[0] === run.ranks[1] ? String(run.ranks[0]) : `${run.ranks[0]}–${run.ranks[1]}`), cell(formatPercent(run.score)), cell(formatRange(run.ci95)))));
}

function differences(data) {
  const { comparison, labels } = data;
  const rows = comparison.pairs.map((pair) => ({ name: `${labels[pair.a]} − ${labels[pair.b]}`, x: pair.difference, ends: pair.ci95, isClear: pair.is_distinguishable }));
  const lines = comparison.pairs.map((pair) => el("tr", {},
    el("th", { scope: "row" }, showText(labels[pair.a]), " minus ", showText(labels[pair.b])), cell(formatPoints(pair.difference)), cell(formatEnds(pair.ci95) + (pair.ci95_with_failures ? ` (with ${formatCount(pair.n_failed)} failed: ${formatEnds(pair.ci95_with_failures)})` : "")),
    cell(formatP(pair.p_adjusted)), cell(`${formatCount(pair.discordant[0])} / ${formatCount(pair.discordant[1])}`), cell(pair.smallest_difference === null ? "—" : formatTenths(100 * pair.smallest_difference))));
  return [
    comparison.pairs.length > 1 ? differencesChart(rows, "Differences from the reference with 95 % intervals; the numbers are in the table") : null,
    numbersTable("Differences", ["", "points", "95 % interval", comparison.correction === "none" ? "p" : `p (${comparison.correction})`, "better / worse on", "found with power 80 %"], lines),
  ];
}

const formatEnds = (ends) => `${formatPoints(ends[0])} to ${formatPoints(ends[1])}`;
export const formatP = (p) => (p === null || p === undefined ? "" : p < 0.001 ? "<0.001" : formatFixed(p, 3));

function groupSection(key, groups, data, place) {
  const { labels, a, b } = data;
  const rows = Object.entries(groups).map(([name, group]) => ({ name, group, pair: group.pairs[0] }));
  if (!rows.length) return null;
  const points = rows.map(({ name, pair }) => ({ name, x: pair.difference, ends: pair.ci95, isClear: pair.is_distinguishable }));
  const lines = rows.map(({ name, group, pair }) => el("tr", {}, showText(name, { scope: "row" }, "th"), cell(formatCount(group.n)), cell(formatPercent(group.scores[a])), cell(formatPercent(group.scores[b])), cell(formatPoints(pair.difference)), cell(formatP(pair.p_adjusted))));
  return section(`by-${place}`, `Difference by ${key}`, `${labels[a]} (A) minus ${labels[b]} (B), in points, with 95 % intervals.`,
    el("div", { class: "pair" }, differencesChart(points, `Difference by ${key}; the numbers are in the table`), numbersTable(`difference by ${key}`, [key, "n", "A %", "B %", "points", "p"], lines)));
}

function conditionsTable(data) {
  const runs = Object.keys(data.conditions);
  const names = [...new Set(runs.flatMap((run) => Object.keys(data.conditions[run])))];
  const isSame = (name) => new Set(runs.map((run) => data.conditions[run][name] ?? "")).size === 1;
  const different = names.filter((name) => !isSame(name));
  const same = names.filter(isSame).map((name) => [name, data.conditions[runs[0]][name]]);
  return [
    numbersTable("Conditions that differ", ["differs", ...runs.map((run) => data.labels[run])], different.map((name) => el("tr", {}, el("th", { scope: "row" }, name), runs.map((run) => showText(data.conditions[run][name] ?? "—", {}, "td")))), { isText: true }),
    same.length ? el("details", { class: "section" }, el("summary", {}, "The same for all"), factsList(same)) : null,
  ];
}

// -- Questions

function sideKey(data) {
  return el("p", { class: "small" }, el("b", {}, "Run A "), showText(data.labels[data.a]), " · ", el("b", {}, "Run B "), showText(data.labels[data.b]));
}

function pairNote(data, index) {
  const left = data.n - index.n;
  const note = imagesNote({ ...data, index });
  return [left > 0 ? `${formatCount(index.n)} of ${formatCount(data.n)} questions are in this file, those that flipped first.` : null, note].filter(Boolean).join(" ") || null;
}

function pairCard(sample, data, kind, tools) {
  const a = describeSample(sample, data);
  const b = { ...a, thinking: "", why: "", cut: null, ...sample.beside, cut: sample.beside.cut ? a.cut : null };
  const side = (name, label, one) => el("section", { class: `side ${name}`, "aria-label": label }, el("h3", {}, `Run ${name.toUpperCase()} · `, showText(label)), el("div", {}, chip(one.outcome)), answerParts(one));
  return el("article", { class: "card" },
    el("header", {}, showText(a.id, {}, "h3"), kindChip(kind), el("div", { class: "tools" }, tools)),
    questionParts(a, { reads: [[a.read, "read in run A"], [b.read, "read in run B"]] }),
    el("div", { class: "sides" }, side("a", data.labels[data.a], a), side("b", data.labels[data.b], b)),
    factsList(Object.entries(sample.meta ?? {}).map(([name, value]) => [name, String(value)])));
}
