// The first page: a picture, a sentence, a recipe, what it will cost, and one button.

import { ask, file, picture, upload } from "./api.js";
import { about as roughly, button, h, later, method, notice, put } from "./dom.js";

const ABOUT = { physplan: "PhysPlan: plan, keyframes, guided video", base: "Base model: the sentence alone", sketch: "Sketch: the video model starts from the sketch", storyboard: "Storyboard: the sketch itself, no video model" };

export const explained = name => ABOUT[name] || method(name);

export function cost(found) {
  const time = found.seconds === null ? "not known yet" : `about ${roughly(found.seconds)}`;
  const source = found.seconds === null ? "No run like this was made here." : found.like ? `As ${found.like === 1 ? "an earlier run" : `${found.like} earlier runs`} took here.` : "On one free core.";
  const money = found.usd === null ? "price unknown" : found.usd === 0 ? "nothing" : `about ${found.usd.toFixed(2)} USD`;
  const card = (title, value, note) => h("div", { class: "figure" }, h("span", { class: "soft small", text: title }), h("b", { text: value }), h("span", { class: "soft small", text: note }));
  return h("div", { class: "figures" },
    card("Time", time, found.ahead ? `${source} ${found.ahead} ahead in the queue.` : source),
    card("Memory", `about ${found.memory_gb} GB`, `on ${found.device}`),
    card("Money", money, found.calls ? `${found.calls} calls${found.known_events ? "" : `, for ${found.events} events`}` : "No calls go out."));
}
export function lacking(found) {
  return found.missing.length ? h("div", { class: "warn" }, h("b", { text: "This machine lacks:" }), h("ul", {}, ...found.missing.map(one => h("li", { text: `${one.what} (${one.fix})` })))) : null;
}
export function stages(found) {
  return h("details", {}, h("summary", { text: "What will be done" }), h("ol", { class: "stages" }, ...found.work.map(one =>
    h("li", { class: one.done ? "done" : "" }, h("b", { text: one.stage === "latents" ? "sampling" : one.stage }), ` ${one.what}`))));
}

