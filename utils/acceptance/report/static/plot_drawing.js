// A plot of `report/plot_model.py` as traces and layout of plotly.js. Text is escaped before it is handed
// on: plotly takes some HTML in texts. Colours and fonts are those of `plot.css`.
"use strict";
(() => {
  const {escaped, numberText, placeText, label, logTicks} = window.acceptanceTexts;
  const ORIGINS = {measured: "measured", past: "earlier sessions", published: "published",
    baseline: "baseline", limit: "physical limit"};
  const DASHES = {measured: "solid", past: "dot", published: "dash", baseline: "dashdot", limit: "longdash"};
  const SYMBOLS = ["circle", "square", "diamond", "triangle-up", "cross", "x", "triangle-down",
    "pentagon", "star", "hexagon"];
  const PATTERNS = ["", "/", "x", "-", ".", "\\", "|", "+"];
  const COLOURS = 6;
  // More points than this have no symbol each: they would hide the line, and take seconds.
  const SYMBOLS_UP_TO = 400;

  const theme = (figure, narrow) => {
    const style = getComputedStyle(figure);
    const of = name => style.getPropertyValue(`--plot-${name}`).trim();
    return {
      colours: Array.from({length: COLOURS}, (_, at) => of(`colour-${at + 1}`)),
      ground: of("ground"), ink: of("ink"), faint: of("faint"), limit: of("limit"),
      mark: of("mark"), warn: of("warn"), dark: of("dark") === "1",
      family: style.fontFamily, narrow: figure.clientWidth < narrow,
    };
  };

  // Which colour, dash and symbol each trace has: the group gives the colour, the origin the dash.
  const looks = (plot, colours) => {
    const groups = new Map();
    const seen = new Map();
    return plot.traces.map((trace, at) => {
      const bound = trace.origin === "limit" && !trace.group;
      const key = trace.group || `trace ${at}`;
      if (!bound && !groups.has(key)) groups.set(key, groups.size);
      const group = bound ? 0 : groups.get(key);
      const same = `${key} ${trace.origin}`;
      const before = seen.get(same) || 0;
      seen.set(same, before + 1);
      const symbol = SYMBOLS[(group + 3 * before) % SYMBOLS.length];
      return {
        colour: bound ? colours.limit : colours.colours[group % COLOURS],
        dash: DASHES[trace.origin],
        symbol: trace.origin === "measured" ? symbol : `${symbol}-open`,
        pattern: PATTERNS[(group + 3 * before) % PATTERNS.length],
      };
    });
  };

  const alpha = (colour, share) => {
    const value = parseInt(colour.slice(1), 16);
    return `rgba(${value >> 16},${(value >> 8) & 255},${value & 255},${share})`;
  };

  const places = (axis, values) => {
    if (axis.scale === "date") return values.map(value => value * 1000);
    if (axis.scale === "category") return values.map(escaped);
    if (axis.scale === "log") return values.map(value => value > 0 ? value : null);
    return values;
  };

  // What is said of a number: for the label at the pointer and for who listens.
  const said = (plot, trace, at) => {
    const cells = trace.form === "cells";
    const columns = trace.x.length;
    const [row, column] = cells ? [Math.floor(at / columns), at % columns] : [0, at];
    const value = cells ? trace.cells[row][column] : trace.y[at];
    const axis = cells && plot.z ? plot.z : plot.y;
    const place = placeText(plot.x, trace.x[column]);
    const lines = [`${trace.label}, ${ORIGINS[trace.origin]}`];
    lines.push(cells ? `${plot.y.title} ${trace.rows[row]}, ${plot.x.title} ${place}` : `${plot.x.title}: ${place}`);
    if (value !== null && value !== undefined) {
      lines.push(`${axis.title}: ${placeText(axis, value)}${axis.unit && axis.unit !== "B" ? " " + axis.unit : ""}`);
    } else if (trace.form !== "band") lines.push(`${axis.title}: no number`);
    if (cells && trace.cell_notes.length && trace.cell_notes[row][column]) lines.push(trace.cell_notes[row][column]);
    if (trace.low.length) lines.push(`from ${numberText(trace.low[at])} to ${numberText(trace.high[at])} ${plot.y.unit}`);
    if (trace.notes[at]) lines.push(trace.notes[at]);
    return lines;
  };

  const hover = (plot, trace) => trace.x.map((_, at) => said(plot, trace, at).map(escaped).join("<br>"));

  const line = (plot, trace, look) => {
    const long = trace.x.length > SYMBOLS_UP_TO;
    const bound = trace.origin === "limit";
    const alone = trace.form === "points";
    const drawn = {
      type: "scatter", mode: alone ? "markers" : long || bound ? "lines" : "lines+markers",
      x: places(plot.x, trace.x), y: places(plot.y, trace.y), text: hover(plot, trace),
      line: {color: look.colour, dash: look.dash, width: bound ? 2 : 2.25, simplify: true},
      marker: {color: look.colour, symbol: look.symbol, size: alone && long ? 3 : alone ? 9 : 7,
        line: {width: look.symbol.endsWith("open") ? 1.75 : 0, color: look.colour}},
    };
    if (trace.low.length) {
      const arms = {visible: true, type: "data", symmetric: false, thickness: 1.25, width: 3, color: look.colour};
      drawn.error_y = {...arms, array: trace.y.map((y, at) => trace.high[at] - y),
        arrayminus: trace.y.map((y, at) => y - trace.low[at])};
    }
    return [drawn];
  };

  const band = (plot, trace, look) => {
    const x = places(plot.x, trace.x);
    const edge = {type: "scatter", mode: "lines", x, hoverinfo: "skip",
      line: {color: look.colour, width: 0.75, dash: "dot"}};
    const middle = trace.y.length ? trace.y : trace.low.map((low, at) => (low + trace.high[at]) / 2);
    return [
      {...edge, y: places(plot.y, trace.low)},
      {...edge, y: places(plot.y, trace.high), fill: "tonexty", fillcolor: alpha(look.colour, 0.18)},
      {type: "scatter", mode: "lines", x, y: places(plot.y, middle), text: hover(plot, trace),
        line: {color: look.colour, width: trace.y.length ? 1.5 : 0, dash: "dot"}},
    ];
  };

  const bar = (plot, trace, look, colours) => [{
    type: "bar", x: places(plot.x, trace.x), y: trace.y, text: hover(plot, trace), textposition: "none",
    marker: {color: trace.origin === "measured" ? look.colour : alpha(look.colour, 0.45),
      line: {color: look.colour, width: 1.5},
      pattern: {shape: look.pattern, fillmode: "overlay", fgcolor: colours.ground, fgopacity: 1, size: 8, solidity: 0.25}},
    ...(trace.low.length ? {error_y: {type: "data", symmetric: false, color: colours.ink, thickness: 1.25, width: 3,
      array: trace.y.map((y, at) => trace.high[at] - y), arrayminus: trace.y.map((y, at) => y - trace.low[at])}} : {}),
  }];

  // Names around a circle have little room on a phone: they are broken at `/` and behind long words.
  const spokes = (trace, narrow) => trace.x.map(name => {
    const text = escaped(name);
    return narrow ? text.replace(/\//g, "/<br>").replace(/([a-z]{4,})-/gi, "$1-<br>") : text;
  });

  const polar = (plot, trace, look, colours) => {
    const theta = spokes(trace, colours.narrow);
    const text = hover(plot, trace);
    const closed = values => values.concat(values.slice(0, 1));
    return [{
      type: "scatterpolar", mode: "lines+markers", theta: closed(theta), r: closed(trace.y), text: closed(text),
      fill: "toself", fillcolor: alpha(look.colour, 0.08), connectgaps: false,
      line: {color: look.colour, dash: look.dash, width: 2.25},
      marker: {color: look.colour, symbol: look.symbol, size: 7},
    }];
  };

  const cells = (plot, trace, look, colours) => window.acceptanceCells.traces(plot, trace, colours, tools);

  const FORMS = {line, points: line, bar, band, polar, cells};

  // Returns the traces of plotly, and of each trace of ours the numbers of those that it became.
  const traces = (plot, colours) => {
    const drawn = [];
    const parts = [];
    const all = looks(plot, colours);
    const order = plot.traces.map((_, at) => at);
    order.sort((one, other) => (plot.traces[other].form === "band") - (plot.traces[one].form === "band"));
    for (const at of order) {
      const trace = plot.traces[at];
      const made = FORMS[trace.form](plot, trace, all[at], colours);
      parts[at] = made.map((_, part) => drawn.length + part);
      for (const part of made) {
        drawn.push({name: escaped(trace.label), hoverinfo: part.hovertemplate ? undefined : "text",
          hoverlabel: {align: "left", namelength: -1}, cliponaxis: false, ...part});
      }
    }
    return {drawn, parts, looks: all};
  };

  // A title that is longer than its axis is broken at the space that is nearest to its middle.
  const titleOf = (text, most) => {
    if (text.length <= most) return escaped(text);
    const spaces = [...text.matchAll(/ /g)].map(found => found.index);
    const middle = spaces.sort((one, other) => Math.abs(one - text.length / 2) - Math.abs(other - text.length / 2))[0];
    return middle === undefined ? escaped(text) : `${escaped(text.slice(0, middle))}<br>${escaped(text.slice(middle + 1))}`;
  };

  const axisOf = (plot, which, colours) => {
    const axis = plot[which];
    const text = axis.unit === "B" && axis.scale === "log" ? axis.title : label(axis);
    const flat = {title: {text: titleOf(text, colours.narrow ? 30 : 44), standoff: 8},
      automargin: true, color: colours.ink, gridcolor: colours.faint, linecolor: colours.ink, showline: true,
      ticks: "outside", tickcolor: colours.ink, ticklen: 4, zeroline: false, mirror: true, exponentformat: "power"};
    if (axis.scale === "category") return {...flat, type: "category", showgrid: false, tickangle: "auto"};
    if (axis.scale === "date") return {...flat, type: "date", hoverformat: "%Y-%m-%d %H:%M"};
    if (axis.scale === "log") return {...flat, type: "log"};
    return {...flat, type: "linear", separatethousands: true, rangemode: which === "y" && !axis.free ? "tozero" : "normal"};
  };

  const isBinary = (plot, which) => plot[which].unit === "B" || (which === "x" && plot.traces.every(trace =>
    trace.x.every(value => typeof value === "number" && (value <= 0 || Number.isInteger(Math.log2(value))))));

  // Ticks of both axes for the ranges that are shown: none where plotly's own are right.
  const ticks = (plot, ranges, narrow) => {
    const changes = {};
    for (const which of ["x", "y"]) {
      const axis = plot[which];
      if (axis.scale !== "log" || !ranges[which]) continue;
      const [low, high] = ranges[which].map(power => 10 ** power);
      const made = logTicks(axis, low, high, isBinary(plot, which), narrow && which === "x" ? 6 : 14);
      for (const [key, value] of Object.entries(made)) changes[`${which}axis.${key}`] = value;
    }
    return changes;
  };

  const COLOUR_OF_MARK = {limit: "limit", one: "limit", change: "warn", "slow-night": "warn"};

  const marks = (plot, colours) => {
    const shapes = [];
    const annotations = [];
    plot.marks.forEach((mark, at) => {
      if (mark.kind === "culprit" || mark.kind === "leaf") return;
      const colour = colours[COLOUR_OF_MARK[mark.kind] || "mark"];
      const style = {width: 1.75, color: colour, dash: mark.kind === "one" ? "solid" : "longdash"};
      const shape = {type: "line", line: style, layer: "below"};
      const text = {text: escaped(mark.text), showarrow: false, font: {size: 11, color: colour},
        bgcolor: alpha(colours.ground, 0.75), borderpad: 1};
      if (mark.y !== null) {
        const place = plot.y.scale === "log" ? Math.log10(mark.y) : mark.y;
        shapes.push({...shape, xref: "paper", x0: 0, x1: 1, yref: "y", y0: mark.y, y1: mark.y});
        annotations.push({...text, xref: "paper", x: 1, xanchor: "right", yref: "y", y: place, yanchor: "bottom"});
      } else if (mark.x !== null) {
        const date = plot.x.scale === "date";
        const x = date ? mark.x * 1000 : mark.x;
        shapes.push({...shape, yref: "paper", y0: 0, y1: 1, xref: "x", x0: x, x1: x});
        annotations.push({...text, yref: "paper", y: 0.99, yanchor: "top", xref: "x", textangle: -90,
          x: plot.x.scale === "log" ? Math.log10(x) : x, xanchor: "right"});
      }
    });
    if (plot.simulated) annotations.push({text: "simulated", showarrow: false, xref: "paper", yref: "paper", x: 0.5, y: 0.5,
      xanchor: "center", yanchor: "middle", font: {size: colours.narrow ? 34 : 56, color: alpha(colours.ink, 0.1)}});
    return {shapes, annotations};
  };

  const layout = (plot, colours) => {
    const round = plot.traces.some(trace => trace.form === "polar");
    const matrix = plot.traces.some(trace => trace.form === "cells");
    const flat = {
      paper_bgcolor: colours.ground, plot_bgcolor: colours.ground, showlegend: false, hovermode: "closest",
      font: {family: colours.family, size: colours.narrow ? 12 : 13, color: colours.ink},
      margin: {l: 12, r: 14, t: 14, b: 12}, dragmode: colours.narrow ? false : "zoom", barmode: "group",
      bargap: 0.25, bargroupgap: 0.06, hoverlabel: {bgcolor: colours.ground, bordercolor: colours.ink,
        font: {family: colours.family, size: 13, color: colours.ink}}, ...marks(plot, colours),
    };
    if (round) {
      const spoke = {gridcolor: colours.faint, linecolor: colours.ink, tickcolor: colours.ink};
      return {...flat, margin: {l: colours.narrow ? 80 : 150, r: colours.narrow ? 80 : 150, t: 40, b: 40}, polar: {bgcolor: colours.ground,
        angularaxis: {...spoke, direction: "clockwise", rotation: 90, tickfont: {size: colours.narrow ? 10 : 12}},
        radialaxis: {...spoke, rangemode: "tozero", angle: 90, tickangle: 90, nticks: 5, tickfont: {size: 11}, layer: "above traces"}}};
    }
    const axes = {xaxis: axisOf(plot, "x", colours), yaxis: axisOf(plot, "y", colours)};
    return matrix ? window.acceptanceCells.layout(plot, {...flat, ...axes}, colours, tools) : {...flat, ...axes};
  };

  const tools = {escaped, said, label, places, alpha};
  window.acceptanceDrawing = {theme, traces, layout, ticks, said, placeText, numberText, label, ORIGINS};
})();
