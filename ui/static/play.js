// A dialogue: messages appear immediately, the newest line stays in view; a click gives a node of a tree.
"use strict";

(() => {
  const { element, language, part, turn } = window.askback;
  const NARROW = matchMedia("(max-width: 899px)");

  part({
    prepare() {
      this.stuck = true;
      this.resized = new ResizeObserver(() => this.stuck && this.toNewest());
    },

    apply() {
      if (this.kind !== "play" || this.ended) return;
      this.foldBackground();
      this.completeLink();
      this.picked = (this.turn.filled?.give || []).filter((index) => this.pickButton(index));
      for (const field of this.all("[data-draft]")) this.fit(field);
      this.showPicked();
      this.thinking(!this.myTurn && !this.trouble);
      this.followNewest();
      this.toNewest();
      // Choices react to keys while they have the focus. A field gets it only after a step: at the top of a newly
      // loaded page are the skip links, and on a small screen the keyboard would open.
      if (this.myTurn && document.activeElement === document.body) {
        this.one(this.moves && !NARROW.matches ? "#ab-reply" : "[data-choices]")?.focus({ preventScroll: true });
      }
    },

    hear: {
      keydown(event) {
        if (event.key === "Escape") this.askGoodbye(false);
        if (event.target.closest("[data-choices]") && !event.ctrlKey && !event.metaKey && !event.altKey) this.chooseByKey(event.key);
      },
      input(event) {
        if (event.target.matches("[data-draft]")) this.fit(event.target);
      },
    },

    acts: {
      say({ dataset, firstChild }) { this.sendTurn({ text: dataset.say }, { said: firstChild.textContent }); },
      pick(control) { this.pick(control.dataset.index); },
      "pick-off"(control) {
        this.pick(control.dataset.index);
        this.one("#ab-reply").focus();
      },
      goodbye() { this.askGoodbye(true); },
      "goodbye-no"() { this.askGoodbye(false); },
      "goodbye-yes"() {
        this.askGoodbye(false);
        this.sendTurn({ text: this.root.dataset.closing });
      },
      copy() { this.copy(this.one("[data-link]"), this.texts.copied, this.texts.copy_failed); },
    },

    methods: {
      // ---- what the page shows

      thinking(on, words) {
        const place = this.one(".ab-thinking");
        place.classList.toggle("ab-on", on);
        if (words !== undefined) place.querySelector(".ab-thinking-text").textContent = words;
      },

      foldBackground() {
        const background = this.one("details[data-keep=background]");
        if (background && NARROW.matches && !this.opened.has("background") && this.begun) background.open = false;
      },

      toNewest() {
        const frame = this.one(".ab-log-frame, [data-scroll]");
        if (!frame) return;
        frame.scrollTop = frame.scrollHeight;
        // On a narrow screen the page scrolls, not the frame; initially the background stays visible at the top.
        if (frame.matches("[data-scroll]")) this.turnForm().scrollIntoView({ block: "end" });
        else if (NARROW.matches && this.begun && !this.one("[data-plan], .st-message-note")) frame.scrollIntoView({ block: "end" });
      },

      // Keep the newest line in view when the composer grows, unless the person has scrolled up.
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
        place.hidden = !on;
        place.querySelector("[data-unsent]").hidden = !this.one("#ab-reply").value.trim();
        if (on) place.querySelector("[data-act=goodbye-yes]").focus();
        else if (place.contains(document.activeElement)) this.one("#ab-reply").focus();
      },

      completeLink() {
        const field = this.one("[data-link]");
        if (field) field.value = new URL(`${field.getAttribute("value")}&lang=${language()}`, location.origin).href;
      },

      // ---- sending

      // A text, or a given node with text around it.
      reply(form) {
        const words = (name) => form.elements[name]?.value.trim() || "";
        if (this.picked.length) return { filled: { give: this.picked, before: words("before"), after: words("after") } };
        if (words("text")) return { text: words("text") };
        this.toast(this.root.dataset.empty || this.texts.empty);
        this.one("#ab-reply").focus();
        return null;
      },

      // Show a message as said while it is being sent.
      sending({ text, filled }, said) {
        if (this.kind !== "play") return;
        const given = filled?.give?.map((index) => this.pickButton(index).dataset.text) || [];
        const words = said || text || [filled.before, ...given, filled.after].filter(Boolean).join(" ");
        this.ghost = element("li", { class: "ab-line ab-mine ab-ghost" }, element("p", { class: "ab-bubble" }, words));
        this.one(".ab-log").append(this.ghost);
        this.thinking(true, this.one(".ab-thinking-text").dataset.thinking);
        this.toNewest();
      },

      notSent() {
        this.ghost?.remove();
        if (this.kind === "play") this.thinking(false, "");
      },

      async sent(html) {
        const [played, clicked] = [this.kind === "play", this.focusAfter];
        this.ghost?.remove();
        await this.show(html);
        if (played && this.ended) this.finish();
        else if (played && !clicked) this.one("#ab-reply")?.focus({ preventScroll: true });
      },

      chooseByKey(key) { this.all("[data-choices] [data-key]").find((button) => button.dataset.key === key)?.click(); },

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
        this.keepFilled();
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

  turn.answers.play = (page, form) => page.reply(form);
})();
