// Documents in: files sent with their progress, and the job followed until they can be searched.

import { askForKey, call, credentials, Problem } from "./service.js";
import { element, number, say } from "./words.js";

const dialog = document.querySelector("#upload");
const [form, bar, list] = ["form", "progress", ".files"].map((one) => dialog.querySelector(one));
const [said, drop, field] = [".said", ".drop", "#files"].map((one) => dialog.querySelector(one));
const LIMIT = Number(dialog.dataset.limit);
const STATES = { ok: ["added", "good"], unchanged: ["unchanged", "good"], empty: ["empty", "bad"], unsupported: ["unsupported", "bad"], failed: ["unread", "bad"] };

field.addEventListener("change", () => {
  send([...field.files]);
  field.value = "";
});
for (const name of ["dragover", "dragleave", "drop"]) {
  drop.addEventListener(name, (event) => {
    event.preventDefault();
    drop.classList.toggle("over", name === "dragover");
    if (name === "drop") send([...event.dataTransfer.files]);
  });
}

async function send(files) {
  if (!files.length) return;
  list.replaceChildren(...files.map((file) => row(file.name)));
  try {
    if (files.reduce((size, file) => size + file.size, 0) > LIMIT) throw new Problem("too_large");
    form.inert = true;
    await follow(await posted(files));
    said.textContent = say("upload_done");
  } catch (error) {
    said.textContent = [say(error.kind ?? "failed"), error.detail].filter(Boolean).join(": ");
  } finally {
    form.inert = false;
    bar.hidden = true;
  }
}

/** Send the files and return the job; a key is asked for where one is missing. */
async function posted(files) {
  const body = new FormData();
  for (const file of files) body.append("files", file);
  const collection = form.elements.collection.value.trim();
  if (collection) body.append("collection", collection);
  const [status, told] = await transferred(body);
  if (status === 401 && (await askForKey())) return posted(files);
  if (status < 300) return told;
  throw new Problem({ 401: "forbidden", 403: "forbidden", 413: "too_large", 429: "busy" }[status] ?? "failed", told.detail);
}

/** fetch tells nothing of what is on its way, XMLHttpRequest does. */
function transferred(body) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", "/v1/documents");
    for (const [name, value] of Object.entries(credentials())) request.setRequestHeader(name, value);
    request.responseType = "json";
    request.upload.addEventListener("progress", ({ loaded, total }) => {
      bar.value = (100 * loaded) / total;
      said.textContent = `${say("sending")} ${number(Math.round(bar.value))}%`;
      if (loaded === total) bar.removeAttribute("value"); // from here on nobody knows how long
    });
    request.addEventListener("load", () => resolve([request.status, request.response ?? {}]));
    request.addEventListener("error", () => reject(new Problem("unreachable")));
    bar.value = 0;
    bar.hidden = false;
    request.send(body);
  });
}

async function follow(job) {
  for (let wait = 300; ; wait = Math.min(3000, wait * 1.5)) {
    said.textContent = say(job.status === "queued" ? "waiting" : "reading");
    job.documents.forEach((one) => tell(one, job.finished_at !== null));
    if (job.status === "failed") throw new Problem("failed", job.error ?? "");
    if (job.status === "done") return;
    await new Promise((resolve) => setTimeout(resolve, wait));
    job = await (await call(`/v1/jobs/${job.job_id}`)).json();
  }
}

function row(name) {
  const made = element("li", "", { "data-name": name.normalize("NFC") });
  made.append(element("b", name), element("span"));
  return made;
}

function tell(one, ended) {
  const found = [...list.children].find((made) => made.dataset.name === one.filename) ?? list.appendChild(row(one.filename));
  const [key, look] = STATES[one.status] ?? ["reading", ""];
  if (!ended && look !== "bad") return;
  found.lastChild.remove();
  found.querySelector("span")?.remove();
  found.append(element("span", say(key), { class: look }));
  if (one.error) found.append(element("span", one.error.detail, { class: "why small", lang: "en" }));
}
