// What the pages of `eyechart view` do besides being read: live progress, enlarged images, keys, choosing two runs.
// Pages work without it. Text from the server is set as text, never as HTML.

import { schemeSwitch } from "./dom.js";
import { scrollToMarks, showReply } from "./text.js";

const page = document.body.dataset.page;

// -- Light or dark by hand, remembered

if (localStorage.scheme) document.documentElement.dataset.scheme = localStorage.scheme;
document.querySelector(".topbar").append(schemeSwitch((scheme) => { localStorage.scheme = scheme; }));

// -- Replies as Markdown with formulas, opened at the place that the answer was read from

const replies = document.querySelectorAll(".reply[data-place]");
if (replies.length) {
  const script = document.createElement("script");
  script.addEventListener("load", () => {
    for (const one of replies) one.replaceWith(showReply(one.textContent, one.dataset.place, one.getAttribute("aria-label")));
    scrollToMarks(document);
  });
  script.src = "/static/rich.js";
  document.head.append(script);
}

// -- Live progress: the server sends the state of every run that is going on

const watched = new Set([...document.querySelectorAll("[data-run]")].map((one) => one.dataset.run));
const isLive = page === "index" || (page === "run" && document.querySelector(".state.running, .live-bar"));

if (isLive) {
  let runs = null;
  const stream = new EventSource("/events");
  stream.addEventListener("progress", (event) => {
    const news = JSON.parse(event.data);
    const known = runs;
    runs = Object.keys(news.runs).sort().join("\n") + `\n${news.n}`;
    for (const [name, run] of Object.entries(news.runs)) show(name, run);
    const hasEnded = page === "run" && [...watched].some((name) => !(name in news.runs));
    const isIdle = !document.querySelector("input:checked") && document.activeElement?.tagName !== "INPUT";
    if (hasEnded || (page === "index" && known !== null && known !== runs && isIdle)) {
      stream.close();
      setTimeout(() => location.reload(), 600); // the summary is written after the last reply
    }
  });
  addEventListener("pagehide", () => stream.close());
}

function show(name, run) {
  for (const part of document.querySelectorAll("[data-run]")) {
    if (part.dataset.run !== name) continue;
    set(part, ".live-done", run.done.toLocaleString("en-US"));
    set(part, ".live-total", run.total.toLocaleString("en-US"));
    if (run.score !== null) set(part, ".live-score", (100 * run.score).toFixed(1));
    for (const bar of part.querySelectorAll(".live-bar")) {
      bar.max = run.total;
      bar.value = run.done;
    }
  }
  if (page !== "run" || !watched.has(name)) return;
  for (const one of document.querySelectorAll("[data-count]")) {
    const n = one.dataset.count === "pending" ? run.total - run.done : run.outcomes[one.dataset.count];
    if (n !== undefined) one.textContent = n.toLocaleString("en-US");
  }
}

function set(part, selector, text) {
  for (const one of part.querySelectorAll(selector)) one.textContent = text;
}

// -- Images: a click fills the screen, another shows every pixel, a third or Escape closes

for (const link of document.querySelectorAll("a.zoomable")) {
  link.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    zoom(link);
  });
}

function zoom(link) {
  const dialog = document.createElement("dialog");
  dialog.className = "zoom";
  dialog.setAttribute("aria-label", "Image");
  const button = document.createElement("button");
  button.type = "button";
  button.setAttribute("aria-label", "show every pixel, then close");
  const image = link.querySelector(".boxed").cloneNode(true);
  image.querySelector("img").alt = "Image of the question, enlarged";
  button.append(image);
  dialog.append(button);
  button.addEventListener("click", () => {
    if (dialog.classList.contains("pixels")) dialog.close();
    else dialog.classList.add("pixels");
  });
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

// -- Keys: j and k go to the next and the previous sample, u up, / into the search

addEventListener("keydown", (event) => {
  const isTyping = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  const wanted = { j: 'a[rel="next"]', k: 'a[rel="prev"]', u: ".crumbs a:last-of-type" }[event.key];
  if (wanted) document.querySelector(wanted)?.click();
  if (event.key === "/") {
    event.preventDefault();
    document.querySelector('input[type="search"]')?.focus();
  }
});

// -- Choosing two or three runs to compare: all of one benchmark

const compare = document.getElementById("compare");
if (compare) {
  const boxes = [...document.querySelectorAll('input[name="run"]')];
  const update = () => {
    const chosen = boxes.filter((box) => box.checked);
    const table = chosen[0]?.closest("table");
    compare.disabled = chosen.length < 2;
    for (const box of boxes) {
      if (!box.checked) box.disabled = chosen.length === 3 || (table && box.closest("table") !== table) || box.hasAttribute("data-unreadable");
    }
  };
  for (const box of boxes) {
    if (box.disabled) box.setAttribute("data-unreadable", "");
    box.addEventListener("change", update);
  }
  update();
}
