#!/bin/sh
# slow_reader_test.sh MOE-DB DB-SAMPLE: a program opens a database slowly while others open it, write
# and close it again and again. Each close moves the log into the file and removes the log. The slow
# program never takes what it sees of that for damage. Skips itself (77) without strace, or where
# tracing is not permitted.
moe_db=$1
sample=$2
. "$(dirname "$0")/strace_scratch.sh"

# New rows fill new pages: what the first page says of the size is for a moment ahead of the file.
rows='CREATE TABLE IF NOT EXISTS filler (x);
WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 1000)
INSERT INTO filler SELECT randomblob(20) FROM c'
"$sample" n.db || exit 1
(
  for turn in $(seq 300); do "$sample" n.db "$rows" || exit 1; done
) 2>writer_err &
writer=$!
read=0 failed=0
while kill -0 "$writer" 2>/dev/null; do
  read=$((read + 1))
  strace -P "$PWD/n.db" -P "$PWD/n.db-wal" -o trace -e inject=all:delay_exit=1000 \
    "$moe_db" runs --limit 1 --db "$PWD/n.db" >out 2>err || { failed=$((failed + 1)); cat err; }
done
wait "$writer" || { echo "FAILED: the writer ended with: $(cat writer_err)"; exit 1; }
[ "$read" -ge 5 ] || { echo "FAILED: read only $read times"; exit 1; }
[ "$failed" = 0 ] || { echo "FAILED: $failed of $read openings"; exit 1; }
echo "all $read openings succeeded"
