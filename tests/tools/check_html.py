#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Read the pages of an HTML report and hold them against the JSON of the same run.

    check_html.py DIR JSON [LISTING]

LISTING is what `hwtrace annotate '*'` prints of it: the pages of functions hold
the same instructions and counts.  Prints what is wrong, one sentence a line; nothing when all is well.
"""
import html.parser
import json
import os
import re
import sys
import urllib.parse

VOID = {"meta", "link", "br", "hr", "img", "input"}


class Page(html.parser.HTMLParser):
    """A tree of (tag, attributes, children) with what links to where beside it."""

    def __init__(self, path):
        super().__init__(convert_charrefs=True)
        self.path = path
        self.root = ("", {}, [])
        self.open = [self.root]
        self.ids = set()
        self.links = []
        self.wrong = []
        with open(path, encoding="utf-8") as f:
            self.feed(f.read())
        self.close()
        if len(self.open) != 1:
            self.wrong.append("not closed: " + " ".join(e[0] for e in self.open[1:]))

    def handle_starttag(self, tag, attrs):
        e = (tag, dict(attrs), [])
        if len(e[1]) != len(attrs):
            self.wrong.append("an attribute twice in <%s>" % tag)
        for name, value in attrs:
            if name.startswith("on"):
                self.wrong.append("code in an attribute: %s=%s" % (name, value))
            if name in ("href", "src"):
                self.links.append(value)
            if name == "id":
                if value in self.ids:
                    self.wrong.append("id %s twice" % value)
                self.ids.add(value)
        if tag == "script" and "src" not in e[1]:
            self.wrong.append("a script in the page")
        self.open[-1][2].append(e)
        if tag not in VOID:
            self.open.append(e)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if self.open[-1][0] != tag:
            self.wrong.append("</%s> closes <%s>, line %d" % (tag, self.open[-1][0], self.getpos()[0]))
        if len(self.open) > 1:
            self.open.pop()

    def handle_data(self, data):
        self.open[-1][2].append(data)


def text(e):
    return e if isinstance(e, str) else "".join(text(c) for c in e[2])


def find(e, tag=None, cls=None):
    """Elements below `e`, in order."""
    for c in e[2]:
        if isinstance(c, str):
            continue
        if (tag is None or c[0] == tag) and (cls is None or cls in c[1].get("class", "").split()):
            yield c
        yield from find(c, tag, cls)


def load(folder):
    pages = {}
    for base, _, names in os.walk(folder):
        for name in names:
            if name.endswith(".html"):
                path = os.path.join(base, name)
                pages[os.path.relpath(path, folder)] = Page(path)
    return pages


def check_links(folder, pages, wrong):
    for name, page in pages.items():
        wrong += ["%s: %s" % (name, w) for w in page.wrong]
        for link in page.links:
            if link == "data:,":
                continue
            u = urllib.parse.urlsplit(link)
            if u.scheme or u.netloc:
                wrong.append("%s: leads outside: %s" % (name, link))
                continue
            target = name
            if u.path:
                target = os.path.normpath(os.path.join(os.path.dirname(name), urllib.parse.unquote(u.path)))
            if not os.path.isfile(os.path.join(folder, target)):
                wrong.append("%s: leads nowhere: %s" % (name, link))
            elif u.fragment and u.fragment not in pages[target].ids:
                wrong.append("%s: leads to no place in the page: %s" % (name, link))
    for asset in ("report.css", "report.js"):
        with open(os.path.join(folder, asset), encoding="utf-8") as f:
            if re.search(r"@import|url\((?!['\"]?data:)|https?:", f.read()):
                wrong.append("%s: asks for something outside" % asset)


def known(t):
    return t["all"] - t["unknown"]


def cells(t):
    """What the two cells of a tally say."""
    n = known(t)
    return ["%d/%d" % (n - t["hit"], n) if n else ""]


def missed_cells(row):
    return [text(td) for td in find(row, "td", "r")]


def check_index(index, report, wrong):
    sums = {text(next(find(d, "dt"))): text(next(find(d, "dd"))) for d in find(next(find(index.root, "dl", "sums")), "div")}
    for kind in ("lines", "branches", "functions", "instructions"):
        t = report["totals"][kind]
        if not t["all"] and kind not in sums:
            continue
        want = "%d of %d" % (t["hit"], known(t))
        if want not in sums[kind] or ("%d unknown" % t["unknown"] in sums[kind]) != bool(t["unknown"]):
            wrong.append("index: %s: wanted %s, got %s" % (kind, want, sums[kind]))
    rows = {}
    for row in find(index.root, "tr", "f"):
        rows[next(find(row, "a"))[1]["href"]] = missed_cells(row)
    if len(rows) != len(report["files"]):
        wrong.append("index: %d files of %d" % (len(rows), len(report["files"])))
    return rows


def outcome(chip):
    """{'taken': N or None} of a chip's title, and what its fields say."""
    said = {}
    for what, value in re.findall(r"(not taken|taken) (\d+|unknown)", chip[1]["title"]):
        said[what] = None if value == "unknown" else int(value)
    return said


