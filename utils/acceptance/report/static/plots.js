// The figures of the report: where one comes near the window it loads its data, draws it with plotly.js
// over its picture, in the colours of the theme, and follows size, theme and printing.
// `report/figures.py` makes figures, `report/pictures.py` their pictures. What people do with a
// figure: the legend as buttons (a click hides a trace, a double click or Shift and a click shows it
// alone), and the keyboard, which goes from number to number and says each.
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
  const library = () => load(here + "plotly.min.js");
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

  // The template of the layout and traces of all figures; colours are those of `plot.css`.
  const [ground, ink, faint] = ["ground", "ink", "faint"].map(name => `var(--plot-${name})`);
  const axis = {title: {standoff: 8}, automargin: true, color: ink, gridcolor: faint, linecolor: ink, showline: true,
    ticks: "outside", tickcolor: ink, ticklen: 4, zeroline: false, mirror: true, exponentformat: "power", separatethousands: true};
  const spoke = {gridcolor: faint, linecolor: ink, tickcolor: ink};
  const round = {
    bgcolor: ground, angularaxis: {...spoke, direction: "clockwise", rotation: 90, tickfont: {size: 12}},
    radialaxis: {...spoke, rangemode: "tozero", angle: 90, tickangle: 90, nticks: 5, tickfont: {size: 11}, layer: "above traces"},
  };
  const common = {
    paper_bgcolor: ground, plot_bgcolor: ground, showlegend: false, hovermode: "closest", dragmode: "zoom",
    font: {size: 13, color: ink}, margin: {l: 12, r: 14, t: 14, b: 12}, barmode: "group", bargap: 0.25, bargroupgap: 0.06,
    hoverlabel: {bgcolor: ground, bordercolor: ink, align: "left", namelength: -1, font: {size: 13, color: ink}},
    xaxis: axis, yaxis: axis, polar: round,
    annotationdefaults: {showarrow: false, font: {size: 11}, borderpad: 1},
  };
  const line = {line: {width: 2.25}, marker: {size: 7}};
  const pattern = {fillmode: "overlay", fgcolor: ground, fgopacity: 1, size: 8, solidity: 0.25};
  const bar = {orientation: "h", y: 1.02, yanchor: "bottom", thickness: 14, outlinewidth: 0, tickcolor: ink, tickformat: ",~r", title: {side: "top"}};
  const kinds = {
    scatter: [{...line, cliponaxis: false}], scatterpolar: [{...line, connectgaps: false, cliponaxis: false}],
    bar: [{textposition: "none", cliponaxis: false, marker: {line: {width: 1.5}, pattern}}],
    heatmap: [{colorscale: "Cividis", hoverongaps: true, colorbar: bar}],
  };
  // What differs on a phone.
  const onPhone = {"layout.font.size": 12, "layout.dragmode": false};

  // Returns a copy of a figure in the colours of the theme, with what differs on a phone.
  const themed = (figure, made, narrow) => {
    const style = getComputedStyle(figure);
    const template = {layout: common, data: kinds};
    const copy = JSON.parse(JSON.stringify({...made, layout: {...made.layout, template}}).replace(/"var\((--plot-[a-z0-9-]+)\)([0-9a-f]*)"/g,
      (_, name, opaque) => `"${style.getPropertyValue(name).trim()}${opaque}"`));
    for (const [path, value] of Object.entries(narrow ? {...onPhone, ...made.narrow} : {})) {
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

  const HELP = "Arrow keys: left and right along a trace, up and down to the others, Home and End; "
    + "Enter follows the number, Escape leaves it.";
  const STEP = 10;
  const SPACE = "http://www.w3.org/2000/svg";
  const DASHES = {solid: "", dot: "2 3", dash: "7 3", dashdot: "7 3 2 3", longdash: "12 4"};
  const PATHS = {
    circle: "M-4,0a4,4 0 1,0 8,0a4,4 0 1,0 -8,0Z", square: "M-4,-4H4V4H-4Z", diamond: "M0,-5L5,0L0,5L-5,0Z",
    "triangle-up": "M0,-5L5,4H-5Z", cross: "M-1.5,-5H1.5V-1.5H5V1.5H1.5V5H-1.5V1.5H-5V-1.5H-1.5Z",
    x: "M-4,-5L0,-1.5L4,-5L5,-4L1.5,0L5,4L4,5L0,1.5L-4,5L-5,4L-1.5,0L-5,-4Z", "triangle-down": "M0,5L5,-4H-5Z",
    pentagon: "M0,-5L5,-1.5L3,4.5H-3L-5,-1.5Z", star: "M0,-6L1.5,-2H6L2.5,1L4,5L0,2.5L-4,5L-2.5,1L-6,-2H-1.5Z",
    hexagon: "M-2.5,-4.5H2.5L5,0L2.5,4.5H-2.5L-5,0Z",
  };

  // Texts are escaped for plotly: as a person reads them they are so again.
  const plain = text => text.replace(/&lt;/g, "<").replace(/&gt;/g, ">").replace(/&amp;/g, "&");
  const isMatrix = trace => trace.type === "heatmap";
  const length = trace => isMatrix(trace) ? trace.x.length * trace.y.length : trace.text.length;
  const of = (trace, values, at) => isMatrix(trace)
    ? values[Math.floor(at / trace.x.length)][at % trace.x.length] : values[at];

  // The traces that have numbers, by their places in the data, in the order of the legend.
  const mains = data => data.map((_, at) => at).filter(at => data[at].text)
    .sort((one, other) => data[one].legendgroup - data[other].legendgroup);

  const made = (name, values) => {
    const part = document.createElementNS(SPACE, name);
    for (const [key, value] of Object.entries(values)) part.setAttribute(key, value);
    return part;
  };

  const swatch = (trace, filled) => {
    const svg = made("svg", {viewBox: "0 0 36 14", width: 36, height: 14, "aria-hidden": "true", focusable: "false"});
    const {line, marker} = trace;
    if (trace.type === "bar") {
      svg.append(made("rect", {x: 6, y: 1, width: 24, height: 12, fill: marker.color, stroke: marker.line.color}));
      return svg;
    }
    if (filled) svg.append(made("rect", {x: 0, y: 1, width: 36, height: 12, fill: line.color, "fill-opacity": 0.25}));
    if (trace.mode.includes("lines")) {
      svg.append(made("line", {x1: 0, x2: 36, y1: 7, y2: 7, stroke: line.color, "stroke-width": 2.25, "stroke-dasharray": DASHES[line.dash]}));
    }
    if (marker && trace.mode.includes("markers")) {
      svg.append(made("path", {d: PATHS[marker.symbol.replace("-open", "")], transform: "translate(18 7)", stroke: marker.color,
        "stroke-width": 1.5, fill: marker.symbol.endsWith("-open") ? "none" : marker.color}));
    }
    return svg;
  };

  const legend = state => {
    const {figure, area, hidden} = state;
    const {data} = area;
    const groups = mains(data).map(at => data[at].legendgroup);
    if (data.some(isMatrix)) return;
    const buttons = groups.map((group, number) => {
      const trace = data[mains(data)[number]];
      const button = document.createElement("button");
      button.type = "button";
      button.title = "Click: hide or show. Shift and click, or double click: this one alone.";
      const name = document.createElement("span");
      name.textContent = plain(trace.name);
      button.append(swatch(trace, data.some(part => part.legendgroup === group && part.fill === "tonexty")), name);
      return button;
    });
    const apply = () => {
      // On paper is what was chosen, no longer the picture of all.
      figure.querySelector(".plot-picture")?.remove();
      Plotly.restyle(area, {visible: data.map(trace => !hidden.has(trace.legendgroup))}, data.map((_, at) => at));
      say();
    };
    const say = () => buttons.forEach((button, at) => button.setAttribute("aria-pressed", String(!hidden.has(groups[at]))));
    const toggle = group => { if (!hidden.delete(group)) hidden.add(group); apply(); };
    const alone = group => {
      const others = groups.filter(other => other !== group);
      const already = others.every(other => hidden.has(other));
      hidden.clear();
      if (!already) others.forEach(other => hidden.add(other));
      apply();
    };
    buttons.forEach((button, at) => {
      button.addEventListener("click", event => (event.shiftKey ? alone : toggle)(groups[at]));
      // The two clicks before have cancelled each other.
      button.addEventListener("dblclick", () => alone(groups[at]));
    });
    say();
    figure.querySelector(".plot-legend").replaceChildren(...buttons);
  };

  const linkOf = ({area, figure, at}) => {
    const trace = area.data[at.trace];
    const link = trace.customdata && of(trace, trace.customdata, at.point);
    return link ? new URL(figure.dataset.top + link, document.baseURI).href : "";
  };

  // Says the number that the keyboard or a click stands on; on a phone nothing hovers.
  const say = state => {
    const box = state.figure.querySelector(".plot-readout");
    box.replaceChildren();
    if (!state.at) return;
    const trace = state.area.data[state.at.trace];
    box.textContent = plain(`${trace.meta}; ${of(trace, trace.text, state.at.point).replace(/<br>/g, "; ")} `);
    const href = linkOf(state);
    if (href) box.append(Object.assign(document.createElement("a"), {href, textContent: "Follow this number"}));
  };

  // The label at the number, as the pointer has it. What is off the axes has none, and is still said.
  const mark = ({area, at}) => {
    try {
      const trace = area.data[at.trace];
      const across = isMatrix(trace) && trace.x.length;
      const pointNumber = across ? [Math.floor(at.point / across), at.point % across] : at.point;
      Plotly.Fx.hover(area, [{curveNumber: at.trace, pointNumber}], trace.type === "scatterpolar" ? "polar" : "xy");
    } catch (error) {
      Plotly.Fx.unhover(area);
    }
  };

  const go = (state, trace, point) => {
    state.at = {trace, point: Math.max(0, Math.min(length(state.area.data[trace]) - 1, point))};
    mark(state);
    say(state);
  };

  const nearest = (from, to, at) => {
    const x = (from.x || from.theta)[at];
    const places = to.x || to.theta;
    const same = places.indexOf(x);
    if (same >= 0 || typeof x !== "number") return Math.max(0, same);
    return places.reduce((best, place, number) => Math.abs(place - x) < Math.abs(places[best] - x) ? number : best, 0);
  };

  const moved = (state, key, all) => {
    const {trace: number, point} = state.at;
    const trace = state.area.data[number];
    const rows = isMatrix(trace) ? trace.x.length : 0;
    const along = {ArrowLeft: -1, ArrowRight: 1, PageUp: -STEP * (rows || 1), PageDown: STEP * (rows || 1), Home: -Infinity, End: Infinity};
    if (key in along) return go(state, number, point + along[key]);
    const step = key === "ArrowUp" ? -1 : 1;
    if (rows) {
      const to = point + step * rows;
      return go(state, number, to >= 0 && to < length(trace) ? to : point);
    }
    const to = all[(all.indexOf(number) + step + all.length) % all.length];
    return go(state, to, nearest(trace, state.area.data[to], point));
  };

  const MOVES = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End", "PageUp", "PageDown"];

  const key = (state, event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.target !== state.area && event.target !== state.figure) return;
    const {data} = state.area;
    const all = mains(data).filter(at => !state.hidden.has(data[at].legendgroup) && length(data[at]));
    if (MOVES.includes(event.key) && all.length) {
      event.preventDefault();
      if (state.at && all.includes(state.at.trace)) moved(state, event.key, all);
      else go(state, all[0], event.key === "End" ? Infinity : 0);
    } else if (event.key === "Escape" && state.at) {
      event.preventDefault();
      state.at = null;
      Plotly.Fx.unhover(state.area);
      say(state);
    } else if (event.key === "Enter" && state.at && linkOf(state)) location.assign(linkOf(state));
  };

  const follow = state => {
    const {figure, area} = state;
    area.tabIndex = 0;
    area.setAttribute("role", "application");
    area.setAttribute("aria-roledescription", "plot");
    area.setAttribute("aria-labelledby", `${figure.id}-title`);
    const help = Object.assign(document.createElement("p"), {className: "plot-keys", id: `${figure.id}-keys`, textContent: HELP});
    area.after(help);
    area.setAttribute("aria-describedby", `${help.id} ${figure.id}-summary`);
    figure.addEventListener("keydown", event => key(state, event));
    area.on("plotly_click", ({points: [hit]}) => {
      const trace = area.data[hit.curveNumber];
      if (!trace.text) return;
      const point = Array.isArray(hit.pointNumber) ? hit.pointNumber[0] * trace.x.length + hit.pointNumber[1] : hit.pointNumber;
      state.at = {trace: hit.curveNumber, point: point % length(trace)};
      say(state);
    });
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
    legend(state);
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
    const hidden = new Set(made.data.filter(trace => trace.visible === false).map(trace => trace.legendgroup));
    const state = {figure, area, made, hidden, at: null};
    await paint(state);
    states.set(figure, state);
    follow(state);
    let width = area.clientWidth;
    new ResizeObserver(() => {
      if (area.clientWidth !== width) { width = area.clientWidth; resized(state); }
    }).observe(area);
    // The style shows what is drawn, and hides the picture, by this.
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
        // A picture stays; what plotly.js began goes, and so do words that promise more.
        for (const part of figure.querySelectorAll(".plot-container, p.plot-picture")) part.remove();
        figure.querySelector(".plot-area").append(text);
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
    // What has no picture is drawn for paper, too: if not on this one, then on the next.
    addEventListener("beforeprint", () => {
      for (const figure of figures) if (figure.querySelector("p.plot-picture") && figure.checkVisibility()) show(figure);
    });
    const repaint = () => { for (const state of states.values()) paint(state); };
    for (const media of ["(prefers-color-scheme: dark)", "print"]) matchMedia(media).addEventListener("change", repaint);
    // The library takes longer than all else: it is loaded while the page is read, once that is painted.
    (window.requestIdleCallback || setTimeout)(() => library().catch(() => {}));
  };

  // For pages that make figures of their own: `show` one that was added.
  window.acceptancePlots = {show, load};
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
