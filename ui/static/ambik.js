// AmbiK's pages: the robot's choice between acting and asking, the user's answer, waiting for the seat
// opposite (drafts and sending: study.js; forms: form.js). Everything works by keyboard
// alone; single-key shortcuts can be switched off.
"use strict";

(() => {
  const { store, sleep, token, part } = window.askback;
  const SHORTCUTS = "askback.ambik.shortcuts";
  const WISHES = "askback.ambik.wishes"; // of the last free play, for another one
  const POLL_MS = 1500;
  const OWN = "own";

  const lines = (text) => [...new Set(text.split("\n").map((line) => line.trim()).filter(Boolean))];

  part({
    prepare() {
      this.akAt = null;
      this.akWay = "act";
      // On the document: after a click beside the form, the focus is on the body.
      document.addEventListener("keydown", (event) => this.akKey(event));
    },

    apply() {
      if (this.kind === "ambik-entry") this.akFitEntry();
      if (this.kind === "ambik" && !this.ended) this.akShown();
    },

    hear: {
      change(event) {
        if (event.target.closest("[data-form=ambik]")) this.akFitEntry();
        if (event.target.name === "marked") this.akShowActs();
        if (event.target.name === "act") this.akMissing(false);
      },
      input(event) {
        const field = event.target;
        if ("filter" in field.dataset) this.akFilter(field);
        if ("others" in field.dataset) this.akShowActs();
        if (field.name === "own" || field.name === "question") this.akMissing(false);
        if (field.id === "ak-answer") this.one("#ak-answer-missing").hidden = true;
        if (field.name === "own" && field.value) this.one("[data-own]").checked = true;
      },
    },

    acts: {
      "ak-begin"(control) {
        const { seat, opposite } = control.dataset;
        const kept = store.read(WISHES);
        const wishes = kept?.seat === seat ? kept : { seat };
        this.stGo("start", { room: "ambik", ...wishes, ...(opposite && { opposite }) }, control);
      },
      "ak-way"(control) { this.akWay = control.dataset.wayOf; },
      "ak-again"() { this.akRefresh(); },
      "ak-keys"() {
        store.write(SHORTCUTS, !this.akShortcuts());
        this.akShowKeys();
      },
    },

    forms: {
      ambik(form) {
        const { seat, type } = form.elements;
        const annotator = seat.value === "annotator";
        const more = annotator ? {} : { type: type.value, opposite: form.elements[`opposite-${seat.value}`].value };
        const wishes = { seat: seat.value, ...more };
        store.write(WISHES, wishes);
        this.stGo("start", { room: "ambik", ...wishes }, form.querySelector("[type=submit]"));
      },
    },

    methods: {
      akFitEntry() {
        const seat = this.one("[data-form=ambik]").elements.seat.value;
        const annotator = seat === "annotator";
        for (const some of this.all("[data-for-seat-of]")) some.hidden = some.dataset.forSeatOf !== seat;
        this.one("[data-not-annotator]").hidden = annotator;
        this.one("[data-annotator]").hidden = !annotator;
      },

      // After study.js has put back what was filled in.
      akShown() {
        if (this.one("[data-marks]")) this.akShowActs();
        this.completeLink();
        this.akShowKeys();
        if (this.akAt !== this.number) scrollTo(0, 0);
        this.akAt = this.number;
        this.akFollow();
      },

      akFilter(field) {
        const wanted = field.value.trim().toLowerCase();
        const things = [...field.closest(".ak-kitchen").querySelectorAll(".ak-kitchen-head ~ .ak-chips [data-thing]")];
        for (const thing of things) thing.hidden = !thing.dataset.thing.includes(wanted);
        const found = things.filter((thing) => !thing.hidden).length;
        this.one("[data-found]").textContent = wanted ? field.dataset.count.replace("{found}", found) : "";
      },

      // ---- the robot: what may be meant, then act or ask

      akMarked() {
        const others = this.one("[data-others]");
        if (others) return lines(others.value);
        return this.all("[name=marked]:checked").map((field) => field.closest("label").querySelector("[data-option]").textContent);
      },

      // One line to choose for each thing that is marked; a single one is chosen already.
      akShowActs() {
        const marked = this.akMarked();
        const place = this.one("[data-acts]");
        const drawn = [...place.querySelectorAll("[name=act]")].map((field) => field.dataset.text);
        const own = this.one("[data-own]");
        this.one("[data-no-marks]").hidden = marked.length > 0;
        if (marked.join("\n") === drawn.join("\n")) return;
        const before = place.querySelector(":checked");
        // What was chosen because it was alone is nobody's choice any more.
        const kept = before ? (drawn.length > 1 ? before.value : null) : this.stTurn?.filled?.act?.[0];
        place.replaceChildren(...marked.map((text) => this.akAct(text)));
        const fields = [...place.querySelectorAll("[name=act]")];
        const again = fields.find((field) => field.value === kept);
        if (again) again.checked = true;
        else if (fields.length === 1 && !own.checked) fields[0].checked = true;
        this.stFilled();
      },

      akAct(text) {
        const label = document.createElement("label");
        const field = document.createElement("input");
        const words = document.createElement("span");
        label.className = "ak-act";
        Object.assign(field, { type: "radio", name: "act", value: `=${text}` });
        field.dataset.text = text;
        words.lang = "en";
        words.dir = "auto";
        words.textContent = text;
        label.append(field, words);
        return label;
      },

      akChosen() {
        const field = this.one("[name=act]:checked");
        if (!field) return "";
        return field.value === OWN ? this.one("[name=own]").value.trim() : field.dataset.text;
      },

      akMissing(way) {
        for (const panel of this.all(".ak-way[data-way]")) {
          const said = panel.querySelector("[data-missing]");
          if (said) said.hidden = panel.dataset.way !== way;
        }
      },

      akChoice() {
        const [asks, act] = [this.akWay === "ask", this.akChosen()];
        const question = asks ? this.one("[name=question]").value.trim() : "";
        if (asks ? !question : !act) {
          this.akMissing(this.akWay);
          this.akInto(this.akWay);
          return null;
        }
        // What would be done without asking is kept beside a question.
        return { choice: { marked: this.akMarked(), ...(act && { act }), ...(asks && { ask: question }) } };
      },

      akInto(way) {
        if (way === "ask") this.one("[name=question]")?.focus();
        else (this.one("[name=act]:checked") || this.one("[data-acts] [name=act]") || this.one("[name=own]")).focus();
      },

      akAnswer() {
        const field = this.one("[data-answer]");
        if (field.value.trim()) return { text: field.value };
        const missing = this.one("#ak-answer-missing");
        missing.hidden = false;
        field.focus();
        missing.scrollIntoView({ block: "center" }); // it may be below a small screen
        return null;
      },

      // ---- keys

      akShortcuts() { return store.read(SHORTCUTS) !== false; },

      akShowKeys() {
        const button = this.one("[data-act=ak-keys]");
        if (!button) return;
        const on = this.akShortcuts();
        button.setAttribute("aria-checked", String(on));
        const state = button.querySelector("[data-on]");
        state.textContent = on ? state.dataset.on : state.dataset.off;
        this.one("[data-keys-hint]").hidden = !on;
        this.root.classList.toggle("ae-without-keys", !on);
      },

      akKey(event) {
        const form = this.kind === "ambik" && this.one("[data-form=st-answer]");
        // While an input method composes (Chinese, Japanese), keys belong to it.
        if (!form || this.busy || event.isComposing || event.keyCode === 229 || event.repeat || this.one("dialog[open]")) return;
        const written = event.target.matches("textarea, select, input:not([type=checkbox], [type=radio])");
        if (event.key === "Enter") this.akEnter(event);
        else if (!written && this.one("[data-marks]") && !event.ctrlKey && !event.metaKey && !event.altKey && this.akShortcuts()) this.akShortcut(event);
      },

      akEnter(event) {
        const field = event.target;
        if (field.matches("[name=marked]")) {
          event.preventDefault(); // marking decides nothing yet
          this.akInto("act");
        } else if (field.matches("[name=question], [name=answer]") && !event.shiftKey) {
          event.preventDefault();
          if (field.name === "question") this.akWay = "ask";
          this.stAnswer(true);
        }
      },

      akShortcut(event) {
        const key = event.key.toLowerCase();
        const field = this.all("[name=marked]").find((one) => one.dataset.key === key);
        if (field) {
          field.focus();
          field.click();
        } else if (key === "d") this.akInto("act");
        else if (key === "a" && this.one("[name=question]")) this.akInto("ask");
        else return;
        event.preventDefault();
      },

      // ---- the seat opposite

      // Every look lets the seat opposite move; while its model fails, only the person asks it again.
      async akFollow() {
        if (this.akFollowing) return;
        this.akFollowing = true;
        while (this.kind === "ambik" && this.root.dataset.waiting === "1") {
          await sleep(POLL_MS);
          if (!document.hidden) await this.akLook();
        }
        this.akFollowing = false;
      },

      async akLook() {
        try {
          const response = await fetch("/api/state", { headers: { "X-Askback-Seat": token() } });
          if (!response.ok) return;
          const now = await response.json();
          this.toast("");
          if (now.number !== this.number || now.ended || now.trouble || this.invitesNow(now)) await this.akRefresh();
        } catch {
          this.toast(this.texts.offline);
        }
      },

      async akRefresh() {
        const answer = await this.insist("page");
        if (answer && !this.busy) await this.show(answer.html);
      },
    },
  });

  const ANSWERS = { decide: "akChoice", answer: "akAnswer" };
  window.askback.study.answers.ambik = (page) => page[ANSWERS[page.root.dataset.stage]]();
})();
