// The plan as one edits it: every change is a step that can be undone, and is checked at once by the server.

import { ask } from "./api.js";
import { button, h, later, plural, put } from "./dom.js";
import { hue, shares, timeline } from "./timeline.js";

const copy = value => JSON.parse(JSON.stringify(value));

// Without what follows from the rest: the server computes that anew.
export function core(plan) {
  return { ...plan, events: plan.events.map(({ delta, edits, motion, instruction, instruction_by, instruction_for }) => ({ delta, edits, ...(motion && motion.length ? { motion } : {}),
    ...(instruction ? { instruction, ...(instruction_by ? { instruction_by } : {}), ...(instruction_for ? { instruction_for } : {}) } : {}) })) };
}
// Who but the user wrote an instruction, and for which edits, makes no other plan.
const bare = plan => ({ ...core(plan), events: core(plan).events.map(({ instruction_for, instruction_by, ...rest }) => ({ ...rest, own: instruction_by === "user" })) });
const same = (a, b) => JSON.stringify(bare(a)) === JSON.stringify(bare(b));

export class PlanEditor {
  constructor(plan, vocabulary, onchange) {
    this.original = copy(plan);
    this.plan = copy(plan);
    this.vocabulary = vocabulary;
    this.onchange = onchange;
    this.history = [copy(plan)];
    this.at = 0;
    this.faults = [];
    this.number = 0;
    this.checked = true;
    this.soon = later(120, () => this.check());
    this.node = h("div", { class: "plan" });
    this.render();
  }
  get changed() { return !same(this.plan, this.original); }
  get holds() { return this.checked && !this.faults.length; }

  // Whether the server's plan is the one that is edited here: as it was, or as it has become by now. Then what
  // was changed is no longer a change, and can still be undone.
  adopt(plan) {
    if (same(plan, this.original)) return true;
    if (!same(plan, this.plan)) return false;
    this.original = copy(plan);
    this.status();
    return true;
  }

  // ---- changes
  touch() { this.checked = false; this.soon(); this.status(); }
  keep() {
    if (same(this.plan, this.history[this.at])) return;
    this.history.length = this.at + 1;
    this.history.push(copy(this.plan));
    this.at += 1;
    this.touch();
  }
  change(act) { act(); this.keep(); this.render(); }
  step(by) {
    this.keep();   // what is still being typed is a step as well
    if (!this.history[this.at + by]) return;
    this.at += by;
    this.plan = copy(this.history[this.at]);
    this.render();
    this.touch();
  }
  async check() {
    const number = ++this.number;
    let found;
    try { found = await ask("check", { plan: core(this.plan) }); }
    catch (error) { found = { ok: false, faults: [{ event: null, part: null, index: null, message: error.message }] }; }
    if (number !== this.number) return;
    this.checked = true;
    this.faults = found.faults;
    if (found.ok) {
      found.plan.events.forEach((event, i) => { Object.assign(this.plan.events[i], { anchor: event.anchor, graph: event.graph, net_edits: event.net_edits }); });
      found.plan.events.forEach((event, i) => { this.instructed(i, event); });
      this.line();
    }
    this.mark();
    this.status();
  }
  instructed(index, { instruction, instruction_by, instruction_for }) {
    const event = this.plan.events[index], box = this.node.querySelector(`[data-instruction="${index}"]`);
    if (!instruction || document.activeElement === box) return;
    for (const one of [event, this.history[this.at].events[index]]) Object.assign(one, { instruction, instruction_by, instruction_for });
    if (box && box.value !== instruction) box.value = instruction;
    this.whose(index);
  }
  whose(index) {
    const node = this.node.querySelector(`[data-whose="${index}"]`);
    if (node) node.hidden = this.plan.events[index].instruction_by !== "user";
  }

