// How many regions of a set are informative, at least: the bound of true_discoveries.
// Of the regions above the k-th threshold (from 0) at most k are by chance.
function trueDiscoveries(scores, thresholds) {
  var sorted = Float64Array.from(scores).sort(), best = 0, first = sorted.length;
  thresholds.forEach(function (threshold, k) {
    while (first > 0 && sorted[first - 1] > threshold) { first--; }
    best = Math.max(best, sorted.length - first - k);
  });
  return best;
}

// A sentence about the analyzed regions among those for which `holds(region)`.
function bounded(found, holds) {
  var scores = found.scores.filter(function (score, region) {
    return !isNaN(score) && holds(region);
  });
  return "At least " + many(trueDiscoveries(scores, found.thresholds)) + " of these " +
    many(scores.length) + " " + found.many;
}

function confident(found) {
  return " " + found.claim + " (" + found.level +
    " confidence, simultaneously over all regions anyone may pick).";
}

// Places (mm) of the features that carry values, by region; NaN where there are none.
function placesOf(data) {
  var places = new Float64Array(3 * data.discoveries.scores.length).fill(NaN);
  function put(feature, xyz) {
    var region = regionOf(data, feature);
    if (region >= 0) { places.set(xyz, 3 * region); }
  }
  (data.hemispheres || []).forEach(function (side) {
    side.features.forEach(function (feature, vertex) {
      put(feature, side.coordinates.slice(3 * vertex, 3 * vertex + 3));
    });
  });
  if (data.hemispheres) { return places; }
  data.featureAt.forEach(function (feature, flat) {
    if (feature >= 0) { put(feature, placeOf(data, flat)); }
  });
  return places;
}

function isNear(places, region, xyz, radius) {
  return distance(places.subarray(3 * region, 3 * region + 3), xyz) <= radius + 1e-6;
}

// What the map shows: the threshold was moved, or another map was chosen.
function countShown(section, paint) {
  var found = dataOf(section).discoveries;
  if (!found) { return; }
  section.querySelector(".nx-true").textContent =
    bounded(found, function (region) { return paint[region] > 0; }) +
    " that are shown" + confident(found);
}

// What lies within a ball around the place that was clicked.
function countNear(section) {
  var data = dataOf(section), found = data.discoveries, state = stateOf(section);
  if (!found || !found.ball || !state.place) { return; }
  state.places = state.places || placesOf(data);
  var radius = Number(section.querySelector(".nx-ball").value);
  section.querySelector(".nx-near").textContent =
    bounded(found, function (region) {
      return isNear(state.places, region, state.place, radius);
    }) + " with their center within " + radius + " mm" + confident(found);
}

function setUpDiscoveries(section) {
  var ball = section.querySelector(".nx-ball");
  if (ball) { ball.addEventListener("input", function () { countNear(section); }); }
}
