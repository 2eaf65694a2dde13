// Slices, drawn in a frame by nilearn's viewer, and a glass brain, drawn here.

// From voxels of an upright grid to voxels of the mask, as one matrix.
function gridToMask(data, grid) {
  var origin = transform(data.inverse, transform(grid.affine, [0, 0, 0]));
  var steps = [[1, 0, 0], [0, 1, 0], [0, 0, 1]].map(function (unit) {
    return transform(data.inverse, transform(grid.affine, unit));
  });
  return [0, 1, 2].map(function (axis) {
    return steps.map(function (step) { return step[axis] - origin[axis]; })
      .concat([origin[axis]]);
  });
}

// The region under every voxel of an upright grid, -1 where there is none.
function gridRegions(data, grid) {
  var n = grid.shape, regions = new Int32Array(n[0] * n[1] * n[2]), at = 0;
  var matrix = gridToMask(data, grid), voxel = [0, 0, 0], place = [0, 0, 0];
  for (place[0] = 0; place[0] < n[0]; place[0]++) {
    for (place[1] = 0; place[1] < n[1]; place[1]++) {
      for (place[2] = 0; place[2] < n[2]; place[2]++) {
        for (var axis = 0; axis < 3; axis++) {
          var row = matrix[axis];
          voxel[axis] = nearestIndex(
            row[0] * place[0] + row[1] * place[1] + row[2] * place[2] + row[3]
          );
        }
        regions[at++] = regionOf(data, featureAt(data, voxel));
      }
    }
  }
  return regions;
}

// Sagittal slices side by side, row by row, as nilearn lays them out.
function spriteRegions(grid, regions) {
  var n = grid.shape, width = grid.columns * n[1], out = new Int32Array(width * grid.height);
  out.fill(-1);
  for (var i = 0, at = 0; i < n[0]; i++) {
    var left = (i % grid.columns) * n[1], top = Math.floor(i / grid.columns) * n[2];
    for (var j = 0; j < n[1]; j++) {
      for (var k = 0; k < n[2]; k++) {
        out[(top + n[2] - 1 - k) * width + left + j] = regions[at++];
      }
    }
  }
  return out;
}

function painted(regions, paint) {
  var out = new Uint32Array(regions.length);
  for (var i = 0; i < out.length; i++) {
    if (regions[i] >= 0) { out[i] = paint[regions[i]]; }
  }
  return out;
}

function slicePainter(frame, grid, regions) {
  var sprite = spriteRegions(grid, regions);
  return function (paint) {
    var pixels = painted(sprite, paint).buffer;
    frame.contentWindow.postMessage({
      neuroextrap: "paint", pixels: pixels, width: grid.columns * grid.shape[1]
    }, "*", [pixels]);
  };
}

// Axes that are drawn from left to right and from bottom to top, and the one across.
var VIEWS = {x: [1, 2, 0], y: [0, 2, 1], z: [0, 1, 2]};

// For every ray through the grid the region that is strongest in a map.
function projection(grid, regions, axes, map) {
  var n = grid.shape, wide = n[axes[0]], high = n[axes[1]];
  var best = new Int32Array(wide * high).fill(-1), sign = map.smaller ? -1 : 1, at = 0;
  var place = [0, 0, 0];
  for (place[0] = 0; place[0] < n[0]; place[0]++) {
    for (place[1] = 0; place[1] < n[1]; place[1]++) {
      for (place[2] = 0; place[2] < n[2]; place[2]++) {
        var region = regions[at++], value = region < 0 ? NaN : map.values[region];
        if (isNaN(value)) { continue; }
        var pixel = (high - 1 - place[axes[1]]) * wide + place[axes[0]], old = best[pixel];
        if (old < 0 || sign * value > sign * map.values[old]) { best[pixel] = region; }
      }
    }
  }
  return {regions: best, width: wide, height: high};
}

function imageOf(regions, paint, width, height) {
  var canvas = document.createElement("canvas");
  canvas.width = width;
  canvas.height = height;
  var pixels = new Uint8ClampedArray(painted(regions, paint).buffer);
  canvas.getContext("2d").putImageData(new ImageData(pixels, width, height), 0, 0);
  return canvas;
}

