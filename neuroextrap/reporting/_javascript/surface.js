// Hemispheres, drawn with a depth buffer: every pixel knows the vertex it shows.
var MIRROR = {left: -1, right: 1};
var VIEWPOINTS = {  // degrees about the vertical (0: from behind) and up, of the right
  outside: [90, 0], inside: [-90, 0], above: [0, 90], below: [180, -90],
  front: [180, 0], behind: [0, 0]
};

function viewpoint(name, side) {
  var turn = VIEWPOINTS[name], sign = MIRROR[side] || 1;
  return Math.abs(turn[0]) === 90 ? [sign * turn[0], turn[1]] : turn.slice();
}

// Rows: to the right, up, towards the reader.
function axesOf(turn) {
  var a = turn[0] * Math.PI / 180, e = turn[1] * Math.PI / 180;
  var ca = Math.cos(a), sa = Math.sin(a), ce = Math.cos(e), se = Math.sin(e);
  return [[ca, sa, 0], [-se * sa, se * ca, ce], [sa * ce, -ca * ce, se]];
}

function dot(a, x, at) { return a[0] * x[at] + a[1] * x[at + 1] + a[2] * x[at + 2]; }

// Unit normals of vertices, for the light.
function normalsOf(side) {
  var x = side.coordinates, out = new Float32Array(x.length);
  for (var f = 0; f < side.faces.length; f += 3) {
    var a = 3 * side.faces[f], b = 3 * side.faces[f + 1], c = 3 * side.faces[f + 2];
    var u = [0, 1, 2].map(function (i) { return x[b + i] - x[a + i]; });
    var v = [0, 1, 2].map(function (i) { return x[c + i] - x[a + i]; });
    for (var i = 0; i < 3; i++) {
      var j = (i + 1) % 3, k = (i + 2) % 3, n = u[j] * v[k] - u[k] * v[j];
      out[a + i] += n; out[b + i] += n; out[c + i] += n;
    }
  }
  for (var p = 0; p < out.length; p += 3) {
    var length = Math.hypot(out[p], out[p + 1], out[p + 2]) || 1;
    for (var q = 0; q < 3; q++) { out[p + q] /= length; }
  }
  return out;
}

// Middle and half of the largest distance from it.
function frameOf(side) {
  var low = [Infinity, Infinity, Infinity], high = low.map(function (v) { return -v; });
  side.coordinates.forEach(function (v, i) {
    low[i % 3] = Math.min(low[i % 3], v);
    high[i % 3] = Math.max(high[i % 3], v);
  });
  return {
    middle: low.map(function (v, i) { return (v + high[i]) / 2; }),
    reach: 1.02 * Math.max.apply(null, low.map(function (v, i) {
      return (high[i] - v) / 2;
    })) || 1
  };
}

// Where vertices fall on the canvas (pixels), how near they are, how much light.
function project(side, turn, size) {
  var axes = axesOf(turn), n = side.coordinates.length / 3, frame = side.frame;
  var at = {x: new Float32Array(n), y: new Float32Array(n), z: new Float32Array(n),
            light: new Float32Array(n)};
  var scale = size[0] / 2 / frame.reach;
  var shift = axes.map(function (axis) { return dot(axis, frame.middle, 0); });
  for (var v = 0; v < n; v++) {
    at.x[v] = size[0] / 2 + scale * (dot(axes[0], side.coordinates, 3 * v) - shift[0]);
    at.y[v] = size[1] / 2 - scale * (dot(axes[1], side.coordinates, 3 * v) - shift[1]);
    at.z[v] = dot(axes[2], side.coordinates, 3 * v);
    at.light[v] = 0.45 + 0.55 * Math.abs(dot(axes[2], side.normals, 3 * v));
  }
  return at;
}

// For every pixel the vertex of the nearest triangle that weighs most there.
function rasterize(side, at, size) {
  var width = size[0], height = size[1], faces = side.faces;
  var vertex = new Int32Array(width * height).fill(-1);
  var depth = new Float32Array(width * height).fill(-Infinity);
  for (var f = 0; f < faces.length; f += 3) {
    var a = faces[f], b = faces[f + 1], c = faces[f + 2];
    var ax = at.x[a], ay = at.y[a], bx = at.x[b], by = at.y[b], cx = at.x[c], cy = at.y[c];
    var area = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax);
    if (area === 0) { continue; }
    var left = Math.max(0, Math.ceil(Math.min(ax, bx, cx) - 0.5));
    var right = Math.min(width - 1, Math.floor(Math.max(ax, bx, cx) + 0.5));
    var top = Math.max(0, Math.ceil(Math.min(ay, by, cy) - 0.5));
    var bottom = Math.min(height - 1, Math.floor(Math.max(ay, by, cy) + 0.5));
    for (var y = top; y <= bottom; y++) {
      for (var x = left; x <= right; x++) {
        var wb = ((x - ax) * (cy - ay) - (y - ay) * (cx - ax)) / area;
        var wc = ((bx - ax) * (y - ay) - (by - ay) * (x - ax)) / area, wa = 1 - wb - wc;
        if (wa < -1e-6 || wb < -1e-6 || wc < -1e-6) { continue; }
        var near = wa * at.z[a] + wb * at.z[b] + wc * at.z[c], pixel = y * width + x;
        if (near <= depth[pixel]) { continue; }
        depth[pixel] = near;
        vertex[pixel] = wa >= wb && wa >= wc ? a : wb >= wc ? b : c;
      }
    }
  }
  return vertex;
}

