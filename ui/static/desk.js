// Desks: forms in which somebody judges a thing. A form is sent under a key of its own and shown as saved only
// when the server says so; what is wrong with it is told at its fields, and nothing that was typed is lost. These
// methods become methods of the page.
"use strict";

window.askbackDesk = (() => {
  const draft = window.askbackDraft;
  const parsed = (text) => (text ? JSON.parse(text) : null);

  return {
    deskStage() { return this.one("[data-desk][data-item]"); },
    deskForm() { return this.one("form[data-form=desk]"); },
    deskFields(selector) { return [...this.deskForm().querySelectorAll(selector)]; },

    // A draft belongs to a person, a desk, a set and a thing.
    deskName() {
      const at = new URLSearchParams(location.search);
      const { desk, item, decides } = this.deskStage().dataset;
      return ["askback.desk", desk, at.get("data") || "", at.get("reviewer") || "", item, decides].join("/");
    },

    // After every showing of a page.
    deskShown() {
      if (!this.deskStage() || !this.deskForm()) return;
      this.deskFill(draft.read(this.deskName()) || parsed(this.deskStage().dataset.filled) || {});
    },

    deskFill(state) {
      for (const field of this.deskFields("input")) field.checked = [state[field.name] ?? []].flat().includes(field.value);
      for (const field of this.deskFields("textarea[name]")) field.value = state[field.name] || "";
      this.deskAsked();
    },

    // Takes over a form of somebody else's, or a field of it.
    deskTake({ side, field }) {
      const offer = parsed(this.deskStage().dataset.offers)[Number(side)];
      this.deskFill({ ...this.deskState(), ...(field ? { [field]: offer[field] } : offer) });
      this.deskChanged();
    },

    // What is asked only while several choices of another field are made.
    deskAsked() {
      for (const part of this.deskFields("[data-several]")) part.hidden = this.deskFields(`[name=${part.dataset.several}]:checked`).length < 2;
    },

    deskState() {
      const state = {};
      for (const field of this.deskFields("input[type=checkbox]")) state[field.name] = [...(state[field.name] || []), ...(field.checked ? [field.value] : [])];
      for (const field of this.deskFields("input[type=radio]:checked")) state[field.name] = field.value;
      for (const field of this.deskFields("textarea[name]")) state[field.name] = field.value.trim();
      for (const part of this.deskFields("[data-several][hidden]")) for (const field of part.querySelectorAll("input")) delete state[field.name];
      return state;
    },

    deskChanged() {
      this.deskAsked();
      draft.write(this.deskName(), this.deskState());
    },

    deskKey(event) {
      const form = this.deskForm();
      if (!form || event.isComposing || event.keyCode === 229 || event.repeat) return false;
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && form.querySelector("[type=submit]:not([name])")) {
        event.preventDefault();
        form.requestSubmit();
        return true;
      }
      if (event.ctrlKey || event.metaKey || event.altKey || !this.one("[data-shortcuts]")?.checked) return false;
      if (event.target.matches?.("input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]")) return false;
      const pressed = event.key.toLowerCase();
      const control = pressed === "u" ? this.one("[data-undo]") : /^[1-9]$/.test(pressed) && form.querySelector(`[data-key="${pressed}"]`);
      if (!control || control.disabled || control.closest("[hidden]")) return false;
      event.preventDefault();
      control.click();
      if (control.matches("input")) control.focus();
      return true;
    },

    // Tells what is wrong at the fields that it is about; true if there is such a thing.
    deskProblems(places) {
      let first = null;
      for (const place of this.all("[data-desk] [data-problems]")) {
        const texts = places[place.dataset.problems] || [];
        place.hidden = !texts.length;
        place.replaceChildren(...texts.map((text) => Object.assign(document.createElement("p"), { textContent: text })));
        if (texts.length) first ||= place;
      }
      first?.focus();
    },

    async deskSend(button) {
      const stage = this.deskStage();
      // One form is sent at a time: a second press would mean the next thing, which nobody has seen yet.
      if (!stage || this.deskSending) return;
      this.deskSending = true;
      this.saving("saving");
      const name = this.deskName();
      const form = { ...this.deskState(), ...(button?.name ? { [button.name]: button.value } : {}) };
      for (const other of button?.name ? this.deskFields(`[name=${button.name}]`) : []) other.setAttribute("aria-pressed", String(other === button));
      // The same form sent again, after the answer was lost, is the same judgment.
      const filled = name + JSON.stringify(form);
      if (this.deskSent !== filled) { this.deskSent = filled; this.deskSentKey = this.newKey(); }
      const call = { item: stage.dataset.item, form, decides: stage.dataset.decides === "true", key: this.deskSentKey };
      const answer = await this.insist("judge_desk", call);
      this.deskSending = false;
      if (!answer?.saved) {
        this.saving("unsaved", answer?.problem);
        if (answer?.places) this.one("[data-save]").textContent = answer.problem;
        this.deskProblems(answer?.places || (answer?.problem ? { form: [answer.problem] } : {}));
        return;
      }
      draft.drop(name);
      this.deskSent = null;
      const address = new URL(location.href);
      address.searchParams.delete("item");
      history.replaceState(null, "", address);
      await this.show(answer);
      this.saving("saved");
      scrollTo(0, 0);
    },
  };
})();
