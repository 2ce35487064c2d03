"""Markdown tables of cases: NAME.csv is what `moe-tune study --layouts` printed, NAME.log what it said."""
import csv
import os
import sys

SAID = ("fastest:", "predictions of", "the predicted best", "layouts by their", "the arena of",
        "costs were profiled", "layouts-in-the-box:")


def number(text, scale=1, form="%.0f"):
    return form % (float(text) * scale) if text else ""


def tied(text):
    """Those that repeats do not tell from this one, by number where they are many."""
    names = text.split(", ") if text else []
    return text if len(names) < 4 else "%d others" % len(names)


def said(path):
    """The last line of each kind: a case that was continued says them again."""
    last = {}
    if os.path.exists(path):
        with open(path) as log:
            for line in log:
                for start in SAID:
                    at = line.find(start)
                    if at >= 0:
                        last[start] = line[at:].strip().replace("layouts-in-the-box: ", "")
    return [last[start] for start in SAID if start in last]


def table(path):
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    name = os.path.basename(path)[: -len(".csv")]
    print("### %s Gbit/s\n" % name.replace("-at-", " at "))
    planners = len({row["planner"] for row in rows}) > 1
    head = ["place", "predicted place", "layout"] + (["planner"] if planners else [])
    head += ["predicted ms", "measured ms", "error", "tied with", "predicted bytes", "written bytes", "written"]
    print("| %s |\n|%s" % (" | ".join(head), " --- |" * len(head)))
    for row in rows:
        predicted, measured = row["predicted_peak_bytes"], row["measured_peak_bytes"]
        if not row["measured_s"] and not row.get("failure"):
            continue
        cells = [row["place"], row["predicted_place"], "`%s`" % row["layout"]] + ([row["planner"]] if planners else [])
        cells += [number(row["predicted_s"], 1e3), number(row["measured_s"], 1e3) or row.get("failure", ""),
                  number(row["prediction_error"], 100, "%.1f%%"), tied(row["tied_with"]), predicted, measured,
                  "%.1f%%" % (100 * float(measured) / float(predicted)) if predicted and measured else ""]
        print("| %s |" % " | ".join(cells))
    print()
    for line in said(path[: -len(".csv")] + ".log"):
        print("- %s" % line)
    print()


for case in sys.argv[1:]:
    table(case)
