// Unpacks the tracks of the timeline into arrays of cycles, and answers which span lies where.

function filled(column, count) {
  const values = new Int32Array(count);
  if (typeof column === "number") values.fill(column);
  else values.set(column);
  return values;
}

function unpackTrack(packed, run, words) {
  const count = packed.count;
  const gap = filled(packed.gap, count);
  const length = filled(packed.length, count);
  const begin = new Int32Array(count);
  const end = new Int32Array(count);
  for (let at = 0, last = 0; at < count; at += 1) {
    begin[at] = last + gap[at];
    last = end[at] = begin[at] + length[at];
  }
  return {
    run, words, begin, end, count,
    group: packed.group, name: packed.name, kind: packed.kind, unit: packed.unit,
    what: filled(packed.what, count),
    tile: filled(packed.tile, count),
    step: filled(packed.step, count),
    stage: filled(packed.stage, count),
    issued: null,
  };
}

// The first span that ends after a cycle.
function firstAfter(track, cycle) {
  let low = 0;
  let high = track.count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (track.end[middle] > cycle) high = middle;
    else low = middle + 1;
  }
  return low;
}

function spanAt(track, cycle) {
  const at = firstAfter(track, cycle);
  return at < track.count && track.begin[at] <= cycle ? at : -1;
}

// Instructions that a warp has issued before each of its spans.
function issuedBefore(track) {
  if (track.issued === null) {
    const selected = track.words.indexOf("selected");
    track.issued = new Int32Array(track.count);
    for (let at = 0, issued = 0; at < track.count; at += 1) {
      track.issued[at] = issued;
      if (track.what[at] === selected) issued += track.end[at] - track.begin[at];
    }
  }
  return track.issued;
}

// The number-th instruction of a warp: its text, and the segment and trip that it belongs to.
function instructionAt(sass, number) {
  let left = number;
  for (const part of sass.segments) {
    const all = part.text.length * part.trips;
    if (left < all) {
      const trip = Math.floor(left / part.text.length);
      return { text: part.text[left % part.text.length], segment: part.name, trip };
    }
    left -= all;
  }
  return null;
}
