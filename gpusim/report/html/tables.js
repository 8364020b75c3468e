// Tables: plain ones, and ones that a reader sorts by a column and filters by a text.

function plainTable(columns, rows, id) {
  return element("table", { id },
    element("thead", {}, element("tr", {}, ...columns.map((name) => element("th", { scope: "col", text: name })))),
    element("tbody", {}, ...rows.map(tableRow)));
}

function tableRow(row) {
  return element("tr", {}, ...row.map((value, place) => element(place ? "td" : "th", {
    scope: place ? null : "row", class: place && typeof value !== "string" ? "figure" : null, text: number(value),
  })));
}

function sortedTable(columns, rows, id, label) {
  const body = element("tbody", {});
  const count = element("output", { class: "note" });
  const filter = element("input", { type: "search", id: `${id}-filter`, oninput: () => fill() });
  let by = -1;
  let up = true;
  const heads = columns.map((name, place) => {
    const button = element("button", { type: "button", text: name, onclick: () => {
      [by, up] = [place, by === place ? !up : true];
      heads.forEach((head, at) => head.setAttribute("aria-sort", at === by ? (up ? "ascending" : "descending") : "none"));
      fill();
    } });
    return element("th", { scope: "col", "aria-sort": "none" }, button);
  });
  function fill() {
    const wanted = filter.value.trim().toLowerCase();
    const shown = rows.filter((row) => row.some((value) => String(value).toLowerCase().includes(wanted)));
    if (by >= 0) {
      shown.sort((one, other) => {
        const [left, right] = up ? [one[by], other[by]] : [other[by], one[by]];
        return typeof left === "number" && typeof right === "number" ? left - right : String(left ?? "").localeCompare(String(right ?? ""));
      });
    }
    body.replaceChildren(...shown.map(tableRow));
    count.textContent = ` ${shown.length} of ${rows.length} rows`;
  }
  fill();
  return element("div", {},
    element("p", { class: "filter" }, element("label", { for: `${id}-filter`, text: "Filter " }), filter, count),
    scrolling(`Table: ${label}`, element("table", { id }, element("thead", {}, element("tr", {}, ...heads)), body)));
}
