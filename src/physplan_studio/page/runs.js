// The gallery of runs, the queue, the bin, and runs side by side.

import { ask, file, picture } from "./api.js";
import { ago, button, clock, h, later, method, plural, put } from "./dom.js";
import { Films } from "./player.js";
import { STATES, VERDICTS } from "./run.js";

const link = run => `#/run/${encodeURIComponent(run)}`;
const state = card => card.job && card.job.state !== "done" ? card.job.state : card.finished ? card.verdict : card.failure ? "failed" : "planned";
const tint = name => ({ failed: "bad", stopped: "warn", running: "live", waiting: "live" }[name] ?? VERDICTS[name] ?? "");

export async function runsPage(studio) {
  let page = 0, found = await ask("runs", { page }), closed = false;
  const chosen = new Set(), error = h("p", { class: "fault", role: "alert", hidden: true });
  const search = h("input", { type: "search", placeholder: "Search words, methods, names", "aria-label": "Search runs", maxlength: 400, oninput: later(200, () => turn(0)) });
  const grid = h("div", { class: "gallery" }), count = h("p", { class: "soft", role: "status" }), bar = h("div", { class: "compare-bar", hidden: true }), bin = h("details", { class: "bin" });
  const pager = h("nav", { class: "row pager", "aria-label": "Pages of the list" });
  function draw() {
    const searched = search.value.trim(), last = Math.max(0, Math.ceil(found.count / found.per_page) - 1);
    page = found.page;
    count.textContent = searched ? `${found.count} of ${plural(found.total, "run")}` : plural(found.total, "run");
    put(grid, ...found.runs.map(card => tile(card)));
    if (!found.total) put(grid, h("div", { class: "empty" }, h("b", { text: "No runs yet" }), h("p", { class: "soft", text: "What you make here, or with physplan generate in the same folder, appears on this page." }), h("a", { class: "button main", href: "#/", text: "Make the first" })));
    else if (!found.count) put(grid, h("div", { class: "empty" }, h("b", { text: "Nothing found" }), h("p", { class: "soft", text: "No run has all of these words." })));
    put(pager, button("Newer", () => turn(page - 1), { disabled: !page }), h("span", { class: "soft small", text: `Page ${page + 1} of ${last + 1}` }), button("Older", () => turn(page + 1), { disabled: page >= last }));
    pager.hidden = !last;
    put(bin, h("summary", { text: `Bin: ${plural(found.bin.length, "run")}` }), h("ul", { class: "plain" }, ...found.bin.map(name => h("li", {}, h("span", { text: name }), button("Take back", () => act("restore", { binned: name }), { class: "small" })))));
    bin.hidden = !found.bin.length;
    compare();
  }
  async function turn(to) {
    const before = page;
    page = Math.max(0, to);
    try { await refresh(); if (page !== before) scrollTo(0, 0); }
    catch (refusal) { error.textContent = refusal.message; error.hidden = false; }
  }
  function tile(card) {
    const poster = file(card.run, "frame.png", card.files) || (card.picture.length === 64 ? picture(card.picture) : "icon.svg");
    const source = file(card.run, "video.mp4", card.files), name = state(card);
    const film = source ? h("video", { src: source, poster, muted: true, loop: true, playsinline: true, preload: "none", tabindex: -1, "aria-hidden": "true" }) : h("img", { src: poster, alt: "", loading: "lazy" });
    film.muted = true;
    const play = on => { if (!source) return; if (on) film.play().catch(() => {}); else { film.pause(); film.load(); } };
    return h("article", { class: "tile", "data-key": card.run, onmouseenter: () => play(true), onmouseleave: () => play(false) },
      h("a", { href: link(card.run), class: "film", "aria-label": `Open ${card.run}: ${card.prompt}` }, film),
      h("div", { class: "tile-text" }, h("a", { href: link(card.run), class: "title", text: card.prompt }),
        h("p", { class: "soft small", text: `${method(card.method)}, seed ${card.seed}${card.seconds ? `, ${clock(card.seconds)}` : ""}${card.changed ? `, ${ago(card.changed)}` : ""}` }), h("p", { class: "soft small", text: card.run }),
        h("div", { class: "row" }, h("span", { class: `chip ${tint(name)}`, text: STATES[name] || name }),
          card.finished ? h("label", { class: "pick" }, h("input", { type: "checkbox", checked: chosen.has(card.run), "aria-label": `Compare ${card.run}`, onchange: event => { if (event.target.checked) chosen.add(card.run); else chosen.delete(card.run); compare(); } }), "compare") : null,
          !card.finished && !(card.job && ["waiting", "running"].includes(card.job.state)) ? button("Go on", () => act("continue", { run: card.run }, link(card.run)), { class: "small" }) : null)));
  }
  function compare() {
    bar.hidden = !chosen.size;
    const address = `#/compare?${[...chosen].map(run => `run=${encodeURIComponent(run)}`).join("&")}`, fits = chosen.size >= 2 && chosen.size <= 4;
    put(bar, h("span", { text: fits ? `${chosen.size} chosen` : chosen.size > 4 ? "Choose at most four" : "Choose one more" }), h("div", { class: "row" }, button("Clear", () => { chosen.clear(); draw(); }, { class: "small" }), fits ? h("a", { class: "button main small", href: address, text: "Side by side" }) : null));
  }
  async function act(what, given, next) {
    error.hidden = true;
    try { await ask(what, given); if (next) location.hash = next; else await refresh(); }
    catch (refusal) { error.textContent = refusal.message; error.hidden = false; }
  }
  let number = 0;
  async function refresh() {
    const mine = ++number, now = await ask("runs", { page, search: search.value, seen: found.seen });
    if (closed || mine !== number || !now.runs) return;
    found = now;
    draw();
  }
  const timer = setInterval(() => refresh().catch(() => {}), 3000);
  draw();
  return { title: "Runs", close: () => { closed = true; clearInterval(timer); }, node: h("div", {}, h("div", { class: "head" }, h("div", {}, h("h1", { text: "Runs" }), count), search), error, grid, pager, bin, bar) };
}

