// The drawn house: what can be done with a thing, looking into other places, and the human's story.
"use strict";

window.askbackHouse = (() => {
  const STORY_MS = 1800;
  const WATCH_MS = 1400;

  // Methods for a page object that has one() and all(); the researchers' page uses them too.
  const methods = {
    // ---- the story: one step at a time, its place and things lit on the plan

    houseShown() {
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
      this.all(".hm-story-track i").forEach((one, place) => one.classList.toggle("hm-past", place <= now));
      for (const button of this.all("[data-act=story]")) {
        button.disabled = button.dataset.by === "-1" ? now === 0 : now === steps.length - 1;
      }
      const { where, about } = steps[now].dataset;
      const things = new Set(about.split(" ").filter(Boolean));
      for (const tile of this.all("[data-plan] .hm-tile")) tile.classList.toggle("hm-lit", lit && tile.dataset.place === where);
      for (const chip of this.all("[data-thing]")) chip.classList.toggle("hm-lit", lit && things.has(chip.dataset.thing));
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
      const menu = button.parentElement.querySelector(".hm-menu");
      button.setAttribute("aria-expanded", String(open));
      menu.hidden = !open;
      if (!open) return;
      menu.classList.remove("hm-to-left");
      if (menu.getBoundingClientRect().right > document.documentElement.clientWidth - 8) menu.classList.add("hm-to-left");
      menu.scrollIntoView({ block: "nearest" });
    },

    peek(place) {
      for (const panel of this.all("[data-panel]")) panel.hidden = panel.dataset.panel !== place;
      for (const tile of this.all("[data-plan] .hm-tile")) tile.classList.toggle("hm-shown", tile.dataset.place === place && !tile.classList.contains("hm-here"));
      this.one("[data-panels]")?.scrollIntoView({ block: "nearest", behavior: "smooth" });
    },
  };

  // Further methods of the researchers' page: a logged episode, turn by turn.
  const watching = {
    watchStep() { return Number(this.one("[data-watch]").dataset.step); },

    watchTo(step) {
      const last = Number(this.one("[data-watch]").dataset.last);
      const at = new URL(location.href);
      at.searchParams.set("step", Math.max(0, Math.min(last, step)));
      history.replaceState(null, "", at);
      return this.load({ quiet: true });
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
      button.classList.toggle("hm-playing", Boolean(this.watching));
      button.setAttribute("aria-label", this.watching ? button.dataset.pause : button.dataset.play);
      const log = this.one(".hm-watch-log .ab-log");
      const now = log.querySelector(".ab-now");
      if (now) log.scrollTop = now.offsetTop - log.offsetTop - log.clientHeight / 2;
      if (this.watching) this.watchTimer = setTimeout(() => this.watchTo(this.watchStep() + 1), WATCH_MS);
    },
  };

  return { methods, watching };
})();
