// The entry of a benchmark that is a declaration: the form that begins free play. Its fields are the rules.
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
      if (this.kind === "entry") this.enFit();
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
        const seat = this.one("[data-form=begin]").elements.seat.value;
        for (const choice of this.all("[data-opposite]")) choice.hidden = choice.dataset.opposite === seat;
      },

      enBegin(form) {
        const fields = form.elements;
        const item = form.querySelector("[name=item]").value; // of the elements, `item` is a method
        const others = [...form.querySelectorAll("[data-opposite]:not([hidden])")].map(({ dataset: { opposite } }) => [opposite, fields[`opposite-${opposite}`].value]);
        const filled = [...form.querySelectorAll("[data-rule]")].filter((field) => field.value);
        const rules = filled.map((field) => [field.name.slice("rule-".length), VALUES[field.dataset.rule](field)]);
        this.stGo("start", {
          room: this.root.dataset.room,
          seat: fields.seat.value,
          item: item ? Number(item) : null,
          others: Object.fromEntries(others),
          rules: Object.fromEntries(rules),
        }, form.querySelector("[type=submit]"));
      },
    },
  });
})();
