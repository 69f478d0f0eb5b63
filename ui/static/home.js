// The home page: what this browser has begun and not finished.
"use strict";

(() => {
  const { store, element, token, language, part } = window.askback;
  const RECENT = "askback.recent";
  const MAX_RECENT = 5;

  const recent = () => store.read(RECENT) || [];

  part({
    ready() {
      if (this.one("[data-continue]")) this.listRecent();
      if (this.kind === "play" && !this.ended && token() && this.root.dataset.study !== "1") this.noteRecent();
    },

    acts: {
      forget(control) {
        this.forget(control.dataset.address);
        this.listRecent();
      },
    },

    methods: {
      noteRecent() {
        const { episode, seat, role } = this.root.dataset;
        const task = (this.one(".ab-task p")?.textContent || this.root.dataset.recent || "").slice(0, 120);
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
        const said = words.item.replace("{role}", entry.role || words[entry.seat]).replace("{when}", when);
        const link = element("a", { href: entry.address }, element("strong", {}, entry.task), element("small", {}, said));
        const drop = { type: "button", class: "ab-unpick", "data-act": "forget", "data-address": entry.address, "aria-label": words.forget };
        return element("li", {}, link, element("button", drop, "×"));
      },
    },
  });
})();
