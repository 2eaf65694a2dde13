// Which map is shown, above which threshold, in which colors.
var STEPS = 200;
var states = new WeakMap();

function stateOf(section) {
  if (!states.has(section)) {
    var data = dataOf(section);
    states.set(section, {
      map: data.maps[data.shown], level: data.maps[data.shown].start, painters: [],
      paint: null, asked: 0, only: false, goTo: null, row: null
    });
  }
  return states.get(section);
}

// The slider's ends: everything, and nothing.
function ends(map) {
  return map.smaller ?
    [Math.max(map.high, map.start), map.low] : [map.low, Math.max(map.high, map.start)];
}

function isShown(map, value, level) {
  var limit = Math.fround(level);  // values have single precision, NaN where unknown
  return map.smaller ? value <= limit : value > limit;
}

function colorOf(map, value) {
  var share = (value - map.low) / (map.high - map.low);
  var bin = Math.min(Math.max(Math.floor(share * 256), 0), 255);
  var rgb = parseInt(map.colors.substr(6 * bin, 6), 16);
  // bytes in memory: red, green, blue, opaque
  return ((255 << 24) | ((rgb & 255) << 16) | (rgb & 0xff00) | (rgb >> 16)) >>> 0;
}

// One color a region; 0 where it is not shown.
function paintOf(section) {
  var data = dataOf(section), state = stateOf(section), map = state.map;
  return Uint32Array.from(map.values, function (value, region) {
    var shown = isShown(map, value, state.level);
    if (state.only && !data.survives[region]) { shown = false; }
    return shown ? colorOf(map, value) : 0;
  });
}

// Numbers at once; pictures when the browser next draws, however often the slider moved.
function repaint(section) {
  var state = stateOf(section), waiting = state.paint !== null;
  state.paint = paintOf(section);
  count(section, state.paint);
  countShown(section, state.paint);
  drawBar(section);
  if (waiting) { return; }
  requestAnimationFrame(function () {
    var paint = state.paint;
    state.paint = null;
    state.painters.forEach(function (painter) { painter(paint, state.map); });
  });
}

function short(value) { return String(Number(value.toPrecision(3))); }

function count(section, paint) {
  var data = dataOf(section), state = stateOf(section), map = state.map, n = 0;
  data.region_of.forEach(function (region) { n += region >= 0 && paint[region] > 0; });
  var limits = [];
  if (map.smaller || state.level >= map.low) {  // else all that the map holds
    limits.push((map.smaller ? "at or below " : "above ") + short(state.level) +
      unitOf(map));
  }
  if (state.only) { limits.push("surviving correction"); }
  section.querySelector(".nx-shown").textContent =
    [many(n), "of", many(data.region_of.length), data.elements, limits.join(", ")].join(" ");
}

function unitOf(map) {
  return map.unit === "bits" ? " bits" : map.unit === "proportion" ? "" :
    map.unit === "p" ? "" : " " + map.unit;
}

function drawBar(section) {
  var data = dataOf(section), state = stateOf(section), map = state.map;
  var bar = section.querySelector(".nx-bar"), context = bar.getContext("2d");
  for (var i = 0; i < 256; i++) {
    var value = map.low + (i + 0.5) / 256 * (map.high - map.low);
    var shown = isShown(map, value, state.level);
    context.fillStyle = shown ? "#" + map.colors.substr(6 * i, 6) : "#e4e8ec";
    context.fillRect(i, 0, 1, 1);
  }
  section.querySelector(".nx-low").textContent = short(map.low);
  section.querySelector(".nx-high").textContent = short(map.high) + unitOf(map);
}

function setLevel(section, level) {
  var state = stateOf(section), limits = ends(state.map);
  var slider = section.querySelector(".nx-threshold");
  state.level = level;
  slider.value = Math.round(STEPS * (level - limits[0]) / (limits[1] - limits[0]));
  slider.setAttribute("aria-valuetext", short(level) + unitOf(state.map));
  section.querySelector(".nx-level").value = short(level);
  repaint(section);
}

function chooseMap(section, number) {
  var state = stateOf(section);
  state.map = dataOf(section).maps[number];
  section.querySelector(".nx-unit").textContent = unitOf(state.map);
  section.querySelector(".nx-what").textContent = state.map.title +
    " (" + state.map.unit + "). " + state.map.begins;
  setLevel(section, state.map.start);
}

function setUpThreshold(section) {
  var data = dataOf(section), menu = section.querySelector(".nx-map");
  var slider = section.querySelector(".nx-threshold");
  var level = section.querySelector(".nx-level");
  data.maps.forEach(function (map) { menu.add(new Option(map.label)); });
  menu.selectedIndex = data.shown;
  menu.addEventListener("change", function () {
    chooseMap(section, menu.selectedIndex);
  });
  slider.addEventListener("input", function () {
    var limits = ends(stateOf(section).map);
    setLevel(section, limits[0] + slider.value / STEPS * (limits[1] - limits[0]));
  });
  level.addEventListener("change", function () {
    if (level.value !== "" && isFinite(level.value)) {
      setLevel(section, Number(level.value));
    }
  });
  var only = section.querySelector(".nx-only");
  if (only) {
    stateOf(section).only = only.checked;
    only.addEventListener("change", function () {
      stateOf(section).only = only.checked;
      repaint(section);
    });
  }
  chooseMap(section, data.shown);
}
