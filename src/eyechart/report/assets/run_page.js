// The page of one run: the headline, the conditions, the groups, letters, latency, tokens, then the samples.
import { OUTCOMES, chip, el, formatCount, formatFixed, formatPercent, formatRange, formatSeconds, schemeSwitch, showText } from "./dom.js";
import { factsList } from "./card.js";
import { groupsChart, histogram, lettersChart, levelsChart, outcomeBar, tellSpread } from "./charts.js";
import { Blocks, SampleBrowser, readLines } from "./samples.js";

/** Fill the page with a run. */
export async function showRun(root, data) {
  const main = el("main", {},
    data.notes.map((note) => showText(note, { class: "note" }, "p")),
    headline(data),
    groupsSections(data),
    metricsSection(data));
  root.append(masthead(data.benchmark, data.model, data.about, [["groups", "Categories"], ["samples", "Samples"], ["conditions", "Conditions"]]), main);
  await untilPainted(); // the numbers first: the list of 60,000 samples takes longer
  const index = await readLines(data.index);
  const browser = new SampleBrowser({ index, page: data, blocks: new Blocks(index.starts, index.n), sorts: listSorts(index) });
  main.append(
    section("samples", "Samples", imagesNote(data), browser.build()),
    el("div", { class: "pair" }, letters(data.letters), spread(index.latency, "Latency", "seconds per reply", formatSeconds), spread(index.tokens, "Tokens", "tokens per reply, as the endpoint counted them", formatCount)),
    section("conditions", "Conditions", null, conditions(data)));
  root.append(footer(data));
  browser.start();
}

// A frame later; at once where nothing is painted, as in a page in the background.
function untilPainted() {
  return new Promise((resolve) => { requestAnimationFrame(() => setTimeout(resolve)); setTimeout(resolve, 100); });
}

export function masthead(benchmark, model, about, links, main = "samples") {
  return el("header", { class: "masthead" },
    el("a", { class: "skip", href: `#${main}` }, `Skip to the ${main}`),
    el("h1", {}, showText(benchmark), model ? el("span", { class: "muted" }, " · ") : null, model ? showText(model) : null),
    el("nav", { class: "brand", "aria-label": "Parts of this page" }, links.flatMap(([id, name], place) => [place ? " · " : null, el("a", { href: `#${id}` }, name)])),
    schemeSwitch(),
    about ? showText(about, { class: "muted" }, "p") : null);
}

export function footer(data) {
  return el("footer", { class: "section muted small" }, `Written by eyechart ${data.eyechart}. Plots by Observable Plot.`);
}

/** A section with a heading; nothing where there is no content. */
export function section(id, title, about, ...content) {
  const shown = content.flat(Infinity).filter(Boolean);
  if (!shown.length) return null;
  return el("section", { class: "section", id, "aria-labelledby": `${id}-title` }, el("h2", { id: `${id}-title` }, title), about ? el("p", { class: "muted small" }, about) : null, shown);
}

function headline(data) {
  const { overall } = data;
  const clusters = overall.n_clusters < overall.n_scored ? ` in ${formatCount(overall.n_clusters)} clusters` : "";
  const outcomes = { ...overall.outcomes, pending: overall.pending };
  return el("section", { class: "panel", "aria-label": "Score" },
    el("div", { class: "headline" },
      el("div", {},
        overall.score === null
          ? el("p", { class: "score" }, el("b", {}, "—"))
          : el("p", { class: "score" }, el("b", {}, formatPercent(overall.score)), el("span", {}, "%")),
        overall.ci95 ? el("p", { class: "score-interval" }, `95 % interval ${formatRange(overall.ci95)}`) : el("p", { class: "score-interval muted" }, "nothing could be scored"),
        el("p", { class: "muted small" }, `${formatCount(overall.n)} ${overall.n === 1 ? "question" : "questions"}${clusters}`),
        overall.method ? el("p", { class: "muted small" }, el("abbr", { title: explainMethod(overall.method) }, overall.method)) : null),
      overall.score === null && !data.levels.length ? null : levelsChart(overall, data.levels)),
    el("div", { class: "outcome-bar" }, outcomeBar(outcomes),
      el("ul", { class: "outcome-keys", "aria-label": "Outcomes" }, OUTCOMES.filter((name) => outcomes[name]).map((name) => el("li", {}, chip(name, { count: outcomes[name] }))))),
    remarks(data));
}

// How the interval was computed, in a sentence.
function explainMethod(method) {
  const kind = method.startsWith("wilson") ? "Wilson's interval for a share of right answers, which also holds near 0 and 100 %." : "An interval for a mean of scores between 0 and 1.";
  return method.includes("cluster") ? `${kind} Questions that share an image or the like count as one cluster.` : kind;
}

function remarks(data) {
  const { overall } = data;
  const lines = [...data.trials];
  if (overall.coverage !== null && overall.coverage < 1) lines.push(`coverage ${formatPercent(overall.coverage)} %: samples that failed, have no public answer or are pending are not in the score`);
  const isApart = overall.bounds && overall.bounds[1] - overall.bounds[0] > 1e-9;
  const bounds = isApart ? el("p", { class: "bounds" }, `Between ${formatPercent(overall.bounds[0])} and ${formatPercent(overall.bounds[1])} % if every failed, unparsed and truncated sample had been wrong, or right.`) : null;
  for (const [name, group] of Object.entries(data.also)) lines.push(`${name}: ${formatPercent(group.score)} % (${formatRange(group.ci95)})`);
  lines.push(...data.metrics, ...data.judge);
  return [bounds, lines.length ? el("div", { class: "section small muted" }, lines.map((line) => showText(line, {}, "p"))) : null];
}

