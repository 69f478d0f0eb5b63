// AmbiEnt on the researchers' pages: the form in which somebody consolidates annotations. A form is sent under a key of its own and shown as saved only when the server says so;
// what is wrong with it is told at its fields, and nothing that was typed is lost. These methods become methods
// of the page.
"use strict";

window.askbackJudging = (() => {
  const SIDES = ["premise", "hypothesis"];
  const draft = window.askbackDraft;
  const parsed = (text) => (text ? JSON.parse(text) : null);

  return {
    judgeStage() { return this.one("[data-judge][data-item]"); },
    judgeForm() { return this.one("form[data-form=judge]"); },

    // A draft belongs to a person, a page and an example.
    judgeName() {
      const at = new URLSearchParams(location.search);
      const stage = this.judgeStage();
      return ["askback.judge", stage.dataset.judge, at.get("run") || at.get("data") || "", at.get("reviewer") || "", stage.dataset.item, stage.dataset.decides || ""].join("/");
    },

    // After every showing of a page.
    judging() {
      const stage = this.judgeStage();
      this.cards = null;
      if (!stage || !this.judgeForm()) return;
      const state = draft.read(this.judgeName()) || parsed(stage.dataset.filled) || {};
      const form = this.judgeForm();
      for (const field of form.querySelectorAll("input[type=checkbox]")) field.checked = (state[field.name] || []).includes(field.value);
      for (const field of form.querySelectorAll("input[type=radio]")) field.checked = (state[field.name] || "") === field.value;
      for (const field of form.querySelectorAll("textarea[name]")) field.value = state[field.name] || "";
      if (this.one("[data-rewrites]")) {
        this.cards = (state.rewrites || []).map((card) => ({ ...card }));
        this.aside = state.aside || [];
        this.cardsShown();
      }
    },

    // ---- the form: what is kept of it while it is filled in, and what of that is sent

    judgeState() {
      const form = this.judgeForm();
      const state = {};
      for (const field of form.querySelectorAll("input[type=checkbox]")) {
        state[field.name] ||= [];
        if (field.checked) state[field.name].push(field.value);
      }
      for (const field of form.querySelectorAll("input[type=radio]:checked")) state[field.name] = field.value || null;
      for (const field of form.querySelectorAll("textarea[name]")) state[field.name] = field.value.trim();
      if (this.cards) state.rewrites = this.cards.map(({ premise, hypothesis, label }) => ({ premise: premise.trim(), hypothesis: hypothesis.trim(), label }));
      return state;
    },

    judgeKept() { draft.write(this.judgeName(), { ...this.judgeState(), aside: this.aside }); },

    judgeSent() {
      const state = this.judgeState();
      if (state.discard) return { ...state, labels: [], rewrites: [] };
      return this.cards && state.labels.length < 2 ? { ...state, rewrites: [] } : state;
    },

    judgeChanged(field) {
      if (field.name === "labels") this.cardsFor();
      if (field.name === "discard") this.cardsShown();
      if (field.matches("[data-card-label]")) {
        this.cards[this.cardOf(field)].label = field.value;
        this.tickLabel(field.value);
        this.cardsFor();
      }
      this.judgeKept();
    },

    judgeTyped(field) {
      const side = field.dataset?.cardText;
      if (side) {
        this.cards[this.cardOf(field)][side] = field.value;
        this.cardChange(field.closest("[data-card]"), side, field.value);
      }
      this.judgeKept();
    },

    // ---- rewrites

    cardOf(field) { return Number(field.closest("[data-card]").dataset.card); },
    judgePair() { return parsed(this.judgeStage().dataset.pair); },
    chosen() { return [...this.judgeForm().querySelectorAll("[name=labels]:checked")].map((field) => field.value); },
    most() { return this.all("[data-card]").length; },

    // With several labels there is one rewrite for each at least; what was written for a label that is no longer
    // ticked is put aside, and comes back with it.
    cardsFor() {
      const labels = this.chosen();
      this.aside.push(...this.cards.filter((card) => !labels.includes(card.label)));
      this.cards = this.cards.filter((card) => labels.includes(card.label));
      for (const label of labels.length > 1 ? labels : []) {
        if (this.cards.some((card) => card.label === label) || this.cards.length >= this.most()) continue;
        const place = this.aside.findIndex((card) => card.label === label);
        this.cards.push(place < 0 ? { label, ...this.judgePair() } : this.aside.splice(place, 1)[0]);
      }
      this.cardsShown();
    },

    cardsShown() {
      if (!this.cards) return;
      const discarding = Boolean(this.judgeForm().querySelector("[name=discard]:checked")?.value);
      const several = this.chosen().length > 1 && !discarding;
      this.one("[data-rewrites]").hidden = !several;
      this.judgeForm().classList.toggle("ra-discarding", discarding);
      this.all("[data-card]").forEach((slot, place) => {
        const card = this.cards[place];
        slot.hidden = !several || !card;
        if (slot.hidden) return;
        const choice = slot.querySelector("[data-card-label]");
        choice.value = card.label;
        slot.dataset.label = card.label;
        const name = slot.querySelector("[data-card-name]");
        name.textContent = name.dataset.name.replace("{label}", choice.selectedOptions[0].textContent);
        for (const field of slot.querySelectorAll("[data-card-text]")) {
          const side = field.dataset.cardText;
          if (field.value !== card[side]) field.value = card[side];
          this.cardChange(slot, side, card[side]);
        }
      });
      this.one("[data-act=ra-add]").disabled = this.cards.length >= this.most();
    },

    cardChange(slot, side, text) {
      window.askback.drawDifference(slot.querySelector(`[data-diff=${side}]`), this.judgePair()[side], text);
    },

    tickLabel(label) {
      this.judgeForm().querySelector(`[name=labels][value=${label}]`).checked = true;
    },

    keepExample() {
      const kept = this.judgeForm().querySelector("[name=discard][value='']");
      if (kept) kept.checked = true;
    },

    // A rewrite that still is the original makes room for one that is taken over.
    put(card) {
      const pair = this.judgePair();
      const same = (one) => SIDES.every((side) => one[side] === card[side]) && one.label === card.label;
      if (this.cards.some(same)) return true;
      const blank = this.cards.findIndex((one) => one.label === card.label && SIDES.every((side) => one[side] === pair[side]));
      if (blank >= 0) this.cards[blank] = card;
      else if (this.cards.length < this.most()) this.cards.push(card);
      else return false;
      return true;
    },

    takeOver(side, place = null) {
      const voice = this.one(`[data-voice="${side}"]`);
      const said = voice && parsed(voice.dataset.formOf);
      if (!said || said.discard) return;
      this.keepExample();
      const taken = place === null ? said.rewrites : [said.rewrites[place]];
      for (const label of place === null ? said.labels : []) this.tickLabel(label);
      let room = true;
      for (const rewrite of taken) {
        room = this.put({ ...rewrite }) && room;
        this.tickLabel(rewrite.label);
      }
      this.cardsFor();
      this.judgeKept();
      if (!room) this.judgeProblem({ rewrites: [this.one("[data-act=ra-add]").parentElement.querySelector(".ab-hint").textContent] });
      else this.judgeProblem({});
    },

    addCard() {
      this.keepExample();
      if (this.cards.length >= this.most()) return;
      this.cards.push({ label: this.chosen()[0] || this.judgeForm().querySelector("[name=labels]").value, ...this.judgePair() });
      this.cardsShown();
      this.judgeKept();
      this.one(`[data-card="${this.cards.length - 1}"] [data-card-label]`).focus();
    },

    dropCard(place) {
      // Ticking its label again brings it back.
      this.aside.push(...this.cards.splice(place, 1));
      this.cardsShown();
      this.judgeKept();
      (this.one(`[data-card="${Math.max(place - 1, 0)}"]:not([hidden]) [data-card-label]`) || this.one("[name=labels]")).focus();
    },

    // ---- events

    judgeAct(control, act) {
      if (act === "take") this.takeOver(control.dataset.side, Number(control.dataset.place));
      else if (act === "take-all") this.takeOver(control.dataset.side);
      else if (act === "add") this.addCard();
      else if (act === "drop") this.dropCard(Number(control.dataset.place));
    },

    judgeKey(event) {
      const form = this.judgeForm();
      if (!form || event.isComposing || event.keyCode === 229 || event.repeat) return false;
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
        event.preventDefault();
        form.requestSubmit();
        return true;
      }
      if (event.ctrlKey || event.metaKey || event.altKey || !this.one("[data-shortcuts]")?.checked) return false;
      if (event.target.matches?.("input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]")) return false;
      const pressed = event.key.toLowerCase();
      const control = { l: "[data-act=ra-take-all][data-side=left]", r: "[data-act=ra-take-all][data-side=right]", a: "[data-act=ra-add]", u: "[data-undo]" }[pressed];
      const found = (control && this.one(control)) || (/^[1-9a-z]$/.test(pressed) && this.one(`form[data-form=judge] [data-key="${pressed}"]`));
      if (!found || found.disabled || found.closest("[hidden]")) return false;
      event.preventDefault();
      found.click();
      if (found.matches("input")) found.focus();
      return true;
    },

    judgeProblem(said) {
      let first = null;
      for (const place of this.all("[data-problems]")) {
        const texts = said[place.dataset.problems] || [];
        place.hidden = !texts.length;
        place.replaceChildren(...texts.map((text) => Object.assign(document.createElement("p"), { textContent: text })));
        first ||= texts.length ? place : null;
      }
      first?.focus();
      return Boolean(first);
    },

    async judge(form) {
      const stage = this.judgeStage();
      if (!stage || this.judgingNow) return;
      this.judgingNow = true;
      this.saving("saving");
      const name = this.judgeName();
      const said = JSON.stringify(this.judgeSent());
      // The same form sent again, after the answer was lost, is the same judgment.
      if (this.judgedForm !== name + said) { this.judgedForm = name + said; this.judgedKey = this.newKey(); }
      const call = { what: stage.dataset.judge, item: stage.dataset.item, form: JSON.parse(said), decides: stage.dataset.decides === "true", key: this.judgedKey };
      const answer = await this.insist("judge", call);
      this.judgingNow = false;
      if (!answer?.saved) {
        this.saving("unsaved", answer?.problem);
        if (answer?.places) this.one("[data-save]").textContent = answer.problem;
        this.judgeProblem(answer?.places || (answer?.problem ? { form: [answer.problem] } : {}));
        return;
      }
      draft.drop(name);
      this.judgedForm = null;
      const address = new URL(location.href);
      if (address.searchParams.has("item")) {
        address.searchParams.delete("item");
        history.replaceState(null, "", address);
      }
      await this.show(answer);
      this.saving("saved");
      scrollTo(0, 0);
      this.one("[data-judge] [tabindex='-1'], #ab-content")?.focus({ preventScroll: true });
    },
  };
})();
