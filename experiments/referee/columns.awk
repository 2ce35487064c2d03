#!/usr/bin/awk -f
# Rows of moe-tune compare as lines of simulated.csv: awk -v wanted="NAMES OF COLUMNS" -v start="CELLS" -f columns.awk FILE. The first
# two columns are the planner and its parameters, of which slots stand behind its name; the third, of sequential, is the balance
# before. What a planner refuses has no line.
function cells_of(line, cells,    count, at, c, quoted, cell) {
  count = 1; cell = ""; quoted = 0
  for (at = 1; at <= length(line); ++at) {
    c = substr(line, at, 1)
    if (c == "\"") quoted = !quoted
    else if (c == "," && !quoted) { cells[count++] = cell; cell = "" }
    else cell = cell c
  }
  cells[count] = cell
  return count
}
NR == 1 {
  count = cells_of($0, heading)
  for (i = 1; i <= count; ++i) place[heading[i]] = i
  columns = split(wanted, names, " ")
  for (i = 1; i <= columns; ++i) {
    if (!(names[i] in place)) { print "no column " names[i] > "/dev/stderr"; exit 1 }
  }
  next
}
{
  cells_of($0, cell)
  if (cell[place["predicted_s"]] == "") next
  rule = cell[place["planner"]]
  if (rule == "sequential") before = cell[place["max_over_mean"]]
  if (rule == "ultraep" && match(cell[place["parameters"]], /slots: [0-9]+/)) {
    slots = substr(cell[place["parameters"]], RSTART + 7, RLENGTH - 7)
    rule = rule " " slots
  }
  printf "%s,%s,%s", start, rule, before
  for (i = 3; i <= columns; ++i) printf ",%s", cell[place[names[i]]]
  printf "\n"
}
