"use strict";
// One page for both ways: answers go to the server that sent it, or stay here and become a file.

const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
const SLOW = 0.5, APART = 0.08;

function randomToken() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), byte => byte.toString(16).padStart(2, "0")).join("");
}

// ---- where answers go -------------------------------------------------------------------------------

class Server {
  constructor() { this.about = null; }
  async open() {
    this.about = await ask("about");
    this.store = "video-study " + this.about.id;
    const linked = new URLSearchParams(location.hash.slice(1)).get("p");
    for (const token of [linked, remembered(this.store)]) {
      if (!token) continue;
      const state = await ask("state", { participant: token });
      if (!state.unknown) return this.keep(state);
    }
    return null;
  }
  async join() {
    const participant = randomToken();   // made here: a request that is repeated takes no second place
    remember(this.store, participant);
    return this.keep(await ask("join", { consent: true, participant }));
  }
  async vote(state, choices, seconds) {
    return ask("vote", { participant: state.participant, trial: state.answered, choices, seconds });
  }
  keep(state) {
    if (state.participant) {
      remember(this.store, state.participant);
      history.replaceState(null, "", "#p=" + encodeURIComponent(state.participant));
    }
    return state;
  }
}

class SavedFile {
  constructor(data) { this.about = data; this.store = "video-study " + data.id; }
  async open() {
    try { this.votes = JSON.parse(remembered(this.store)); } catch { this.votes = null; }
    return this.votes ? this.state() : null;
  }
  async join() {
    const asked = Number(new URLSearchParams(location.hash.slice(1)).get("place"));
    const places = this.about.hands.length;
    const place = Number.isInteger(asked) && asked >= 1 && asked <= places ? asked - 1 : Math.floor(Math.random() * places);
    this.votes = { study_votes: 1, study: this.about.id, participant: randomToken(), place, votes: [] };
    this.keep();
    return this.state();
  }
  keep() { remember(this.store, JSON.stringify(this.votes)); }
  async vote(state, choices, seconds) {
    if (state.answered === this.votes.votes.length) this.votes.votes.push({ choices, seconds });
    this.keep();
    return this.state();
  }
  state() {
    const hand = this.about.hands[this.votes.place], answered = this.votes.votes.length;
    const finished = answered >= hand.length;
    const state = { participant: this.votes.participant, answered, total: hand.length, finished };
    if (finished) return { ...state, file: this.votes, code: this.about.codes ? this.votes.participant.slice(-8).toUpperCase() : "" };
    const [card, flipped] = hand[answered], shown = this.about.cards[card];
    const [a, b] = flipped ? [shown.second, shown.first] : [shown.first, shown.second];
    return { ...state, trial: { prompt: shown.prompt, frame: shown.frame, a, b } };
  }
}

// ---- two videos in step -----------------------------------------------------------------------------

