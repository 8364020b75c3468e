// The roofline: roofs of the whole machine and of the SMs in use, and the place of each run under each memory's roof.

const LEVEL_STYLE = [["--blue", "", "circle"], ["--purple", "9 4", "square"], ["--orange", "2 4", "triangle"]];
const SIZE = { width: 860, height: 430, left: 74, right: 24, top: 22, bottom: 58 };

function rooflineSection(runs) {
  const drawn = runs.filter((run) => run.roofline.rate > 0);
  if (!drawn.length) return section("roofline", "Roofline", element("p", { text: "No run multiplies, so none has a place under the roofs." }));
  const chart = new Roofline(drawn);
  const rows = drawn.flatMap((run) => run.roofline.levels.map((level) =>
    [`${letter(runs.indexOf(run))} ${run.name}`, level.name, level.gb_s, level.intensity, level.use && percent(level.use)]));
  return section("roofline", "Roofline",
    element("p", { text: `Both axes are logarithmic. Solid is the roof of the whole machine; the dashed roof is that of the SMs that have a CTA: ${drawn.map((run) => `${run.roofline.working} of ${run.roofline.sms} (${run.name})`).join(", ")}. A run has one mark for each memory, at the work it does for a byte of it.` }),
    scrolling("Roofline chart", chart.drawn()),
    scrolling("Places under the roofs", plainTable(["run", "memory", "GB/s", "operations a byte", "use of its peak"], rows, "roofline-table")));
}

class Roofline {
  constructor(runs) {
    this.runs = runs;
    this.machine = runs[0].roofline;
    const intensities = runs.flatMap((run) => run.roofline.levels.map((level) => level.intensity).filter(Boolean));
    const top = this.machine.peak || 4 * Math.max(...runs.map((run) => run.roofline.rate));
    const corners = this.machine.levels.map((level) => (1000 * top) / level.slope_gb_s);
    this.top = top;
    this.xs = [Math.min(...intensities, ...corners) / 5, Math.max(...intensities, ...corners) * 5];
    this.ys = [Math.min(...runs.map((run) => run.roofline.rate), top * Math.min(...runs.map((run) => run.roofline.share))) / 6, top * 2.2];
  }

  x(value) {
    const [low, high] = this.xs;
    return SIZE.left + (Math.log(value / low) / Math.log(high / low)) * (SIZE.width - SIZE.left - SIZE.right);
  }

  y(value) {
    const [low, high] = this.ys;
    return SIZE.height - SIZE.bottom - (Math.log(value / low) / Math.log(high / low)) * (SIZE.height - SIZE.top - SIZE.bottom);
  }

  drawn() {
    const made = svg("svg", { viewBox: `0 0 ${SIZE.width} ${SIZE.height}`, role: "img", "aria-label": "Roofline; the table below has its figures", class: "roofline" });
    made.append(...this.axes());
    for (const run of this.runs) if (run.roofline.share < 1) made.append(...this.roofs(run.roofline, run.roofline.share, "7 5"));
    made.append(...this.roofs(this.machine, 1, ""));
    this.runs.forEach((run, place) => made.append(...this.marks(run, place)));
    return made;
  }

  axes() {
    const parts = [];
    const bottom = SIZE.height - SIZE.bottom;
    for (const [low, high, horizontal] of [[...this.xs, true], [...this.ys, false]]) {
      for (let power = Math.ceil(Math.log10(low)); power <= Math.log10(high); power += 1) {
        const at = horizontal ? this.x(10 ** power) : this.y(10 ** power);
        const text = number(10 ** power);
        if (horizontal) parts.push(svg("line", { x1: at, x2: at, y1: SIZE.top, y2: bottom, class: "rule" }), this.text(at, bottom + 16, text, "middle"));
        else parts.push(svg("line", { x1: SIZE.left, x2: SIZE.width - SIZE.right, y1: at, y2: at, class: "rule" }), this.text(SIZE.left - 8, at + 4, text, "end"));
      }
    }
    parts.push(this.text((SIZE.left + SIZE.width) / 2, SIZE.height - 14, "operations for each byte moved through that memory", "middle"));
    parts.push(this.text(SIZE.left - 62, SIZE.top - 8, this.machine.unit, "start"));
    return parts;
  }

  roofs(roofline, share, dashes) {
    const [low, high] = this.xs;
    const peak = (roofline.peak || this.top) * share;
    const parts = [];
    roofline.levels.forEach((level, place) => {
      if (share < 1 && !level.of_sms) return;
      const [variable, own] = LEVEL_STYLE[place];
      const bandwidth = (level.slope_gb_s / 1000) * (level.of_sms ? share : 1);
      const from = Math.max(low, this.ys[0] / bandwidth);
      parts.push(svg("line", { x1: this.x(from), y1: this.y(from * bandwidth), x2: this.x(peak / bandwidth), y2: this.y(peak), class: "roof", stroke: cssColour(variable), "stroke-dasharray": dashes || own }));
      if (share === 1) {
        const at = from ** 0.8 * (peak / bandwidth) ** 0.2;
        parts.push(this.text(this.x(at) + 6, this.y(at * bandwidth) + 14, level.name, "start"));
      }
    });
    if (roofline.peak) {
      const corner = Math.min(...roofline.levels.map((level) => (1000 * roofline.peak) / level.slope_gb_s));
      parts.push(svg("line", { x1: this.x(corner), y1: this.y(peak), x2: this.x(high), y2: this.y(peak), class: "roof", stroke: cssColour("--ink"), "stroke-dasharray": dashes }));
      const name = share < 1 ? `${roofline.working} SMs in use: ${number(Math.round(peak))} ${roofline.unit}` : `tensor peak of ${roofline.sms} SMs: ${number(Math.round(peak))} ${roofline.unit}`;
      parts.push(this.text(this.x(high) - 4, this.y(peak) - 7, name, "end"));
    }
    return parts;
  }

  // A mark's shape is its memory, the letter beside it is its run.
  marks(run, place) {
    const y = this.y(run.roofline.rate);
    return run.roofline.levels.flatMap((level, at) => {
      if (!level.intensity) return [];
      const [variable, , shape] = LEVEL_STYLE[at];
      const x = this.x(level.intensity);
      const shown = { fill: cssColour(variable), class: "mark" };
      const mark = shape === "circle" ? svg("circle", { cx: x, cy: y, r: 6.5, ...shown })
        : shape === "square" ? svg("rect", { x: x - 6, y: y - 6, width: 12, height: 12, ...shown })
          : svg("path", { d: `M${x - 7.5} ${y + 6}h15l-7.5-13z`, ...shown });
      mark.append(svg("title"));
      mark.firstChild.textContent = `${run.name}, ${level.name}: ${number(level.intensity)} operations a byte`;
      return [mark, this.text(x, y + 22, `${this.runs.length > 1 ? `${letter(place)} ` : ""}${level.name.split(" ")[0]}`, "middle")];
    });
  }

  text(x, y, words, anchor) {
    const made = svg("text", { x, y, "text-anchor": anchor });
    made.textContent = words;
    return made;
  }
}
