// The browser's part of the researchers' pages: asks the server for the page at its address, follows runs
// that are being played, steps through dialogues. research-plots.js draws, desk.js judges at desks.
"use strict";

window.askbackResearch = (() => {
  const REVIEWER = "askback.reviewer";
  const SHORTCUTS = "askback.research.shortcuts";
  const POLL_MS = 2000;
  const PATHS = ["/research/part", "/research/data", "/research/desk"];

  const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
  const read = (name) => { try { return localStorage.getItem(name); } catch { return null; } };
  const write = (name, value) => { try { localStorage.setItem(name, value); } catch { /* lasts as long as the page */ } };

  class Desk {
    constructor(element, props, server) {
      this.element = element;
      this.props = props;
      this.server = server;
      this.figures = {};
      this.live = false;
      this.step = null;
      this.stepOf = null;
      this.newest = 0;
      this.pending = new Map();
      this.queue = Promise.resolve();
      element.addEventListener("click", (event) => this.onClick(event));
      element.addEventListener("submit", (event) => this.onSubmit(event));
      element.addEventListener("change", (event) => this.onChange(event));
      element.addEventListener("input", (event) => this.onInput(event));
      element.addEventListener("focusout", (event) => { if (event.target.matches("[data-bit]")) this.deskLeft(event.target); });
      document.addEventListener("keydown", (event) => this.onKey(event));
      window.addEventListener("popstate", () => this.load());
      window.addEventListener("beforeunload", (event) => { if (Object.keys(this.deskUnsaved()).length) event.preventDefault(); });
      new MutationObserver(() => this.draw()).observe(document.documentElement, { attributes: true, attributeFilter: ["data-appearance"] });
      this.follow();
    }

    get root() { return this.element.querySelector(".ab-page"); }
    one(selector) { return this.element.querySelector(selector); }
    all(selector) { return [...this.element.querySelectorAll(selector)]; }

    // Gradio's client swallows a failed call and answers nothing.
    async ask(name, data = {}) {
      const answer = await this.server[`call_${name}`]({
        language: document.documentElement.lang,
        path: location.pathname,
        query: location.search.slice(1),
        ...data,
      });
      if (!answer) throw new Error("no answer");
      return answer;
    }

    // ---- pages

    async load({ quiet = false } = {}) {
      const number = ++this.newest;
      const slow = quiet ? 0 : setTimeout(() => this.root?.classList.add("rs-loading"), 250);
      this.round = (this.round || 0) + (quiet ? 0 : 1);
      let answer = null;
      for (let pause = 500; !answer; pause = Math.min(2 * pause, 8000)) {
        try { answer = await this.ask("page"); } catch {
          // Logged out, or the server is away: an ordinary reload says which.
          if (await this.refused()) { location.reload(); return; }
          this.toast(JSON.parse(this.root?.dataset.texts || "{}").offline || "…");
          await sleep(pause);
        }
        if (number !== this.newest) { clearTimeout(slow); return; }
      }
      clearTimeout(slow);
      await this.show(answer);
    }

    async refused() {
      try { return [401, 403].includes((await fetch("/research/api/progress")).status); } catch { return false; }
    }

    async show(answer) {
      const focus = document.activeElement;
      const kept = this.remember();
      this.props.value = answer.html;
      this.figures = answer.figures;
      this.live = answer.live;
      await sleep(0);
      if (!this.root) return;
      document.title = this.root.dataset.title;
      this.restore(kept, focus);
      this.prepareForms();
      this.replay();
      this.planShown();
      this.watched();
      this.deskShown();
      this.shortcuts();
      this.draw();
      if (location.hash && kept.place !== location.href) this.one(location.hash)?.scrollIntoView({ block: "start" });
      this.shownAt = location.href;
      if (answer.more) this.load({ quiet: true });
    }

    // What a fresh page would lose: scrolled lists, opened details, focus.
    remember() {
      return {
        place: this.shownAt,
        scrolls: this.all("[data-keep-scroll]").map((part) => [part.dataset.keepScroll, part.scrollTop]),
        opened: this.all("details").map((part) => part.open),
        selector: this.nameOf(document.activeElement),
        caret: document.activeElement?.selectionStart,
      };
    }

    nameOf(control) {
      if (!control || !this.element.contains(control)) return null;
      if (control.id) return `#${CSS.escape(control.id)}`;
      const parts = ["act", "name", "value", "by", "step"]
        .filter((name) => control.dataset[name] !== undefined)
        .map((name) => `[data-${name}="${CSS.escape(control.dataset[name])}"]`);
      return parts.length ? parts.join("") : control.getAttribute("href") && `a[href="${CSS.escape(control.getAttribute("href"))}"]`;
    }

    restore(kept, focus) {
      for (const [name, top] of kept.scrolls) { const part = this.one(`[data-keep-scroll="${name}"]`); if (part && name === "list") part.scrollTop = top; }
      if (kept.place === location.href) {
        const details = this.all("details");
        if (details.length === kept.opened.length) details.forEach((part, place) => { part.open = kept.opened[place]; });
        for (const [name, top] of kept.scrolls) { const part = this.one(`[data-keep-scroll="${name}"]`); if (part) part.scrollTop = top; }
      }
      if (focus && !this.element.contains(focus) && kept.selector) {
        const again = this.one(kept.selector);
        again?.focus({ preventScroll: true });
        if (again && kept.caret !== undefined && kept.caret !== null) { try { again.setSelectionRange(kept.caret, kept.caret); } catch { /* not a text field */ } }
      }
      this.one(".rs-list [aria-current]")?.scrollIntoView({ block: "nearest" });
    }

    go(address) {
      const target = new URL(address, location.href);
      history.pushState(null, "", target);
      const before = new URL(this.shownAt || location.href);
      const same = before.pathname === target.pathname && before.searchParams.get("run") === target.searchParams.get("run") && before.searchParams.get("tab") === target.searchParams.get("tab");
      this.load().then(() => { if (!same && !target.hash) window.scrollTo(0, 0); });
    }

    toast(text) { const place = this.one(".ab-toast"); if (place) { place.textContent = text; clearTimeout(this.toasting); this.toasting = setTimeout(() => { place.textContent = ""; }, 4000); } }

    prepareForms() {
      const field = this.one("form[data-remember] [name=reviewer]");
      if (field && !field.value) field.value = read(REVIEWER) || "";
    }

    draw() {
      const places = this.all("[data-figure]").filter((place) => this.figures[place.dataset.figure]);
      return askbackPlots.draw(places, this.figures, this.root?.dataset.figureFailed);
    }

    // ---- runs that are being played

    async follow() {
      for (;;) {
        await sleep(POLL_MS);
        if (document.hidden || !this.live || !this.root) continue;
        try {
          const now = await (await fetch("/research/api/progress")).json();
          if (this.changed(now)) await this.load({ quiet: true });
        } catch { /* the server is away; the next round tells */ }
      }
    }

    changed(now) {
      const seen = JSON.stringify(now);
      const changed = this.seen !== undefined && this.seen !== seen;
      this.seen = seen;
      return changed;
    }

    // ---- dialogues, turn by turn

    get last() { return JSON.parse(this.one("[data-replay]").dataset.steps).length - 1; }

    replay() {
      const stage = this.one("[data-replay]");
      if (!stage) return;
      const episode = this.deskStage()?.dataset.item || new URLSearchParams(location.search).get("episode");
      if (this.stepOf !== episode || this.step === null) {
        this.stepOf = episode;
        this.step = this.toJudge()[0] ?? this.last;
      }
      this.goTo(this.step, { scroll: false });
    }

    // The turns on which there is something to be chosen at a desk.
    toJudge() { return this.all("[data-to-judge]").map((group) => Number(group.dataset.why)); }

    goTo(step, { scroll = true } = {}) {
      this.step = Math.max(0, Math.min(this.last, step));
      for (const line of this.all("[data-moment]")) {
        const now = Number(line.dataset.moment) === this.step;
        line.classList.toggle("ab-now", now);
        line.querySelector(".ab-bubble")?.setAttribute("aria-current", now ? "step" : "false");
        if (now && scroll) line.scrollIntoView({ block: "nearest" });
      }
      for (const part of this.all("[data-why]")) part.hidden = Number(part.dataset.why) !== this.step;
      for (const place of this.all(".dk-place")) place.setAttribute("aria-current", Number(place.dataset.step) === this.step ? "step" : "false");
      const slider = this.one("[data-slider]");
      if (slider) {
        slider.value = this.step;
        const text = slider.dataset.text.replace("{number}", this.step + 1).replace("{last}", this.last + 1);
        slider.setAttribute("aria-valuetext", text);
        this.one("[data-step-text]").textContent = text;
      }
      this.colour();
    }

    // Whoever judges a turn sees the frontier that the provider saw: the tree before it.
    colour() {
      const tree = this.one("[data-tree]");
      if (!tree) return;
      const steps = JSON.parse(this.one("[data-replay]").dataset.steps);
      const before = steps.slice(0, this.step);
      const now = new Set(steps[this.step].gave);
      const given = new Set(before.flatMap((step) => step.gave));
      const available = new Set(before.at(-1)?.available || []);
      if (!given.has("0")) available.add("0");
      const stateOf = (index) => given.has(index) ? "given" : available.has(index) ? "available" : "locked";
      for (const dot of tree.querySelectorAll("[data-dot]")) dot.setAttribute("class", `ab-dot-${now.has(dot.dataset.dot) ? "now" : stateOf(dot.dataset.dot)}`);
      for (const node of tree.querySelectorAll("[data-node]")) {
        const index = node.dataset.node;
        const state = stateOf(index);
        node.className = `ab-node ab-node-${state}${now.has(index) ? " ab-node-now" : ""}`;
        const chip = node.querySelector(".ab-state");
        chip.className = `ab-state ab-state-${now.has(index) ? "now" : state}`;
        chip.textContent = now.has(index) ? tree.dataset.now : tree.dataset[state];
      }
    }

    move(by) {
      const turns = this.toJudge();
      if (!turns.length) { this.goTo(this.step + by); return; }
      const next = by > 0 ? turns.find((turn) => turn > this.step) : turns.findLast((turn) => turn < this.step);
      if (next !== undefined) this.goTo(next);
    }

    shortcuts() {
      const box = this.one("[data-shortcuts]");
      if (box) box.checked = read(SHORTCUTS) !== "off";
    }

    // ---- events

    onClick(event) {
      const control = event.target.closest("[data-act]");
      if (control && !control.disabled) this.act(control, control.dataset.act);
      const link = event.target.closest("a[href]");
      if (!link || event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
      const target = new URL(link.href);
      if (link.hasAttribute("download") || target.origin !== location.origin || !PATHS.includes(target.pathname) || target.searchParams.has("lang")) return;
      event.preventDefault();
      this.go(target);
    }

    act(control, act) {
      if (act === "goto") this.goTo(Number(control.dataset.step), { scroll: !control.matches(".ab-bubble") });
      else if (act === "step") this.move(Number(control.dataset.by));
      else if (act === "forget-reviewer") write(REVIEWER, "");
      else if (act === "story") this.storyBy(Number(control.dataset.by));
      else if (act === "story-play") this.storyPlay(control);
      else if (act === "thing") this.openThing(control);
      else if (act === "peek") this.peek(control.dataset.place);
      else if (act === "watch") { this.watchPlay(false); this.watchTo(control.dataset.to === undefined ? this.watchStep() + Number(control.dataset.by) : Number(control.dataset.to)); }
      else if (act === "watch-play") this.watchPlay(!this.watching);
      else if (act === "dk-take") this.deskTake(control.dataset);
      else if (act === "dk-press") this.deskPress(control.dataset);
      else if (act === "dk-doubt") this.deskDoubt();
      else if (act === "dk-finish") this.deskFinish(control.dataset.value);
      else if (act === "fm-add") this.fmAdd(control.closest("[data-list]"));
      else if (act === "fm-drop") this.fmDrop(control.closest("[data-entry]"));
      else if (act === "copy-text") this.copy(control.dataset.text);
    }

    async copy(text) {
      const texts = JSON.parse(this.root.dataset.texts);
      try { await navigator.clipboard.writeText(text); this.toast(texts.copied); } catch { this.toast(texts.copy_failed); }
    }

    onSubmit(event) {
      const form = event.target;
      if (form.dataset.plain !== undefined) return;
      event.preventDefault();
      if (form.dataset.form === "desk") { this.deskSend(event.submitter); return; }
      if (form.dataset.form !== "go") return;
      const fields = [...new FormData(form)].filter(([, value]) => value !== "");
      if (form.dataset.remember !== undefined) write(REVIEWER, form.elements.reviewer.value);
      this.go(`${event.submitter?.dataset.path || form.dataset.path}?${new URLSearchParams(fields)}`);
    }

    onChange(event) {
      const form = event.target.closest("form");
      if (event.target.matches("[data-shortcuts]")) write(SHORTCUTS, event.target.checked ? "on" : "off");
      else if (form?.dataset.form === "go" && form.dataset.remember === undefined && event.target.matches("select")) form.requestSubmit();
      else if (form?.dataset.form === "desk") this.deskHeard(event.target);
      else if (event.target.matches("[data-watch-slider]")) { this.watchPlay(false); this.watchTo(Number(event.target.value)); }
    }

    onInput(event) {
      if (event.target.matches("[data-slider]")) this.goTo(Number(event.target.value));
      if (event.target.closest("form[data-form=desk]")) this.deskHeard(event.target);
    }

    onKey(event) {
      if (this.deskKey(event)) return;
      const way = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (way && this.one("[data-watch]") && !event.ctrlKey && !event.metaKey && !event.altKey && !event.target.matches?.("input, textarea, select")) {
        event.preventDefault();
        this.watchPlay(false);
        this.watchTo(this.watchStep() + way);
        return;
      }
      if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || !this.one("[data-replay]")) return;
      if (event.key === "Escape" && event.target.matches?.("textarea")) { event.target.blur(); return; }
      if (event.target.matches?.("input:not([type=checkbox]), textarea, select, [contenteditable]")) return;
      if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
        event.preventDefault();
        this.move(event.key === "ArrowRight" ? 1 : -1);
      }
    }
  }

  function mount(element, props, server) {
    Object.assign(Desk.prototype, askbackDesk, askbackPlan.methods, askbackPlan.watching);
    const desk = new Desk(element, props, server);
    desk.load();
    return desk;
  }

  return { mount };
})();
