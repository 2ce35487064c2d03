#!/bin/sh
# cut_transaction_test.sh MOE-DB DB-SAMPLE: a program is killed at its n-th write to a new database,
# for many n. The next program that writes takes the database up again. Skips itself (77) without
# strace, or where tracing is not permitted.
moe_db=$1
sample=$2
. "$(dirname "$0")/strace_scratch.sh"
failures=0 cut=0

for write in 1 2 3 4 5 6 8 10 13 17 20 25 30 40 50 60 70 80 100 120; do
  rm -f n.db*
  strace -f -o trace -e trace=pwrite64 -e inject=pwrite64:signal=KILL:when=$write "$sample" n.db >/dev/null 2>&1 && continue
  cut=$((cut + 1))
  [ -s n.db-journal ] && [ -s n.db ] && hot=hot
  # Looking changes nothing.
  cat n.db n.db-journal 2>/dev/null | cksum >before
  "$moe_db" runs --db n.db >out 2>err
  [ "$(cat n.db n.db-journal 2>/dev/null | cksum)" = "$(cat before)" ] ||
    { echo "FAILED: cut at write $write, a reader changed the file"; failures=$((failures + 1)); }
  [ -e n.db ] || continue
  "$moe_db" check --fix --db n.db >out 2>err && "$moe_db" check --db n.db >out 2>err ||
    { echo "FAILED: cut at write $write: $(cat out err)"; failures=$((failures + 1)); }
done
[ "$cut" -ge 10 ] || { echo "FAILED: only $cut programs were killed"; failures=$((failures + 1)); }
[ "$hot" = hot ] || { echo "FAILED: no journal was left"; failures=$((failures + 1)); }
[ "$failures" = 0 ] && echo "all $cut taken up again"
exit "$failures"
