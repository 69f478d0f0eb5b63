// The entry of a benchmark whose pages are made of blocks: the form that begins free play.
"use strict";

(() => {
  const VALUES = {
    switch: (field) => field.checked,
    number: (field) => Number(field.value),
    menu: (field) => JSON.parse(field.value),
    text: (field) => field.value,
  };

  window.askback.part({
    apply() {
      if (this.one("[data-form=begin]")) this.enFit();
    },

    hear: {
      change(event) {
        if (event.target.closest("[data-form=begin]")) this.enFit();
      },
    },

    forms: {
      begin(form) { if (form.reportValidity()) this.enBegin(form); },
    },

    methods: {
      enFit() {
        const { elements } = this.one("[data-form=begin]");
        for (const choice of this.all("[data-opposite]")) choice.hidden = choice.dataset.opposite === elements.seat.value;
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
        // Of the elements, `item` is a method.
        const item = form.querySelector("[name=item], [data-for-language]:not([hidden]) [name^=item]")?.value;
        const others = [...form.querySelectorAll("[data-opposite]:not([hidden])")].map(({ dataset: { opposite } }) => [opposite, fields[`opposite-${opposite}`].value]);
        const filled = [...form.querySelectorAll("[data-rule]")].filter((field) => field.value && (field.type !== "radio" || field.checked));
        const rules = filled.map((field) => [field.name.slice("rule-".length), VALUES[field.dataset.rule](field)]);
        this.stGo("start", {
          room: this.root.dataset.room,
          seat: fields.seat.value,
          item: item ? Number(item) : null,
          item_language: form.querySelector("[data-for-language]:not([hidden])")?.dataset.forLanguage || "",
          others: Object.fromEntries(others),
          rules: Object.fromEntries(rules),
        }, form.querySelector("[type=submit]"));
      },
    },
  });
})();
