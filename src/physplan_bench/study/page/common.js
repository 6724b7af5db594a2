"use strict";
// What the study's and the raters' page share. Foreign words are set as text; nothing is parsed as markup.

const $ = id => document.getElementById(id);
const RETRY = 1500;

function make(tag, properties, ...children) {
  const node = Object.assign(document.createElement(tag), properties);
  node.append(...children);
  return node;
}
const paragraphs = texts => texts.map(text => make("p", { textContent: text }));

function remember(name, value) { try { localStorage.setItem(name, value); } catch { /* a private window */ } }
function remembered(name) { try { return localStorage.getItem(name); } catch { return null; } }
const wait = time => new Promise(done => setTimeout(done, time));

function notice(text) { $("notice").textContent = text; $("notice").hidden = !text; }

class Refusal extends Error {}

// A request to the server that sent the page, repeated until it is answered.
async function ask(what, body) {
  for (;;) {
    try {
      const reply = await fetch("api/" + what, { method: "POST", body: JSON.stringify(body || {}),
        headers: { "Content-Type": "application/json" } });
      if (reply.ok || reply.status < 500) {
        notice("");
        const answer = await reply.json();
        if (!reply.ok) throw new Refusal(answer.error);
        return answer;
      }
    } catch (error) {
      if (error instanceof Refusal) throw error;
    }
    notice("The study's server does not answer. Your choices are kept here; trying again ...");
    await wait(RETRY);
  }
}
