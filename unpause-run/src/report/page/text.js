"use strict";
// Text of a report on the page: control characters are seen, and long text is cut until somebody asks for it.
// All text comes to the page as text nodes, so no value is read as HTML.

const HIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cs}]/gu;
const CUT = 240;

// The text with escapes in the place of characters that are not seen or that turn the direction of others.
function visible(text) {
  return String(text).replace(HIDDEN, (character) => {
    if (character === "\n") return "\\n";
    if (character === "\t") return "\\t";
    const code = character.codePointAt(0).toString(16);
    return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, "0")}`;
  });
}

// The same for text of several lines.
function visibleLines(text) {
  return String(text).split("\n").map(visible).join("\n");
}

// The beginning of a text, for a place without room.
function brief(text, length = CUT) {
  const shown = visible(text.length > 4 * length ? text.slice(0, 4 * length) : text);
  return shown.length > length ? `${shown.slice(0, length)}…` : shown;
}

// An element with attributes and children. A child that is a string is text of the report or of this page.
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== false) {
      made.append(typeof child === "object" ? child : visible(child));
    }
  }
  return made;
}

// An element of a drawing.
function drawn(name, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

// A text that may be long: its beginning, and a button for all of it.
function long(text, length = CUT) {
  const whole = visible(text);
  if (whole.length <= length) return element("span", { class: "value" }, whole);
  const beginning = document.createTextNode(`${whole.slice(0, length)}…`);
  const size = whole.length.toLocaleString("en");
  const button = element(
    "button",
    {
      type: "button",
      class: "more",
      onclick: () => {
        const opens = button.getAttribute("aria-expanded") === "false";
        beginning.data = opens ? whole : `${whole.slice(0, length)}…`;
        button.textContent = opens ? "less" : `all ${size} characters`;
        button.setAttribute("aria-expanded", String(opens));
      },
      "aria-expanded": "false",
    },
    `all ${size} characters`,
  );
  return element("span", { class: "value" }, beginning, " ", button);
}

function plural(count, word) {
  return `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;
}

function replace(parent, ...children) {
  parent.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
}

function byId(id) {
  return document.getElementById(id);
}
