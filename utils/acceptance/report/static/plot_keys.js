// The keyboard of a plot, and what is said of the number it stands on: arrow keys go along a trace
// and from one to another, Home and End to its ends, Enter follows the number, Escape leaves it.
"use strict";
(() => {
  const HELP = "Arrow keys: left and right along a trace, up and down to the others, Home and End; "
    + "Enter follows the number, Escape leaves it.";
  const STEP = 10;

  const shown = state => state.plot.traces.map((_, at) => at).filter(at => !state.hidden.has(at)
    && state.plot.traces[at].x.length);
  const length = trace => trace.x.length * (trace.form === "cells" ? trace.rows.length : 1);

  const address = (state, link) => new URL(state.figure.dataset.top + link, document.baseURI).href;

  const say = state => {
    const box = state.figure.querySelector(".plot-readout");
    if (!state.at) { box.replaceChildren(); return; }
    const trace = state.plot.traces[state.at.trace];
    box.replaceChildren(document.createTextNode(window.acceptanceDrawing.said(state.plot, trace, state.at.point).join("; ") + " "));
    const link = trace.links[state.at.point];
    if (link) {
      const follow = document.createElement("a");
      follow.href = address(state, link);
      follow.textContent = "Follow this number";
      box.append(follow);
    }
  };

  const point = state => {
    const trace = state.plot.traces[state.at.trace];
    const parts = state.parts[state.at.trace];
    const curveNumber = trace.form === "cells" ? parts[0] : parts[parts.length - 1];
    if (trace.form === "cells") {
      const across = trace.x.length;
      return {curveNumber, pointNumber: [Math.floor(state.at.point / across), state.at.point % across]};
    }
    return {curveNumber, pointNumber: state.at.point};
  };

  // The label at the number, as the pointer has it. What is off the axes has none, and is still said.
  const mark = state => {
    if (!state.at) { Plotly.Fx.unhover(state.area); return; }
    const trace = state.plot.traces[state.at.trace];
    try {
      Plotly.Fx.hover(state.area, [point(state)], trace.form === "polar" ? "polar" : "xy");
    } catch (error) {
      Plotly.Fx.unhover(state.area);
    }
  };

  const nearest = (from, to, at) => {
    if (from.form === "cells" || to.form === "cells") return 0;
    const x = from.x[at];
    const same = to.x.indexOf(x);
    if (same >= 0 || typeof x === "string") return Math.max(0, same);
    let best = 0;
    to.x.forEach((value, place) => { if (Math.abs(value - x) < Math.abs(to.x[best] - x)) best = place; });
    return best;
  };

  const go = (state, trace, at) => {
    state.at = {trace, point: Math.max(0, Math.min(length(state.plot.traces[trace]) - 1, at))};
    mark(state);
    say(state);
  };

  const across = (state, step) => {
    const all = shown(state);
    const {trace, point: at} = state.at;
    const to = all[(all.indexOf(trace) + step + all.length) % all.length];
    if (to !== undefined) go(state, to, nearest(state.plot.traces[trace], state.plot.traces[to], at));
  };

  const step = (state, key) => {
    const trace = state.plot.traces[state.at.trace];
    const at = state.at.point;
    const rows = trace.form === "cells" ? trace.x.length : 0;
    const moves = {
      ArrowLeft: () => go(state, state.at.trace, at - 1),
      ArrowRight: () => go(state, state.at.trace, at + 1),
      PageUp: () => go(state, state.at.trace, at - STEP * (rows || 1)),
      PageDown: () => go(state, state.at.trace, at + STEP * (rows || 1)),
      Home: () => go(state, state.at.trace, 0),
      End: () => go(state, state.at.trace, length(trace) - 1),
      ArrowUp: () => rows ? go(state, state.at.trace, at - rows >= 0 ? at - rows : at) : across(state, -1),
      ArrowDown: () => rows ? go(state, state.at.trace, at + rows < length(trace) ? at + rows : at) : across(state, 1),
    };
    moves[key]();
  };

  const MOVES = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End", "PageUp", "PageDown"];

  const key = (state, event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.target !== state.area && event.target !== state.figure) return;
    const all = shown(state);
    if (MOVES.includes(event.key) && all.length) {
      event.preventDefault();
      if (state.at && all.includes(state.at.trace)) step(state, event.key);
      else go(state, all[0], event.key === "End" ? Infinity : 0);
    } else if (event.key === "Escape" && state.at) {
      event.preventDefault();
      state.at = null;
      mark(state);
      say(state);
    } else if (event.key === "Enter" && state.at) {
      const link = state.plot.traces[state.at.trace].links[state.at.point];
      if (link) location.assign(address(state, link));
    }
  };

  // A click stands on a number as the keys do: on a phone nothing hovers.
  const click = (state, event) => {
    const hit = event.points[0];
    const trace = state.parts.findIndex(parts => parts.includes(hit.curveNumber));
    if (trace < 0) return;
    const given = state.plot.traces[trace];
    const at = Array.isArray(hit.pointNumber) ? hit.pointNumber[0] * given.x.length + hit.pointNumber[1] : hit.pointNumber;
    state.at = {trace, point: at % length(given)};
    say(state);
  };

  const follow = state => {
    const {figure, area} = state;
    area.tabIndex = 0;
    area.setAttribute("role", "application");
    area.setAttribute("aria-roledescription", "plot");
    area.setAttribute("aria-labelledby", `${figure.id}-title`);
    const help = document.createElement("p");
    help.className = "plot-keys";
    help.id = `${figure.id}-keys`;
    help.textContent = HELP;
    area.after(help);
    area.setAttribute("aria-describedby", `${help.id} ${figure.id}-summary`);
    figure.addEventListener("keydown", event => key(state, event));
    area.on("plotly_click", event => click(state, event));
  };

  window.acceptanceKeys = {follow};
})();
