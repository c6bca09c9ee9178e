// The words of the visitor's language, which the server wrote into the page.

const texts = new Map(
  [...document.querySelector("template#said").content.children].map((one) => [one.dataset.key, one.textContent]),
);
const digits = "०१२३४५६७८९";

export const language = document.documentElement.lang;

/** A number in the visitor's digits. */
export function number(value) {
  return language === "ne" ? String(value).replace(/\d/g, (digit) => digits[digit]) : String(value);
}

/** A text, its {places} filled in. */
export function say(key, values = {}) {
  return texts.get(key).replace(/\{(\w+)\}/g, (_, name) =>
    typeof values[name] === "number" ? number(values[name]) : values[name],
  );
}

/** The language of a text of a document: it decides who reads it aloud, and the forms of letters. */
export function languageOf(text) {
  return /[\u0900-\u097f]/.test(text) ? "ne" : "en";
}

/** An element with text in it: never HTML. */
export function element(name, text = "", attributes = {}) {
  const made = document.createElement(name);
  made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}
