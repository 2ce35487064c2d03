"""CSV on stdin as a table of Markdown."""

import csv
import sys

rows = list(csv.reader(sys.stdin))
for i, row in enumerate(rows):
    print("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |")
    if i == 0:
        print("|" + " --- |" * len(row))