// Left, right, bottom and top (mm) of a grid seen along one axis.
function extent(grid, axes) {
  return [0, 1].reduce(function (edges, side) {
    var axis = axes[side], size = grid.affine[axis][axis], start = grid.affine[axis][3];
    return edges.concat([start - size / 2, start + size * (grid.shape[axis] - 0.5)]);
  }, []);
}

function drawOver(canvas, image, box, frame) {
  var context = canvas.getContext("2d");
  var wide = canvas.width / (frame[1] - frame[0]), high = canvas.height / (frame[3] - frame[2]);
  context.imageSmoothingEnabled = false;
  context.drawImage(image, (box[0] - frame[0]) * wide, (frame[3] - box[3]) * high,
                    (box[1] - box[0]) * wide, (box[3] - box[2]) * high);
}

function glassPainter(canvas, glass, grid, regions) {
  var axes = VIEWS[canvas.dataset.view], box = extent(grid, axes), seen = null, last = null;
  var frame = glass ? glass[canvas.dataset.view] : box;
  canvas.height = Math.round(canvas.width * (frame[3] - frame[2]) / (frame[1] - frame[0]));
  return function (paint, map) {
    if (last !== map) { seen = projection(grid, regions, axes, map); last = map; }
    canvas.getContext("2d").clearRect(0, 0, canvas.width, canvas.height);
    if (!glass) {
      var gray = new Uint32Array(paint.length).fill(0xffece8e4);
      drawOver(canvas, imageOf(seen.regions, gray, seen.width, seen.height), box, frame);
    }
    drawOver(canvas, imageOf(seen.regions, paint, seen.width, seen.height), box, frame);
  };
}

function moveCuts(section, frame, slice) {
  frame.contentWindow.postMessage({
    neuroextrap: "go", asked: ++stateOf(section).asked, slice: slice
  }, "*");
}

// Sliders of the three cuts, in voxels of the grid, with their place in mm.
function setUpSlices(section, frame, grid) {
  var sliders = Array.from(section.querySelectorAll(".nx-slice"));
  sliders.forEach(function (slider, axis) {
    slider.max = grid.shape[axis] - 1;
    slider.addEventListener("input", function () {
      moveCuts(section, frame, sliders.map(function (one) { return Number(one.value); }));
    });
  });
}

// Moves the cuts to a region; the grid is upright.
function goToRegion(section, frame, grid, region) {
  var data = dataOf(section), row = data.rowOf[region];
  if (row < 0) { return; }
  moveCuts(section, frame, data.places[row].map(function (place, axis) {
    var start = grid.affine[axis][3], slice = (place - start) / grid.affine[axis][axis];
    return Math.min(Math.max(nearestIndex(slice), 0), grid.shape[axis] - 1);
  }));
}

function followSlices(section, message) {
  section.querySelectorAll(".nx-slice").forEach(function (slider, axis) {
    var place = Math.round(message.xyz[axis]) + " mm";
    slider.value = message.slice[axis];
    slider.setAttribute("aria-valuetext", place);
    slider.parentNode.querySelector("output").textContent = place;
  });
}

function setUpVolume(section, frame, grid) {
  var data = dataOf(section), regions = gridRegions(data, grid), state = stateOf(section);
  state.painters.push(slicePainter(frame, grid, regions));
  section.querySelectorAll(".nx-glass canvas").forEach(function (canvas) {
    state.painters.push(glassPainter(canvas, data.glass, grid, regions));
  });
  setUpSlices(section, frame, grid);
  state.goTo = function (region) { goToRegion(section, frame, grid, region); };
  repaint(section);
}

function hear(section, frame, message) {
  frame.height = message.height + 8;
  var state = stateOf(section);
  if (!state.painters.length) { setUpVolume(section, frame, message.grid); }
  if (message.asked !== state.asked) { return; }  // the sliders have moved on
  followSlices(section, message);
  showPlace(section, message.xyz);
}
