// The first page: a photograph to click on, a sentence, and one button. Drawn scenes and recipes are a step behind.

import { ask, file, picture, upload } from "./api.js";
import { about as roughly, button, h, later, method, notice, put } from "./dom.js";
import { Photo } from "./photo.js";

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

// The preset's own method, the base model and the sketch; the rest is for research. What the chosen one does stands below.
export function methodMenu(about, preset, chosen, pick) {
  const first = [...new Set([about.presets.find(one => one.name === preset)?.method, "base", "sketch"])].filter(name => name && about.methods[name]);
  const option = name => h("option", { value: name, selected: name === chosen, text: method(name) });
  const says = h("p", { class: "says small", text: about.methods[chosen] });
  const select = h("select", { onchange: event => { says.textContent = about.methods[event.target.value]; pick(event.target.value); } }, ...first.map(option),
    h("optgroup", { label: "Research" }, ...Object.keys(about.methods).filter(name => !first.includes(name)).map(option)));
  return [h("label", {}, "Method", select), says];
}

// `failed`: a run without a plan, to be corrected in place: { run, job }.
export async function compose(studio, query, failed) {
  const { about } = studio, photos = about.photo.ready;
  const own = name => about.presets.find(one => one.name === name).method;
  const chosen = { picture: null, prompt: "", preset: photos ? "photo" : "sandbox", method: own(photos ? "photo" : "sandbox"), seed: 0, attempts: 1, settings: {}, like: "", recipe: "", plan: null, name: "" };
  if (failed) Object.assign(chosen, { picture: failed.job.picture, prompt: failed.job.prompt, preset: failed.job.preset, method: failed.job.method || own(failed.job.preset), seed: failed.job.seed });
  let named = [];
  const photo = new Photo({ names: () => named, changed: renamed => {
    if (renamed && new RegExp(`\\b${renamed.before}\\b`, "i").test(words.value)) { words.value = words.value.replace(new RegExp(`\\b${renamed.before}\\b`, "gi"), renamed.name); chosen.prompt = words.value; read(); }
    cast();
  } });
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
  const words = h("textarea", { id: "words", rows: 2, maxlength: 2000, value: chosen.prompt, placeholder: photos ? "the rocket rises, then bursts" : "an ice cube melting in the sun",
    oninput: () => { chosen.prompt = words.value; if (before && words.value !== before.prompt) chosen.plan = null; read(); cast(); } });
  const unread = h("p", { class: "soft small", role: "status" });
  // What the sentence names, so that the next click has its name; or why the verbs' grammar cannot read it.
  const read = later(150, async () => {
    if (chosen.preset !== "photo" || !chosen.prompt.trim()) { named = []; unread.textContent = ""; return; }
    const found = await ask("sentence", { prompt: chosen.prompt }).catch(() => ({ names: [], problem: "" }));
    named = found.names;
    unread.textContent = found.problem;
  });
  const verb = h("select", { id: "verb", "aria-label": "Verb", onchange: () => {
    if (!verb.value) return;
    chosen.prompt = words.value = verb.value.replaceAll("{}", photo.objects[photo.active]?.name || named[0] || "object");
    verb.value = "";
    read();
    cast();
  } }, h("option", { value: "", text: "or choose a verb" }), ...about.photo.verbs.map(one => h("option", { value: one.template, text: `${one.name}: ${one.does}` })));
  const verbs = h("div", { class: "verbs soft small" }, verb);
  const start = button("Plan it", () => go(), { class: "main large", "data-action": "" });

  const hand = button("Plan by hand", () => byHand(), { title: "A plan with the clicked objects, to be changed by hand" });
  // A plan with the clicked objects and one event: the next page is where it is made.
  async function byHand() {
    hand.disabled = true;
    fail("");
    try {
      const { plan } = await ask("by_hand", { picture: chosen.picture, prompt: chosen.prompt, objects: photo.typed() });
      Object.assign(chosen, { plan, prompt: plan.prompt });
      await go();
    } catch (refusal) { fail(refusal.message); }
    finally { chosen.plan = null; cast(); }
  }
  async function take(file) {
    if (!file) return;
    refuse("");
    try {
      const found = await upload(file.type.startsWith("video/") || /\.mp4$/i.test(file.name) ? "video" : "picture", file);
      if (found.prompt !== undefined) return recovered(found);
      chosen.name = file.name;
      if (photos && chosen.preset === "sandbox") pick("photo");
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
    if (sample) { chosen.prompt = words.value = sample.prompt || words.value; chosen.name = sample.name; read(); }
    present();
    for (const node of [...samples.children, ...shots.children]) node.setAttribute("aria-pressed", String(node.dataset.picture === id));
    cast();
  }
  function present() {
    const clickable = chosen.picture && chosen.preset === "photo" && photos;
    if (clickable) { photo.open(chosen.picture, failed && failed.job.picture === chosen.picture ? failed.job.objects : []); put(shown, photo.node); }
    else put(shown, chosen.picture ? h("img", { src: picture(chosen.picture), alt: `The chosen picture${chosen.name ? `: ${chosen.name}` : ""}` }) : h("div", { class: "blank" }, h("b", { text: photos ? "Drop a photograph" : "Drop a picture" }), h("span", { class: "soft", text: photos ? "Then click on what should move, and say what happens." : "Or take an example below." })));
  }
  const pick = name => { if (chosen.preset === name) return; Object.assign(chosen, { preset: name, method: own(name), settings: {}, like: "", recipe: "", plan: null }); refresh(); };
  const tile = sample => h("button", { type: "button", class: "sample", "data-picture": sample.picture, "aria-pressed": String(chosen.picture === sample.picture), title: sample.prompt, onclick: () => { pick(sample.preset || "sandbox"); choose(sample.picture, sample); } },
      h("img", { src: picture(sample.picture), alt: "", loading: "lazy" }), h("span", { text: sample.name.replace(/[-_]/g, " ") }));
  const samples = h("div", { class: "samples", role: "group", "aria-label": "Drawn scenes" });
  const shots = h("div", { class: "samples shots", role: "group", "aria-label": "Photographs" });
  const presets = h("div", { class: "presets", role: "radiogroup", "aria-label": "Preset" });
  const place = h("div", {}), count = h("summary", {});
  // Drawn scenes and photographs as they come: a studio that has just started is still drawing.
  async function offer() {
    put(samples, ...about.samples.map(tile));
    put(shots, ...about.photo.photographs.map(one => tile({ ...one, preset: "photo" })));
    put(place, shots.children.length ? shots : photos && about.complete ? fetched : null);
    count.textContent = `Examples: ${about.samples.length} drawn scenes of the sandbox`;
    if (about.complete) return;
    await new Promise(done => setTimeout(done, 1000));
    if (!node.isConnected) return;
    await ask("about", { wait: false }).then(found => Object.assign(about, found)).catch(() => {});
    offer();
  }
  const fetched = h("div", { class: "fetch" }, h("p", { class: "soft small", text: "No photograph at hand?" }), button("Fetch three to try (CC0, 12 MB)", event => get(event.target), { class: "small" }));
  async function get(pressed) {
    pressed.disabled = true;
    pressed.textContent = "Fetching ...";
    refuse("");
    try {
      about.photo.photographs = (await ask("photographs")).photographs;
      offer();
    } catch (refusal) { refuse(refusal.message); pressed.disabled = false; pressed.textContent = "Try again"; }
  }
  const more = h("div", {});
  function refresh() {
    const card = preset => h("label", { class: "preset" },
      h("input", { type: "radio", name: "preset", value: preset.name, checked: preset.name === chosen.preset, onchange: () => { chosen.preset = preset.name; chosen.method = preset.method; chosen.like = chosen.recipe = ""; chosen.plan = null; chosen.settings = {}; refresh(); present(); read(); cast(); } }),
      h("span", {}, h("span", { class: "row" }, h("b", { text: preset.name }), preset.missing.length ? h("span", { class: "chip warn", title: preset.missing.join("\n"), text: `needs ${preset.missing.length} more here` }) : h("span", { class: "chip good", text: "ready" })),
        h("span", { class: "soft small", text: preset.about })));
    // What can run here comes first; the rest is there to be read about.
    const first = about.presets.filter(preset => !preset.missing.length || preset.name === chosen.preset), rest = about.presets.filter(preset => !first.includes(preset));
    put(presets, h("div", { class: "preset-grid" }, ...first.map(card)),
      rest.length ? h("details", { open: presets.querySelector("details")?.open }, h("summary", { text: `${rest.length} more, which need something that is not here: ${rest.map(preset => preset.name).join(", ")}` }), h("div", { class: "preset-grid" }, ...rest.map(card))) : null);
    const quick = chosen.settings["video.num_inference_steps"] === about.quick["video.num_inference_steps"];
    const [menu, says] = methodMenu(about, chosen.preset, chosen.method, name => { chosen.method = name; cast(); });
    put(more, h("div", { class: "more" }, menu,
      h("label", {}, "Seed", h("input", { type: "number", min: 0, value: chosen.seed, oninput: event => { chosen.seed = Math.max(0, Math.floor(Number(event.target.value) || 0)); cast(); } })), says,
      chosen.preset === "sandbox" ? h("label", { class: "tick" }, h("input", { type: "checkbox", checked: quick, onchange: event => { chosen.recipe = chosen.like = ""; chosen.settings = event.target.checked ? { ...about.quick } : {}; cast(); } }), "Quick: fewer steps, coarser video") :
        h("label", {}, "Budget in USD", h("input", { type: "number", min: 0, step: 0.1, value: chosen.settings["runtime.budget"] ?? "", placeholder: "none", oninput: event => { const value = Number(event.target.value); if (event.target.value && value >= 0) chosen.settings["runtime.budget"] = value; else delete chosen.settings["runtime.budget"]; cast(); } }))));
  }
  const request = () => ({ picture: chosen.picture, prompt: chosen.prompt, preset: chosen.preset, method: chosen.method, seed: chosen.seed, attempts: chosen.attempts, settings: chosen.settings, like: chosen.like, recipe: chosen.recipe, plan: chosen.plan, objects: chosen.preset === "photo" ? photo.typed() : [] });
  const at_once = () => chosen.preset === "photo" || chosen.method === "base";
  let number = 0;
  const cast = later(250, async () => {
    const mine = ++number;
    fail("");
    start.textContent = chosen.plan ? "Open as a new run" : chosen.preset === "photo" ? "Watch it" : at_once() ? "Make the video" : "Plan it";
    hand.hidden = chosen.preset !== "photo";
    hand.disabled = !photo.objects.length;
    verbs.hidden = chosen.preset !== "photo";
    summary.textContent = `Recipe: ${chosen.preset}, ${method(chosen.method)}, seed ${chosen.seed}`;
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
    const upto = at_once() ? "video" : chosen.plan ? "sketch" : "plan";
    try {
      const { run } = await ask("start", { ...request(), ...(failed ? { run: failed.run } : { run: from || undefined, new: true }), upto });
      studio.wanted[run] = { method: chosen.method, seed: chosen.seed, settings: chosen.settings };
      if (failed && failed.run === run) { failed.again(); return; }
      location.hash = "#/run/" + encodeURIComponent(run);
    } catch (refusal) { fail(refusal.message); start.disabled = false; }
  }
  const summary = h("summary", { text: "Recipe" });
  refresh();
  present();
  read();
  cast();
  if (!failed) notice("");
  const lacks = about.photo.ready ? null : h("p", { class: "soft small", text: `Photographs cannot be moved yet. ${about.photo.missing}` });
  const node = h("div", { class: "compose" },
    h("section", { class: "card pictures" }, h("h2", { text: photos ? "1. Your photograph" : "1. The picture" }), drop, lacks, place,
      h("details", { class: "examples", open: !photos }, count, samples)),
    h("section", { class: "card words" }, h("h2", {}, h("label", { for: "words", text: "2. What happens" })), words, verbs, unread,
      before && from ? h("p", { class: "soft small", text: `A copy of ${from}. Its plan is kept while the sentence stays the same.` }) : null,
      error, h("div", { class: "row end" }, hand, start), forecast,
      h("details", { class: "recipe", open: !photos }, summary, presets, more)));
  offer();
  if (failed) return { title: "New", node };
  const lead = photos ? "Drop a photograph, click on what should move, say what happens." : "A picture and a sentence become a plan you can read and change, and then a video in which it happens.";
  return { title: "New", node: h("div", {}, h("h1", { text: "What happens next?" }), h("p", { class: "lead", text: lead }), node) };
}
