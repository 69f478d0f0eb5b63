// The browser side of Askback's pages: requests a page from the server, shows it, and passes the person's
// actions to the parts (entry.js, play.js, result.js). Texts come from the page; everything is escaped.
"use strict";

window.askback = (() => {
  const APPEARANCE = "askback.appearance";
  const PAUSES_MS = [400, 800, 1500, 3000, 5000, 5000, 8000, 8000, 10000];  // then the last one repeatedly

  const language = () => document.documentElement.dataset.language || "en";
  const token = () => new URLSearchParams(location.search).get("t") || "";
  const FADE_MS = 12000; // longer than any pause
  const MOST_PASTED = 1e6; // the server refuses more
  const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

  const random = () => [...crypto.getRandomValues(new Uint8Array(16))].map((n) => n.toString(16).padStart(2, "0")).join("");
  // While an input method is composing (Chinese, Japanese), ignore keys.
  const isComposing = (event) => event.type === "keydown" && (event.isComposing || event.keyCode === 229);

  // Storage of this browser or tab. Without it (a private window), values last as long as the page.
  const kept = (place) => ({
    read(name) {
      try { return JSON.parse(window[place].getItem(name)); } catch { return null; }
    },
    write(name, value) {
      try { window[place].setItem(name, JSON.stringify(value)); } catch { /* see above */ }
    },
    drop(name) {
      try { window[place].removeItem(name); } catch { /* see above */ }
    },
  });
  const [store, tab] = [kept("localStorage"), kept("sessionStorage")];

  // Create an element with attributes and children; strings become text nodes.
  function element(tag, attributes, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  }

  // ---- language, light and dark: Gradio sets both when it starts; ours take precedence ---------------

  const prefersDark = matchMedia("(prefers-color-scheme: dark)");

  function paint() {
    const wish = store.read(APPEARANCE);
    const dark = wish ? wish === "dark" : prefersDark.matches;
    document.documentElement.dataset.appearance = dark ? "dark" : "light";
    document.body?.classList.toggle("dark", dark);
  }

  function keepAppearance() {
    const dark = document.documentElement.dataset.appearance === "dark";
    if (document.body.classList.contains("dark") !== dark) paint();
  }

  function keepLanguage() {
    if (document.documentElement.lang !== language()) document.documentElement.lang = language();
  }

  paint();
  prefersDark.addEventListener("change", paint);
  new MutationObserver(keepLanguage).observe(document.documentElement, { attributeFilter: ["lang"] });
  document.addEventListener("DOMContentLoaded", () => {
    paint();
    new MutationObserver(keepAppearance).observe(document.body, { attributeFilter: ["class"] });
  });
  document.addEventListener("click", (event) => {
    if (!event.target.closest?.("[data-act=appearance]")) return;
    store.write(APPEARANCE, document.documentElement.dataset.appearance === "dark" ? "light" : "dark");
    paint();
  });

  // ---- one page ------------------------------------------------------------------------------------

  class Page {
    constructor(element, props) {
      this.element = element;
      this.props = props;
      this.busy = false;
      this.renewing = false;
      this.moves = 0;
      this.pasted = 0; // characters since the last move
      this.opened = new Map();
      this.fading = {};
      for (const prepare of Page.prepares) prepare.call(this);
      const listen = (name, heard) => element.addEventListener(name, (event) => heard.call(this, event), true);
      listen("click", this.onClick);
      listen("submit", this.onSubmit);
      listen("toggle", this.onToggle);
      listen("paste", this.onPaste);
      listen("drop", this.onPaste);
      for (const name of ["keydown", "input", "change"]) {
        listen(name, (event) => isComposing(event) || Page.hears.forEach((hear) => hear[name]?.call(this, event)));
      }
    }

    get root() { return this.element.querySelector(".ab-page"); }
    get kind() { return this.root?.dataset.page; }
    get number() { return Number(this.root.dataset.number); }
    get begun() { return this.root.dataset.begun === "1"; }
    get myTurn() { return this.root.dataset.myTurn === "1"; }
    get ended() { return this.root.dataset.ended === "1"; }
    get session() { return this.root !== null && "session" in this.root.dataset; }
    get sheet() { return this.root && [this.kind, this.root.dataset.stage, this.session && this.number].join(); }
    get trouble() { return this.root.dataset.trouble === "1"; }
    get texts() { return this.root ? JSON.parse(this.root.dataset.texts) : {}; }

    one(selector) { return this.element.querySelector(selector); }
    all(selector) { return [...this.element.querySelectorAll(selector)]; }

    // Returns the server's answer; undefined if there is none.
    async call(name, data = {}) {
      const from = { language: language(), path: location.pathname, query: location.search.slice(1) };
      const asked = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ ...from, ...data }) };
      try {
        const response = await fetch(`/api/call/${name}`, asked);
        if (response.ok) return await response.json();
        if (response.status === 403) this.refusal = await response.text();
      } catch { /* no answer */ }
      return undefined;
    }

    async alive() {
      try { return (await fetch("/health")).ok; } catch { return false; }
    }

    // Returns the state of the episode; null if the server does not answer.
    async fetchState() {
      const response = await fetch("/api/state", { headers: { "X-Askback-Seat": token() } });
      return response.ok ? response.json() : null;
    }

    // Repeats a call until the server answers, even across a restart. Null if the server runs but fails.
    async retryCall(name, data) {
      let refusals = 0;
      for (let tries = 0; ; tries += 1) {
        const answer = await this.call(name, data);
        if (answer !== undefined && answer !== null) return answer.failed ? null : answer;
        if (await this.alive()) refusals += 1;
        else this.toast(this.texts.offline);
        if (refusals > 2) return null;
        await sleep(PAUSES_MS[Math.min(tries, PAUSES_MS.length - 1)]);
      }
    }

    // Runs an action of the person; other actions wait until it is answered.
    async move(name, data) {
      this.busy = true;
      const answer = await this.retryCall(name, data);
      this.busy = false;
      this.moves += 1;
      if (answer?.accepted) this.pasted = 0;
      return answer;
    }

    // Shows the current page, but never one requested before a move that has been answered since.
    async renew() {
      if (this.renewing) return;
      this.renewing = true;
      const { moves } = this;
      const answer = await this.retryCall("page");
      this.renewing = false;
      if (!answer || this.busy || moves !== this.moves) return;
      this.toast("");
      await this.show(answer.html);
    }

    async load() {
      const answer = await this.retryCall("page");
      if (!answer) return this.element.append(this.refusal ?? "");  // better than an empty page
      await this.show(answer.html);
      this.toast("");
      if (location.hash) this.one(location.hash)?.scrollIntoView();
      for (const ready of Page.readies) ready.call(this);
    }

    async show(html) {
      const before = this.sheet;
      this.props.value = html;
      await sleep(0);
      if (!this.root) return;
      // A new page begins at its top, or a phone that was at the button shows its middle.
      if (before && (this.sheet !== before || this.one(".st-notices .ab-notice, .st-message-note"))) scrollTo(0, 0);
      if (this.root.dataset.title) document.title = this.root.dataset.title;
      // Gradio resets attributes to those that the server sent; keep open what the person opened.
      for (const [name, open] of this.opened) {
        const details = this.one(`details[data-keep="${name}"]`);
        if (details) details.open = open;
      }
      for (const apply of Page.applies) apply.call(this);
    }

    toast(text) {
      const place = this.one(".ab-toast");
      if (place && text !== undefined && place.textContent !== text) place.textContent = text;
      this.later("toast", () => this.toast(""));
    }

    // Clears what was announced: afterwards, a screen reader would find it where it is true no more.
    later(name, clear) {
      clearTimeout(this.fading[name]);
      this.fading[name] = setTimeout(() => this.busy ? this.later(name, clear) : clear(), FADE_MS);
    }

    async copy(field, copied, failed) {
      field.select();
      try {
        await navigator.clipboard.writeText(field.value);
        this.toast(copied);
      } catch { this.toast(failed); }
    }

    onClick(event) {
      const control = event.target.closest("[data-act]");
      if (control && !control.disabled) Page.acts[control.dataset.act]?.call(this, control);
    }

    onSubmit(event) {
      event.preventDefault();
      Page.forms[event.target.dataset.form]?.call(this, event.target);
    }

    onPaste(event) {
      const { length } = (event.clipboardData || event.dataTransfer)?.getData("text") || "";
      this.pasted = Math.min(this.pasted + length, MOST_PASTED);
    }

    onToggle(event) {
      const name = event.target.dataset?.keep;
      if (name) this.opened.set(name, event.target.open);
    }
  }
  Object.assign(Page, { prepares: [], readies: [], applies: [], hears: [], acts: {}, forms: {} });

  // A part of the pages: prepare (once), apply (after every show), ready (after the first), hear (handlers
  // by event), acts (by data-act), forms (by data-form), methods.
  function part({ prepare, apply, ready, hear, acts, forms, methods }) {
    if (prepare) Page.prepares.push(prepare);
    if (apply) Page.applies.push(apply);
    if (ready) Page.readies.push(ready);
    if (hear) Page.hears.push(hear);
    Object.assign(Page.acts, acts);
    Object.assign(Page.forms, forms);
    Object.assign(Page.prototype, methods);
  }

  function mount(element, props) {
    window.askback.page = new Page(element, props);
    window.askback.page.load();
  }

  return { mount, part, methods: Page.prototype, acts: Page.acts, store, tab, element, sleep, token, language, random, isComposing };
})();
