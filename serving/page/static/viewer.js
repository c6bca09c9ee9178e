// The picture of a page with the passage marked on it; other pages by buttons and arrow keys.

import { call } from "./service.js";
import { element, say } from "./words.js";

const dialog = document.querySelector("#viewer");
const [name, zoom] = [dialog.querySelector("h2"), dialog.querySelector("[data-zoom]")];
const [sheet, picture, boxes] = [".sheet", "img", ".boxes"].map((one) => dialog.querySelector(one));
const [at, said] = [dialog.querySelector("[data-at]"), dialog.querySelector("[data-said]")];
const steps = [...dialog.querySelectorAll("[data-step]")];
let shown = null;
let drawing = null;

document.addEventListener("click", (event) => {
  const link = event.target.closest?.("[data-view]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  shown = { ...link.dataset, page: Number(link.dataset.page), pages: Infinity };
  name.textContent = link.dataset.name;
  picture.alt = "";
  if (!dialog.open) dialog.showModal();
  show();
});

steps.forEach((button) => button.addEventListener("click", () => turn(Number(button.dataset.step))));
dialog.addEventListener("keydown", (event) => {
  if (event.target === sheet && sheet.scrollWidth > sheet.clientWidth) return; // arrows move what is enlarged
  if (event.key === "ArrowLeft") turn(-1);
  if (event.key === "ArrowRight") turn(1);
});
dialog.addEventListener("close", () => drawing?.abort());
zoom.addEventListener("click", () => {
  const large = dialog.classList.toggle("zoomed");
  zoom.setAttribute("aria-pressed", large);
  boxes.firstElementChild?.scrollIntoView({ block: "center", inline: "center" });
});

function turn(step) {
  const page = shown.page + step;
  if (page < 1 || page > shown.pages) return;
  shown.page = page;
  show();
}

async function show() {
  drawing?.abort();
  const { signal } = (drawing = new AbortController());
  const address = `/v1/documents/${shown.document}/pages/${shown.page}`;
  tellPlace();
  said.textContent = say("drawing");
  boxes.replaceChildren();
  picture.hidden = true;
  const boxed = call(`${address}/boxes?start=${shown.start}&end=${shown.end}`, { signal });
  boxed.catch(() => {}); // told below, when the picture is there
  try {
    const response = await call(`${address}/image?width=1600`, { signal });
    await draw(await response.blob());
    said.textContent = say("locating");
    const found = await (await boxed).json();
    if (!signal.aborted) mark(found);
  } catch (error) {
    if (error.name !== "AbortError") said.textContent = say("no_picture");
  }
}

function tellPlace() {
  const known = Number.isFinite(shown.pages);
  at.textContent = known ? say("page_of", { n: shown.page, total: shown.pages }) : say("page", { n: shown.page });
  steps[0].disabled = shown.page <= 1;
  steps[1].disabled = shown.page >= shown.pages;
}

async function draw(blob) {
  URL.revokeObjectURL(picture.src);
  picture.src = URL.createObjectURL(blob);
  await picture.decode();
  picture.alt = `${shown.name}, ${at.textContent}`;
  picture.hidden = false;
}

function mark(found) {
  shown.pages = found.pages;
  tellPlace();
  const share = (value) => `${100 * value}%`;
  boxes.replaceChildren(
    ...found.boxes.map((box) => {
      const one = element("i");
      Object.assign(one.style, {
        left: share(box.x0), top: share(box.y0), width: share(box.x1 - box.x0), height: share(box.y1 - box.y0),
      });
      return one;
    }),
  );
  boxes.firstElementChild?.scrollIntoView({ block: "center" });
  said.textContent = say({ here: "located", elsewhere: "elsewhere", unsure: "not_located" }[found.place]);
}
