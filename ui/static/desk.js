// Desks: forms for judging a case. A form is sent under its own key and shown as saved only after the server
// has confirmed it; problems are shown at its fields, and nothing that was typed is lost. Forms that are saved
// step by step send each change at once, one after the other. These methods become
// methods of the page.
"use strict";

window.askbackDesk = (() => {
  const { turn, element, sleep, random, isComposing, tab: draft } = window.askback;
  const parsed = (text) => (text ? JSON.parse(text) : null);

  return {
    ...Object.fromEntries(Object.entries(window.askback.methods).filter(([name]) => name.startsWith("fm"))),

    // A call whose answer was lost is repeated; its key makes it the same call.
    async retryCall(name, call) {
      const from = { language: document.documentElement.lang, query: location.search.slice(1) };
      for (const pause of [300, 800, 1500, 3000]) {
        const answer = await this.server[`call_${name}`]({ ...from, ...call }).catch(() => null);
        if (answer) return answer;
        const refused = await fetch(location.pathname, { method: "HEAD" }).then(({ status }) => [401, 403].includes(status), () => false);
        if (refused) return null;
        await sleep(pause);
      }
      return null;
    },

    // Stays next to the form through rebuilds, until another case is judged.
    saving(state, problem = "") {
      const place = this.one("[data-save]");
      this.saved = { state, problem };
      if (!place || !state) return;
      place.className = `rs-save rs-save-${state}`;
      place.textContent = `${this.one("[data-desk]").dataset[state]}${problem ? ` ${problem}` : ""}`;
    },

    deskStage() { return this.one("[data-desk][data-item]"); },
    deskForm() { return this.one("form[data-form=desk]"); },
    deskFields(selector) { return [...this.deskForm().querySelectorAll(selector)]; },

    // A draft belongs to a rater, a desk, a set and a case.
    deskName() {
      const at = new URLSearchParams(location.search);
      const { desk, item, decides } = this.deskStage().dataset;
      return ["askback.desk", desk, at.get("data") || "", at.get("reviewer") || "", item, decides].join("/");
    },

    // Called whenever a page has been shown.
    deskShown() {
      this.saving(this.saved?.state, this.saved?.problem);
      if (!this.deskStage() || !this.deskForm()) return;
      // Gradio keeps the fields of the previous case with their values.
      if (this.deskOf !== this.deskName()) this.deskForm().reset();
      this.deskOf = this.deskName();
      if (this.one("[data-sheet]")) { this.deskTyped(); return; }
      const kept = draft.read(this.deskName());
      turn.fill(this.deskForm(), kept);
      if (!kept) this.deskFill(parsed(this.deskStage().dataset.filled) || {});
      this.fmDraw();
    },

    // Fill in entries in their places, one after the other.
    deskFill(values) {
      for (const at of this.deskFields("[data-field]:not([data-list] *)")) if (at.dataset.field in values) this.deskPut(at, values[at.dataset.field]);
      for (const list of this.deskFields("[data-list]")) (values[list.dataset.list] || []).forEach((entry, place) => this.deskPutEntry(this.fmEntries(list)[place], entry));
    },

    deskPut(at, value) {
      for (const field of at.querySelectorAll("[name]:not(button)")) {
        if (field.matches("[type=radio], [type=checkbox]")) field.checked = [value ?? []].flat().map(String).includes(field.value);
        else field.value = value || "";
      }
    },

    deskPutEntry(entry, values) {
      this.fmTaken(entry).checked = true;
      for (const [name, value] of Object.entries(values)) this.deskPut(entry.querySelector(`[data-field$=".${name}"]`), value);
    },

    // Adopts somebody else's form, a field of it, or an entry of a field. Entries, and the choices of their
    // kinds, are added to the existing ones.
    deskTake({ side, of, entryNumber }) {
      const offer = parsed(this.deskStage().dataset.offers)[Number(side)];
      let values = of ? { [of]: offer[of] } : offer;
      const full = {};
      for (const list of this.deskFields("[data-list]")) {
        const { list: name, follows, kindField, full: said } = list.dataset;
        const entries = (values[name] || []).filter((_, place) => entryNumber === undefined || place === Number(entryNumber));
        const kinds = entryNumber === undefined ? offer[follows] : entries.map((entry) => entry[kindField]);
        for (const entry of entries) if (!this.deskAdd(list, entry)) full[name] = [said];
        values = { ...values, [name]: [], [follows]: [...this.deskChosen(follows), ...kinds] };
      }
      this.deskFill(values);
      for (const list of this.deskFields("[data-list]")) this.fmFollow(list, this.deskChosen(list.dataset.follows));
      this.fmChanged();
      this.deskProblems(full);
    },

    deskChosen(name) { return this.deskFields(`[name=${name}]:checked`).map((field) => field.value); },

    // Frees the place of an unchanged entry; false if there is none.
    deskAdd(list, values) {
      const kind = list.dataset.kindField;
      const texts = (entry) => [...entry.querySelectorAll("textarea")];
      const is = (entry) => texts(entry).every((field) => field.value === values[field.name.split(".")[1]]);
      const taken = this.fmEntries(list).filter((entry) => this.fmTaken(entry).checked);
      const same = taken.filter((entry) => this.fmKind(entry).value === values[kind]);
      if (same.some(is)) return true;
      const place = same.find((entry) => texts(entry).every((field) => field.value === field.defaultValue)) || this.fmEntries(list).find((entry) => !taken.includes(entry));
      if (place) this.deskPutEntry(place, values);
      return Boolean(place);
    },

    deskOnInput(field) {
      if (this.one("[data-sheet]")) { this.deskKeep(); return; }
      const name = field.closest("[data-field]")?.dataset.field;
      for (const list of this.all(`[data-follows="${name}"]`)) this.fmFollow(list, this.deskChosen(name));
      this.fmChanged();
    },

    // Called by the parts of a form: it has changed and must be checked.
    keepFilled() { draft.write(this.deskName(), turn.filled(this.deskForm())); },
    fmCheck() { /* when it is sent */ },

    deskKey(event) {
      const form = this.deskForm();
      if (!form || isComposing(event) || event.repeat) return false;
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && form.querySelector("[type=submit]:not([name])")) {
        event.preventDefault();
        form.requestSubmit();
        return true;
      }
      if (event.ctrlKey || event.metaKey || event.altKey || !this.one("[data-shortcuts]")?.checked) return false;
      if (event.target.matches?.("input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]")) return false;
      const pressed = event.key.toLowerCase();
      const keys = { u: "[data-undo]", a: "[data-act=fm-add]", l: '[data-act=dk-take][data-side="0"]', r: '[data-act=dk-take][data-side="1"]' };
      const found = [...(keys[pressed] ? this.all(keys[pressed]) : []), ...this.deskFields(`[data-key="${CSS.escape(pressed)}"]`)];
      const control = found.find((each) => !each.closest("[hidden]"));
      if (!control || control.disabled) return false;
      event.preventDefault();
      if (!control.matches("textarea")) control.click();
      if (control.matches("input, textarea")) control.focus();
      return true;
    },

    // Shows problems at their fields.
    deskProblems(places) {
      const said = (name) => (places[name] || []).map((text) => ({ text, level: "error" }));
      const lists = this.deskFields("[data-list]").map((list) => [list, list.dataset.list]);
      for (const [at, name] of [...this.fmNames(), ...lists, [this.one(".dk-foot"), "form"]]) this.fmShowAt(at, said(name), name in places, "");
      this.deskFields("[data-problems]:not([hidden])")[0]?.focus();
    },

    async deskSend(button) {
      const stage = this.deskStage();
      // One form is sent at a time: a second press would apply to the next case, which is not on screen yet.
      if (!stage || this.deskSending) return;
      this.deskSending = true;
      this.saving("saving");
      const name = this.deskName();
      const form = { ...this.fmSaid(), ...(button?.name ? { [button.name]: button.value } : {}) };
      for (const other of button?.name ? this.deskFields(`[name=${button.name}]`) : []) other.setAttribute("aria-pressed", String(other === button));
      // A form sent again after its answer was lost keeps its key and is the same judgment.
      const filled = name + JSON.stringify(form);
      if (this.deskSent !== filled) { this.deskSent = filled; this.deskSentKey = random(); }
      const call = { item: stage.dataset.item, form, decides: stage.dataset.decides === "true", key: this.deskSentKey };
      const answer = await this.retryCall("judge_desk", call);
      if (!answer?.saved) {
        this.deskSending = false;
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
      await this.rebuild();
      this.deskSending = false;
      this.saving("saved");
      scrollTo(0, 0);
    },

    // ---- forms that are saved step by step

    deskUnsaved() { return Object.fromEntries(this.all("[data-bit]").filter((field) => field.value.trim() !== field.dataset.savedText).map((field) => [field.dataset.bit, field.value.trim()])); },

    deskKeep() { draft.write(this.deskName(), Object.fromEntries(this.all("[data-bit]").filter((field) => field.value !== field.dataset.savedText).map((field) => [field.dataset.bit, field.value]))); },

    // Restores what was typed but not saved.
    deskTyped() {
      const typed = draft.read(this.deskName()) || {};
      for (const field of this.all("[data-bit]")) if (typed[field.dataset.bit] !== undefined) field.value = typed[field.dataset.bit];
    },

    // A text is saved when its field loses the focus.
    deskLeft(field) {
      const { bit, savedText } = field.dataset;
      const text = field.value.trim();
      if (text !== savedText && this.pending.get(bit) !== text) this.deskSay(bit, text, { [bit]: text });
      else setTimeout(() => this.deskApplyUpdate());
    },

    // Do not disturb somebody who is typing or pressing something: updates are shown at once when they have left
    // the field or released the button.
    deskApplyUpdate() {
      const focus = document.activeElement;
      if (!this.anew || this.held || this.pending.size || focus?.matches("[data-bit]") || this.one("[data-confirm]:not([hidden])")) return;
      const fresh = document.createRange().createContextualFragment(this.anew).querySelector("[data-desk]");
      this.anew = null;
      const stage = this.deskStage();
      if (!stage || stage.dataset.item !== fresh.dataset.item) return;
      const mark = (control) => [control.tagName, control.getAttribute("href"), JSON.stringify({ ...control.dataset })].join();
      const at = focus?.closest(".rs-review-bar, .dk-form") ? mark(focus) : null;
      const { scrollTop } = this.deskForm();
      // Screen readers announce a change of its text, but not a new element.
      fresh.querySelector("[data-save]").replaceWith(stage.querySelector("[data-save]"));
      for (const part of [".rs-review-bar", ".dk-form"]) stage.querySelector(part).replaceWith(fresh.querySelector(part));
      this.settled();
      this.deskForm().scrollTop = scrollTop;
      if (at) [...stage.querySelectorAll("a, button, input")].find((control) => mark(control) === at)?.focus({ preventScroll: true });
    },

    // Between press and release a control must not be replaced, or it gets neither event.
    deskHold() { this.held = true; },
    deskRelease() { setTimeout(() => { this.held = false; this.deskApplyUpdate(); }); },

    deskPress({ name, value, kind, free }) {
      // A press before the previous one was saved builds on that one, not on what is still displayed.
      const shown = this.deskFields(`[data-name="${CSS.escape(name)}"][aria-pressed=true]`).map((each) => each.dataset.value);
      const before = this.pending.get(name) || shown;
      const others = kind === "choices" ? before.filter((each) => each !== value) : [];
      const taken = before.includes(value) && (kind === "choices" || free !== undefined);
      const after = taken ? others : [...others, value];
      this.deskSay(name, after, { [name]: kind === "choices" ? after : after[0] || "" });
    },

    // Ask before cases that nobody has looked at count as judged.
    deskToggleConfirm() {
      const place = this.one("[data-confirm]");
      place.hidden = !place.hidden;
      (place.hidden ? this.one("[data-act=dk-doubt]") : place.querySelector("[data-act=dk-finish]")).focus();
      this.deskApplyUpdate();
    },

    deskFinish(value) { this.deskSay("finished", value, { ...this.deskUnsaved(), finished: value }); },

    deskSay(name, value, form) {
      const { item } = this.deskStage().dataset;
      const call = { item, form, key: random(), query: location.search.slice(1) };
      this.pending.set(name, value);
      this.saving("saving");
      this.queue = this.queue.catch(() => {}).then(async () => {
        const answer = await this.retryCall("judge_desk", call);
        if (this.pending.get(name) === value) this.pending.delete(name);
        if (!answer?.saved) { await this.rebuild(); this.saving("unsaved", answer?.problem); return; }
        if (this.deskStage()?.dataset.item === item) await this.deskOnSaved(form, answer.page);
        if (!this.pending.size) this.saving("saved");
      });
    },

    async deskOnSaved(form, page) {
      const kept = draft.read(this.deskName()) || {};
      draft.write(this.deskName(), Object.fromEntries(Object.entries(kept).filter(([name, text]) => form[name] !== text.trim())));
      if (form.finished || !page) {
        const over = form.finished === "yes", address = new URL(location.href);
        if (over) address.searchParams.delete("item");
        history.replaceState(null, "", address);
        await this.rebuild();
        if (over) scrollTo(0, 0);
        return;
      }
      this.anew = page;
      for (const button of this.deskFields("[data-name]")) {
        const value = form[button.dataset.name];
        if (value !== undefined) button.setAttribute("aria-pressed", String([value].flat().includes(button.dataset.value)));
      }
      for (const field of this.all("[data-bit]")) if (form[field.dataset.bit] !== undefined) field.dataset.savedText = form[field.dataset.bit];
      this.deskApplyUpdate();
    },
  };
})();