export async function compose(studio, query) {
  const { about } = studio;
  const chosen = { picture: null, prompt: "", preset: "sandbox", method: "physplan", seed: 0, attempts: 1, settings: {}, like: "", recipe: "", plan: null, name: "" };
  const from = query.get("from");
  let before = null;
  if (from) {
    before = (await ask("state", { run: from })).details;
    Object.assign(chosen, { picture: before.picture, prompt: before.prompt, preset: before.preset || "sandbox", method: before.method, seed: before.seed, like: from, plan: before.plan });
  }
  const shown = h("div", { class: "chosen" }), told = h("p", { class: "good small", role: "status" });
  const error = h("p", { class: "fault", role: "alert", hidden: true });
  const wrong = h("p", { class: "fault", role: "alert", hidden: true }), refuse = text => { wrong.textContent = text; wrong.hidden = !text; };
  const fail = text => { error.textContent = text || ""; error.hidden = !text; };
  const forecast = h("div", { class: "forecast" });
  const input = h("input", { type: "file", accept: "image/png,image/jpeg,image/webp,video/mp4", class: "hidden-file", id: "file", onchange: () => take(input.files[0]) });
  const drop = h("div", { class: "drop" }, shown, h("div", { class: "row" }, h("label", { class: "button", for: "file", text: "Choose a picture" }), input, h("span", { class: "soft small", text: "or drop one here: PNG, JPEG or WebP, up to 30 MB. A video of PhysPlan's gives its settings and plan back." })), told, wrong);
  for (const kind of ["dragenter", "dragover"]) drop.addEventListener(kind, event => { event.preventDefault(); drop.classList.add("over"); });
  for (const kind of ["dragleave", "drop"]) drop.addEventListener(kind, event => { event.preventDefault(); drop.classList.remove("over"); });
  drop.addEventListener("drop", event => event.dataTransfer.files[0] && take(event.dataTransfer.files[0]));
  const words = h("textarea", { id: "words", rows: 2, maxlength: 2000, value: chosen.prompt, placeholder: "an ice cube melting in the sun",
    oninput: () => { chosen.prompt = words.value; if (before && words.value !== before.prompt) chosen.plan = null; cast(); } });
  const start = button("Plan it", () => go(), { class: "main large" });

  async function take(file) {
    if (!file) return;
    refuse("");
    try {
      const found = await upload(file.type.startsWith("video/") || /\.mp4$/i.test(file.name) ? "video" : "picture", file);
      if (found.prompt !== undefined) return recovered(found);
      chosen.name = file.name;
      choose(found.picture, null);
    } catch (refusal) { refuse(refusal.message); }
    finally { input.value = ""; }   // the same file may be tried again
  }
  function recovered(found) {
    Object.assign(chosen, { picture: found.picture, prompt: found.prompt, preset: found.preset, method: found.method, seed: found.seed, settings: {}, like: "", recipe: found.recipe, plan: found.plan, name: "of the video" });
    before = { prompt: found.prompt };
    words.value = found.prompt;
    told.textContent = `Read from the video: its picture, sentence, settings${found.plan ? ` and plan of ${found.plan.events.length} events` : ""}.${found.left_out.length ? ` Not taken: ${found.left_out.join(", ")}.` : ""}`;
    refresh();
    choose(found.picture, null, true);
  }
  function choose(id, sample, keep) {
    chosen.picture = id;
    refuse("");
    if (!keep) { chosen.plan = null; chosen.like = chosen.recipe = ""; told.textContent = ""; }
    if (sample) { chosen.prompt = words.value = sample.prompt; chosen.name = sample.name; }
    present();
    for (const node of samples.children) node.setAttribute("aria-pressed", String(node.dataset.picture === id));
    cast();
  }
  function present() {
    put(shown, chosen.picture ? h("img", { src: picture(chosen.picture), alt: `The chosen picture${chosen.name ? `: ${chosen.name}` : ""}` }) : h("div", { class: "blank" }, h("b", { text: "No picture yet" }), h("span", { class: "soft", text: "Drop one here, or take a sample below." })));
  }
  const samples = h("div", { class: "samples", role: "group", "aria-label": "Samples" }, ...about.samples.map(sample =>
    h("button", { type: "button", class: "sample", "data-picture": sample.picture, "aria-pressed": "false", title: sample.prompt, onclick: () => choose(sample.picture, sample) },
      h("img", { src: picture(sample.picture), alt: "", loading: "lazy" }), h("span", { text: sample.name.replace(/[-_]/g, " ") }))));
  const presets = h("div", { class: "presets", role: "radiogroup", "aria-label": "Preset" });
  const more = h("div", {});
  function refresh() {
    const card = preset => h("label", { class: "preset" },
      h("input", { type: "radio", name: "preset", value: preset.name, checked: preset.name === chosen.preset, onchange: () => { chosen.preset = preset.name; chosen.method = preset.method; chosen.like = chosen.recipe = ""; chosen.plan = null; chosen.settings = {}; refresh(); cast(); } }),
      h("span", {}, h("span", { class: "row" }, h("b", { text: preset.name }), preset.missing.length ? h("span", { class: "chip warn", title: preset.missing.join("\n"), text: `needs ${preset.missing.length} more here` }) : h("span", { class: "chip good", text: "ready" })),
        h("span", { class: "soft small", text: preset.about })));
    // What can run here comes first; the rest is there to be read about.
    const first = about.presets.filter(preset => !preset.missing.length || preset.name === chosen.preset), rest = about.presets.filter(preset => !first.includes(preset));
    put(presets, h("div", { class: "preset-grid" }, ...first.map(card)),
      rest.length ? h("details", { open: presets.querySelector("details")?.open }, h("summary", { text: `${rest.length} more, which need something that is not here: ${rest.map(preset => preset.name).join(", ")}` }), h("div", { class: "preset-grid" }, ...rest.map(card))) : null);
    const quick = chosen.settings["video.num_inference_steps"] === about.quick["video.num_inference_steps"];
    put(more, h("div", { class: "more" },
      h("label", {}, "Method", h("select", { onchange: event => { chosen.method = event.target.value; cast(); } }, ...about.methods.map(name => h("option", { value: name, selected: name === chosen.method, text: explained(name) })))),
      h("label", {}, "Seed", h("input", { type: "number", min: 0, value: chosen.seed, oninput: event => { chosen.seed = Math.max(0, Math.floor(Number(event.target.value) || 0)); cast(); } })),
      chosen.preset === "sandbox" ? h("label", { class: "tick" }, h("input", { type: "checkbox", checked: quick, onchange: event => { chosen.recipe = chosen.like = ""; chosen.settings = event.target.checked ? { ...about.quick } : {}; cast(); } }), "Quick: fewer steps, coarser video") :
        h("label", {}, "Budget in USD", h("input", { type: "number", min: 0, step: 0.1, value: chosen.settings["runtime.budget"] ?? "", placeholder: "none", oninput: event => { const value = Number(event.target.value); if (event.target.value && value >= 0) chosen.settings["runtime.budget"] = value; else delete chosen.settings["runtime.budget"]; cast(); } }))));
  }
  const request = () => ({ picture: chosen.picture, prompt: chosen.prompt, preset: chosen.preset, method: chosen.method, seed: chosen.seed, attempts: chosen.attempts, settings: chosen.settings, like: chosen.like, recipe: chosen.recipe, plan: chosen.plan });
  let number = 0;
  const cast = later(250, async () => {
    const mine = ++number;
    fail("");
    start.textContent = chosen.plan ? "Open as a new run" : chosen.method === "base" ? "Make the video" : "Plan it";
    start.disabled = !chosen.picture || !chosen.prompt.trim();
    if (start.disabled) { put(forecast, h("p", { class: "soft", text: chosen.picture ? "Write what happens, in a sentence." : "Choose a picture; then this says what the run will cost." })); return; }
    if (!forecast.querySelector(".figures")) put(forecast, h("p", { class: "soft", text: "Working out what it will cost ..." }));
    try {
      const found = await ask("forecast", request());
      if (mine === number) put(forecast, ...[cost(found), lacking(found), stages(found)].filter(Boolean));
    } catch (refusal) { if (mine === number) { put(forecast); fail(refusal.message); } }
  });
  async function go() {
    start.disabled = true;
    fail("");
    const upto = chosen.plan ? "sketch" : chosen.method === "base" ? "video" : "plan";
    try {
      const { run } = await ask("start", { ...request(), run: from || undefined, new: true, upto });
      studio.wanted[run] = { method: chosen.method, seed: chosen.seed, settings: chosen.settings };
      location.hash = "#/run/" + encodeURIComponent(run);
    } catch (refusal) { fail(refusal.message); start.disabled = false; }
  }
  refresh();
  present();
  cast();
  notice("");
  const node = h("div", { class: "compose" },
    h("section", { class: "card pictures" }, h("h2", { text: "1. The picture" }), drop, h("h3", { text: "Samples of the small world" }), samples),
    h("section", { class: "card words" }, h("h2", {}, h("label", { for: "words", text: "2. What happens" })), words,
      before && from ? h("p", { class: "soft small", text: `A copy of ${from}. Its plan is kept while the sentence stays the same.` }) : null,
      h("h2", { text: "3. The recipe" }), presets, more,
      h("h2", { text: "4. What it will cost" }), forecast, error, h("div", { class: "row end" }, start)));
  return { title: "New", node: h("div", {}, h("h1", { text: "What happens next?" }), h("p", { class: "lead", text: "A picture and a sentence become a plan you can read and change, and then a video in which it happens." }), node) };
}
