// The figures of the report: loads the data of each when it comes into view, draws it with plotly.js
// in the colours of the theme, and follows size, theme and printing. `report/figures.py` makes them.
"use strict";
(() => {
  const here = document.currentScript.src.replace(/[^/]*$/, "");
  // A figure that is narrower than this (px) is drawn as for a phone.
  const NARROW = 560;
  const states = new Map();
  const loading = new Map();
  let handed = null;

  // What the data of a figure are handed to: a script of data does nothing else.
  window.acceptancePlot = data => { handed = data; };

  const load = url => {
    if (!loading.has(url)) {
      loading.set(url, new Promise((done, failed) => {
        const script = document.createElement("script");
        script.src = url;
        script.addEventListener("load", () => { const data = handed; handed = null; done(data); });
        script.addEventListener("error", () => failed(new Error(`cannot load ${url}`)));
        document.head.append(script);
      }));
    }
    return loading.get(url);
  };
  const library = async () => {
    for (const name of ["plotly.min.js", "plot_theme.js", "plot_use.js"]) await load(here + name);
  };
  const source = figure => load(new URL(figure.dataset.source, document.baseURI).href);

  // plotly.js writes some style attributes, which the policy of the page refuses; the same style set
  // through the object model is allowed.
  for (const name of ["setAttribute", "setAttributeNS"]) {
    const plain = Element.prototype[name];
    Element.prototype[name] = function (...given) {
      const [attribute, value] = given.slice(-2);
      if (attribute === "style") this.style.cssText = value;
      else plain.apply(this, given);
    };
  }

  // Returns a copy of a figure in the colours of the theme, with what differs on a phone.
  const themed = (figure, made, narrow) => {
    const style = getComputedStyle(figure);
    const {template, narrow: common} = window.acceptanceTheme;
    const copy = JSON.parse(JSON.stringify({...made, layout: {...made.layout, template}}).replace(/"var\((--plot-[a-z0-9-]+)\)([0-9a-f]*)"/g,
      (_, name, opaque) => `"${style.getPropertyValue(name).trim()}${opaque}"`));
    for (const [path, value] of Object.entries(narrow ? {...common, ...made.narrow} : {})) {
      const parts = path.split(".");
      const last = parts.pop();
      parts.reduce((inner, part) => inner[part] ??= {}, copy)[last] = value;
    }
    const {font, hoverlabel} = copy.layout.template.layout;
    font.family = hoverlabel.font.family = style.fontFamily;
    // On a phone a label would hide the plot: what is clicked is said below it.
    if (narrow) for (const trace of copy.data) if (trace.hovertemplate) Object.assign(trace, {hovertemplate: "", hoverinfo: "none"});
    return copy;
  };

  const paint = async state => {
    const {figure, area, made} = state;
    state.narrow = figure.clientWidth < NARROW;
    const {data, layout} = themed(figure, made, state.narrow);
    for (const trace of data) trace.visible = !state.hidden.has(trace.legendgroup);
    await Plotly.react(area, data, layout, {
      displaylogo: false, responsive: false, scrollZoom: false,
      modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"],
      toImageButtonOptions: {format: "svg", filename: made.id + (made.simulated ? "-simulated" : "")},
    });
    window.acceptanceUse.legend(state);
  };

  const resized = state => {
    if (!state.area.clientWidth) return;
    if (state.narrow === state.figure.clientWidth < NARROW) Plotly.Plots.resize(state.area);
    else paint(state).then(() => Plotly.Plots.resize(state.area));
  };

  const begin = async figure => {
    const area = figure.querySelector(".plot-area");
    // A page that makes figures of its own gives them their data.
    const [made] = await Promise.all([figure.acceptanceData || source(figure), library()]);
    if (!made || made.id !== figure.id) throw new Error(`${figure.dataset.source} has no plot ${figure.id}`);
    area.replaceChildren();
    const hidden = new Set(made.data.filter(trace => trace.visible === false).map(trace => trace.legendgroup));
    const state = {figure, area, made, hidden, at: null};
    await paint(state);
    states.set(figure, state);
    window.acceptanceUse.follow(state);
    let width = area.clientWidth;
    new ResizeObserver(() => {
      if (area.clientWidth !== width) { width = area.clientWidth; resized(state); }
    }).observe(area);
    figure.dataset.state = "drawn";
  };

  // The table of a plot on demand comes with its data.
  const tabulate = async details => {
    if (!details.open || details.dataset.wanted !== "table") return;
    const place = details.querySelector(".plot-scroll");
    try {
      place.innerHTML = (await source(details.closest("figure.plot"))).table;
      delete details.dataset.wanted;
    } catch (error) {
      place.textContent = `No table: ${error.message}. The CSV has the numbers.`;
    }
  };

  // Draws a figure, once; whoever asks again waits for the same. Says so where it cannot be drawn.
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

  const start = () => {
    const figures = document.querySelectorAll("figure.plot");
    const seen = new IntersectionObserver(entries => {
      for (const entry of entries) if (entry.isIntersecting) { seen.unobserve(entry.target); show(entry.target); }
    }, {rootMargin: "200px"});
    for (const figure of figures) seen.observe(figure);
    for (const details of document.querySelectorAll("details[data-wanted=table]")) {
      details.addEventListener("toggle", () => tabulate(details));
    }
    // What was not in view yet is drawn for paper, too: if not on this one, then on the next.
    addEventListener("beforeprint", () => { for (const figure of figures) if (figure.checkVisibility()) show(figure); });
    const repaint = () => { for (const state of states.values()) paint(state); };
    for (const media of ["(prefers-color-scheme: dark)", "print"]) matchMedia(media).addEventListener("change", repaint);
    // The library takes longer than all else: it is loaded while the page is read.
    (figures.length ? call => call() : window.requestIdleCallback || setTimeout)(() => library().catch(() => {}));
  };

  // For pages that make figures of their own: `show` one that was added.
  window.acceptancePlots = {show, load};
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
