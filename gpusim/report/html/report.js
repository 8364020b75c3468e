// Puts the page together from its data.

function verdictSection(runs) {
  const parts = runs.map((run, place) => {
    const record = run.measured;
    const facts = [...run.facts];
    if (run.trust) facts.splice(1, 0, ["trust in the cycles", run.trust]);
    if (record && record.elapsed) {
      const error = `${record.error_percent > 0 ? "+" : "−"}${Math.abs(record.error_percent).toFixed(1)} %`;
      facts.splice(1, 0, ["measured", `${number(record.elapsed)} cycles on ${record.gpu}, ${record.date.slice(0, 10)}: the simulation is off by ${error}`]);
    }
    const peaks = element("ul", { class: "peaks" }, ...run.peaks.slice(0, 5).map(([name, share]) => {
      const bar = element("span", { class: "bar" });
      bar.style.width = `${Math.min(100, 100 * share)}%`;
      return element("li", {}, element("span", { class: "share", text: `${name} ${percent(share)}` }), element("span", { class: "whole", "aria-hidden": "true" }, bar));
    }));
    return element("article", { class: "run" },
      element("h3", { text: runs.length > 1 ? `${letter(place)}  ${run.name}` : run.name }),
      element("p", { class: "verdict", text: run.verdict.replaceAll(" %", "\u00a0%") }),
      element("p", { class: "note", text: `${run.problem}; ${run.kernel}` }),
      run.hazards.length ? element("p", { class: "verdict", text: `Hazards: ${run.hazards.join("; ")}` }) : null,
      element("dl", {}, ...facts.flatMap(([name, value]) => [element("dt", { text: name }), element("dd", { text: value })])),
      element("h4", { text: "Use of the machine's peaks, all SMs and all cycles" }), peaks);
  });
  return section("runs", "Verdict", element("div", { class: "runs" }, ...parts));
}

function countersSection(runs) {
  const metrics = [...new Set(runs.flatMap((run) => run.counters.map(([metric]) => metric)))];
  const own = runs.map((run) => new Map(run.counters));
  const rows = metrics.map((metric) => [metric, ...own.map((values) => values.get(metric) ?? null)]);
  return section("counters", "Counters", element("p", { text: "Values by the name that Nsight Compute gives them." }),
    sortedTable(["metric", ...runs.map((run) => run.name)], rows, "counters-table", "Counters"));
}

function provenanceSection(runs) {
  return section("provenance", "Provenance", ...runs.map((run, place) => {
    const kinds = Object.entries(run.figures);
    const all = kinds.reduce((sum, [, count]) => sum + count, 0);
    const rows = [...run.provenance, ...(run.command ? [["command", run.command]] : [])];
    return element("article", {},
      element("h3", { text: runs.length > 1 ? `${letter(place)}  ${run.name}` : run.name }),
      scrolling(`Provenance of ${run.name}`, plainTable(["what", "value"], rows, `provenance-${place}`)),
      kinds.length ? element("p", { text: `Of the ${all} figures of the machine, ${kinds.map(([kind, count]) => `${count} are ${kind}`).join(", ")}.` }) : null);
  }));
}

// A table of at most so many rows stands right under the verdict.
const SHORT_TABLE = 12;

function tableSection(table) {
  const id = slug(table.title);
  section(id, table.title, element("p", { text: table.note }), sortedTable(table.columns, table.rows, `${id}-table`, table.title));
}

function slug(text) {
  return text.toLowerCase().replace(/[^a-z0-9]+/g, "-");
}

function build() {
  const data = JSON.parse(document.getElementById("data").textContent);
  STALLS = data.stall_words;
  const { runs } = data;
  if (runs.length) verdictSection(runs);
  const isShort = (table) => !runs.length || table.rows.length <= SHORT_TABLE;
  data.tables.filter(isShort).forEach(tableSection);
  if (!runs.length) return;
  const timeline = new Timeline(data);
  if (timeline.tracks.length) timeline.mount();
  bankSection(runs);
  stallSection(runs);
  rooflineSection(runs);
  data.tables.filter((table) => !isShort(table)).forEach(tableSection);
  countersSection(runs);
  provenanceSection(runs);
  // What asks the frame rate of the timeline, or drives it, finds it here.
  window.gpusimTimeline = timeline;
}

build();
