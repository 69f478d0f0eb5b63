// An episode's pages, dialogues and forms alike: they tell that their person is there and see when another tab or seat
// has gone on; a turn is sent with what is measured of it, by Enter, too. Keys choose answers and go on to the next
// question; single keys can be switched off, and that is remembered.
"use strict";

(() => {
  const { store, sleep, part, isComposing } = window.askback;
  const SHORTCUTS = "askback.shortcuts";
  const POLL_MS = 1500;
  const now = () => performance.timeOrigin + performance.now();

  part({
    prepare() {
      const look = () => document.hidden || this.look();
      document.addEventListener("visibilitychange", look);
      window.addEventListener("pageshow", (event) => event.persisted && look());
      // On the document: after a click beside the form, the focus is on the body.
      document.addEventListener("keydown", (event) => this.kyPressed(event));
    },

    apply() {
      this.beat();
      this.kyShow();
    },

    hear: {
      keydown(event) {
        const { target: field, key, shiftKey, ctrlKey, metaKey } = event;
        const answer = field.matches("[data-answer]") && (ctrlKey || metaKey || !field.matches("textarea"));
        if (key !== "Enter" || !(field.matches("[data-draft]") ? !shiftKey : answer)) return;
        event.preventDefault();
        this.byKey = true;
        if (answer) this.stAnswer(true);
        else this.reply();
      },
    },

    acts: {
      "fm-keys"() {
        store.write(SHORTCUTS, !this.kyOn());
        this.kyShow();
      },
      refresh() { this.refresh(); },
    },

    methods: {
      now,

      // ---- a turn, sent under its key

      tell(turn, { number, key, shown, keys }) {
        const seconds = Math.max(0, Math.round(now() - shown) / 1000);
        return this.move("send", { ...turn, number, render: key, seconds, shown_at: new Date(shown).toISOString(), keys_used: Boolean(keys), pasted: this.pasted });
      },

      // ---- following the other seat, and other tabs

      async follow() {
        if (this.following) return;
        this.following = true;
        // Every look lets the seat opposite move; while its model fails, only the person asks it again.
        while (this.kind === "play" && !this.ended && !this.trouble && (!this.myTurn || this.one("[data-invited='0']"))) {
          await sleep(POLL_MS);
          if (!document.hidden) await this.look();
        }
        this.following = false;
      },

      // Shows the page as it is now, if that is not how it stands; a beat of the clock tells that somebody is there, too.
      async look(beat = false) {
        const playing = this.kind === "play";
        if (!beat && (this.busy || this.ended || this.trouble || !(playing || this.session))) return;
        try {
          const at = await this.standing() || (playing || beat ? null : {});
          if (!at || this.busy) return;
          if (playing && !beat) this.toast("");
          const same = beat ? at.stage === this.one("[data-at]")?.dataset.at : at.number === this.number && !(playing && (at.ended || at.trouble));
          if (same && !this.invitesNow(at)) return;
        } catch {
          if (playing && !beat) this.toast(this.texts.offline);
          return;
        }
        await this.refresh();
      },

      async refresh() {
        const playing = this.kind === "play";
        await this.renew();
        if (playing && this.ended) this.finish();
      },

      // Whether a seat to which this page invites has been taken since it was made.
      invitesNow({ taken }) { return this.one("[data-invited]") !== null && taken !== this.all("[data-invited='1']").length; },

      // Being there, where somebody waits: told again and again, also from a tab that is out of sight.
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
        if (!this.one("[data-act=fm-keys]") || this.busy || isComposing(event) || event.repeat || this.one("dialog[open]")) return;
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

  // Whether a button was pressed with a key: such clicks have no detail.
  document.addEventListener("click", (event) => {
    const page = window.askback.page;
    if (page) page.byKey = event.detail === 0;
  }, true);
})();
