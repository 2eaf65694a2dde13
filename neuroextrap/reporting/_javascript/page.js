// What a page can do without a viewer: save its figures as files, copy its words.
document.querySelectorAll("button.nx-save").forEach(function (button) {
  button.addEventListener("click", function () {
    var link = document.createElement("a");
    link.href = button.closest("figure").querySelector("img").src;
    link.download = button.dataset.name;
    link.click();
  });
});
document.querySelectorAll("button.nx-copy").forEach(function (button) {
  button.addEventListener("click", function () {
    var text = button.parentNode.previousElementSibling.innerText.trim();
    navigator.clipboard.writeText(text).then(function () { button.textContent = "Copied"; });
  });
});
