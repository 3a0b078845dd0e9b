// Rows and boxes that belong together: light up under the pointer, come into view on a click.
"use strict";
(function () {
  function each(nodes, f) { Array.prototype.forEach.call(nodes, f); }
  function all(selector) { return Array.prototype.slice.call(document.querySelectorAll(selector)); }
  function rowsOfBox(node) {
    var rows = [], row = document.getElementById(node.dataset.i), n = +node.dataset.n || 1;
    for (; row && n; n--, row = row.nextElementSibling) rows.push(row);
    return rows;
  }
  // Machine code of a node, then all that names the same PTX or source lines; never across the two binaries.
  function related(node) {
    var found = [node], code = [];
    if (node.dataset.i) code = rowsOfBox(node);
    else if (node.id && /^[ab]/.test(node.id)) code = [node];
    else if (node.dataset.p) code = all('.sass tr[data-p="' + node.dataset.p + '"]');
    else if (node.dataset.s) code = all('.sass tr[data-s="' + node.dataset.s + '"]');
    code.forEach(function (row) {
      found.push(row);
      if (row.dataset.p) found.push(document.getElementById("p" + row.dataset.p));
      if (row.dataset.s) found.push(document.getElementById("s" + row.dataset.s));
    });
    return found.filter(Boolean);
  }
  function target(event) {
    return event.target.closest && event.target.closest("tr[data-p],tr[data-s],tr[data-i],.box,.sass tbody tr");
  }
  var lit = [];
  document.addEventListener("mouseover", function (event) {
    var node = target(event);
    each(lit, function (x) { x.classList.remove("on"); });
    lit = node ? related(node) : [];
    each(lit, function (x) { x.classList.add("on"); });
  });
  document.addEventListener("click", function (event) {
    var node = target(event), panes = [];
    if (!node) return;
    each(related(node), function (x) {
      var pane = x.closest(".pane");
      if (!pane || pane.contains(node) || panes.indexOf(pane) >= 0) return;
      panes.push(pane);
      pane.scrollTop += x.getBoundingClientRect().top - pane.getBoundingClientRect().top - pane.clientHeight / 3;
    });
    if (node.dataset.i && panes[0]) panes[0].scrollIntoView({block: "nearest"});
  });
})();
