// The page about kernels of the user's own: the machine code with the stall cycles of each instruction.

function kernelSections(run, place, alone) {
  const id = `kernel-${place}`;
  const title = alone ? "Verdict" : run.name;
  section(place ? id : "runs", title,
    element("p", { class: "verdict", text: run.verdict.replaceAll(" %", "\u00a0%") }),
    element("dl", {}, ...run.facts.flatMap(([name, value]) => [element("dt", { text: name }), element("dd", { text: value })])),
    element("h3", { text: "What takes the time" }),
    element("ul", {}, ...run.sentences.map((text) => element("li", { text }))));
  section(`${id}-code`, alone ? "Machine code" : `Machine code of ${run.name}`,
    element("p", { text: "Of each instruction, the cycles that warps are stalled before it, and its share of all warp cycles. The address shows the reasons." }),
    codeTable(run, `${id}-code`));
  if (run.lines.length) {
    section(`${id}-lines`, alone ? "Source lines" : `Source lines of ${run.name}`,
      element("p", { text: "The instructions of each source line together." }),
      sortedTable(["line", "stalled cycles", "% of warp cycles", "issues", "wavefronts", "without conflicts", "sectors", "ideal"], run.lines, `${id}-lines-table`, "Source lines"));
  }
}

function codeTable(run, id) {
  const most = Math.max(1, ...run.rows.map((row) => row.stalled));
  const heads = ["address", "instruction", "source", "stalled cycles", "share", "issues", "wavefronts", "sectors"];
  const body = element("tbody", {}, ...run.rows.flatMap((row, at) => codeRows(run, row, most, `${id}-${at}`)));
  return scrolling(`Table: machine code of ${run.name}`, element("table", { id: `${id}-table`, class: "code" },
    element("thead", {}, element("tr", {}, ...heads.map((text) => element("th", { scope: "col", text })))), body));
}

function codeRows(run, row, most, id) {
  const details = element("tr", { id, hidden: true }, element("td", { colspan: "8" }, ...reasonLines(run, row)));
  const button = element("button", { type: "button", text: row.address, "aria-expanded": "false", "aria-controls": id, onclick: () => {
    details.hidden = !details.hidden;
    button.setAttribute("aria-expanded", String(!details.hidden));
  } });
  const heat = element("span", { class: "bar" });
  heat.style.width = `${(100 * row.stalled) / most}%`;
  const share = row.stalled / run.warp_cycles;
  return [element("tr", { class: "instruction" },
    element("th", { scope: "row" }, button),
    element("td", {}, element("code", { text: row.text })),
    element("td", { text: row.source }),
    element("td", { class: "heat" }, element("span", { class: "figure", text: number(row.stalled) }), element("span", { class: "whole", "aria-hidden": "true" }, heat)),
    element("td", { class: "figure", text: percent(share) }),
    element("td", { class: "figure", text: number(row.issues) }),
    element("td", { class: "figure", text: beside(row.wavefronts, row.ideal_wavefronts) }),
    element("td", { class: "figure", text: beside(row.sectors, row.ideal_sectors) })), details];
}

// A count, and how many times the ideal it is if it is more.
function beside(count, ideal) {
  if (!count) return "";
  return ideal && count > ideal ? `${number(count)} (${short.format(count / ideal)} x ideal)` : number(count);
}

function reasonLines(run, row) {
  const lines = row.stalls.map(([reason, cycles]) => {
    const words = STALLS[reason] || { meaning: "", helps: "" };
    const bar = element("span", { class: "bar" });
    bar.style.width = `${(100 * cycles) / Math.max(1, row.stalled)}%`;
    return element("div", { class: "stall" },
      element("h3", { text: reason }),
      element("div", { class: "barline" }, element("span", { class: "share", text: number(cycles) }), element("span", { class: "whole", "aria-hidden": "true" }, bar)),
      element("p", {}, `${words.meaning}. `, words.helps ? element("span", {}, element("b", { text: "Helps: " }), `${words.helps}.`) : ""));
  });
  const lanes = row.lanes === null ? [] : [element("p", { class: "note", text: `${number(row.lanes)} active lanes over ${number(row.issues)} issues` })];
  return [...(lines.length ? lines : [element("p", { text: "No warp is stalled before it." })]), ...lanes];
}

function buildKernels() {
  const data = JSON.parse(document.getElementById("data").textContent);
  STALLS = data.stall_words;
  data.kernels.forEach((run, place) => kernelSections(run, place, data.kernels.length === 1));
  stallSection(data.kernels.map((run) => ({ name: run.name, stalls: run.shares })));
  section("provenance", "Provenance", ...data.kernels.map((run, place) =>
    scrolling(`Provenance of ${run.name}`, plainTable(["what", "value"], run.provenance, `provenance-${place}`))));
}

buildKernels();