def wanted_outcome(b):
    want = {}
    for field, name in (("taken", "taken"), ("not_taken", "not taken")):
        if field in b:
            want[name] = None if b.get("lost") and not b[field] else b[field]
    return want


def check_line(where, div, want, wrong):
    shown = next(find(div, "span", "c"), None)
    if want is None:
        if shown:
            wrong.append("%s: a count where there is no code: %s" % (where, text(shown)))
        return
    count = "?" if want["state"] == "unknown" else str(want["count"])
    if not shown or text(shown) != count:
        wrong.append("%s: wanted %s, got %s" % (where, count, shown and text(shown)))
    branches = [wanted_outcome(b) for b in want.get("branches", [])]
    chips = [outcome(k) for k in find(div, "span", "k")] + [outcome(k) for k in find(div, "a", "k")]
    if chips != branches:
        wrong.append("%s: branches: wanted %s, got %s" % (where, branches, chips))
    missed = any(v == 0 for b in branches for v in b.values())
    cls = {"hit": "p" if missed else "h", "not hit": "m", "unknown": "u"}[want["state"]]
    if cls not in div[1]["class"].split():
        wrong.append("%s: shown as %s, is %s" % (where, div[1]["class"], cls))


def check_source(name, page, file, wrong):
    want = {l["line"]: l for l in file["lines"]}
    try:
        with open(file["path"], "rb") as f:
            # as the page has to show it: no controls, U+FFFD for what is no UTF-8
            source = f.read().split(b"\n")
    except OSError:
        source = None
        if not any("cannot be read" in text(n) for n in find(page.root, "p", "note")):
            wrong.append("%s: does not say that the source is missing" % name)
    seen = set()
    for div in find(next(find(page.root, "div", "src")), "div", "l"):
        number = int(div[1]["id"][1:])
        seen.add(number)
        check_line("%s:%d" % (name, number), div, want.get(number), wrong)
        if source and number <= len(source):
            shown = text(next(find(div, "code")))
            line = source[number - 1].rstrip(b"\r")
            if all(c == 9 or 32 <= c < 127 for c in line) and shown != line.decode():
                wrong.append("%s:%d: shows %r for %r" % (name, number, shown, line))
    if set(want) - seen:
        wrong.append("%s: lines %s are missing" % (name, sorted(set(want) - seen)))


def read_listing(path):
    """{first address: [(address, count, text)]} of each function."""
    functions, rows = {}, None
    with open(path, encoding="utf-8", errors="replace") as f:
        for line in f:
            insn = re.fullmatch(r" *(\d+|#####|\?\?\?\?\?)  +([0-9a-f]+):  ([^[\n]*?)(  \[.*\])?\n", line)
            if insn:
                if not rows:
                    rows = []
                    functions.setdefault(insn[2], rows)  # again where something was inlined
                rows.append((insn[2], {"#####": "0", "?????": "?"}.get(insn[1], insn[1]), insn[3]))
            elif line == "\n":
                rows = None
    return functions


def numbers(s):
    return [float(x) for x in re.findall(r"-?\d+(?:\.\d+)?", s)]


def on_border(x, y, boxes):
    return any((abs(y - b) < 1 or abs(y - t) < 1 or abs(x - r) < 1) and l - 1 < x < r + 1 and t - 1 < y < b + 1
               for l, t, r, b in boxes)


