// The legend of a plot, as buttons: it wraps on a phone, covers nothing, and answers to keys. A click
// hides a trace or shows it again, a double click (or Shift and a click) shows that one alone.
"use strict";
(() => {
  const SPACE = "http://www.w3.org/2000/svg";
  const DASHES = {solid: "", dot: "2 3", dash: "7 3", dashdot: "7 3 2 3", longdash: "12 4"};
  const PATHS = {
    circle: "M-4,0a4,4 0 1,0 8,0a4,4 0 1,0 -8,0Z", square: "M-4,-4H4V4H-4Z", diamond: "M0,-5L5,0L0,5L-5,0Z",
    "triangle-up": "M0,-5L5,4H-5Z", cross: "M-1.5,-5H1.5V-1.5H5V1.5H1.5V5H-1.5V1.5H-5V-1.5H-1.5Z",
    x: "M-4,-5L0,-1.5L4,-5L5,-4L1.5,0L5,4L4,5L0,1.5L-4,5L-5,4L-1.5,0L-5,-4Z", "triangle-down": "M0,5L5,-4H-5Z",
    pentagon: "M0,-5L5,-1.5L3,4.5H-3L-5,-1.5Z", star: "M0,-6L1.5,-2H6L2.5,1L4,5L0,2.5L-4,5L-2.5,1L-6,-2H-1.5Z",
    hexagon: "M-2.5,-4.5H2.5L5,0L2.5,4.5H-2.5L-5,0Z",
  };

  const made = (name, values) => {
    const part = document.createElementNS(SPACE, name);
    for (const [key, value] of Object.entries(values)) part.setAttribute(key, value);
    return part;
  };

  const swatch = (trace, look, colours) => {
    const svg = made("svg", {viewBox: "0 0 36 14", width: 36, height: 14, "aria-hidden": "true", focusable: "false"});
    const {colour, symbol} = look;
    const open = symbol.endsWith("-open");
    if (trace.form === "band") svg.append(made("rect", {x: 0, y: 1, width: 36, height: 12, fill: colour, "fill-opacity": 0.25}));
    if (trace.form === "bar") {
      const own = trace.origin === "measured";
      svg.append(made("rect", {x: 6, y: 1, width: 24, height: 12, fill: colour, "fill-opacity": own ? 1 : 0.45, stroke: colour}));
      return svg;
    }
    if (trace.form !== "points") {
      svg.append(made("line", {x1: 0, x2: 36, y1: 7, y2: 7, stroke: colour, "stroke-width": 2.25, "stroke-dasharray": DASHES[look.dash]}));
    }
    if (trace.form !== "band" && trace.origin !== "limit") {
      svg.append(made("path", {d: PATHS[symbol.replace("-open", "")], transform: "translate(18 7)", stroke: colour,
        "stroke-width": 1.5, fill: open ? colours.ground : colour}));
    }
    return svg;
  };

  const apply = state => {
    const visible = state.plot.traces.map((_, at) => !state.hidden.has(at));
    const parts = state.parts.flat();
    Plotly.restyle(state.area, {visible: state.parts.flatMap((part, at) => part.map(() => visible[at]))}, parts);
    state.figure.querySelectorAll(".plot-legend button").forEach((button, at) => {
      button.setAttribute("aria-pressed", String(visible[at]));
    });
  };

  const toggle = (state, at) => {
    if (!state.hidden.delete(at)) state.hidden.add(at);
    apply(state);
  };

  const alone = (state, at) => {
    const others = state.plot.traces.map((_, other) => other).filter(other => other !== at);
    const already = others.every(other => state.hidden.has(other));
    state.hidden = new Set(already ? [] : others);
    apply(state);
  };

  const show = (state, colours) => {
    const box = state.figure.querySelector(".plot-legend");
    if (state.plot.traces.every(trace => trace.form === "cells")) return;
    box.replaceChildren(...state.plot.traces.map((trace, at) => {
      const button = document.createElement("button");
      button.type = "button";
      button.title = "Click: hide or show. Shift and click, or double click: this one alone.";
      button.setAttribute("aria-pressed", String(!state.hidden.has(at)));
      const name = document.createElement("span");
      name.textContent = trace.label;
      button.append(swatch(trace, state.looks[at], colours), name);
      button.addEventListener("click", event => (event.shiftKey ? alone : toggle)(state, at));
      // The two clicks before have cancelled each other.
      button.addEventListener("dblclick", () => alone(state, at));
      return button;
    }));
  };

  window.acceptanceLegend = {show};
})();
