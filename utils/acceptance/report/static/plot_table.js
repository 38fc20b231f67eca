// The table of a plot that is loaded on demand, made of its data when somebody opens it. Its columns
// are those of `templates/plot.html.j2`.
"use strict";
(() => {
  // Rows of a table in a page, as MOST_ROWS in `plot_files.py`; the CSV has all of them.
  const MOST = 1000;

  const made = (name, text, attributes = {}) => {
    const element = document.createElement(name);
    if (text !== undefined) element.textContent = text;
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    return element;
  };

  const follow = (figure, trace, at) => {
    const cell = made("td");
    const note = trace.notes[at] || "";
    const link = trace.links[at];
    if (link) cell.append(made("a", note || "follow", {href: figure.dataset.top + link}));
    else cell.textContent = note;
    return cell;
  };

  const line = (figure, plot, trace, at, ranged, matrix) => {
    const {numberText, placeText} = window.acceptanceTexts;
    const columns = trace.x.length;
    const cells = trace.form === "cells";
    const [row, column] = cells ? [Math.floor(at / columns), at % columns] : [0, at];
    const value = cells ? trace.cells[row][column] : trace.y[at];
    const why = cells && trace.cell_notes.length ? trace.cell_notes[row][column] : "";
    const made_row = made("tr");
    made_row.append(made("td", placeText(plot.x, trace.x[column])));
    if (matrix) made_row.append(made("td", cells ? trace.rows[row] : ""));
    made_row.append(made("td", numberText(value), {class: "number"}));
    if (ranged) for (const ends of [trace.low, trace.high]) made_row.append(made("td", numberText(ends[at]), {class: "number"}));
    const last = follow(figure, trace, at);
    if (why) last.prepend(`${why} `);
    made_row.append(last);
    return made_row;
  };

  const table = (figure, plot) => {
    const {label} = window.acceptanceTexts;
    const matrix = plot.traces.some(trace => trace.form === "cells");
    const ranged = plot.traces.some(trace => trace.low.length);
    const names = [label(plot.x), ...(matrix ? [label(plot.y)] : []), label(plot.z || plot.y),
      ...(ranged ? ["low", "high"] : []), "where from"];
    const whole = made("table");
    const head = made("tr");
    head.append(...names.map(name => made("th", name, {scope: "col"})));
    const top = made("thead");
    top.append(head);
    whole.append(top);
    let left = MOST;
    let all = 0;
    for (const trace of plot.traces) {
      const count = trace.x.length * (trace.form === "cells" ? trace.rows.length : 1);
      const body = made("tbody");
      const first = made("tr");
      first.append(made("th", `${trace.label} (${window.acceptanceDrawing.ORIGINS[trace.origin]})`, {scope: "rowgroup", colspan: names.length}));
      body.append(first);
      for (let at = 0; at < Math.min(count, left); at += 1) body.append(line(figure, plot, trace, at, ranged, matrix));
      if (left > 0) whole.append(body);
      left -= Math.min(count, left);
      all += count;
    }
    return all > MOST ? [whole, made("p", `${all - MOST} more are in the CSV.`)] : [whole];
  };

  window.acceptanceTable = {fill: (figure, plot) => figure.querySelector(".plot-scroll").replaceChildren(...table(figure, plot))};
})();