function conditions(data) {
  const prompt = data.prompt.length
    ? el("details", { class: "section" }, el("summary", {}, "The first request as it was sent"), data.prompt.map((message) => el("div", { class: "card" }, el("h3", {}, message.role), showText(message.text, { class: "reply", tabindex: "0", role: "group", "aria-label": `${message.role} message` }, "div"))))
    : null;
  return [factsList(data.conditions), prompt];
}

// -- Groups

function groupsSections(data) {
  return Object.entries(data.by).filter(([, groups]) => Object.keys(groups).length > 1).map(([key, groups], place) => {
    const rows = Object.entries(groups);
    const isLong = rows.length > 40;
    const shown = [el("div", { class: "pair" }, groupsChart(rows, data.overall, key), groupsTable(key, rows, data.overall))];
    return section(place ? `groups-${place}` : "groups", `Score by ${key}`, "Point: score. Bar: 95 % interval. Dashed line: all questions. Cross: chance.",
      isLong ? el("details", {}, el("summary", {}, `${rows.length} groups`), shown) : shown);
  });
}

// The numbers of each field, where answers are objects.
function metricsSection(data) {
  const [headings, ...rows] = data.metric_table;
  if (!headings) return null;
  const line = ([name, ...cells]) => el("tr", {}, showText(name, { scope: "row" }, "th"), cells.map((one) => cell(one)));
  return section("fields", "Score by field", "Percent, with 95 % intervals. Precision and recall say whether a field is given where it should be.",
    el("div", { class: "table-scroll", tabindex: "0", role: "group", "aria-label": "Table: score by field" }, el("table", {},
      el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "field"), headings.slice(1).map((name) => el("th", { scope: "col", class: "number" }, name)))),
      el("tbody", {}, rows.map(line)))));
}

export function groupsTable(key, rows, overall) {
  const line = (name, group, isTotal) => el("tr", { class: isTotal ? "total" : null },
    showText(name, { scope: "row" }, "th"), cell(formatCount(group.n)), cell(formatPercent(group.score)), cell(formatRange(group.ci95)), cell(formatPercent(group.chance)));
  return el("div", { class: "table-scroll", tabindex: "0", role: "group", "aria-label": `Table: score by ${key}` }, el("table", {},
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, key), ["n", "score %", "95 % interval", "chance %"].map((name) => el("th", { scope: "col", class: "number" }, name)))),
    el("tbody", {}, rows.map(([name, group]) => line(name, group, false)), line("all", overall, true))));
}

/** A table with a row of headings, the first at the left. */
export function numbersTable(label, names, rows, { isText = false } = {}) {
  return el("div", { class: "table-scroll", tabindex: "0", role: "group", "aria-label": `Table: ${label}` }, el("table", {},
    el("thead", {}, el("tr", {}, names.map((name, place) => el("th", { scope: "col", class: place && !isText ? "number" : null }, name)))), el("tbody", {}, rows)));
}

export const cell = (text) => el("td", { class: "number" }, text);

/** How often each letter was chosen and is right. */
export function letters(found) {
  if (!found) return null;
  const p = found.p === null ? "" : ` ${found.p < 0.05 ? "The model prefers some letters" : "No preference shows"} (p ${found.p < 0.001 ? "< 0.001" : `= ${formatFixed(found.p, 3)}`}, Holm).`;
  const about = `Filled: share of the ${formatCount(found.n)} answers. Open: share of the golds.${p}`;
  return section("letters", "Letters", about, lettersChart(found.letters));
}

function spread(values, title, about, format) {
  if (!values) return null;
  return section(title.toLowerCase(), title, `${about}: ${tellSpread(values, format)}`, histogram(values, `${title}: ${tellSpread(values, format)}`, format));
}

// -- Samples

export function listSorts(index) {
  const worst = ["failed", "wrong", "unparsed", "refused", "truncated", "partial", "pending", "unscored", "correct"].map((name) => OUTCOMES.indexOf(name));
  const ranks = OUTCOMES.map((_, code) => worst.indexOf(code));
  const falling = (values) => (a, b) => (values[b] ?? -1) - (values[a] ?? -1);
  return [
    ["wrong ones first", (a, b) => ranks[index.outcomes[a]] - ranks[index.outcomes[b]]],
    ...(index.latency ? [["slowest first", falling(index.latency)]] : []),
    ...(index.tokens ? [["most tokens first", falling(index.tokens)]] : []),
  ];
}

export function imagesNote({ images, index, name }) {
  const notes = [];
  const left = images.n - images.shown - Object.keys(images.troubles).length;
  if (left > 0) notes.push(images.shown ? `${formatCount(images.shown)} of ${formatCount(images.n)} images are in this file, those of samples that were not answered right first` : "No images are in this file: preparing them would have taken too long");
  if (left > 0) notes.push(`all of them: eyechart report ${name} --html FILE`);
  const missing = Object.keys(images.troubles).length;
  if (missing) notes.push(`${formatCount(missing)} ${missing === 1 ? "image was" : "images were"} not found or could not be read`);
  if (index.cut) notes.push(`${formatCount(index.cut)} long replies are shortened in the middle`);
  return notes.length ? `${notes.join("; ")}.` : null;
}
