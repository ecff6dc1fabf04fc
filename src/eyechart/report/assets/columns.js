// The table of samples: which columns it has, their values, sorting and filters.
import { checkBox, el, formatSeconds, menu, showText } from "./dom.js";

const USUAL = new Set(["run", "outcome", "id", "question", "read", "gold"]);

/** The columns that samples can be shown by; those of the data set are read when they are chosen. */
export class Columns {
  constructor(index, blocks, kinds, onChange) {
    Object.assign(this, { index, blocks, onChange });
    this.all = new Map();
    const add = (name, values, show = String) => { if (values) this.all.set(name, { values, show }); };
    const groups = Object.entries(index.groups ?? {}).map(([key, { names, rows }]) => [key, { at: (row) => names[rows[row]] }]);
    for (const [key, values] of groups) if (key === "run") add(key, values);
    add("outcome", { at: (row) => kinds[index.outcomes[row]] });
    add("id", index.ids);
    add("trial", index.trials);
    add("question", index.titles);
    add("read", index.reads);
    add("gold", index.golds);
    add("seconds", index.latency, formatSeconds);
    add("tokens", index.tokens);
    for (const [key, values] of groups) if (key !== "run") add(key, values);
    this.chosen = new Set([...this.all.keys()].filter((name) => USUAL.has(name)));
    this.filters = new Map();
    this.sort = null; // [name, 1 or -1]
  }

  /** The menu that chooses among them. */
  menu() {
    const made = menu(el("summary", { class: "button" }, "Columns"));
    made.addEventListener("toggle", async () => {
      if (!made.open) return;
      const names = new Set([...this.all.keys(), ...(await this.listOthers())]);
      made.lastElementChild.replaceChildren(...[...names].map((name) => checkBox(name, this.chosen.has(name), (event) => this.choose(name, event.target.checked))));
    });
    return made;
  }

  async listOthers() {
    const rows = this.blocks.starts.length ? await this.blocks.block(0) : [];
    return rows.flatMap((sample) => Object.keys(sample.meta ?? {}));
  }

  async choose(name, isChosen) {
    if (isChosen && !this.all.has(name)) this.all.set(name, { values: await this.blocks.column(name), show: String });
    if (isChosen) this.chosen.add(name);
    else {
      this.chosen.delete(name);
      this.filters.delete(name);
      if (this.sort?.[0] === name) this.sort = null;
    }
    this.onChange();
  }

  value(name, row) {
    return this.all.get(name).values.at(row) ?? null;
  }

  /** Whether a row passes all filters: a part of the text, or < and > before a number. */
  filter() {
    const tests = [...this.filters].map(([name, wanted]) => {
      const bound = /^\s*(<=|>=|<|>)\s*(-?[\d.]+)\s*$/.exec(wanted);
      if (!bound) return (row) => String(this.value(name, row) ?? "").toLowerCase().includes(wanted.toLowerCase());
      const limit = Number(bound[2]);
      const holds = { "<": (x) => x < limit, ">": (x) => x > limit, "<=": (x) => x <= limit, ">=": (x) => x >= limit }[bound[1]];
      return (row) => this.value(name, row) !== null && holds(Number(this.value(name, row)));
    });
    return (row) => tests.every((test) => test(row));
  }

  /** How two rows are ordered; null: as in the benchmark. */
  compare() {
    if (!this.sort) return null;
    const [name, direction] = this.sort;
    return (a, b) => compareValues(this.value(name, a), this.value(name, b), direction);
  }

  turn(name) {
    const [current, direction] = this.sort ?? [];
    this.sort = current !== name ? [name, 1] : direction === 1 ? [name, -1] : null;
    this.onChange();
  }
}

// What is missing comes last in both directions.
function compareValues(a, b, direction) {
  if (a === null || b === null) return (a === null) - (b === null);
  const [x, y] = [Number(a), Number(b)];
  if (!Number.isNaN(x) && !Number.isNaN(y)) return direction * (x - y);
  return direction * String(a).localeCompare(String(b), "en", { numeric: true });
}

/** Show these rows; the headings stay while somebody types into a filter. */
export function showSamplesTable(place, columns, rows, { open, addressOf, chipOf }) {
  const names = [...columns.all.keys()].filter((name) => columns.chosen.has(name));
  const shape = JSON.stringify([names, columns.sort]);
  if (place.dataset.shape !== shape) {
    place.dataset.shape = shape;
    place.replaceChildren(el("table", {}, makeHead(columns, names), el("tbody", {})));
  }
  const line = (row) => el("tr", { "aria-current": row === open ? "true" : null }, names.map((name, at) => {
    const value = columns.value(name, row);
    const shown = name === "outcome" ? chipOf(row) : showText(value === null ? "" : columns.all.get(name).show(value), { class: "clipped", dir: "auto" });
    const isLink = name === "id" || (!names.includes("id") && !at);
    return el("td", { class: name === "question" ? "text" : null }, isLink ? el("a", { href: addressOf(row), "data-row": String(row) }, shown) : shown);
  }));
  place.querySelector("tbody").replaceChildren(...Array.from(rows, line));
}

function makeHead(columns, names) {
  const signs = { 1: "ascending", "-1": "descending" };
  const heading = (name) => {
    const sorted = columns.sort?.[0] === name ? signs[columns.sort[1]] : "none";
    return el("th", { scope: "col", "aria-sort": sorted }, el("button", { class: "link", type: "button", on: { click: () => columns.turn(name) } }, name, sorted === "none" ? "" : sorted === "ascending" ? " ↑" : " ↓"));
  };
  const filter = (name) => {
    let timer = 0;
    const input = el("input", { type: "search", placeholder: "filter", size: name === "question" ? "24" : "8", "aria-label": `Filter ${name}`, autocomplete: "off", on: { input: () => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        if (input.value.trim()) columns.filters.set(name, input.value.trim());
        else columns.filters.delete(name);
        columns.onChange();
      }, 150);
    } } });
    input.value = columns.filters.get(name) ?? "";
    return el("td", {}, input);
  };
  return el("thead", {}, el("tr", {}, names.map(heading)), el("tr", { class: "filters" }, names.map(filter)));
}
