// Forms by keyboard: keys choose answers and go on to the next question, Enter sends. Single keys can be switched
// off, and that is remembered.
"use strict";

(() => {
  const { store, part } = window.askback;
  const SHORTCUTS = "askback.shortcuts";

  part({
    // On the document: after a click beside the form, the focus is on the body.
    prepare() { document.addEventListener("keydown", (event) => this.kyPressed(event)); },

    apply() { this.kyShow(); },

    acts: {
      "fm-keys"() {
        store.write(SHORTCUTS, !this.kyOn());
        this.kyShow();
      },
    },

    methods: {
      kyOn() { return store.read(SHORTCUTS) !== false; },

      kyShow() {
        const button = this.one("[data-act=fm-keys]");
        if (!button) return;
        const on = this.kyOn();
        button.setAttribute("aria-checked", String(on));
        const state = button.querySelector("[data-on]");
        state.textContent = on ? state.dataset.on : state.dataset.off;
        this.one("[data-keys-hint]").hidden = !on;
        this.root.classList.toggle("fm-without-keys", !on);
      },

      kyPressed(event) {
        // While an input method composes (Chinese, Japanese), keys belong to it.
        if (!this.one("[data-act=fm-keys]") || this.busy || event.isComposing || event.keyCode === 229 || event.repeat || this.one("dialog[open]")) return;
        const written = event.target.matches("textarea, select, input[type=text], input[type=search]");
        if (event.key === "Enter" && this.one("[data-way]")) this.fmEnter(event, event.target);
        else if (event.key === "Enter") this.kySend(event, written);
        else if (!written && !event.ctrlKey && !event.metaKey && !event.altKey && this.kyOn()) this.kyChoose(event);
      },

      // A form with texts is not sent by accident.
      kySend(event, written) {
        const forced = event.ctrlKey || event.metaKey;
        if (!forced && (written || event.target.closest("button, a, summary"))) return;
        event.preventDefault();
        if (forced || !this.one("[data-reads] textarea:not(details *)")) this.stAnswer(true);
      },

      // For the question that has the focus, else the first that is open; then on to the next of these.
      kyChoose(event) {
        const way = this.one(`[data-way][data-key="${CSS.escape(event.key.toLowerCase())}"]`);
        if (way) {
          event.preventDefault();
          this.fmInto(way.dataset.way);
          return;
        }
        const groups = this.fmFields().filter((at) => at.querySelector("[data-key]"));
        const open = groups.filter((at) => !at.querySelector(":checked"));
        const group = document.activeElement.closest("[data-field]:has([data-key])") || open[0] || groups[0];
        const field = [...(group?.querySelectorAll("[data-key]") || [])].find((choice) => choice.dataset.key === event.key.toLowerCase());
        if (!field) return;
        event.preventDefault();
        field.focus();
        field.click();
        const left = groups.filter((at) => !at.querySelector(":checked"));
        const next = groups.slice(groups.indexOf(group) + 1).find((at) => left.includes(at)) || left[0];
        if (field.type === "radio" && next) next.querySelector("input").focus();
      },
    },
  });
})();
