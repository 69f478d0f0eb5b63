// AmbiBench on the researchers' pages: sorting outputs, each under a key of its own and shown as saved only when
// the server says so; and the paper's figures, fetched one after the other so that none waits for all. These
// methods become methods of the page.
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

  // ---- figures

  pick(checked) {
    for (const box of this.all("input[type=checkbox][name=runs]")) box.checked = checked;
  },

  async fetchFigures() {
    const gallery = this.one("[data-gallery]");
    const places = this.all("[data-lazy]");
    if (!gallery || !places.length) return;
    // A page that comes later may reuse the elements of this one.
    const round = this.round = (this.round || 0) + 1;
    const note = this.one("[data-drawing-now]");
    const numbers = places.filter((place) => place.dataset.lazy !== "tables").length;
    for (const [done, place] of places.entries()) {
      const number = place.dataset.lazy;
      const words = gallery.dataset.drawing.replace("{number}", number).replace("{done}", done).replace("{total}", numbers);
      // Only what takes long is worth a word.
      const slow = setTimeout(() => { if (number !== "tables") note.textContent = words; place.classList.add("rl-busy"); }, 1000);
      let answer = null;
      try { answer = await this.ask("figure", { number }); } catch { /* said below */ }
      clearTimeout(slow);
      if (round !== this.round || !place.isConnected) return;
      place.classList.remove("rl-busy");
      this.place(place, answer, gallery.dataset.failed);
    }
    note.textContent = "";
  },

  place(place, answer, failed) {
    place.removeAttribute("data-lazy");
    if (!answer || answer.problem) { place.textContent = answer?.problem || failed; place.classList.add("rs-bad"); return; }
    place.innerHTML = answer.html;
    Object.assign(this.figures, answer.figures);
    if (place.querySelector("[data-lacks]")) {
      this.one("[data-lacking]").hidden = false;
      this.one("[data-lacking-list]").append(place);
    }
    const plots = [...place.querySelectorAll("[data-figure]")];
    if (plots.length) askbackPlots.draw(plots, this.figures, this.root?.dataset.figureFailed);
  },
};
