// AmbiBench's pages: the entry's form, a study's welcome, and an episode that goes on by keyboard. What is typed
// and not sent lives in this tab (sessionStorage), and with it the key under which the turn is sent, once.
"use strict";

(() => {
  const { store, token, part } = window.askback;
  const PARTICIPANT = "askback.ambibench.participant";

  const random = () => [...crypto.getRandomValues(new Uint8Array(16))].map((n) => n.toString(16).padStart(2, "0")).join("");
  const now = () => performance.timeOrigin + performance.now();

  function participant() {
    if (!store.read(PARTICIPANT)) store.write(PARTICIPANT, random());
    return store.read(PARTICIPANT) || random();
  }

  // Without storage (a private window) what is typed lasts as long as the page.
  const tab = {
    read(name) {
      try { return JSON.parse(sessionStorage.getItem(name)); } catch { return null; }
    },
    write(name, value) {
      try { sessionStorage.setItem(name, JSON.stringify(value)); } catch { /* see above */ }
    },
    drop(name) {
      try { sessionStorage.removeItem(name); } catch { /* see above */ }
    },
  };

  part({
    prepare() {
      this.amTurn = null;
      // Stands outside of what is replaced with every page, so that screen readers hear what comes into it.
      const said = document.createElement("div");
      said.className = "ab";
      this.amSaid = document.createElement("p");
      this.amSaid.className = "ab-hidden";
      this.amSaid.setAttribute("role", "status");
      said.append(this.amSaid);
      document.body.append(said);
      const look = () => document.hidden || this.amLook();
      document.addEventListener("visibilitychange", look);
      window.addEventListener("pageshow", (event) => event.persisted && look());
    },

    apply() {
      if (this.kind === "ambibench-entry") this.amFit();
      if (this.kind === "ambibench") this.amShown();
      if (this.kind?.startsWith("ambibench-message")) this.amFocus();
    },

    ready() {
      if (this.kind === "ambibench" && this.root.dataset.recent && !this.ended) this.noteRecent();
    },

    hear: {
      change(event) {
        if (event.target.closest("[data-form=am-start]")) this.amFit();
      },
      input(event) {
        if (!event.target.matches("[data-answer]")) return;
        this.amKeep({ text: event.target.value });
        this.toast("");
      },
      keydown(event) {
        if (event.key !== "Enter" || !event.target.matches("[data-answer]")) return;
        // While an input method composes (Chinese, Japanese), Enter belongs to it.
        if (event.isComposing || event.keyCode === 229) return;
        const lines = event.target.matches("textarea");
        if (lines && !event.ctrlKey && !event.metaKey) return;
        event.preventDefault();
        this.amAnswer(true);
      },
    },

    acts: {
      "am-go"(control) { this.amSend(control.dataset.say, this.amByKey); },
      "am-enter"(control) { this.amEnter(control); },
      "am-copy"(control) { this.amCopy(control); },
      "am-withdraw"() { this.one("[data-withdraw]")?.showModal(); },
      "am-withdraw-no"() { this.one("[data-withdraw]").close(); },
      "am-withdraw-yes"(control) { this.amWithdraw(control); },
    },

    forms: {
      "am-start"(form) { this.amBegin(form); },
      "am-answer"() { this.amAnswer(this.amByKey); },
    },

    methods: {
      // ---- what the page shows

      amFit() {
        const form = this.one("[data-form=am-start]");
        for (const field of form.querySelectorAll("[data-for-setting]")) field.hidden = field.dataset.forSetting !== form.elements.setting.value;
      },

      amName() { return `askback.ambibench.${this.root.dataset.episode}`; },

      // The turn that is due: its number, its key, when it was first seen in this tab, what has been typed.
      amKeep(change) {
        this.amTurn = { ...this.amTurn, ...change };
        tab.write(this.amName(), this.amTurn);
      },

      amShown() {
        if (this.ended) {
          tab.drop(this.amName());
          if (this.root.dataset.recent) this.forget();
          if (this.amTurn) scrollTo(0, 0);
          this.amTurn = null;
          this.amFocus();
          return;
        }
        const kept = this.amTurn || tab.read(this.amName());
        if (kept?.number === this.number) this.amTurn = kept;
        else this.amKeep({ number: this.number, key: random(), shown: now(), text: "" });
        const field = this.one("[data-answer]");
        if (field && field.value !== this.amTurn.text) field.value = this.amTurn.text;
        this.amAllow(!this.busy);
        this.amToNewest();
        this.amFocus();
        this.amSay();
      },

      amFocus() {
        if (this.one("dialog[open]")) return;
        const target = this.one("[data-answer]") || this.one("[data-focus]");
        target?.focus({ preventScroll: true });
      },

      amToNewest() {
        const frame = this.one("[data-scroll]");
        if (!frame) return;
        frame.scrollTop = frame.scrollHeight;
        // On a small screen the page scrolls, not the frame.
        this.one("[data-form=am-answer]").scrollIntoView({ block: "end" });
      },

      amSay() {
        const parts = [".ab-notice:not([hidden])", "[data-feedback]", ".am-progress"].map((one) => this.one(one));
        const words = parts.map((one) => one?.getAttribute("aria-label") || one?.textContent.trim()).filter(Boolean).join(" ");
        if (this.amSaid.textContent !== words) this.amSaid.textContent = words;
      },

      amAllow(ready) {
        for (const control of this.all("[data-act=am-go], [data-form=am-answer] [type=submit]")) control.disabled = !ready;
        for (const field of this.all("[data-answer]")) field.readOnly = !ready;
      },

      // ---- moving

      amAnswer(keys) {
        const field = this.one("[data-answer]");
        if (!field.value.trim() && !("optional" in field.dataset)) {
          this.toast(this.root.dataset.empty);
          field.focus();
          return;
        }
        this.amSend(field.value, keys);
      },

      async amSend(text, keys) {
        if (this.busy || this.ended) return;
        this.busy = true;
        const { number, key, shown } = this.amTurn;
        this.amKeep({ text });
        this.amAllow(false);
        const seconds = Math.max(0, Math.round(now() - shown) / 1000);
        const answer = await this.insist("send", { number, render: key, text, seconds, shown_at: new Date(shown).toISOString(), keys_used: Boolean(keys) });
        this.busy = false;
        if (!answer) {
          this.amAllow(true);
          this.toast(this.texts.failed);
          return;
        }
        this.toast("");
        await this.show(answer.html);
      },

      // Another tab may have gone on while this one was out of sight.
      async amLook() {
        if (this.kind !== "ambibench" || this.ended || this.busy) return;
        try {
          const response = await fetch("/api/state", { headers: { "X-Askback-Seat": token() } });
          if (response.ok && (await response.json()).number === this.number) return;
        } catch { return; }
        const answer = await this.insist("page");
        if (answer && !this.busy) await this.show(answer.html);
      },

      // ---- beginning and leaving

      async amBegin(form) {
        const fields = form.elements;
        const setting = fields.setting.value;
        await this.amGo("start_ambibench", {
          setting,
          kind: fields[`kind-${setting}`].value,
          format: fields.format.value || null,
          feature: fields.feature.value || null,
        }, form.querySelector("[type=submit]"));
      },

      amEnter(control) { return this.amGo("enter_study", { participant_key: participant() }, control); },

      async amGo(call, data, button) {
        if (this.busy) return;
        const problem = this.one("[data-problem]");
        const label = button.textContent;
        this.busy = button.disabled = problem.hidden = true;
        button.textContent = button.dataset.busy;
        const answer = await this.insist(call, data);
        if (answer?.go) { location.assign(answer.go); return; }
        this.busy = button.disabled = problem.hidden = false;
        button.textContent = label;
        if (answer?.html) await this.show(answer.html);
        else problem.textContent = answer?.problem || this.texts.failed;
      },

      async amWithdraw(control) {
        control.disabled = true;
        const answer = await this.insist("withdraw");
        control.disabled = false;
        if (!answer?.html) { this.one("[data-withdraw-problem]").hidden = false; return; }
        tab.drop(this.amName());
        await this.show(answer.html);
      },

      async amCopy(control) {
        const field = this.one("#am-code");
        field.select();
        try {
          await navigator.clipboard.writeText(field.value);
          this.toast(control.dataset.copied);
        } catch { this.toast(control.dataset.failed); }
      },
    },
  });

  // Whether a button was pressed with a key: such clicks have no detail.
  document.addEventListener("click", (event) => {
    const page = window.askback.page;
    if (page) page.amByKey = event.detail === 0;
  }, true);
})();
