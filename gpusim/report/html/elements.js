// Makes elements of the page and writes numbers; text is never parsed as HTML.

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "text") made.textContent = value;
    else if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

function svg(name, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function section(id, title, ...children) {
  document.getElementById("sections").append(element("li", {}, element("a", { href: `#${id}`, text: title })));
  const made = element("section", { id, "aria-labelledby": `${id}-title` });
  made.append(element("h2", { id: `${id}-title`, text: title, tabindex: "-1" }), ...children);
  document.getElementById("main").append(made);
  return made;
}

// A wide table scrolls in a region of its own, which the keyboard reaches.
function scrolling(label, ...children) {
  return element("div", { class: "scrolling", role: "region", "aria-label": label, tabindex: "0" }, ...children);
}

const grouped = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });

function number(value) {
  if (value === null || value === undefined) return "–";
  if (typeof value !== "number") return String(value);
  return Number.isInteger(value) || Math.abs(value) >= 10000 ? grouped.format(value) : short.format(value);
}

function percent(share) {
  return share > 0 && share < 0.001 ? "< 0.1 %" : `${(100 * share).toFixed(1)} %`;
}

// The letter of a run, which marks it wherever several are shown.
function letter(place) {
  return String.fromCharCode(65 + (place % 26));
}

function cssColour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
