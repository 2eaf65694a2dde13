// What a page holds, decoded; which region a place or a vertex belongs to.
function inflate(text) {
  var raw = atob(text.trim()), bytes = new Uint8Array(raw.length);
  for (var i = 0; i < raw.length; i++) { bytes[i] = raw.charCodeAt(i); }
  var stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

// Replaces packed numbers, fields of an object, by arrays of a kind.
function unpackFields(object, kinds) {
  return Promise.all(Object.keys(kinds).map(function (field) {
    return inflate(object[field]).then(function (buffer) {
      object[field] = new kinds[field](buffer);
    });
  }));
}

var unpacked = new WeakMap();

function dataOf(section) { return unpacked.get(section); }

// What a section holds is unpacked once, before anything else is set up.
function load(section) {
  return inflate(section.querySelector(".nx-data").textContent).then(function (buffer) {
    return unpack(JSON.parse(new TextDecoder().decode(buffer)));
  }).then(function (data) { unpacked.set(section, data); });
}

var HEMISPHERE = {
  coordinates: Float32Array, faces: Int32Array, features: Int32Array, shades: Uint8Array
};

function unpack(data) {
  var jobs = [unpackFields(data, {region_of: Int32Array, survives: Uint8Array})];
  data.maps.forEach(function (map) {
    jobs.push(unpackFields(map, {values: Float32Array}));
  });
  (data.hemispheres || []).forEach(function (side) {
    jobs.push(unpackFields(side, HEMISPHERE));
  });
  if (data.discoveries) {
    jobs.push(unpackFields(data.discoveries, {scores: Float64Array}));
  }
  return Promise.all(jobs).then(function () {
    data.rowOf = new Int32Array(data.maps[0].values.length).fill(-1);
    data.regions.forEach(function (region, row) { data.rowOf[region] = row; });
    if (!data.hemispheres) { data.featureAt = lattice(data); }
    return data;
  });
}

// Feature of every voxel of the lattice, -1 outside the mask.
function lattice(data) {
  var at = new Int32Array(data.shape[0] * data.shape[1] * data.shape[2]).fill(-1);
  var feature = 0, starts = data.features[0], lengths = data.features[1];
  starts.forEach(function (start, run) {
    for (var i = 0; i < lengths[run]; i++) { at[start + i] = feature++; }
  });
  return at;
}

function transform(matrix, point) {
  return [0, 1, 2].map(function (i) {
    var row = matrix[i];
    return row[0] * point[0] + row[1] * point[1] + row[2] * point[2] + row[3];
  });
}

function distance(a, b) {
  return Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
}

function featureAt(data, voxel) {
  var shape = data.shape;
  for (var axis = 0; axis < 3; axis++) {
    if (voxel[axis] < 0 || voxel[axis] >= shape[axis]) { return -1; }
  }
  return data.featureAt[(voxel[0] * shape[1] + voxel[1]) * shape[2] + voxel[2]];
}

function regionOf(data, feature) { return feature < 0 ? -1 : data.region_of[feature]; }

function rowOf(data, feature) {
  var region = regionOf(data, feature);
  return region < 0 ? -1 : data.rowOf[region];
}

// Place (mm) of a voxel by its number in the lattice.
function placeOf(data, flat) {
  var shape = data.shape, k = flat % shape[2], j = ((flat - k) / shape[2]) % shape[1];
  return transform(data.affine, [Math.floor(flat / (shape[1] * shape[2])), j, k]);
}

// The voxel nearest to a place among those whose region has a curve in the page.
function nearest(data, xyz) {
  var best = null;
  data.featureAt.forEach(function (feature, flat) {
    var row = rowOf(data, feature);
    if (row < 0) { return; }
    var place = placeOf(data, flat), miss = distance(place, xyz);
    if (miss <= data.reach && (best === null || miss < best.miss)) {
      best = {row: row, xyz: place, miss: miss};
    }
  });
  return best;
}

// Halves always go up, whatever the last digit.
function nearestIndex(x) { return Math.floor(x + 0.500001); }

function find(data, xyz) {
  var voxel = transform(data.inverse, xyz).map(nearestIndex);
  var row = rowOf(data, featureAt(data, voxel));
  if (row < 0) { return nearest(data, xyz); }
  return {row: row, xyz: transform(data.affine, voxel), miss: 0};
}

function many(n) { return n.toLocaleString("en-US"); }
