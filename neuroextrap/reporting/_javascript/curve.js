// The panel of one region: its accuracy curve and its numbers.
var SVG = "http://www.w3.org/2000/svg";
var BLUE = "#0072B2", ORANGE = "#D55E00", GRAY = "#8c959f";
var LEFT = 60, RIGHT = 468, TOP = 28, BOTTOM = 252;
var DOT = "m-3 0a3 3 0 1 0 6 0a3 3 0 1 0 -6 0", TRIANGLE = "m-5 4h10l-5 -8z";

function add(parent, name, attributes, text) {
  var node = document.createElementNS(SVG, name);
  Object.keys(attributes).forEach(function (key) {
    node.setAttribute(key, attributes[key]);
  });
  if (text !== undefined) { node.textContent = text; }
  parent.appendChild(node);
  return node;
}

function horizontal(sizes) {
  var first = sizes[0], last = sizes[sizes.length - 1];
  var scale = last >= 20 ? Math.log : function (x) { return x; };
  var span = scale(last) - scale(first) || 1;
  return function (size) {
    var share = last === first ? 0.5 : (scale(size) - scale(first)) / span;
    return LEFT + 12 + share * (RIGHT - LEFT - 24);
  };
}

function vertical(accuracy) { return BOTTOM - accuracy * (BOTTOM - TOP); }

function marks(svg, x, sizes, values, style) {
  var points = [];
  sizes.forEach(function (size, i) {
    if (values[i] !== null) { points.push([x(size), vertical(values[i])]); }
  });
  if (style.line) {
    add(svg, "polyline", {
      points: points.join(" "), fill: "none", stroke: style.color,
      "stroke-width": 2, "stroke-dasharray": style.line
    });
  }
  if (style.mark) {
    points.forEach(function (at) {
      add(svg, "path", {d: "M" + at.join(" ") + style.mark, fill: style.color});
    });
  }
}

// Ticks no closer to one another than a label is wide.
function ticks(sizes, x) {
  var kept = [sizes[0]], last = sizes[sizes.length - 1];
  sizes.slice(1, -1).forEach(function (size) {
    var room = x(size) - x(kept[kept.length - 1]);
    if (room > 34 && x(last) - x(size) > 34) { kept.push(size); }
  });
  return sizes.length > 1 ? kept.concat([last]) : kept;
}

// The frame of a panel: two axes, their names, and ticks of the vertical one.
function axes(svg, y, ticks, below, beside) {
  add(svg, "path", {
    d: "M" + LEFT + " " + TOP + "V" + BOTTOM + "H" + RIGHT,
    fill: "none", stroke: "#1b1f24"
  });
  ticks.forEach(function (value) {
    add(svg, "path", {d: "M" + LEFT + " " + y(value) + "h-5", stroke: "#1b1f24"});
    add(svg, "text", {x: LEFT - 8, y: y(value) + 4, "text-anchor": "end"},
        Number(value.toPrecision(6)));
  });
  add(svg, "text", {x: (LEFT + RIGHT) / 2, y: 290, "text-anchor": "middle"}, below);
  add(svg, "text", {transform: "translate(12," + (TOP + BOTTOM) / 2 + ") rotate(-90)",
      "text-anchor": "middle"}, beside);
}

function sizeAxis(svg, sizes, x) {
  ticks(sizes, x).forEach(function (size) {
    add(svg, "path", {d: "M" + x(size) + " " + BOTTOM + "v5", stroke: "#1b1f24"});
    add(svg, "text", {x: x(size), y: BOTTOM + 18, "text-anchor": "middle"}, size);
  });
}

var OBSERVED = {name: "observed", color: BLUE, line: "none", mark: DOT};
var CHANCE = {name: "chance", color: GRAY, line: "4 3"};
var BOUND = {name: "best classifier, at least", color: ORANGE, mark: TRIANGLE};

function legend(svg, styles) {
  styles.forEach(function (style, i) {
    var y = 9, left = LEFT + 12 + 95 * i;
    var two = [[left, y], [left + 22, y]], one = [[left + 11, y]];
    function drawn(points, part) {
      var flat = {name: style.name, color: style.color};
      flat[part] = style[part];
      marks(svg, function (k) { return points[k][0]; }, Object.keys(points),
            points.map(function () { return (BOTTOM - y) / (BOTTOM - TOP); }), flat);
    }
    drawn(two, "line");
    drawn(one, "mark");
    add(svg, "text", {x: left + 28, y: y + 4}, style.name);
  });
}

