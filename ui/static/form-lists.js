// Lists in forms: a line to choose for each entry, entries that occur in a text or are added by a click, and
// places for several entries.
"use strict";

(() => {
  const { element, part, form: { read, split } } = window.askback;
  const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

  part({
    acts: {
      "fm-pick"(control) { this.fmPick(control); },
      "fm-add"(control) { this.fmAdd(control.closest("[data-list]")); },
      "fm-drop"(control) { this.fmDrop(control.closest("[data-entry]")); },
    },

    methods: {
      // A line to choose for each entry of a list; a single entry is preselected.
      fmShowEntries(at, entries) {
        const place = at.querySelector("[data-entries]");
        const drawn = [...place.querySelectorAll("[name]")].map((field) => field.dataset.text);
        const name = at.dataset.field;
        at.querySelector("[data-no-entries]").hidden = entries.length > 0;
        if (entries.join("\n") === drawn.join("\n")) return;
        const before = place.querySelector(":checked");
        // The preselection of a former single entry no longer applies.
        const kept = before ? (drawn.length > 1 ? before.value : null) : this.turn?.filled?.[name]?.[0];
        place.replaceChildren(...entries.map((text) => {
          const label = element("label", { class: "fm-line" });
          const field = element("input", { type: "radio", name, value: `=${text}`, "data-text": text });
          label.append(field, element("span", { dir: "auto" }, text));
          return label;
        }));
        const fields = [...place.querySelectorAll("[name]")];
        const again = fields.find((field) => field.value === kept);
        if (again) again.checked = true;
        else if (fields.length === 1 && !at.querySelector("[data-own]").checked) fields[0].checked = true;
        this.keepFilled();
      },

      fmSearch(field) {
        const wanted = field.value.trim().toLowerCase();
        const list = field.closest("label").nextElementSibling;
        for (const entry of list.children) entry.hidden = !entry.textContent.toLowerCase().includes(wanted);
        const hits = list.querySelectorAll("li:not([hidden])").length;
        list.nextElementSibling.textContent = wanted ? field.dataset.search.replace("{hits}", hits) : "";
      },

      // Repeat the text below its field with the entries of a list marked, if it contains any.
      fmMark(at, values) {
        const known = [...(values[at.dataset.marksOf] || []), ...split(at.dataset.words, "|")].sort((one, other) => other.length - one.length);
        const pattern = new RegExp(`(?<![\\p{L}\\p{N}])(${known.map(escaped).join("|")})(?:e?s)?(?![\\p{L}\\p{N}])`, "giu");
        const text = read.text(at);
        const place = at.querySelector("[data-marked]");
        const pieces = [];
        let end = 0;
        for (const match of known.length ? text.matchAll(pattern) : []) {
          pieces.push(text.slice(end, match.index), element("mark", {}, match[0]));
          end = match.index + match[0].length;
        }
        place.hidden = pieces.length === 0;
        place.replaceChildren(...pieces, text.slice(end));
      },

      fmShowPicks(place, values) {
        const offered = values[place.dataset.picks] || [];
        const chosen = new Set((values[place.closest("[data-field]").dataset.field] || []).map((entry) => entry.toLowerCase()));
        const drawn = [...place.children].map((button) => button.textContent);
        if (drawn.join("\n") !== offered.join("\n")) {
          place.replaceChildren(...offered.map((entry) => element("button", { type: "button", class: "fm-pick", "data-act": "fm-pick" }, entry)));
        }
        for (const button of place.children) button.setAttribute("aria-pressed", String(chosen.has(button.textContent.toLowerCase())));
      },

      fmPick(control) {
        const at = control.closest("[data-field]");
        const entry = control.textContent;
        const now = read.listed(at);
        const rest = now.filter((other) => other.toLowerCase() !== entry.toLowerCase());
        const field = at.querySelector("[name]");
        field.value = (rest.length < now.length ? rest : [...now, entry]).join(", ");
        this.keepFilled();
        this.fmHeard(field);
      },

      // ---- places for entries: which of them are taken is part of the form's values

      fmEntries(list) { return [...list.querySelectorAll("[data-entry]")]; },

      fmTaken(entry) { return entry.querySelector("[data-taken]"); },

      fmKind(entry) { return entry.querySelector(`[data-field$=".${entry.closest("[data-list]").dataset.kindField}"] select`); },

      fmDrawEntries(list) {
        const taken = this.fmEntries(list).filter((entry) => this.fmTaken(entry).checked);
        for (const entry of this.fmEntries(list)) {
          const kind = this.fmKind(entry);
          const number = taken.indexOf(entry) + 1;
          entry.hidden = !number;
          entry.querySelector("legend").textContent = list.dataset.one.replace("{k}", number);
          entry.querySelector("[data-act=fm-drop] .ab-hidden").textContent = ` ${number}`;
          entry.className = `fm-entry fm-${kind.selectedOptions[0].dataset.colour}`;
          entry.querySelector("[data-act=fm-drop]").hidden = taken.filter((other) => this.fmKind(other).value === kind.value).length < 2;
        }
        list.querySelector("[data-act=fm-add]").disabled = taken.length === this.fmEntries(list).length;
      },

      // At least one entry for each kind; what was written for a deselected kind is kept.
      fmFollow(list, kinds) {
        const entries = this.fmEntries(list);
        for (const entry of entries) if (!kinds.includes(this.fmKind(entry).value)) this.fmTaken(entry).checked = false;
        for (const kind of kinds) {
          const free = entries.filter((entry) => !this.fmTaken(entry).checked);
          if (free.length === 0 || entries.some((entry) => this.fmTaken(entry).checked && this.fmKind(entry).value === kind)) continue;
          const entry = free.find((place) => this.fmKind(place).value === kind) || free[0];
          this.fmKind(entry).value = kind;
          this.fmTaken(entry).checked = true;
        }
        this.keepFilled();
      },

      fmAdd(list) {
        const entry = this.fmEntries(list).find((place) => !this.fmTaken(place).checked);
        const [kind] = read.choices(this.fmField(list.dataset.follows));
        this.fmTaken(entry).checked = true;
        this.fmKind(entry).value = kind;
        this.fmChanged();
        this.fmKind(entry).focus();
      },

      fmDrop(entry) {
        this.fmTaken(entry).checked = false;
        this.fmChanged();
        entry.closest("[data-list]").querySelector("[data-act=fm-add]").focus();
      },

      fmChanged() {
        this.keepFilled();
        this.fmDraw();
        this.fmCheck();
      },
    },
  });
})();
