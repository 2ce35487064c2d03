#!/usr/bin/awk -f
# The tables of experiments/referee: awk [-v network="that of the box"] -f tables.awk simulated.csv [box.csv]
BEGIN { FS = "," }
FNR == 1 { file = $1 == "rule" ? "box" : "simulated"; next }
file == "simulated" {
  place = $2 " ranks of " $1
  if (place != last_place) {
    printf "%s### %s\n\n", last_place == "" ? "" : "\n", place
    print "| loads | rule | fullest rank over mean, before | after | share of force-balanced throughput | rows away from home | experts moved (MiB) | rule (us) | peak memory (GiB) | exposed transfer (ms) | iteration (ms) | speed-up |"
    print "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    last_place = place
  }
  moves = $8 != ""
  printf "| %s | %s | %.2f | %.2f | %.3f | %s | %s | %s | %.1f | %s | %.1f | %.2f |\n", $3, $4, $5, $6, $7,
         moves ? sprintf("%.2f", $8) : "", moves ? sprintf("%.0f", $9 / 1048576) : "", moves ? sprintf("%.0f", 1e6 * $10) : "",
         $11 / 1073741824, moves ? sprintf("%.1f", 1e3 * $12) : "", 1e3 * $13, $14
}
file == "box" {
  if (!boxed++) {
    printf "\n### Trained on 4 ranks in the box%s\n\n", network == "" ? "" : " (" network ")"
    print "| rule | fullest rank over mean, before | after | share of force-balanced throughput | iteration (ms) | of single rounds | speed-up | told apart from sequential | simulated (ms) | error |"
    print "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
  }
  interval = $9 == "" ? "" : sprintf(" (%.2f to %.2f)", $9, $10)
  apart = $1 == "sequential" ? "" : $9 == "" ? "one round" : $9 > 1 ? "faster" : $10 < 1 ? "slower" : "no"
  printf "| %s | %.2f | %.2f | %.3f | %.0f | %.0f to %.0f | %.2f%s | %s | %.0f | %+.1f%% |\n", $1, $2, $3, $4, 1e3 * $5, 1e3 * $6, 1e3 * $7,
         $8, $1 == "sequential" ? "" : interval, apart, 1e3 * $11, 100 * ($11 / $5 - 1)
}
