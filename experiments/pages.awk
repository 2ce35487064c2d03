#!/usr/bin/awk -f
# Rows of experiments/reproduce as parts of a page: pages.awk -v part=table|summary|counts|first|why ROWS [WHY].
# With -v short=1 a table does not name the paper. `summary` and `counts` count the figures of the paper,
# in a row of a table and in plain words; -v name is the experiment. `first` names the first reading of
# those that have others.
#
# A figure counts once, whatever readings it has (reproduction.sh): by the first reading that has it,
# and beside that by the best. Rows with a reason in left_out do not count, and neither does a figure
# whose first row is one:
#   fitted     ours was fitted to this figure, or to one that it follows from
#   bound      the paper says "under", or "at most"
#   data sheet the figure is not the paper's
#   cases      the paper has a sentence, and the number of cases was counted from it here
#   elsewhere  another experiment counts the figure
#   cannot     no schedule here can give the figure; the page says why
#   rejected   the page says why the reading is wrong
# why prints the sentences of WHY, lines "table, tab, sentence", of the tables that have a figure which
# is not within 15% of the paper's by the first reading, or is left out.

BEGIN {
  FS = ","
  if (part == "table") {
    print "| | setting | system | quantity | paper | ours, simulated | difference |"
    print "| --- | --- | --- | --- | --- | --- | --- |"
  }
}
FNR == 1 && FILENAME ~ /\.csv$/ { next }
FILENAME ~ /why.tsv$/ {
  if (!counted) count()
  split($0, cell, "\t")
  if (part == "why" && (cell[1] in far)) {
    if (!said++) print ""
    print "- " cell[1] ": " cell[2]
  }
  next
}
part == "table" {
  printf "| %s | %s | %s | %s | %s | %s | %s |\n", short ? $2 : $1 ", " $2, $3, $4, $5, shown($6), shown($7), difference($8, $12)
  next
}
$11 == 1 { named = $10 }
$11 > 1 { several = 1 }
$8 != "" {
  figure = $1 FS $2 FS without_reading($3, $10, $11) FS $4 FS $5
  if ($12 != "" && !left[$12]++) reasons[++kinds] = $12
  if (!(figure in order)) all[++figures] = figure
  if (!(figure in order) || $11 + 0 < order[figure]) {
    order[figure] = $11 + 0
    first[figure] = $8 + 0
    counts[figure] = $12 == ""
    table[figure] = $2
  }
  if ($12 == "" && (!(figure in best) || size($8) < best[figure])) best[figure] = size($8)
}
END {
  if (!counted) count()
  if (part == "summary") {
    printf "| %s | %d | %d | %d | %s | %s | %s |\n", name == "all" ? name : "[" name "](" name "/README.md)", number, near, near_best,
      number ? sprintf("%+.1f%%", 100 * least) : "", number ? sprintf("%+.1f%%", 100 * most) : "", reasons_text()
  } else if (part == "first" && several) {
    printf "\nFirst reading: %s.\n", named
  } else if (part == "counts") {
    printf "%s: %d figures of the paper, %d within 15%% by the first reading, %d by the best", name, number, near, near_best
    print kinds ? "; rows left out: " reasons_text() : ""
  }
}
function count(    i, x) {
  counted = 1
  for (i = 1; i <= figures; ++i) {
    x = first[all[i]]
    if (!counts[all[i]] || size(x) > 0.15) far[table[all[i]]] = 1
    if (!counts[all[i]]) continue
    ++number
    if (size(x) <= 0.15) ++near
    if (best[all[i]] <= 0.15) ++near_best
    if (number == 1 || x < least) least = x
    if (number == 1 || x > most) most = x
  }
}
function without_reading(setting, reading, place,    tail) {
  tail = "; " reading
  if (place == 1 || substr(setting, length(setting) - length(tail) + 1) != tail) return setting
  return substr(setting, 1, length(setting) - length(tail))
}
function size(x) { return x < 0 ? -x : x + 0 }
function reasons_text(    i, text) {
  for (i = 1; i <= kinds; ++i) text = text (i > 1 ? ", " : "") reasons[i] " " left[reasons[i]]
  return text
}
function difference(x, why,    text) {
  text = x == "" ? "" : sprintf("%+.1f%%", 100 * x)
  return why == "" || x == "" ? text : text " (" why ")"
}
function shown(figure) { return figure == "-" ? "" : figure }
