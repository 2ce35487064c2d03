#!/usr/bin/awk -f
# Rows of experiments/reproduce as parts of a page: pages.awk -v part=table|summary|why ROWS [WHY].
# With -v short=1 a table does not name the paper.
#
# A figure that the paper gives as "under" is met by any below it. why prints the sentences of WHY,
# lines "table, tab, sentence", of the tables that have a figure which is not within 15% of the
# paper's.

BEGIN {
  FS = ","
  if (part == "table") {
    print "| | setting | system | quantity | paper | ours, simulated | difference |"
    print "| --- | --- | --- | --- | --- | --- | --- |"
  }
}
FNR == 1 && FILENAME ~ /rows.csv$/ { next }
FILENAME ~ /why.tsv$/ {
  split($0, cell, "\t")
  if (part == "why" && (cell[1] in far)) {
    if (!said++) print ""
    print "- " cell[1] ": " cell[2]
  }
  next
}
part == "table" {
  printf "| %s | %s | %s | %s | %s | %s | %s |\n", short ? $2 : $1 ", " $2, $3, $4, $5, shown($6), shown($7), $8 == "" ? "" : sprintf("%+.1f%%", 100 * $8)
  next
}
$8 != "" {
  ++figures
  difference = $8 + 0
  bound = $3 ~ /paper: under/ || $5 ~ /paper: under/
  if (difference >= -0.15 && difference <= 0.15 || bound && difference < 0) ++near
  else far[$2] = 1
  if (figures == 1 || difference < least) least = difference
  if (figures == 1 || difference > most) most = difference
}
END {
  if (part == "summary" && figures) {
    printf "| [%s](%s/README.md) | %d | %d | %+.1f%% | %+.1f%% |\n", name, name, figures, near, 100 * least, 100 * most
  }
}
function shown(figure) { return figure == "-" ? "" : figure }
