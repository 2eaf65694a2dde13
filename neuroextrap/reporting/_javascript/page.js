// What a page can do without a viewer: save its figures as files.
document.querySelectorAll("button.nx-save").forEach(function (button) {
  button.addEventListener("click", function () {
    var link = document.createElement("a");
    link.href = button.closest("figure").querySelector("img").src;
    link.download = button.dataset.name;
    link.click();
  });
});
