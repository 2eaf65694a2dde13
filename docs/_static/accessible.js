// names for controls that the theme draws as pictures, for readers who hear the page
document.addEventListener("DOMContentLoaded", function () {
  document.querySelectorAll("details > summary").forEach(function (summary) {
    if (summary.textContent.trim()) { return; }
    var link = summary.parentElement.parentElement.querySelector("a");
    summary.setAttribute("aria-label", "Pages below " +
      (link ? link.textContent.trim() : "this one"));
  });
  document.querySelectorAll(".sphx-glr-thumbcontainer a").forEach(function (link) {
    link.setAttribute("aria-label", link.textContent.trim());
  });
});
