// Calls of the service, with the visitor's key where it asks for one. The key lives in sessionStorage alone.

const KEPT = "rag-key";
const dialog = document.querySelector("#key");
const field = dialog.querySelector("input");
const wrong = dialog.querySelector(".wrong");
let asking = null;

/** What went wrong, with the name of the text that says it. */
export class Problem extends Error {
  constructor(kind, detail = "", requestId = "") {
    super(detail || kind);
    Object.assign(this, { kind, detail, requestId });
  }
}

/** The headers that say who asks. */
export function credentials() {
  const key = sessionStorage.getItem(KEPT);
  return key ? { Authorization: `Bearer ${key}` } : {};
}

/** Ask for a key; true when one was given. */
export function askForKey() {
  asking ??= new Promise((resolve) => {
    wrong.hidden = !sessionStorage.getItem(KEPT);
    sessionStorage.removeItem(KEPT);
    field.value = "";
    dialog.returnValue = "";
    dialog.showModal();
    dialog.addEventListener("close", () => {
      asking = null;
      const given = dialog.returnValue === "send" && field.value.trim();
      if (given) sessionStorage.setItem(KEPT, given);
      resolve(Boolean(given));
    }, { once: true });
  });
  return asking;
}

/** Fetch something; a key is asked for as often as the service wants another. Answers as `accept` allows. */
export async function call(path, options = {}, accept = () => false) {
  for (;;) {
    let response;
    try {
      response = await fetch(path, { ...options, headers: { ...options.headers, ...credentials() } });
    } catch (error) {
      throw error.name === "AbortError" ? error : new Problem("unreachable");
    }
    if (response.status === 401 && (await askForKey())) continue;
    if (response.ok || accept(response)) return response;
    throw await problemOf(response);
  }
}

/** What an answer that is no success means. */
export async function problemOf(response) {
  const told = await response.json().catch(() => ({}));
  const kind = { 401: "forbidden", 403: "forbidden", 413: "too_large", 429: "busy" }[response.status]
    ?? (response.status === 503 && response.headers.has("Retry-After") ? "busy" : "failed");
  return new Problem(kind, told.detail, told.request_id);
}
