// Requests to the server that sent the page. Those that change nothing are repeated while it is away.

import { notice } from "./dom.js";

export class Refusal extends Error {}
const wait = time => new Promise(done => setTimeout(done, time));
const AWAY = "The studio does not answer. Start it again; this page goes on by itself.";

async function answered(reply) {
  const answer = await reply.json().catch(() => ({ error: "The answer cannot be read." }));
  if (!reply.ok) throw new Refusal(answer.error || "This was refused.");
  notice("");
  return answer;
}
export async function ask(what, given) {
  const body = JSON.stringify(given || {});
  for (;;) {
    let reply;
    try { reply = await fetch("api/" + what, { method: "POST", body, headers: { "Content-Type": "application/json" } }); }
    catch { notice(AWAY); await wait(1200); continue; }
    return answered(reply);
  }
}
export async function upload(what, file) {
  if (file.size > 30e6) throw new Refusal(`${file.name} has ${Math.ceil(file.size / 1e6)} MB: a file may have at most 30.`);
  const reply = await fetch("api/" + what, { method: "POST", body: await file.arrayBuffer(), headers: { "Content-Type": "application/octet-stream" } })
    .catch(() => { throw new Refusal(AWAY); });
  return answered(reply);
}
export const picture = id => `pictures/${id}.png`;
export const path = run => run.split("/").map(encodeURIComponent).join("/");
// The address of a run's file as it is now: another version has another address.
export function file(run, name, versions) {
  const version = versions && versions[name];
  return version ? `runs/${path(run)}/${name}?v=${version}` : null;
}