function draw(svg, data, row) {
  svg.textContent = "";
  svg.setAttribute("font-size", "12");
  svg.setAttribute("font-family", "system-ui, sans-serif");
  if (data.subjects) { drawSubjects(svg, data, row); return; }
  var x = horizontal(data.set_sizes), sizes = data.set_sizes;
  axes(svg, vertical, [0, 0.25, 0.5, 0.75, 1], "set size (number of stimuli)",
       "accuracy (proportion)");
  sizeAxis(svg, sizes, x);
  marks(svg, x, sizes, sizes.map(function (k) { return 1 / k; }), CHANCE);
  if (row === null) { return; }
  if (data.bounds) { marks(svg, x, data.bound_sizes, data.bounds[row], BOUND); }
  var curve = add(svg, "g", {class: "nx-observed"});
  marks(curve, x, sizes, data.curves[row], OBSERVED);
  legend(svg, data.bounds ? [OBSERVED, CHANCE, BOUND] : [OBSERVED, CHANCE]);
}

function shortOrScientific(value) {
  return Math.abs(value) >= 1e6 ? value.toExponential(1) : String(value);
}

function tabulate(table, data, row) {
  table.textContent = "";
  if (row === null) { return; }
  data.columns.forEach(function (column, i) {
    var value = data.values[row][i], line = table.insertRow();
    line.title = column.title;
    line.insertCell().textContent = column.label;
    line.insertCell().textContent = value === null ? "-" : shortOrScientific(value);
    line.insertCell().textContent = /^[pz]$/.test(column.unit) ? "" : column.unit;
  });
}

function millimeters(xyz) {
  return "(" + xyz.map(function (v) { return String(Math.round(v)); }).join(", ") +
    ") mm";
}

function sentence(data, hit, xyz, what) {
  var least = data.kept < data.analyzed ?
    "Not analyzed, or not among the " + data.kept + " strongest: " : "Not analyzed: ";
  if (hit === null) { return least + what + millimeters(xyz); }
  var name = (data.names ? data.names[hit.row] + ", " : "") + what;
  if (hit.miss === 0) { return name + millimeters(hit.xyz || xyz); }
  return least + millimeters(xyz) +
    (data.subjects ? "; the nearest that is: " : "; the nearest with a curve: ") + name +
    millimeters(hit.xyz) + ", " + hit.miss.toFixed(1) + " mm away";
}

// The rows of a file of the curve that is shown.
function curveRows(data, row) {
  var lines = [["set_size", "accuracy", "bayes_accuracy_bound_fwe"]];
  data.set_sizes.forEach(function (size, i) {
    var at = data.bounds ? data.bound_sizes.indexOf(size) : -1;
    lines.push([size, data.curves[row][i], at < 0 ? "" : data.bounds[row][at]]);
  });
  return lines;
}

function saveCurve(section) {
  var row = stateOf(section).row, link = document.createElement("a");
  if (row === null) { return; }
  var data = dataOf(section);
  var rows = (data.subjects ? subjectRows : curveRows)(data, row);
  var text = rows.map(function (line) { return line.join("\t") + "\n"; }).join("");
  link.href = "data:text/tab-separated-values," + encodeURIComponent(text);
  link.download = (data.subjects ? "subjects_" : "curve_region_") + data.regions[row] + ".tsv";
  link.click();
}

function showHit(section, hit, xyz, what) {
  var data = dataOf(section), row = hit === null ? null : hit.row;
  stateOf(section).row = row;
  stateOf(section).place = xyz;
  countNear(section);
  section.querySelector(".nx-save-curve").disabled = row === null;
  section.querySelector(".nx-place").textContent = sentence(data, hit, xyz, what);
  draw(section.querySelector(".nx-curve"), data, row);
  tabulate(section.querySelector(".nx-numbers"), data, row);
}

function showPlace(section, xyz) {
  showHit(section, find(dataOf(section), xyz), xyz, "");
}
