// What a page can do without a viewer: save its figures as files, copy its words.
document.querySelectorAll("button.nx-save").forEach(function (button) {
  button.addEventListener("click", function () {
    var link = document.createElement("a");
    link.href = button.closest("figure").querySelector("img").src;
    link.download = button.dataset.name;
    link.click();
  });
});
// Tables whose headings are buttons are sorted by a column, numbers as numbers.
document.querySelectorAll("table[data-sortable] thead button").forEach(function (button, column) {
  button.addEventListener("click", function () {
    var body = button.closest("table").tBodies[0];
    var up = button.dataset.up !== "1";
    var key = function (row) {
      var text = row.cells[column].textContent.trim(), number = parseFloat(text.replace(/[,(]/g, "").replace("\u2212", "-"));
      return isNaN(number) ? text : number;
    };
    var rows = Array.from(body.rows).sort(function (one, two) {
      var a = key(one), b = key(two);
      if (typeof a !== typeof b) { return typeof a === "number" ? -1 : 1; }
      return (a < b ? -1 : a > b ? 1 : 0) * (up ? 1 : -1);
    });
    rows.forEach(function (row) { body.appendChild(row); });
    button.dataset.up = up ? "1" : "0";
    button.closest("thead").querySelectorAll("th").forEach(function (head) { head.removeAttribute("aria-sort"); });
    button.closest("th").setAttribute("aria-sort", up ? "ascending" : "descending");
  });
});
document.querySelectorAll("button.nx-copy").forEach(function (button) {
  button.addEventListener("click", function () {
    var text = button.parentNode.previousElementSibling.innerText.trim();
    navigator.clipboard.writeText(text).then(function () { button.textContent = "Copied"; });
  });
});