function shaded(color, light) {
  return ((255 << 24) | ((light * (color >> 16 & 255)) << 16) |
    ((light * (color >> 8 & 255)) << 8) | (light * (color & 255))) >>> 0;
}

// A canvas with one hemisphere: turn it, color it, ask it.
function hemisphereView(section, canvas, side) {
  var data = dataOf(section), size = [canvas.width, canvas.height];
  var turn, at, vertices, paint = null, picked = -1;
  side.normals = normalsOf(side);
  side.frame = frameOf(side);

  function color() {
    if (paint === null) { return; }
    var pixels = Uint32Array.from(vertices, function (vertex) {
      if (vertex < 0) { return 0; }
      var region = regionOf(data, side.features[vertex]), gray = side.shades[vertex];
      var fill = region < 0 ? 0 : paint[region];
      return shaded(fill || (gray << 16 | gray << 8 | gray), at.light[vertex]);
    });
    var context = canvas.getContext("2d");
    var bytes = new Uint8ClampedArray(pixels.buffer);
    context.putImageData(new ImageData(bytes, size[0], size[1]), 0, 0);
    if (picked >= 0) { ring(context, at.x[picked], at.y[picked]); }
  }

  function look(next) {
    turn = [next[0], Math.min(Math.max(next[1], -90), 90)];
    at = project(side, turn, size);
    vertices = rasterize(side, at, size);
    color();
  }

  look(viewpoint("outside", side.name));
  return {
    canvas: canvas, side: side, look: look,
    turnBy: function (x, y) { look([turn[0] + x, turn[1] + y]); },
    paint: function (next) { paint = next; color(); },
    pick: function (vertex) { picked = vertex; color(); },
    vertexAt: function (x, y) {
      var inside = x >= 0 && y >= 0 && x < size[0] && y < size[1];
      return inside ? vertices[Math.floor(y) * size[0] + Math.floor(x)] : -1;
    }
  };
}

function ring(context, x, y) {
  [["#ffffff", 4], ["#000000", 2]].forEach(function (style) {
    context.strokeStyle = style[0];
    context.lineWidth = style[1];
    context.beginPath();
    context.arc(x, y, 7, 0, 2 * Math.PI);
    context.stroke();
  });
}

function pickVertex(section, views, view, vertex) {
  var data = dataOf(section), side = view.side, x = side.coordinates;
  views.forEach(function (other) { other.pick(other === view ? vertex : -1); });
  var row = rowOf(data, side.features[vertex]);
  showHit(section, row < 0 ? null : {row: row, xyz: null, miss: 0},
            Array.from(x.slice(3 * vertex, 3 * vertex + 3)),
            "vertex " + vertex + " (" + side.name + "), ");
}

// A drag turns; a press without a drag asks.
function followPointer(section, views, view) {
  var canvas = view.canvas, from = null, moved = false;
  canvas.addEventListener("pointerdown", function (event) {
    from = [event.clientX, event.clientY];
    moved = false;
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", function (event) {
    if (from === null) { return; }
    var step = [event.clientX - from[0], event.clientY - from[1]];
    if (!moved && Math.hypot(step[0], step[1]) < 4) { return; }
    moved = true;
    from = [event.clientX, event.clientY];
    view.turnBy(-step[0] / 2, step[1] / 2);
  });
  canvas.addEventListener("pointerup", function (event) {
    var box = canvas.getBoundingClientRect(), scale = canvas.width / box.width;
    var vertex = view.vertexAt((event.clientX - box.left) * scale,
                               (event.clientY - box.top) * scale);
    if (from !== null && !moved && vertex >= 0) {
      pickVertex(section, views, view, vertex);
    }
    from = null;
  });
}

var ARROWS = {ArrowLeft: [15, 0], ArrowRight: [-15, 0], ArrowUp: [0, -15], ArrowDown: [0, 15]};

function followKeys(view) {
  view.canvas.addEventListener("keydown", function (event) {
    var step = ARROWS[event.key];
    if (!step) { return; }
    event.preventDefault();
    view.turnBy(step[0], step[1]);
  });
}

// The first vertex of a region, and the view that it is in.
function vertexOf(data, views, region) {
  for (var i = 0; i < views.length; i++) {
    var vertex = views[i].side.features.findIndex(function (feature) {
      return regionOf(data, feature) === region;
    });
    if (vertex >= 0) { return [views[i], vertex]; }
  }
  return null;
}

function setUpSurface(section) {
  var data = dataOf(section), state = stateOf(section);
  var canvases = section.querySelectorAll(".nx-mesh canvas");
  var views = data.hemispheres.map(function (side, i) {
    return hemisphereView(section, canvases[i], side);
  });
  views.forEach(function (view) {
    state.painters.push(view.paint);
    followPointer(section, views, view);
    followKeys(view);
  });
  section.querySelector(".nx-look").addEventListener("change", function (event) {
    views.forEach(function (view) {
      view.look(viewpoint(event.target.value, view.side.name));
    });
  });
  repaint(section);
  state.goTo = function (region) {
    var found = vertexOf(data, views, region);
    if (found) { pickVertex(section, views, found[0], found[1]); }
  };
  state.goTo(data.regions[data.start]);
}
