// A participant's pages, whatever the benchmark: a study's welcome, an episode that goes on turn by turn, its
// end, withdrawing. What is filled in and not sent lives in this tab (sessionStorage), and with it the key under
// which the turn is sent, once.
"use strict";

(() => {
  const { store, tab, element, part, random } = window.askback;
  const SLOW_MS = 600; // then the page says what is waited for, if it can
  const PARTICIPANT = "askback.participant"; // says who comes again


  function participant() {
    const key = store.read(PARTICIPANT) || formerKey() || random();
    store.write(PARTICIPANT, key);
    return key;
  }

  // Browsers that were here before know it by the name of a benchmark.
  function formerKey() {
    try { return store.read(Object.keys(localStorage).find((name) => /^askback\.\w+\.participant$/.test(name))); } catch { return null; }
  }

  // How a form is read, by what it says of itself or by the kind of page: (page, form) => what is sent, or null
  // if it cannot be.
  const answers = { questions: answered };

  function typed(page) {
    const field = page.one("[data-answer]");
    if (field.value.trim() || "optional" in field.dataset) return { text: field.value };
    page.toast(page.root.dataset.empty);
    field.focus();
    return null;
  }

  // A study's own questions: what is in every field; the first one that is empty is gone to.
  function answered(page, form) {
    const values = filled(form);
    const empty = named(form).find((field) => field.closest("[data-required]") && !(values[field.name] || []).length);
    if (!empty) return { text: "", answers: values };
    page.toast(form.dataset.empty);
    empty.focus();
    return null;
  }

  // ---- a form's fields by name: texts, the radio button and the boxes that are checked

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

  // Without values: as the page came. What was filled in before may still stand in a field that stayed.
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
      this.stTurn = null;
      // Stands outside of what is replaced with every page, so that screen readers hear what comes into it.
      this.stSaid = element("p", { class: "ab-hidden", role: "status" });
      document.body.append(element("div", { class: "ab" }, this.stSaid));
    },

    apply() {
      if (this.session) this.stShown();
      else if (["study-message", "message", "invitation"].includes(this.kind)) this.stFocus();
    },

    ready() {
      if (this.root?.dataset.code === "seat_taken") this.stReturn();
      if (this.session && this.root.dataset.recent && !this.ended) this.noteRecent();
    },

    hear: {
      change() { this.stFilled(); },
      input() { this.stFilled(); },
    },

    acts: {
      "st-go"(control) { this.stSend({ text: control.dataset.say }, this.byKey); },
      "st-enter"(control) { this.stGo("enter_study", { participant_key: participant() }, control); },
      "st-take"(control) { this.stGo("take_seat", { participant_key: participant() }, control); },
      "st-next"(control) { this.stGo("next_set", {}, control); },
      "st-copy"({ dataset }) { this.copy(this.one("#st-code"), dataset.copied, dataset.failed); },
      "st-page"(control) { this.stPage(control); },
      "st-withdraw"() { this.one("[data-withdraw]")?.showModal(); },
      "st-withdraw-no"() { this.one("[data-withdraw]").close(); },
      "st-withdraw-yes"(control) { this.stWithdraw(control); },
    },

    forms: {
      "st-answer"() { this.stAnswer(this.byKey); },
    },

    methods: {
      // ---- what the page shows

      stName() { return `askback.${this.kind}.${this.root.dataset.episode}`; },

      // The turn that is due: its number, its key, when it was first seen in this tab, what has been filled in.
      stKeep(change) {
        this.stTurn = { ...this.stTurn, ...change };
        tab.write(this.stName(), this.stTurn);
      },

      stFilled() {
        const form = this.one("[data-form=st-answer]");
        if (!form || !this.stTurn || this.busy) return;
        this.stKeep({ filled: filled(form) });
        this.toast("");
      },

      stShown() {
        if (this.ended) {
          tab.drop(this.stName());
          if (this.root.dataset.recent) this.forget();
          if (this.stTurn) scrollTo(0, 0);
          this.stTurn = null;
          this.stFocus();
          return;
        }
        const kept = this.stTurn || tab.read(this.stName());
        if (kept?.number === this.number) this.stTurn = kept;
        else {
          if (!kept?.sent) this.stUnsent(kept?.filled);
          this.stKeep({ number: this.number, key: random(), shown: this.now(), filled: null, sent: false });
        }
        const form = this.one("[data-form=st-answer]");
        if (form) fill(form, this.stTurn.filled);
        this.stAllow(!this.busy);
        this.completeLink();
        this.stToNewest();
        this.stFocus();
        this.stSay();
      },

      // Another tab has gone on: what was written here for a step that is over is not lost, nor taken for the next.
      stUnsent(filled) {
        const words = Object.values(filled || {}).filter((value) => typeof value === "string" && value.trim());
        if (!words.length) return;
        const notice = element("p", { class: "ab-notice" }, this.root.dataset.unsent.replace("{words}", words.join(" · ")));
        this.one(".st-notices")?.append(notice);
      },

      stFocus() {
        if (this.one("dialog[open]")) return;
        const target = this.one("[data-answer]") || this.one("[data-focus]");
        target?.focus({ preventScroll: true });
      },

      stToNewest() {
        const frame = this.one("[data-scroll]");
        if (!frame) return;
        frame.scrollTop = frame.scrollHeight;
        // On a small screen the page scrolls, not the frame.
        this.one("[data-form=st-answer]").scrollIntoView({ block: "end" });
      },

      stSay() {
        const parts = [".ab-notice:not([hidden])", "[data-feedback]", "[data-progress]"].map((one) => this.one(one));
        const words = parts.map((one) => one?.getAttribute("aria-label") || one?.textContent.trim()).filter(Boolean).join(" ");
        if (this.stSaid.textContent !== words) this.stSaid.textContent = words;
      },

      stAllow(ready) {
        for (const control of this.all("[data-act=st-go], [data-form=st-answer] [type=submit]")) control.disabled = !ready;
        // What was typed while a turn is on its way would not be in what comes back.
        for (const field of this.all("[data-answer], [data-form=st-answer] textarea, [data-reads] input")) {
          field.readOnly = !ready;
          if (field.matches("[type=radio], [type=checkbox]")) field.disabled = !ready;
        }
      },

      // ---- moving

      stAnswer(keys) {
        const form = this.one("[data-form=st-answer]");
        if (this.busy || this.ended || !form) return;
        const answer = (answers[form.dataset.reads || this.kind] || typed)(this, form);
        if (answer) this.stSend(answer, keys);
      },

      async stSend(answer, keys) {
        if (this.busy || this.ended) return;
        this.stFilled();
        this.busy = true;
        setTimeout(() => this.busy && this.toast(this.root.dataset.thinking), SLOW_MS);
        this.stAllow(false);
        const answered = await this.tell(answer, { ...this.stTurn, keys });
        // Leaving the field may tell of a change once more, so what was filled in does not say whether it was sent.
        if (answered?.accepted) this.stKeep({ sent: true });
        if (!answered) {
          this.stAllow(true);
          this.toast(this.texts.failed);
          return;
        }
        this.toast("");
        await this.show(answered.html);
      },

      // ---- invitations to other seats

      // The seat is taken; perhaps by this browser.
      async stReturn() {
        const answer = await this.call("take_seat", { participant_key: participant() });
        if (answer?.go) location.replace(answer.go);
      },

      // ---- beginning and leaving

      // Ask for something that the server answers with the next page.
      async stPage(control) {
        control.disabled = true;
        const answer = await this.move(control.dataset.call, { message: control.dataset.message });
        control.disabled = false;
        if (answer?.html) await this.show(answer.html);
        else this.toast(this.texts.failed);
      },

      // Ask for an episode and go there; without one, show the page or the words that say why.
      async stGo(call, data, button) {
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

      async stWithdraw(control) {
        control.disabled = true;
        const answer = await this.move("withdraw");
        control.disabled = false;
        if (!answer?.html) { this.one("[data-withdraw-problem]").hidden = false; return; }
        tab.drop(this.stName());
        await this.show(answer.html);
      },
    },
  });

  window.askback.study = { answers, filled, fill };
})();
