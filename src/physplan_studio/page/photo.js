// A photograph to click on: an object is a list of clicks or a painted mask, and shows its mask at once.

import { ask, picture } from "./api.js";
import { grow, isEmpty, join, maskOf, store, stroke } from "./brush.js";
import { button, h, put } from "./dom.js";
import { hue } from "./timeline.js";

const STEP = 8;   // pixels of the frame that an arrow key moves the cross by
const GROWTH = 2, BRUSH = 12;   // pixels that an edge moves by; the brush's radius
const PAINTS = ["paint", "erase"];
const copy = value => JSON.parse(JSON.stringify(value));
const number = value => String(Math.round(value * 10) / 10);

export class Photo {
  // `changed` hears of objects and names; `names` gives what the sentence names.
  constructor({ changed, names }) {
    Object.assign(this, { changed, names, id: null, frame: null, objects: [], history: [], mode: "new", active: -1, cross: null, number: 0, brush: BRUSH, work: Promise.resolve() });
    this.stage = h("div", { class: "photo-stage", tabindex: 0, role: "application", "aria-label": "The photograph. Click on what should move; or move the cross with the arrow keys and press Enter." });
    this.stage.addEventListener("click", event => { if (this.frame && !PAINTS.includes(this.mode)) this.point(...this.at(event)); });
    this.stage.addEventListener("pointerdown", event => { if (this.frame && PAINTS.includes(this.mode)) this.drag(event); });
    this.stage.addEventListener("keydown", event => this.key(event));
    this.tools = h("div", { class: "row photo-tools" });
    this.list = h("ul", { class: "plain objects" });
    this.told = h("p", { class: "soft small", role: "status" });
    this.error = h("p", { class: "fault", role: "alert", hidden: true });
    this.node = h("div", { class: "photo" }, this.stage, this.told, this.error, this.list, this.tools);
  }
  at(event) {
    const box = this.stage.getBoundingClientRect();
    return [(event.clientX - box.left) / box.width * this.frame.width, (event.clientY - box.top) / box.height * this.frame.height];
  }
  typed() { return this.objects.map(one => one.typed); }
  fail(text) { this.error.textContent = text || ""; this.error.hidden = !text; }

