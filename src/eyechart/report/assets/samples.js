// The samples of a page: a list or a table in pages of fifty, filters, search, and one sample in full beside it.
//
// The index, a short line per sample, is in memory. Samples in full lie in compressed blocks of a few hundred and are
// decoded when one of them is opened or searched; a few blocks are kept.
import { OUTCOMES, checkBox, chip, el, formatCount, formatSeconds, menu, showText } from "./dom.js";
import { sampleCard } from "./card.js";
import { Columns, showSamplesTable } from "./columns.js";
import { scrollToMarks } from "./text.js";

const ROWS_PER_PAGE = 50;
const BLOCKS_KEPT = 16;

/** The JSON of a block: base64 of a zlib stream in a script element that browsers do not run. */
export async function readBlock(name) {
  const binary = atob(document.getElementById(name).textContent);
  const bytes = new Uint8Array(binary.length);
  for (let place = 0; place < binary.length; place += 1) bytes[place] = binary.charCodeAt(place);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

/** The address of an image in this file; null if the file does not have it. */
export function imageAddress(number) {
  return document.getElementById(`i${number}`)?.textContent ?? null;
}

/** Samples in full, by row, out of the blocks that start at the rows `starts`. */
export class Blocks {
  constructor(starts, n, prefix = "b") {
    Object.assign(this, { starts, n, prefix, kept: new Map() });
  }

  blockOf(row) {
    let low = 0;
    let high = this.starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.starts[middle] <= row) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  async block(number) {
    if (!this.kept.has(number)) {
      this.kept.set(number, readBlock(`${this.prefix}${number}`));
      if (this.kept.size > BLOCKS_KEPT) this.kept.delete(this.kept.keys().next().value);
    }
    return this.kept.get(number);
  }

  async sample(row) {
    const number = this.blockOf(row);
    return (await this.block(number))[row - this.starts[number]];
  }

  /** The values of a column of the data set, a row each. */
  async column(name) {
    const values = new Array(this.n).fill(null);
    for (let number = 0; number < this.starts.length; number += 1) {
      (await this.block(number)).forEach((sample, place) => { values[this.starts[number] + place] = sample.meta?.[name] ?? null; });
    }
    return values;
  }

  /** A mark for each row whose texts contain `needle`; null if `isOutdated` turned true meanwhile. */
  async search(needle, isOutdated, progress) {
    const found = new Uint8Array(this.n);
    for (let number = 0; number < this.starts.length; number += 1) {
      const rows = await this.block(number);
      if (isOutdated()) return null;
      rows.forEach((sample, place) => {
        if (textOf(sample).toLowerCase().includes(needle)) found[this.starts[number] + place] = 1;
      });
      progress((number + 1) / this.starts.length);
    }
    return found;
  }
}

// What was read, and what is accepted, for the line of a sample.
function tellRead(index, row) {
  const outcome = OUTCOMES[index.outcomes[row]];
  const read = outcome === "failed" || outcome === "pending" ? "no reply" : index.reads[row] === null ? "nothing read" : `read ${index.reads[row]}`;
  return index.golds[row] ? `${read} · gold ${index.golds[row]}` : read;
}

function textOf(sample) {
  const choices = (sample.choices ?? []).map(([letter, text]) => `${letter}. ${text}`);
  const facts = Object.values(sample.meta ?? {});
  return [sample.id, sample.question, sample.reply, sample.read, ...(sample.golds ?? []), ...choices, sample.options, sample.thinking, ...facts, sample.beside?.reply].join("\n");
}

/** The lines of all samples by column, out of the blocks beside those of the samples. */
export async function readLines(index, prefix = "x") {
  const blocks = await Promise.all(index.starts.map((_, number) => readBlock(`${prefix}${number}`)));
  const join = (column) => blocks.flatMap((block) => block[column]);
  const telling = (values) => (values.some((value) => value) ? values : null);
  const groups = Object.fromEntries(Object.entries(index.groups).map(([key, group]) => [key, { ...group, rows: blocks.flatMap((block) => block.groups[key]) }]));
  return { ...index, groups, ids: join("ids"), trials: telling(join("trials")), outcomes: join("outcomes"), titles: join("titles"), reads: join("reads"), golds: join("golds"), latency: telling(join("latency")), tokens: telling(join("tokens")), pictures: join("pictures") };
}

/** A sample of a block as `sampleCard` takes it. */
export function describeSample(sample, page) {
  const { images } = page;
  const shown = (sample.images ?? []).map(([number, caption]) => {
    const missing = images.troubles[number] ?? (images.shown < images.n ? "left out to keep this file small" : "");
    const src = imageAddress(number);
    const boxes = sample.boxes && images.sizes[number] ? { size: images.sizes[number], items: sample.boxes } : null;
    return { src, boxes, caption: src ? caption : [missing, caption].filter(Boolean).join(" · ") };
  });
  const cut = sample.cut ? `Shortened in the middle; in full: eyechart show ${page.name} ${sample.id}` : null;
  return { golds: [], choices: [], reply: null, read: null, ...sample, images: shown, cut, facts: factsOf(sample) };
}

function factsOf(sample) {
  const facts = Object.entries(sample.meta ?? {}).filter(([, value]) => value !== "").map(([name, value]) => [name, String(value)]);
  if (sample.latency_s) facts.push(["latency", formatSeconds(sample.latency_s)]);
  if (sample.speed) facts.push(["speed", sample.speed]);
  if (sample.tokens) facts.push(["tokens", `${formatCount(sample.tokens[0])} in, ${formatCount(sample.tokens[1])} out`]);
  if (sample.cost) facts.push(["cost", `${sample.cost} USD`]);
  if (sample.finish) facts.push(["finish reason", sample.finish]);
  if (sample.evidence) facts.push(["evidence", sample.evidence]);
  return facts;
}

/**
 * The list and the reader of samples.
 *
 * `index`: what `readLines` gives. `page`: {name, images}. `kinds`: the names that the numbers in `index.outcomes`
 * stand for. `sorts`: [[name, compare(rowA, rowB)]]. `makeChip`, `makeCard` and `tellAnswers` may replace what is shown
 * of an outcome, of a sample in full, and at the end of a line.
 */
export class SampleBrowser {
  constructor({ index, blocks, page, kinds = OUTCOMES, sorts = [], makeChip = null, makeCard = null, tellAnswers = tellRead, noun = "sample" }) {
    Object.assign(this, { index, blocks, data: page, kinds, makeChip, makeCard });
    this.sorts = [["in the benchmark's order", null], ...sorts];
    this.columns = new Columns(index, blocks, kinds, () => this.refresh());
    this.isTable = false;
    this.chosen = new Set();
    this.groups = new Map(Object.keys(index.groups ?? {}).map((key) => [key, new Set()]));
    this.marks = null;
    this.sort = 0;
    this.page = 0;
    this.open = null;
    this.order = Int32Array.from({ length: index.n }, (_, row) => row);
    this.searches = 0;
    this.places = null;
    this.tellAnswers = tellAnswers;
    this.noun = noun;
  }

  /** The element; call `start` once it is in the page. */
  build() {
    const { index } = this;
    this.counts = this.kinds.map(() => 0);
    for (const code of index.outcomes) this.counts[code] += 1;
    this.keys = el("ul", { class: "outcome-keys", "aria-label": "Filter by outcome" });
    this.status = el("p", { class: "muted small status", role: "status" });
    this.list = el("ol", { class: "rows" });
    this.table = el("div", { class: "table-scroll samples-table", tabindex: "0", role: "group", "aria-label": "Table of samples", hidden: true });
    this.pager = el("div", { class: "pager" });
    this.reader = el("div", { class: "reader", tabindex: "-1", role: "region", "aria-label": "Sample", hidden: true });
    this.listing = el("div", { class: "listing" }, this.list, this.table, this.pager);
    this.frame = el("div", { class: "browser alone" }, this.listing, this.reader);
    this.input = el("input", { type: "search", placeholder: "Search questions, replies, answers", "aria-label": "Search the samples", autocomplete: "off", on: { input: () => this.searchSoon() } });
    this.toolbar = el("div", { class: "toolbar" }, this.input, this.groupMenus(), this.sorting = this.sortSelect(), this.tableTools(), this.keys);
    this.root = el("div", {},
      this.toolbar,
      this.status, this.frame,
      el("p", { class: "muted small keys" }, el("kbd", {}, "j"), " ", el("kbd", {}, "k"), " next and previous sample · ", el("kbd", {}, "/"), " search · ", el("kbd", {}, "Esc"), " close"));
    return this.root;
  }

  start() {
    const measure = () => document.documentElement.style.setProperty("--toolbar", `${this.toolbar.offsetHeight}px`);
    new ResizeObserver(measure).observe(this.toolbar);
    document.addEventListener("keydown", (event) => this.onKey(event));
    window.addEventListener("hashchange", () => this.follow());
    this.refresh();
    this.follow();
  }

  // A menu of check boxes for each kind of group: any of the chosen ones, of every kind.
  groupMenus() {
    return Object.entries(this.index.groups ?? {}).map(([key, { names, order, rows }]) => {
      const counts = names.map(() => 0);
      for (const number of rows) counts[number] += 1;
      const chosen = this.groups.get(key);
      const summary = el("summary", { class: "button" }, key);
      const toggle = (number) => (event) => {
        if (event.target.checked) chosen.add(number);
        else chosen.delete(number);
        summary.replaceChildren(chosen.size ? `${key}: ${chosen.size}` : key);
        this.refresh();
      };
      return menu(summary, order.map((number) => checkBox(`${names[number]} (${formatCount(counts[number])})`, false, toggle(number))));
    });
  }

  tableTools() {
    const choice = this.columns.menu();
    choice.hidden = true;
    const button = el("button", { class: "button", type: "button", "aria-pressed": "false", on: { click: () => {
      this.isTable = !this.isTable;
      button.setAttribute("aria-pressed", String(this.isTable));
      choice.hidden = !this.isTable;
      if (this.sorting) this.sorting.hidden = this.isTable;
      this.refresh();
    } } }, "Table");
    return [button, choice];
  }

  sortSelect() {
    if (this.sorts.length < 2) return null;
    return el("select", { "aria-label": "Sort", on: { change: (event) => { this.sort = Number(event.target.value); this.refresh(); } } },
      this.sorts.map(([name], place) => el("option", { value: String(place) }, name)));
  }

  // -- Filtering

  searchSoon() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.search(this.input.value.trim().toLowerCase()), 200);
  }

  async search(needle) {
    const number = (this.searches += 1);
    if (!needle) {
      this.marks = null;
      this.refresh();
      return;
    }
    const progress = (share) => { if (share < 1 && number === this.searches) this.status.textContent = `searching … ${Math.round(100 * share)} %`; };
    const found = await this.blocks.search(needle, () => number !== this.searches, progress);
    if (!found) return;
    this.marks = found;
    this.refresh();
  }

  refresh() {
    const { index, chosen, marks } = this;
    const groups = [...this.groups].filter(([, numbers]) => numbers.size).map(([key, numbers]) => [index.groups[key].rows, numbers]);
    const passes = this.isTable ? this.columns.filter() : () => true;
    const isKept = (row) => (!marks || marks[row]) && groups.every(([rows, numbers]) => numbers.has(rows[row])) && passes(row);
    const counts = this.kinds.map(() => 0);
    const kept = [];
    for (let row = 0; row < index.n; row += 1) {
      if (!isKept(row)) continue;
      counts[index.outcomes[row]] += 1;
      if (!chosen.size || chosen.has(index.outcomes[row])) kept.push(row);
    }
    const compare = this.isTable ? this.columns.compare() : this.sorts[this.sort][1];
    this.order = compare ? kept.sort((a, b) => compare(a, b) || a - b) : kept;
    this.page = 0;
    this.showKeys(counts);
    this.status.textContent = kept.length === index.n ? `${formatCount(index.n)} ${this.noun}${index.n === 1 ? "" : "s"}` : `${formatCount(kept.length)} of ${formatCount(index.n)} ${this.noun}s`;
    this.showPage();
  }

  showKeys(counts) {
    const focused = this.keys.contains(document.activeElement) ? document.activeElement.dataset.outcome : null;
    this.keys.replaceChildren(...this.kinds.flatMap((kind, code) => this.counts[code] ? [el("li", {}, this.chipOf(code, { count: counts[code], pressed: this.chosen.has(code), on: () => { this.toggle(code); } }))] : []));
    if (focused) this.keys.querySelector(`[data-outcome="${CSS.escape(focused)}"]`)?.focus();
  }

  chipOf(code, options = {}) {
    return this.makeChip ? this.makeChip(this.kinds[code], options) : chip(this.kinds[code], options);
  }

  toggle(code) {
    if (!this.chosen.delete(code)) this.chosen.add(code);
    this.refresh();
  }

  // -- The list

  showPage() {
    const { order, page } = this;
    const from = page * ROWS_PER_PAGE;
    const rows = order.slice(from, from + ROWS_PER_PAGE);
    const none = rows.length ? null : el("li", { class: "empty" }, this.index.n ? "No sample matches these filters." : "This run has no samples.");
    this.list.replaceChildren(...(none ? [none] : this.isTable ? [] : Array.from(rows, (row) => el("li", {}, this.makeRow(row)))));
    this.list.start = from + 1;
    this.list.hidden = this.isTable && !none;
    this.table.hidden = !this.isTable;
    if (this.isTable) showSamplesTable(this.table, this.columns, rows, { open: this.open, addressOf: (row) => this.addressOf(row), chipOf: (row) => this.chipOf(this.index.outcomes[row]) });
    this.showPager(from, rows.length);
  }

  showPager(from, n) {
    const turn = (by) => () => { this.page += by; this.showPage(); this.root.scrollIntoView({ block: "start" }); };
    const isOnly = this.order.length <= ROWS_PER_PAGE;
    this.pager.replaceChildren(...(isOnly ? [] : [
      el("button", { class: "button", type: "button", disabled: !this.page, on: { click: turn(-1) } }, "← Previous"),
      el("span", { class: "muted small" }, `${formatCount(from + 1)}–${formatCount(from + n)} of ${formatCount(this.order.length)}`),
      el("button", { class: "button", type: "button", disabled: from + n >= this.order.length, on: { click: turn(1) } }, "Next →"),
    ]));
  }

  makeRow(row) {
    const { index } = this;
    const number = index.pictures[row];
    const src = number >= 0 ? imageAddress(number) : null;
    const thumb = el("span", { class: "thumb", "aria-hidden": "true" }, src ? el("img", { src, alt: "", loading: "lazy" }) : number >= 0 ? "image" : "text");
    const name = index.ids[row] + (index.trials?.[row] ? ` · trial ${index.trials[row]}` : "");
    return el("a", { class: "row", href: this.addressOf(row), "aria-current": row === this.open ? "true" : null, "data-row": String(row) },
      thumb, showText(index.titles[row] || "(no question)", { class: "title", dir: "auto" }), this.chipOf(index.outcomes[row]), showText(`${name} · ${this.tellAnswers(index, row)}`, { class: "sub", dir: "auto" }));
  }

  addressOf(row) {
    const trial = this.index.trials?.[row];
    const run = this.runOf(row);
    return `#sample=${encodeURIComponent(this.index.ids[row])}${trial ? `&trial=${trial}` : ""}${run ? `&run=${run}` : ""}`;
  }

  // The number of the row's run, on a page of several.
  runOf(row) {
    return this.index.groups?.run?.rows[row] ?? 0;
  }

  // -- One sample

  /** Show the sample that the address names; none if it names none. */
  follow() {
    const wanted = new URLSearchParams(location.hash.slice(1));
    const id = wanted.get("sample");
    if (id === null) {
      if (this.open !== null) this.show(null);
      return;
    }
    const row = this.find(id, Number(wanted.get("trial") ?? 0), Number(wanted.get("run") ?? 0));
    if (row === undefined) this.status.textContent = `no sample ${id} in this page`;
    else this.show(row);
  }

  find(id, trial, run) {
    if (!this.places) {
      this.places = new Map();
      this.index.ids.forEach((name, row) => this.places.set(`${this.runOf(row)} ${this.index.trials?.[row] ?? 0} ${name}`, row));
    }
    return this.places.get(`${run} ${trial} ${id}`);
  }

  async show(row) {
    this.open = row;
    this.frame.classList.toggle("alone", row === null);
    this.reader.hidden = row === null;
    if (row === null) {
      this.showPage();
      return;
    }
    const place = this.order.indexOf(row);
    if (place >= 0) this.page = Math.floor(place / ROWS_PER_PAGE);
    this.showPage();
    const tools = [["Link", "copy a link to this sample", (event) => this.copyLink(event.currentTarget)], ["←", "previous sample (k)", () => this.step(-1)], ["→", "next sample (j)", () => this.step(1)], ["✕", "close (Esc)", () => this.close()]]
      .map(([sign, label, on]) => el("button", { class: "button", type: "button", title: label, "aria-label": label, on: { click: on } }, sign));
    const sample = await this.blocks.sample(row);
    if (this.open !== row) return;
    this.reader.replaceChildren(this.makeCard ? this.makeCard(sample, row, tools) : sampleCard(describeSample(sample, this.data), { tools }));
    this.reader.scrollTop = 0;
    scrollToMarks(this.reader);
    this.bringIntoView();
  }

  async copyLink(button) {
    await navigator.clipboard?.writeText(location.href).then(() => button.replaceChildren("✓"), () => button.replaceChildren("✗"));
  }

  bringIntoView() {
    const current = this.listing.querySelector('[aria-current="true"]');
    const isNarrow = getComputedStyle(this.listing).display === "none";
    const top = this.root.getBoundingClientRect().top;
    if (isNarrow) this.reader.scrollIntoView({ block: "start" });
    else if (top > 0) this.root.scrollIntoView({ block: "start" });
    if (current && !isNarrow) this.listing.scrollTop += current.getBoundingClientRect().top - this.listing.getBoundingClientRect().top - this.listing.clientHeight / 3;
  }

  step(by) {
    const place = this.open === null ? (by > 0 ? -1 : 0) : this.order.indexOf(this.open);
    const row = this.order[place + by];
    if (row !== undefined) location.hash = this.addressOf(row);
  }

  close() {
    const row = this.open;
    history.replaceState(null, "", location.pathname + location.search + "#samples");
    this.show(null);
    this.listing.querySelector(`[data-row="${row}"]`)?.focus();
  }

  onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    const isTyping = /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement?.tagName ?? "");
    if (event.key === "Escape") {
      if (isTyping) document.activeElement.blur();
      else if (this.open !== null) this.close();
      return;
    }
    if (isTyping) return;
    if (event.key === "j") this.step(1);
    else if (event.key === "k") this.step(-1);
    else if (event.key === "/") {
      event.preventDefault();
      this.input.focus();
    }
  }
}
