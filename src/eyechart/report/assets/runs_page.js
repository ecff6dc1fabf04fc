// The page of several runs: a table of models and benchmarks with intervals, what the comparisons say, and all samples.
import { el, formatCount, formatPercent, formatRange, showText } from "./dom.js";
import { factsList } from "./card.js";
import { Blocks, SampleBrowser, readLines } from "./samples.js";
import { footer, imagesNote, listSorts, masthead, section } from "./run_page.js";

/** Fill the page with runs. */
export async function showRuns(root, data) {
  const index = await readLines(data.index);
  const notes = data.runs.flatMap((run) => run.notes.map((note) => `${run.label}: ${note}`));
  const browser = new SampleBrowser({ index, page: data, blocks: new Blocks(index.starts, index.n), sorts: listSorts(index) });
  root.append(
    masthead(`${data.runs.length} runs`, null, null, [["scores", "Scores"], ["samples", "Samples"], ["conditions", "Conditions"]]),
    el("main", {},
      section("scores", "Scores", "Percent, with 95 % intervals.", scoresTable(data.runs)),
      notes.map((note) => showText(note, { class: "note" }, "p")),
      data.comparisons.length ? section("comparisons", "Comparisons", null, data.comparisons.map((one) => showVerdict(one, notes))) : null,
      section("samples", "Samples", imagesNote(data), browser.build()),
      section("conditions", "Conditions", null, data.runs.map((run) => el("details", {}, el("summary", {}, showText(run.label)), factsList(run.conditions))))),
    footer(data));
  browser.start();
}

// A row for each model, or run where a model has several of a benchmark; a column for each benchmark.
function scoresTable(runs) {
  const benchmarks = [...new Set(runs.map((run) => run.benchmark))];
  const lines = new Map();
  for (const run of runs) {
    const isOnlyOne = runs.filter((one) => one.model === run.model && one.benchmark === run.benchmark).length === 1;
    const name = isOnlyOne ? run.model : run.label;
    if (!lines.has(name)) lines.set(name, new Map());
    lines.get(name).set(run.benchmark, run);
  }
  return el("div", { class: "table-scroll", tabindex: "0", role: "group", "aria-label": "Table: scores of models and benchmarks" }, el("table", {},
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "model"), benchmarks.map((name) => showText(name, { scope: "col", class: "number" }, "th")))),
    el("tbody", {}, [...lines].map(([name, cells]) => el("tr", {}, rowHead(name, [...cells.values()]), benchmarks.map((one) => scoreCell(cells.get(one))))))));
}

// Runs that are not of the whole benchmark as usual say so.
function rowHead(name, runs) {
  const selections = [...new Set(runs.map((run) => run.selection))].filter(Boolean);
  return el("th", { scope: "row" }, showText(name), selections.map((one) => showText(one, { class: "muted small" }, "div")));
}

function scoreCell(run) {
  if (!run) return el("td", { class: "number" }, "");
  const { overall } = run;
  return el("td", { class: "number" }, el("b", {}, formatPercent(overall.score)), el("div", { class: "muted small" }, `${formatRange(overall.ci95)} · n ${formatCount(overall.n)}`), overall.pending ? el("div", { class: "small" }, `unfinished: ${formatCount(overall.pending)} to ask`) : null);
}

// The verdict, and below it what does not stand above already.
function showVerdict({ benchmark, verdict, warnings }, notes) {
  const [first, ...lines] = verdict.split("\n");
  const further = [...lines, ...warnings].filter((line) => !notes.includes(line));
  return el("div", { class: "panel" }, showText(benchmark, {}, "h3"), showText(first, {}, "p"), further.map((line) => showText(line, { class: "muted small" }, "p")));
}
