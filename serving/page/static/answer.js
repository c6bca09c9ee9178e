// An answer as it comes, and the places in the documents that it cites.

import { call, Problem } from "./service.js";
import { citation, copyButton } from "./copy.js";
import { element, languageOf, number, say } from "./words.js";

const place = document.querySelector("#answer");
let running = null;

/** Ask a question; `request` is how the search below it was asked for. */
export async function answer(question, request) {
  running?.abort();
  const mine = (running = new AbortController());
  const text = element("p", "", { class: "said-so", "aria-busy": "true", lang: languageOf(question) });
  const status = element("p", say("answering"), { class: "waiting" });
  const stop = element("button", say("stop"), { type: "button", class: "plain" });
  stop.addEventListener("click", () => mine.abort());
  place.replaceChildren(element("h2", say("answer")), status, text, stop);
  place.hidden = false;
  try {
    for await (const [name, told] of events(question, request, mine.signal)) {
      if (name === "delta") {
        status.remove();
        text.append(told.text);
      } else if (name === "answer") {
        show(told, text);
      } else if (name === "error") {
        throw new Problem("interrupted", told.detail, told.request_id);
      }
    }
  } catch (error) {
    if (mine !== running) return;
    if (error.name !== "AbortError") tell(error, () => answer(question, request));
  } finally {
    status.remove();
    stop.remove();
    text.setAttribute("aria-busy", "false");
    if (mine === running && place.children.length === 2 && !text.textContent) hide(); // stopped before it began
  }
}

/** Take the answer away: another search was begun. */
export function hide() {
  running?.abort();
  running = null;
  place.hidden = true;
  place.replaceChildren();
}

async function* events(question, request, signal) {
  // An empty history: nothing of it is kept by the service.
  const body = JSON.stringify({ ...request, question, history: [] });
  const headers = { "Content-Type": "application/json", Accept: "text/event-stream" };
  const response = await call("/v1/ask", { method: "POST", headers, body, signal });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let waiting = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    waiting += value;
    const blocks = waiting.split("\n\n");
    waiting = blocks.pop();
    for (const block of blocks) {
      const lines = block.split("\n").map((line) => line.split(/: (.*)/s));
      const { event, data } = Object.fromEntries(lines.filter((line) => line.length > 1));
      if (event && data) yield [event, JSON.parse(data)];
    }
  }
}

function show(reply, text) {
  if (reply.refused) {
    place.replaceChildren(
      element("h2", say("answer")),
      element("p", say("no_answer"), { class: "said-so" }),
      element("p", say("no_answer_hint"), { class: "small" }),
    );
    return;
  }
  text.replaceChildren(...cited(reply));
  text.lang = languageOf(reply.answer);
  const how = reply.mode === "extractive" ? say("by_extraction") : say("by_model", { model: reply.generator });
  place.append(element("p", how, { class: "small" }));
  if (reply.unsupported.length) place.append(doubts(reply.unsupported));
  if (!reply.citations.length) return;
  const list = element("ol");
  list.append(...reply.citations.map(source));
  place.append(element("h3", say("sources")), list);
}

/** The words of the answer, each mark [n] a button that leads to its source: of several with that number, in turn. */
function cited(reply) {
  const seen = new Map();
  return reply.answer.split(/(\[\d+\])/).map((part) => {
    const marker = Number(part.match(/^\[(\d+)\]$/)?.[1]);
    const all = reply.citations.map((one, at) => at).filter((at) => reply.citations[at].marker === marker);
    if (!all.length) return part;
    const turn = seen.get(marker) ?? 0;
    seen.set(marker, turn + 1);
    return mark(marker, all[Math.min(turn, all.length - 1)]);
  });
}

function mark(marker, at) {
  const label = say("to_source", { n: marker });
  const button = element("button", `[${number(marker)}]`, { type: "button", class: "cite", "aria-label": label });
  button.addEventListener("click", () => {
    const target = document.getElementById(`source-${at}`);
    target.scrollIntoView({ block: "center" });
    target.focus();
    target.querySelector("[data-view]")?.click();
  });
  return button;
}

function doubts(sentences) {
  const made = element("div", say("unsupported_words"), { class: "doubtful small" });
  made.append(...sentences.map((one) => element("p", `“${one.text}”`, { lang: languageOf(one.text) })));
  return made;
}

function source(one, at) {
  const page = say("page", { n: one.page });
  const item = element("li", "", { id: `source-${at}`, tabindex: "-1" });
  const check = one.verified ? ["✓ ", "verified", "checked"] : ["? ", "unverified", "doubtful"];
  const where = element("p", "", { class: "where" });
  where.append(element("span", `[${number(one.marker)}] ${one.source.split("/").at(-1)}`, { title: one.source, lang: languageOf(one.source) }));
  where.append(element("span", page));
  where.append(element("span", check[0] + say(check[1]), { class: check[2] }));
  const acts = element("p", "", { class: "acts" });
  if (/\.(pdf|png|jpe?g|tiff?|webp|bmp)$/i.test(one.source)) acts.append(viewLink(one));
  acts.append(copyButton(citation(one.quote, one.source, page)));
  item.append(where, element("blockquote", one.quote, { class: "passage", lang: languageOf(one.quote) }), acts);
  return item;
}

function viewLink(one) {
  const address = `/v1/documents/${one.document_id}/pages/${one.page}/image?start=${one.start}&end=${one.end}`;
  const link = element("a", say("see_page"), { href: address, target: "_blank", rel: "noopener", "data-view": "" });
  const { document_id, page, start, end } = one;
  Object.assign(link.dataset, { document: document_id, page, start, end, name: one.source.split("/").at(-1) });
  return link;
}

/** Say what went wrong, and offer to try again. */
function tell(error, again) {
  const kind = error.kind ?? "failed";
  const hint = { busy: "busy_hint", failed: "failed_hint", unreachable: "unreachable_hint" }[kind];
  const button = element("button", say("again"), { type: "button", class: "second" });
  button.addEventListener("click", again);
  place.append(element("p", say(kind), { class: "wrong" }));
  if (hint) place.append(element("p", say(hint)));
  if (error.requestId) place.append(element("p", say("request", { id: error.requestId }), { class: "small" }));
  place.append(button);
}
