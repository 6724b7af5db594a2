// The first frame with its objects, where each one goes and when, and the scene in words with what hides what.

import { file } from "./api.js";
import { button, h, s } from "./dom.js";
import { hue } from "./timeline.js";

const SOON = 500;   // milliseconds after a drag: another may follow
const HOLDS = ["support", "containment"];   // a behind b
const SAID = { support: "holds", contact: "touches", containment: "contains", attachment: "carries" };

export function firstFrame(page) {
  const { details, name } = page, boxes = Object.entries(details.objects), touched = new Map();
  details.plan.events.forEach((event, i) => event.delta.states.forEach(state => touched.has(state.object) || touched.set(state.object, i)));
  boxes.sort((a, b) => b[1][2] * b[1][3] - a[1][2] * a[1][3]);
  const taken = [];
  const marks = boxes.filter(([id, box]) => touched.has(id) || (boxes.length < 9 && box[2] * box[3] < 0.3)).map(([id, box]) => {
    const event = touched.get(id), share = value => `${100 * value}%`, [x, y, width, height] = box;
    return h("div", { class: `mark ${event === undefined ? "still" : ""} ${labelPlace(id, box, event === undefined, taken)}`, style: { left: share(x), top: share(y), width: share(width), height: share(height), "--hue": hue(event ?? 0) } }, h("span", { text: id }));
  });
  const over = h("div", { class: "over" }), ends = goals(page, over);
  const alt = `The first frame. Objects: ${details.plan.graph.nodes.map(node => node.id).join(", ")}`;
  over.append(h("img", { src: file(name, "frame.png", details.files), alt, draggable: "false" }), ...marks, ...ends);
  return h("figure", {}, over, h("figcaption", { text: ends.length ? "Drag a numbered dot to where its object should be at that time (or use the arrow keys)." : boxes.length ? "What is in the picture. Coloured: what changes, by its first event." : "The first frame" }));
}

// Where each moving object ends, event by event: a dot to drag. Shifts are in heights of the frame.
function goals(page, over) {
  const { details, studio, editor } = page, place = new Map(), nodes = [], ratio = details.frame[0] / details.frame[1];
  for (const [id, [x, y, width, height]] of Object.entries(details.objects)) place.set(id, [x + width / 2, y + height / 2]);
  editor.plan.events.forEach((event, i) => (event.motion || []).forEach((motion, j) => {
    const from = place.get(motion.o), known = studio.about.laws[motion.law]?.parameters || {};
    if (!from) return;
    if (motion.path?.length) {   // a sampled way: shown, and not dragged
      const spots = motion.path.map(([, x, y]) => [from[0] + x / ratio, from[1] + y]);
      nodes.push(way(i, spots));
      place.set(motion.o, spots.at(-1));
      return;
    }
    if (!("dx" in known || "dy" in known) || (motion.dx === undefined && motion.dy === undefined)) return;
    const to = [from[0] + (motion.dx || 0) / ratio, from[1] + (motion.dy || 0)];
    place.set(motion.o, to);
    nodes.push(...goal(page, over, { event: i, index: j, from, to, ratio, law: known, o: motion.o }));
  }));
  return nodes;
}
function way(event, spots) {
  const line = s("polyline", { points: points(spots), "vector-effect": "non-scaling-stroke" });
  return s("svg", { class: "way", viewBox: "0 0 1 1", preserveAspectRatio: "none", style: { "--hue": hue(event) }, "aria-hidden": "true" }, line);
}
const points = spots => spots.map(spot => spot.join(",")).join(" ");