  async open(id, objects) {
    if (this.id === id) return;
    const mine = ++this.number;
    Object.assign(this, { id, frame: null, objects: [], history: [], mode: "new", active: -1, cross: null });
    this.fail("");
    this.told.textContent = "Looking at the photograph ...";
    put(this.stage, h("img", { src: picture(id), alt: "The photograph" }));
    this.draw();
    try {
      const frame = await ask("photo", { picture: id });
      if (mine !== this.number) return;
      this.frame = frame;
      this.told.textContent = "Click on what should move.";
      for (const typed of objects || []) await this.restore(typed);
    } catch (refusal) { if (mine === this.number) { this.told.textContent = ""; this.fail(refusal.message); } }
    this.draw();
  }
  // An object of an earlier try, as it was typed.
  async restore(typed) {
    const painted = typed.match(/^(.*)=([0-9a-f]{64})$/s);
    if (painted) { this.put({ name: painted[1], points: [], typed, mask: painted[2] }, -1); return; }
    const [, name, rest] = typed.match(/^([^:@!]*)(.*)$/s);
    const points = [...rest.matchAll(/([@!])([\d.]+),([\d.]+)/g)].map(one => ({ x: Number(one[2]), y: Number(one[3]), inside: one[1] === "@" }));
    if (points.length) await this.see({ name, points });
  }
  key(event) {
    const by = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "z") { event.preventDefault(); this.undo(); return; }
    if (!this.frame || (!by && event.key !== "Enter" && event.key !== " ")) return;
    event.preventDefault();
    this.cross ||= [this.frame.width / 2, this.frame.height / 2];
    if (!by) { if (PAINTS.includes(this.mode)) this.paint([this.cross]); else this.point(...this.cross); return; }
    const far = event.shiftKey ? 5 * STEP : STEP;
    this.cross = [0, 1].map(k => Math.max(0, Math.min((k ? this.frame.height : this.frame.width) - 1, this.cross[k] + by[k] * far)));
    this.draw();
  }
  free() {
    const taken = new Set(this.objects.map(one => one.name)), named = this.names().find(name => !taken.has(name));
    if (named) return named;
    for (let i = 1; ; i++) { const name = i === 1 ? "object" : `object ${i}`; if (!taken.has(name)) return name; }
  }
  async point(x, y) {
    if (!this.frame) return;
    const before = this.mode === "new" ? null : this.objects[this.active];
    if (before?.typed.includes("=")) { await this.pointPainted(before, x, y); return; }
    const points = [...(before ? before.points : []), { x, y, inside: this.mode !== "cut" }];
    await this.see({ name: before ? before.name : this.free(), points }, before ? this.active : -1);
  }
  async see({ name, points }, index = -1) {
    const typed = name + points.map(one => `${one.inside ? "@" : "!"}${number(one.x)},${number(one.y)}`).join("");
    const { id } = this, began = performance.now();
    this.fail("");
    try {
      const found = await ask("click", { picture: id, object: typed });
      if (id !== this.id) return;
      this.keep();
      this.put({ name, points, typed, mask: found.mask }, index);
      this.told.textContent = `The ${name} is found (${Math.round(performance.now() - began)} ms).`;
    } catch (refusal) { this.fail(refusal.message); }
    this.draw();
    this.changed();
  }
  put(object, index) {
    if (index < 0) { this.objects.push(object); this.active = this.objects.length - 1; } else this.objects[index] = object;
  }
  // A click on an object that was painted: what it shows is added or cut.
  async pointPainted(before, x, y) {
    const inside = this.mode !== "cut";
    try {
      const found = await ask("click", { picture: this.id, object: `${before.name}@${number(x)},${number(y)}` });
      await this.reshape(async canvas => join(canvas, await maskOf(found.mask, this.frame), inside));
    } catch (refusal) { this.fail(refusal.message); }
  }
  drag(begin) {
    begin.preventDefault();
    this.stage.focus({ preventScroll: true });
    const spots = [this.at(begin)], ghost = h("canvas", { class: "ghost", width: this.frame.width, height: this.frame.height });
    const colour = this.mode === "paint" ? `hsl(${hue(Math.max(0, this.active))} 90% 55%)` : "#fff";
    this.stage.append(ghost);
    this.stage.setPointerCapture(begin.pointerId);
    const draw = now => { spots.push(this.at(now)); stroke(ghost, spots.slice(-2), this.brush, colour); };
    const end = () => { this.stage.removeEventListener("pointermove", draw); this.paint(spots); };
    stroke(ghost, spots, this.brush, colour);
    this.stage.addEventListener("pointermove", draw);
    this.stage.addEventListener("pointerup", end, { once: true });
  }
  paint(spots) {
    const colour = this.mode === "paint" ? "#fff" : "#000";
    return this.reshape(canvas => stroke(canvas, spots, this.brush, colour));
  }
  // The active object's mask, changed by hand; one change after the other.
  reshape(act) {
    this.work = this.work.then(() => this.reshaped(act)).catch(refusal => { this.fail(refusal.message); this.draw(); });
    return this.work;
  }
  async reshaped(act) {
    const { id } = this, index = this.objects[this.active] ? this.active : -1, before = this.objects[index];
    const canvas = await maskOf(before?.mask, this.frame), name = (before?.name || this.free()).replaceAll("_", " ");
    await act(canvas);
    this.fail("");
    if (isEmpty(canvas)) { this.draw(); this.fail(`Nothing of ${name} would be left: remove it with × instead.`); return; }
    const mask = await store(canvas);
    if (id !== this.id) return;
    this.keep();
    this.put({ name, points: [], typed: `${name}=${mask}`, mask }, index);
    this.told.textContent = `The mask of ${name} is painted.`;
    this.draw();
    this.changed();
  }
  keep() { this.history.push(copy([this.objects, this.active])); }
  undo() {
    if (!this.history.length) return;
    [this.objects, this.active] = this.history.pop();
    this.told.textContent = "Undone.";
    this.fail("");
    this.draw();
    this.changed();
  }
  rename(index, text) {
    const one = this.objects[index], name = text.trim().replaceAll("_", " ").replace(/[^\p{L}\p{N}' -]/gu, "").slice(0, 40), before = one.name;
    if (!name || name === before) { this.draw(); return; }
    if (this.objects.some(other => other !== one && other.name === name)) { this.fail(`Two objects are called ${name}: give each its own name.`); this.draw(); return; }
    this.keep();
    Object.assign(one, { name, typed: name + one.typed.slice(before.length) });
    this.fail("");
    this.draw();
    this.changed({ before, name });
  }
  // What is new has no object yet; what changes one means the last where none is chosen. One may paint a new one.
  setMode(name) {
    this.mode = name;
    if (name === "new") this.active = -1;
    else if (name !== "paint") this.held();
    this.draw();
  }
  held() { if (this.active < 0) this.active = this.objects.length - 1; }
  choose(index) {
    this.active = index;
    [...this.list.children].forEach((one, i) => one.classList.toggle("active", i === index));
  }
  remove(index) { this.keep(); this.objects.splice(index, 1); this.active = this.objects.length - 1; if (this.active < 0) this.mode = "new"; this.draw(); this.changed(); }
  draw() {
    const { frame, objects } = this, percent = (value, of) => `${100 * value / of}%`;
    if (frame) {
      put(this.stage, h("img", { src: picture(frame.frame), alt: "The photograph", width: frame.width, height: frame.height, draggable: "false" }),
        ...objects.map((one, i) => h("div", { class: "mask", style: { "--hue": hue(i), "--mask": `url("${new URL(picture(one.mask), document.baseURI).href}")` } })),
        ...objects.flatMap((one, i) => one.points.map(point => h("span", { class: `dot ${point.inside ? "" : "beside"}`, style: { "--hue": hue(i), left: percent(point.x, frame.width), top: percent(point.y, frame.height) } }))),
        this.cross ? h("span", { class: "cross", style: { left: percent(this.cross[0], frame.width), top: percent(this.cross[1], frame.height) } }) : null);
    }
    put(this.list, ...objects.map((one, i) => h("li", { "data-key": i, class: i === this.active ? "active" : "", style: { "--hue": hue(i) } }, h("span", { class: "swatch", "aria-hidden": "true" }),
      h("input", { value: one.name, maxlength: 40, "aria-label": `Name of object ${i + 1}`, onfocus: () => this.choose(i), onchange: event => this.rename(i, event.target.value) }),
      h("span", { class: "soft small", text: one.typed.includes("=") ? "painted" : "" }),
      button("×", () => this.remove(i), { class: "quiet small", "aria-label": `Remove ${one.name}` }))));
    const some = objects.length > 0;
    const mode = (name, text, title) => button(text, () => this.setMode(name), { class: "small", title, "aria-pressed": String(this.mode === name), disabled: !some && ["add", "cut", "erase"].includes(name) });
    const edge = (by, text) => button(text, () => { this.held(); this.reshape(canvas => grow(canvas, by)); }, { class: "small", disabled: !some, title: `By ${GROWTH} pixels on every side` });
    const size = h("label", { class: "brush small soft" }, "Brush", h("input", { type: "range", min: 2, max: 60, value: this.brush, oninput: event => { this.brush = Number(event.target.value); } }));
    put(this.tools, mode("new", "New object"), mode("add", "Add to it", "A click adds what it shows"), mode("cut", "Cut from it", "A click cuts what it shows"),
      mode("paint", "Paint"), mode("erase", "Erase"), PAINTS.includes(this.mode) ? size : null, edge(GROWTH, "Grow"), edge(-GROWTH, "Shrink"),
      button("Undo", () => this.undo(), { class: "small", disabled: !this.history.length, title: "Ctrl Z" }));
    this.stage.classList.toggle("painting", PAINTS.includes(this.mode));
    this.tools.hidden = !frame;
  }
}
