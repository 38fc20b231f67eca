// The plots of the report: loads the data of each when it comes into view, draws it with plotly.js,
// and follows theme, size and printing. What is drawn how: `plot_drawing.js`.
"use strict";
(() => {
  const here = document.currentScript.src.replace(/[^/]*$/, "");
  const LIBRARY = ["plotly.min.js", "plot_texts.js", "plot_cells.js", "plot_drawing.js", "plot_legend.js", "plot_keys.js",
    "plot_table.js"];
  // A figure that is narrower than this (px) is drawn as for a phone.
  const NARROW = 560;
  const states = new Map();
  const loading = new Map();
  let handed = null;

  // What the data of a plot are handed to: a script of data does nothing else.
  window.acceptancePlot = plot => { handed = plot; };

  const load = url => {
    if (!loading.has(url)) {
      loading.set(url, new Promise((done, failed) => {
        const script = document.createElement("script");
        script.src = url;
        script.addEventListener("load", () => { const plot = handed; handed = null; done(plot); });
        script.addEventListener("error", () => failed(new Error(`cannot load ${url}`)));
        document.head.append(script);
      }));
    }
    return loading.get(url);
  };

  // plotly.js writes some style attributes, which the policy of the page refuses; the same style set
  // through the object model is allowed.
  const styles = () => {
    for (const name of ["setAttribute", "setAttributeNS"]) {
      const plain = Element.prototype[name];
      Element.prototype[name] = function (...given) {
        const [attribute, value] = given.slice(-2);
        if (attribute === "style") this.style.cssText = value;
        else plain.apply(this, given);
      };
    }
  };
  styles();

  const library = async () => { for (const name of LIBRARY) await load(here + name); };

  const tick = async state => {
    const {plot, area, figure} = state;
    const {xaxis, yaxis} = area._fullLayout;
    const ranges = {x: xaxis && xaxis.range, y: yaxis && yaxis.range};
    const narrow = figure.clientWidth < NARROW;
    const key = JSON.stringify([ranges, narrow]);
    if (key === state.ticked) return;
    state.ticked = key;
    const changes = window.acceptanceDrawing.ticks(plot, ranges, narrow);
    if (Object.keys(changes).length) await Plotly.relayout(area, changes);
  };

  const paint = async state => {
    const {plot, area, figure} = state;
    const colours = window.acceptanceDrawing.theme(figure, NARROW);
    const made = window.acceptanceDrawing.traces(plot, colours);
    made.parts.forEach((parts, at) => {
      for (const part of parts) made.drawn[part].visible = !state.hidden.has(at);
    });
    Object.assign(state, {parts: made.parts, looks: made.looks, narrow: colours.narrow, ticked: ""});
    await Plotly.react(area, made.drawn, window.acceptanceDrawing.layout(plot, colours), {
      displaylogo: false, responsive: false, scrollZoom: false,
      modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"],
      toImageButtonOptions: {format: "svg", filename: plot.id + (plot.simulated ? "-simulated" : "")},
    });
    await tick(state);
    window.acceptanceLegend.show(state, colours);
  };

  const resized = state => {
    if (!state.area.clientWidth) return;
    const size = () => Plotly.Plots.resize(state.area);
    if (state.narrow !== state.figure.clientWidth < NARROW) paint(state).then(size);
    else size();
  };

  const begin = async figure => {
    const area = figure.querySelector(".plot-area");
    // A page that makes figures of its own gives them their data, or what promises it.
    const own = figure.acceptanceData || load(new URL(figure.dataset.source, document.baseURI).href);
    const [plot] = await Promise.all([own, library()]);
    if (!plot || plot.id !== figure.id) throw new Error(`${figure.dataset.source} has no plot ${figure.id}`);
    area.replaceChildren();
    const state = {figure, area, plot, hidden: new Set(plot.traces.flatMap((trace, at) => trace.shown ? [] : [at])), at: null};
    await paint(state);
    states.set(figure, state);
    area.on("plotly_relayout", () => tick(state));
    window.acceptanceKeys.follow(state);
    let width = area.clientWidth;
    new ResizeObserver(() => {
      if (area.clientWidth !== width) { width = area.clientWidth; resized(state); }
    }).observe(area);
    figure.dataset.state = "drawn";
  };

  const data = figure => load(new URL(figure.dataset.source, document.baseURI).href);

  // Fills the table of a plot on demand when it is opened.
  const tabulate = async details => {
    if (!details.open || details.dataset.wanted !== "table") return;
    const figure = details.closest("figure.plot");
    try {
      const [plot] = await Promise.all([data(figure), library()]);
      window.acceptanceTable.fill(figure, plot);
      delete details.dataset.wanted;
    } catch (error) {
      details.querySelector(".plot-nothing").textContent = `No table: ${error.message}. The CSV has the numbers.`;
    }
  };

  // Draws a plot, once; whoever asks again waits for the same. Says so where it cannot be drawn.
  const begun = new Map();
  const show = figure => {
    if (!figure.querySelector(".plot-area")) return Promise.resolve();
    if (!begun.has(figure)) {
      figure.dataset.state = "loading";
      begun.set(figure, begin(figure).catch(error => {
        figure.dataset.state = "failed";
        const text = document.createElement("p");
        text.className = "plot-failed";
        text.textContent = `This plot cannot be drawn (${error.message}). The table below has its numbers.`;
        figure.querySelector(".plot-area").replaceChildren(text);
      }));
    }
    return begun.get(figure);
  };

  const repaint = () => { for (const state of states.values()) paint(state); };

  const start = () => {
    const seen = new IntersectionObserver(entries => {
      for (const entry of entries) if (entry.isIntersecting) { seen.unobserve(entry.target); show(entry.target); }
    }, {rootMargin: "200px"});
    for (const figure of document.querySelectorAll("figure.plot")) seen.observe(figure);
    for (const details of document.querySelectorAll("details[data-wanted=table]")) {
      details.addEventListener("toggle", () => tabulate(details));
    }
    // What was not in view yet is drawn for paper, too: if not on this one, then on the next.
    addEventListener("beforeprint", () => {
      for (const figure of document.querySelectorAll("figure.plot")) if (figure.checkVisibility()) show(figure);
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
    matchMedia("print").addEventListener("change", repaint);
  };

  // For pages that make figures of their own: `watch` one that was added, or `show` it at once.
  window.acceptancePlots = {show, load, watch: start};
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
