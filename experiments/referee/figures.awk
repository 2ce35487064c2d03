#!/usr/bin/awk -f
# The same figures as rows that moe-db import figures takes: awk -f figures.awk simulated.csv [box.csv]
function figure(table, setting, rule, quantity, value, basis) {
  if (value != "") printf "referee,%s,%s,%s,%s,-,%s,%s\n", table, setting, rule, quantity, value, basis
}
BEGIN {
  FS = ","
  print "paper,table,setting,system,quantity,paper_figure,ours,basis"
}
FNR == 1 { split($0, heading, ","); file = $1 == "rule" ? "box" : "simulated"; next }
file == "simulated" {
  for (i = 5; i <= NF; ++i) figure($2 " ranks of " $1, $3, $4, heading[i], $i, "simulated")
}
file == "box" {
  for (i = 2; i <= NF; ++i) figure("4 ranks in the box", "trained", $1, heading[i], $i, heading[i] == "simulated_s" ? "simulated" : "measured")
}
