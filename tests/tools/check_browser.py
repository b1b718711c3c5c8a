#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Look at an HTML report in a browser.

    check_browser.py SCRATCH PICTURES AXE REPORT JSON [REPORT JSON]...

The first report is used: sort, fold, search, keys, light and dark, without scripts; the second is one with lost trace;
of each further one the index and a few pages are opened.  AXE is axe.min.js, or "-" to do without.  Prints a line for each case, as the tests do.
"""
import glob
import json
import os
import re
import sys

from browser import Browser

WIDTHS = ((1440, 900), (900, 900), (390, 844))


def case(name, want, got):
    if want == got:
        print("ok browser: " + name)
    else:
        print("not ok browser: %s: wanted %r, got %r" % (name, want, got))
    sys.stdout.flush()


class Report:
    def __init__(self, folder, path):
        self.folder = os.path.abspath(folder)
        with open(path, encoding="utf-8", errors="replace") as f:
            self.json = json.load(f)

    def url(self, page):
        return "file://" + self.folder + "/" + page

    def pages(self, kind, name="*"):
        return [os.path.relpath(p, self.folder) for p in sorted(glob.glob(glob.escape(self.folder) + "/%s/%s.html" % (kind, name)))]

    def source(self, name):
        """The page of a file, and what the JSON knows of it."""
        file = next(f for f in self.json["files"] if f["path"].endswith("/" + name))
        return self.pages("src", glob.escape(name) + "-*")[0], file


def known(t):
    return t["all"] - t["unknown"]


def clean(b, name, report):
    bad, asked = b.complaints()
    asked = [u for u in asked if not u.startswith(("file://" + report.folder.replace(" ", "%20"), "data:", "about:"))]
    case(name + ": nothing is complained of", [], bad)
    case(name + ": nothing outside is asked for", [], asked)


def check_sort(b, report):
    b.open(report.url("index.html"))
    head = "[...document.querySelectorAll('#files thead button')].find(b => b.textContent == '%s' && --n < 0).click()"
    column = "[...document.querySelectorAll('#files tbody tr')].map(r => r.cells[%d].textContent)"
    press = "[...document.querySelectorAll('caption button')].find(b => b.textContent == '%s').click()"
    names = column % 0
    unsorted = b.run(names)
    b.run(press % "files only")
    case("files only: whole paths", sorted(os.path.relpath(f["path"]) for f in report.json["files"]),
         sorted(b.run(names)))
    totals = [f["totals"] for f in report.json["files"]]
    shares = sorted(t["lines"]["hit"] / known(t["lines"]) for t in totals)
    b.run("n = 0; " + head % "lines")
    case("sorted by lines, the least first", ["%.1f%%" % (100 * s) for s in shares], b.run(column % 2))
    b.run("n = 0; " + head % "lines")
    case("and the other way", ["%.1f%%" % (100 * s) for s in reversed(shares)], b.run(column % 2))
    b.run("n = 0; " + head % "missed")
    missed = sorted((known(t["lines"]) - t["lines"]["hit"] for t in totals), reverse=True)
    case("sorted by missed lines, the most first", missed, [int(x.split("/")[0]) for x in b.run(column % 3)])
    b.run(press % "files only")
    case("back in the tree", unsorted, b.run(names))
    b.run("n = 0; " + head % "missed")
    depths = b.run("[...document.querySelectorAll('#files tbody tr')].map(r => [+r.style.getPropertyValue('--d'),"
                   " r.cells[0].textContent, parseInt(r.cells[3].textContent)])")
    wrong = [x for i, x in enumerate(depths) for y in depths[i + 1:next((k for k in range(i + 1, len(depths))
             if depths[k][0] < x[0]), len(depths))] if y[0] == x[0] and y[2] > x[2]]
    case("the tree is sorted folder by folder", [], wrong)
    case("and nothing is lost", sorted(unsorted), sorted(b.run(names)))
    b.run(press % "fold all")
    shown = "[...document.querySelectorAll('#files tbody tr')].filter(r => !r.hidden).every(r => +r.style.getPropertyValue('--d') < 2)"
    case("folded", True, b.run(shown))
    b.run(press % "unfold all")
    case("unfolded", 0, b.run("document.querySelectorAll('#files tbody tr[hidden]').length"))


def check_search(b, report):
    b.open(report.url("index.html"))
    b.key("/")
    case("the key / leads to the search", "search", b.run("document.activeElement.id"))
    b.type("deep")
    b.until("document.querySelectorAll('#found li').length > 0")
    found = b.run("[...document.querySelectorAll('#found li')].map(e => e.textContent)")
    page, file = report.source("deep.c")
    case("found: a function and a file", {"deep", os.path.relpath(file["path"])}, set(found))
    b.key("Enter")
    line = next(f["line"] for f in report.json["functions"] if f["name"] == "deep")
    line = min(l["line"] for l in file["lines"] if l["line"] >= line)
    case("Enter opens it", True, b.until_page("location.href.endsWith('/%s#L%d')" % (page, line)))
    b.key("/")
    b.type("no such thing")
    b.until("document.querySelectorAll('#found li').length > 0")
    case("nothing found is said", "nothing found", b.run("document.getElementById('found').textContent"))
    b.key("Escape")
    case("Escape leaves the search", False, b.run("document.activeElement.id == 'search'"))


def missed_runs(file):
    out, before = [], "hit"
    for l in file["lines"]:
        if l["state"] != "hit" and l["state"] != before:
            out.append(l["line"])
        before = l["state"]
    return out


def half_seen(file):
    return [l["line"] for l in file["lines"] if l["state"] == "hit" and
            any(b[k] == 0 for b in l.get("branches", []) for k in ("taken", "not_taken") if k in b)]


def check_keys(b, report):
    page, file = report.source("main.c")
    b.open(report.url(page))
    for key, places in (("n", missed_runs(file)), ("b", half_seen(file))):
        b.run("scrollTo(0, 0)")
        b.open(report.url(page))
        went = []
        for _ in places:
            b.key(key)
            went.append(b.run("location.hash"))
        case("the key %s goes through them" % key, ["#L%d" % l for l in places], went)
        case("the line is in view", True, b.run("(r => r.top >= 0 && r.bottom <= innerHeight)"
             "(document.querySelector(location.hash).getBoundingClientRect())"))
        b.key(key)
        case("%s after the last begins anew" % key, "#L%d" % places[0], b.run("location.hash"))
        b.key({"n": "p", "b": "B"}[key])
        case("and back", "#L%d" % places[-1], b.run("location.hash"))
    b.key("?")
    case("the key ? shows the keys", True, b.run("document.querySelector('dialog').open"))
    b.key("Escape")
    files = [f["path"] for f in report.json["files"]]
    at = files.index(file["path"])
    b.key("[")
    before = os.path.relpath(files[at - 1])
    case("the key [ opens the file before", True, b.until_page("document.title == '%s'" % before))
    b.key("]")
    case("the key ] opens the next", True, b.until_page("document.title == 'main.c'"))
    b.key("u")
    case("the key u opens the summary", True, b.until_page("location.pathname.endsWith('/index.html')"))
    b.key("j")
    case("the key j goes to the first row", "A", b.run("document.activeElement.tagName"))
    # a branch leads to its instruction
    b.open(report.url(page))
    b.run("document.querySelector('.l .b a').click()")
    case("a branch leads to its instruction", True,
         b.until_page("location.pathname.includes('/fn/') && document.querySelector(':target.i .k') !== null"))


def check_colours(b, report):
    b.screen(900, 900, False)
    b.open(report.url("index.html"))
    colour = "getComputedStyle(document.body).backgroundColor"
    light = b.run(colour)
    b.screen(900, 900, True)
    dark = b.run(colour)
    case("light and dark as the system has it", [True, False],
         [sum(map(int, re.findall(r"\d+", c))) > 384 for c in (light, dark)])
    b.key("t")
    case("the key t: light", light, b.run(colour))
    for _ in range(20):  # the browser stores it in its own time
        b.open(report.url(report.source("main.c")[0]))
        if b.run(colour) == light:
            break
    case("it is kept for the next page", light, b.run(colour))
    b.key("t")
    b.screen(900, 900, False)
    case("then dark", dark, b.run(colour))
    b.key("t")
    case("then as the system has it", light, b.run(colour))


def check_without_scripts(b, report):
    b.call("Emulation.setScriptExecutionDisabled", value=True)
    for name in ("index.html", report.source("main.c")[0]):
        b.open(report.url(name))
        root = b.call("DOM.getDocument", depth=0)["root"]["nodeId"]
        html = b.call("DOM.getOuterHTML", nodeId=root)["outerHTML"]
        with open(os.path.join(report.folder, name), encoding="utf-8") as f:
            rows = f.read().count("<tr")
        case("without scripts %s is whole" % name.split("/")[0], [rows, False, False],
             [html.count("<tr"), "<input" in html, "hidden" in html])
    b.call("Emulation.setScriptExecutionDisabled", value=False)


def check_axe(b, reports, axe):
    with open(axe, encoding="utf-8") as f:
        code = f.read()
    for dark in (False, True):
        for report, name, page in views(reports):
            b.screen(1440, 900, dark)
            b.open(report.url(page))
            b.run("document.querySelectorAll('details').forEach(d => d.open = true)")
            b.run(code + "; 0")
            found = b.run("axe.run(document, {resultTypes: ['violations']}).then(r => r.violations.map(v =>"
                          " v.impact + ' ' + v.id + ': ' + v.nodes.slice(0, 3).map(n => n.target.join(' ') + ' ' +"
                          " n.failureSummary).join('; ')))", promise=True)
            case("axe: %s, %s" % (name, "dark" if dark else "light"), [], found)


def views(reports):
    first, lost = reports[:2]
    return [(first, "index", "index.html"), (first, "source", first.source("main.c")[0]),
            (first, "function", first.pages("fn", "main-*")[0]), (lost, "unknown", lost.source("main.c")[0]),
            (lost, "unknown index", "index.html")]


def take_pictures(b, reports, folder):
    for width, height in WIDTHS:
        for dark in (False, True):
            for report, name, page in views(reports):
                b.screen(width, height, dark)
                b.open(report.url(page))
                b.picture(os.path.join(folder, "%s-%d-%s.png" % (name.replace(" ", "-"), width, "dark" if dark else "light")))
                wide = b.run("document.documentElement.scrollWidth")
                if wide > width:
                    case("%s at %d: no wider than the window" % (name, width), width, wide)


def main():
    scratch, pictures, axe = sys.argv[1:4]
    reports = [Report(*sys.argv[i:i + 2]) for i in range(4, len(sys.argv), 2)]
    first = reports[0]
    b = Browser(os.path.join(scratch, "profile"), os.path.join(scratch, "browser.log"))
    try:
        b.screen(1440, 900, False)
        check_sort(b, first)
        check_search(b, first)
        check_keys(b, first)
        check_colours(b, first)
        clean(b, "used", first)
        check_without_scripts(b, first)
        b.complaints()
        take_pictures(b, reports, pictures)
        b.complaints()
        for i, r in enumerate(reports[1:], 1):
            for page in ["index.html"] + r.pages("src")[:5] + r.pages("fn")[:5]:
                b.open(r.url(page))
                b.key("/")
                b.type("script")
                b.until("!document.getElementById('found').hidden")
                b.key("Escape")
            b.open(r.url("index.html"))
            case("report %d: all files" % (i + 1), len(r.json["files"]), b.run("document.querySelectorAll('tr.f').length"))
            clean(b, "report %d" % (i + 1), r)
        if axe != "-":
            check_axe(b, reports, axe)
    finally:
        b.close()


main()
