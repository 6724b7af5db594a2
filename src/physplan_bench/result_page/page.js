"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const at = id => document.getElementById(id);
const FILTERS = ["find", "method", "phenomenon", "failure", "verdict", "outcome"];
const NONE = "(none)";

function element(tag, properties, ...children) {
  const node = Object.assign(document.createElement(tag), properties || {});
  node.append(...children);
  return node;
}
function options(id, values, any) {
  const names = [...new Set(values)].sort();
  at(id).replaceChildren(element("option", { value: "", textContent: any }),
    ...names.map(name => element("option", { value: name, textContent: name })));
}
function setUp() {
  const videos = data.cases.flatMap(one => one.videos);
  options("method", data.methods, "all");
  at("method").replaceChildren(at("method").firstChild, ...data.methods.map(m => element("option", { value: m, textContent: m })));
  options("phenomenon", data.cases.map(one => one.phenomenon || NONE), "all");
  options("failure", videos.map(v => v.failure || NONE), "all");
  options("verdict", videos.map(v => v.verdict || NONE), "all");
  const outcomes = [];
  if (videos.some(v => typeof v.good === "boolean")) outcomes.push("good", "bad");
  if (data.methods.length > 1) outcomes.push("methods differ");
  if (data.cases.some(one => one.change)) outcomes.push("won", "lost");
  options("outcome", outcomes, "all");
  for (const id of FILTERS) at(id).addEventListener("input", () => { writeHash(""); show(); });
}

// The state is the address: #case=800.0&method=sketch
function readHash() {
  const parts = new URLSearchParams(location.hash.slice(1));
  for (const id of FILTERS) {
    at(id).value = parts.get(id) || "";
    if (at(id).value === undefined || at(id).selectedIndex === -1) at(id).value = "";
  }
  return parts.get("case") || "";
}
function hashOf(id) {
  const parts = new URLSearchParams();
  if (id) parts.set("case", id);
  for (const name of FILTERS) if (at(name).value) parts.set(name, at(name).value);
  return "#" + parts.toString();
}
function writeHash(id) { history.replaceState(null, "", hashOf(id)); }

function matches(one) {
  const want = Object.fromEntries(FILTERS.map(id => [id, at(id).value]));
  const text = [one.scene, one.prompt, one.phenomenon].join(" ").toLowerCase();
  if (want.find && !text.includes(want.find.toLowerCase())) return false;
  if (want.phenomenon && (one.phenomenon || NONE) !== want.phenomenon) return false;
  if (want.outcome === "won" || want.outcome === "lost") { if (one.change !== want.outcome) return false; }
  if (want.outcome === "methods differ" && new Set(one.videos.map(v => v.score)).size < 2) return false;
  return one.videos.some(v => (!want.method || v.method === want.method)
    && (!want.failure || (v.failure || NONE) === want.failure)
    && (!want.verdict || (v.verdict || NONE) === want.verdict)
    && (want.outcome !== "good" || v.good === true) && (want.outcome !== "bad" || v.good === false));
}

const seen = new IntersectionObserver(entries => {
  for (const entry of entries) if (entry.isIntersecting) { seen.unobserve(entry.target); fill(entry.target); }
}, { rootMargin: "300px" });
const cards = new Map();

