// The pages by their addresses, and what all of them share.

import { ask } from "./api.js";
import { compose } from "./compose.js";
import { $, h, notice } from "./dom.js";
import { runPage } from "./run.js";
import { comparePage, queuePage, runsPage } from "./runs.js";

const studio = { about: null, wanted: {} };
let open = null, number = 0;

async function show() {
  const mine = ++number;
  const [path, query] = (location.hash.slice(1) || "/").split("?");
  const given = new URLSearchParams(query || ""), parts = path.split("/").filter(Boolean);
  if (location.hash === "#main") return;
  let page;
  try {
    studio.about ||= await ask("about", { wait: false });
    if (parts[0] === "run" && parts[1]) page = await runPage(studio, decodeURIComponent(parts.slice(1).join("/")));
    else if (parts[0] === "runs") page = await runsPage(studio);
    else if (parts[0] === "queue") page = await queuePage(studio);
    else if (parts[0] === "compare") page = await comparePage(studio, given);
    else page = await compose(studio, given);
  } catch (error) {
    page = { title: "Not here", node: h("div", { class: "empty" }, h("b", { text: error.message || "This cannot be shown." }), h("p", {}, h("a", { class: "button", href: "#/runs", text: "All runs" }))) };
  }
  if (mine !== number) { page.close?.(); return; }
  open?.close?.();
  open = page;
  document.title = `${page.title.slice(0, 200)} · PhysPlan Studio`;
  $("main").replaceChildren(page.node);
  const place = parts[0] === "run" || parts[0] === "compare" ? "runs" : parts[0] || "new";
  for (const link of document.querySelectorAll("nav a")) { if (link.dataset.page === place) link.setAttribute("aria-current", "page"); else link.removeAttribute("aria-current"); }
  scrollTo(0, 0);
}
async function count() {
  try {
    const { jobs } = await ask("queue");
    $("count").textContent = jobs.length;
    $("count").hidden = !jobs.length;
  } catch (error) { notice(error.message); }
  setTimeout(count, 2500);
}
$("skip-action").addEventListener("click", event => {
  event.preventDefault();
  const found = [...document.querySelectorAll("[data-action]")].find(one => !one.disabled && one.offsetParent) || $("main").querySelector("textarea, .main") || $("main");
  found.focus();
  found.scrollIntoView({ block: "center" });
});
addEventListener("hashchange", show);
show();
count();
