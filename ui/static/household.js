// HandMeThat's pages: the entry's form; acting by click, by suggestion and by key.
"use strict";

(() => {
  const { part } = window.askback;
  const SHOWN = 8;

  part({
    prepare() { this.choice = -1; },

    apply() {
      if (this.one("[data-form=household]")) this.fitEntry();
      if (!this.house) return;
      this.houseShown();
      this.suggest(false);
      this.walk();
      this.refocus();
    },

    hear: {
      change(event) {
        if (event.target.closest("[data-form=household]")) this.fitEntry();
      },
      input(event) {
        if (this.house && event.target.id === "ab-reply") this.suggest(true);
      },
      keydown(event) {
        if (!this.house) return;
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
      stop() { this.askStop(true); },
      "stop-no"() { this.askStop(false); },
    },

    forms: {
      household(form) { this.begin(form); },
    },

    methods: {
      ...window.askbackHouse.methods,

      // ---- acting

      // A command by click: it is sent at once; what had the focus gets it back, or its successor does.
      act(control) {
        const place = control.closest("[data-place]")?.dataset.place;
        const thing = control.closest("[data-thing]")?.dataset.thing;
        const words = control.textContent.trim();
        this.focusAfter = control.matches(".hm-question") ? "details[data-keep=ask] summary" : place && place !== "h" ? `[data-place="${place}"]` : thing ? `[data-thing="${thing}"]` : ".hm-panels";
        this.askStop(false);
        const ask = this.one("details[data-keep=ask]");
        if (ask && control.matches(".hm-question")) ask.open = false;
        this.send({ text: control.dataset.command }, control.dataset.command.startsWith("question:") ? words : control.dataset.command);
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

      // The robot walks from where it stood to where it stands.
      walk() {
        const robot = this.one("[data-plan] .hm-robot, .hm-asker .hm-robot");
        const to = robot?.getBoundingClientRect();
        const from = this.stood;
        this.stood = to && { x: to.x + scrollX, y: to.y + scrollY };
        if (!robot || !from || matchMedia("(prefers-reduced-motion: reduce)").matches) return;
        const [dx, dy] = [from.x - this.stood.x, from.y - this.stood.y];
        if (Math.hypot(dx, dy) < 4) return;
        robot.animate([{ transform: `translate(${dx}px, ${dy}px)` }, { transform: "none" }], { duration: 420, easing: "cubic-bezier(.3,.7,.3,1)" });
      },

      askStop(on) {
        const place = this.one("[data-stop]");
        if (!place) return;
        place.classList.toggle("ab-on", on);
        if (on) place.querySelector("[data-act=do]").focus();
        else if (place.contains(document.activeElement)) this.one("[data-act=stop]")?.focus();
      },

      escape(event) {
        const open = this.one('[data-act=thing][aria-expanded="true"]');
        this.askStop(false);
        if (!open) return;
        this.openThing(null);
        if (open.parentElement.contains(document.activeElement)) open.focus();
        event.stopPropagation();
      },

      // ---- suggestions under the line for typing: a combobox with a list

      options() { return this.all("#hm-suggestions [role=option]"); },
      offered() { return this.options().filter((one) => !one.hidden); },

      suggest(on) {
        const list = this.one("#hm-suggestions");
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
        this.writeDraft();
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

      // ---- the entry

      fitEntry() {
        const seat = this.one("[data-form=household]").elements.seat.value;
        for (const field of this.all("[data-for-role]")) field.hidden = field.dataset.forRole !== seat;
      },

      async begin(form) {
        const fields = form.elements;
        const seat = fields.seat.value;
        const button = form.querySelector("[type=submit]");
        const problem = this.one("[data-problem]");
        if (this.busy) return;
        const label = button.textContent;
        this.busy = button.disabled = problem.hidden = true;
        button.textContent = button.dataset.busy;
        const answer = await this.call("start", {
          room: "handmethat",
          seat,
          episode_language: fields.language.value,
          mode: fields.mode.value,
          level: Number(fields.level.value) || null,
          opposite: fields[`opposite-${seat}`].value,
        });
        if (answer?.go) { location.assign(answer.go); return; }
        this.busy = button.disabled = problem.hidden = false;
        button.textContent = label;
        problem.textContent = answer?.problem || this.texts.failed;
      },
    },
  });

  document.addEventListener("click", (event) => {
    const option = event.target.closest?.("#hm-suggestions [role=option]");
    const page = window.askback.page;
    if (!page?.house) return;
    if (option) page.take(option);
    else if (!event.target.closest?.(".hm-chip-box")) page.openThing(null);
    if (!event.target.closest?.(".hm-typing")) page.suggest(false);
  });
})();
