// Places to walk through: actions on things, a look at other places, the story; acting by
// click, suggestion or key.
"use strict";

window.askbackPlan = (() => {
  const STORY_MS = 1800;
  const WATCH_MS = 1400;

  // Methods for a page object that has one() and all(); the researchers' page uses them too.
  const methods = {
    // ---- the story: one step at a time, with its place and things highlighted on the plan

    planShown() {
      if (!this.one("[data-story]")) return;
      this.storyTo(this.storyStep ?? 0, { lit: this.storyStep !== undefined });
      this.openThing(null);
    },

    storyTo(step, { lit = true } = {}) {
      const steps = this.all("[data-story] [data-step]");
      if (!steps.length) return;
      const now = Math.max(0, Math.min(steps.length - 1, step));
      if (lit) this.storyStep = now;
      steps.forEach((one, place) => { one.hidden = place !== now; });
      this.all(".pl-story-track i").forEach((one, place) => one.classList.toggle("pl-past", place <= now));
      for (const button of this.all("[data-act=story]")) {
        button.disabled = button.dataset.by === "-1" ? now === 0 : now === steps.length - 1;
      }
      const { where, about } = steps[now].dataset;
      const things = new Set(about.split(" ").filter(Boolean));
      for (const tile of this.all("[data-plan] .pl-place")) tile.classList.toggle("pl-lit", lit && tile.dataset.place === where);
      for (const chip of this.all("[data-thing]")) chip.classList.toggle("pl-lit", lit && things.has(chip.dataset.thing));
    },

    storyBy(by) { this.storyTo((this.storyStep ?? 0) + by); },

    storyPlay(button) {
      const show = (playing) => {
        if (!button.isConnected) return;
        button.setAttribute("aria-label", playing ? button.dataset.pause : button.dataset.play);
        button.setAttribute("aria-pressed", String(playing));
      };
      if (this.storyTimer) {
        clearInterval(this.storyTimer);
        this.storyTimer = null;
        show(false);
        return;
      }
      const last = this.all("[data-story] [data-step]").length - 1;
      this.storyTo((this.storyStep ?? 0) >= last ? 0 : this.storyStep ?? 0);
      show(true);
      this.storyTimer = setInterval(() => {
        if (this.storyStep >= last || !this.one("[data-story]")) this.storyPlay(button);
        else this.storyBy(1);
      }, STORY_MS);
    },

    // ---- things and places

    openThing(button) {
      for (const other of this.all('[data-act=thing][aria-expanded="true"]')) {
        if (other !== button) this.fold(other, false);
      }
      if (button) this.fold(button, button.getAttribute("aria-expanded") !== "true");
    },

    fold(button, open) {
      const menu = button.parentElement.querySelector(".pl-menu");
      button.setAttribute("aria-expanded", String(open));
      menu.hidden = !open;
      if (!open) return;
      menu.classList.remove("pl-to-left");
      if (menu.getBoundingClientRect().right > document.documentElement.clientWidth - 8) menu.classList.add("pl-to-left");
      menu.scrollIntoView({ block: "nearest" });
    },

    peek(place) {
      for (const panel of this.all("[data-panel]")) panel.hidden = panel.dataset.panel !== place;
      for (const tile of this.all("[data-plan] .pl-place")) tile.classList.toggle("pl-shown", tile.dataset.place === place && !tile.classList.contains("pl-here"));
      this.one("[data-panels]")?.scrollIntoView({ block: "nearest", behavior: "smooth" });
    },
  };

  // Further methods for the researchers' page: a logged episode, turn by turn.
  const watching = {
    watchStep() { return Number(this.one("[data-watch]").dataset.step); },

    watchTo(step) {
      const last = Number(this.one("[data-watch]").dataset.last);
      const at = new URL(location.href);
      at.searchParams.set("step", Math.max(0, Math.min(last, step)));
      history.replaceState(null, "", at);
      return this.rebuild();
    },

    watchPlay(on) {
      this.watching = on;
      clearTimeout(this.watchTimer);
      const stage = this.one("[data-watch]");
      if (!stage) return;
      if (on && this.watchStep() >= Number(stage.dataset.last)) this.watchTo(0);
      else this.watched();
    },

    watched() {
      const button = this.one("[data-act=watch-play]");
      clearTimeout(this.watchTimer);
      if (!button) { this.watching = false; return; }
      if (this.watchStep() >= Number(this.one("[data-watch]").dataset.last)) this.watching = false;
      button.classList.toggle("rs-playing", Boolean(this.watching));
      button.setAttribute("aria-label", this.watching ? button.dataset.pause : button.dataset.play);
      if (this.watching) this.watchTimer = setTimeout(() => this.watchTo(this.watchStep() + 1), WATCH_MS);
    },
  };

  return { methods, watching };
})();

