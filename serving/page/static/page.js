// The search itself. What a search finds the server writes, with and without scripts: here it is only put in place.

import { answer, hide } from "./answer.js";
import "./copy.js";
import { askForKey, call, Problem } from "./service.js";
import "./upload.js";
import "./viewer.js";
import { element, say } from "./words.js";

const form = document.querySelector("#search");
const field = form.elements.q;
const status = document.querySelector("#status");
let searching = null;

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const asks = event.submitter?.id === "ask";
  field.blur(); // puts the keyboard of a phone away
  hide();
  const found = await search(address(new FormData(form)));
  if (asks && found?.dataset.request) answer(field.value.trim(), JSON.parse(found.dataset.request));
});

document.addEventListener("click", (event) => {
  const { target } = event;
  const more = target.closest?.("[data-more]");
  if (more) {
    event.preventDefault();
    search(more.getAttribute("href"), { stay: true });
  }
  const opens = target.closest?.("[data-open]");
  if (opens) document.getElementById(opens.dataset.open).showModal();
  if (target.closest?.("[data-close]")) target.closest("dialog").close();
  if (target.matches?.("dialog")) target.close(); // beside the dialog
});

document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.target.closest("input, textarea, select, dialog")) return;
  event.preventDefault();
  field.select();
});

addEventListener("popstate", () => {
  hide();
  search(location.pathname + location.search, { keep: true });
});

function address(given) {
  const pairs = [...given].filter(([, value]) => typeof value === "string" && value.trim());
  return `/?${new URLSearchParams(pairs)}`;
}

/** Show what an address finds, and return the place where it stands; null where another search came after. */
async function search(path, { keep = false, stay = false } = {}) {
  searching?.abort();
  const mine = (searching = new AbortController());
  document.body.classList.add("busy");
  status.textContent = say("loading");
  try {
    const page = await fetched(path, mine.signal);
    if (mine !== searching) return null;
    put(page, path, { keep, stay });
  } catch (error) {
    if (error.name === "AbortError" || mine !== searching) return null;
    tell(error, () => search(path, { keep, stay }));
  } finally {
    if (mine === searching) {
      document.body.classList.remove("busy");
      status.textContent = results().querySelector("h2")?.textContent ?? "";
    }
  }
  return results();
}

/** Fetch a page as the server writes it; it says itself what went wrong, except where it needs a key. */
async function fetched(path, signal) {
  const isPage = ({ status, headers }) => status !== 401 && headers.get("Content-Type")?.startsWith("text/html");
  const response = await call(path, { signal, headers: { Accept: "text/html" } }, isPage);
  return new DOMParser().parseFromString(await response.text(), "text/html");
}

function put(page, path, { keep, stay }) {
  for (const id of ["filters", "results", "documents", "collections"]) {
    const fresh = page.getElementById(id);
    const old = document.getElementById(id);
    if (fresh && old?.isConnected) old.replaceWith(document.adoptNode(fresh));
  }
  document.querySelector(".top nav a").replaceWith(document.adoptNode(page.querySelector(".top nav a")));
  document.body.classList.toggle("start", page.body.classList.contains("start"));
  document.title = page.title;
  if (keep) field.value = page.querySelector("#q").getAttribute("value");
  else history[stay ? "replaceState" : "pushState"](null, "", path);
  wake(results());
  if (!stay) results().focus({ preventScroll: true });
}

function results() {
  return document.querySelector("#results");
}

/** Say what went wrong where passages would stand. */
function tell(error, again) {
  const kind = error instanceof Problem ? error.kind : "failed";
  const hint = { busy: "busy_hint", failed: "failed_hint", unreachable: "unreachable_hint" }[kind];
  const state = element("div", "", { class: "state", role: "alert" });
  state.append(element("h2", say(kind)), element("p", hint ? say(hint) : error.detail ?? ""));
  if (error.requestId) state.append(element("p", say("request", { id: error.requestId }), { class: "small" }));
  const button = element("button", say("again"), { type: "button", class: "second" });
  button.addEventListener("click", again);
  state.append(button);
  results().replaceChildren(state);
}

/** Show what works with scripts alone. */
function wake(part) {
  part.querySelectorAll("[data-copy], [data-open], #ask").forEach((one) => (one.hidden = false));
}

wake(document);
if (results().dataset.problem === "key" || sessionStorage.getItem("rag-key")) {
  const here = location.pathname + location.search;
  if (sessionStorage.getItem("rag-key") || (await askForKey())) search(here, { keep: true });
}
