// A dialogue: what is being written survives a reload, a turn is sent under one key per page and turn number.
"use strict";

(() => {
  const { store, element, language, part, random } = window.askback;
  const NARROW = matchMedia("(max-width: 899px)");

  part({
    prepare() {
      this.nonce = random();
      this.picked = [];
      this.typed = null; // what was typed in this tab and not sent: another tab must not take it away
      this.stuck = true;
      this.resized = new ResizeObserver(() => this.stuck && this.toNewest());
    },

    apply() {
      if (this.kind !== "play" || this.ended) return;
      if (this.number !== this.shownNumber) {
        this.shownNumber = this.number;
        this.shownAt = this.now();
      }
      this.foldBackground();
      this.completeLink();
      this.readDraft();
      this.allow(this.myTurn && !this.busy);
      this.thinking(!this.myTurn && !this.trouble);
      this.followNewest();
      this.toNewest();
      // The keys of choices are heard while these have the focus. A field gets it where a step has led here: at the
      // top of a page that has just come are the skip links, and on a small screen it would call the keyboard.
      if (this.myTurn && document.activeElement === document.body) {
        this.one(this.stTurn && !NARROW.matches ? "#ab-reply" : "[data-choices]")?.focus({ preventScroll: true });
      }
      this.follow(); // also where a step of a study has led here
    },

    ready() {
      if (this.kind === "play") this.settle();
    },

    hear: {
      keydown(event) {
        if (event.key === "Escape") this.askGoodbye(false);
        if (event.target.closest("[data-choices]") && !event.ctrlKey && !event.metaKey && !event.altKey) this.chooseByKey(event.key);
      },
      input(event) {
        if (!event.target.matches("[data-draft]")) return;
        this.fit(event.target);
        this.typed = this.written();
        this.writeDraft();
        this.toast("");
      },
    },

    acts: {
      say({ dataset }) { this.send({ text: dataset.say }, dataset.say); },
      pick(control) { this.pick(control.dataset.index); },
      "pick-off"(control) {
        this.pick(control.dataset.index);
        this.one("#ab-reply").focus();
      },
      goodbye() { this.askGoodbye(true); },
      "goodbye-no"() { this.askGoodbye(false); },
      "goodbye-yes"() {
        this.askGoodbye(false);
        this.send({ text: this.root.dataset.closing }, this.root.dataset.closing);
      },
      copy() { this.copy(this.one("[data-link]"), this.texts.copied, this.texts.copy_failed); },
    },

    forms: {
      reply() { this.reply(); },
    },

    methods: {
      // ---- what the page shows

      allow(ready) {
        for (const control of this.all("[data-needs-turn]")) control.disabled = !ready;
        for (const field of this.all("[data-draft]")) field.readOnly = this.busy;
      },

      thinking(on, words) {
        const place = this.one(".ab-thinking");
        place.classList.toggle("ab-on", on);
        if (words !== undefined) place.querySelector(".ab-thinking-text").textContent = words;
      },

      foldBackground() {
        const background = this.one("details[data-keep=background]");
        if (background && NARROW.matches && !this.opened.has("background") && this.number > 1) background.open = false;
      },

      toNewest() {
        const frame = this.one(".ab-log-frame");
        if (!frame) return;
        frame.scrollTop = frame.scrollHeight;
        // On a narrow screen the whole page scrolls; at first it stays with the background on top.
        if (NARROW.matches && this.number > 1 && !this.one("[data-plan]")) frame.scrollIntoView({ block: "end" });
      },

      // The newest line stays in sight when the composer grows, unless the person has scrolled up.
      followNewest() {
        const frame = this.one(".ab-log-frame");
        if (frame === this.frame) return;
        this.frame = frame;
        this.resized.observe(frame);
        frame.addEventListener("scroll", () => {
          this.stuck = frame.scrollHeight - frame.scrollTop - frame.clientHeight < 60;
        });
      },

      fit(field) {
        if (field.tagName !== "TEXTAREA") return;
        field.style.height = "auto";
        field.style.height = `${Math.min(field.scrollHeight + 2, 220)}px`;
      },

      askGoodbye(on) {
        const place = this.one("[data-confirm]");
        if (!place) return;
        place.classList.toggle("ab-on", on);
        place.querySelector("[data-unsent]").hidden = !this.one("#ab-reply").value.trim();
        if (on) place.querySelector("[data-act=goodbye-yes]").focus();
        else if (place.contains(document.activeElement)) this.one("#ab-reply").focus();
      },

      completeLink() {
        const field = this.one("[data-link]");
        if (field) field.value = new URL(`${field.getAttribute("value")}&lang=${language()}`, location.origin).href;
      },

      // ---- drafts: {text, before, after, give, pending}; pending is a turn sent and not acknowledged yet

      draftName() { return `askback.draft.${this.root.dataset.episode}.${this.root.dataset.seat}`; },
      draft() { return store.read(this.draftName()) || {}; },

      keepDraft(draft) {
        const filled = Object.values(draft).some((value) => value && (value.length || value.key));
        if (filled) store.write(this.draftName(), draft);
        else store.drop(this.draftName());
      },

      written() {
        return Object.fromEntries(this.all("[data-draft]").map((field) => [field.dataset.draft, field.value]));
      },

      readDraft() {
        const draft = this.typed ? { ...this.draft(), ...this.typed } : this.draft();
        if (this.typed) this.keepDraft(draft);
        this.picked = (draft.give || []).filter((index) => this.pickButton(index));
        for (const field of this.all("[data-draft]")) {
          const text = draft[field.dataset.draft] || "";
          if (field.value !== text) field.value = text;
          this.fit(field);
        }
        this.showPicked();
      },

      writeDraft() {
        this.keepDraft({ ...this.written(), give: this.picked, pending: this.draft().pending });
      },

      // What was sent is no draft any more; what another tab has written meanwhile is.
      spendDraft() {
        const { pending, ...rest } = this.draft();
        this.typed = null;
        if (!pending || JSON.stringify(rest) === pending.draft) store.drop(this.draftName());
        else this.setPending(undefined);
      },

      setPending(pending) { this.keepDraft({ ...this.draft(), pending }); },

      // A turn that was sent before the page went away, and whose acknowledgement never came: if the
      // dialogue holds it now, the draft has done its duty.
      settle() {
        const { pending } = this.draft();
        if (!pending || this.number <= pending.number) return;
        const line = this.one(`.ab-mine[data-number="${pending.number}"] .ab-bubble`);
        if (this.ended) store.drop(this.draftName());
        else if (line?.textContent.includes(pending.said)) this.spendDraft();
        else this.setPending(undefined);
        if (!this.ended) this.readDraft();
      },

      // ---- sending

      reply() {
        const words = (name) => this.one(`[data-draft="${name}"]`)?.value.trim() || "";
        if (this.picked.length) {
          const [before, after] = [words("before"), words("after")];
          const texts = this.picked.map((index) => this.pickButton(index).dataset.text);
          this.send({ filled: { give: this.picked, before, after } }, [before, ...texts, after].filter(Boolean).join(" "));
        } else if (words("text")) {
          this.send({ text: words("text") }, words("text"));
        } else {
          this.toast(this.root.dataset.empty || this.texts.empty);
          this.one("#ab-reply").focus();
        }
      },

      async send(turn, said) {
        if (this.busy || !this.myTurn) return;
        this.busy = true;
        const number = this.number;
        // A turn that was sent before a reload keeps its key, so that it cannot count twice.
        const { pending, ...rest } = this.draft();
        const again = pending && pending.number === number && pending.said === said;
        const key = again ? pending.key : this.nonce;
        this.setPending({ number, key, said, draft: JSON.stringify(rest) });
        this.allow(false);
        const ghost = this.ghost(said);
        this.thinking(true, this.one(".ab-thinking-text").dataset.thinking);
        this.toNewest();
        const answer = await this.tell(turn, { number, key, shown: this.shownAt, keys: this.byKey });
        ghost.remove();
        if (answer) await this.sent(answer);
        else this.notSent();
      },

      chooseByKey(key) { this.all("[data-choices] [data-key]").find((button) => button.dataset.key === key)?.click(); },

      ghost(said) {
        const line = element("li", { class: "ab-line ab-mine ab-ghost" }, element("p", { class: "ab-bubble" }, said));
        this.one(".ab-log").append(line);
        return line;
      },

      async sent(answer) {
        this.toast("");
        const clicked = this.focusAfter;
        if (answer.accepted) this.spendDraft();
        else this.setPending(undefined);
        await this.show(answer.html);
        if (this.ended) this.finish();
        else if (!clicked) this.one("#ab-reply")?.focus({ preventScroll: true });
      },

      notSent() {
        this.thinking(false, "");
        this.allow(true);
        this.toast(this.texts.failed);
      },

      finish() {
        this.forget();
        this.one("h1").scrollIntoView({ block: "center" });
        this.one("#ab-content").focus({ preventScroll: true });
      },

      // ---- the provider's choice

      pickButton(index) { return this.all("[data-act=pick]").find((button) => button.dataset.index === index); },

      pick(index) {
        const several = this.one("[data-multi]").dataset.multi === "1";
        if (this.picked.includes(index)) this.picked = this.picked.filter((other) => other !== index);
        else this.picked = several ? [...this.picked, index] : [index];
        this.showPicked();
        this.writeDraft();
        if (this.picked.includes(index)) this.one(".ab-composer").scrollIntoView({ block: "nearest" });
      },

      showPicked() {
        const list = this.one("[data-picked]");
        if (!list) return;
        this.root.classList.toggle("ab-giving", this.picked.length > 0);
        for (const button of this.all("[data-act=pick]")) {
          const on = this.picked.includes(button.dataset.index);
          button.setAttribute("aria-pressed", String(on));
          button.closest(".ab-node").classList.toggle("ab-chosen", on);
        }
        list.replaceChildren(...this.picked.map((index) => this.pickedItem(index, list.dataset.remove)));
      },

      pickedItem(index, remove) {
        const button = { type: "button", class: "ab-unpick", "data-act": "pick-off", "data-index": index, "aria-label": remove.replace("{index}", index) };
        return element("li", {}, element("span", {}, this.pickButton(index).dataset.text), element("button", button, "×"));
      },
    },
  });
})();
