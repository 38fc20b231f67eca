// Texts of a plot for people, escaped for plotly, and the ticks of its logarithmic axes.
"use strict";
(() => {
  const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";

  const escaped = text => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");

  const bytesText = size => {
    let number = size;
    for (const unit of ["B", "KiB", "MiB"]) {
      if (number < 1024 || number % 1024) return `${number} ${unit}`;
      number /= 1024;
    }
    return `${number} GiB`;
  };

  // As `number_text` in `plot_files.py`.
  const numberText = value => {
    if (value === null || value === undefined) return "-";
    const size = Math.abs(value);
    if (value && (size < 1e-4 || size >= 1e9)) return value.toPrecision(4);
    return value.toLocaleString("en-US", size < 1000 ? {maximumSignificantDigits: 4} : {maximumFractionDigits: 0});
  };

  const placeText = (axis, value) => {
    if (typeof value === "string") return value;
    if (axis.scale === "date") return new Date(value * 1000).toISOString().slice(0, 16).replace("T", " ") + " UTC";
    return axis.unit === "B" ? bytesText(value) : numberText(value);
  };

  const label = axis => axis.unit ? `${axis.title} (${axis.unit})` : axis.title;

  const powerText = power => power >= -3 && power <= 6 ? (10 ** power).toLocaleString("en-US", {maximumFractionDigits: 3})
    : "10" + (power < 0 ? "⁻" : "") + [...String(Math.abs(power))].map(digit => SUPERSCRIPTS[digit]).join("");

  // Ticks of a logarithmic axis from `low` to `high` (values): powers of 2, or of 10 with 2 and 5.
  const logTicks = (axis, low, high, binary, most) => {
    const ticks = {tickmode: "array", tickvals: [], ticktext: []};
    const add = (value, text) => { ticks.tickvals.push(value); ticks.ticktext.push(text); };
    if (binary) {
      const first = Math.ceil(Math.log2(low) - 1e-9);
      const last = Math.floor(Math.log2(high) + 1e-9);
      const steps = axis.unit === "B" ? [1, 2, 5, 10] : [1, 2, 4];
      const step = steps.find(each => (last - first) / each < most) || steps[steps.length - 1];
      for (let power = Math.ceil(first / step) * step; power <= last; power += step) {
        add(2 ** power, axis.unit === "B" ? bytesText(2 ** power) : numberText(2 ** power));
      }
      if (ticks.tickvals.length > 1) return ticks;
    }
    const decades = Math.log10(high / low);
    const parts = decades > 3 ? [1] : decades > 1.5 ? [1, 2, 5] : [1, 1.5, 2, 3, 4, 5, 6, 8];
    for (let power = Math.floor(Math.log10(low)) - 1; power <= Math.ceil(Math.log10(high)); power += 1) {
      for (const part of parts) {
        const value = part * 10 ** power;
        if (value >= low * 0.999 && value <= high * 1.001) add(value, part === 1 ? powerText(power) : numberText(Number(value.toPrecision(6))));
      }
    }
    return ticks.tickvals.length > 1 ? ticks : {tickmode: "auto"};
  };

  window.acceptanceTexts = {escaped, bytesText, numberText, placeText, label, logTicks};
})();
