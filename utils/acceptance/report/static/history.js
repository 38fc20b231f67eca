// The page of histories: finds series by words, and opens each to its plot. The samples of some
// cases are in one file (`pages/history.py`), which is loaded when the first of its series is opened.
"use strict";
(() => {
  const DAY = 86400;
  // More changes of software or nodes than these are told in the table alone.
  const MARKS = 12;
  const SHOWN = 44;

  const made = (name, values = {}, ...parts) => {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(values)) element.setAttribute(key, value);
    element.append(...parts);
    return element;
  };
  const date = time => new Date(time * 1000).toISOString().slice(0, 10);
  const text = value => Number(value.toPrecision(5)).toLocaleString("en-US", {maximumSignificantDigits: 5});
  const percent = (before, after) => `${after > before ? "+" : "−"}${Math.abs(100 * (after / before - 1)).toFixed(1)} %`;
  const cut = words => words.length > SHOWN ? words.slice(0, SHOWN) + "…" : words;
  const at = (runs, place) => {
    let word = "";
    for (const [begin, each] of runs) { if (begin > place) break; word = each; }
    return word;
  };

  const find = (data, id) => {
    for (const of of data.cases) for (const series of of.series) if (series.id === id) return [of, series];
    throw new Error(`no series ${id}`);
  };

  // The samples of a series: each with its time, value, session, software and nodes.
  const samples = (data, of, series) => {
    let time = 0;
    const times = of.times.map(step => { time += step; return time; });
    const cases = new Map(of.cases);
    return series.values.map((value, place) => {
      const [uuid, session] = data.sessions[of.sessions[place]];
      const page = cases.has(place) ? `${session}#case-${cases.get(place)}` : session;
      return {time: times[place], value, uuid, page, software: at(of.software, place), nodes: at(of.nodes, place)};
    }).filter(each => each.value !== null);
  };

  // Levels between changes, as the judge of the gate has them: a step at each change.
  const levels = (series, list) => {
    const x = [];
    const y = [];
    const first = list[0].time;
    const last = list[list.length - 1].time;
    const changes = (series.changes || []).filter(change => change[0] > first);
    if (!(series.changes || []).length && series.level === undefined) return null;
    const push = (time, level) => { x.push(time); y.push(level); };
    const earlier = (series.changes || []).filter(change => change[0] <= first);
    let level = changes.length ? changes[0][2] : earlier.length ? earlier[earlier.length - 1][3] : series.level;
    push(first, level);
    for (const [start, , before, after] of changes) { push(start, before); push(start, after); level = after; }
    push(last, level);
    return {x, y};
  };

  const marksOf = (of, series, list) => {
    const first = list[0].time;
    const last = list[list.length - 1].time;
    const there = time => time >= first - DAY && time <= last + DAY;
    const marks = [];
    const add = (kind, time, short, long) => { if (there(time)) marks.push({kind, x: time, text: short, long}); };
    for (const [start, decided, before, after, way] of series.changes || []) {
      add("change", start, `${date(start)} ${percent(before, after)}`,
        `${date(start)}: level ${text(before)} → ${text(after)} ${series.unit}, ${percent(before, after)}${way ? " " + way : ""}, decided ${date(decided)}`);
    }
    for (const [time, words] of series.alerts || []) {
      const of = marks.find(each => each.x === time);
      if (of) of.long += `; ${words}`;
      else add("change", time, "open alert", `${date(time)}: ${words}`);
    }
    for (const [time, words] of series.acks || []) add("acknowledged", time, "acknowledged", `${date(time)}: ${words}`);
    const slow = of.slow.filter(there);
    slow.slice(-MARKS).forEach(time => add("slow-night", time, "slow night", `${date(time)}: the whole partition was slow`));
    const software = list.filter((each, number) => number && each.software !== list[number - 1].software);
    for (const each of software.slice(-MARKS)) add("software", each.time, "software", `${date(each.time)}: software ${each.software || "not known"}`);
    marks.sort((one, other) => one.x - other.x);
    return marks;
  };

  // Texts in a figure are escaped, for plotly takes some HTML in them.
  const escaped = words => String(words).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  // More samples than this have no symbol each, as in `figures.py`.
  const SYMBOLS_UP_TO = 400;

  // A mark as a line across the plot.
  const lineAt = mark => {
    const color = `var(--plot-${["change", "slow-night"].includes(mark.kind) ? "warn" : "mark"})`;
    return {type: "line", layer: "below", yref: "paper", y0: 0, y1: 1, x0: mark.x * 1000, x1: mark.x * 1000,
      line: {width: 1.75, color, dash: "longdash"},
      label: {text: escaped(cut(mark.text)), textposition: "end", yanchor: "bottom", font: {size: 11, color}}};
  };

  // The figure of a series: the form that comes with the data, filled in.
  const drawn = (form, {id, title, name, unit, simulated}, list, notes, level, marks) => {
    const axis = `${name}${unit ? ` (${unit})` : ""}`;
    const said = (time, value, note) => [`time: ${new Date(time * 1000).toISOString().slice(0, 16).replace("T", " ")} UTC`,
      `${name}: ${text(value)} ${unit}`, note].filter(Boolean).map(escaped).join("<br>");
    const [own, steps] = form.data;
    const sim = simulated ? " (simulated)" : "";
    const data = [{...own, name: escaped(name + sim), x: list.map(each => each.time * 1000), y: list.map(each => each.value),
      mode: list.length > SYMBOLS_UP_TO ? "lines" : own.mode, customdata: list.map(each => each.page),
      meta: escaped(`${name}${sim}, measured`),
      text: list.map((each, at) => said(each.time, each.value, notes[at]))}];
    if (level) data.push({...steps, name: `level${sim}`, x: level.x.map(time => time * 1000), y: level.y,
      meta: `level${sim}, earlier sessions`, text: level.x.map((time, at) => said(time, level.y[at]))});
    const {yaxis} = form.layout;
    const [water] = form.layout.annotations;
    const narrow = {...form.narrow, "layout.yaxis.title.text": escaped(cut(axis))};
    if (!simulated) delete narrow["layout.annotations.0.font.size"];
    return {...form, id, title, simulated, data, narrow,
      layout: {...form.layout, yaxis: {...yaxis, title: {...yaxis.title, text: escaped(axis)}},
        shapes: marks.map(lineAt),
        annotations: simulated ? [water] : []}};
  };

  const plotOf = (data, of, series, simulated) => {
    const list = samples(data, of, series);
    const sets = new Set(list.map(each => each.nodes));
    const notes = list.map((each, number) => [
      number && each.software !== list[number - 1].software ? `new software: ${each.software}` : "",
      sets.size > 1 ? `nodes ${each.nodes}` : "", `session ${each.uuid.slice(0, 8)}`,
    ].filter(Boolean).join("; "));
    const values = list.map(each => each.value);
    const marks = marksOf(of, series, list);
    const way = series.direction ? `${series.direction} is better` : "which way is better is not known";
    const changes = (series.changes || []).length;
    const summary = `${list.length} of ${series.all} samples, ${date(list[0].time)} to ${date(list[list.length - 1].time)}: `
      + `${text(Math.min(...values))} to ${text(Math.max(...values))} ${series.unit}, newest ${text(values[values.length - 1])}; ${way}. `
      + (changes ? `Its level changed ${changes === 1 ? "once" : `${changes} times`}.` : "Its level never changed.")
      + (series.alerts ? " It is in an open alert." : "");
    const plot = {id: `plot-${series.id}`, title: `${series.metric}, ${of.name}${simulated ? " (simulated)" : ""}`, summary,
      caption: `${of.where}${of.keys ? ", " + of.keys : ""}${sets.size > 1 ? `; measured on ${sets.size} sets of nodes, which changes are corrected for` : ""}`,
      name: series.metric, unit: series.unit, simulated};
    return {list, marks, plot, figure: drawn(data.figure, plot, list, notes, levels(series, list), marks)};
  };

  // A cell of a CSV by which no spreadsheet computes.
  const cell = value => {
    const words = typeof value === "string" && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
    return /[",\n\r]/.test(words) ? `"${words.replace(/"/g, '""')}"` : words;
  };
  const csv = (series, list, simulated) => [["time", `${series.metric}${series.unit ? ` (${series.unit})` : ""}`, "session",
    "software", "nodes", "simulated"]].concat(list.map(each => [new Date(each.time * 1000).toISOString(), each.value,
    each.uuid, each.software, each.nodes, simulated ? "yes" : "no"]))
    .map(row => row.map(cell).join(",")).join("\n") + "\n";

  const save = (name, type, words) => {
    const link = made("a", {href: URL.createObjectURL(new Blob([words], {type})), download: name});
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  };

  const tableOf = (series, list, top) => {
    const head = made("tr", {}, ...["time", series.unit || "value", "session", "software", "nodes"].map(name => made("th", {scope: "col"}, name)));
    const body = made("tbody");
    for (const each of list.slice().reverse()) {
      const uuid = each.page ? made("a", {href: top + each.page}, each.uuid.slice(0, 8)) : each.uuid.slice(0, 8);
      body.append(made("tr", {}, made("td", {}, new Date(each.time * 1000).toISOString().slice(0, 16).replace("T", " ")),
        made("td", {class: "number"}, text(each.value)), made("td", {}, uuid), made("td", {}, each.software), made("td", {}, each.nodes)));
    }
    return made("table", {}, made("thead", {}, head), body);
  };

  const figureOf = (data, of, series, simulated, top) => {
    const {plot, list, marks, figure: made_figure} = plotOf(data, of, series, simulated);
    const id = plot.id;
    const table = made("div", {class: "plot-scroll", role: "region", tabindex: "0", "aria-label": `Table of ${plot.title}`});
    const details = made("details", {class: "plot-table"}, made("summary", {}, `Table: ${list.length} samples`), table);
    details.addEventListener("toggle", () => { if (!table.firstChild) table.append(tableOf(series, list, top)); });
    const name = `${series.metric}-${series.id}`.replace(/[^A-Za-z0-9_.-]+/g, "-");
    const button = (label, act) => { const one = made("button", {type: "button"}, label); one.addEventListener("click", act); return one; };
    const json = () => JSON.stringify({...plot, where: of.where, case: of.name, samples: list, marks: marks.map(each => each.long)}, null, 1);
    const caption = made("figcaption", {}, plot.caption);
    if (marks.length) caption.append(made("ul", {class: "plot-marks"}, ...marks.map(each => made("li", {}, each.long))));
    const figure = made("figure", {class: "plot", id, "data-top": top, tabindex: "-1", role: "group",
      "aria-labelledby": `${id}-title`, "aria-describedby": `${id}-summary`},
      made("h4", {class: "plot-title", id: `${id}-title`}, plot.title), made("p", {class: "plot-summary", id: `${id}-summary`}, plot.summary),
      made("div", {class: "plot-legend", role: "group", "aria-label": `Traces of ${plot.title}`}), made("div", {class: "plot-area"}, made("p", {class: "plot-picture"}, "The plot is being drawn.")),
      made("p", {class: "plot-readout", role: "status"}), caption, details,
      made("p", {class: "plot-files history-files"}, `${plot.title}: `, button("CSV", () => save(`${name}.csv`, "text/csv", csv(series, list, simulated))),
        " ", button("JSON", () => save(`${name}.json`, "application/json", json()))));
    figure.acceptanceData = made_figure;
    return figure;
  };

  // Opens a series below its row, or closes it.
  const toggle = async (row, always = false) => {
    const link = row.querySelector("th a");
    const next = row.nextElementSibling;
    if (next && next.classList.contains("history-plot")) {
      if (always) return;
      next.remove();
      link.setAttribute("aria-expanded", "false");
      return;
    }
    const table = row.closest("table");
    const place = made("td", {colspan: row.children.length}, made("p", {class: "quiet"}, "Loading…"));
    row.after(made("tr", {class: "history-plot"}, place));
    link.setAttribute("aria-expanded", "true");
    try {
      const data = await window.acceptancePlots.load(new URL(row.dataset.file, document.baseURI).href);
      const [of, series] = find(data, row.id);
      const figure = figureOf(data, of, series, table.dataset.simulated === "yes", table.dataset.top);
      place.replaceChildren(figure);
      await window.acceptancePlots.show(figure);
    } catch (error) {
      place.replaceChildren(made("p", {class: "fault"}, `This series cannot be shown: ${error.message}`));
    }
  };

  const openNamed = () => {
    const row = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (row && row.dataset.file) { row.hidden = false; row.closest("tbody").hidden = false; toggle(row, true); row.scrollIntoView(); }
  };

  const start = () => {
    const rows = [...document.querySelectorAll("table.history-series tr[data-file]")];
    if (!rows.length) return;
    const found = rows.map(row => {
      const body = row.parentElement;
      const section = row.closest("section");
      const words = `${section.dataset.name} ${body.rows[0].textContent} ${row.textContent}`.toLowerCase();
      return {row, body, section, words, changed: row.querySelector(".history-change .word, .history-change").textContent.includes("%"),
        alert: Boolean(row.querySelector(".history-alert .word"))};
    });
    const bodies = [...new Set(found.map(each => each.body))];
    const sections = [...new Set(found.map(each => each.section))];
    const field = document.getElementById("history-search");
    const changed = document.getElementById("history-changed");
    const alerts = document.getElementById("history-alerts");
    const count = document.getElementById("history-count");
    const filter = () => {
      const wanted = field.value.toLowerCase().split(/\s+/).filter(Boolean);
      const bodiesShown = new Set();
      const sectionsShown = new Set();
      let number = 0;
      for (const each of found) {
        const fits = wanted.every(word => each.words.includes(word)) && (!changed.checked || each.changed) && (!alerts.checked || each.alert);
        each.row.hidden = !fits;
        const next = each.row.nextElementSibling;
        if (next && next.classList.contains("history-plot")) next.hidden = !fits;
        if (fits) { number += 1; bodiesShown.add(each.body); sectionsShown.add(each.section); }
      }
      for (const body of bodies) body.hidden = !bodiesShown.has(body);
      for (const section of sections) section.hidden = !sectionsShown.has(section);
      count.textContent = number === found.length ? `All ${number} series are shown.` : `${number} of ${found.length} series fit.`;
    };
    let waiting = 0;
    const later = () => { clearTimeout(waiting); waiting = setTimeout(filter, 120); };
    field.addEventListener("input", later);
    for (const box of [changed, alerts]) box.addEventListener("change", filter);
    document.querySelector(".history-find").hidden = false;
    for (const {row} of found) row.querySelector("th a").setAttribute("aria-expanded", "false");
    document.addEventListener("click", event => {
      const link = event.target.closest("table.history-series th a");
      if (!link) return;
      event.preventDefault();
      history.replaceState(null, "", link.hash);
      toggle(link.closest("tr"));
    });
    addEventListener("hashchange", openNamed);
    filter();
    openNamed();
  };

  document.addEventListener("DOMContentLoaded", start);
})();
