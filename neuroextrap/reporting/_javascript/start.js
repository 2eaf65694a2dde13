// The frame may have spoken before this page listened.
function ask(section) {
  section.querySelector("iframe").contentWindow.postMessage({neuroextrap: "tell"}, "*");
}

// One copy of these scripts serves every viewer of a page.
function setUp(section) {
  setUpThreshold(section);
  setUpDiscoveries(section);
  section.querySelector(".nx-save-curve").addEventListener("click", function () {
    saveCurve(section);
  });
  section.dataset.started = "yes";
  if (dataOf(section).hemispheres) { setUpSurface(section); } else { ask(section); }
}

function startAll() {
  document.querySelectorAll(".nx-viewer:not([data-loading])").forEach(function (section) {
    section.dataset.loading = "yes";
    load(section).then(function () { setUp(section); });
  });
}

window.neuroextrapViewer = {find: find, dataOf: dataOf, start: startAll};
window.addEventListener("message", function (event) {
  if (!event.data || event.data.neuroextrap !== "voxel") { return; }
  document.querySelectorAll(".nx-viewer").forEach(function (section) {
    var frame = section.querySelector("iframe");
    if (frame && frame.contentWindow === event.source && section.dataset.started) {
      hear(section, frame, event.data);
    }
  });
});

// A peak's place, in a table above, moves the viewer that comes next on the page.
document.addEventListener("click", function (event) {
  var button = event.target.closest(".nx-go");
  if (!button) { return; }
  var after = Array.from(document.querySelectorAll(".nx-viewer")).find(function (section) {
    return button.compareDocumentPosition(section) & Node.DOCUMENT_POSITION_FOLLOWING;
  });
  if (!after || !dataOf(after) || !stateOf(after).goTo) { return; }
  stateOf(after).goTo(Number(button.dataset.region));
  after.scrollIntoView({block: "start"});
});
startAll();
