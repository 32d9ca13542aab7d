(() => {
  // Measured things are black; on a dark screen they, and all text, are light.
  const recoloured = (value) => {
    if (value === "#000000") return "#FFFFFF";
    if (Array.isArray(value)) return value.map(recoloured);
    if (value && typeof value === "object") {
      return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, recoloured(inner)]));
    }
    return value;
  };
  const draw = (dark) => {
    for (const block of document.querySelectorAll("script[data-plot]")) {
      const figure = JSON.parse(block.textContent);
      const data = dark ? recoloured(figure.data) : figure.data;
      const layout = dark ? recoloured(figure.layout) : figure.layout;
      layout.font = { ...(layout.font || {}), color: dark ? "#e6e9ed" : "#1b1f24" };
      layout.autosize = true;
      Plotly.react(block.dataset.plot, data, layout, { displaylogo: false, responsive: true });
    }
  };
  const scheme = window.matchMedia("(prefers-color-scheme: dark)");
  scheme.addEventListener("change", () => draw(scheme.matches));
  window.addEventListener("beforeprint", () => draw(false));
  window.addEventListener("afterprint", () => draw(scheme.matches));
  draw(scheme.matches);
})();
