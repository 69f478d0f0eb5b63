// Forms described by the server: conditional fields, checks by the server, and texts whose differing words are
// marked as added or removed.
"use strict";

(() => {
  const { element } = window.askback;

  // A word or a punctuation mark with the following white space.
  const words = (text) => [...text.matchAll(/([\p{L}\p{N}_]+(?:['’-][\p{L}\p{N}_]+)*|\S)(\s*)/gu)].map(([, word, space]) => ({ word, space }));

  // [kind, text] in order: "same", "removed" (in `before` alone), "added" (in `after` alone).
  function difference(before, after) {
    const [a, b] = [words(before.trim()), words(after.trim())];
    const length = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
    for (let i = a.length - 1; i >= 0; i -= 1) {
      for (let j = b.length - 1; j >= 0; j -= 1) {
        length[i][j] = a[i].word === b[j].word ? length[i + 1][j + 1] + 1 : Math.max(length[i + 1][j], length[i][j + 1]);
      }
    }
    const pieces = [];
    const put = (kind, { word, space }) => {
      if (pieces.at(-1)?.[0] === kind) pieces.at(-1)[1] += word + space;
      else pieces.push([kind, word + space]);
    };
    let [i, j] = [0, 0];
    while (i < a.length || j < b.length) {
      if (i < a.length && j < b.length && a[i].word === b[j].word) { put("same", b[j]); i += 1; j += 1; }
      else if (i < a.length && (j >= b.length || length[i + 1][j] >= length[i][j + 1])) { put("removed", a[i]); i += 1; }
      else { put("added", b[j]); j += 1; }
    }
    return pieces;
  }

  const MARKS = { added: "ins", removed: "del" };

  function drawDifference(place, before, after) {
    const pieces = difference(before, after);
    const changed = pieces.some(([kind]) => kind !== "same");
    place.dataset.language ??= place.lang;
    place.lang = changed ? place.dataset.language : document.documentElement.lang;
    place.replaceChildren(...(changed ? pieces.flatMap(([kind, text]) => drawPiece(kind, text, place.dataset[kind])) : [place.dataset.unchanged]));
  }

  // Marks are also labelled for screen readers.
  function drawPiece(kind, text, said) {
    if (kind === "same") return [text];
    const piece = element(MARKS[kind], {}, hidden(`${said} `), text.trimEnd());
    return [piece, text.slice(text.trimEnd().length) || (kind === "removed" ? " " : "")];
  }

  function hidden(text) {
    return element("span", { class: "ab-hidden", lang: document.documentElement.lang }, text);
  }

  window.askback.drawDifference = drawDifference;
})();

(() => {
  const { element, part } = window.askback;
  const PAUSE_MS = 500;

  // ---- the values of fields, by their kind ------------------------------------------------------------

  const split = (text, by) => text.split(by).map((entry) => entry.trim()).filter(Boolean);
  const typed = (at) => at.querySelector("[name]").value;
  const number = (at) => (typed(at).trim() === "" ? null : Number(typed(at)));
  const ticked = (at) => [...at.querySelectorAll("[name]:checked")].map((field) => field.value);
  const READ = {
    line: typed,
    text: typed,
    lines: (at) => split(typed(at), "\n"),
    listed: (at) => split(typed(at), /[,\n]/),
    number,
    whole: number,
    place: (at) => (number(at) === null ? null : number(at) - 1),
    switch: (at) => ticked(at).length > 0,
    flag: (at) => (ticked(at).length ? ticked(at)[0] === "true" : null),
    menu: (at) => at.querySelector("select, :checked")?.value ?? "",
    choice: (at) => ticked(at)[0] ?? null,
    choices: ticked,
    entry: (at) => {
      const field = at.querySelector("[name]:checked");
      if (!field) return "";
      return "own" in field.dataset ? at.querySelector("[type=text]").value.trim() : field.dataset.text;
    },
  };
  // False is a valid value of a flag.
  const answered = (value) => value === false || filledIn(value);
  // The field to focus: the input of an entry's place, else the first field.
  const INTO = "[name]:checked, [data-entries] [name], [type=text], textarea";
  const filledIn = (value) => (Array.isArray(value) ? value.length > 0 : value !== undefined && value !== null && value !== "" && value !== false);

  // Set the value at a path such as `rows[0].name`.
  function put(values, path, value) {
    const steps = path.split(/[[\].]+/).filter(Boolean);
    let at = values;
    steps.slice(0, -1).forEach((step, place) => {
      at[step] ??= /^\d/.test(steps[place + 1]) ? [] : {};
      at = at[step];
    });
    at[steps.at(-1)] = value;
  }

  window.askback.form = { read: READ, split };

  part({
    prepare() {
      this.fmSent = null; // number of the turn for which sending was tried
      this.fmHinted = "{}";
      this.fmAsked = 0;
      this.fmWritten = new Set();
      this.fmWay = "";
    },

    apply() {
      if (!this.fmForm()) return;
      this.fmWritten.clear();
      this.fmDraw();
      this.fmCheck({ focus: this.fmSent === this.number && Boolean(this.one(".st-notices .ab-notice")) });
    },

    hear: {
      input(event) { this.fmHeard(event.target); },
      change(event) { this.fmHeard(event.target); },
    },

    acts: {
      "fm-way"(control) { this.fmWay = control.dataset.wayOf; },
    },

    methods: {
      fmForm() { return this.one("[data-reads=fields]"); },

      fmFields() { return this.all("[data-field]").filter((at) => !at.closest("[hidden]")); },

      fmField(name) { return this.fmFields().find((at) => at.dataset.field === name); },

      fmValues() { return Object.fromEntries(this.fmFields().map((at) => [at.dataset.field, READ[at.dataset.kind](at)])); },

      // The name under which each field is sent; visible entries are numbered.
      fmNames() {
        const places = {};
        const rank = (list, place) => {
          const known = (places[list] ??= []);
          return known.includes(place) ? known.indexOf(place) : known.push(place) - 1;
        };
        return new Map(this.fmFields().map((at) => [at, at.dataset.field.replace(/^(\w+)\[(\d+)\]/, (_, list, place) => `${list}[${rank(list, place)}]`)]));
      },

      fmSaid() {
        const values = {};
        for (const [at, name] of this.fmNames()) put(values, name, READ[at.dataset.kind](at));
        return values;
      },

      fmHeard(field) {
        if ("search" in field.dataset) this.fmSearch(field);
        const at = field.closest("[data-reads=fields] [data-field]");
        if (!at) return;
        if (at.dataset.kind === "entry" && field.type === "text" && field.value) at.querySelector("[data-own]").checked = true;
        if (at.closest("[data-way]")) this.fmShowAt(at, [], false, "");
        this.fmWritten.add(at.dataset.field);
        if (!this.fmSending) this.fmAsked += 1; // the pending check is about an older state
        for (const list of this.all(`[data-follows="${at.dataset.field}"]`)) this.fmFollow(list, READ[at.dataset.kind](at));
        this.fmDraw();
        clearTimeout(this.fmTimer);
        if (!("check" in this.fmForm().dataset)) return void this.fmCheck();
        this.fmTimer = setTimeout(() => this.fmForm() && this.fmCheck(), PAUSE_MS);
      },

      // ---- what is shown

      // Conditions refer to earlier fields, so one pass in page order is enough.
      fmDraw() {
        for (const place of this.all("[data-when]")) place.hidden = !this.fmConditionMet(place.dataset);
        for (const list of this.all("[data-list]")) this.fmDrawEntries(list);
        const values = this.fmValues();
        for (const place of this.all("[data-difference]")) this.fmDiffer(place, values);
        for (const at of this.all("[data-marks-of]")) this.fmMark(at, values);
        for (const place of this.all("[data-picks]")) this.fmShowPicks(place, values);
        for (const at of this.all("[data-entries-of]")) this.fmShowEntries(at, values[at.dataset.entriesOf] || []);
      },

      // ---- ways to send it

      fmInto(name) { this.one(`[data-way="${name}"] [data-field="${name}"]`)?.querySelector(INTO)?.focus(); },

      // What is sent: all fields except those of later ways; fields of ways only if they are filled in.
      fmValuesFor(way) {
        const values = this.fmSaid();
        if (!way) return values;
        const ways = this.all("[data-way]");
        const later = ways.slice(ways.findIndex((each) => each.dataset.way === way) + 1);
        for (const at of this.all("[data-way] [data-field]")) {
          const name = at.dataset.field;
          if (!filledIn(values[name]) || later.includes(at.closest("[data-way]"))) delete values[name];
        }
        return values;
      },

      // A way needs a value in its own field; shows the problem there if it has none.
      fmIsMissing(name) {
        for (const at of this.all("[data-way] [data-field]")) this.fmShowAt(at, [], false, "");
        const at = this.one(`[data-way="${name}"] [data-field="${name}"]`);
        const value = READ[at.dataset.kind](at);
        if (filledIn(typeof value === "string" ? value.trim() : value)) return false;
        this.fmShowAt(at, [{ text: at.dataset.missing, level: "error" }], true, "");
        this.fmInto(name);
        return true;
      },

      fmEnter(event, field) {
        const way = field.closest("[data-way]");
        const first = this.one("[data-way]");
        if (!way && first && field.matches("[type=checkbox]")) this.fmInto(first.dataset.way); // not a choice yet
        else if (way && field.matches("textarea") && !event.shiftKey) way.querySelector("[type=submit]").click();
        else return;
        event.preventDefault();
      },

      fmConditionMet({ when, is, unless, least }) {
        const at = this.fmField(when);
        const value = at && READ[at.dataset.kind](at);
        const known = is ? is.split("|") : [];
        if (least) return Array.isArray(value) && value.length >= Number(least);
        const met = known.length ? [value].flat().some((each) => known.includes(String(each))) : filledIn(value);
        return met === (unless === undefined);
      },

      fmDiffer(place, values) {
        const text = place.querySelector("[data-before]");
        const { before, after, line, text: original } = text.dataset;
        const pair = [original ?? values[before], values[after]];
        const [one, other] = line ? pair.map((lines) => lines?.[values[line]]) : pair;
        place.hidden = one === undefined && other === undefined || !line && other === undefined;
        if (!place.hidden) window.askback.drawDifference(text, one || "", other || "");
      },

      // ---- problems found by the page or the server

      // Problems are shown at touched fields, and everywhere once sending was tried.
      fmShowsProblems(at) {
        if (this.fmSent === this.number || this.fmWritten.has(at.dataset.field)) return true;
        if (at.dataset.list) return [...this.fmWritten].some((name) => name.startsWith(`${at.dataset.list}[`));
        return [...at.querySelectorAll("[name]")].some((field) => (["radio", "checkbox"].includes(field.type) ? field.checked !== field.defaultChecked : field.value !== (field.defaultValue ?? field.value)));
      },

      // Before sending, only what `way` sends is checked; until then, no way requires its fields.
      async fmCheck({ focus = false, way = "" } = {}) {
        this.fmAsked += 1;
        const turn = this.fmAsked;
        const { check, required } = this.fmForm().dataset;
        const requires = (at) => "required" in at.dataset && (at.closest("[data-way]")?.dataset.way ?? way) === way;
        const open = [...this.fmNames()].filter(([at]) => requires(at) && !answered(READ[at.dataset.kind](at)));
        const missing = Object.fromEntries(open.map(([, name]) => [name, [{ text: required, level: "error" }]]));
        let answer = { problems: {}, errors: 0, html: "" };
        if (check !== undefined) answer = await this.call("check_form", { filled: this.fmValuesFor(way) });
        if (turn !== this.fmAsked || !this.fmForm()) return null;
        if (answer?.refused) this.toast(answer.refused);
        if (!answer?.problems) return null;
        answer = { ...answer, errors: answer.errors + open.length, problems: { ...answer.problems, ...missing } };
        this.fmShowProblems(answer.problems);
        for (const place of this.all("[data-findings]")) place.innerHTML = answer.html;
        if (focus) this.fmFocus();
        return answer;
      },

      // An unanswered question gets the focus and says itself why.
      fmFocus() {
        const list = this.one("[data-problems]:not([hidden], .fm-hints)") || this.one("[data-problems]:not([hidden])");
        (list?.closest("[data-field][data-required]")?.querySelector("input[type=radio]") || list)?.focus();
      },

      fmShowProblems(problems) {
        const place = this.one("[data-problem-count]");
        const { warning } = this.fmForm().dataset;
        const lists = this.all("[data-list]").filter((list) => !list.closest("[hidden]"));
        let count = 0;
        for (const [at, name] of [...this.fmNames(), ...lists.map((list) => [list, list.dataset.list])]) {
          const said = this.fmShowsProblems(at) ? problems[name] || [] : [];
          const errors = said.filter(({ level }) => level === "error").length;
          count += errors;
          this.fmShowAt(at, said, errors > 0, warning);
        }
        if (!place) return;
        count += this.fmShowWhole(problems[""] || [], warning);
        const words = count === 1 ? place.dataset.one : place.dataset.many.replace("{count}", count);
        const done = Object.keys(problems).length === 0 ? place.dataset.none : "";
        place.textContent = count ? words : done;
      },

      // Shows the summary of problems; returns the number of errors shown.
      fmShowWhole(problems, warning) {
        const said = this.fmSent === this.number || this.fmWritten.size ? problems : [];
        const errors = said.filter(({ level }) => level === "error").length;
        this.fmShowAt(this.one("[data-whole]"), said, errors > 0, warning);
        return errors;
      },

      fmShowAt(at, said, wrong, warning) {
        const list = at.querySelector("[data-problems]");
        list.hidden = said.length === 0;
        list.classList.toggle("fm-hints", !wrong);
        list.replaceChildren(...said.map(({ text, level }) => {
          const item = element("li", { class: level === "warning" ? "fm-hint" : "" }, text);
          if (level === "warning") item.prepend(element("b", {}, warning), " ");
          return item;
        }));
        for (const field of at.dataset.list ? [] : at.querySelectorAll("[name]")) {
          if (said.length) field.setAttribute("aria-describedby", list.id);
          else field.removeAttribute("aria-describedby");
          if (wrong && field.type !== "radio") field.setAttribute("aria-invalid", "true");
          else field.removeAttribute("aria-invalid");
        }
      },

      // Check first, so that all problems are shown in place before anything is sent.
      async fmSend(keys) {
        if (this.fmSending) return;
        const [first] = this.all("[data-way]");
        const way = first && (this.fmWay || first.dataset.way);
        this.fmWay = "";
        if (way && this.fmIsMissing(way)) return;
        this.fmSending = true;
        this.fmSent = this.number;
        this.allow(false);
        this.toastIfSlow(() => this.fmSending);
        const answer = await this.fmCheck({ way });
        this.fmSending = false;
        this.allow(true);
        this.fmFocus(); // disabled elements cannot have the focus
        this.toast("");
        if (answer?.errors) return;
        // Hints stop the form once; sending the same form again accepts them.
        const hints = JSON.stringify(answer?.problems || {});
        if (hints !== "{}" && hints !== this.fmHinted) {
          this.fmHinted = hints;
          const place = this.one("[data-problem-count]");
          place.textContent = place.dataset.warned;
          return;
        }
        // Without an answer, send anyway: the server refuses invalid forms.
        this.sendTurn({ filled: this.fmValuesFor(way) }, { keys });
      },
    },
  });

  window.askback.turn.answers.fields = (page) => {
    page.fmSend(page.byKey);
    return null;
  };
})();
