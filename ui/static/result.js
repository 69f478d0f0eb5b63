// A finished dialogue: stepping through the replay, and the provider's verdict.
"use strict";

(() => {
  const { store, part, random } = window.askback;

  // Steps through turns. When a turn is judged (`judging`), the tree is in its state before that turn.
  const stepping = {
    steps() { return JSON.parse(this.one("[data-replay]").dataset.steps); },

    goTo(step, { scroll = true } = {}) {
      const last = this.steps().length - 1;
      this.step = Math.max(0, Math.min(last, step));
      for (const line of this.all("[data-moment]")) {
        const at = Number(line.dataset.moment);
        line.classList.toggle("ab-now", at === this.step);
        line.classList.toggle("ab-later", at > this.step && !this.judging);
        line.querySelector(".ab-bubble")?.setAttribute("aria-current", at === this.step ? "step" : "false");
        if (at === this.step && scroll && this.judging) line.scrollIntoView({ block: "nearest" });
      }
      for (const part of this.all("[data-why]")) part.hidden = Number(part.dataset.why) !== this.step;
      for (const place of this.all(".dk-place")) place.setAttribute("aria-current", Number(place.dataset.step) === this.step ? "step" : "false");
      const slider = this.one("[data-slider]");
      if (slider) {
        slider.value = this.step;
        const words = slider.dataset.text.replace("{number}", this.step + 1).replace("{last}", last + 1);
        slider.setAttribute("aria-valuetext", words);
        this.one("[data-step-text]").textContent = words;
      }
      this.colour();
    },

    colour() {
      const tree = this.one("[data-tree]");
      if (!tree) return;
      const steps = this.steps();
      const past = steps.slice(0, this.step + (this.judging ? 0 : 1));
      const now = new Set(steps[this.step].gave);
      const given = new Set(past.flatMap((step) => step.gave));
      const available = new Set(given.has("0") ? past.at(-1).available : [...(past.at(-1)?.available || []), "0"]);
      const stateOf = (index) => given.has(index) ? "given" : available.has(index) ? "available" : "locked";
      for (const dot of tree.querySelectorAll("[data-dot]")) dot.setAttribute("class", `ab-dot-${now.has(dot.dataset.dot) ? "now" : stateOf(dot.dataset.dot)}`);
      for (const node of tree.querySelectorAll("[data-node]")) {
        const { node: index } = node.dataset;
        const state = now.has(index) ? "now" : stateOf(index);
        node.className = `ab-node ab-node-${state}${now.has(index) && this.judging ? ` ab-node-${stateOf(index)}` : ""}`;
        const chip = node.querySelector(".ab-state");
        chip.className = `ab-state ab-state-${state}`;
        chip.textContent = tree.dataset[state];
      }
      this.reveal?.(this.one(".ab-replay-side"), tree.querySelector(".ab-node-now"));
      this.reveal?.(this.one(".ab-transcript"), this.one(".ab-now"));
    },
  };

  part({
    prepare() { this.step = null; },

    apply() {
      if (!this.one("[data-replay]")) return;
      const gave = this.steps().findIndex((step) => step.gave.length);
      this.goTo(this.step ?? Math.max(0, gave));
      this.showVerdict();
    },

    hear: {
      keydown(event) {
        const way = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
        const elsewhere = event.target.matches("input") || event.altKey || event.ctrlKey || event.metaKey;
        if (!way || elsewhere || !this.one("[data-replay]")) return;
        event.preventDefault();
        this.goTo(this.step + way);
      },
      input(event) {
        if (event.target.matches("[data-slider]")) this.goTo(Number(event.target.value));
      },
    },

    acts: {
      step(control) { this.goTo(this.step + Number(control.dataset.by)); },
      goto(control) { this.goTo(Number(control.dataset.step)); },
      judge(control) { this.judge(control.dataset.success); },
    },

    methods: {
      ...stepping,

      // Scrolls only `box`, and only if `inner` is out of view in it.
      reveal(box, inner) {
        if (!box || !inner || box.scrollHeight <= box.clientHeight) return;
        const frame = box.getBoundingClientRect();
        const place = inner.getBoundingClientRect();
        if (place.top < frame.top) box.scrollTop -= frame.top - place.top + 12;
        else if (place.bottom > frame.bottom) box.scrollTop += place.bottom - frame.bottom + 12;
      },

      verdictName() { return `askback.verdict.${this.root.dataset.episode}`; },

      async judge(success) {
        if (this.busy) return;
        const answer = await this.move("judge", { render: random(), success: success === "1" });
        if (answer?.accepted) {
          store.write(this.verdictName(), success);
          this.showVerdict();
        } else this.toast(this.texts.failed);
      },

      showVerdict() {
        const verdict = store.read(this.verdictName());
        if (verdict === null || !this.one("[data-judged]")) return;
        this.one("[data-unjudged]")?.removeAttribute("hidden");
        for (const button of this.all("[data-act=judge]")) {
          const chosen = button.dataset.success === verdict;
          button.disabled = true;
          button.setAttribute("aria-pressed", String(chosen));
          if (chosen) this.one("[data-judged]").textContent = button.dataset.said;
        }
      },
    },
  });

  window.askback.stepping = stepping;
})();
