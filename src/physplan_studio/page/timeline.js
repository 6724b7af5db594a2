// The time line: a track of frames with an anchor for every event, to drag or to move with the arrow keys.

import { h } from "./dom.js";

export const HUES = [212, 158, 32, 322, 268, 96, 4];
export const hue = index => HUES[index % HUES.length];

// Shares of time from anchors: each event takes what lies between its anchor and the one before.
export function shares(anchors, frames) {
  return anchors.map((anchor, i) => Number(((anchor - (i ? anchors[i - 1] : 0)) / (frames - 1)).toFixed(4)));
}
// The last state keeps at least one frame of its own: shares that sum to 1 would be scaled down.
export function bounds(anchors, index, frames) {
  return [(index ? anchors[index - 1] : 0) + 1, index + 1 < anchors.length ? anchors[index + 1] - 1 : frames - 2];
}

export function timeline(plan, { moved, settled, chosen }) {
  const frames = plan.num_frames, last = frames - 1;
  const anchors = plan.events.map(event => event.anchor);
  const track = h("div", { class: "track" });
  const at = frame => `${100 * frame / last}%`;
  const spans = [], handles = [];
  const place = () => {
    anchors.forEach((anchor, i) => {
      const from = i ? anchors[i - 1] : 0;
      spans[i].style.left = at(from);
      spans[i].style.width = at(anchor - from);
      handles[i].style.left = at(anchor);
      handles[i].setAttribute("aria-valuenow", anchor);
      handles[i].setAttribute("aria-valuetext", `frame ${anchor} of ${last}`);
      handles[i].querySelector(".at").textContent = anchor;
    });
  };
  const move = (index, frame, done) => {
    const [low, high] = bounds(anchors, index, frames);
    const to = Math.max(low, Math.min(high, Math.round(frame)));
    if (to !== anchors[index]) { anchors[index] = to; place(); moved(shares(anchors, frames), index); }
    if (done) settled();
  };
  anchors.forEach((anchor, i) => {
    spans.push(h("div", { class: "span", style: { "--hue": hue(i) }, onclick: () => chosen(i) }, h("span", { text: i + 1 })));
    const [low, high] = bounds(anchors, i, frames);
    const handle = h("button", { type: "button", class: "anchor", role: "slider", style: { "--hue": hue(i) }, "aria-valuemin": low, "aria-valuemax": high,
      "aria-label": `End of event ${i + 1}` }, h("span", { class: "at" }));
    handle.addEventListener("pointerdown", event => {
      handle.setPointerCapture(event.pointerId);
      handle.classList.add("dragged");
      const box = track.getBoundingClientRect();
      const drag = now => move(i, (now.clientX - box.left) / box.width * last, false);
      const end = () => { handle.classList.remove("dragged"); handle.removeEventListener("pointermove", drag); settled(); };
      handle.addEventListener("pointermove", drag);
      handle.addEventListener("pointerup", end, { once: true });
      handle.addEventListener("pointercancel", end, { once: true });
    });
    handle.addEventListener("keydown", event => {
      const by = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -3, PageUp: 3, Home: -frames, End: frames }[event.key];
      if (by) { event.preventDefault(); move(i, anchors[i] + by, true); }
    });
    handles.push(handle);
  });
  track.append(...spans, ...handles);
  place();
  return h("div", { class: "timeline" },
    h("div", { class: "ruler", "aria-hidden": "true" }, h("span", { text: "first frame" }), h("span", { text: `frame ${last}` })), track);
}
