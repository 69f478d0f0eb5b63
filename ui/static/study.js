// A participant's pages, for all benchmarks: the welcome page of a study, the steps of an episode, its
// end, and withdrawing.
"use strict";

(() => {
  const { store, element, part, random } = window.askback;
  const PARTICIPANT = "askback.participant"; // recognises a returning participant

  function participant() {
    const key = store.read(PARTICIPANT) || formerKey() || random();
    store.write(PARTICIPANT, key);
    return key;
  }

  // Older versions stored it under the name of a benchmark.
  function formerKey() {
    try { return store.read(Object.keys(localStorage).find((name) => /^askback\.\w+\.participant$/.test(name))); } catch { return null; }
  }

  part({
    prepare() {
      // Outside of the replaced contents, so that screen readers announce changes.
      this.stSaid = element("p", { class: "ab-hidden", role: "status" });
      document.body.append(element("div", { class: "ab" }, this.stSaid));
    },

    apply() {
      if (this.session) this.stShown();
      else if (["study-message", "message", "invitation"].includes(this.kind)) this.stFocus();
    },

    ready() {
      if (this.root?.dataset.code === "seat_taken") this.stReturn();
      if (this.session && this.root.dataset.recent && !this.ended) this.noteRecent();
    },

    acts: {
      "st-go"(control) { this.sendTurn({ text: control.dataset.say }); },
      "st-enter"(control) { this.stGo("enter_study", { participant_key: participant() }, control); },
      "st-take"(control) { this.stGo("take_seat", { participant_key: participant() }, control); },
      "st-next"(control) { this.stGo("next_set", {}, control); },
      "st-copy"({ dataset }) { this.copy(this.one("#st-code"), dataset.copied, dataset.failed); },
      "st-page"(control) { this.stPage(control); },
      "st-withdraw"() { this.one("[data-withdraw]")?.showModal(); },
      "st-withdraw-no"() { this.one("[data-withdraw]").close(); },
      "st-withdraw-yes"(control) { this.stWithdraw(control); },
    },

    methods: {
      // ---- what the page shows

      stShown() {
        if (this.ended) {
          if (this.root.dataset.recent) this.forget();
          this.turn = null;
        } else {
          this.completeLink();
          this.toNewest();
          this.stSay();
        }
        this.stFocus();
      },

      // Another tab has continued: keep what was written here, but do not use it for the next step.
      stUnsent(filled) {
        const words = Object.values(filled || {}).filter((value) => typeof value === "string" && value.trim());
        if (!words.length) return;
        const notice = element("p", { class: "ab-notice" }, this.root.dataset.unsent.replace("{words}", words.join(" · ")));
        this.one(".st-notices")?.append(notice);
      },

      stFocus() {
        if (this.one("dialog[open]")) return;
        const target = this.one("[data-answer]") || this.one("[data-focus]");
        target?.focus({ preventScroll: true });
      },

      stSay() {
        const parts = [".ab-notice:not([hidden])", "[data-feedback]", "[data-progress]"].map((one) => this.one(one));
        const words = parts.map((one) => one?.getAttribute("aria-label") || one?.textContent.trim()).filter(Boolean).join(" ");
        if (this.stNews !== words) this.stSaid.textContent = words;
        this.stNews = words;
        this.later("news", () => { this.stSaid.textContent = ""; });
      },

      // ---- invitations to other seats

      // The seat is taken, perhaps by this browser.
      async stReturn() {
        const answer = await this.call("take_seat", { participant_key: participant() });
        if (answer?.go) location.replace(answer.go);
      },

      // ---- starting and leaving

      // Make a call that the server answers with the next page.
      async stPage(control) {
        control.disabled = true;
        const answer = await this.move(control.dataset.call, { message: control.dataset.message });
        control.disabled = false;
        if (answer?.html) await this.show(answer.html);
        else this.toast(this.texts.failed);
      },

      // Ask for an episode and open it; without one, show the page or text that says why.
      async stGo(call, data, button) {
        if (this.busy) return;
        const problem = this.one("[data-problem]");
        const label = button.textContent;
        this.busy = button.disabled = problem.hidden = true;
        button.textContent = button.dataset.busy;
        const answer = await this.retryCall(call, data);
        if (answer?.go) { location.assign(answer.go); return; }
        this.busy = button.disabled = problem.hidden = false;
        button.textContent = label;
        if (answer?.html) await this.show(answer.html);
        else problem.textContent = answer?.problem || this.texts.failed;
      },

      async stWithdraw(control) {
        control.disabled = true;
        const answer = await this.move("withdraw");
        control.disabled = false;
        if (!answer?.html) { this.one("[data-withdraw-problem]").hidden = false; return; }
        store.drop(this.turnName());
        await this.show(answer.html);
      },
    },
  });
})();
