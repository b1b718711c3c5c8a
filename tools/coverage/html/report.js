/* SPDX-License-Identifier: BSD-2-Clause */
/* What the pages can do beyond being read: sort, fold, search, keys, light and dark. */
"use strict";
(function() {

var root = document.documentElement;
var up = "";

/* A browser may keep nothing for pages from a disk: then all begins anew on each page. */
function recall(key)
{
	try {
		return localStorage.getItem("hwtrace-" + key);
	} catch (e) {
		return null;
	}
}

function keep(key, value)
{
	try {
		localStorage.setItem("hwtrace-" + key, value);
	} catch (e) { /* see above */
	}
}

/* make("a", {href: "x"}, child or text...) */
function make(tag, attributes)
{
	var e = document.createElement(tag);
	for (var name in attributes)
		e.setAttribute(name, attributes[name]);
	for (var i = 2; i < arguments.length; i++)
		e.append(arguments[i]);
	return e;
}

function all(selector, within)
{
	return Array.from((within || document).querySelectorAll(selector));
}

/* -- light and dark ------------------------------------------------------- */

var themes = [ "auto", "light", "dark" ];
var theme = Math.max(0, themes.indexOf(recall("theme")));

function showTheme()
{
	if (theme)
		root.setAttribute("data-theme", themes[theme]);
	else
		root.removeAttribute("data-theme");
}
showTheme(); /* before anything is drawn */

function nextTheme()
{
	theme = (theme + 1) % themes.length;
	keep("theme", themes[theme]);
	showTheme();
	say("colours: " + themes[theme]);
}

/* -- said aloud ----------------------------------------------------------- */

var status, statusTimer;

function say(text)
{
	status.textContent = text;
	status.classList.add("shown");
	clearTimeout(statusTimer);
	statusTimer = setTimeout(function() { status.classList.remove("shown"); }, 2500);
}

/* -- sort ----------------------------------------------------------------- */

/* Of a cell: a number, -1 for what is not known, or text. */
function value(cell, numeric)
{
	var text = cell ? cell.textContent.trim() : "";
	var n = parseFloat(text);
	return !numeric ? text : isNaN(n) ? -1 : n;
}

function compare(column, numeric, direction)
{
	return function(a, b) {
		var x = value(a.cells[column], numeric), y = value(b.cells[column], numeric);
		if (numeric && (x < 0) !== (y < 0))
			return x < 0 ? 1 : -1; /* what is not known stays at the end */
		return (x < y ? -1 : x > y ? 1 : 0) * direction;
	};
}

/* Rows of the tree as nodes: a row belongs to the last row before it that lies less deep. */
function tree(body)
{
	var top = { row : null, depth : -1, children : [] }, path = [ top ];
	Array.from(body.rows).forEach(function(row) {
		var node = { row : row, depth : +row.style.getPropertyValue("--d"), children : [] };
		while (path[path.length - 1].depth >= node.depth)
			path.pop();
		path[path.length - 1].children.push(node);
		path.push(node);
	});
	return top;
}

function appendTree(body, node, by)
{
	node.children.sort(function(a, b) { return by(a.row, b.row); });
	node.children.forEach(function(child) {
		body.append(child.row);
		appendTree(body, child, by);
	});
}

function sortTable(table, column)
{
	var body = table.tBodies[0], head = table.tHead.rows[0].cells[column];
	var numeric = head.matches(".r, .p"), was = head.getAttribute("aria-sort");
	/* first what is worst: low shares, many misses */
	var first = numeric && !head.matches(".p") ? "descending" : "ascending";
	var now = was === first ? (first === "ascending" ? "descending" : "ascending") : first;
	var by = compare(column, numeric, now === "ascending" ? 1 : -1);

	Array.from(table.tHead.rows[0].cells)
	    .forEach(function(c) { c.removeAttribute("aria-sort"); });
	head.setAttribute("aria-sort", now);
	if (table.id === "files" && !table.classList.contains("flat")) {
		appendTree(body, tree(body), by);
	} else {
		Array.from(body.rows).sort(by).forEach(function(row) { body.append(row); });
	}
}

function makeSortable(table)
{
	Array.from(table.tHead.rows[0].cells).forEach(function(cell, column) {
		var text = cell.textContent, button;
		if (cell.tagName !== "TH" || !text || cell.querySelector(".sr"))
			return;
		button = make("button", { type : "button" }, text);
		cell.textContent = "";
		cell.append(button);
		button.addEventListener("click", function() { sortTable(table, column); });
	});
}

/* -- the tree of files ---------------------------------------------------- */

function fold(table)
{
	var hiddenBelow = Infinity;
	Array.from(table.tBodies[0].rows).forEach(function(row) {
		var depth = +row.style.getPropertyValue("--d");
		if (depth <= hiddenBelow)
			hiddenBelow = Infinity;
		row.hidden = hiddenBelow < Infinity;
		if (row.matches(".folded") && hiddenBelow === Infinity)
			hiddenBelow = depth;
	});
}

function setFolded(row, folded)
{
	row.classList.toggle("folded", folded);
	row.querySelector("button").setAttribute("aria-expanded", String(!folded));
}

/* Files alone, by their whole paths; and back. */
function flatten(table, button)
{
	var flat = table.classList.toggle("flat"), body = table.tBodies[0];
	button.setAttribute("aria-pressed", String(flat));
	if (flat) {
		table.folders = all("tr.d", body);
		table.inTree = Array.from(body.rows);
		table.inTree.forEach(function(row) { row.hidden = false; });
		walkPaths(tree(body), "");
		table.folders.forEach(function(row) { row.remove(); });
	} else {
		table.inTree.forEach(function(row) { body.append(row); });
		all(".folder", body).forEach(function(e) { e.remove(); });
		fold(table);
	}
	Array.from(table.tHead.rows[0].cells)
	    .forEach(function(c) { c.removeAttribute("aria-sort"); });
}

function walkPaths(node, path)
{
	node.children.forEach(function(child) {
		if (child.row.matches(".f"))
			child.row.cells[0].querySelector("a").prepend(
			    make("span", { "class" : "folder" }, path));
		else
			walkPaths(child, path + (child.row.dataset.path ??
			                         child.row.cells[0].textContent.trim()));
	});
}

function makeTree(table)
{
	var folders = all("tr.d", table), many = table.tBodies[0].rows.length > 400;
	var flat = make("button", { type : "button", "aria-pressed" : "false" }, "files only");
	var folded = many;
	var foldAll = make("button", { type : "button" }, folded ? "unfold all" : "fold all");

	function foldRow(row)
	{
		setFolded(row, folded && row.style.getPropertyValue("--d") > 0);
	}
	folders.forEach(function(row) {
		var button = make("button",
		                  { type : "button", "class" : "fold", "aria-label" : "contents" });
		row.cells[0].prepend(button);
		foldRow(row);
		button.addEventListener("click", function() {
			setFolded(row, !row.matches(".folded"));
			fold(table);
		});
	});
	fold(table);
	flat.addEventListener("click", function() { flatten(table, flat); });
	foldAll.addEventListener("click", function() {
		folded = !folded;
		folders.forEach(foldRow);
		fold(table);
		foldAll.textContent = folded ? "unfold all" : "fold all";
	});
	table.caption.append(" ", flat, " ", foldAll);
}

/* -- search --------------------------------------------------------------- */

var names = null, waiting = null;

/* search.js calls it: loaded when it is first needed, since it grows with the program. */
window.hwtraceSearch = function(data) {
	names = data.map(function(row) {
		return { text : row[0], low : row[0].toLowerCase(), page : row[1], state : row[2] };
	});
	if (waiting)
		waiting();
};

function loadNames()
{
	if (names || waiting)
		return;
	waiting = function() {};
	document.head.append(make("script", { src : up + "search.js" }));
}

/* All words are part of it; what begins with the first word, and what is short, comes first. */
function find(query)
{
	var words = query.toLowerCase().split(/\s+/).filter(Boolean), found = [];
	if (!words.length || !names)
		return found;
	names.forEach(function(n) {
		if (words.every(function(w) { return n.low.includes(w); }))
			found.push(n);
	});
	function rank(n)
	{
		var base = n.low.slice(n.low.lastIndexOf("/") + 1);
		return (base === words[0]           ? 0
		        : base.startsWith(words[0]) ? 1
		                                    : 2) *
		           1e6 +
		       n.low.length;
	}
	return found.sort(function(a, b) { return rank(a) - rank(b) || (a.low < b.low ? -1 : 1); })
	    .slice(0, 40);
}

function makeSearch()
{
	var input = make("input", {
		type : "search",
		id : "search",
		placeholder : "file or function",
		autocomplete : "off",
		spellcheck : "false",
		role : "combobox",
		"aria-label" : "search files and functions",
		"aria-expanded" : "false",
		"aria-controls" : "found",
		"aria-autocomplete" : "list"
	});
	var list = make("ul", { id : "found", role : "listbox", "aria-label" : "found" });
	var box = make("div", { "class" : "search", role : "search" }, input, list);
	var at = -1;

	function choose(n)
	{
		var items = all("li", list);
		if (items[at])
			items[at].setAttribute("aria-selected", "false");
		at = items.length ? (n + items.length) % items.length : -1;
		if (at < 0) {
			input.removeAttribute("aria-activedescendant");
			return;
		}
		items[at].setAttribute("aria-selected", "true");
		items[at].scrollIntoView({ block : "nearest" });
		input.setAttribute("aria-activedescendant", items[at].id);
	}
	function show()
	{
		var found = find(input.value);
		list.textContent = "";
		found.forEach(function(n, i) {
			list.append(make("li", {
				id : "found" + i,
				role : "option",
				"aria-selected" : "false",
				"class" : n.state || "",
				"data-page" : n.page
			},
			                 n.text));
		});
		if (names && input.value.trim() && !found.length)
			list.append(make("li", {
				role : "option",
				"aria-disabled" : "true",
				"aria-selected" : "false"
			},
			                 "nothing found"));
		list.hidden = !list.children.length;
		input.setAttribute("aria-expanded", String(!list.hidden));
		at = -1;
		if (found.length)
			choose(0);
	}
	function close()
	{
		list.hidden = true;
		input.setAttribute("aria-expanded", "false");
	}
	function go(item)
	{
		if (item && item.dataset.page) {
			close();
			location.href = up + item.dataset.page;
		}
	}
	list.hidden = true;
	input.addEventListener("focus", function() {
		loadNames();
		waiting = show;
	});
	input.addEventListener("input", show);
	input.addEventListener("blur", function() { setTimeout(close, 150); });
	input.addEventListener("keydown", function(e) {
		if (e.key === "ArrowDown" || e.key === "ArrowUp") {
			choose(at + (e.key === "ArrowDown" ? 1 : -1));
			e.preventDefault();
		} else if (e.key === "Enter") {
			go(all("li", list)[at]);
		} else if (e.key === "Escape") {
			input.value = "";
			close();
			input.blur();
		}
	});
	list.addEventListener("mousedown", function(e) { go(e.target.closest("li")); });
	return box;
}

/* -- through a page ------------------------------------------------------- */

var current = null; /* the line that was gone to last */

function visible(e)
{
	var r = e.getBoundingClientRect();
	return r.bottom > 0 && r.top < innerHeight;
}

/* Place among `stops` of where the reader is; a half when between two of them. */
function position(stops)
{
	var lo = 0, hi = stops.length, mid, i;
	if (current && visible(current)) {
		i = stops.indexOf(current);
		if (i >= 0)
			return i;
		while (lo < hi) {
			mid = (lo + hi) >> 1;
			if (stops[mid].compareDocumentPosition(current) &
			    Node.DOCUMENT_POSITION_FOLLOWING)
				lo = mid + 1;
			else
				hi = mid;
		}
		return lo - 0.5;
	}
	while (lo < hi) { /* the first that is not above the window */
		mid = (lo + hi) >> 1;
		if (stops[mid].getBoundingClientRect().top < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo - 0.5;
}

function step(stops, forward, what)
{
	var i, to;
	if (!stops.length) {
		say("no " + what + " here");
		return;
	}
	i = position(stops);
	i = forward ? Math.floor(i) + 1 : Math.ceil(i) - 1;
	if (i < 0 || i >= stops.length)
		i = forward ? 0 : stops.length - 1;
	to = current = stops[i];
	location.replace("#" + to.id);
	to.scrollIntoView({ block : "center" });
	to.querySelector("a.n").focus({ preventScroll : true });
	say(what + " " + (i + 1) + " of " + stops.length);
}

/* The first lines of runs that did not run, or of which it is not known. */
function missedRuns()
{
	var before = "";
	return all(".l, .i").filter(function(e) {
		var kind = e.matches(".m")       ? "m"
		           : e.matches(".u")     ? "u"
		           : e.matches(".h, .p") ? "h"
		                                 : before;
		var first = kind !== before && kind !== "h";
		before = kind;
		return first;
	});
}

function missedBranches()
{
	return all(".l.p, .i").filter(function(e) {
		return e.querySelector(".k .m, .b .m, .k .u") && !e.matches(".m");
	});
}

/* The rows' links, by j and k. */
function stepRow(forward)
{
	var links = all("tbody th a").filter(function(a) { return a.offsetParent; });
	var i = links.indexOf(document.activeElement);
	i = i < 0 ? (forward ? 0 : links.length - 1) : i + (forward ? 1 : -1);
	if (links[i])
		links[i].focus();
}

/* A strip at the right with all lines of the page: what ran, what did not. */
function makeStrip()
{
	var lines = all(".src .l"), runs = [], strip;
	if (lines.length < 60)
		return;
	lines.forEach(function(e) {
		var kind = (/ ([hmpu])$/.exec(e.className) || [ "", "" ])[1];
		if (runs.length && runs[runs.length - 1].kind === kind)
			runs[runs.length - 1].n++;
		else
			runs.push({ kind : kind, n : 1 });
	});
	strip = make("div", { "class" : "strip", "aria-hidden" : "true" });
	runs.forEach(function(run) {
		strip.append(make("i", { "class" : run.kind || "none", style : "flex:" + run.n }));
	});
	strip.addEventListener("click", function(e) {
		var r = strip.getBoundingClientRect();
		var i = Math.floor((e.clientY - r.top) / r.height * lines.length);
		lines[Math.min(Math.max(i, 0), lines.length - 1)].scrollIntoView(
		    { block : "center" });
	});
	document.body.append(strip);
}

/* -- keys ----------------------------------------------------------------- */

function follow(selector)
{
	var a = document.querySelector(selector);
	if (a)
		location.href = a.href;
}

var keys = [
	[ "/", "search", function() { document.getElementById("search").focus(); } ],
	[
		"n", "next lines that did not run or are unknown",
		function() { step(missedRuns(), true, "missed place"); }
	],
	[ "p", "the ones before", function() { step(missedRuns(), false, "missed place"); } ],
	[
		"b", "next branch with an outcome that was not seen",
		function() { step(missedBranches(), true, "branch"); }
	],
	[ "B", "the one before", function() { step(missedBranches(), false, "branch"); } ],
	[ "j", "next row of a table", function() { stepRow(true); } ],
	[ "k", "the one before", function() { stepRow(false); } ],
	[ "]", "next file", function() { follow("a[rel=next]"); } ],
	[ "[", "previous file", function() { follow("a[rel=prev]"); } ],
	[ "u", "summary", function() { follow("header nav a"); } ],
	[ "t", "colours: auto, light, dark", nextTheme ], [ "?", "this help", help ]
];

function help()
{
	var dialog = document.querySelector("dialog"), list, on;
	if (!dialog) {
		list = make("dl", {});
		keys.forEach(function(k) {
			list.append(make("dt", {}, make("kbd", {}, k[0])), make("dd", {}, k[1]));
		});
		on = make("input", { type : "checkbox", id : "keys-on" });
		on.checked = recall("keys") !== "off";
		on.addEventListener("change",
		                    function() { keep("keys", on.checked ? "on" : "off"); });
		dialog = make(
		    "dialog", { "aria-labelledby" : "help" }, make("h2", { id : "help" }, "Keys"),
		    list, make("p", {}, on, make("label", { "for" : "keys-on" }, " keys are on")),
		    make("form", { method : "dialog" }, make("button", {}, "close")));
		document.body.append(dialog);
	}
	dialog.showModal();
}

function onKey(e)
{
	var key;
	if (e.ctrlKey || e.altKey || e.metaKey || e.defaultPrevented ||
	    document.querySelector("dialog[open]") || e.target.closest("input, select, textarea") ||
	    recall("keys") === "off")
		return;
	key = keys.find(function(k) { return k[0] === e.key; });
	if (key) {
		e.preventDefault();
		key[2]();
	}
}

/* -- all of it ------------------------------------------------------------ */

function start()
{
	var tools, files = document.getElementById("files"),
		   graph = document.querySelector(".graph"), entry;

	up = document.body.dataset.up;
	status = make("div", { "class" : "status", role : "status" });
	document.body.append(status);
	tools = make("div", { "class" : "tools" }, makeSearch(),
	             make("button", { type : "button", id : "theme", title : "light or dark (t)" },
	                  "colours"),
	             make("button", { type : "button", id : "keys", title : "keys (?)" }, "keys"));
	document.querySelector("header").append(tools);
	document.getElementById("theme").addEventListener("click", nextTheme);
	document.getElementById("keys").addEventListener("click", help);
	all("main table").forEach(makeSortable);
	if (files)
		makeTree(files);
	makeStrip();
	if (graph && (entry = graph.querySelector("a.b rect")))
		graph.scrollLeft =
		    entry.x.baseVal.value + entry.width.baseVal.value / 2 - graph.clientWidth / 2;
	document.addEventListener("keydown", onKey);
	root.classList.add("ready");
}

document.addEventListener("DOMContentLoaded", start);
})();
