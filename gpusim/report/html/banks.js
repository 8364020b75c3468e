// The bank map: which lanes each bank serves in each wavefront. A cell that is clicked tells its lanes' addresses.

function bankSection(runs) {
  const parts = [element("p", { text:
    "A row is a wavefront, which passes the banks once; a column is a bank. The first wavefront of a phase is needed " +
    "in any case; each further one is a bank conflict, hatched and marked “late”. Choose a cell to see its lanes and addresses; " +
    "arrow keys move." })];
  runs.forEach((run, place) => {
    parts.push(element("h3", { text: runs.length > 1 ? `${letter(place)}  ${run.name}` : run.name }));
    if (!run.banks.length) parts.push(element("p", { text: "The kernel does not use shared memory." }));
    run.banks.forEach((access, at) => parts.push(bankMap(access, `bank-${place}-${at}`)));
    if (run.bank_rows.length) parts.push(bankTotals(run, place));
  });
  return section("banks", "Shared-memory banks", ...parts);
}

function bankMap(access, id) {
  const answer = element("div", { class: "answer", role: "status", id: `${id}-answer`, text: "No cell is chosen." });
  const grid = element("div", { class: "grid", role: "grid", "aria-labelledby": `${id}-title`, "aria-describedby": `${id}-verdict` });
  const head = element("div", { class: "row head", role: "row" }, element("span", { class: "phase", role: "columnheader", text: "bank" }));
  for (let bank = 0; bank < access.banks; bank += 4) {
    const cell = element("span", { class: "bank", role: "columnheader", text: `${bank}–${bank + 3}` });
    cell.style.gridColumn = `${bank + 2} / ${bank + 6}`;
    head.append(cell);
  }
  grid.append(head);
  const rows = access.wavefronts.map((wavefront) => bankRow(access, wavefront, answer, grid));
  grid.append(...rows);
  const first = grid.querySelector("[role=gridcell]");
  if (first) first.tabIndex = 0;
  grid.addEventListener("keydown", (event) => moveInGrid(grid, event));
  return element("article", { class: "access", id },
    element("h4", { id: `${id}-title`, text: access.title }),
    element("p", { id: `${id}-verdict`, text: `${access.verdict}; ${access.width} bytes a lane.` }),
    element("div", { class: "wide" }, grid), answer, laneTable(access, id));
}

function bankRow(access, wavefront, answer, grid) {
  const late = wavefront.number > 0;
  const what = access.kind === "ldmatrix" ? "matrix" : "phase";
  const name = late ? `late ${wavefront.number}` : `${what} ${wavefront.phase}`;
  const row = element("div", { class: late ? "row late" : "row", role: "row" }, element("span", { class: "phase", role: "rowheader", text: name }));
  for (const [bank, end, lanes] of wavefront.cells) {
    const words = lanes.length === 1 ? String(lanes[0]) : `${lanes[0]}${lanes[lanes.length - 1] - lanes[0] === lanes.length - 1 ? "–" : ","}${lanes[lanes.length - 1]}`;
    const cell = element("span", {
      class: "cell", role: "gridcell", tabindex: "-1", "data-bank": bank,
      "aria-label": `${late ? "Conflict: " : ""}lane ${words}, bank ${bank} to ${end - 1}`,
      onclick: () => choose(),
      onkeydown: (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        choose();
      },
    }, element("span", { class: "lanes", text: end - bank > 1 ? words : words.split("–")[0] }));
    cell.style.gridColumn = `${bank + 2} / ${end + 2}`;
    function choose() {
      for (const one of grid.querySelectorAll("[aria-selected=true]")) one.removeAttribute("aria-selected");
      for (const one of grid.querySelectorAll("[role=gridcell][tabindex='0']")) one.tabIndex = -1;
      cell.setAttribute("aria-selected", "true");
      cell.tabIndex = 0;
      cell.focus();
      answer.replaceChildren(...cellAnswer(access, wavefront, bank, end, lanes));
    }
    row.append(cell);
  }
  return row;
}

// What a cell says: its lanes with their addresses, and the others that want another word of the same bank.
function cellAnswer(access, wavefront, bank, end, lanes) {
  const which = end - bank > 1 ? `Banks ${bank} to ${end - 1}` : `Bank ${bank}`;
  const rivals = access.wavefronts
    .filter((other) => other.phase === wavefront.phase && other.number !== wavefront.number)
    .flatMap((other) => other.cells.filter(([from, to]) => from < end && to > bank).map(([, , own]) => own.join(", ")));
  const lines = [element("p", {}, element("strong", { text: `${which}, ${wavefront.number ? `late wavefront ${wavefront.number}` : "first wavefront"} of phase ${wavefront.phase}. ` }),
    rivals.length ? `The same bank also serves, in other wavefronts, lane ${rivals.join("; lane ")}.` : "No other lane of the phase wants another word of it.")];
  const list = element("ul", {});
  for (const lane of lanes) {
    const address = access.addresses[lane];
    const word = Math.floor(address / access.bank_bytes);
    list.append(element("li", { text: `lane ${lane}: byte address ${number(address)} (0x${address.toString(16)}), word ${number(word)}, bank ${word % access.banks}` }));
  }
  return [...lines, list];
}

function moveInGrid(grid, event) {
  const cell = event.target.closest("[role=gridcell]");
  const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
  if (!cell || !step) return;
  event.preventDefault();
  const rows = [...grid.querySelectorAll(".row:not(.head)")];
  const at = rows.indexOf(cell.parentElement) + step[0];
  if (!rows[at]) return;
  const cells = [...rows[at].querySelectorAll("[role=gridcell]")];
  const own = Number(cell.dataset.bank);
  const next = step[0] ? cells.reduce((best, one) => (Math.abs(one.dataset.bank - own) < Math.abs(best.dataset.bank - own) ? one : best), cells[0]) : cells[cells.indexOf(cell) + step[1]];
  if (!next) return;
  cell.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
}

function laneTable(access, id) {
  const rows = access.addresses.map((address, lane) => {
    if (address === null) return [lane, null, null, null];
    const word = Math.floor(address / access.bank_bytes);
    return [lane, address, `0x${address.toString(16)}`, word % access.banks];
  });
  return element("details", {}, element("summary", { text: `All lanes of ${access.title}` }),
    scrolling(`Lanes of ${access.title}`, plainTable(["lane", "byte address", "hexadecimal", "first bank"], rows, `${id}-lanes`)));
}

function bankTotals(run, place) {
  const rows = run.bank_rows.map((row) => [row.title, row.requests, row.wavefronts, row.ideal_wavefronts, row.conflicts,
    row.ideal_wavefronts ? Number((row.wavefronts / row.ideal_wavefronts).toFixed(2)) : null]);
  return element("div", {}, element("h4", { text: "Whole grid" }),
    scrolling(`Wavefronts of the whole grid, ${run.name}`,
      plainTable(["access", "requests", "wavefronts", "ideal", "conflicts", "n-way"], rows, `bank-totals-${place}`)));
}
