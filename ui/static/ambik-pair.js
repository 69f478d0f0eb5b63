// An annotator's form in AmbiK: texts per candidate, so that no word is lost by choosing another one; what the
// server says of the form as it stands; objects of the scene marked in the texts.
"use strict";

(() => {
  const { part, drawDifference } = window.askback;
  const PAUSE_MS = 500;
  const SLOW_MS = 600;
  const OF_A_TYPE = ["ambiguous", "one_ambiguity", "question", "answer"];

  const split = (text, by) => text.split(by).map((one) => one.trim()).filter(Boolean);
  const lines = (text) => split(text, "\n");
  const objects = (text) => split(text, /[,\n]/);
  const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

  function element(name, text, attributes = {}) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.textContent = text;
    return made;
  }

  part({
    prepare() {
      this.apSent = null;
      this.apHinted = "{}";
      this.apAsked = 0;
      this.apWritten = new Set();
    },

    hear: {
      input(event) { this.apHeard(event.target); },
      change(event) { this.apHeard(event.target); },
    },

    acts: {
      "ak-delete"() { this.apDelete(true); },
      "ak-keep"() { this.apDelete(false); },
      "ak-pick"(control) { this.apPick(control.dataset.thing); },
    },

    methods: {
      akShowPair() {
        this.apWritten.clear();
        this.apDraw();
        this.apCheck({ focus: this.apSent === this.number && Boolean(this.one(".st-notices .ab-notice")) });
      },

      apHeard(field) {
        if (!field.closest("[data-pair]")) return;
        if (field.name === "delete") this.one("[data-delete] [data-missing]").hidden = true;
        this.apWritten.add(field.dataset.field);
        this.apDraw();
        clearTimeout(this.apTimer);
        this.apTimer = setTimeout(() => this.one("[data-pair]") && this.apCheck(), PAUSE_MS);
      },

      // ---- the form as it stands

      apForm() { return this.one("[data-pair]").elements; },

      apType() { return this.one("[data-pair] [name=type]:checked")?.value || null; },

      apFilled() {
        const form = this.apForm();
        const type = this.apType();
        const own = (name) => (type ? form[`${name}-${type}`].value : "");
        const step = Number.parseInt(form.step.value, 10);
        return {
          clear: form.clear.value, objects: objects(form.objects.value), scene: form.scene.value, indirect: form.indirect.value,
          type, passed_over: form.passed_over.value, one_ambiguity: form.one_ambiguity.checked, ambiguous: own("ambiguous"), question: own("question"), answer: own("answer"),
          clear_plan: lines(form.clear_plan.value), ambiguous_plan: lines(form.ambiguous_plan.value), step: Number.isNaN(step) ? null : step - 1,
          shortlist: type === "preferences" ? objects(form.shortlist.value) : [],
          intent: form.intent.value, variants: lines(form.variants.value),
          delete: form.deleting.checked ? form.delete.value : "", comment: form.comment.value,
        };
      },

      apDraw() {
        const filled = this.apFilled();
        const deleting = this.apForm().deleting.checked;
        this.one("[data-delete]").hidden = !deleting;
        this.one("[data-act=ak-delete]").setAttribute("aria-expanded", String(deleting));
        this.one("[data-rest]").hidden = deleting;
        for (const part of this.all("[data-for-type]")) part.hidden = part.dataset.forType !== filled.type;
        for (const part of this.all("[data-when-typed]")) part.hidden = !filled.type;
        for (const part of this.all("[data-when-untyped]")) part.hidden = Boolean(filled.type);
        for (const part of this.all("[data-when-other-type]")) part.hidden = !filled.type || filled.type === "preferences";
        const types = this.all("[data-pair] [name=type]");
        const before = types.slice(0, types.findIndex((one) => one.checked) + 1).slice(0, -1);
        this.one("[data-passed]").hidden = !before.some((one) => "candidate" in one.dataset);
        if (filled.type) drawDifference(this.one("[data-diff]"), filled.clear, filled.ambiguous);
        this.apDrawStep(filled);
        this.apDrawSeen(filled);
        this.apDrawPicks(filled);
      },

      apDrawStep({ step, clear_plan: clear, ambiguous_plan: ambiguous }) {
        const known = step !== null && (step in clear || step in ambiguous);
        this.one("[data-when-step]").hidden = !known;
        if (known) drawDifference(this.one("[data-step-diff]"), clear[step] || "", ambiguous[step] || "");
      },

      // The text once more below its field, with what stands in the scene marked; only if anything does.
      apDrawSeen(filled) {
        const things = [...filled.objects, ...this.one("[data-pair]").dataset.things.split("|")].filter(Boolean);
        const known = [...things].sort((one, other) => other.length - one.length).map(escaped).join("|");
        const pattern = new RegExp(`(?<![\\p{L}\\p{N}])(${known})(?:e?s)?(?![\\p{L}\\p{N}])`, "giu");
        for (const place of this.all("[data-seen]")) {
          const text = this.apForm()[place.dataset.seen].value;
          const pieces = [];
          let at = 0;
          for (const found of text.matchAll(pattern)) {
            pieces.push(text.slice(at, found.index), element("mark", found[0]));
            at = found.index + found[0].length;
          }
          place.hidden = pieces.length === 0;
          place.replaceChildren(...pieces, text.slice(at));
        }
      },

      apDrawPicks({ objects: things, shortlist }) {
        const place = this.one("[data-pick]");
        const chosen = new Set(shortlist.map((one) => one.toLowerCase()));
        const drawn = [...place.children].map((button) => button.dataset.thing).join("\n");
        if (drawn !== things.join("\n")) {
          place.replaceChildren(...things.map((one) => element("button", one, { type: "button", class: "ak-thing", "data-act": "ak-pick", "data-thing": one, lang: "en" })));
        }
        for (const button of place.children) button.setAttribute("aria-pressed", String(chosen.has(button.dataset.thing.toLowerCase())));
      },

      apPick(thing) {
        const field = this.apForm().shortlist;
        const now = objects(field.value);
        const rest = now.filter((one) => one.toLowerCase() !== thing.toLowerCase());
        field.value = (rest.length < now.length ? rest : [...now, thing]).join(", ");
        this.stFilled();
        this.apHeard(field);
      },

      apDelete(deleting) {
        this.apForm().deleting.checked = deleting;
        this.stFilled();
        this.apDraw();
        this.apCheck();
        this.one(deleting ? "#ak-delete-reason" : "[data-act=ak-delete]").focus();
      },

      // ---- what the server says of it

      // Problems are named where somebody has written, and everywhere once the form was to be sent.
      apTold(field) {
        // Before a type is chosen there is nothing to write them in.
        if (!this.apType() && OF_A_TYPE.includes(field)) return false;
        if (this.apSent === this.number || this.apWritten.has(field)) return true;
        return this.all(`[data-field=${field}]`).some((one) => (["radio", "checkbox"].includes(one.type) ? one.checked : one.value !== one.defaultValue));
      },

      async apCheck({ focus = false } = {}) {
        this.apAsked += 1;
        const turn = this.apAsked;
        const said = await this.call("check_pair", { filled: this.apFilled() });
        if (turn !== this.apAsked || !this.one("[data-pair]")) return null;
        if (said?.refused) this.toast(said.refused);
        if (!said?.problems) return null;
        this.apShowProblems(said);
        this.apShowAccepted(said.accepts);
        if (focus) (this.one("[data-problems]:not([hidden], .ak-hints)") || this.one("[data-problems]:not([hidden])"))?.focus();
        return said;
      },

      apShowProblems({ problems }) {
        const told = this.one("[data-problem-count]");
        let count = 0;
        for (const place of this.all("[data-problems]")) {
          const field = place.dataset.problems;
          const said = this.apTold(field) ? problems[field] || [] : [];
          const errors = said.filter((one) => one.level === "error").length;
          count += errors;
          place.hidden = said.length === 0;
          place.classList.toggle("ak-hints", errors === 0);
          place.replaceChildren(...said.map((one) => this.apProblem(one, told.dataset.warning)));
          for (const one of this.all(`[data-field=${field}]`)) this.apMark(one, said.length ? place.id : "", errors > 0);
        }
        const words = count === 1 ? told.dataset.one : told.dataset.many.replace("{count}", count);
        const done = Object.keys(problems).length === 0 ? told.dataset.none : "";
        told.textContent = count ? words : done;
      },

      apProblem({ text, level }, hint) {
        const item = element("li", "", { class: level === "warning" ? "ak-hint" : "" });
        if (level === "warning") item.append(element("b", hint), " ");
        item.append(text);
        return item;
      },

      apMark(field, id, wrong) {
        if (id) field.setAttribute("aria-describedby", id);
        else field.removeAttribute("aria-describedby");
        if (wrong && field.type !== "radio") field.setAttribute("aria-invalid", "true");
        else field.removeAttribute("aria-invalid");
      },

      apShowAccepted(accepts) {
        this.one("[data-accepts]").hidden = !accepts.length;
        const list = this.one("[data-accepts-list]");
        const { intent, variants, none } = list.dataset;
        list.replaceChildren(...accepts.map((one) => {
          const item = element("li", "", { class: one.intent ? "ak-hit" : one.variants ? "ak-near" : "" });
          const words = [one.intent && intent, one.variants && variants].filter(Boolean).join(" · ");
          item.append(element("span", one.text, { lang: "en", dir: "ltr" }), element("small", words || none));
          return item;
        }));
      },

      // Checked first, so that everything that is wrong is named at its place before anything is sent.
      akSendPair() {
        const form = this.apForm();
        if (form.deleting.checked && !form.delete.value.trim()) {
          this.one("[data-delete] [data-missing]").hidden = false;
          form.delete.focus();
          return null;
        }
        this.apSend(this.byKey);
        return null;
      },

      async apSend(keys) {
        if (this.apSending) return;
        this.apSending = true;
        this.apSent = this.number;
        this.stAllow(false);
        setTimeout(() => this.apSending && this.toast(this.root.dataset.thinking), SLOW_MS);
        const said = await this.apCheck({ focus: true });
        this.apSending = false;
        this.stAllow(true);
        this.toast("");
        if (said?.errors) return;
        // Hints are looked at once; whoever sends the same again has seen them.
        const hints = JSON.stringify(said?.problems || {});
        if (hints !== "{}" && hints !== this.apHinted) {
          this.apHinted = hints;
          this.one("[data-problem-count]").textContent = this.one("[data-problem-count]").dataset.warned;
          return;
        }
        // Without an answer the server decides; it keeps nothing that is wrong.
        this.stSend({ filled: this.apFilled() }, keys);
      },
    },
  });
})();
