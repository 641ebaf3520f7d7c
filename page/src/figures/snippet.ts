// Text to paste, with a button that copies it.

import { button, el } from "../dom.ts";
import { save } from "./download.ts";

/** `what` says what is copied, for the button's name. */
export function snippet(text: string, what: string, file?: string): HTMLElement {
  const code = el("code", {}, text);
  const said = el("span", { role: "status", class: "said" });
  const buttons = el(
    "div",
    { class: "buttons controls" },
    button("Copy", () => void copy(text, code, said), { "aria-label": `Copy: ${what}` }),
  );
  if (file) {
    buttons.append(button("Save", () => save(file, [text], "text/plain"), { "aria-label": `Save: ${what}` }));
  }
  buttons.append(said);
  const block = el("pre", { tabindex: 0, role: "region", "aria-label": what }, code);
  // On paper a file has as many columns as its longest line leaves room for.
  const longest = Math.max(...text.split("\n").map((line) => line.length));
  return el("div", file ? { class: "snippet listing", style: `--longest: ${longest + 1}ch` } : { class: "snippet" }, block, buttons);
}

async function copy(text: string, code: HTMLElement, said: HTMLElement) {
  try {
    await navigator.clipboard.writeText(text);
    said.textContent = "Copied";
  } catch {
    // Pages from a file may have no clipboard: select the text and ask the document.
    getSelection()?.selectAllChildren(code);
    said.textContent = document.execCommand("copy") ? "Copied" : "Selected: press Ctrl+C";
  }
  setTimeout(() => (said.textContent = ""), 3000);
}
