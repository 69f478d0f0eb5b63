// The home page: the form that begins a dialogue, and the dialogues that this browser has not finished.
"use strict";

(() => {
  const { store, token, language, part } = window.askback;
  const RECENT = "askback.recent";
  const MAX_RECENT = 5;

  const recent = () => store.read(RECENT) || [];

  part({
    apply() {
      if (this.kind === "home") this.fitForm();
    },

    ready() {
      if (this.kind === "home") this.listRecent();
      if (this.kind === "play" && !this.ended && token() && this.root.dataset.study !== "1") this.noteRecent();
    },

    hear: {
      change(event) {
        if (event.target.closest("[data-form=start]")) this.fitForm();
      },
    },

    acts: {
      forget(control) {
        this.forget(control.dataset.address);
        this.listRecent();
      },
    },

    forms: {
      start(form) { this.start(form); },
    },

    methods: {
      fitForm() {
        const fields = this.one("[data-form=start]").elements;
        for (const field of this.all("[data-for-seat]")) field.hidden = field.dataset.forSeat !== fields.seat.value;
        for (const field of this.all("[data-for-language]")) field.hidden = field.dataset.forLanguage !== fields.language.value;
      },

      async start(form) {
        if (this.busy) return;
        const button = form.querySelector("[type=submit]");
        const problem = this.one("[data-problem]");
        const label = button.textContent;
        const fields = form.elements;
        const [seat, spoken] = [fields.seat.value, fields.language.value];
        this.busy = button.disabled = problem.hidden = true;
        button.textContent = button.dataset.busy;
        const answer = await this.call("start", {
          seat,
          dialogue_language: spoken,
          task_id: fields[`task-${spoken}`]?.value || "",
          opposite: fields[`opposite-${seat}`].value,
          multi: fields.multi.checked,
        });
        if (answer?.go) {
          location.assign(answer.go);
          return;
        }
        this.busy = button.disabled = problem.hidden = false;
        button.textContent = label;
        problem.textContent = answer?.problem || this.texts.failed;
      },

      noteRecent() {
        const { episode, seat, role } = this.root.dataset;
        const task = (this.root.dataset.recent || this.one(".ab-task p")?.textContent || "").slice(0, 120);
        const address = `${location.pathname}?t=${encodeURIComponent(token())}`;
        const others = recent().filter((entry) => entry.episode !== episode || entry.seat !== seat);
        store.write(RECENT, [{ episode, seat, role, task, address, at: Date.now() }, ...others].slice(0, MAX_RECENT));
      },

      forget(address) {
        const { episode, seat } = this.root.dataset;
        const gone = (entry) => entry.address === address || (entry.episode === episode && entry.seat === seat);
        store.write(RECENT, recent().filter((entry) => !gone(entry)));
      },

      listRecent() {
        const list = this.one("[data-continue-list]");
        this.one("[data-continue]").hidden = recent().length === 0;
        list.replaceChildren(...recent().map((entry) => this.recentItem(entry, list.dataset)));
      },

      recentItem(entry, words) {
        const when = new Intl.DateTimeFormat(language(), { dateStyle: "medium", timeStyle: "short" }).format(entry.at);
        const item = document.createElement("li");
        const link = document.createElement("a");
        const title = document.createElement("strong");
        const small = document.createElement("small");
        const drop = document.createElement("button");
        link.href = entry.address;
        title.textContent = entry.task;
        small.textContent = words.item.replace("{role}", entry.role || words[entry.seat]).replace("{when}", when);
        link.append(title, small);
        drop.type = "button";
        drop.className = "ab-unpick";
        drop.dataset.act = "forget";
        drop.dataset.address = entry.address;
        drop.setAttribute("aria-label", words.forget);
        drop.textContent = "×";
        item.append(link, drop);
        return item;
      },
    },
  });
})();
