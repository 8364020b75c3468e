// Stalls as shares of all warp cycles, each with what it means and what helps. A bar of full width is all the time.

let STALLS = {};

function stallSection(runs) {
  const reasons = [...new Set(runs.flatMap((run) => run.stalls.map(([reason]) => reason)))];
  const most = new Map(reasons.map((reason) => [reason, Math.max(...runs.map((run) => shareOf(run, reason)))]));
  reasons.sort((one, other) => most.get(other) - most.get(one));
  const list = element("div", { class: "stalls" });
  for (const reason of reasons) {
    const words = STALLS[reason] || { meaning: "", helps: "", waits_for: "" };
    const bars = runs.map((run, place) => {
      const share = shareOf(run, reason);
      const bar = element("span", { class: `bar run-${place % 4}` });
      bar.style.width = `${100 * share}%`;
      const name = runs.length > 1 ? `${letter(place)} ` : "";
      return element("div", { class: "barline" }, element("span", { class: "share", text: name + percent(share) }), element("span", { class: "whole", "aria-hidden": "true" }, bar));
    });
    list.append(element("div", { class: "stall" },
      element("h3", { text: reason }), element("div", { class: "bars" }, ...bars),
      element("p", {}, `${words.meaning}. `, words.helps ? element("span", {}, element("b", { text: "Helps: " }), `${words.helps}.`) : "")));
  }
  return section("stalls", "Stalls",
    element("p", { text: "Of all cycles of all warps, the share in which a warp is in this state. The grey lane is 100 %." +
      (runs.length > 1 ? ` Letters are the runs: ${runs.map((run, place) => `${letter(place)} ${run.name}`).join(", ")}.` : "") }), list);
}

function shareOf(run, reason) {
  const found = run.stalls.find(([name]) => name === reason);
  return found ? found[1] : 0;
}
