// Elements of the page. Text of the report reaches the document as text nodes and attribute values
// only, so that nothing in it can become markup.

export type Child = Node | string | null | undefined | false;
export type Attributes = Record<string, string | number | boolean | null | undefined>;

function fill<E extends Element>(element: E, attributes: Attributes, children: Child[]): E {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children) {
    if (child) element.append(child);
  }
  return element;
}

/** An HTML element. Attributes that are null, undefined or false are left out. */
export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  return fill(document.createElement(tag), attributes, children);
}

/** A sentence of the data: what stands between backticks is to be typed. */
export function prose(text: string): Child[] {
  return text.split(/`([^`\n]+)`/).map((part, i) => (i % 2 === 1 ? el("code", {}, part) : part));
}

/** The same as one node, for a cell of a table; no text is no node. */
export function words(text: string): Node | string {
  return text.includes("`") ? el("span", {}, ...prose(text)) : text;
}

/** An SVG element. */
export function svg<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): SVGElementTagNameMap[K] {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

/** A button that does something. */
export function button(label: string, action: (self: HTMLButtonElement) => void, attributes: Attributes = {}) {
  const self = el("button", { type: "button", ...attributes }, label);
  self.addEventListener("click", () => action(self));
  return self;
}

/** A labelled choice; `choose` gets the index of the option. */
export function choice(label: string, options: string[], selected: number, choose: (index: number) => void) {
  const select = el(
    "select",
    {},
    ...options.map((name, i) => el("option", { value: i, selected: i === selected }, name)),
  );
  select.addEventListener("change", () => choose(Number(select.value)));
  return el("label", { class: "choice" }, `${label} `, select);
}

let last = 0;

/** An identifier that no other element of the page has. */
export function freshId(prefix: string): string {
  last += 1;
  return `${prefix}-${last}`;
}

/** Calls `draw` with the width of an element, now and whenever it changes. */
export function onWidth(element: Element, draw: (width: number) => void): void {
  let width = 0;
  new ResizeObserver(([entry]) => {
    const now = Math.floor(entry.contentRect.width);
    if (now === width || now === 0) return;
    width = now;
    draw(now);
  }).observe(element);
}
