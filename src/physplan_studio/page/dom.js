// Elements, words and numbers. Foreign words are set as text; nothing is ever parsed as markup.

export const $ = id => document.getElementById(id);
const LONGEST = 4000;   // letters of one text: a browser hangs over a word of a million
const SVG = "http://www.w3.org/2000/svg";

const short = text => typeof text === "string" && text.length > LONGEST ? `${text.slice(0, LONGEST)} ...` : text;

function fill(node, given, children) {
  for (const [name, value] of Object.entries(given || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "class") node.setAttribute("class", value);
    else if (name === "value") node.value = value;
    else if (name === "text") node.textContent = short(value);
    else if (name === "style") for (const [key, one] of Object.entries(value)) node.style.setProperty(key, one);
    else if (value === true) { node.setAttribute(name, ""); if (name in node) node[name] = true; }
    else node.setAttribute(name, short(value));
  }
  node.append(...children.flat().filter(child => child !== null && child !== undefined && child !== false));
  return node;
}
export const h = (tag, given, ...children) => fill(document.createElement(tag), given, children);
export const s = (tag, given, ...children) => fill(document.createElementNS(SVG, tag), given, children);

// What an element is to a person: its words, within what has a key.
function identity(node, within) {
  const path = [node.tagName, node.ariaLabel || (node.tagName === "SELECT" ? "" : node.textContent)];
  for (let one = node; one !== within; one = one.parentNode) path.push(one.dataset.key ?? one.dataset.item ?? "");
  return path.join("|");
}
// The children of a node anew; what is not there is left out. The keyboard stays where it was.
export function put(node, ...children) {
  const held = document.activeElement, known = held !== node && node.contains(held) ? identity(held, node) : null;
  node.replaceChildren(...children.flat().filter(child => child !== null && child !== undefined && child !== false));
  if (known && !held.isConnected) [...node.querySelectorAll(held.tagName)].find(one => identity(one, node) === known)?.focus({ preventScroll: true });
}

export function button(text, onclick, more) { return h("button", { type: "button", onclick, ...more }, text); }

export function notice(text) { $("notice").textContent = text; $("notice").hidden = !text; }

export function clock(seconds) {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${String(whole % 60).padStart(2, "0")} s`;
  return `${Math.floor(whole / 3600)} h ${Math.floor(whole % 3600 / 60)} min`;
}
export function about(seconds) {
  if (seconds < 90) return `${Math.max(5, Math.round(seconds / 5) * 5)} s`;
  return seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}
export const method = name => ({ physplan: "PhysPlan", base: "Base model" }[name] || name.replace(/^./, letter => letter.toUpperCase()).replace(/_/g, " ").replace(".", ", "));
export function ago(time) {
  const past = Date.now() / 1000 - time;
  if (past < 60) return "just now";
  if (past < 3600) return `${Math.floor(past / 60)} min ago`;
  if (past < 86400) return `${Math.floor(past / 3600)} h ago`;
  return new Date(time * 1000).toLocaleDateString();
}
export const plural = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;
export function later(time, act) {
  let timer = 0;
  return (...given) => { clearTimeout(timer); timer = setTimeout(() => act(...given), time); };
}
// A dialog that asks before something is taken away. Resolves to true or false.
export function confirm(title, text, yes) {
  return new Promise(done => {
    const box = h("dialog", { class: "dialog", "aria-label": title, onclose: () => { box.remove(); done(box.returnValue === "yes"); } },
      h("h2", { text: title }), h("p", { text }),
      h("div", { class: "row end" }, button("Cancel", () => box.close("no")), button(yes, () => box.close("yes"), { class: "main" })));
    document.body.append(box);
    box.showModal();
  });
}
