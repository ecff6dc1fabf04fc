// The page of a sweep: the verdict, score against what each setting takes, the table, the spread by option.
import { el, formatCount, formatPercent, formatPoints, formatRange, formatSeconds, showText } from "./dom.js";
import { frontierChart, groupsChart } from "./charts.js";
import { cell, footer, masthead, numbersTable, section } from "./run_page.js";

const MEASURES = { cost: "cost in USD", tokens: "tokens per question", latency: "seconds per reply, median" };
const formatUsd = (usd) => (usd === null ? "—" : usd >= 0.1 ? usd.toFixed(2) : usd.toPrecision(2));

/** Fill the page with a sweep. */
export function showSweep(root, data) {
  const { sweep } = data;
  const n = sweep.cells.filter((one) => one.score !== null).length;
  const links = [["frontier", "Frontier"], ["settings", "Settings"], ["spread", "Spread"]];
  root.append(
    masthead(sweep.benchmark, null, `${n} settings compared on ${formatCount(sweep.n)} questions`, links, "settings"),
    el("main", {},
      el("section", { class: "panel", "aria-label": "Verdict" }, showText(sweep.verdict, { class: "verdict" }, "p")),
      sweep.notes.map((note) => showText(note, { class: "note" }, "p")),
      section("frontier", "Frontier", "Filled: no setting that takes no more is shown to be better. Dashed: the best score for what it takes, as measured. Numbers are those of the table.", Object.keys(sweep.frontier).map((measure) => frontier(sweep, measure))),
      section("settings", "Settings", null, settingsTable(sweep)),
      section("spread", "Spread", "The mean score of the settings with each value of an option.", spreadTable(sweep)),
      section("pairs", "Differences", "In points, with intervals that hold for all pairs at once.", pairsTable(sweep))),
    footer(data));
}

function frontier(sweep, measure) {
  const open = new Set(sweep.cells.map((one) => one.label).filter((label) => !sweep.frontier[measure].includes(label)));
  const points = sweep.cells.map((one, place) => one.score !== null && ({ number: String(place + 1), x: one[measure], y: 100 * one.score, ends: one.ci95, isOpen: open.has(one.label), title: `${one.label}: ${formatPercent(one.score)} % (${formatRange(one.ci95)})` })).filter(Boolean);
  return frontierChart(points, `Score against ${MEASURES[measure]}; the numbers are in the table`, MEASURES[measure]);
}

function settingsTable(sweep) {
  const names = ["setting", "score %", "95 % interval", "unparsed %", "truncated %", "empty %", "tokens each", "s per reply", "cost in USD", "dominated by"];
  const number = new Map(sweep.cells.map((one, place) => [one.label, place + 1]));
  const told = (one) => [...new Set(Object.values(one.dominated_by))].map((better) => `${number.get(better)} (${Object.keys(one.dominated_by).filter((measure) => one.dominated_by[measure] === better).join(", ")})`).join(", ");
  return numbersTable("Settings", names, sweep.cells.map((one) => el("tr", {},
    el("th", { scope: "row", class: "long" }, `${number.get(one.label)} · `, showText(one.label)), cell(formatPercent(one.score)), cell(formatRange(one.ci95)), ["unparsed", "truncated", "empty"].map((name) => cell(formatPercent(one.shares[name]))),
    cell(one.tokens === null ? "—" : formatCount(Math.round(one.tokens))), cell(formatSeconds(one.latency)), cell(formatUsd(one.cost)), cell(told(one)))));
}

function spreadTable(sweep) {
  return Object.entries(sweep.spread).map(([option, values]) => el("div", {}, showText(option, {}, "h3"),
    groupsChart(Object.entries(values).map(([name, score]) => [name, { score, ci95: null, chance: null, n: sweep.n }]), { score: null }, option)));
}

function pairsTable(sweep) {
  return numbersTable("Differences", ["", "points", "simultaneous interval", "found with power 80 %"], sweep.pairs.map((pair) => el("tr", {},
    el("th", { scope: "row" }, showText(pair.a), " minus ", showText(pair.b)), cell(formatPoints(pair.difference)), cell(`${formatPoints(pair.low)} to ${formatPoints(pair.high)}`), cell(pair.smallest_difference === null ? "—" : formatPercent(pair.smallest_difference)))));
}