(() => {
  const { part } = window.askback;
  const SHOWN = 8;

  part({
    prepare() { this.choice = -1; },

    apply() {
      this.planShown();
      this.suggest(false);
      this.walk();
      this.refocus();
    },

    hear: {
      input(event) {
        if (event.target.id === "ab-reply") this.suggest(true);
      },
      keydown(event) {
        if (event.target.id === "ab-reply" && this.suggestKey(event)) return;
        if (event.key === "Escape") this.escape(event);
        const way = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
        if (way && event.target.closest("[data-story]")) { event.preventDefault(); this.storyBy(way); }
      },
    },

    acts: {
      do(control) { this.act(control); },
      thing(control) { this.openThing(control); },
      peek(control) { this.peek(control.dataset.place); },
      story(control) { this.storyBy(Number(control.dataset.by)); },
      "story-play"(control) { this.storyPlay(control); },
    },

    methods: {
      ...window.askbackPlan.methods,

      // ---- acting

      // A command by click is sent immediately; the focus returns to the same element or its successor.
      act(control) {
        const place = control.closest("[data-place]")?.dataset.place;
        const thing = control.closest("[data-thing]")?.dataset.thing;
        const { command, said } = control.dataset;
        this.focusAfter = said ? "details[data-keep=ask] summary" : place ? `[data-place="${place}"]` : thing ? `[data-thing="${thing}"]` : ".pl-panels";
        if (said) control.closest("details").open = false;
        this.sendTurn({ text: command }, { said });
      },

      refocus() {
        if (!this.focusAfter || this.busy) return;
        const target = this.one(this.focusAfter);
        this.focusAfter = undefined;
        const inner = target?.matches("input, button, summary") ? target : target?.querySelector("button:not([hidden])") || target || this.one("[data-panels]");
        if (!inner) return;
        if (!inner.matches("button, input, summary")) inner.tabIndex = -1;
        inner.focus({ preventScroll: true });
      },

      // Animate the figure from its previous place to the current one.
      walk() {
        const robot = this.one("[data-plan] .ab-figure, .pl-figures .ab-robot");
        const to = robot?.getBoundingClientRect();
        const from = this.stood;
        this.stood = to && { x: to.x + scrollX, y: to.y + scrollY };
        if (!robot || !from || matchMedia("(prefers-reduced-motion: reduce)").matches) return;
        const [dx, dy] = [from.x - this.stood.x, from.y - this.stood.y];
        if (Math.hypot(dx, dy) < 4) return;
        robot.animate([{ transform: `translate(${dx}px, ${dy}px)` }, { transform: "none" }], { duration: 420, easing: "cubic-bezier(.3,.7,.3,1)" });
      },

      escape(event) {
        const open = this.one('[data-act=thing][aria-expanded="true"]');
        if (!open) return;
        this.openThing(null);
        if (open.parentElement.contains(document.activeElement)) open.focus();
        event.stopPropagation();
      },

      // ---- suggestions below the input: a combobox with a list

      options() { return this.all("#pl-suggestions [role=option]"); },
      offered() { return this.options().filter((one) => !one.hidden); },

      suggest(on) {
        const list = this.one("#pl-suggestions");
        if (!list) return;
        const field = this.one("#ab-reply");
        const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
        let left = SHOWN;
        for (const one of this.options()) {
          const text = `${one.dataset.text} ${one.textContent}`.toLowerCase();
          const fits = on && left > 0 && words.length > 0 && words.every((word) => text.includes(word));
          one.hidden = !fits;
          if (fits) left -= 1;
        }
        this.choose(-1);
        list.hidden = this.offered().length === 0;
        field.setAttribute("aria-expanded", String(!list.hidden));
      },

      choose(at) {
        const some = this.offered();
        this.choice = some.length ? Math.max(-1, Math.min(some.length - 1, at)) : -1;
        for (const one of this.options()) one.setAttribute("aria-selected", String(one === some[this.choice]));
        const field = this.one("#ab-reply");
        if (this.choice < 0) field.removeAttribute("aria-activedescendant");
        else {
          field.setAttribute("aria-activedescendant", some[this.choice].id);
          some[this.choice].scrollIntoView({ block: "nearest" });
        }
      },

      take(one) {
        const field = this.one("#ab-reply");
        field.value = one.dataset.text;
        this.keepFilled();
        this.suggest(false);
        field.focus();
      },

      suggestKey(event) {
        const some = this.offered();
        if (!some.length || event.isComposing) return false;
        const way = { ArrowDown: 1, ArrowUp: -1 }[event.key];
        if (way) { event.preventDefault(); this.choose(this.choice + way); return true; }
        if (event.key === "Tab" && this.choice >= 0) { event.preventDefault(); this.take(some[this.choice]); return true; }
        if (event.key === "Enter" && this.choice >= 0) { this.take(some[this.choice]); return false; }
        if (event.key === "Escape") { this.suggest(false); event.stopPropagation(); return true; }
        return false;
      },
    },
  });

  document.addEventListener("click", (event) => {
    const option = event.target.closest?.("#pl-suggestions [role=option]");
    const page = window.askback.page;
    if (!page) return;
    if (option) page.take(option);
    else if (!event.target.closest?.(".pl-chip-box")) page.openThing(null);
    if (!event.target.closest?.(".ab-compose-box")) page.suggest(false);
  });
})();