class Films {
  constructor(trial) {
    this.videos = ["a", "b"].map(side => make("video", { src: trial[side], muted: true, playsInline: true,
      preload: "auto", poster: trial.frame, ariaLabel: "Video " + side.toUpperCase() + " of: " + trial.prompt }));
    this.toggle = make("button", { type: "button", textContent: "Play", onclick: () => this.playing ? this.pause() : this.play() });
    this.bar = make("input", { type: "range", min: 0, max: 1000, value: 0, step: 1, ariaLabel: "Place in both videos",
      oninput: () => this.seek(Number(this.bar.value) / 1000) });
    this.slow = make("input", { type: "checkbox", onchange: () => this.videos.forEach(v => { v.playbackRate = this.slow.checked ? SLOW : 1; }) });
    this.grid = make("div", { className: "films" }, ...this.videos.map((video, i) =>
      make("figure", {}, make("figcaption", {}, "Video ", make("span", { className: "letter", textContent: "AB"[i] })), video)));
    this.controls = make("div", { className: "play" }, this.toggle, this.bar, make("label", {}, this.slow, "Slow"));
    this.playing = false;
    const [one] = this.videos;   // both get the same frame, whatever their sizes
    one.onloadedmetadata = () => {
      if (!one.videoHeight) return;
      this.grid.style.setProperty("--ratio", one.videoWidth / one.videoHeight);
      this.grid.classList.toggle("tall", one.videoWidth < 1.2 * one.videoHeight);
    };
    for (const video of this.videos) {
      video.onerror = () => notice("A video cannot be shown here. Reload the page; if that does not help, use another browser.");
    }
    this.timer = setInterval(() => this.step(), 60);
    this.ready = Promise.all(this.videos.map(video => new Promise(done => {
      if (video.readyState >= 3) done(); else video.addEventListener("canplay", done, { once: true });
    })));
    this.ready.then(() => { if (!calm && this.timer) this.play(); });
  }
  get seconds() { return Math.max(...this.videos.map(v => v.duration || 0)); }
  get ended() { return this.videos.every(v => v.ended || v.currentTime >= (v.duration || 0) - 1e-3); }
  async play() {
    if (this.ended) this.seek(0);
    this.playing = true;
    this.toggle.textContent = "Pause";
    await Promise.allSettled(this.videos.filter(v => !v.ended).map(v => v.play()));
  }
  pause() {
    this.playing = false;
    this.toggle.textContent = "Play";
    this.videos.forEach(v => v.pause());
  }
  seek(share) { this.videos.forEach(v => { v.currentTime = Math.min(share * this.seconds, v.duration || 0); }); }
  step() {
    const [a, b] = this.videos, longest = a.duration >= b.duration ? a : b;
    if (this.seconds) this.bar.value = String(Math.round(1000 * longest.currentTime / this.seconds));
    if (!this.playing) return;
    if (this.ended) { this.seek(0); this.play(); return; }   // the shorter one waits on its last frame
    if (!a.ended && !b.ended && !a.seeking && !b.seeking && Math.abs(a.currentTime - b.currentTime) > APART) b.currentTime = a.currentTime;
  }
  close() {
    clearInterval(this.timer);
    this.timer = 0;
    this.videos.forEach(v => { v.pause(); v.onerror = null; v.removeAttribute("src"); v.load(); });
  }
}

// ---- what is shown ----------------------------------------------------------------------------------

let films = null, keys = null;

function show(...parts) {
  if (films) films.close();
  films = null; keys = null;
  $("main").replaceChildren(...parts);
  scrollTo(0, 0);
  const heading = $("main").querySelector("h1");
  if (heading) { heading.tabIndex = -1; heading.focus({ preventScroll: true }); }
}
function progress(state) {
  $("place").textContent = state ? `Pair ${Math.min(state.answered + 1, state.total)} of ${state.total}` : "";
  $("track").hidden = !state;
  if (!state) return;
  $("track").ariaValueMax = String(state.total);
  $("track").ariaValueNow = String(state.answered);
  $("fill").style.width = 100 * state.answered / state.total + "%";
}

function welcome(about) {
  return new Promise(done => {
    const start = make("button", { className: "main", textContent: "Start", disabled: true, onclick: done });
    const box = make("input", { type: "checkbox", id: "agree", onchange: () => { start.disabled = !box.checked; } });
    const terms = about.criteria.flatMap(c => [make("dt", { textContent: c.title }), make("dd", { textContent: c.question })]);
    const contact = about.contact ? [make("p", { textContent: "Questions: " + about.contact })] : [];
    show(make("div", { className: "text" },
      make("h1", { textContent: about.title }),
      make("p", { className: "soft", textContent: `${about.total} pairs of short videos. One example comes first; it is not counted.` }),
      make("section", { className: "card" }, make("h2", { textContent: "What you will do" }), ...paragraphs(about.welcome),
        make("h2", { textContent: "The three questions" }), make("dl", {}, ...terms)),
      make("section", { className: "card" }, make("h2", { textContent: "Taking part" }), ...paragraphs(about.consent), ...contact,
        make("label", { className: "agree" }, box, make("span", { textContent: about.agree })), start)));
  });
}

