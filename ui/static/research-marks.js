// The marks of a review: sent one after the other, each under a key of its own, and shown as saved only when
// the server says so. These methods become methods of the page.
"use strict";

// What is typed and not sent lives in this tab.
window.askbackDraft = {
  read(name) { try { return JSON.parse(sessionStorage.getItem(name)); } catch { return null; } },
  write(name, value) { try { sessionStorage.setItem(name, JSON.stringify(value)); } catch { /* lasts as long as the page */ } },
  drop(name) { try { sessionStorage.removeItem(name); } catch { /* there is none */ } },
};

window.askbackMarks = {
  newKey() { return [...crypto.getRandomValues(new Uint32Array(4))].map((n) => n.toString(36)).join("-"); },

  mark(data) {
    const stage = this.one("[data-review]");
    const call = { key: this.newKey(), episode: stage.dataset.episode, path: location.pathname, query: location.search.slice(1), ...data };
    this.saving("saving");
    this.queue = this.queue.catch(() => {}).then(async () => {
      const answer = await this.insist("mark", call);
      if (!answer?.saved) { this.saving("unsaved", answer?.problem); await this.load({ quiet: true }); this.saving("unsaved", answer?.problem); return; }
      if (this.one("[data-review]")?.dataset.episode === call.episode) await this.show(answer);
      this.saving("saved");
    });
    return this.queue;
  },

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

  markState(turn) {
    const pressed = (selector) => this.one(`[data-turn="${turn}"]${selector}[aria-pressed="true"]`);
    return {
      what: "provider",
      turn,
      type: Number(pressed("[data-mark=type]")?.dataset.value || 0),
      node: pressed("[data-mark=node]")?.dataset.value || null,
      hallucination: Boolean(pressed("[data-mark=hallucination]")),
    };
  },

  onMark(button) {
    const turn = Number(button.dataset.turn);
    // A mark made before the one before it has been saved builds on that, not on what is still shown.
    const state = { ...(this.pending.get(turn) || this.markState(turn)) };
    if (button.dataset.mark === "type") { state.type = Number(button.dataset.value); state.node = null; }
    if (button.dataset.mark === "node") state.node = button.dataset.value || null;
    if (button.dataset.mark === "hallucination") state.hallucination = !state.hallucination;
    this.pending.set(turn, state);
    this.mark(state).then(() => { if (this.pending.get(turn) === state) this.pending.delete(turn); });
  },

  // A turn that nobody looked at must not pass for one without error unasked.
  askUnmarked(on) {
    const place = this.one("[data-confirm-done]");
    place.hidden = !on;
    (on ? place.querySelector("[data-act=done]") : this.one("[data-act=done][data-unmarked]")).focus();
  },

  unsavedNote() { return this.all("[data-note]").some((field) => field.value !== field.dataset.savedText); },

  saveNote(field) {
    const turn = field.dataset.note;
    const text = field.value;
    // Leaving the field and pressing the button both ask for it.
    if (text === field.dataset.savedText || this.notes.get(turn) === text) return;
    this.notes.set(turn, text);
    this.mark({ what: "note", text, turn: turn === "" ? null : Number(turn) }).then(() => this.notes.delete(turn));
  },
};
