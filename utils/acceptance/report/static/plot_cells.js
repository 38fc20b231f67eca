// Matrices: cells with a colour for their value; what has no number is never drawn as a good one.
"use strict";
(() => {
  // Cells that have a text of their own each; of larger matrices the label has place and value only.
  const SPOKEN = 40000;
  const GAPS = 64;

  const flat = cells => cells.flatMap((row, at) => row.map((value, column) => [at, column, value]));

  // Cells without a number that have a reason are crossed out; those without one were not measured.
  const crossed = (trace, colours, tools) => {
    const failed = flat(trace.cells).filter(([row, column, value]) =>
      value === null && trace.cell_notes.length && trace.cell_notes[row][column]);
    const size = Math.max(4, Math.min(12, 300 / Math.max(1, trace.x.length)));
    return failed.length ? [{type: "scatter", mode: "markers", hoverinfo: "skip",
      x: failed.map(([, column]) => tools.escaped(trace.x[column])), y: failed.map(([row]) => tools.escaped(trace.rows[row])),
      marker: {symbol: "x-thin", size, color: colours.warn, line: {color: colours.warn, width: 2}}}] : [];
  };

  const traces = (plot, trace, colours, tools) => {
    const across = trace.x.length;
    const spoken = trace.rows.length * across <= SPOKEN;
    const gap = across > GAPS ? 0 : 1;
    const scale = plot.z || plot.y;
    const bar = {title: {text: tools.escaped(tools.label(scale)), side: colours.narrow ? "top" : "right"},
      thickness: 14, outlinewidth: 0, tickcolor: colours.ink, tickformat: ",~r"};
    const words = () => trace.rows.map((_, row) => trace.x.map((_, column) =>
      tools.said(plot, trace, row * across + column).map(tools.escaped).join("<br>")));
    return [{
      type: "heatmap", x: tools.places(plot.x, trace.x), y: trace.rows.map(tools.escaped), z: trace.cells,
      colorscale: "Cividis", reversescale: scale.falling, ...(scale.span ? {zmin: scale.span[0], zmax: scale.span[1]} : {}),
      hoverongaps: spoken, xgap: gap, ygap: gap,
      colorbar: colours.narrow ? {...bar, orientation: "h", y: 1.02, yanchor: "bottom"} : bar,
      ...(spoken ? {text: words()} : {hovertemplate: "%{y} → %{x}: %{z}<extra></extra>"}),
    }, ...crossed(trace, colours, tools)];
  };

  const layout = (plot, given, colours, tools) => {
    const trace = plot.traces.find(each => each.form === "cells");
    const shapes = [...given.shapes];
    const box = {type: "rect", xref: "x", yref: "y", fillcolor: "rgba(0,0,0,0)"};
    const right = trace.x.length - 0.5;
    const below = trace.rows.length - 0.5;
    for (const mark of plot.marks) {
      const culprit = {...box, line: {color: colours.warn, width: colours.narrow ? 1.5 : 3}};
      const border = {type: "line", xref: "x", yref: "y", line: {color: colours.ink, width: 1.5, dash: "dot"}};
      const one = mark.kind === "culprit" && mark.x !== null && mark.y !== null;
      if (one) shapes.push({...culprit, x0: mark.x - 0.5, x1: mark.x + 0.5, y0: mark.y - 0.5, y1: mark.y + 0.5});
      else if (mark.kind === "culprit" && mark.y !== null) shapes.push({...culprit, x0: -0.5, x1: right, y0: mark.y - 0.5, y1: mark.y + 0.5});
      else if (mark.kind === "culprit" && mark.x !== null) shapes.push({...culprit, x0: mark.x - 0.5, x1: mark.x + 0.5, y0: -0.5, y1: below});
      const at = mark.x === null ? mark.y : mark.x;
      if (mark.kind === "leaf" && at !== null) {
        shapes.push({...border, x0: at - 0.5, x1: at - 0.5, y0: -0.5, y1: below});
        shapes.push({...border, x0: -0.5, x1: right, y0: at - 0.5, y1: at - 0.5});
      }
    }
    const yaxis = {...given.yaxis, type: "category", autorange: "reversed", showgrid: false,
      title: {text: tools.escaped(tools.label(plot.y)), standoff: 8}};
    return {...given, shapes, xaxis: {...given.xaxis, type: "category", showgrid: false}, yaxis};
  };

  window.acceptanceCells = {traces, layout};
})();
