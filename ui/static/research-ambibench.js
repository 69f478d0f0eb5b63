// AmbiBench on the researchers' pages: sorting outputs, each under a key of its own and shown as saved only when
// the server says so. These methods become methods of the page.
"use strict";

window.askbackLetters = {
  // ---- sorting

  async sortInto(button) {
    const stage = this.one("[data-coding]");
    const token = stage?.dataset.token;
    // One output is sorted at a time: a second press would mean the next one, which nobody has read yet.
    if (!token || this.sorting) return;
    this.sorting = true;
    for (const one of this.all("[data-act=rl-code]")) one.setAttribute("aria-pressed", String(one === button));
    this.saving("saving");
    const call = { token, category: button.dataset.value, key: this.newKey(), path: location.pathname, query: location.search.slice(1) };
    let answer = null;
    for (const pause of [300, 800, 1500, 3000]) {
      try { answer = await this.ask("code", call); break; } catch {
        if (await this.refused()) break;
        await new Promise((resolve) => setTimeout(resolve, pause));
      }
    }
    this.sorting = false;
    if (!answer?.saved) { this.saving("unsaved", answer?.problem); return; }
    const address = new URL(location.href);
    if (address.searchParams.has("token")) {
      address.searchParams.delete("token");
      history.replaceState(null, "", address);
    }
    await this.show(answer);
    this.saving("saved");
  },

  sortingKey(event) {
    if (!this.one("[data-coding]") || event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.repeat) return false;
    if (event.target.matches?.("input:not([type=checkbox]), textarea, select, [contenteditable]")) return false;
    if (!this.one("[data-shortcuts]")?.checked) return false;
    const control = event.key.toLowerCase() === "u" ? this.one("[data-undo]") : /^[1-9]$/.test(event.key) ? this.one(`[data-act=rl-code][data-number="${event.key}"]`) : null;
    if (!control) return false;
    event.preventDefault();
    control.click();
    return true;
  },
};
