#!/usr/bin/awk -f
# Rows of moe-tune compare as lines of simulated.csv: columns FILE NAME... | awk -v start="CELLS" -f columns.awk. The first two
# columns are the planner and its parameters, of which slots stand behind its name; the third, of sequential, is the balance
# before; the last is the speed-up. What a planner refuses has none, and no line.
BEGIN { FS = "\t" }
$NF == "" { next }
{
  rule = $1
  if (rule == "sequential") before = $3
  if (rule == "ultraep" && match($2, /slots: [0-9]+/)) rule = rule " " substr($2, RSTART + 7, RLENGTH - 7)
  printf "%s,%s,%s", start, rule, before
  for (i = 3; i <= NF; ++i) printf ",%s", $i
  printf "\n"
}
