// Plots of the researchers' pages. Plotly comes from our own server, and only when a page has a plot.
"use strict";

window.askbackPlots = (() => {
  const PLOTLY = document.currentScript?.dataset.plotly || "/research/assets/plotly.js";

  let plotly = null;
  function loadPlotly() {
    plotly ??= new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = PLOTLY;
      script.onload = () => resolve(window.Plotly);
      script.onerror = () => { plotly = null; reject(new Error("plotly")); };
      document.head.append(script);
    });
    return plotly;
  }

  // A figure names CSS variables where it means colours, or comes twice, for light and for dark ground.
  function painted(value, style) {
    if (typeof value === "string" && value.startsWith("--")) return style.getPropertyValue(value).trim();
    if (Array.isArray(value)) return value.map((one) => painted(one, style));
    if (value && typeof value === "object") {
      return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, painted(one, style)]));
    }
    return value;
  }

  async function draw(places, figures, failed) {
    if (!places.length) return;
    let library;
    try { library = await loadPlotly(); } catch {
      for (const place of places) place.textContent = failed;
      return;
    }
    const style = getComputedStyle(document.body);
    for (const place of places) {
      if (!place.isConnected) continue;
      const given = figures[place.dataset.figure];
      const figure = painted(given.light ? given[style.colorScheme === "dark" ? "dark" : "light"] : given, style);
      figure.layout.font = { ...figure.layout.font, family: style.getPropertyValue("--ab-sans").trim() || "sans-serif" };
      figure.layout.height = place.clientHeight;
      await library.react(place, figure.data, figure.layout, { displayModeBar: false, responsive: true });
    }
  }

  return { draw };
})();
