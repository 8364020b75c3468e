// The timeline of all runs on one axis of cycles: zoomed, panned, filtered and read by pointer and by keyboard.

const ROW = 20;
const WARP_ROW = 17;
const HEADING = 24;
const AXIS = 26;
const LEAST_CYCLES = 16;

class Timeline {
  constructor(data) {
    this.runs = data.runs;
    this.words = data.words;
    this.hidden = new Set();
    this.tracks = data.runs.flatMap((run, place) => run.tracks.map((one) => unpackTrack(one, place, data.words)));
    this.last = Math.max(1, ...this.tracks.map((track) => (track.count ? track.end[track.count - 1] : 0)));
    this.view = { begin: 0, end: this.last };
    this.cursor = { track: 0, at: 0, shown: false };
    this.pending = false;
    this.frames = 0;
  }

  mount() {
    this.canvas = element("canvas", {
      id: "timeline-canvas", tabindex: "0", role: "application", "aria-describedby": "timeline-keys",
      "aria-label": "Timeline of cycles: one row for each stage, operation and warp",
    });
    this.context = this.canvas.getContext("2d", { alpha: false });
    this.status = element("p", { id: "timeline-status", role: "status", text: "Point at a span, or press an arrow key with the timeline focused." });
    this.range = element("output", { id: "timeline-range" });
    const keys = "Keys: + and − zoom, ← and → pan, ↑ and ↓ choose a row, comma and full stop go from span to span, " +
      "Enter zooms to the span, Home shows all. Ctrl with the wheel, or two fingers, zooms; dragging pans.";
    const made = section("timeline", "Timeline",
      element("p", { text: this.introduction() }),
      element("div", { class: "tools", role: "group", "aria-label": "View of the timeline" },
        this.button("+ zoom in", () => this.zoom(0.5)), this.button("− zoom out", () => this.zoom(2)),
        this.button("← earlier", () => this.pan(-0.25)), this.button("later →", () => this.pan(0.25)),
        this.button("show all", () => this.show(0, this.last)), this.range),
      this.legend(),
      element("div", { class: "canvas" }, this.canvas),
      this.status,
      element("p", { class: "note", id: "timeline-keys", text: keys }));
    this.listen();
    new ResizeObserver(() => this.resize()).observe(this.canvas.parentElement);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.restyle());
    this.restyle();
    return made;
  }

  introduction() {
    const measured = this.runs.filter((run) => run.measured && run.measured.cta_cycles);
    const said = measured.map((run) => {
      const record = run.measured;
      const slower = record.perturbation ? `; stamping made the kernel ${record.perturbation}x as long` : "";
      return `${run.name}: the measured CTA took ${number(record.cta_cycles)} cycles on ${record.gpu}${slower}.`;
    });
    return ["Numbers in the boxes are k tiles (or key blocks), in the order walked. A hatched box of a stage is a copy " +
      "in flight, the thin line is data that has landed, the solid box is reading it.", ...said].join(" ");
  }

  button(text, act) {
    return element("button", { type: "button", text, onclick: act });
  }

  // One box for each word; what is not ticked is faded.
  legend() {
    const used = new Map();
    for (const track of this.tracks) {
      for (const place of new Set(track.what)) {
        const key = `${track.kind} ${place}`;
        const cycles = used.get(key) || { kind: track.kind, place, cycles: 0 };
        for (let at = 0; at < track.count; at += 1) {
          if (track.what[at] === place) cycles.cycles += track.end[at] - track.begin[at];
        }
        used.set(key, cycles);
      }
    }
    this.swatches = [];
    const parts = ["operation", "stall"].map((kind) => {
      const own = [...used.values()].filter((one) => one.kind === kind).sort((one, other) => other.cycles - one.cycles);
      if (!own.length) return null;
      const title = kind === "stall" ? "Stall reasons of warps" : "Operations";
      const list = element("fieldset", { class: "legend" }, element("legend", { text: title }));
      for (const { place } of own) {
        const box = element("input", { type: "checkbox", checked: true, onchange: () => this.toggle(kind, place, box.checked) });
        const swatch = element("canvas", { width: 22, height: 12, "aria-hidden": "true" });
        this.swatches.push({ swatch, word: this.words[place], kind });
        list.append(element("label", { "data-word": this.words[place] }, box, swatch, ` ${this.words[place]}`));
      }
      list.append(this.button("hide or show all", () => {
        const boxes = [...list.querySelectorAll("input")];
        const show = boxes.every((one) => !one.checked);
        for (const one of boxes) if (one.checked !== show) one.click();
      }));
      return list;
    });
    return element("div", { class: "legends" }, ...parts);
  }

  toggle(kind, place, shown) {
    const key = `${kind} ${place}`;
    if (shown) this.hidden.delete(key);
    else this.hidden.add(key);
    this.relook();
  }

  restyle() {
    takeColours();
    this.colours = { ink: cssColour("--ink"), muted: cssColour("--muted"), paper: cssColour("--paper"), lane: cssColour("--lane"), faint: cssColour("--faint") };
    this.every = {};
    for (const kind of ["operation", "stall"]) this.every[kind] = this.words.map((word) => look(this.context, word, kind));
    for (const { swatch, word, kind } of this.swatches) {
      const inside = swatch.getContext("2d");
      inside.clearRect(0, 0, 22, 12);
      inside.fillStyle = look(inside, word, kind).fill;
      if (word === "landed") inside.fillRect(0, 4, 22, 3);
      else inside.fillRect(0, 0, 22, 12);
    }
    this.relook();
  }

  relook() {
    this.looks = {};
    for (const kind of ["operation", "stall"]) {
      this.looks[kind] = this.every[kind].map((one, place) => (this.hidden.has(`${kind} ${place}`) ? null : one));
    }
    this.request();
  }

  resize() {
    const wide = this.canvas.parentElement.clientWidth;
    const ratio = window.devicePixelRatio || 1;
    this.gutter = wide < 600 ? 84 : 150;
    this.layout();
    this.canvas.style.height = `${this.height}px`;
    this.canvas.width = Math.round(wide * ratio);
    this.canvas.height = Math.round(this.height * ratio);
    this.ratio = ratio;
    this.wide = wide;
    this.request();
  }

  // Places rows one below the other, with a heading where the group or the run changes.
  layout() {
    let y = AXIS;
    let heading = "";
    this.headings = [];
    for (const track of this.tracks) {
      const run = this.runs.length > 1 ? `${letter(track.run)}  ${this.runs[track.run].name}: ` : "";
      if (`${track.run} ${track.group}` !== heading) {
        heading = `${track.run} ${track.group}`;
        this.headings.push({ y, text: run + track.group });
        y += HEADING;
      }
      track.y = y;
      track.height = track.kind === "stall" ? WARP_ROW : ROW;
      y += track.height + 3;
    }
    this.height = y + 6;
  }

  request() {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => {
      this.pending = false;
      if (this.wide) this.paint();
      this.frames += 1;
    });
  }

  paint() {
    const { context, view, gutter } = this;
    const width = this.wide - gutter - 8;
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.fillStyle = this.colours.paper;
    context.fillRect(0, 0, this.wide, this.height);
    context.textBaseline = "middle";
    context.font = "bold 12px system-ui, sans-serif";
    context.fillStyle = this.colours.ink;
    for (const one of this.headings) context.fillText(one.text, 4, one.y + HEADING / 2 + 2);
    context.font = "11px system-ui, sans-serif";
    for (const track of this.tracks) {
      context.fillStyle = this.colours.ink;
      context.fillText(track.name, 10, track.y + track.height / 2, gutter - 14);
      context.fillStyle = this.colours.lane;
      context.fillRect(gutter, track.y, width, track.height);
    }
    this.axis(width);
    context.save();
    context.beginPath();
    context.rect(gutter, AXIS, width, this.height - AXIS);
    context.clip();
    for (const track of this.tracks) {
      paintTrack(context, track, this.looks[track.kind], view, { x: gutter, y: track.y, width, height: track.height });
    }
    this.mark(width);
    context.restore();
    this.range.textContent = `cycles ${number(Math.round(view.begin))} to ${number(Math.round(view.end))} of ${number(this.last)}`;
  }

  axis(width) {
    const { context, view, gutter } = this;
    const cycles = view.end - view.begin;
    const rough = (cycles / width) * 110;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = Math.max(1, [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough));
    context.fillStyle = this.colours.muted;
    context.fillText("cycle", 10, AXIS / 2);
    for (let at = Math.ceil(view.begin / step) * step; at <= view.end; at += step) {
      const x = gutter + ((at - view.begin) / cycles) * width;
      context.fillStyle = this.colours.faint;
      context.fillRect(x, AXIS - 6, 1, this.height - AXIS);
      context.fillStyle = this.colours.muted;
      const text = grouped.format(at);
      const room = context.measureText(text).width;
      context.fillText(text, Math.min(x - room / 2, gutter + width - room), AXIS / 2 - 2);
    }
  }

  // A frame about the span that is read out.
  mark(width) {
    if (!this.cursor.shown) return;
    const { context, view, gutter } = this;
    const track = this.tracks[this.cursor.track];
    const scale = width / (view.end - view.begin);
    const left = gutter + (track.begin[this.cursor.at] - view.begin) * scale;
    const room = Math.max(3, (track.end[this.cursor.at] - track.begin[this.cursor.at]) * scale);
    context.strokeStyle = this.colours.ink;
    context.lineWidth = 2;
    context.strokeRect(left, track.y - 1, room, track.height + 2);
  }

  show(begin, end) {
    const length = Math.min(this.last, Math.max(LEAST_CYCLES, end - begin));
    const first = Math.min(Math.max(0, begin), this.last - length);
    this.view = { begin: first, end: first + length };
    this.request();
  }

  zoom(factor, around = (this.view.begin + this.view.end) / 2) {
    const { begin, end } = this.view;
    this.show(around - (around - begin) * factor, around - (around - begin) * factor + (end - begin) * factor);
  }

  pan(share) {
    const by = (this.view.end - this.view.begin) * share;
    this.show(this.view.begin + by, this.view.end + by);
  }

  cycleAt(x) {
    return this.view.begin + ((x - this.gutter) / (this.wide - this.gutter - 8)) * (this.view.end - this.view.begin);
  }

  listen() {
    const { canvas } = this;
    const held = new Map();
    const place = (event) => {
      const box = canvas.getBoundingClientRect();
      return { x: event.clientX - box.left, y: event.clientY - box.top };
    };
    canvas.addEventListener("keydown", (event) => this.key(event));
    canvas.addEventListener("wheel", (event) => {
      const sideways = event.shiftKey ? event.deltaY : event.deltaX;
      if (event.ctrlKey || event.metaKey) this.zoom(Math.exp(Math.max(-80, Math.min(80, event.deltaY)) / 250), this.cycleAt(place(event).x));
      else if (Math.abs(sideways) > Math.abs(event.shiftKey ? 0 : event.deltaY)) this.pan(sideways / this.wide);
      else return;
      event.preventDefault();
    }, { passive: false });
    canvas.addEventListener("pointerdown", (event) => {
      held.set(event.pointerId, place(event));
      canvas.setPointerCapture(event.pointerId);
    });
    const release = (event) => held.delete(event.pointerId);
    canvas.addEventListener("pointerup", release);
    canvas.addEventListener("pointercancel", release);
    canvas.addEventListener("pointerleave", () => hideTip());
    canvas.addEventListener("dblclick", () => this.cursor.shown && this.frame());
    canvas.addEventListener("pointermove", (event) => {
      const now = place(event);
      const before = held.get(event.pointerId);
      if (!before) {
        this.point(now, event);
        return;
      }
      held.set(event.pointerId, now);
      const other = [...held].find(([id]) => id !== event.pointerId);
      if (other) {
        const apart = Math.max(8, Math.abs(before.x - other[1].x));
        this.zoom(apart / Math.max(8, Math.abs(now.x - other[1].x)), this.cycleAt((now.x + other[1].x) / 2));
      } else this.pan((before.x - now.x) / (this.wide - this.gutter - 8));
    });
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const acts = {
      "+": () => this.zoom(0.5), "=": () => this.zoom(0.5), "-": () => this.zoom(2), Home: () => this.show(0, this.last),
      ArrowLeft: () => this.pan(-0.2), ArrowRight: () => this.pan(0.2), Enter: () => this.frame(),
      ArrowUp: () => this.step(-1, 0), ArrowDown: () => this.step(1, 0), ",": () => this.step(0, -1), ".": () => this.step(0, 1),
    };
    const act = acts[event.key];
    if (!act || !this.tracks.length) return;
    event.preventDefault();
    act();
  }

  // Goes to another row or span, and reads it out.
  step(rows, spans) {
    const { cursor } = this;
    const before = this.tracks[cursor.track];
    const middle = cursor.shown ? before.begin[cursor.at] : this.view.begin;
    if (cursor.shown || rows) cursor.track = Math.min(this.tracks.length - 1, Math.max(0, cursor.track + (cursor.shown ? rows : 0)));
    const track = this.tracks[cursor.track];
    cursor.at = rows || !cursor.shown ? firstAfter(track, middle) : cursor.at + spans;
    cursor.at = Math.min(track.count - 1, Math.max(0, cursor.at));
    cursor.shown = true;
    const length = this.view.end - this.view.begin;
    if (track.begin[cursor.at] < this.view.begin || track.begin[cursor.at] >= this.view.end) {
      this.show(track.begin[cursor.at] - length / 3, track.begin[cursor.at] + (2 * length) / 3);
    }
    this.status.textContent = this.describe(track, cursor.at).join(" ");
    this.request();
  }

  frame() {
    const { cursor } = this;
    if (!cursor.shown) return;
    const track = this.tracks[cursor.track];
    const room = track.end[cursor.at] - track.begin[cursor.at];
    this.show(track.begin[cursor.at] - room, track.end[cursor.at] + room);
  }

  point(place, event) {
    const row = this.tracks.findIndex((track) => place.y >= track.y && place.y < track.y + track.height);
    const at = row < 0 || place.x < this.gutter ? -1 : spanAt(this.tracks[row], this.cycleAt(place.x));
    if (at < 0) {
      hideTip();
      return;
    }
    this.cursor = { track: row, at, shown: true };
    const lines = this.describe(this.tracks[row], at);
    showTip(lines, event.clientX, event.clientY);
    this.status.textContent = lines.join(" ");
    this.request();
  }

  // What a span is: operation or stall, k tile, stage, cycles, and the instruction where it is known.
  describe(track, at) {
    const word = this.words[track.what[at]];
    const where = [];
    if (track.tile[at] >= 0) where.push(`${track.unit} ${track.tile[at]}`);
    if (track.step[at] >= 0) where.push(`k group ${track.step[at]}`);
    if (track.stage[at] >= 0) where.push(`stage ${track.stage[at]}`);
    const cycles = track.end[at] - track.begin[at];
    const lines = [`${track.name}: ${word}${where.length ? `, ${where.join(", ")}` : ""}.`];
    if (this.runs.length > 1) lines[0] = `${letter(track.run)} ${this.runs[track.run].name}, ${lines[0]}`;
    lines.push(`${number(cycles)} cycle${cycles === 1 ? "" : "s"}, from ${number(track.begin[at])} to ${number(track.end[at])}.`);
    if (track.kind === "stall" && STALLS[word]) lines.push(`${word}: ${STALLS[word].meaning}.`);
    return [...lines, ...this.sass(track, at, word)];
  }

  sass(track, at, word) {
    const { sass } = this.runs[track.run];
    if (!sass) return [];
    const guessed = sass.origin === "estimated" ? " (estimated stream)" : "";
    if (track.kind !== "stall") {
      const opcodes = track.group.startsWith("measured") ? null : sass.opcodes[word];
      return opcodes && opcodes.length ? [`SASS of the mainloop${guessed}: ${opcodes.slice(0, 3).join(", ")}.`] : [];
    }
    if (word === JOINED || !sass.warps.includes(Number(track.name.split(/[ ,]/)[1]))) return [];
    const found = instructionAt(sass, issuedBefore(track)[at]);
    if (!found) return [];
    const which = word === "selected" ? "Issues" : "Before it issues";
    return [`${which}: ${found.text} – ${found.segment}, trip ${found.trip}${guessed}.`];
  }
}

function showTip(lines, x, y) {
  const tip = document.getElementById("tip");
  tip.replaceChildren(...lines.map((text) => element("div", { text })));
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - box.width - 8))}px`;
  tip.style.top = `${y + 18 + box.height > innerHeight ? y - box.height - 10 : y + 18}px`;
}

function hideTip() {
  document.getElementById("tip").hidden = true;
}