export async function queuePage(studio) {
  const list = h("div", {}), error = h("p", { class: "fault", role: "alert", hidden: true });
  let closed = false;
  const show = found => {
    const waiting = found.jobs.filter(job => job.state === "waiting");
    put(list, 
      h("div", { class: "row spread" }, h("p", { class: "soft", text: found.paused ? "The queue is paused: what is under way ends, nothing new begins." : "One video at a time, in this order. Plans and sketches do not wait for videos." }),
        button(found.paused ? "Go on" : "Pause", () => act("pause", { paused: !found.paused }), { class: found.paused ? "main" : "" })),
      found.jobs.length ? h("ol", { class: "jobs" }, ...found.jobs.map(job => h("li", { class: "card", "data-key": job.run },
        h("img", { src: picture(job.picture), alt: "" }),
        h("div", { class: "job" }, h("a", { class: "title", href: link(job.run), text: job.prompt }),
          h("p", { class: "soft small" }, h("span", { class: "chip live", text: STATES[job.state] }), ` ${job.run}: ${job.upto}, ${method(job.method)}, seed ${job.seed}${job.progress && job.progress.remaining ? `, ${clock(job.progress.remaining)} left` : ""}`),
          job.progress && job.progress.total ? h("div", { class: "progress" }, h("div", { class: "fill", style: { width: `${100 * job.progress.done / job.progress.total}%` } })) : null),
        h("div", { class: "row" },
          job.state === "waiting" ? button("Earlier", () => act("move", { run: job.run, earlier: true }), { class: "small", disabled: waiting[0] === job }) : null,
          job.state === "waiting" ? button("Later", () => act("move", { run: job.run, earlier: false }), { class: "small", disabled: waiting.at(-1) === job }) : null,
          button("Stop", () => act("stop", { run: job.run }), { class: "small" }))))) :
        h("div", { class: "empty" }, h("b", { text: "Nothing is under way" }), h("p", { class: "soft", text: "Runs that you start wait here for their turn." })));
  };
  async function act(what, given) {
    error.hidden = true;
    try { await ask(what, given); } catch (refusal) { error.textContent = refusal.message; error.hidden = false; }
    await refresh();
  }
  let last = "";
  async function refresh() {
    const found = await ask("queue"), now = JSON.stringify(found);
    if (!closed && now !== last) { last = now; show(found); }
  }
  await refresh();
  const timer = setInterval(() => refresh().catch(() => {}), 1500);
  return { title: "Queue", close: () => { closed = true; clearInterval(timer); }, node: h("div", {}, h("h1", { text: "Queue" }), error, list) };
}

export async function comparePage(studio, query) {
  const names = query.getAll("run").slice(0, 4);
  const cards = await Promise.all(names.map(async run => (await ask("state", { run })).details));
  const films = new Films(cards.map(card => ({ src: file(card.run, "video.mp4", card.files), poster: file(card.run, "frame.png", card.files), title: method(card.method), note: card.run, label: `${card.run}: ${card.prompt}` })));
  const events = (card, cell, between) => card.plan ? card.plan.events.map(cell).join(between) : "no plan";
  const edit = one => `${one.op}(${Object.entries(one).filter(([name]) => name !== "op").map(([, value]) => typeof value === "object" ? Object.values(value).join(" ") : value).join(", ")})`;
  const settings = [...new Set(cards.flatMap(card => Object.keys(card.settings)))].sort();
  const rows = [["Verdict", card => card.sentence || card.verdict], ["Sentence", card => card.prompt], ["Method", card => method(card.method)], ["Preset", card => card.preset], ["Seed", card => card.seed],
    ["Anchors", card => events(card, event => `frame ${event.anchor}`, ", ")], ["States", card => events(card, event => event.delta.states.map(one => `${one.object}: ${one.state}`).join(", "), " → ")],
    ["Edits", card => events(card, event => event.edits.map(edit).join(", "), " → ")], ["Motion", card => events(card, event => (event.motion || []).map(one => `${one.o} ${one.law}`).join(", ") || "none", " → ")],
    ...settings.map(name => [studio.about.settings[name] || name, card => JSON.stringify(card.settings[name] ?? null).replace(/[{}"]/g, "")]),
    ["Work", card => clock(card.seconds)], ["Money", card => card.usd ? `${card.usd.toFixed(2)} USD` : "nothing"]];
  const lines = rows.map(([title, cell]) => { const cells = cards.map(card => String(cell(card))); return { title, cells, differ: new Set(cells).size > 1 }; });
  const row = line => h("tr", { class: line.differ ? "differs" : "" }, h("th", { scope: "row", text: line.title }), ...line.cells.map(text => h("td", { text })));
  const table = shown => h("div", { class: "scroll" }, h("table", {}, h("thead", {}, h("tr", {}, h("td", {}), ...cards.map(card => h("th", { scope: "col" }, h("a", { href: link(card.run), text: card.run }))))), h("tbody", {}, ...shown.map(row))));
  const differ = lines.filter(line => line.differ), same = lines.filter(line => !line.differ);
  return { title: "Side by side", node: h("div", {}, h("h1", { text: "Side by side" }), h("section", { class: "card" }, films.node),
    h("section", { class: "card" }, h("h2", { text: differ.length ? "What differs" : "Nothing differs" }), differ.length ? table(differ) : null, h("details", {}, h("summary", { text: `The same in all: ${same.map(line => line.title.toLowerCase()).join(", ")}` }), table(same)))) };
}
