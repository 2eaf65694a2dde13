// Inside the frame: lets the page around it hear of clicks, move the cuts and color
// the map. Nilearn's page keeps its viewer to itself; the function that makes it is global.
(function () {
  "use strict";
  var make = window.brainsprite, asked = 0, told = -1;

  function tell(brain) {
    var at = brain.coordinatesSlice, n = brain.nbSlice, matrix = brain.affine;
    told = document.body.offsetHeight;
    parent.postMessage({
      neuroextrap: "voxel", xyz: [at.X, at.Y, at.Z], value: brain.voxelValue,
      asked: asked, slice: [brain.numSlice.X, brain.numSlice.Y, brain.numSlice.Z],
      height: told,
      grid: {
        shape: [n.X, n.Y, n.Z], columns: brain.nbCol, height: brain.sprite.height,
        // the viewer counts voxels from one
        affine: matrix.map(function (row, i) {
          return i > 2 ? row :
            row.slice(0, 3).concat([row[0] + row[1] + row[2] + row[3]]);
        })
      }
    }, "*");
  }

  function paint(brain, message) {
    var pixels = new Uint8ClampedArray(message.pixels), canvas = document.createElement("canvas");
    var image = new ImageData(pixels, message.width);
    canvas.width = image.width;
    canvas.height = image.height;
    canvas.getContext("2d").putImageData(image, 0, 0);
    brain.overlay.sprite = canvas;
  }

  function go(brain, slice) {
    brain.numSlice = {X: slice[0], Y: slice[1], Z: slice[2]};
  }

  window.brainsprite = function (parameters) {
    parameters.sizeFont = 0.05;
    var brain = make(parameters);
    brain.colorMap.hide = true;  // the page has its own
    brain.onclick = function () { tell(brain); };
    window.addEventListener("resize", function () { tell(brain); });
    window.addEventListener("message", function (event) {
      var message = event.data || {};
      if (event.source !== parent || !/^(paint|go|tell)$/.test(message.neuroextrap)) { return; }
      if (message.neuroextrap === "paint") { paint(brain, message); }
      if (message.neuroextrap === "go") {
        asked = message.asked;
        go(brain, message.slice);
      }
      brain.init();
      brain.drawAll();
      // a frame that had no room at first grows when it is painted
      if (message.neuroextrap !== "paint" || document.body.offsetHeight !== told) {
        tell(brain);
      }
    });
    brain.drawAll();
    tell(brain);
    return brain;
  };
})();
