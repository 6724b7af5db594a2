// Masks as canvases of the frame's size: painted, grown, shrunk, joined. What is light is the object.

import { picture, upload } from "./api.js";

const AROUND = Array.from({ length: 16 }, (_, i) => [Math.cos(i * Math.PI / 8), Math.sin(i * Math.PI / 8)]);

function blank({ width, height }) {
  const canvas = document.createElement("canvas");
  Object.assign(canvas, { width, height });
  const context = canvas.getContext("2d", { willReadFrequently: true });
  context.fillStyle = "#000";
  context.fillRect(0, 0, width, height);
  return canvas;
}
// A stored mask, or an empty one.
export async function maskOf(id, frame) {
  const canvas = blank(frame);
  if (id) {
    const image = new Image();
    image.src = picture(id);
    await image.decode();
    canvas.getContext("2d").drawImage(image, 0, 0);
  }
  return canvas;
}
export function stroke(canvas, spots, radius, colour) {
  const context = canvas.getContext("2d");
  Object.assign(context, { strokeStyle: colour, fillStyle: colour, lineWidth: 2 * radius, lineCap: "round", lineJoin: "round" });
  context.beginPath();
  context.moveTo(...spots[0]);
  for (const spot of spots) context.lineTo(...spot);
  if (spots.length > 1) context.stroke();
  else { context.arc(...spots[0], radius, 0, 7); context.fill(); }
}
// By so many pixels on every side; fewer than none shrinks.
export function grow(canvas, by) {
  const before = blank(canvas), context = canvas.getContext("2d");
  before.getContext("2d").drawImage(canvas, 0, 0);
  context.globalCompositeOperation = by > 0 ? "lighten" : "darken";
  for (const [x, y] of AROUND) context.drawImage(before, x * by, y * by);
  context.globalCompositeOperation = "source-over";
}
// With another mask, or without it.
export function join(canvas, other, inside) {
  const context = canvas.getContext("2d");
  context.globalCompositeOperation = inside ? "lighten" : "darken";
  context.filter = inside ? "none" : "invert(1)";
  context.drawImage(other, 0, 0);
  context.filter = "none";
  context.globalCompositeOperation = "source-over";
}
export function isEmpty(canvas) {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  for (let i = 0; i < data.length; i += 4) if (data[i] > 127) return false;
  return true;
}
// The mask in the studio's store; its id.
export async function store(canvas) {
  const blob = await new Promise(done => canvas.toBlob(done, "image/png"));
  return (await upload("picture", blob)).picture;
}
