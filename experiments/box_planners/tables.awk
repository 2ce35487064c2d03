# The tables of run, as Markdown, from its rows as CSV, fastest first in each study: study, planner ("a=b" where both came to
# one schedule), then in ms the closed form, the first simulation, the refined one, the measured median and the fastest repeat;
# the error (%), the speed-up as measured and as simulated, the lower bound (ms), what was exposed (ms), the peak (MiB), and
# whether it is tied with the fastest.
BEGIN { FS = "," }
function size(x) { return x < 0 ? -x : x }
function add(kind, error) {
  sum[kind] += error
  all_sum[kind] += error
  if (error > worst[kind]) worst[kind] = error
  if (error > all_worst[kind]) all_worst[kind] = error
}
function errors(count, speedups, sum, worst) {
  return sprintf("mean %.1f%%, worst %.1f%%; of the fastest repeat: mean %.1f%%, worst %.1f%%; of the speed-up: mean %.1f%%, worst %.1f%%.",
                 sum["median"] / count, worst["median"], sum["fastest"] / count, worst["fastest"], speedups ? sum["speedup"] / speedups : 0, worst["speedup"])
}
function close_table() {
  if (rows) print "\nError of the simulation: " errors(rows, speedups, sum, worst) "\n"
  rows = speedups = 0
  split("", sum)
  split("", worst)
}
# Of all planners that came to this schedule, those that have no better one.
function whose_best(line,    names, count, i, text) {
  count = split(name[line], names, "=")
  for (i = 1; i <= count; ++i) {
    if (best[study_of[line], names[i]] == line) text = text (text == "" ? "" : " = ") names[i]
  }
  return text == "" ? names[1] : text
}
# Of each planner its own schedule in bf16 beside that in f32, where both were studied.
function print_precisions(    line, study, wide, narrow, names, planners, i, w, n) {
  for (line = 1; line <= count; ++line) {
    wide = study_of[line]
    narrow = wide
    if (!sub(/ at /, " in bf16 at ", narrow) || !(narrow in studied)) continue
    if (wide != study) {
      study = wide
      print "\n### " study ": bf16 beside f32\n"
      print "| planner | f32: simulated (ms) | measured (ms) | error | speed-up | bf16: simulated (ms) | measured (ms) | error | speed-up | f32 / bf16 |"
      print "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    }
    planners = split(name[line], names, "=")
    for (i = 1; i <= planners; ++i) {
      if (best[wide, names[i]] != line || !((narrow, names[i]) in best)) continue
      split(lines[line], w, ",")
      split(lines[best[narrow, names[i]]], n, ",")
      printf "| %s | %.0f | %.0f | %.1f%% | %.2f | %.0f | %.0f | %.1f%% | %.2f | %.2f |\n", names[i], w[5], w[6], w[8], w[9], n[5], n[6], n[8], n[9], w[6] / n[6]
    }
  }
}
NR > 1 {
  lines[++count] = $0
  studied[$1]
  study_of[count] = $1
  name[count] = $2
  simulated[count] = $5
  planners = split($2, own, "=")
  for (i = 1; i <= planners; ++i) {
    before = best[$1, own[i]]
    if (!before || $5 < simulated[before]) best[$1, own[i]] = count
  }
}
END {
  for (line = 1; line <= count; ++line) {
    $0 = lines[line]
    if ($1 != study) {
      close_table()
      study = $1
      print "### " study "\n"
      print "| planner | closed form (ms) | first simulated (ms) | refined (ms) | measured (ms) | fastest repeat | error | speed-up | simulated | lower bound (ms) | exposed (ms) | peak (MiB) | tied with the fastest |"
      print "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    }
    paper = $3 == "" ? "" : sprintf("%.0f", $3)
    first_simulated = $4 == "" ? "" : sprintf("%.0f", $4)  # none where it was planned anew
    printf "| %s | %s | %s | %.0f | %.0f | %.0f | %.1f%% | %.2f | %.2f | %.0f | %.0f | %.0f | %s |\n", whose_best(line), paper, first_simulated, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14
    ++rows
    add("median", size($8))
    add("fastest", 100 * size($5 - $7) / $7)
    if ($2 !~ /^sequential(=|$)/) {
      add("speedup", 100 * size($10 - $9) / $9)  # of sequential there is none
      ++speedups
      ++all_speedups
    }
  }
  close_table()
  if (count) print "Of all " count " trials: " errors(count, all_speedups, all_sum, all_worst)
  print_precisions()
}
