// Reads the page's data and shows it.
import { el } from "./dom.js";
import { readBlock } from "./samples.js";
import { showRun } from "./run_page.js";
import { showRuns } from "./runs_page.js";
import { showComparison } from "./compare_page.js";
import { showAudit } from "./audit_page.js";
import { showSweep } from "./sweep_page.js";
import { showWatch } from "./watch_page.js";

async function start() {
  const root = document.getElementById("page");
  try {
    const data = await readBlock("data");
    await { run: showRun, runs: showRuns, comparison: showComparison, audit: showAudit, sweep: showSweep, watch: showWatch }[data.kind](root, data);
    document.documentElement.dataset.ready = "true";
  } catch (error) {
    root.append(el("p", { class: "note" }, `This page could not be shown: ${error.message}. It needs a browser of 2023 or later.`));
    throw error;
  }
}

start();
