// Names without what all of them begin with.
function shortNames(names) {
  var first = names[0], n = 0;
  function shared(name) { return name.slice(0, n + 1) === first.slice(0, n + 1); }
  while (n < first.length - 1 && names.every(shared)) { n++; }
  while (n > 0 && /[0-9]/.test(first[n - 1])) { n--; }
  return names.map(function (name) { return name.slice(n); });
}

// Round numbers, some five of them, over a range.
function roundTicks(range) {
  var span = range[1] - range[0], size = Math.pow(10, Math.floor(Math.log10(span)));
  var step = [0.2, 0.5, 1, 2].map(function (part) { return part * size; })
    .find(function (one) { return span / one <= 6; }) || 5 * size;
  var ticks = [], first = Math.ceil(range[0] / step);
  for (var i = first; i * step <= range[1]; i++) { ticks.push(i * step); }
  return ticks;
}

// The panel of one place in a group: the value of every subject.
function subjectRange(subjects) {
  var all = subjects.baseline === null ? [] : [subjects.baseline];
  subjects.values.forEach(function (row) {
    row.forEach(function (value) { if (value !== null) { all.push(value); } });
  });
  var low = all.reduce(function (a, b) { return Math.min(a, b); }, Infinity);
  var high = all.reduce(function (a, b) { return Math.max(a, b); }, -Infinity);
  var margin = (high - low || 1) / 20;
  return [low - margin, high + margin];
}

function level(svg, y, value, style, text) {
  add(svg, "path", {d: "M" + LEFT + " " + y(value) + "H" + RIGHT, stroke: style.color,
      "stroke-width": 2, "stroke-dasharray": style.line});
  add(svg, "text", {x: RIGHT, y: y(value) - 5, "text-anchor": "end", fill: style.color,
      "font-weight": 600}, text);
}

// Subjects stand in their order; each dot tells its subject and value.
function drawSubjects(svg, data, row) {
  var subjects = data.subjects, range = subjects.range || subjectRange(subjects);
  subjects.range = range;
  function y(value) {
    return BOTTOM - (value - range[0]) / (range[1] - range[0]) * (BOTTOM - TOP);
  }
  axes(svg, y, roundTicks(range), "subjects", subjects.label);
  if (subjects.baseline !== null) {
    level(svg, y, subjects.baseline, {color: "#57606a", line: "4 3"},
          subjects.baseline_label);
  }
  if (row === null) { return; }
  var values = subjects.values[row], n = values.length;
  var names = shortNames(subjects.names);
  var fits = n * names.reduce(function (a, b) { return Math.max(a, b.length); }, 0) <= 70;
  var dots = add(svg, "g", {class: "nx-subjects"});
  values.forEach(function (value, i) {
    if (value === null) { return; }
    var x = LEFT + 14 + (i + 0.5) / n * (RIGHT - LEFT - 28);
    var dot = add(dots, "circle", {cx: x, cy: y(value), r: 4, fill: BLUE});
    add(dot, "title", {}, subjects.names[i] + ": " + value);
    if (fits) {
      add(svg, "text", {x: x, y: BOTTOM + 16, "text-anchor": "middle", "font-size": 10},
          names[i]);
    }
  });
  var known = values.filter(function (value) { return value !== null; });
  var sum = known.reduce(function (a, b) { return a + b; }, 0);
  if (known.length) {
    level(svg, y, sum / known.length, {color: "#a34700", line: "none"}, "mean");
  }
}

function subjectRows(data, row) {
  var lines = [["subject", "value"]];
  data.subjects.names.forEach(function (name, i) {
    var value = data.subjects.values[row][i];
    lines.push([name, value === null ? "n/a" : value]);
  });
  return lines;
}
