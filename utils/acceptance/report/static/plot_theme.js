// What all figures have in common: the template of their layout and traces, and what differs on a
// phone. Colours are those of `plot.css`, filled in by `plots.js`.
"use strict";
(() => {
  const [ground, ink, faint] = ["ground", "ink", "faint"].map(name => `var(--plot-${name})`);
  const axis = {title: {standoff: 8}, automargin: true, color: ink, gridcolor: faint, linecolor: ink, showline: true,
    ticks: "outside", tickcolor: ink, ticklen: 4, zeroline: false, mirror: true, exponentformat: "power", separatethousands: true};
  const spoke = {gridcolor: faint, linecolor: ink, tickcolor: ink};
  const round = {
    bgcolor: ground, angularaxis: {...spoke, direction: "clockwise", rotation: 90, tickfont: {size: 12}},
    radialaxis: {...spoke, rangemode: "tozero", angle: 90, tickangle: 90, nticks: 5, tickfont: {size: 11}, layer: "above traces"},
  };
  const layout = {
    paper_bgcolor: ground, plot_bgcolor: ground, showlegend: false, hovermode: "closest", dragmode: "zoom",
    font: {size: 13, color: ink}, margin: {l: 12, r: 14, t: 14, b: 12}, barmode: "group", bargap: 0.25, bargroupgap: 0.06,
    hoverlabel: {bgcolor: ground, bordercolor: ink, align: "left", namelength: -1, font: {size: 13, color: ink}},
    xaxis: axis, yaxis: axis, polar: round,
    annotationdefaults: {showarrow: false, font: {size: 11}, borderpad: 1},
  };
  const line = {line: {width: 2.25}, marker: {size: 7}};
  const pattern = {fillmode: "overlay", fgcolor: ground, fgopacity: 1, size: 8, solidity: 0.25};
  const bar = {thickness: 14, outlinewidth: 0, tickcolor: ink, tickformat: ",~r", title: {side: "right"}};
  const data = {
    scatter: [{...line, cliponaxis: false}], scatterpolar: [{...line, connectgaps: false, cliponaxis: false}],
    bar: [{textposition: "none", cliponaxis: false, marker: {line: {width: 1.5}, pattern}}],
    heatmap: [{colorscale: "Cividis", hoverongaps: true, colorbar: bar}],
  };
  const narrow = {"layout.font.size": 12, "layout.dragmode": false};
  window.acceptanceTheme = {template: {layout, data}, narrow};
})();
