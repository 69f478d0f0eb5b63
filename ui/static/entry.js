// The start of free play: this browser's unfinished episodes, and the form of a benchmark's entry page.
"use strict";

(() => {
  const { store, element, token, language, part } = window.askback;
  const RECENT = "askback.recent";
  const MAX_RECENT = 5;

  const recent = () => store.read(RECENT) || [];

  part({
    ready() {
      if (this.one("[data-continue]")) this.listRecent();
      if (this.kind === "play" && !this.ended && token() && this.root.dataset.study !== "1") this.noteRecent();
    },

    acts: {
      forget(control) {
        this.forget(control.dataset.address);
        this.listRecent();
      },
    },

    methods: {
      noteRecent() {
        const { episode, seat, role } = this.root.dataset;
        const task = (this.one(".ab-task p")?.textContent || this.root.dataset.recent || "").slice(0, 120);
        const address = `${location.pathname}?t=${encodeURIComponent(token())}`;
        const others = recent().filter((entry) => entry.episode !== episode || entry.seat !== seat);
        store.write(RECENT, [{ episode, seat, role, task, address, at: Date.now() }, ...others].slice(0, MAX_RECENT));
      },

      forget(address) {
        const { episode, seat } = this.root.dataset;
        const gone = (entry) => entry.address === address || (entry.episode === episode && entry.seat === seat);
        store.write(RECENT, recent().filter((entry) => !gone(entry)));
      },

      listRecent() {
        const list = this.one("[data-continue-list]");
        this.one("[data-continue]").hidden = recent().length === 0;
        list.replaceChildren(...recent().map((entry) => this.recentItem(entry, list.dataset)));
      },

      recentItem(entry, words) {
        const when = new Intl.DateTimeFormat(language(), { dateStyle: "medium", timeStyle: "short" }).format(entry.at);
        const said = words.item.replace("{role}", entry.role || words.participant).replace("{when}", when);
        const link = element("a", { href: entry.address }, element("strong", {}, entry.task), element("small", {}, said));
        const drop = { type: "button", class: "ab-unpick", "data-act": "forget", "data-address": entry.address, "aria-label": words.forget };
        return element("li", {}, link, element("button", drop, "×"));
      },
    },
  });
})();

(() => {
  const { store, form: { read } } = window.askback;
  const choicesKey = (benchmark) => `askback.wishes.${benchmark}`; // choices of the last free play

  window.askback.part({
    apply() {
      if (this.one("[data-form=begin]")) this.enFit();
      const again = this.one("[data-act=en-again]");
      if (again) this.enOfferAgain(again);
    },

    hear: {
      change(event) {
        if (event.target.closest("[data-form=begin]")) this.enFit();
      },
    },

    acts: {
      "en-again"(control) { this.stGo("start", store.read(choicesKey(control.dataset.benchmark)), control); },
    },

    forms: {
      begin(form) { if (form.reportValidity()) this.enBegin(form); },
    },

    methods: {
      enFit() {
        const { elements } = this.one("[data-form=begin]");
        for (const choice of this.all("[data-seats]")) choice.hidden = !choice.dataset.seats.split(" ").includes(elements.seat.value);
        for (const field of this.all("[data-for-language]")) field.hidden = elements.language && field.dataset.forLanguage !== elements.language.value;
        for (const label of this.all("[data-fitting]")) {
          const fits = Object.entries(JSON.parse(label.dataset.fitting)).every(([name, values]) => values.includes(JSON.parse(elements[`rule-${name}`].value || null)));
          const choice = label.querySelector("input");
          label.hidden = choice.disabled = !fits;
          if (!fits && choice.checked) [...elements[choice.name]].find((other) => !other.disabled).checked = true;
        }
      },

      enBegin(form) {
        const fields = form.elements;
        // On `form.elements`, `item` is a method.
        const item = form.querySelector("[name=item], [data-for-language]:not([hidden]) [name^=item]")?.value;
        const others = [...form.querySelectorAll("[data-opposite]:not([hidden])")].map(({ dataset: { opposite } }) => [opposite, fields[`opposite-${opposite}`].value]);
        const chosen = [...form.querySelectorAll("[data-field]:not([hidden])")].map((at) => [at.dataset, read[at.dataset.kind](at)]).filter(([, value]) => value !== null && value !== "");
        const rules = chosen.map(([{ field, kind }, value]) => [field, kind === "menu" ? JSON.parse(value) : value]);
        const wishes = {
          benchmark: this.root.dataset.benchmark,
          seat: fields.seat.value,
          item: item ? Number(item) : null,
          item_language: fields.language?.value || form.querySelector("[data-for-language]:not([hidden])")?.dataset.forLanguage || "",
          others: Object.fromEntries(others),
          rules: Object.fromEntries(rules),
        };
        store.write(choicesKey(wishes.benchmark), wishes);
        this.stGo("start", wishes, form.querySelector("[type=submit]"));
      },

      // "Play another" repeats the last choices made in this browser.
      enOfferAgain(button) {
        const { benchmark, seat } = button.dataset;
        button.hidden = store.read(choicesKey(benchmark))?.seat !== seat;
        button.nextElementSibling.classList.toggle("ab-primary", button.hidden);
        if (!button.hidden) button.nextElementSibling.textContent = button.dataset.others;
      },
    },
  });
})();