def check_graph(name, page, rows, wrong):
    svg = next(find(page.root, "svg"), None)
    if svg is None:
        if not any("too many for a drawing" in text(p) for p in find(page.root, "p", "note")):
            wrong.append("%s: no graph" % name)
        return
    begins = {r[1]["id"][1:] for r in find(page.root, "div", "k0")}
    nodes = [n[1]["href"][2:] for n in find(svg, "a")]
    if sorted(nodes) != sorted(begins):
        wrong.append("%s: blocks %s, drawn %s" % (name, sorted(begins), sorted(nodes)))
    boxes = []
    for rect in find(svg, "rect"):
        x, y, w, h = (float(rect[1][k]) for k in ("x", "y", "width", "height"))
        boxes.append((x, y, x + w, y + h))
        if x < 0 or y < 0 or x + w > float(svg[1]["width"]) or y + h > float(svg[1]["height"]):
            wrong.append("%s: a block stands outside of the drawing" % name)
    for i, a in enumerate(boxes):
        for b in boxes[:i]:
            if a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]:
                wrong.append("%s: blocks overlap" % name)
    drawn = []
    for g in find(svg, "g", "e"):
        path = next(find(g, "path"))
        label = "".join(text(t) for t in find(g, "text"))
        drawn += [label] if label else []
        d = numbers(path[1]["d"])
        end = d[-2:] if not path[1]["d"].endswith("h-8") else d[:2]
        if not on_border(d[0], d[1], boxes) or not on_border(end[0], end[1], boxes):
            wrong.append("%s: an edge that begins or ends at no block: %s" % (name, path[1]["d"]))
    # conditional jumps that stay in the function, by their text
    inside = {r[0] for r in rows}
    stay = 0
    for _, _, insn in rows:
        jump = re.fullmatch(r"(?:j[a-z]+|loop[a-z]*) 0x([0-9a-f]+)", insn)
        stay += bool(jump and not insn.startswith("jmp") and jump[1] in inside)
    if sum(l[0] == "T" for l in drawn) != stay:
        wrong.append("%s: %d edges of jumps that are taken, drawn %s" % (name, stay, drawn))


def check_code(pages, listing, report, wrong):
    # annotate shows the first copy, which may be inlined somewhere: such functions have a page of their own besides
    in_places = {f.get("full_name", f["name"]) for f in report["functions"] if 0 < f["inlined"] < f["copies"]}
    found = set()
    for name, page in pages.items():
        if not name.startswith("fn/"):
            continue
        rows = []
        for div in find(page.root, "div", "i"):
            rows.append((div[1]["id"][1:], text(next(find(div, "span", "c"))), text(next(find(div, "code")))))
        want = listing.get(rows[0][0]) if rows else None
        if rows != want and not (rows and want is None and text(next(find(page.root, "h1"))) in in_places):
            other = [x for x in zip(want or [], rows) if x[0] != x[1]][:3]
            wrong.append("%s: instructions differ: %s" % (name, other or (len(want or []), len(rows))))
        found.add(rows[0][0] if rows else "")
        check_graph(name, page, rows, wrong)
    if set(listing) - found:
        wrong.append("no pages for the functions at %s" % sorted(set(listing) - found))


def main():
    folder, path = sys.argv[1:3]
    with open(path, encoding="utf-8", errors="replace") as f:
        report = json.load(f)
    pages = load(folder)
    wrong = []
    check_links(folder, pages, wrong)
    rows = check_index(pages["index.html"], report, wrong)
    hrefs = iter(sorted(rows))
    by_title = {}
    for name in hrefs:
        by_title.setdefault(text(next(find(pages[name].root, "h1"))), name)
    cwd = os.getcwd() + "/"
    for file in report["files"]:
        path = file["path"]
        name = by_title.get(path[len(cwd):] if path.startswith(cwd) else path)
        if not name:
            wrong.append("%s: has no page" % path)
            continue
        t = file["totals"]
        kinds = [k for k in ("lines", "branches", "functions", "instructions") if report["totals"][k]["all"]]
        want = sum((cells(t[k]) for k in kinds), [])
        if rows[name][:len(want)] != want:
            wrong.append("index: %s: wanted %s, got %s" % (name, want, rows[name]))
        check_source(name, pages[name], file, wrong)
    if len(sys.argv) > 3:
        check_code(pages, read_listing(sys.argv[3]), report, wrong)
    print("\n".join(wrong[:40]))
    return 1 if wrong else 0


sys.exit(main())
