#!/usr/bin/awk -f
# The tables of experiments/referee: awk -f tables.awk simulated.csv [box.csv]
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
    print "\n### Trained on 4 ranks in the box\n"
    print "| rule | fullest rank over mean, before | after | share of force-balanced throughput | iteration (ms) | speed-up | simulated (ms) | error |"
    print "| --- | --- | --- | --- | --- | --- | --- | --- |"
    sequential = $5
  }
  printf "| %s | %.2f | %.2f | %.3f | %.0f | %.2f | %.0f | %+.1f%% |\n", $1, $2, $3, $4, 1e3 * $5, sequential / $5, 1e3 * $6, 100 * ($6 / $5 - 1)
}