function trial(about, shown, hint) {
  return new Promise(done => {
    const choices = {}, began = performance.now();
    const next = make("button", { className: "main", textContent: "Next", disabled: true, onclick: () => {
      next.disabled = true;
      done({ choices: { ...choices }, seconds: (performance.now() - began) / 1000 });
    } });
    const left = make("p", { className: "soft small", role: "status" });
    const radios = {};
    const refresh = () => {
      const missing = about.criteria.filter(c => !choices[c.key]);
      next.disabled = missing.length > 0;
      left.textContent = missing.length ? "Still to choose: " + missing.map(c => c.title.toLowerCase()).join(", ") : "";
    };
    const choose = (key, side) => { choices[key] = side; radios[key][side].checked = true; refresh(); };
    const questions = about.criteria.map(criterion => {
      radios[criterion.key] = {};
      const labels = ["a", "b"].map(side => {
        const radio = make("input", { type: "radio", name: criterion.key, value: side, onchange: () => choose(criterion.key, side) });
        radios[criterion.key][side] = radio;
        return make("label", {}, radio, make("span", { textContent: "Video " + side.toUpperCase() }));
      });
      return make("fieldset", {}, make("legend", { textContent: criterion.title }),
        make("p", { textContent: criterion.question }), make("div", { className: "choice" }, ...labels));
    });
    const pair = new Films(shown);
    const words = make("div", {}, make("p", { className: "soft small", textContent: "What should happen" }),
      make("h1", { textContent: shown.prompt }));
    show(...(hint ? [make("p", { className: "hint", textContent: hint })] : []),
      make("div", { className: "prompt" }, make("img", { src: shown.frame, alt: "The first picture of both videos" }), words),
      pair.grid, pair.controls, make("div", { className: "criteria" }, ...questions),
      make("div", { className: "next" },
        make("p", { className: "soft small keys", textContent: "Keys: space plays and pauses, A or B answers the next open question, Enter goes on." }),
        left, next));
    films = pair;
    refresh();
    keys = event => {
      const key = event.key.toLowerCase(), open = about.criteria.find(c => !choices[c.key]);
      if ((key === "a" || key === "b") && open) { choose(open.key, key); event.preventDefault(); }
      if (key === " " && !["BUTTON", "INPUT"].includes(event.target.tagName)) { pair.toggle.click(); event.preventDefault(); }
      if (key === "enter" && event.target.tagName !== "BUTTON" && !next.disabled) { next.click(); event.preventDefault(); }
    };
  });
}
document.addEventListener("keydown", event => {
  if (keys && !event.ctrlKey && !event.metaKey && !event.altKey && !event.repeat) keys(event);
});

function message(title, ...texts) { show(make("div", { className: "text" }, make("section", { className: "card" }, make("h1", { textContent: title }), ...paragraphs(texts)))); }

function thanks(about, state) {
  progress({ ...state, answered: state.total });
  $("place").textContent = "Done";
  message("Thank you!", `You rated all ${state.total} pairs.` + (state.file ? "" : " Your choices are kept; you can close this page."));
  const card = $("main").querySelector(".card");
  if (state.file) {
    const save = () => make("a", { download: `votes-${state.participant}.json`,
      href: URL.createObjectURL(new Blob([JSON.stringify(state.file, null, 1)], { type: "application/json" })) }).click();
    card.append(make("p", { textContent: "Please save your choices as a file, and send it to the people who asked you." + (about.contact ? " " + about.contact : "") }),
      make("button", { className: "main", textContent: "Save my choices", onclick: save }));
  }
  if (state.code) card.append(make("p", { textContent: "Your completion code:" }), make("p", { className: "code", textContent: state.code }));
}

async function run() {
  const data = $("study");
  const backend = data ? new SavedFile(JSON.parse(data.textContent)) : new Server();
  let state = await backend.open();
  const about = backend.about;
  document.title = about.title;
  $("title").textContent = about.title;
  if (!state) {
    await welcome(about);
    $("place").textContent = "Example";
    await trial(about, about.example, "An example, not counted. Here Video B is whole, and Video A is damaged on purpose: blocky, noisy and out of order. Try the buttons, choose for each question, and press Next.");
    state = await backend.join();
  }
  while (!state.full && !state.unknown && !state.finished) {
    progress(state);
    const answer = await trial(about, state.trial);
    state = await backend.vote(state, answer.choices, answer.seconds);
  }
  if (state.finished) thanks(about, state);
  else message(state.full ? "All places are taken" : "This link is not known any more", state.full
    ? "Enough people are taking part just now. Thank you for your interest! If somebody stops, a place becomes free: try again later."
    : "Please open the link that you were given once more.");
}
run().catch(error => message("Something went wrong", error.message || "Please reload the page; what you chose is kept."));
