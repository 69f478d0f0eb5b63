// AmbiEnt's pages: an episode whose every step is a form (drafts and sending: study.js). Everything works by
// keyboard alone; single-key shortcuts can be switched off.
"use strict";

(() => {
  const { store, part, drawDifference } = window.askback;
  const SHORTCUTS = "askback.ambient.shortcuts";
  const SIDES = ["premise", "hypothesis"];

  // ---- what each stage sends: the checked radio buttons by name, and the linguist's form -----------------

  const list = (said, name, many) => Array.from({ length: many }, (_, place) => said[`${name}-${place}`]);
  const COMPOSE = {
    qualification: (said) => ({ label: said.label }),
    label: (said) => ({ label: said.label }),
    plausible: (said, many) => ({ plausible: list(said, "candidate", many).map((one) => one === "yes") }),
    relabel: (said, many) => ({ labels: list(said, "pair", many) }),
    true_false: (said) => ({ answer: said.answer === "true" }),
  };

  part({
    prepare() {
      this.aeAt = null;
      // On the document: after a click beside the form, the focus is on the body.
      document.addEventListener("keydown", (event) => this.aeKey(event));
    },

    apply() {
      if (this.kind === "ambient" && !this.ended) this.aeShown();
    },

    hear: {
      change(event) {
        const field = event.target;
        if (this.kind !== "ambient" || !field.closest("[data-form]")) return;
        if (field.matches("[data-card-label]")) this.aeCardLabel(field);
        else if (field.name === "labels") this.aeTicked();
        else if (field.matches("[data-group] input")) this.aeMissing(field.closest("[data-group]"), false);
      },
      input(event) {
        if (this.kind === "ambient" && event.target.dataset.cardText) this.aeCardText(event.target);
      },
    },

    acts: {
      "ae-begin"(control) { this.stGo("start", { room: "ambient", task: control.dataset.task }, control); },
      "ae-keys"() {
        store.write(SHORTCUTS, !this.aeShortcuts());
        this.aeShowKeys();
      },
      "ae-add"() { this.aeAdd(); },
      "ae-drop"(control) { this.aeDrop(Number(control.dataset.place)); },
      "ae-discard"() { this.aeDiscard(true); },
      "ae-keep"() { this.aeDiscard(false); },
    },

    methods: {
      // After study.js has put back what was filled in.
      aeShown() {
        for (const group of this.all("[data-group]")) this.aeMissing(group, false);
        if (this.one("[data-state]")) this.aeShowCards();
        this.aeShowKeys();
        const wrong = this.one(".ae-problems");
        if (wrong) wrong.focus();
        else if (this.aeAt !== this.number) scrollTo(0, 0);
        this.aeAt = this.number;
      },

      // ---- choosing

      aeGroups() { return this.all("[data-group]").filter((group) => !group.closest("[hidden]")); },

      aeOpen() { return this.aeGroups().filter((group) => !group.querySelector("input:checked")); },

      aeMissing(group, missing) {
        const said = group.querySelector("[data-missing]");
        said.hidden = !missing;
        for (const field of group.querySelectorAll("input")) {
          if (missing) field.setAttribute("aria-describedby", said.id);
          else field.removeAttribute("aria-describedby");
        }
      },

      aeAnswer(form) {
        const open = this.aeOpen();
        open.forEach((group) => this.aeMissing(group, true));
        if (open.length) {
          open[0].querySelector("input").focus();
          return null;
        }
        const said = Object.fromEntries(this.all("[data-group] input:checked").map((field) => [field.name, field.value]));
        const comment = form.elements.comment?.value || "";
        const stage = this.root.dataset.stage;
        if (stage !== "annotate") return { filled: { ...COMPOSE[stage](said, this.aeGroups().length), ...(comment && { comment }) } };
        const { cards, discarding } = this.aeState();
        if (discarding) return { filled: { discard: said.discard, comment } };
        const labels = this.aeLabels();
        return { filled: { labels, rewrites: labels.length > 1 ? cards : [], comment } };
      },

      // ---- keys

      aeShortcuts() { return store.read(SHORTCUTS) !== false; },

      aeShowKeys() {
        const button = this.one("[data-act=ae-keys]");
        if (!button) return;
        const on = this.aeShortcuts();
        button.setAttribute("aria-checked", String(on));
        const state = button.querySelector("[data-on]");
        state.textContent = on ? state.dataset.on : state.dataset.off;
        this.one("[data-keys-hint]").hidden = !on;
        this.root.classList.toggle("ae-without-keys", !on);
      },

      aeKey(event) {
        const form = this.kind === "ambient" && this.one("[data-form=st-answer]");
        // While an input method composes (Chinese, Japanese), keys belong to it.
        if (!form || this.busy || event.isComposing || event.keyCode === 229 || event.repeat || this.one("dialog[open]")) return;
        const written = event.target.matches("textarea, select, input[type=text]");
        if (event.key === "Enter") this.aeEnter(event, written);
        else if (!written && !event.ctrlKey && !event.metaKey && !event.altKey && this.aeShortcuts()) this.aeShortcut(event);
      },

      // A form with texts is not sent by accident.
      aeEnter(event, written) {
        const forced = event.ctrlKey || event.metaKey;
        if (!forced && (written || event.target.closest("button, a, summary"))) return;
        event.preventDefault();
        if (forced || !this.one("[data-state]")) this.stAnswer(true);
      },

      // For the group that has the focus, else the first that is not answered; then on to the next of these.
      aeShortcut(event) {
        const groups = this.aeGroups();
        const group = document.activeElement.closest("[data-group], [data-labels]") || this.aeOpen()[0] || this.one("[data-labels]") || groups[0];
        const field = [...(group?.querySelectorAll("[data-key]") || [])].find((one) => one.dataset.key === event.key.toLowerCase());
        if (!field) return;
        event.preventDefault();
        field.focus();
        field.click();
        const open = this.aeOpen();
        const next = groups.slice(groups.indexOf(group) + 1).find((one) => open.includes(one)) || open[0];
        if (field.type === "radio" && next) next.querySelector("input").focus();
      },

      // ---- a linguist's rewrites: one card per label at least, and what was written is never thrown away

      // The cards shown, those put aside with their label, and whether the pair is to be discarded.
      aeState() { return { cards: [], aside: [], discarding: false, ...JSON.parse(this.one("[data-state]").value || "{}") }; },

      aeChange(change) {
        this.one("[data-state]").value = JSON.stringify({ ...this.aeState(), ...change });
        this.stFilled();
      },

      aePair() { return Object.fromEntries(SIDES.map((side) => [side, this.one(`.ae-${side} dd`).textContent])); },

      aeLabels() { return this.all("[name=labels]:checked").map((field) => field.value); },

      aeTicked() {
        const labels = this.aeLabels();
        const state = this.aeState();
        const cards = state.cards.filter((card) => labels.includes(card.label));
        const aside = [...state.aside, ...state.cards.filter((card) => !labels.includes(card.label))];
        for (const label of labels.length > 1 ? labels : []) {
          if (cards.some((card) => card.label === label) || cards.length >= this.all("[data-card]").length) continue;
          const place = aside.findIndex((card) => card.label === label);
          cards.push(place < 0 ? { label, ...this.aePair() } : aside.splice(place, 1)[0]);
        }
        const order = this.all("[name=labels]").map((field) => field.value);
        cards.sort((one, other) => order.indexOf(one.label) - order.indexOf(other.label));
        this.aeChange({ cards, aside });
        this.aeShowCards();
      },

      aeShowCards() {
        const { cards, discarding } = this.aeState();
        const several = this.aeLabels().length > 1 && !discarding;
        const slots = this.all("[data-card]");
        this.one("[data-rewrites]").hidden = !several;
        slots.forEach((slot, place) => {
          slot.hidden = !several || place >= cards.length;
          if (!slot.hidden) this.aeShowCard(slot, cards[place], cards);
        });
        this.one("[data-act=ae-add]").disabled = cards.length >= slots.length;
        this.one("[data-discard]").hidden = !discarding;
        this.one("[data-act=ae-discard]").setAttribute("aria-expanded", String(discarding));
        this.root.classList.toggle("ae-discarding", discarding);
        for (const field of this.all("[name=labels]")) field.disabled = discarding;
      },

      aeShowCard(slot, card, cards) {
        const choice = slot.querySelector("[data-card-label]");
        choice.value = card.label;
        slot.dataset.label = card.label;
        const name = slot.querySelector("[data-card-name]");
        name.textContent = name.dataset.name.replace("{label}", choice.selectedOptions[0].textContent);
        slot.querySelector("[data-act=ae-drop]").hidden = cards.filter((one) => one.label === card.label).length < 2;
        for (const field of slot.querySelectorAll("[data-card-text]")) {
          const side = field.dataset.cardText;
          if (field.value !== card[side]) field.value = card[side];
          this.aeShowDifference(slot, side, card[side]);
        }
      },

      aeShowDifference(slot, side, text) { drawDifference(slot.querySelector(`[data-diff=${side}]`), this.aePair()[side], text); },

      aeChangeCard(field, change) {
        const place = Number(field.closest("[data-card]").dataset.card);
        this.aeChange({ cards: this.aeState().cards.map((card, at) => (at === place ? { ...card, ...change } : card)) });
      },

      aeCardText(field) {
        const side = field.dataset.cardText;
        this.aeChangeCard(field, { [side]: field.value });
        this.aeShowDifference(field.closest("[data-card]"), side, field.value);
      },

      aeCardLabel(field) {
        this.aeChangeCard(field, { label: field.value });
        this.aeShowCards();
      },

      aeAdd() {
        const { cards } = this.aeState();
        this.aeChange({ cards: [...cards, { label: this.aeLabels()[0], ...this.aePair() }] });
        this.aeShowCards();
        this.one(`[data-card="${cards.length}"] [data-card-label]`).focus();
      },

      aeDrop(place) {
        const { cards, aside } = this.aeState();
        this.aeChange({ cards: cards.filter((_, at) => at !== place), aside: [...aside, cards[place]] });
        this.aeShowCards();
        this.one("[data-act=ae-add]").focus();
      },

      aeDiscard(discarding) {
        this.aeChange({ discarding });
        this.aeShowCards();
        this.one(discarding ? "[data-discard] input" : "[data-act=ae-discard]").focus();
      },
    },
  });

  window.askback.study.answers.ambient = (page, form) => page.aeAnswer(form);
})();
