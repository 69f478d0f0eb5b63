// A dialogue that has ended: stepping through the replay, and the provider's verdict.
"use strict";

(() => {
  const { store, part } = window.askback;

  part({
    prepare() { this.step = null; },

    apply() {
      if (!this.one("[data-replay]")) return;
      const gave = JSON.parse(this.one("[data-replay]").dataset.steps).findIndex((step) => step.gave.length);
      this.go(this.step ?? Math.max(0, gave));
      this.showVerdict();
    },

    hear: {
      keydown(event) {
        const way = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
        const elsewhere = event.target.matches("input") || event.altKey || event.ctrlKey || event.metaKey;
        if (!way || elsewhere || !this.one("[data-replay]")) return;
        event.preventDefault();
        this.go(this.step + way);
      },
      input(event) {
        if (event.target.matches("[data-slider]")) this.go(Number(event.target.value));
      },
    },

    acts: {
      step(control) { this.go(this.step + Number(control.dataset.by)); },
      goto(control) { this.go(Number(control.dataset.step)); },
      judge(control) { this.judge(control.dataset.success); },
    },

    methods: {
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
      },

      colour() {
        const steps = JSON.parse(this.one("[data-replay]").dataset.steps);
        const words = this.one("[data-tree]").dataset;
        const given = new Set(steps.slice(0, this.step + 1).flatMap((step) => step.gave));
        const now = new Set(steps[this.step].gave);
        const available = new Set(given.has("0") ? steps[this.step].available : ["0"]);
        const stateOf = (index) => {
          if (now.has(index)) return "now";
          if (given.has(index)) return "given";
          return available.has(index) ? "available" : "locked";
        };
        for (const dot of this.all("[data-dot]")) dot.setAttribute("class", `ab-dot-${stateOf(dot.dataset.dot)}`);
        for (const node of this.all("[data-tree] [data-node]")) {
          const state = stateOf(node.dataset.node);
          const chip = node.querySelector(".ab-state");
          node.className = `ab-node ab-node-${state}`;
          chip.className = `ab-state ab-state-${state}`;
          chip.textContent = words[state];
        }
        this.reveal(this.one(".ab-replay-side"), this.one("[data-tree] .ab-node-now"));
        this.reveal(this.one(".ab-transcript"), this.one(".ab-now"));
      },

      // Scrolls `box` alone, and only if `inner` is out of sight in it.
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
        const answer = await this.move("judge", { render: this.nonce, success: success === "1" });
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
})();
