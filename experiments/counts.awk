#!/usr/bin/awk -f
# Counts the figures of the paper in rows of experiments/reproduce: counts.awk -v part=summary|counts ROWS, in a
# row of a table or in plain words. -v name is the experiment.
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

BEGIN { FS = "," }
NR > 1 && $8 != "" {
  figure = $1 FS $2 FS without_reading($3, $10, $11) FS $4 FS $5
  if ($12 != "" && !left[$12]++) reasons[++kinds] = $12
  if (!(figure in order)) all[++figures] = figure
  if (!(figure in order) || $11 + 0 < order[figure]) {
    order[figure] = $11 + 0
    first[figure] = $8 + 0
    counts[figure] = $12 == ""
  }
  if ($12 == "" && (!(figure in best) || size($8) < best[figure])) best[figure] = size($8)
}
END {
  for (i = 1; i <= figures; ++i) {
    x = first[all[i]]
    if (!counts[all[i]]) continue
    ++number
    if (size(x) <= 0.15) ++near
    if (best[all[i]] <= 0.15) ++near_best
    if (number == 1 || x < least) least = x
    if (number == 1 || x > most) most = x
  }
  if (part == "summary") {
    printf "| %s | %d | %d | %d | %s | %s | %s |\n", name == "all" ? name : "[" name "](" name "/README.md)", number, near, near_best,
      number ? sprintf("%+.1f%%", 100 * least) : "", number ? sprintf("%+.1f%%", 100 * most) : "", reasons_text()
  } else if (part == "counts") {
    printf "%s: %d figures of the paper, %d within 15%% by the first reading, %d by the best", name, number, near, near_best
    print kinds ? "; rows left out: " reasons_text() : ""
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
