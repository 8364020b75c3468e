// Paints spans on a canvas. Each word has a colour and a hatch of its own; spans too narrow to
// be seen are gathered in bins, which show the share of each word as a stack.

// Colour and hatch by word. Colours are variables of the style, so that light and dark have their own.
const JOINED = "selected, wait"; // what a warp does where its shortest spans were joined
const LOOKS = {
  copy: ["--blue", "rising"], "copy (landing not seen)": ["--blue", "dotted"], landed: ["--faint", "none"],
  read: ["--blue", "none"], ldmatrix: ["--purple", "falling"], wait: ["--orange", "upright"],
  mma: ["--green", "none"], "mma (issue)": ["--green", "dotted"],
  copy_q: ["--purple", "rising"], copy_k: ["--blue", "rising"], copy_v: ["--yellow", "rising"],
  qk: ["--green", "none"], softmax: ["--purple", "none"], pv: ["--blue", "none"], output: ["--yellow", "none"],
  wait_qk: ["--orange", "upright"], wait_softmax: ["--orange", "upright"], wait_pv: ["--orange", "upright"],
  wait_output: ["--orange", "upright"],
  selected: ["--green", "none"], [JOINED]: ["--green", "none"],
  long_scoreboard: ["--orange", "rising"], short_scoreboard: ["--yellow", "falling"],
  mio_throttle: ["--yellow", "none"], lg_throttle: ["--orange", "none"], drain: ["--orange", "dotted"],
  membar: ["--orange", "crossed"], barrier: ["--purple", "upright"], sleeping: ["--purple", "dotted"],
  math_pipe_throttle: ["--blue", "none"], not_selected: ["--blue", "dotted"],
  no_instruction: ["--red", "crossed"], imc_miss: ["--red", "dotted"], branch_resolving: ["--red", "none"],
  dispatch_stall: ["--red", "upright"], tex_throttle: ["--red", "rising"], gmma: ["--red", "falling"],
};
const STALL_WAIT = ["--grey", "none"]; // "wait" on a warp's track is the fixed stall, not a wait for a k tile

const BIN = 3; // pixels
const TILE = 8;
const HATCHES = {
  rising: [[[0, 8], [8, 0]]], falling: [[[0, 0], [8, 8]]], upright: [[[4, 0], [4, 8]]],
  crossed: [[[0, 8], [8, 0]], [[0, 0], [8, 8]]], dotted: [[[1, 2], [4, 2]], [[5, 6], [8, 6]]], none: [],
};

// The look of a word on one kind of track: its colour, and what fills wide boxes.
function look(context, word, kind) {
  const [variable, hatch] = kind === "stall" && word === "wait" ? STALL_WAIT : LOOKS[word] || ["--grey", "crossed"];
  const colour = cssColour(variable);
  if (hatch === "none") return { colour, fill: colour, hatch, word };
  const tile = document.createElement("canvas");
  tile.width = tile.height = TILE;
  const inside = tile.getContext("2d");
  inside.fillStyle = colour;
  inside.fillRect(0, 0, TILE, TILE);
  inside.strokeStyle = cssColour("--paper");
  inside.lineWidth = 1.6;
  for (const [from, to] of HATCHES[hatch]) {
    inside.beginPath();
    inside.moveTo(...from);
    inside.lineTo(...to);
    inside.stroke();
  }
  return { colour, fill: context.createPattern(tile, "repeat"), hatch, word };
}

// Paints one track. `looks` holds the look of each word, null for one that the reader has filtered away.
function paintTrack(context, track, looks, view, box) {
  const { begin, end, what, count } = track;
  const scale = box.width / (view.end - view.begin);
  const shares = new Float64Array(looks.length);
  const bars = looks.map(() => []);
  let bin = -1;
  let from = 0;
  let to = 0;
  let sum = 0;
  function flush() {
    if (bin < 0) return;
    let y = box.y;
    for (let word = 0; word < shares.length; word += 1) {
      if (!shares[word]) continue;
      const height = (shares[word] / sum) * box.height;
      bars[word].push(box.x + from, y, Math.max(1, to - from), height);
      y += height;
      shares[word] = 0;
    }
    bin = -1;
    sum = 0;
  }
  for (let at = firstAfter(track, view.begin); at < count && begin[at] < view.end; at += 1) {
    const left = Math.max(0, (begin[at] - view.begin) * scale);
    const right = Math.min(box.width, (end[at] - view.begin) * scale);
    if (right - left >= BIN) {
      flush();
      paintBox(context, track, at, looks[what[at]], box, left, right);
      continue;
    }
    const own = Math.floor(left / BIN);
    if (own !== bin) {
      flush();
      bin = own;
      from = left;
    }
    shares[what[at]] += right - left;
    sum += right - left;
    to = right;
  }
  flush();
  bars.forEach((own, word) => {
    context.fillStyle = looks[word] === null ? cachedFaded : looks[word].colour;
    for (let at = 0; at < own.length; at += 4) context.fillRect(own[at], own[at + 1], own[at + 2], own[at + 3]);
  });
}

function paintBox(context, track, at, look_, box, left, right) {
  const width = right - left;
  if (look_ === null) {
    context.fillStyle = cachedFaded;
    context.fillRect(box.x + left, box.y, width, box.height);
    return;
  }
  const thin = look_.word === "landed";
  context.fillStyle = width > 5 ? look_.fill : look_.colour;
  if (thin) context.fillRect(box.x + left, box.y + box.height / 2 - 1.5, width, 3);
  else context.fillRect(box.x + left, box.y, width > 3 ? width - 0.7 : width, box.height);
  const text = track.kind === "stall" ? look_.word : track.tile[at] < 0 ? "" : String(track.tile[at]);
  if (!thin && width > 12 && text) label(context, text, box.x + left, box.y, width, box.height);
}

function label(context, text, x, y, width, height) {
  const room = context.measureText(text).width;
  if (room + 8 > width) return;
  const middle = x + width / 2;
  context.fillStyle = cachedPaper;
  context.fillRect(middle - room / 2 - 3, y + 2, room + 6, height - 4);
  context.fillStyle = cachedInk;
  context.fillText(text, middle - room / 2, y + height / 2);
}

let cachedPaper = "#fff";
let cachedInk = "#000";
let cachedFaded = "#eee";

function takeColours() {
  cachedPaper = cssColour("--paper");
  cachedInk = cssColour("--ink");
  cachedFaded = cssColour("--lane");
}
