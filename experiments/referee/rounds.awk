#!/usr/bin/awk -f
# Rules that were trained in rounds: awk -f rounds.awk box_rules runs steps. Line N of box_rules is the rule of run N.
# Lines of runs are run,before,after,share,first,last, and of steps run,iteration,seconds. The n-th run of a rule is its
# round n. Prints for each rule:
# its first run,first,last,rule,before,after,share,measured_s,least_s,most_s,speedup,least_speedup,most_speedup.
#
# measured_s: of each iteration the median of rounds, of these the median. least_s, most_s: medians of single rounds.
# The speed-up of a round is the median, over iterations, of sequential's seconds in that round over the rule's, so what
# slows both counts little. speedup is the geometric mean of rounds, with its 95% interval by Student's t of logarithms.
function median(list, count,    i, j, value) {
  for (i = 2; i <= count; ++i) {
    value = list[i]
    for (j = i - 1; j >= 1 && list[j] > value; --j) list[j + 1] = list[j]
    list[j + 1] = value
  }
  return (list[int((count + 1) / 2)] + list[int((count + 2) / 2)]) / 2
}
# The value of Student's t that 2.5% exceed, of these degrees of freedom.
function student_t(degrees) { return degrees > 9 ? 2.26 : t[degrees] }
BEGIN {
  FS = ","
  split("12.706 4.303 3.182 2.776 2.571 2.447 2.365 2.306 2.262", t, " ")
}
FNR == 1 { ++file }
file == 1 {
  rule = $0
  if (!(rule in rounds)) rules[++n_rules] = rule
  run_of[rule, ++rounds[rule]] = FNR
}
file == 2 { before[$1] = $2; after[$1] = $3; share[$1] = $4; first[$1] = $5; last[$1] = $6 }
file == 3 { seconds[$1, $2] = $3 }
END {
  for (n = 1; n <= n_rules; ++n) {
    rule = rules[n]; begin = run_of[rule, 1]
    n_all = 0
    for (i = first[begin]; i <= last[begin]; ++i) {
      n_at = 0
      for (r = 1; r <= rounds[rule]; ++r) if ((run_of[rule, r], i) in seconds) at[++n_at] = seconds[run_of[rule, r], i]
      if (n_at > 0) all[++n_all] = median(at, n_at)
    }
    n_single = n_shares = n_logs = sum = squares = 0
    for (r = 1; r <= rounds[rule]; ++r) {
      run = run_of[rule, r]; beside = run_of["sequential", r]
      n_at = n_ratios = 0
      for (i = first[run]; i <= last[run]; ++i) {
        if (!((run, i) in seconds)) continue
        at[++n_at] = seconds[run, i]
        if ((beside, i) in seconds) ratios[++n_ratios] = log(seconds[beside, i] / seconds[run, i])
      }
      if (n_at > 0) single[++n_single] = median(at, n_at)
      if (share[run] != "") shares[++n_shares] = share[run]
      if (n_ratios > 0) logs[++n_logs] = median(ratios, n_ratios)
    }
    for (r = 1; r <= n_logs; ++r) sum += logs[r] / n_logs
    for (r = 1; r <= n_logs; ++r) squares += (logs[r] - sum) ^ 2
    interval = ","
    if (n_logs > 1) {
      half = student_t(n_logs - 1) * sqrt(squares / (n_logs - 1) / n_logs)
      interval = exp(sum - half) "," exp(sum + half)
    }
    measured = median(all, n_all)
    median(single, n_single)
    printf "%s,%s,%s,%s,%s,%s,%s,%s,%s,%s,%s,%s\n", begin, first[begin], last[begin], rule, before[begin], after[begin],
           (n_shares > 0 ? median(shares, n_shares) : ""), measured, single[1], single[n_single], exp(sum), interval
  }
}
