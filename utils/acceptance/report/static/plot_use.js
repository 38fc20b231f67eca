// What people do with a figure: the legend as buttons (a click hides a trace, a double click or Shift
// and a click shows it alone), and the keyboard, which goes from number to number and says each.
"use strict";
(() => {
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

  window.acceptanceUse = {legend, follow};
})();
