"use strict";
// Two raters attribute failed videos, each alone; when both are done, what differs is discussed together.

let about = null, rater = null, state = null, at = 0, keys = null;

const letters = { 1: "Rater 1", 2: "Rater 2", together: "Discussion" };
const shownVideos = () => rater === "together" ? about.videos.filter(v => v.name in state.compared.differ) : about.videos;

function show(...parts) {
  keys = null;
  $("main").replaceChildren(...parts);
  const heading = $("main").querySelector("h1");
  if (heading) { heading.tabIndex = -1; heading.focus({ preventScroll: true }); }
}
function film(source, caption, large) {
  return make("figure", { className: large ? "large" : "" }, make("figcaption", { textContent: caption }),
    make("video", { src: source, controls: true, loop: true, muted: true, playsInline: true, autoplay: !matchMedia("(prefers-reduced-motion: reduce)").matches,
      ariaLabel: caption }));
}
const percent = share => Math.round(100 * share) + " %";

async function begin() {
  state = await ask("state", { rater: rater || "1" });
  $("place").textContent = ""; $("track").hidden = true;
  const done = state.compared, total = about.videos.length;
  const choose = who => make("button", { className: "main", textContent: letters[who], onclick: () => enter(who) });
  const status = ["1", "2"].map(who => make("p", { className: "soft", textContent: `${letters[who]}: ${state.progress[who]} of ${total} videos rated` }));
  const agreement = done ? [make("section", { className: "card" }, make("h2", { textContent: "Both are done" }),
    make("p", { textContent: `They agree on ${percent(done.share)} of the videos; Cohen's kappa is ${done.kappa.toFixed(2)}.` }),
    make("p", { textContent: Object.keys(done.differ).length
      ? `${Object.keys(done.differ).length} were judged differently; ${done.left.length} are still to be discussed.` : "Nothing is left to discuss." }),
    ...(Object.keys(done.differ).length ? [choose("together")] : []))] : [];
  show(make("div", { className: "text" }, make("h1", { textContent: about.title }),
    ...agreement,
    make("section", { className: "card" }, make("h2", { textContent: "Which stage went wrong first?" }),
      make("p", { textContent: "Two people look at each failed video by themselves and name the first stage at which it went wrong. Neither sees what the other said until both are done; then they discuss what differs." }),
      make("dl", {}, ...about.stages.flatMap(s => [make("dt", { textContent: s.name }), make("dd", { textContent: s.meaning })])),
      ...status, ...(done ? [] : [make("div", { className: "row" }, choose("1"), choose("2"))]))));
}

async function enter(who) {
  rater = who;
  state = await ask("state", { rater });
  history.replaceState(null, "", "#rater=" + who);
  const open = shownVideos().findIndex(v => !state.ratings[v.name]);
  at = Math.max(open, 0);
  video();
}

function progress() {
  const videos = shownVideos(), rated = videos.filter(v => state.ratings[v.name]).length;
  $("place").textContent = `${letters[rater]}: ${at + 1} of ${videos.length}`;
  $("track").hidden = false; $("track").ariaValueMax = String(videos.length); $("track").ariaValueNow = String(rated);
  $("fill").style.width = 100 * rated / videos.length + "%";
}

function video() {
  const videos = shownVideos(), one = videos[at], rating = state.ratings[one.name] || {};
  progress();
  const note = make("textarea", { rows: 2, value: rating.note || "", maxLength: 2000, ariaLabel: "Note",
    placeholder: "Note (optional)", disabled: !rating.stage, onchange: () => choose(state.ratings[one.name].stage) });
  const radios = about.stages.map((stage, i) => make("label", { className: "stage" },
    make("input", { type: "radio", name: "stage", value: stage.name, checked: rating.stage === stage.name, onchange: () => choose(stage.name) }),
    make("span", {}, make("b", { textContent: `${i + 1} ${stage.name}` }), make("span", { className: "soft small", textContent: stage.meaning }))));
  async function choose(stage) {
    state = await ask("rate", { rater, video: one.name, stage, note: note.value });
    if (shownVideos()[at] !== one) return;   // moved on meanwhile
    radios.forEach(label => { label.firstChild.checked = label.firstChild.value === stage; });
    note.disabled = next.disabled = false;
    progress();
  }
  const facts = [one.category, "score " + one.score.toFixed(1)].filter(Boolean).join(" · ");
  const said = rater === "together" ? [make("p", { className: "hint", textContent:
    "Rater 1 said " + state.compared.differ[one.name][0] + ", Rater 2 said " + state.compared.differ[one.name][1] + "." })] : [];
  const back = make("button", { textContent: "Back", disabled: at === 0, onclick: () => move(-1) });
  const next = make("button", { className: "main", textContent: at + 1 < videos.length ? "Next" : "Finish", disabled: !rating.stage, onclick: () => move(1) });
  const films = [one.video && film(one.video, "Generated", true), one.truth && film(one.truth, "Real")].filter(Boolean);
  const verdict = make("fieldset", { className: "verdict" }, make("legend", { textContent: "First stage that goes wrong" }), ...radios, note,
    make("div", { className: "next" }, back, next));
  const more = [];
  if (one.guess) more.push(make("p", { className: "soft", textContent: "Automatic guess: " + one.guess }));
  if (one.events.length) more.push(make("h2", { textContent: "The plan" }), make("ol", {}, ...one.events.map(text => make("li", { textContent: text }))));
  if (one.keyframes.length) more.push(make("h2", { textContent: "Keyframes" }), make("div", { className: "thumbs" },
    ...one.keyframes.map((k, i) => make("img", { src: k, alt: "Keyframe " + (i + 1) }))));
  show(make("h1", { textContent: one.name }), make("p", { className: "soft", textContent: [facts, one.description].filter(Boolean).join(" · ") }), ...said,
    make("div", { className: "rating" }, make("div", { className: "seen" }, ...films), verdict), ...more,
    make("p", { className: "soft small keys", textContent: `Keys: 1 to ${about.stages.length} choose, arrows move.` }));
  keys = event => {
    if (event.target.tagName === "TEXTAREA" || event.target.tagName === "VIDEO") return;
    const number = Number(event.key);
    if (number >= 1 && number <= about.stages.length) choose(about.stages[number - 1].name);
    if (event.key === "ArrowRight" && !next.disabled) { event.preventDefault(); next.click(); }
    if (event.key === "ArrowLeft" && !back.disabled) { event.preventDefault(); back.click(); }
  };
}
function move(step) {
  at += step;
  if (at >= shownVideos().length) begin(); else video();
}
document.addEventListener("keydown", event => {
  if (keys && !event.ctrlKey && !event.metaKey && !event.altKey && !event.repeat) keys(event);
});

async function run() {
  about = await ask("about");
  document.title = about.title;
  $("title").textContent = about.title;
  const linked = new URLSearchParams(location.hash.slice(1)).get("rater");
  state = await ask("state", { rater: "1" });
  if ((linked === "1" || linked === "2") && !state.compared) await enter(linked);
  else await begin();
}
run().catch(error => show(make("div", { className: "text" }, make("section", { className: "card" },
  make("h1", { textContent: "Something went wrong" }), make("p", { textContent: error.message })))));