function show() {
  const found = data.cases.filter(matches);
  at("cases").replaceChildren(...found.map(one => card(one)));
  at("count").textContent = found.length + " of " + data.cases.length + " cases";
}
function card(one) {
  if (cards.has(one.id)) return cards.get(one.id);
  const link = element("a", { href: "#case=" + encodeURIComponent(one.id), textContent: "Scene " + one.scene });
  const article = element("article", { id: "case-" + one.id }, element("h3", {}, link, one.seed ? " · seed " + one.seed : ""));
  const about = [one.phenomenon, one.prompt].filter(Boolean).join(" · ");
  if (about) article.append(element("p", { className: "muted", textContent: about }));
  if (one.change) article.append(element("p", { className: one.change === "won" ? "good" : "bad", textContent: one.change }));
  article.one = one;
  cards.set(one.id, article);
  seen.observe(article);
  return article;
}
function words(video) {
  const about = [Number.isInteger(video.score) ? video.score : video.score.toFixed(2)];
  if (video.verdict) about.push("verdict: " + video.verdict);
  return about.join(" · ");
}
function figure(video) {
  const caption = element("figcaption", {}, element("b", { textContent: video.method }), " " + words(video));
  if (video.failure || video.good) caption.append(element("div",
    { className: video.failure ? "bad" : "good", textContent: video.failure || "right, the rest kept" }));
  const film = video.video
    ? element("video", { src: video.video, muted: true, playsInline: true, preload: "metadata", ariaLabel: "Video of " + video.method })
    : element("div", { className: "none", textContent: "no video kept" });
  return element("figure", {}, film, caption);
}
function fill(article) {
  const one = article.one;
  article.append(element("div", { className: "videos" }, ...one.videos.map(figure)));
  const films = [...article.querySelectorAll("video")];
  if (films.length) article.append(controls(films));
  const told = new Set();
  for (const video of one.videos) {
    const key = JSON.stringify([video.plan, (video.keyframes || []).length]);
    if (told.has(key) || !(video.plan || video.keyframes)) continue;
    told.add(key);
    article.append(planOf(video));
  }
  article.append(figures(one));
}
function planOf(video) {
  const box = element("details", { open: true }, element("summary", { textContent: "Plan and keyframes" }));
  box.append(element("ol", {}, ...(video.plan || []).map(event => element("li", { textContent: event }))));
  box.append(element("div", { className: "keyframes" }, ...(video.keyframes || []).map((source, i) =>
    element("img", { src: source, loading: "lazy", alt: "Keyframe " + (i + 1) }))));
  return box;
}
function figures(one) {
  const names = [...new Set(one.videos.flatMap(v => Object.keys(v.values || {})))];
  const text = value => typeof value === "number" && !Number.isInteger(value) ? value.toFixed(4) : String(value ?? "-");
  const rows = one.videos.map(v => element("tr", {}, element("td", { textContent: v.method }),
    ...names.map(name => element("td", { textContent: text((v.values || {})[name]) }))));
  const head = element("tr", {}, ...["method", ...names].map(name => element("th", { textContent: name.replaceAll("_", " ") })));
  return element("details", {}, element("summary", { textContent: "Figures" }),
    element("div", { className: "wide", tabIndex: 0 }, element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows))));
}

// All videos of a case follow the first one's clock, each over its own length.
function controls(films) {
  const button = element("button", { textContent: "Play", ariaLabel: "Play all videos of this case in step" });
  const slider = element("input", { type: "range", min: 0, max: 1000, value: 0, ariaLabel: "Time" });
  const lead = films[0];
  const length = film => Number.isFinite(film.duration) ? film.duration : 0;
  const share = () => length(lead) ? lead.currentTime / length(lead) : 0;
  const follow = limit => {
    for (const film of films.slice(1)) {
      const time = share() * length(film);
      if (Math.abs(film.currentTime - time) > limit) film.currentTime = time;
    }
    slider.value = Math.round(1000 * share());
  };
  for (const film of films) film.addEventListener("ended", () => { if (film === lead) { lead.currentTime = 0; follow(0); films.forEach(f => f.play()); } });
  lead.addEventListener("timeupdate", () => { if (!lead.paused) follow(0.12); });
  slider.addEventListener("input", () => { films.forEach(f => f.pause()); button.textContent = "Play"; lead.currentTime = slider.value / 1000 * length(lead); follow(0); });
  button.addEventListener("click", () => {
    const playing = !lead.paused;
    films.forEach(film => { film.playbackRate = length(lead) && length(film) ? length(film) / length(lead) : 1; playing ? film.pause() : film.play(); });
    button.textContent = playing ? "Play" : "Pause";
    if (playing) follow(0);
  });
  return element("div", { className: "step" }, button, slider);
}
function follow() {
  const id = readHash();
  show();
  document.querySelectorAll("article.linked").forEach(node => node.classList.remove("linked"));
  const target = id && at("case-" + id);
  if (target) { target.classList.add("linked"); target.scrollIntoView(); }
}
setUp();
addEventListener("hashchange", follow);
follow();
