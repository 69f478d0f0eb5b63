// The browser's part of Askback's pages: it asks the server for a page, keeps what is being written,
// sends turns under one idempotency key per page render and turn number, waits for the other seat, and
// steps through replays. Texts come from the page (data-texts); nothing is shown that was not escaped.
"use strict";

window.askback = (() => {
  const DRAFT = "askback.draft.";
  const RECENT = "askback.recent";
  const APPEARANCE = "askback.appearance";
  const POLL_MS = 1500;
  const RETRY_MS = [400, 800, 1500, 3000, 5000, 5000, 8000, 8000, 10000, 10000];
  const MAX_RECENT = 5;
  const NARROW = matchMedia("(max-width: 899px)");

  const language = () => document.documentElement.dataset.language || "en";
  const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
  const token = () => new URLSearchParams(location.search).get("t") || "";

  const store = {
    read(name) {
      try { return JSON.parse(localStorage.getItem(name)); } catch { return null; }
    },
    write(name, value) {
      try { localStorage.setItem(name, JSON.stringify(value)); } catch { /* private mode: drafts last as long as the page */ }
    },
    drop(name) {
      try { localStorage.removeItem(name); } catch { /* as above */ }
    },
  };

  // ---- light and dark ------------------------------------------------------------------------------

  function paint() {
    const wish = store.read(APPEARANCE);
    const dark = wish ? wish === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    document.documentElement.dataset.appearance = dark ? "dark" : "light";
    document.body?.classList.toggle("dark", dark);
  }
  function switchAppearance() {
    store.write(APPEARANCE, document.documentElement.dataset.appearance === "dark" ? "light" : "dark");
    paint();
  }
  paint();
  new MutationObserver(() => {
    if (document.documentElement.lang !== language()) document.documentElement.lang = language();
  }).observe(document.documentElement, { attributes: true, attributeFilter: ["lang"] });
  document.addEventListener("DOMContentLoaded", () => {
    paint();
    // Gradio sets the class from the browser's preference when it starts; the person's own wish wins.
    new MutationObserver(() => {
      const dark = document.documentElement.dataset.appearance === "dark";
      if (document.body.classList.contains("dark") !== dark) paint();
    }).observe(document.body, { attributes: true, attributeFilter: ["class"] });
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);
  document.addEventListener("click", (event) => {
    if (event.target.closest?.("[data-act=appearance]")) switchAppearance();
  });

  // ---- one page ------------------------------------------------------------------------------------

  class Page {
    constructor(element, props, server) {
      this.element = element;
      this.props = props;
      this.server = server;
      this.nonce = crypto.getRandomValues(new Uint32Array(4)).reduce((text, n) => text + n.toString(36), "r");
      this.busy = false;
      this.picked = [];
      this.step = null;
      this.open = new Map();
      this.judgedText = "";
      this.shownAt = performance.now();
      this.shownNumber = null;
      this.stuck = true;
      this.resized = new ResizeObserver(() => this.stuck && this.bottom());
      element.addEventListener("click", (event) => this.onClick(event));
      element.addEventListener("keydown", (event) => this.onKey(event));
      element.addEventListener("input", (event) => this.onInput(event));
      element.addEventListener("change", (event) => this.onChange(event));
      element.addEventListener("submit", (event) => this.onSubmit(event));
      element.addEventListener("toggle", (event) => this.onToggle(event), true);
      document.addEventListener("visibilitychange", () => document.hidden || this.look());
    }

    get root() { return this.element.querySelector(".ab-page"); }
    get texts() { return this.root ? JSON.parse(this.root.dataset.texts) : {}; }
    get number() { return Number(this.root.dataset.number); }
    get ended() { return this.root.dataset.ended === "1"; }
    get trouble() { return this.root.dataset.trouble === "1"; }
    get myTurn() { return this.root.dataset.myTurn === "1"; }
    get draftName() { return `${DRAFT}${this.root.dataset.episode}.${this.root.dataset.seat}`; }
    one(selector) { return this.element.querySelector(selector); }
    all(selector) { return [...this.element.querySelectorAll(selector)]; }

    call(name, data = {}) {
      return this.server[`call_${name}`]({
        language: language(),
        path: location.pathname,
        query: location.search.slice(1),
        ...data,
      });
    }

    // A call that is repeated until the server answers: it may be starting again, and the same key is the
    // same turn however often it arrives.
    async insist(name, data) {
      for (const pause of RETRY_MS) {
        try { return await this.call(name, data); } catch (error) {
          this.toast(this.texts.offline);
          await sleep(pause);
        }
      }
      return null;
    }

    async show(html) {
      this.remember();
      this.props.value = html;
      await sleep(0);
      const root = this.root;
      if (!root) return;
      if (root.dataset.title) document.title = root.dataset.title;
      this.apply();
    }

    async load() {
      const answer = await this.insist("page");
      if (!answer) return;
      await this.show(answer.html);
      this.toast("");
      if (location.hash) this.one(location.hash)?.scrollIntoView();
      if (this.root.dataset.page === "play") { this.settle(); this.wait(); } else this.fillContinue();
    }

    // What the server's markup does not know: drafts, choices, opened panels, sizes.
    apply() {
      for (const [name, open] of this.open) {
        const details = this.one(`details[data-keep="${name}"]`);
        if (details) details.open = open;
      }
      if (this.root.dataset.page === "home") { this.applyHome(); return; }
      if (this.number !== this.shownNumber) {
        this.shownNumber = this.number;
        this.shownAt = performance.now();
      }
      if (this.ended) { this.applyReplay(); this.one("[data-judged]")?.replaceChildren(this.judgedText); return; }
      if (NARROW.matches && !this.open.has("background")) {
        const background = this.one("details[data-keep=background]");
        if (background && this.root.dataset.number > 1) background.open = false;
      }
      this.absoluteLink();
      this.readDraft();
      this.idle(!this.busy && this.myTurn);
      this.thinking(!this.myTurn);
      this.stick();
      this.bottom();
    }

    remember() { if (this.root && !this.ended) this.writeDraft(); }

    toast(text) {
      const place = this.one(".ab-toast");
      if (place && place.textContent !== text) place.textContent = text;
    }

    bottom() {
      const frame = this.one(".ab-log-frame");
      if (!frame) return;
      frame.scrollTop = frame.scrollHeight;
      // On a narrow screen the whole page scrolls; at first it stays with the background on top.
      if (NARROW.matches && this.number > 1) this.one(".ab-talk").scrollIntoView({ block: "end" });
    }

    // The newest line stays in sight when the composer grows, unless the person has scrolled up.
    stick() {
      const frame = this.one(".ab-log-frame");
      if (!frame || frame === this.framed) return;
      this.framed = frame;
      frame.addEventListener("scroll", () => {
        this.stuck = frame.scrollHeight - frame.scrollTop - frame.clientHeight < 60;
      });
      this.resized.observe(frame);
    }

    idle(ready) {
      for (const control of this.all("[data-needs-turn]")) control.disabled = !ready;
      const reply = this.one("#ab-reply");
      if (reply) reply.readOnly = this.busy;
    }

    thinking(on, text) {
      const place = this.one(".ab-thinking");
      if (!place) return;
      place.classList.toggle("ab-on", on);
      const words = place.querySelector(".ab-thinking-text");
      if (text !== undefined && words.textContent !== text) words.textContent = text;
    }

    // ---- drafts

    readDraft() {
      const draft = store.read(this.draftName) || {};
      const available = new Set(this.all("[data-act=pick]").map((button) => button.dataset.index));
      this.picked = (draft.give || []).filter((index) => available.has(index));
      for (const field of this.all("[data-draft]")) {
        const text = draft[field.dataset.draft] || "";
        if (field.value !== text) field.value = text;
        this.fit(field);
      }
      this.showPicked();
    }

    writeDraft() {
      const fields = this.all("[data-draft]");
      if (!fields.length) return;
      const draft = Object.fromEntries(fields.map((field) => [field.dataset.draft, field.value]));
      if (this.picked.length) draft.give = this.picked;
      const pending = (store.read(this.draftName) || {}).pending;
      if (pending) draft.pending = pending;
      if (Object.values(draft).some((value) => value.length || value.key)) store.write(this.draftName, draft);
      else store.drop(this.draftName);
    }

    clearDraft() {
      store.drop(this.draftName);
      this.picked = [];
      for (const field of this.all("[data-draft]")) { field.value = ""; this.fit(field); }
      this.showPicked();
    }

    // A turn that was sent but not acknowledged before the page went away: if it is in the dialogue now,
    // the draft has done its duty.
    settle() {
      const pending = (store.read(this.draftName) || {}).pending;
      if (!pending || this.number <= pending.number) return;
      const line = this.one(`.ab-log [data-number="${pending.number}"]`);
      const said = line?.classList.contains("ab-mine") ? line.querySelector(".ab-bubble").textContent : null;
      if (this.ended || (said !== null && said.includes(pending.said))) this.clearDraft();
      else { const draft = store.read(this.draftName); delete draft.pending; store.write(this.draftName, draft); }
    }

    fit(field) {
      if (field.tagName !== "TEXTAREA") return;
      field.style.height = "auto";
      field.style.height = `${Math.min(field.scrollHeight + 2, 220)}px`;
    }

    // ---- sending

    async send(turn, said) {
      if (this.busy || !this.myTurn) return;
      this.busy = true;
      const number = this.number;
      const old = (store.read(this.draftName) || {}).pending;
      // The key of a turn that was sent before a reload is used again, so that it cannot count twice.
      const render = old && old.number === number && old.said === said ? old.key : this.nonce;
      store.write(this.draftName, { ...(store.read(this.draftName) || {}), pending: { number, key: render, said } });
      this.idle(false);
      const ghost = this.ghost(said);
      const words = this.one(".ab-thinking-text").dataset.thinking;
      this.thinking(true, words);
      this.bottom();
      const seconds = Math.round(performance.now() - this.shownAt) / 1000;
      const answer = await this.insist("send", { render, number, seconds, ...turn });
      this.busy = false;
      if (!answer) {
        ghost.remove();
        this.thinking(false, "");
        this.idle(true);
        this.toast(this.texts.failed);
        return;
      }
      this.toast("");
      if (answer.accepted) this.clearDraft();
      else { const draft = store.read(this.draftName) || {}; delete draft.pending; store.write(this.draftName, draft); }
      if (!answer.accepted) ghost.remove();
      await this.show(answer.html);
      if (this.ended) { this.forget(); this.one("h1")?.scrollIntoView({ block: "center" }); } else this.one("#ab-reply")?.focus({ preventScroll: true });
      this.wait();
    }

    ghost(said) {
      const line = document.createElement("li");
      line.className = "ab-line ab-mine ab-ghost";
      const bubble = document.createElement("p");
      bubble.className = "ab-bubble";
      bubble.textContent = said;
      line.append(bubble);
      this.one(".ab-log").append(line);
      return line;
    }

    reply() {
      const value = (name) => this.one(`[data-draft="${name}"]`)?.value.trim() || "";
      if (this.picked.length) {
        const texts = this.picked.map((index) => this.pickButton(index).dataset.text);
        const said = [value("before"), ...texts, value("after")].filter(Boolean).join(" ");
        return this.send({ give: this.picked, before: value("before"), after: value("after") }, said);
      }
      const text = value("text");
      if (!text) { this.toast(this.texts.empty); this.one("#ab-reply")?.focus(); return undefined; }
      return this.send({ text }, text);
    }

    // ---- waiting for the other seat

    async wait() {
      if (this.waiting) return;
      this.waiting = true;
      // Every look lets the seat opposite move; while its model fails, only the person asks it again.
      while (this.root?.dataset.page === "play" && !this.ended && !this.trouble && (!this.myTurn || this.busy)) {
        await sleep(POLL_MS);
        if (!document.hidden && !this.busy) await this.look();
      }
      this.waiting = false;
    }

    async look() {
      if (this.root?.dataset.page !== "play" || this.ended || this.busy || this.trouble) return;
      try {
        const response = await fetch("/api/state", { headers: { "X-Askback-Seat": token() } });
        if (!response.ok) return;
        const now = await response.json();
        if (now.number !== this.number || now.ended || now.warning) await this.refresh();
      } catch { this.toast(this.texts.offline); }
    }

    async refresh() {
      const answer = await this.insist("page");
      if (!answer || this.busy) return;
      this.toast("");
      await this.show(answer.html);
      if (this.ended) this.forget();
      this.wait();
    }

    // ---- the provider's choice

    pickButton(index) { return this.all("[data-act=pick]").find((button) => button.dataset.index === index); }

    pick(index) {
      const multi = this.one("[data-multi]")?.dataset.multi === "1";
      if (this.picked.includes(index)) this.picked = this.picked.filter((other) => other !== index);
      else this.picked = multi ? [...this.picked, index] : [index];
      this.showPicked();
      this.writeDraft();
      if (this.picked.includes(index)) this.one(".ab-composer").scrollIntoView({ block: "nearest" });
    }

    showPicked() {
      const list = this.one("[data-picked]");
      if (!list) return;
      const giving = this.picked.length > 0;
      this.root.classList.toggle("ab-giving", giving);
      for (const button of this.all("[data-act=pick]")) {
        const on = this.picked.includes(button.dataset.index);
        button.setAttribute("aria-pressed", String(on));
        button.closest(".ab-node").classList.toggle("ab-chosen", on);
      }
      list.replaceChildren(...this.picked.map((index) => this.pickedItem(index, list.dataset.remove)));
    }

    pickedItem(index, remove) {
      const item = document.createElement("li");
      const text = document.createElement("span");
      text.textContent = this.pickButton(index).dataset.text;
      const button = document.createElement("button");
      button.type = "button";
      button.className = "ab-unpick";
      button.dataset.act = "pick-off";
      button.dataset.index = index;
      button.setAttribute("aria-label", remove.replace("{index}", index));
      button.textContent = "×";
      item.append(text, button);
      return item;
    }

    // ---- the replay

    applyReplay() {
      const slider = this.one("[data-slider]");
      if (!slider) return;
      if (this.step === null) this.step = Math.max(0, JSON.parse(this.root.dataset.steps).findIndex((step) => step.gave.length));
      this.go(this.step);
    }

    go(step) {
      const slider = this.one("[data-slider]");
      const last = Number(slider.max);
      this.step = Math.max(0, Math.min(last, step));
      slider.value = this.step;
      const words = slider.dataset.text.replace("{number}", this.step + 1).replace("{last}", last + 1);
      slider.setAttribute("aria-valuetext", words);
      this.one("[data-step-text]").textContent = words;
      for (const line of this.all("[data-moment]")) {
        const at = Number(line.dataset.moment);
        line.classList.toggle("ab-now", at === this.step);
        line.classList.toggle("ab-later", at > this.step);
        line.querySelector(".ab-bubble").setAttribute("aria-current", at === this.step ? "step" : "false");
      }
      for (const why of this.all("[data-why]")) why.hidden = Number(why.dataset.why) !== this.step;
      this.colour();
    }

    colour() {
      const steps = JSON.parse(this.root.dataset.steps);
      const words = this.one("[data-tree]").dataset;
      const given = new Set(steps.slice(0, this.step + 1).flatMap((step) => step.gave));
      const now = new Set(steps[this.step].gave);
      const available = new Set(steps[this.step].available);
      if (!given.has("0")) available.add("0");
      const stateOf = (index) => (given.has(index) ? "given" : available.has(index) ? "available" : "locked");
      for (const dot of this.all("[data-dot]")) {
        dot.setAttribute("class", `ab-dot-${now.has(dot.dataset.dot) ? "now" : stateOf(dot.dataset.dot)}`);
      }
      for (const node of this.all("[data-tree] [data-node]")) {
        const index = node.dataset.node;
        const state = stateOf(index);
        node.className = `ab-node ab-node-${state}${now.has(index) ? " ab-node-now" : ""}`;
        const chip = node.querySelector(".ab-state");
        chip.className = `ab-state ab-state-${now.has(index) ? "now" : state}`;
        chip.textContent = now.has(index) ? words.now : words[state];
      }
      this.reveal(this.one(".ab-replay-side"), this.one("[data-tree] .ab-node-now"));
      this.reveal(this.one(".ab-transcript"), this.one(".ab-now"));
    }

    // Scrolls `box` alone, and only if `part` is out of sight in it.
    reveal(box, part) {
      if (!box || !part || box.scrollHeight <= box.clientHeight) return;
      const outer = box.getBoundingClientRect();
      const inner = part.getBoundingClientRect();
      if (inner.top < outer.top) box.scrollTop -= outer.top - inner.top + 12;
      else if (inner.bottom > outer.bottom) box.scrollTop += inner.bottom - outer.bottom + 12;
    }

    // ---- the home page

    applyHome() {
      const form = this.one("[data-form=start]");
      const seat = form.elements.seat.value;
      const language = form.elements.language.value;
      for (const part of this.all("[data-for-seat]")) part.hidden = part.dataset.forSeat !== seat;
      for (const part of this.all("[data-for-language]")) part.hidden = part.dataset.forLanguage !== language;
    }

    async start(form) {
      if (this.busy) return;
      this.busy = true;
      const button = form.querySelector("[type=submit]");
      const label = button.textContent;
      button.disabled = true;
      button.textContent = button.dataset.busy;
      const problem = this.one("[data-problem]");
      problem.hidden = true;
      const seat = form.elements.seat.value;
      const language = form.elements.language.value;
      let answer = null;
      try {
        answer = await this.call("start", {
          seat,
          dialogue_language: language,
          task_id: form.elements[`task-${language}`]?.value || "",
          opposite: form.elements[`opposite-${seat}`].value,
          multi: form.elements.multi.checked,
        });
      } catch { /* said below */ }
      if (answer?.go) { location.assign(answer.go); return; }
      this.busy = false;
      button.disabled = false;
      button.textContent = label;
      problem.textContent = answer?.problem || this.texts.failed;
      problem.hidden = false;
    }

    noteRecent() {
      if (this.root?.dataset.page !== "play" || this.ended || !token()) return;
      const { episode, seat } = this.root.dataset;
      const others = (store.read(RECENT) || []).filter((entry) => entry.episode !== episode || entry.seat !== seat);
      const task = this.one(".ab-task p")?.textContent || "";
      const entry = { episode, seat, task: task.slice(0, 120), address: location.pathname + location.search, at: Date.now() };
      store.write(RECENT, [entry, ...others].slice(0, MAX_RECENT));
    }

    forget(address = location.pathname + location.search) {
      const { episode, seat } = this.root.dataset;
      const gone = (entry) => entry.address === address || (entry.episode === episode && entry.seat === seat);
      store.write(RECENT, (store.read(RECENT) || []).filter((entry) => !gone(entry)));
    }

    fillContinue() {
      const place = this.one("[data-continue]");
      if (!place) return;
      const entries = store.read(RECENT) || [];
      const list = this.one("[data-continue-list]");
      const when = new Intl.DateTimeFormat(language(), { dateStyle: "medium", timeStyle: "short" });
      place.hidden = entries.length === 0;
      list.replaceChildren(...entries.map((entry) => {
        const item = document.createElement("li");
        const link = document.createElement("a");
        link.href = entry.address;
        const title = document.createElement("strong");
        title.textContent = entry.task;
        const small = document.createElement("small");
        small.textContent = list.dataset.item.replace("{role}", list.dataset[entry.seat]).replace("{when}", when.format(entry.at));
        link.append(title, small);
        const drop = document.createElement("button");
        drop.type = "button";
        drop.className = "ab-unpick";
        drop.dataset.act = "forget";
        drop.dataset.address = entry.address;
        drop.setAttribute("aria-label", list.dataset.forget);
        drop.textContent = "×";
        item.append(link, drop);
        return item;
      }));
    }

    // ---- events

    onClick(event) {
      const control = event.target.closest("[data-act]");
      if (!control || control.disabled) return;
      const act = control.dataset.act;
      if (act === "pick") this.pick(control.dataset.index);
      else if (act === "pick-off") { this.pick(control.dataset.index); this.one("#ab-reply")?.focus(); }
      else if (act === "goodbye") this.confirmGoodbye(true);
      else if (act === "goodbye-no") this.confirmGoodbye(false);
      else if (act === "goodbye-yes") { this.confirmGoodbye(false); this.send({ text: this.root.dataset.goodbye }, this.root.dataset.goodbye); }
      else if (act === "refresh") this.refresh();
      else if (act === "copy") this.copy();
      else if (act === "step") this.go(this.step + Number(control.dataset.by));
      else if (act === "goto") this.go(Number(control.dataset.step));
      else if (act === "judge") this.judge(control);
      else if (act === "forget") { this.forget(control.dataset.address); this.fillContinue(); }
    }

    onKey(event) {
      if (event.target.id === "ab-reply" || event.target.matches?.("[data-draft]")) {
        // While an input method composes (Chinese, Japanese), Enter belongs to it.
        if (event.key === "Enter" && !event.shiftKey && !event.isComposing && event.keyCode !== 229) {
          event.preventDefault();
          this.reply();
        }
        return;
      }
      if (event.key === "Escape") this.confirmGoodbye(false);
      if (this.one("[data-replay]") && !event.target.matches("input") && !event.altKey && !event.ctrlKey && !event.metaKey) {
        if (event.key === "ArrowLeft") { event.preventDefault(); this.go(this.step - 1); }
        if (event.key === "ArrowRight") { event.preventDefault(); this.go(this.step + 1); }
      }
    }

    onInput(event) {
      if (event.target.matches("[data-slider]")) this.go(Number(event.target.value));
      if (event.target.matches("[data-draft]")) { this.fit(event.target); this.writeDraft(); this.toast(""); }
    }

    onChange(event) {
      if (event.target.closest("[data-form=start]")) this.applyHome();
    }

    onSubmit(event) {
      event.preventDefault();
      if (event.target.dataset.form === "start") this.start(event.target);
      else this.reply();
    }

    onToggle(event) {
      const name = event.target.dataset?.keep;
      if (name) this.open.set(name, event.target.open);
    }

    confirmGoodbye(on) {
      const place = this.one("[data-confirm]");
      if (!place) return;
      place.classList.toggle("ab-on", on);
      const unsent = place.querySelector("[data-unsent]");
      unsent.hidden = !(this.one("#ab-reply")?.value.trim());
      if (on) place.querySelector("[data-act=goodbye-yes]").focus();
      else if (place.contains(document.activeElement)) this.one("#ab-reply")?.focus();
    }

    absoluteLink() {
      const field = this.one("[data-link]");
      if (field) field.value = new URL(`${field.getAttribute("value")}&lang=${language()}`, location.origin).href;
    }

    async copy() {
      const field = this.one("[data-link]");
      try {
        await navigator.clipboard.writeText(field.value);
        this.toast(this.texts.copied);
      } catch {
        field.select();
        this.toast(this.texts.copy_failed);
      }
    }

    async judge(button) {
      const answer = await this.insist("judge", { render: this.nonce, success: button.dataset.success === "1" });
      if (!answer?.accepted) { this.toast(this.texts.failed); return; }
      this.judgedText = button.dataset.said;
      this.one("[data-judged]").textContent = this.judgedText;
      for (const other of this.all("[data-act=judge]")) {
        other.setAttribute("aria-pressed", String(other === button));
        other.disabled = true;
      }
    }
  }

  function mount(element, props, server) {
    const page = new Page(element, props, server);
    page.load().then(() => page.noteRecent());
    return page;
  }

  return { mount };
})();
