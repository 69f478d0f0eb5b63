// AmbiK on the researchers' pages: a third person takes over what an annotator left in a field. The form itself
// is sent by research-ambient.js. These methods become methods of the page.
"use strict";

window.askbackKitchen = (() => ({
  kitchenAct(control, act) {
    if (act === "take") this.takeFields(control.dataset.side, [control.dataset.field]);
    else if (act === "take-all") this.takeFields(control.dataset.side, null);
  },

  // `names` null: all of them.
  takeFields(side, names) {
    const said = JSON.parse(this.one(`[data-kitchen-voice="${side}"]`).dataset.kitchenForm);
    const form = this.judgeForm();
    for (const [name, value] of Object.entries(said)) {
      if (names && !names.includes(name)) continue;
      for (const field of form.querySelectorAll(`[name="${name}"]`)) {
        if (field.matches("textarea")) field.value = value;
        else if (field.matches("[type=radio]")) field.checked = field.value === value;
      }
    }
    this.judgeProblem({});
    this.judgeKept();
    form.querySelector(`[name="${names ? names[0] : "type"}"]:is(textarea, :checked)`)?.focus();
  },
}))();
