// One run: its plan over the picture, its keyframes, its sampling as it goes, its video beside others.

import { ask, file, picture, upload } from "./api.js";
import { button, clock, confirm, h, method, plural, put, s } from "./dom.js";
import { compose, cost, lacking, methodMenu } from "./compose.js";
import { core, PlanEditor } from "./plan.js";
import { Films } from "./player.js";
import { firstFrame, sceneInWords } from "./scene.js";
import { hue } from "./timeline.js";

const NAMES = { plan: "planning", keyframes: "drawing keyframes", evidence: "finding objects", sketch: "sketching", latents: "sampling", video: "writing the video", verdict: "checking the video" };
export const STATES = { waiting: "in the queue", running: "at work", stopped: "stopped", failed: "failed", done: "done" };
export const VERDICTS = { holds: "good", doubtful: "warn", fails: "bad", "not checked": "" };
const busy = job => job && (job.state === "waiting" || job.state === "running");

export async function runPage(studio, name) {
  const page = new RunPage(studio, name);
  await page.refresh();
  page.leading = busy(page.job) && page.job.upto === "video";   // one came to see it
  page.timer = setTimeout(() => page.poll(), 600);
  return { title: (page.details || page.job)?.prompt || name, node: page.node, close: () => page.close() };
}

class RunPage {
  constructor(studio, name) {
    Object.assign(this, { studio, name, seen: null, details: null, job: null, progress: null, related: [], editor: null, given: null, closed: false, same: null, beside: new Set(), dragged: h("div", {}) });
    this.wanted = studio.wanted[name] || null;
    this.parts = { head: h("div", { class: "head" }), now: h("div", {}), plan: h("section", { class: "card", hidden: true }), keyframes: h("section", { class: "card", hidden: true }), video: h("section", { class: "card", hidden: true }) };
    this.error = h("p", { class: "fault", role: "alert", hidden: true });
    this.node = h("div", { class: "run" }, this.parts.head, this.parts.now, this.error, this.parts.plan, this.parts.keyframes, this.parts.video);
    this.keys = event => {
      if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "z" || !this.editor) return;
      event.preventDefault();
      document.activeElement?.blur();
      this.editor.step(event.shiftKey ? 1 : -1);
    };
    document.addEventListener("keydown", this.keys);
  }
  close() { this.closed = true; clearTimeout(this.timer); clearTimeout(this.soon); document.removeEventListener("keydown", this.keys); }
  fail(text) { this.error.textContent = text || ""; this.error.hidden = !text; this.failedIn = this.job?.state; }
  // To what one asked for, with eyes and keyboard.
  lead(node) {
    node.tabIndex = -1;
    node.focus({ preventScroll: true });
    node.scrollIntoView({ block: "start", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
  }
  async act(what, given) {
    this.fail("");
    try { const answer = await ask(what, { run: this.name, ...given }); await this.refresh(); return answer; }
    catch (refusal) { this.fail(refusal.message); return null; }
  }
  async poll() {
    if (this.closed) return;
    try { await this.refresh(); } catch (refusal) { this.fail(refusal.message); }
    if (!this.closed) this.timer = setTimeout(() => this.poll(), busy(this.job) ? 600 : 3000);
  }
  async refresh() {
    const found = await ask("state", { run: this.name, seen: this.seen, related: this.relatedSeen });
    if (this.closed) return;
    const before = this.job && this.job.state;
    this.job = found.job;
    if (!this.error.hidden && this.failedIn !== this.job?.state) this.fail("");   // no message outlives its cause
    this.progress = found.progress;
    this.preview = found.preview;
    if (found.details) {
      this.seen = found.seen;
      this.details = found.details;
      this.wanted ||= { method: this.details.method, seed: this.details.seed, settings: {} };
      this.showPlan();
      this.showKeyframes();
    }
    if (found.related) { this.related = found.related; this.relatedSeen = found.related_seen; }
    this.showHead(found);
    this.showNow();
    if (found.details || found.related || before !== (this.job && this.job.state)) this.showVideo();
    if (this.leading && this.job?.state !== "waiting" && this.job?.state !== "running") {
      this.leading = false;
      this.lead(this.details?.finished ? this.parts.video : this.parts.now);
    }
    // The sketch costs nothing where no call goes out: it is drawn as soon as there is a plan.
    const { job, details } = this;
    if (!this.drawing && job && job.state === "done" && job.upto === "plan" && details?.preset === "sandbox" && !details.files["sketch.mp4"]) {
      this.drawing = true;
      ask("start", this.request("sketch")).then(() => this.refresh()).catch(() => { /* another tab was first */ });
    }
  }
  request(upto, more) {
    const { details, editor, wanted } = this;
    const own = this.given || (details.given_keyframes && !editor.changed ? details.keyframes.map(one => one.picture) : null);
    const edited = editor && (editor.changed || details.given_plan || own);
    return { run: this.name, picture: details.picture, prompt: details.prompt, preset: details.preset || "sandbox", like: wanted.fresh ? "" : this.name,
      method: wanted.method, seed: wanted.seed, settings: wanted.settings, plan: edited ? core(editor.plan) : null, keyframes: own, upto, ...more };
  }
  async make(upto, more) {
    if (this.making) return;   // a double click is one click
    this.making = true;
    this.fail("");
    try {
      const { run } = await ask("start", this.request(upto, more));
      if (run !== this.name) { this.studio.wanted[run] = { ...this.wanted, ...(more || {}) }; location.hash = "#/run/" + encodeURIComponent(run); return; }
      await this.refresh();
      this.edited();
      if (upto === "video") { this.leading = true; this.lead(this.parts.now); }
    } catch (refusal) { this.fail(refusal.message); }
    finally { this.making = false; }
  }

  showHead() {
    const { details, job, parts } = this, asked = details || job, prompt = asked ? asked.prompt : this.name;
    const state = job && job.state !== "done" ? job.state : details && details.finished ? details.verdict : "planned";
    const kind = { failed: "bad", stopped: "warn", running: "live", waiting: "live" }[state] ?? VERDICTS[state] ?? "";
    const chip = h("span", { class: `chip ${kind}`, text: STATES[state] || (state === "planned" ? "planned" : `verdict: ${state}`) });
    const key = JSON.stringify([prompt, state, details && details.files]);
    if (key === this.headed) return;
    this.headed = key;
    const report = details && file(this.name, "report.html", details.files);
    put(parts.head, 
      h("div", {}, h("h1", { text: prompt }), h("p", { class: "soft meta" }, chip, h("span", { text: this.name }), asked ? h("span", { text: `${asked.preset || "own recipe"}, ${method(asked.method)}, seed ${asked.seed}` }) : null)),
      h("div", { class: "row" }, report ? h("a", { class: "button", href: report, target: "_blank", rel: "noopener", text: "Report" }) : null,
        details ? h("a", { class: "button", href: `#/?from=${encodeURIComponent(this.name)}`, text: "Duplicate" }) : null,
        busy(job) ? null : button("Delete", () => this.remove())));
  }
  async remove() {
    if (!await confirm("Delete this run?", "It goes to the bin, from which it can be taken back.", "Delete")) return;
    try { await ask("delete", { run: this.name }); this.close(); location.hash = "#/runs"; }
    catch (refusal) { this.fail(refusal.message); }
  }
  // What is under way, or why nothing is.
  showNow() {
    const { job, progress, parts } = this;
    if (!job || job.state === "done") { put(parts.now); this.live = this.stuck = null; return; }
    if (job.state === "stopped" || job.state === "failed") {
      this.live = null;
      if (job.state === "failed" && !this.details?.plan) { this.correct(); return; }
      put(parts.now, h("div", { class: `banner ${job.state === "failed" ? "bad" : "warn"}` },
        h("div", {}, h("b", { text: job.state === "failed" ? "This run failed" : "This run is stopped" }), h("p", { text: job.error || "What is done is kept. It goes on where it was." })),
        button("Go on", () => this.act("continue"), { class: "main" })));
      return;
    }
    if (!this.live || !this.live.node.isConnected) this.live = this.makeLive();
    const live = this.live, share = progress && progress.total ? progress.done / progress.total : null;
    live.title.textContent = job.state === "waiting" ? "In the queue" : `${(NAMES[progress?.stage] || "starting").replace(/^./, c => c.toUpperCase())}`;
    live.words.textContent = progress?.message.split(":")[0] || (job.state === "waiting" ? "It begins when what is ahead is done." : "");
    live.left.textContent = progress && progress.remaining !== null && progress.remaining !== undefined ? `${clock(progress.remaining)} left` : progress ? `${clock(progress.seconds)} so far` : "";
    live.bar.classList.toggle("unknown", share === null && job.state === "running");
    live.fill.style.width = share === null ? "" : `${100 * share}%`;
    if (share !== null) live.bar.setAttribute("aria-valuenow", Math.round(100 * share)); else live.bar.removeAttribute("aria-valuenow");
    const sampling = progress && progress.stage === "latents" && this.preview && progress.done > 0;
    live.picture.hidden = !sampling;
    live.still.hidden = !!this.details;
    if (sampling) {
      const address = file(this.name, "preview.png", { "preview.png": this.preview });
      if (live.image.getAttribute("src") !== address) live.image.src = address;
      put(live.terms, ...terms(progress.terms));
    }
  }
  // A run that has no plan: picture and sentence stay, to be corrected here.
  async correct() {
    const { job, parts, name } = this, key = JSON.stringify(job);
    if (this.stuck === key) return;
    this.stuck = key;
    const form = await compose(this.studio, new URLSearchParams(), { run: name, job, again: () => { this.stuck = null; put(parts.now); this.refresh(); } });
    if (this.closed || this.stuck !== key) return;
    put(parts.now, h("div", { class: "banner bad", role: "alert" }, h("div", {}, h("b", { text: "There is no plan yet" }), h("p", { text: job.error || "Change the picture or the sentence, and try again." })), button("Try the same again", () => { this.stuck = null; this.act("continue"); })), form.node);
    form.node.querySelector("#words").focus({ preventScroll: true });
  }
  makeLive() {
    const live = { title: h("b", {}), words: h("span", { class: "soft small" }), left: h("span", { class: "left", role: "status" }), fill: h("div", { class: "fill" }), terms: h("div", { class: "terms" }), image: h("img", { alt: "The keyframes, and what the video shows at their frames by now" }), still: h("img", { class: "still", src: picture(this.job.picture), alt: "The picture" }) };
    live.bar = h("div", { class: "progress", role: "progressbar", "aria-label": "Progress", "aria-valuemin": 0, "aria-valuemax": 100 }, live.fill);
    live.picture = h("div", { class: "preview", hidden: true }, live.image, live.terms);
    live.node = h("div", { class: "card live" }, h("div", { class: "live-head" }, h("div", {}, live.title, live.words), live.left, button("Stop", event => { event.target.disabled = true; this.act("stop"); })), live.bar, live.still, live.picture);
    put(this.parts.now, live.node);
    return live;
  }

  showPlan() {
    const { details, parts } = this;
    parts.plan.hidden = !details.plan;
    if (!details.plan) return;
    const key = JSON.stringify([core(details.plan), details.objects, details.files["sketch.mp4"], details.finished]);
    if (key === this.planned) return;
    this.planned = key;
    if (!this.editor || !this.editor.adopt(details.plan)) this.editor = new PlanEditor(details.plan, this.studio.about, () => this.edited());
    this.scene = h("div", { class: `scene ${this.photo ? "wide" : ""}` });
    this.drawScene();
    this.actions = h("div", { class: "row end" });
    put(parts.plan, h("div", { class: "card-head" }, h("h2", { text: "The plan" }), h("p", { class: "soft", text: `${plural(details.plan.events.length, "event")} in ${details.plan.num_frames} frames. Drag an anchor, or change any word: it is checked at once.` })),
      this.scene, this.editor.node, this.actions);
    this.edited();
  }
  drawScene() {
    this.frame = this.photo ? firstFrame(this) : null;
    put(this.scene, ...(this.photo ? [] : [firstFrame(this), this.sketch()]), sceneInWords(this));
    if (this.frame) put(this.dragged, this.frame);
  }
  edited() {
    if (!this.actions || !this.editor) return;
    const { editor, details } = this, dirty = editor.changed || this.given;
    const again = button(dirty ? "Sketch the changed plan" : "Sketch it", () => this.make("sketch"), { disabled: !editor.holds || busy(this.job) });
    const show = dirty || !details.files["sketch.mp4"];
    put(this.actions, ...(show ? [dirty && details.finished ? h("p", { class: "soft small", text: "This run has a video: the changed plan becomes a new run." }) : null, again].filter(Boolean) : []));
    if (this.startButton) this.startButton.disabled = !editor.holds || busy(this.job);
  }
  // A photograph's video is its sketch: the first frame to drag on lies beside it.
  get photo() { return this.details?.preset === "photo"; }
  watchSoon(wait) { clearTimeout(this.soon); this.soon = setTimeout(() => this.watchAgain(), wait); }
  // The plan with what was dragged, once the checks have passed; what has a video becomes a new run.
  watchAgain() {
    const { editor, details } = this;
    if (this.closed || !editor.changed) return;
    if (!editor.checked || (busy(this.job) && !details.finished)) { this.watchSoon(300); return; }
    if (editor.holds) this.make(this.photo ? "video" : "sketch", details.finished ? { new: true } : {});
  }
  sketch() {
    const { details, name } = this, source = file(name, "sketch.mp4", details.files);
    if (!source) return h("figure", { class: "blank-figure" }, h("div", { class: "blank" }, h("b", { text: "No sketch yet" }), h("span", { class: "soft small", text: "It shows the plan in motion, before any sampling." })), h("figcaption", { text: "The plan in motion" }));
    const video = h("video", { src: source, poster: file(name, "frame.png", details.files), loop: true, muted: true, playsinline: true, controls: true, autoplay: !matchMedia("(prefers-reduced-motion: reduce)").matches, "aria-label": "The plan in motion, as a crude sketch" });
    video.muted = true;
    return h("figure", {}, h("div", { class: "over" }, video), h("figcaption", { text: "The plan in motion: a crude sketch, without the video model" }));
  }

  showKeyframes() {
    const { details, parts } = this;
    parts.keyframes.hidden = !details.keyframes.length;
    if (!details.keyframes.length) return;
    const key = JSON.stringify(details.keyframes);
    if (key !== this.drawn) { this.drawn = key; this.given = this.same = null; }
    const now = this.given || details.keyframes.map(one => one.picture);
    const figures = details.keyframes.map((one, i) => {
      const input = h("input", { type: "file", accept: "image/png,image/jpeg,image/webp", class: "hidden-file", id: `keyframe-${i}`, onchange: () => input.files[0] && this.replace(i, () => upload("picture", input.files[0])) });
      const other = now[i] !== one.picture;
      return h("figure", { "data-key": i, style: { "--hue": hue(i) } }, h("img", { src: picture(now[i]), alt: `Keyframe ${i + 1}: ${one.instruction}` }),
        h("figcaption", {}, h("b", { text: `After event ${i + 1}` }), other ? h("span", { class: "chip live", text: "yours, not used yet" }) : one.problems.length ? h("span", { class: "chip warn", title: one.problems.join("; "), text: plural(one.problems.length, "doubt") }) : h("span", { class: "chip good", text: "checked" })),
        one.problems.length && !other ? h("p", { class: "soft small", text: one.problems.join("; ") }) : null,
        this.same === i ? h("p", { class: "soft small", role: "status", text: "Drawn again: it came out the same." }) : null,
        h("div", { class: "row" }, button("Redraw", event => { event.target.disabled = true; event.target.textContent = "Drawing ..."; this.replace(i, () => ask("redraw", { ...this.request("sketch"), plan: core(this.editor.plan), keyframes: null, event: i + 1, draw_seed: Math.floor(Math.random() * 1e6) + 1 })); }, { class: "small" }),
          h("label", { class: "button small", for: `keyframe-${i}`, text: "Replace" }), input));
    });
    put(this.parts.keyframes, h("div", { class: "card-head" }, h("h2", { text: "Keyframes" }), h("p", { class: "soft", text: "The state after each event, drawn from the first frame. Redraw one, or put a picture of yours in its place." })),
      h("div", { class: "keyframes" }, ...figures),
      this.given ? h("div", { class: "row end" }, button("Undo the changes", () => { this.given = null; this.showKeyframes(); this.edited(); }), button("Use these keyframes", () => this.make("sketch"), { class: "main" })) : null);
  }
  async replace(index, make) {
    this.fail("");
    try {
      const found = await make();
      const before = this.given || this.details.keyframes.map(one => one.picture);
      this.same = found.picture === before[index] ? index : null;
      if (this.same === null) this.given = before.map((id, i) => i === index ? found.picture : id);
    } catch (refusal) { this.fail(refusal.message); }
    this.showKeyframes();
    this.edited();
  }

  showVideo() {
    const { details, job, parts, name } = this;
    const shown = details && (details.plan || details.finished || details.method === "base"), early = this.photo && file(name, "sketch.mp4", details.files);
    parts.video.hidden = !shown || (busy(job) && !details.finished && !early);
    if (!shown) return;
    this.startButton = null;
    if (!details.finished && !early) { this.beforeVideo(); return; }
    if (parts.video.nextSibling !== parts.plan) parts.plan.before(parts.video);   // what one came for is first
    const poster = file(name, "frame.png", details.files);
    const title = card => method(card.method);
    const others = this.related.filter(card => this.beside.has(card.run));
    const base = this.related.find(card => card.method === "base" && card.seed === details.seed);
    if (base && this.compared !== base.run && details.method !== "base") { this.compared = base.run; if (!this.beside.has(base.run)) { this.beside.add(base.run); others.push(base); } }
    const shows = [details, ...others].slice(0, 4).map(card => ({ src: file(card.run, "video.mp4", card.files) || early, poster, title: title(card), note: card.run === name ? `seed ${card.seed}` : `${card.run}, seed ${card.seed}`, label: `${title(card)}: ${card.prompt}` }));
    const simulated = file(name, "simulation.mp4", details.files);
    if (simulated) shows.splice(1, 0, { src: simulated, poster, title: "The simulation", note: "it contradicts the plan", label: "What the simulation gives" });
    const films = new Films(shows.slice(0, 4));
    const choices = this.related.map(card => h("label", { class: "pick" }, h("input", { type: "checkbox", checked: this.beside.has(card.run), onchange: event => { if (event.target.checked) this.beside.add(card.run); else this.beside.delete(card.run); this.showVideo(); } }), h("span", { text: `${title(card)}, ${card.run}` }), card.verdict ? h("span", { class: `chip ${VERDICTS[card.verdict]}`, text: card.verdict }) : null));
    put(parts.video, h("div", { class: "card-head" }, h("h2", { text: details.finished ? "The video" : "The plan in motion" }), details.finished && details.sentence ? h("p", { class: `verdict ${VERDICTS[details.verdict]}`, text: this.verdict() }) : null),
      this.photo ? h("div", { class: "beside" }, this.dragged, films.node) : films.node,
      choices.length ? h("details", { open: this.beside.size > 0 }, h("summary", { text: "Beside other runs of this picture and sentence" }), h("div", { class: "picks" }, ...choices)) : null,
      h("div", { class: "row end" },
        details.method !== "base" && details.preset !== "photo" && !base ? this.baseAsked ? h("p", { class: "soft small", role: "status" }, "The base model's video is on its way: ", h("a", { href: "#/queue", text: "see the queue" })) : button("Make the base model's too", () => this.makeBase()) : null,
        details.preset === "photo" ? h("a", { class: "button", href: `#/?from=${encodeURIComponent(name)}`, text: "Say something else" }) : button("Another seed", () => this.make("video", { seed: details.seed + 1, new: true })),
        this.editor && (this.editor.changed || this.given) ? this.startButton = button("Make the video of the changed plan", () => this.make("video", { new: true }), { class: "main", disabled: !this.editor.holds }) : null));
  }
  verdict() {
    const { details, job } = this;
    if (details.verdict !== "not checked") return details.sentence;
    return busy(job) ? "The video is being checked ..." : details.sentence;
  }
  // Stays on this page: the video appears beside this one when it is there.
  async makeBase() {
    this.fail("");
    const { details } = this;
    try {
      await ask("start", this.request("video", { method: "base", seed: details.seed, new: true, keyframes: null, plan: details.plan ? core(details.plan) : null }));
      this.baseAsked = true;
      this.showVideo();
    } catch (refusal) { this.fail(refusal.message); }
  }
  beforeVideo() {
    const { parts, studio, wanted } = this;
    const figures = h("div", { class: "forecast" }, h("p", { class: "soft", text: "Working out what it will cost ..." }));
    const cast = async () => {
      try { const found = await ask("forecast", this.request("video")); put(figures, ...[cost(found), lacking(found)].filter(Boolean)); }
      catch (refusal) { put(figures, h("p", { class: "fault", text: refusal.message })); }
    };
    const steps = "video.num_inference_steps", quick = (wanted.fresh ? wanted.settings : this.details.settings)[steps] === studio.about.quick[steps];
    const [menu, says] = methodMenu(studio.about, this.details.preset, wanted.method, name => { wanted.method = name; cast(); });
    const options = h("div", { class: "more" }, menu,
      h("label", {}, "Seed", h("input", { type: "number", min: 0, value: wanted.seed, onchange: event => { wanted.seed = Math.max(0, Math.floor(Number(event.target.value) || 0)); cast(); } })), says,
      this.details.preset === "sandbox" ? h("label", { class: "tick" }, h("input", { type: "checkbox", checked: quick, onchange: event => { wanted.fresh = true; wanted.settings = event.target.checked ? { ...studio.about.quick } : {}; cast(); } }), "Quick: fewer steps, coarser video") : null);
    this.startButton = button("Make the video", () => this.make("video"), { class: "main large", "data-action": "", disabled: (this.editor && !this.editor.holds) || busy(this.job) });
    put(parts.video, h("div", { class: "card-head" }, h("h2", { text: "The video" }), h("p", { class: "soft", text: "Sampling follows the plan. You can stop at any time and go on later." })), options, figures, h("div", { class: "row end" }, this.startButton));
    cast();
  }
}

// The terms' means as they fall: a small line each, with its last value.
function terms(found) {
  return Object.entries(found).map(([name, values]) => {
    const most = Math.max(...values, 1e-6), count = Math.max(values.length - 1, 1);
    const points = values.map((value, i) => `${(100 * i / count).toFixed(1)},${(26 - 24 * value / most).toFixed(1)}`).join(" ");
    return h("div", { class: "term" }, h("span", { text: name }), s("svg", { viewBox: "0 0 100 28", preserveAspectRatio: "none", role: "img", "aria-label": `${name} is ${values.at(-1)}` }, s("polyline", { points })), h("b", { text: values.at(-1).toFixed(3) }));
  });
}
