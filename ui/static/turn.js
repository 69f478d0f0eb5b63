// The pages of an episode, dialogues and forms: a turn from display to submission. Drafts survive a reload and are
// sent once, with measurements. The pages send signs of life and notice when another tab or seat has continued.
// Keys choose answers and move on to the next question; single-key shortcuts can be switched off for good.
"use strict";

(() => {
  const { store, sleep, part, isComposing, random, token } = window.askback;
  const SHORTCUTS = "askback.shortcuts";
  const POLL_MS = 1500;
  const SLOW_MS = 600; // after this, the page says what it is waiting for
  const now = () => performance.timeOrigin + performance.now();

  // Readers of forms, by the form's data-reads or the kind of page: (page, form) => values, null if incomplete.
  const answers = { questions: answered };

  function typed(page) {
    const field = page.one("[data-answer]");
    if (field.value.trim() || "optional" in field.dataset) return { text: field.value };
    page.toast(page.root.dataset.empty);
    field.focus();
    return null;
  }

  // A study's own questions: the values of all fields; focuses the first empty one.
  function answered(page, form) {
    const values = filled(form);
    const empty = named(form).find((field) => field.closest("[data-required]") && !(values[field.name] || []).length);
    if (!empty) return { text: "", answers: values };
    page.toast(form.dataset.empty);
    empty.focus();
    return null;
  }

  // ---- a form's fields by name: texts, the selected radio button, and checked boxes

  const named = (form) => [...form.elements].filter((field) => field.name && field.type !== "submit");
  const marked = (field) => field.type === "radio" || field.type === "checkbox";

  function filled(form) {
    const values = {};
    for (const field of named(form)) {
      if (!marked(field)) values[field.name] = field.value;
      else if (field.checked) values[field.name] = [...(values[field.name] || []), field.value];
    }
    return values;
  }

  // Without values: the initial state. A field that was kept may still have its former value.
  function fill(form, values) {
    for (const field of named(form)) {
      if (marked(field)) {
        field.checked = values ? (values[field.name] || []).includes(field.value) : field.defaultChecked;
        continue;
      }
      const value = values?.[field.name] ?? field.defaultValue;
      if (value !== undefined && field.value !== value) field.value = value; // a menu has no default
    }
  }

  part({
    prepare() {
      // The current turn: number and key, time of first display, draft, and what has been sent.
      this.turn = null;
      this.picked = [];
      const look = () => document.hidden || !this.root || this.look();
      document.addEventListener("visibilitychange", look);
      window.addEventListener("pageshow", (event) => event.persisted && look());
      // On the document: after a click outside the form, the focus is on the body.
      document.addEventListener("keydown", (event) => this.kyPressed(event));
    },

    apply() {
      this.beat();
      this.kyShow();
      if (this.kind !== "play" && !this.session) return;
      this.turnShown();
      this.follow(); // also after a step of a study
    },

    hear: {
      change() { this.keepFilled(); },
      input({ target }) {
        this.keepFilled();
        if (target.value?.length === target.maxLength) this.toast(this.texts.full); // a paste would be cut off silently
      },
      keydown(event) {
        const { target: field, key, shiftKey, ctrlKey, metaKey } = event;
        const forced = ctrlKey || metaKey || !field.matches("textarea");
        if (key !== "Enter" || !(field.matches("[data-draft]") ? !shiftKey : field.matches("[data-answer]") && forced)) return;
        event.preventDefault();
        this.byKey = true;
        this.answerTurn();
      },
    },

    acts: {
      "fm-keys"() {
        store.write(SHORTCUTS, !this.kyEnabled());
        this.kyShow();
      },
      refresh() { this.refresh(); },
    },

    forms: {
      "st-answer"() { this.answerTurn(); },
    },

    methods: {
      // ---- the current turn

      turnForm() { return this.one("[data-form=st-answer]"); },
      turnName() { return `askback.turn.${token()}`; },

      keepTurn(change) {
        this.turn = { ...this.turn, ...change };
        store.write(this.turnName(), this.turn);
      },

      keepFilled() {
        const form = this.turnForm();
        if (!form || !this.turn || this.busy) return;
        this.keepTurn({ filled: { ...filled(form), give: this.picked } });
        this.toast("");
      },

      turnShown() {
        const stored = store.read(this.turnName());
        if (this.ended) { store.drop(this.turnName()); return; }
        const over = this.turn?.sent && this.turn.number !== this.number;
        const written = Object.values(this.turn?.filled || {}).some((value) => value.length);
        // A draft of this tab takes precedence over one left by another tab or the previous page.
        const kept = written && !over ? this.turn : stored || this.turn;
        if (kept?.number === this.number && kept.kind === this.kind) {
          // A turn of another tab gets another key, unless it is being sent.
          this.turn = { ...kept, key: kept === this.turn || kept.sent ? kept.key : random() };
        } else {
          const unsent = kept?.sent ? null : kept?.filled;
          const goesOn = this.kind === "play" && kept?.kind === this.kind;
          if (unsent && !goesOn) this.stUnsent(unsent);
          this.keepTurn({ kind: this.kind, number: this.number, key: random(), shown: now(), filled: (goesOn && unsent) || null, sent: "" });
        }
        if (this.turnForm()) fill(this.turnForm(), this.turn.filled);
        this.allow(this.myTurn && !this.busy);
      },

      // Text typed while a turn is being sent would be missing from the new page.
      allow(ready) {
        for (const control of this.all("[data-needs-turn], [data-act=st-go], [data-form=st-answer] [type=submit]")) control.disabled = !ready;
        for (const field of this.all("[data-answer], [data-form=st-answer] textarea, [data-reads] input, [data-draft]")) {
          // A person may write before it is their turn.
          field.readOnly = field.matches("[data-draft]") ? this.busy : !ready;
          if (marked(field)) field.disabled = !ready;
        }
      },

      answerTurn(keys = this.byKey) {
        const form = this.turnForm();
        if (this.busy || this.ended || !form) return;
        const answer = (answers[form.dataset.reads || this.kind] || typed)(this, form);
        if (answer) this.sendTurn(answer, { keys });
      },

      toastIfSlow(waits) { setTimeout(() => waits() && this.toast(this.root.dataset.thinking), SLOW_MS); },

      async sendTurn(answer, { said = "", keys = this.byKey } = {}) {
        if (this.busy || this.ended || !this.myTurn) return;
        this.keepFilled();
        const sent = JSON.stringify(answer);
        // A turn that is sent again after its answer was lost keeps its key, so it cannot count twice.
        this.keepTurn({ sent, key: this.turn.sent && this.turn.sent !== sent ? random() : this.turn.key });
        const { number, key, shown } = this.turn;
        const seconds = Math.max(0, Math.round(now() - shown) / 1000);
        this.busy = true;
        this.allow(false);
        this.toastIfSlow(() => this.busy);
        this.sending(answer, said);
        const taken = await this.move("send", { ...answer, number, render: key, seconds, shown_at: new Date(shown).toISOString(), keys_used: Boolean(keys), pasted: this.pasted });
        if (!taken) {
          this.allow(true);
          this.toast(this.texts.failed);
          this.notSent();
          return;
        }
        this.toast("");
        if (!taken.accepted) this.keepTurn({ sent: "" });
        await this.sent(taken.html);
      },

      // ---- following the other seat, and other tabs

      // A conversation, or the sheet of a waiting seat.
      followed() { return this.kind === "play" || (this.session && !this.myTurn && !this.ended); },

      async follow() {
        if (this.following) return;
        this.following = true;
        // Polling lets the other seat move; while its model fails, only the person can retry.
        while (this.followed() && !this.ended && !this.trouble && (!this.myTurn || this.one("[data-invited='0']"))) {
          await sleep(POLL_MS);
          if (!document.hidden) await this.look();
        }
        this.following = false;
      },

      // Shows the current page if it has changed; every poll is also a sign of life.
      async look(beat = false) {
        const playing = this.followed();
        if (!beat && (this.busy || this.ended || this.trouble || !(playing || this.session))) return;
        try {
          const at = await this.fetchState() || (playing || beat ? null : {});
          if (!at || this.busy) return;
          if (playing && !beat) this.toast("");
          const same = beat ? at.stage === this.one("[data-at]")?.dataset.at : at.number === this.number && !(playing && (at.ended || at.trouble));
          if (same && !this.seatWasTaken(at)) return;
        } catch {
          if (playing && !beat) this.toast(this.texts.offline);
          return;
        }
        await this.refresh();
      },

      async refresh() {
        const playing = this.followed();
        await this.renew();
        if (playing && this.ended) this.finish();
      },

      // Returns true if an invited seat has been taken since the page was built.
      seatWasTaken({ taken }) { return this.one("[data-invited]") !== null && taken !== this.all("[data-invited='1']").length; },

      // Signs of life for a waiting partner, also from a hidden tab.
      beat() {
        const seconds = Number(this.one("[data-beat]")?.dataset.beat || 0);
        if (!seconds && !this.clock) return;
        if (!this.clock) {
          this.clock = new Worker("/askback/beat.js");
          this.clock.addEventListener("message", () => this.look(true));
        }
        this.clock.postMessage(seconds * 1000);
      },

      // ---- keys that choose

      kyEnabled() { return store.read(SHORTCUTS) !== false; },

      kyShow() {
        const button = this.one("[data-act=fm-keys]");
        if (!button) return;
        const on = this.kyEnabled();
        button.setAttribute("aria-checked", String(on));
        const state = button.querySelector("[data-on]");
        state.textContent = on ? state.dataset.on : state.dataset.off;
        this.one("[data-keys-hint]").hidden = !on;
        this.root.classList.toggle("fm-without-keys", !on);
      },

      kyPressed(event) {
        if (!this.one("[data-act=fm-keys]") || this.busy || isComposing(event) || event.repeat || this.one("dialog[open]")) return;
        const written = event.target.matches("textarea, select, input[type=text], input[type=search]");
        if (event.key === "Enter" && this.one("[data-way]")) this.fmEnter(event, event.target);
        else if (event.key === "Enter") this.kySend(event, written);
        else if (!written && !event.ctrlKey && !event.metaKey && !event.altKey && this.kyEnabled()) this.kyChoose(event);
      },

      // A form with texts must not be sent by accident.
      kySend(event, written) {
        const forced = event.ctrlKey || event.metaKey;
        if (!forced && (written || event.target.closest("button, a, summary"))) return;
        event.preventDefault();
        if (forced || !this.one("[data-reads] textarea:not(details *)")) this.answerTurn(true);
      },

      // For the focused question, else the first unanswered one; then move on to the next unanswered one.
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

  // Returns true if a button was pressed by key: such clicks have no detail.
  document.addEventListener("click", (event) => {
    const page = window.askback.page;
    if (page) page.byKey = event.detail === 0;
  }, true);

  window.askback.turn = { answers, filled, fill };
})();