  // ---- what is shown
  render() {
    const scrolled = this.columns ? this.columns.scrollLeft : 0;
    this.slot = h("div", { class: "faults", role: "alert" });
    this.lineSlot = h("div", {});
    this.columns = h("div", { class: "columns", style: { "--events": this.plan.events.length } }, ...this.plan.events.map((event, i) => this.column(event, i)),
      h("div", { class: "add-event" }, button("+ Add an event", () => this.addEvent(), { class: "quiet" })));
    this.undo = button("Undo", () => this.step(-1), { title: "Ctrl Z" });
    this.redo = button("Redo", () => this.step(1), { title: "Ctrl Shift Z" });
    this.reset = button("Reset", () => this.change(() => { this.plan = copy(this.original); }));
    this.state = h("p", { class: "state", role: "status" });
    put(this.node, 
      h("div", { class: "tools" }, this.state, h("div", { class: "row" }, this.undo, this.redo, this.reset)),
      this.lineSlot, this.slot, this.lists(), this.columns);
    this.columns.scrollLeft = scrolled;
    this.line();
    this.mark();
    this.status();
  }
  line() {
    const held = document.activeElement && document.activeElement.closest(".anchor");
    const index = held ? [...this.lineSlot.querySelectorAll(".anchor")].indexOf(held) : -1;
    if (held && held.classList.contains("dragged")) return;
    const anchors = this.plan.events.map(event => event.anchor);
    if (anchors.some(anchor => anchor === undefined)) { put(this.lineSlot); return; }
    put(this.lineSlot, timeline(this.plan, {
      moved: fractions => {
        fractions.forEach((fraction, i) => { this.plan.events[i].delta.fraction = fraction; });
        let sum = 0;
        fractions.forEach((fraction, i) => { sum += fraction; this.plan.events[i].anchor = Math.round(sum * (this.plan.num_frames - 1)); this.timed(i); });
      },
      settled: () => this.keep(),
      chosen: i => this.columns.children[i].scrollIntoView({ behavior: "smooth", block: "nearest", inline: "center" }),
    }));
    if (index >= 0) this.lineSlot.querySelectorAll(".anchor")[index]?.focus();
    this.plan.events.forEach((_, i) => this.timed(i));
  }
  timed(i) {
    const node = this.node.querySelector(`[data-time="${i}"]`), event = this.plan.events[i];
    if (node) node.textContent = `${Math.round(event.delta.fraction * 100)} % of the time${event.anchor === undefined ? "" : `, until frame ${event.anchor}`}`;
  }
  status() {
    if (!this.state) return;
    this.undo.disabled = this.at === 0 && same(this.plan, this.history[this.at]);
    this.redo.disabled = this.at + 1 >= this.history.length;
    this.reset.disabled = !this.changed;
    const count = this.faults.length;
    this.state.className = `state ${!this.checked ? "" : count ? "bad" : "good"}`;
    this.state.textContent = !this.checked ? "Checking ..." : count ? `${plural(count, "problem")}: see below` : this.changed ? "All four checks pass. You changed this plan." : "All four checks pass";
    this.onchange(this);
  }
  mark() {
    for (const old of this.node.querySelectorAll(".fault")) old.remove();
    for (const old of this.node.querySelectorAll("[aria-invalid]")) old.removeAttribute("aria-invalid");
    for (const fault of this.faults) {
      const words = h("p", { class: "fault" }, fault.check ? h("b", { text: fault.check }) : null, fault.message.replace(/^edits\[\d+\] \w+\([^)]*\)( \([^)]*\))?: |^motion\[\d+\] [^:]*: [^:]*: /, ""));
      const column = fault.event === null ? null : this.columns.children[fault.event];
      const item = column && fault.part && fault.index !== null ? column.querySelector(`[data-item="${fault.part}-${fault.index}"]`) : null;
      if (item) {
        const fields = [...item.querySelectorAll("input")], named = fields.filter(one => one.value ? fault.message.includes(`'${one.value}'`) : fault.message.includes("empty"));
        item.append(words);
        (named.length ? named : fields).forEach(one => one.setAttribute("aria-invalid", "true"));
      }
      else if (column && column.classList.contains("event")) column.querySelector(".faults").append(words);
      else this.slot.append(words);
    }
  }
  lists() {
    const objects = new Set(this.plan.graph.nodes.map(node => node.id));
    this.plan.events.forEach(event => event.edits.forEach(edit => edit.op === "Spawn" && edit.id && objects.add(edit.id)));
    const list = (id, values) => h("datalist", { id }, ...[...values].map(value => h("option", { value })));
    const words = Object.entries(this.vocabulary.attributes).map(([key, examples]) => list(`values-${key}`, examples));
    return h("div", { hidden: true }, list("objects", objects), list("categories", new Set(this.plan.graph.nodes.map(node => node.category))), ...words);
  }

  // ---- one event
  column(event, i) {
    const states = event.delta.states.map((state, j) => this.stateRow(event, state, j));
    const edits = event.edits.map((edit, j) => this.editRow(event, edit, j));
    const motions = (event.motion || []).map((motion, j) => this.motionRow(event, motion, j));
    const instruction = h("textarea", { rows: 3, value: event.instruction || "", "data-instruction": i, "aria-label": `Instruction of keyframe ${i + 1}`,
      oninput: now => { event.instruction = now.target.value; event.instruction_by = "user"; this.whose(i); this.touch(); }, onchange: () => this.keep() });
    const own = h("p", { class: "soft small", "data-whose": i, hidden: event.instruction_by !== "user" }, "In your words: kept when the edits change. ",
      button("Rewrite from the edits", () => this.change(() => { event.instruction_by = "draft"; delete event.instruction_for; }), { class: "quiet small" }));
    return h("section", { class: "event", "data-key": i, style: { "--hue": hue(i) }, "aria-label": `Event ${i + 1}` },
      h("header", {}, h("span", { class: "number", text: i + 1 }), h("div", {}, h("h3", { text: `Event ${i + 1}` }), h("p", { class: "soft small", "data-time": i })),
        button("Remove", () => this.removeEvent(i), { class: "quiet small", "aria-label": `Remove event ${i + 1}`, disabled: this.plan.events.length < 2 })),
      h("div", { class: "faults", role: "alert" }),
      h("h4", { text: "State after the event" }), ...states,
      button("+ State", () => this.change(() => event.delta.states.push({ object: "", state: "", rule: "" })), { class: "quiet small" }),
      h("h4", { text: "Edits to the scene" }), ...edits,
      button("+ Edit", () => this.change(() => event.edits.push({ op: "Update", o: "", key: "material_phase", value: "" })), { class: "quiet small" }),
      h("h4", { text: "Motion" }), ...motions,
      button("+ Motion", () => this.change(() => (event.motion ||= []).push({ o: "", law: "linear" })), { class: "quiet small" }),
      h("details", {}, h("summary", { text: "Instruction for the keyframe" }), instruction, own));
  }
  field(target, name, label, more, tag = "input") {
    return h(tag, { value: target[name] ?? "", "aria-label": label, placeholder: label, autocomplete: "off", spellcheck: "false", ...more,
      oninput: event => { target[name] = event.target.value; this.touch(); }, onchange: () => { this.keep(); } });
  }
  choice(target, name, label, options, changed) {
    return h("select", { "aria-label": label, onchange: event => this.change(() => { target[name] = event.target.value; if (changed) changed(event.target.value); }) },
      ...options.map(option => h("option", { value: option, selected: option === target[name], text: option.replace("_", " ") })));
  }
  remove(list, j, what) { return button("×", () => this.change(() => list.splice(j, 1)), { class: "remove", "aria-label": `Remove this ${what}` }); }

  stateRow(event, state, j) {
    return h("div", { class: "item", "data-item": `states-${j}` },
      h("div", { class: "line" }, this.field(state, "object", "object", { list: "objects", class: "object" }), this.field(state, "state", "its state"), this.remove(event.delta.states, j, "state")),
      h("div", { class: "line rule" }, this.field(state, "rule", "the rule behind it", { rows: 1, onkeydown: event => { if (event.key === "Enter") { event.preventDefault(); event.target.blur(); } } }, "textarea")),
      state.new_object ? h("p", { class: "soft small" }, "new: ", h("b", { text: state.new_object.id }), ` from ${state.new_object.source}`) : null);
  }
  editRow(event, edit, j) {
    const fresh = { Update: { o: "", key: "material_phase", value: "" }, Link: { a: "", r: "support", b: "" }, Unlink: { a: "", r: "support", b: "" }, Spawn: { id: "", source: "", category: "", attributes: {} }, Consume: { o: "" } };
    const op = h("select", { class: "op", "aria-label": "Kind of edit", onchange: now => this.change(() => { event.edits[j] = { op: now.target.value, ...fresh[now.target.value], ...(edit.o && "o" in fresh[now.target.value] ? { o: edit.o } : {}) }; }) },
      ...this.vocabulary.operators.map(name => h("option", { value: name, selected: name === edit.op, text: name })));
    const object = { list: "objects", class: "object" };
    const parts = {
      Update: () => [this.field(edit, "o", "object", object), this.choice(edit, "key", "attribute", Object.keys(this.vocabulary.attributes)), this.field(edit, "value", "new value", { list: `values-${edit.key}` })],
      Link: () => [this.field(edit, "a", "object", object), this.choice(edit, "r", "relation", Object.keys(this.vocabulary.relations)), this.field(edit, "b", "object", object)],
      Spawn: () => [this.field(edit, "id", "new id", { class: "object" }), h("span", { class: "soft small", text: "from" }), this.field(edit, "source", "object", object), h("span", { class: "break" }), this.field(edit, "category", "category", { list: "categories", class: "category" }), this.attributes(edit)],
      Consume: () => [this.field(edit, "o", "object", object)],
    };
    parts.Unlink = parts.Link;
    return h("div", { class: `item edit op-${edit.op}`, "data-item": `edits-${j}` },
      h("div", { class: "line" }, op, ...(parts[edit.op] || parts.Consume)(), this.remove(event.edits, j, "edit")));
  }
  attributes(edit) {
    const shown = Object.entries(edit.attributes || {}).map(([key, value]) => `${key.replace("_", " ")}: ${value}`).join(", ");
    return h("input", { value: shown, "aria-label": "Attributes of the new object", placeholder: "color: clear, extent: small", class: "wide", autocomplete: "off",
      oninput: event => {
        edit.attributes = Object.fromEntries(event.target.value.split(",").map(part => part.split(":").map(word => word.trim())).filter(pair => pair[0]).map(([key, value]) => [key.replace(" ", "_"), value || ""]));
        this.touch();
      }, onchange: () => this.keep() });
  }
  motionRow(event, motion, j) {
    const law = this.vocabulary.laws[motion.law] || { formula: "", parameters: {} };
    const fields = Object.entries(law.parameters).map(([name, known]) => {
      const number = known.low !== null;
      if (known.choices.length) return h("label", { class: "parameter" }, name, h("select", { onchange: now => this.change(() => { motion[name] = now.target.value; }) },
        ...known.choices.map(one => h("option", { value: one, selected: one === (motion[name] ?? known.default), text: one }))));
      return h("label", { class: "parameter", title: known.means }, name, h("input", { value: motion[name] ?? "", placeholder: known.default ?? "", list: number ? null : "objects", inputmode: number ? "decimal" : null,
        oninput: now => {
          const text = now.target.value.trim();
          if (!text) delete motion[name]; else motion[name] = number && !Number.isNaN(Number(text)) ? Number(text) : text;
          this.touch();
        }, onchange: () => this.keep() }));
    });
    return h("div", { class: "item", "data-item": `motion-${j}` },
      h("div", { class: "line" }, this.field(motion, "o", "object", { list: "objects", class: "object" }),
        this.choice(motion, "law", "law of motion", Object.keys(this.vocabulary.laws), () => { for (const name of Object.keys(motion)) if (name !== "o" && name !== "law") delete motion[name]; }),
        this.remove(event.motion, j, "motion")),
      fields.length ? h("details", {}, h("summary", { text: this.told(motion) || "default parameters" }), h("p", { class: "soft small", text: law.formula }), h("div", { class: "parameters" }, ...fields)) : null);
  }
  told(motion) { return Object.entries(motion).filter(([name]) => name !== "o" && name !== "law").map(([name, value]) => `${name} ${value}`).join(", "); }

  addEvent() {
    this.change(() => {
      const events = this.plan.events, frames = this.plan.num_frames;
      const anchors = [...events.map(event => event.anchor ?? 1), Math.min(frames - 2, (events.at(-1).anchor ?? 1) + Math.max(2, Math.round(frames / 6)))];
      for (let i = anchors.length - 2; i >= 0; i--) anchors[i] = Math.min(anchors[i], anchors[i + 1] - 1);
      const object = events.at(-1).delta.states[0]?.object || this.plan.graph.nodes[0]?.id || "";
      events.push({ delta: { states: [{ object, state: "", rule: "" }], fraction: 0.1 }, edits: [{ op: "Update", o: object, key: "material_phase", value: "" }] });
      this.retime(anchors);
    });
    this.columns.lastElementChild.previousElementSibling.querySelector('[aria-label="its state"]').focus({ preventScroll: true });
    this.columns.lastElementChild.scrollIntoView({ behavior: "smooth", block: "nearest", inline: "end" });
  }
  removeEvent(i) {
    this.change(() => {
      this.plan.events.splice(i, 1);
      const anchors = this.plan.events.map(event => event.anchor);
      if (anchors.every(anchor => anchor !== undefined)) this.retime(anchors);
    });
  }
  retime(anchors) {
    shares(anchors, this.plan.num_frames).forEach((fraction, i) => { this.plan.events[i].delta.fraction = fraction; this.plan.events[i].anchor = anchors[i]; });
  }
}
