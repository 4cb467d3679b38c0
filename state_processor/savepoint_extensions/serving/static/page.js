"use strict";
// Keys of a page: "/" goes to the first field, "n" and "p" leaf through rows, Ctrl+Enter sends a query.
// A field with data-words completes names of tables and columns.

document.addEventListener("keydown", (event) => {
  const field = event.target.closest("input, textarea, select");
  if (field) {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) field.form.requestSubmit();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "/") {
    const first = document.querySelector("main input:not([type=hidden]), main textarea");
    if (first) {
      first.focus();
      event.preventDefault();
    }
  }
  const link = { n: "next", p: "prev" }[event.key];
  if (link) document.querySelector(`a[rel=${link}]`)?.click();
});

class Completion {
  constructor(field) {
    this.field = field;
    this.names = null;
    this.list = document.createElement("ul");
    this.list.className = "words";
    this.list.setAttribute("role", "listbox");
    this.list.hidden = true;
    field.after(this.list);
    field.addEventListener("focus", () => this.load(), { once: true });
    if (document.activeElement === field) this.load();
    field.addEventListener("input", () => this.show());
    field.addEventListener("blur", () => { this.list.hidden = true; });
    field.addEventListener("keydown", (event) => this.press(event));
  }

  async load() {
    const answer = await fetch(this.field.dataset.words);
    if (answer.ok) this.names = await answer.json();
  }

  word() {
    const before = this.field.value.slice(0, this.field.selectionStart);
    return before.match(/["\w.]*$/)[0];
  }

  show() {
    const word = this.word().toLowerCase();
    const fitting = word && this.names
      ? this.names.filter((name) => name.toLowerCase().startsWith(word) && name.toLowerCase() !== word)
      : [];
    this.list.replaceChildren(...fitting.slice(0, 20).map((name) => {
      const item = document.createElement("li");
      item.textContent = name;
      item.setAttribute("role", "option");
      item.addEventListener("mousedown", (event) => {
        event.preventDefault();
        this.take(name);
      });
      return item;
    }));
    this.list.hidden = !fitting.length;
    this.choose(0);
  }

  choose(place) {
    const items = [...this.list.children];
    this.place = items.length ? (place + items.length) % items.length : 0;
    items.forEach((item, each) => item.setAttribute("aria-selected", String(each === this.place)));
    items[this.place]?.scrollIntoView({ block: "nearest" });
  }

  take(name) {
    const end = this.field.selectionStart;
    this.field.setRangeText(name, end - this.word().length, end, "end");
    this.list.hidden = true;
  }

  press(event) {
    if (this.list.hidden) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) this.choose(this.place + step);
    else if (event.key === "Escape") this.list.hidden = true;
    else if (event.key === "Tab" || (event.key === "Enter" && !event.ctrlKey)) {
      this.take(this.list.children[this.place].textContent);
    } else return;
    event.preventDefault();
  }
}

document.querySelectorAll("[data-words]").forEach((field) => new Completion(field));
