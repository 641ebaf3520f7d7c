// The frame of a section of the page.

import type { Missing, Report, Verdict } from "../data.ts";
import { el, prose } from "../dom.ts";
import { snippet } from "../figures/snippet.ts";

export interface Section {
  id: string;
  title: string;
  content: Node[];
}

export function render({ id, title, content }: Section): HTMLElement {
  return el(
    "section",
    { id, "aria-labelledby": `${id}-title` },
    el("h2", { id: `${id}-title` }, title),
    ...content,
  );
}

/** Whether the verdict has a sentence, which is then not told again. */
export function says({ text, details }: Verdict, sentence: string): boolean {
  return text === sentence || details.includes(sentence);
}

/** What a section lacks, in the place where it would be. */
export function lacks(report: Report, section: Missing["section"]): HTMLElement[] {
  return report.missing.filter((missing) => missing.section === section).map((missing) => note(missing, section));
}

/** One thing that was not measured, and how to measure it. */
export function note(missing: Missing, section: string): HTMLElement {
  return el(
    "div",
    { class: "note" },
    el("p", {}, ...prose(missing.text)),
    missing.snippet ? snippet(missing.snippet, `how to measure it: ${section}`) : null,
  );
}
