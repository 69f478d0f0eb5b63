// The browser side of the researchers' pages, which Gradio builds for an address: navigation between addresses,
// and stepping through dialogues. desk.js is for desks.
"use strict";

window.askbackResearch = (() => {
  const REVIEWER = "askback.reviewer";
  const SHORTCUTS = "askback.research.shortcuts";
  const HEALTH_MS = 5000;
  const PATHS = ["/research/part", "/research/data", "/research/desk"];
  // Actions shared with the players' pages.
  const SHARED = ["story", "story-play", "thing", "peek", "fm-add", "fm-drop"];
  const { store, acts } = window.askback;

  class Page {
    constructor(trigger, server) {
      this.trigger = trigger;
      this.server = server;
      this.step = null;
      this.stepOf = null;
      this.judging = true;
      this.stages = [];
      this.pending = new Map();
      this.queue = Promise.resolve();
      const listen = (name, heard) => document.addEventListener(name, (event) => heard.call(this, event));
      listen("click", this.onClick);
      listen("submit", this.onSubmit);
      listen("change", this.onChange);
      listen("input", this.onInput);
      listen("keydown", this.onKey);
      listen("focusout", (event) => { if (event.target.matches("[data-bit]")) this.deskLeft(event.target); });
      for (const name of ["pointerdown", "keydown"]) listen(name, (event) => { if (event.key === undefined || event.key === " ") this.deskHold(); });
      for (const name of ["pointerup", "pointercancel", "keyup"]) listen(name, (event) => { if (event.key === undefined || event.key === " ") this.deskRelease(); });
      setInterval(() => document.hidden || this.findRestart(), HEALTH_MS);
      this.findRestart();
      window.addEventListener("popstate", () => this.rebuild());
      window.addEventListener("beforeunload", (event) => { if (this.pending.size || Object.keys(this.deskUnsaved()).length) event.preventDefault(); });
    }

    // After a restart, Gradio does not know this page any more: it would stay as it is without a word.
    async findRestart() {
      const server = await fetch("/health").then((answer) => answer.headers.get("X-Server")).catch(() => null);
      this.startedOn ??= server;
      if (server && server !== this.startedOn) this.one("[data-restarted]").hidden = false;
    }

    one(selector) { return document.querySelector(selector); }
    all(selector) { return [...document.querySelectorAll(selector)]; }

    // Rebuilds the page for its address; resolves when it is built.
    rebuild() {
      this.anew = null;
      this.opened = { at: location.href, parts: this.all("details").map((part) => part.open) };
      // A rebuild that starts during another resolves both.
      const before = this.resolve;
      return new Promise((resolve) => { this.resolve = () => { before?.(); resolve(); }; this.trigger(); });
    }

    built(title) {
      document.title = title;
      const { at, parts = [] } = this.opened || {};
      const details = this.all("details");
      if (at === location.href && parts.length === details.length) details.forEach((part, place) => { part.open = parts[place]; });
      const field = this.one("form[data-remember] [name=reviewer]");
      if (field && !field.value) field.value = store.read(REVIEWER) || "";
      this.settled();
      this.one(".rs-list [aria-current]")?.scrollIntoView({ block: "nearest" });
      if (!this.resolve && location.hash) this.one(location.hash)?.scrollIntoView();
      this.resolve?.();
      this.resolve = () => {};
    }

    // Called after every change of the page's contents.
    settled() {
      const box = this.one("[data-shortcuts]");
      if (box) box.checked = store.read(SHORTCUTS) !== "off";
      this.shown();
      this.deskShown();
    }

    onStage() { return this.all("[data-replay], [data-story], [data-watch]"); }

    // Gradio adds the contents of a tab last, after the page was reported as built.
    changed() {
      const stages = this.onStage();
      if (stages.length !== this.stages.length || stages.some((stage, place) => stage !== this.stages[place])) this.shown();
    }

    shown() {
      this.stages = this.onStage();
      this.replay();
      this.planShown();
      this.watched();
    }

    async go(target) {
      const part = (address) => [address.pathname, address.searchParams.get("run"), address.searchParams.get("tab")].join();
      const same = part(target) === part(new URL(location));
      history.pushState(null, "", target);
      this.saved = null;
      await this.rebuild();
      if (!same) scrollTo(0, 0);
    }

    // ---- dialogues, turn by turn

    replay() {
      const stage = this.one("[data-replay]");
      if (!stage) return;
      const episode = this.deskStage()?.dataset.item || new URLSearchParams(location.search).get("episode");
      if (this.stepOf !== episode || this.step === null) {
        this.stepOf = episode;
        this.step = this.toJudge()[0] ?? this.steps().length - 1;
      }
      this.goTo(this.step, { scroll: false });
    }

    // The turns that have choices at a desk.
    toJudge() { return this.all("[data-to-judge]").map((group) => Number(group.dataset.why)); }

    move(by) {
      const turns = this.toJudge();
      if (!turns.length) { this.goTo(this.step + by); return; }
      const next = by > 0 ? turns.find((turn) => turn > this.step) : turns.findLast((turn) => turn < this.step);
      if (next !== undefined) this.goTo(next);
    }

    // ---- events

    onClick(event) {
      const control = event.target.closest("[data-act]");
      if (control && !control.disabled) this.act(control, control.dataset.act);
      const link = event.target.closest("a[href]");
      if (!link || event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
      const target = new URL(link.href);
      if (link.hasAttribute("download") || target.origin !== location.origin || target.pathname !== location.pathname || !PATHS.includes(target.pathname) || target.hash || target.searchParams.has("lang")) return;
      event.preventDefault();
      this.go(target);
    }

    act(control, act) {
      if (SHARED.includes(act)) acts[act].call(this, control);
      else if (act === "goto") this.goTo(Number(control.dataset.step), { scroll: !control.matches(".ab-bubble") });
      else if (act === "step") this.move(Number(control.dataset.by));
      else if (act === "reload") location.reload();
      else if (act === "forget-reviewer") store.drop(REVIEWER);
      else if (act === "watch") { this.watchPlay(false); this.watchTo(control.dataset.to === undefined ? this.watchStep() + Number(control.dataset.by) : Number(control.dataset.to)); }
      else if (act === "watch-play") this.watchPlay(!this.watching);
      else if (act === "dk-take") this.deskTake(control.dataset);
      else if (act === "dk-press") this.deskPress(control.dataset);
      else if (act === "dk-doubt") this.deskToggleConfirm();
      else if (act === "dk-finish") this.deskFinish(control.dataset.value);
    }

    onSubmit(event) {
      const form = event.target;
      if (form.dataset.remember !== undefined) store.write(REVIEWER, form.elements.reviewer.value);
      if (form.dataset.form !== "desk") return;
      event.preventDefault();
      this.deskSend(event.submitter);
    }

    onChange(event) {
      if (event.target.matches("[data-shortcuts]")) store.write(SHORTCUTS, event.target.checked ? "on" : "off");
      else if (event.target.closest("form[data-form=desk]")) this.deskOnInput(event.target);
      else if (event.target.matches("[data-watch-slider]")) { this.watchPlay(false); this.watchTo(Number(event.target.value)); }
    }

    onInput(event) {
      if (event.target.matches("[data-slider]")) this.goTo(Number(event.target.value));
      if (event.target.closest("form[data-form=desk]")) this.deskOnInput(event.target);
    }

    onKey(event) {
      if (this.deskKey(event)) return;
      const [watch, replay] = [this.one("[data-watch]"), this.one("[data-replay]")];
      if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || !(watch || replay)) return;
      if (event.key === "Escape" && replay && event.target.matches?.("textarea")) event.target.blur();
      const way = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!way || event.target.matches?.("input:not([type=checkbox]), textarea, select, [contenteditable]")) return;
      event.preventDefault();
      if (watch) { this.watchPlay(false); this.watchTo(this.watchStep() + way); } else this.move(way);
    }
  }

  let page = null;

  // Called once per page; `rebuild` makes Gradio rebuild it.
  function start(rebuild, server) {
    Object.assign(Page.prototype, window.askback.stepping, askbackDesk, askbackPlan.methods, askbackPlan.watching);
    page = new Page(rebuild, server);
    new MutationObserver(() => page.changed()).observe(document.body, { childList: true, subtree: true });
  }

  // Called after every build; new contents appear in the page a moment later.
  function built(title) { setTimeout(() => page.built(title)); }

  return { start, built };
})();
