// Desks: forms in which somebody judges a thing. A form is sent under a key of its own and shown as saved only
// when the server says so; what is wrong with it is told at its fields, and nothing that was typed is lost. Of a
// form that is filled in bit by bit each bit is sent when it is said, one after the other. These methods become
// methods of the page.
"use strict";

// What is typed and not sent lives in this tab.
window.askbackDraft = {
  read(name) { try { return JSON.parse(sessionStorage.getItem(name)); } catch { return null; } },
  write(name, value) { try { sessionStorage.setItem(name, JSON.stringify(value)); } catch { /* lasts as long as the page */ } },
  drop(name) { try { sessionStorage.removeItem(name); } catch { /* there is none */ } },
};

window.askbackDesk = (() => {
  const draft = window.askbackDraft;
  const parsed = (text) => (text ? JSON.parse(text) : null);

  return {
    newKey() { return [...crypto.getRandomValues(new Uint32Array(4))].map((n) => n.toString(36)).join("-"); },

    // A call whose answer is lost is made again: under its key it is the same one.
    async insist(name, call) {
      for (const pause of [300, 800, 1500, 3000]) {
        try { return await this.ask(name, call); } catch {
          if (await this.refused()) return null;
          await new Promise((resolve) => setTimeout(resolve, pause));
        }
      }
      return null;
    },

    saving(state, problem = "") {
      const place = this.one("[data-save]");
      if (!place) return;
      place.className = `rs-save rs-save-${state}`;
      place.textContent = `${this.root.dataset[state]}${problem ? ` ${problem}` : ""}`;
    },

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
      if (this.one("[data-sheet]")) { this.deskTyped(); return; }
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
      if (this.one("[data-sheet]")) { this.deskKeep(); return; }
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
      const control = pressed === "u" ? this.one("[data-undo]") : this.deskFields(`[data-key="${CSS.escape(pressed)}"]`).find((each) => !each.closest("[hidden]"));
      if (!control || control.disabled) return false;
      event.preventDefault();
      if (!control.matches("textarea")) control.click();
      if (control.matches("input, textarea")) control.focus();
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

    // ---- forms that are filled in bit by bit

    deskUnsaved() { return Object.fromEntries(this.all("[data-bit]").filter((field) => field.value.trim() !== field.dataset.savedText).map((field) => [field.dataset.bit, field.value.trim()])); },

    deskKeep() { draft.write(this.deskName(), Object.fromEntries(this.all("[data-bit]").filter((field) => field.value !== field.dataset.savedText).map((field) => [field.dataset.bit, field.value]))); },

    // Puts back what was typed and is not saved yet.
    deskTyped() {
      const typed = draft.read(this.deskName()) || {};
      for (const field of this.all("[data-bit]")) if (typed[field.dataset.bit] !== undefined) field.value = typed[field.dataset.bit];
    },

    // A text is saved when it is left.
    deskLeft(field) {
      const { bit, savedText } = field.dataset;
      const text = field.value.trim();
      if (text === savedText || this.pending.get(bit) === text) return;
      this.deskSay(bit, text, { [bit]: text });
    },

    deskPress({ name, value, kind, free }) {
      // A press before the one before it has been saved builds on that, not on what is still shown.
      const shown = this.deskFields(`[data-name="${CSS.escape(name)}"][aria-pressed=true]`).map((each) => each.dataset.value);
      const before = this.pending.get(name) || shown;
      const others = kind === "choices" ? before.filter((each) => each !== value) : [];
      const taken = before.includes(value) && (kind === "choices" || free !== undefined);
      const after = taken ? others : [...others, value];
      this.deskSay(name, after, { [name]: kind === "choices" ? after : after[0] || "" });
    },

    // What nobody looked at must not pass for judged unasked.
    deskDoubt() {
      const place = this.one("[data-confirm]");
      place.hidden = !place.hidden;
      (place.hidden ? this.one("[data-act=dk-doubt]") : place.querySelector("[data-act=dk-finish]")).focus();
    },

    deskFinish(value) { this.deskSay("finished", value, { ...this.deskUnsaved(), finished: value }); },

    deskSay(name, value, form) {
      const { item } = this.deskStage().dataset;
      const call = { item, form, key: this.newKey(), path: location.pathname, query: location.search.slice(1) };
      this.pending.set(name, value);
      this.saving("saving");
      this.queue = this.queue.catch(() => {}).then(async () => {
        const answer = await this.insist("judge_desk", call);
        if (this.pending.get(name) === value) this.pending.delete(name);
        if (!answer?.saved) { await this.load({ quiet: true }); this.saving("unsaved", answer?.problem); return; }
        if (this.deskStage()?.dataset.item === item) await this.deskSaid(form, answer);
        this.saving("saved");
      });
    },

    async deskSaid(form, answer) {
      const kept = draft.read(this.deskName()) || {};
      draft.write(this.deskName(), Object.fromEntries(Object.entries(kept).filter(([name, text]) => form[name] !== text.trim())));
      if (form.finished === "yes") {
        const address = new URL(location.href);
        address.searchParams.delete("item");
        history.replaceState(null, "", address);
      }
      await this.show(answer);
      if (form.finished === "yes") scrollTo(0, 0);
    },
  };
})();
