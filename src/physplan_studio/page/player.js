// Two to four videos that play in step, with one set of controls.

import { h, button } from "./dom.js";

const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
const APART = 0.07;   // seconds that two videos may drift apart

export class Films {
  constructor(shown) {
    this.videos = shown.map(one => h("video", { src: one.src, poster: one.poster, muted: true, playsinline: true, preload: "auto", "aria-label": one.label }));
    this.videos.forEach(video => { video.muted = true; });
    this.toggle = button("Play", () => this.playing ? this.pause() : this.play(), { class: "play" });
    this.bar = h("input", { type: "range", min: 0, max: 1000, value: 0, "aria-label": "Place in the video", oninput: () => this.seek(this.bar.value / 1000) });
    this.slow = h("input", { type: "checkbox", onchange: () => this.pace() });
    this.node = h("div", { class: "films" },
      h("div", { class: `reel reel-${shown.length}` }, ...this.videos.map((video, i) =>
        h("figure", {}, video, h("figcaption", {}, h("b", { text: shown[i].title }), shown[i].note ? h("span", { text: shown[i].note }) : null)))),
      h("div", { class: "controls" }, this.toggle, this.bar, h("label", {}, this.slow, "Slow")));
    this.playing = false;
    this.frame = null;
    this.videos.forEach(video => video.addEventListener("loadeddata", () => this.ready(), { once: true }));
  }
  ready() {
    if (!calm && this.node.isConnected && this.videos.every(video => video.readyState >= 2)) this.play();
  }
  get length() { return Math.max(...this.videos.map(video => video.duration || 0)) || 0; }
  pace() { this.videos.forEach(video => { video.playbackRate = this.slow.checked ? 0.4 : 1; }); }
  play() {
    this.playing = true;
    this.toggle.textContent = "Pause";
    if (this.videos[0].ended) this.seek(0);
    this.videos.forEach(video => video.play().catch(() => {}));
    this.follow();
  }
  pause() {
    this.playing = false;
    this.toggle.textContent = "Play";
    this.videos.forEach(video => video.pause());
    cancelAnimationFrame(this.frame);
  }
  seek(share) {
    const time = share * this.length;
    this.videos.forEach(video => { video.currentTime = Math.min(time, video.duration || 0); });
    this.bar.value = share * 1000;
  }
  follow() {
    if (!this.playing || !this.node.isConnected) { this.playing = false; return; }
    const [first, ...others] = this.videos, longest = this.videos.reduce((a, b) => (a.duration || 0) >= (b.duration || 0) ? a : b);
    if (this.videos.every(video => video.ended || video.paused) || longest.ended) { this.seek(0); this.videos.forEach(video => video.play().catch(() => {})); }
    for (const video of others) if (!video.ended && Math.abs(video.currentTime - first.currentTime) > APART && !first.ended) video.currentTime = first.currentTime;
    if (this.length) this.bar.value = 1000 * longest.currentTime / this.length;
    this.frame = requestAnimationFrame(() => this.follow());
  }
}