function goal(page, over, { event, index, from, to, ratio, law, o }) {
  const at = [...to], inside = value => Math.max(0.02, Math.min(0.98, value));   // what leaves the frame keeps its dot
  const path = way(event, [from, at]), when = time(page, event);
  const dot = h("button", { type: "button", class: "goal", style: { "--hue": hue(event) }, "aria-label": `Where ${o} is after event ${event + 1}, ${when}` }, h("b", { text: event + 1 }), h("span", { class: "when", text: when }));
  const draw = () => {
    dot.style.left = `${100 * inside(at[0])}%`;
    dot.style.top = `${100 * inside(at[1])}%`;
    path.firstChild.setAttribute("points", points([from, at]));
  };
  const settle = () => {
    const motion = page.editor.plan.events[event].motion[index], round = value => Math.round(value * 1e4) / 1e4;
    page.editor.change(() => { if ("dx" in law) motion.dx = round((at[0] - from[0]) * ratio); if ("dy" in law) motion.dy = round(at[1] - from[1]); });
    page.watchSoon(SOON);
  };
  const move = (x, y) => { if ("dx" in law) at[0] = x; if ("dy" in law) at[1] = y; draw(); };
  dot.addEventListener("pointerdown", begin => {
    begin.preventDefault();
    dot.focus({ preventScroll: true });
    dot.setPointerCapture(begin.pointerId);
    const box = over.querySelector("img").getBoundingClientRect(), start = [...at];
    const drag = now => move((now.clientX - box.left) / box.width, (now.clientY - box.top) / box.height);
    const end = () => { dot.removeEventListener("pointermove", drag); if (start.some((value, k) => value !== at[k])) settle(); };
    dot.addEventListener("pointermove", drag);
    dot.addEventListener("pointerup", end, { once: true });
    dot.addEventListener("pointercancel", end, { once: true });
  });
  dot.addEventListener("keydown", now => {
    const by = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[now.key];
    if (by) { now.preventDefault(); move(at[0] + by[0] * 0.02, at[1] + by[1] * 0.02); settle(); }
  });
  draw();
  return [path, dot];
}
function time({ editor, details }, event) {
  const anchor = editor.plan.events[event].anchor, fps = details.settings["video.fps"];
  return anchor === undefined ? "" : fps ? `${(anchor / fps).toFixed(1)} s` : `frame ${anchor}`;
}

// The scene in words: every object with what is known of it, and the order in which they hide each other.
export function sceneInWords(page) {
  const { nodes, edges } = page.editor.plan.graph;
  const lines = nodes.map(node => h("li", {}, h("b", { text: node.id }),
    h("span", { text: [...Object.values(node.attributes || {}), ...edges.filter(edge => edge.a === node.id).map(edge => `${SAID[edge.r] || edge.r} ${edge.b}`)].join(", ") })));
  const near = [...order(page.details.objects, edges)].reverse();
  return h("div", { class: "graph" }, h("h4", { text: "The scene before anything happens" }), h("ul", { class: "plain" }, ...lines),
    near.length > 1 ? h("details", { class: "hides", open: page.scene.querySelector(".hides")?.open ?? Boolean(page.photo) }, h("summary", { text: "What hides what: the nearest first" }),
      h("ol", { class: "plain depth" }, ...near.map((id, i) => h("li", { "data-key": id }, h("b", { text: id }), button("Nearer", () => nearer(page, near, i), { class: "quiet small", disabled: !i || held(edges, id, near[i - 1]), title: i && held(edges, id, near[i - 1]) ? "One holds the other" : "", "aria-label": `${id} nearer` }))))) : null);
}
const held = (edges, a, b) => edges.some(edge => HOLDS.includes(edge.r) && ((edge.a === a && edge.b === b) || (edge.a === b && edge.b === a)));

// As the sketch draws them: from far to near by the foot of the box, then by the plan's relations.
function order(objects, edges) {
  const found = Object.keys(objects).sort((a, b) => objects[a][1] + objects[a][3] - objects[b][1] - objects[b][3]);
  const pairs = edges.filter(edge => HOLDS.includes(edge.r) || edge.r === "in front of").map(edge => edge.r === "in front of" ? [edge.b, edge.a] : [edge.a, edge.b]);
  for (const _ of found) for (const [behind, front] of pairs) {
    if (!found.includes(behind) || !found.includes(front) || found.indexOf(behind) < found.indexOf(front)) continue;
    found.splice(found.indexOf(front), 1);
    found.splice(found.indexOf(behind) + 1, 0, front);
  }
  return found;
}
function nearer(page, near, index) {
  const front = near[index], behind = near[index - 1];
  page.editor.change(() => {
    const { graph } = page.editor.plan, between = edge => edge.r === "in front of" && [edge.a, edge.b].every(id => id === front || id === behind);
    graph.edges = [...graph.edges.filter(edge => !between(edge)), { a: front, r: "in front of", b: behind }];
  });
  page.drawScene();
  page.watchSoon(SOON);
}

// Where a mark's label fits: above its box, below it or inside, from its left or its right edge, over no label before it.
function labelPlace(id, [x, y, width, height], still, taken) {
  const long = 0.02 + 0.019 * id.length, high = 0.055, left = x, right = x + width - long;
  const above = [["", left, y - high], ["right", right, y - high]], below = [["under", left, y + height], ["under right", right, y + height]];
  const inner = long <= width ? [["inner", left, y + height - high]] : [];
  const fits = ([, at, top]) => at >= -0.01 && at + long <= 1.01 && top >= -0.01 && top + high <= 1.01 && !taken.some(one => at < one.at + one.long && one.at < at + long && top < one.top + high && one.top < top + high);
  const places = still ? [...inner, ...below, ...above] : [...above, ...below, ...inner], [name, at, top] = places.find(fits) || places[0];
  taken.push({ at, top, long });
  return name;
}
