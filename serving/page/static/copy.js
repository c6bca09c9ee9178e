// Citations to the clipboard.

import { element, say } from "./words.js";

/** A passage as it is cited. */
export function citation(text, source, page) {
  return say("quote", { text: text.split(/\s+/).join(" ").trim(), source, page });
}

/** A button that copies a citation. */
export function copyButton(text) {
  return element("button", say("copy"), { type: "button", class: "plain", "data-copy": text });
}

document.addEventListener("click", async ({ target }) => {
  const button = target.closest?.("[data-copy]");
  if (!button) return;
  const copied = await copy(button.dataset.copy);
  button.textContent = copied ? `${say("copied")} ✓` : say("not_copied");
  setTimeout(() => (button.textContent = say("copy")), 2500);
});

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text); // pages without https have no clipboard
  }
}

function copyBySelection(text) {
  const area = element("textarea", text, { class: "unseen", readonly: "" });
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  return done;
}
