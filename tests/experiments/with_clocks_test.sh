#!/usr/bin/env bash
# experiments/with_clocks beside a made-up nvidia-smi, one that fails, and none.
# shellcheck disable=SC2317
set -euo pipefail
# shellcheck source=tests/experiments/expect.sh
source "$(dirname "${BASH_SOURCE[0]}")/expect.sh"

mkdir "$scratch/bin"
cat > "$scratch/bin/nvidia-smi" <<'FAKE'
#!/usr/bin/env bash
n=$(cat "$COUNT" 2> /dev/null || echo 0)
echo $((n + 1)) > "$COUNT"
echo "2026/11/29 05:00:00.000, 0, $((1500 + 100 * n)), 3201, 650.25, 61, 0x0000000000000004"
echo "2026/11/29 05:00:00.000, 1, [N/A], 3201, [N/A], 40, 0x0000000000000000"
watts=600.00; ((n % 2)) || watts='[N/A]'
echo "2026/11/29 05:00:00.000, 2, 1980, 3201, $watts, 50, 0x0000000000000000"
echo "2026/11/29 05:00:00.000, 3, 1410, 3201, [N/A], 50, 0x0000000000000000"
FAKE
chmod +x "$scratch/bin/nvidia-smi"
export COUNT=$scratch/count
beside() { PATH=$scratch/bin:$PATH "$root/experiments/with_clocks" "$scratch/clocks.csv" "$@" 2> "$scratch/err"; }
code_of() { local code=0; "$@" > "$scratch/out" || code=$?; echo "$code"; }
# Ends once three samples were begun, so that two are complete.
awaits_samples='while (($(cat "$COUNT") < 4)); do sleep 0.1; done; echo done; exit 5'

expect "the exit code is the command's" equal "$(code_of beside bash -c "$awaits_samples")" 5
expect "what it prints is its own" equal "$(cat "$scratch/out")" "done"
expect "each GPU has a line of each second" grep -q \
  '^2026/11/29 05:00:00.000,0,1600,3201,650.25,61,0x0000000000000004,"bash -c ' "$scratch/clocks.csv"
expect "a figure that a GPU does not tell stays" grep -q ',1,\[N/A\],3201,' "$scratch/clocks.csv"
expect "the clocks are said" grep -qE \
  'clocks of GPU 0: SM 1[67][05]0 MHz in the mean, 1600 to 1[78]00; 650 W; [23] samples' "$scratch/err"
expect "a GPU without clocks is not" equal "$(grep -c 'GPU 1' "$scratch/err")" 0
expect "power that is not told at times is left out of the mean" grep -q 'GPU 2: .*; 600 W; ' "$scratch/err"
expect "nor is it 0 W where it is never told" grep -q 'GPU 3: .*; power not told; ' "$scratch/err"

ran() { code_of "$root/experiments/with_clocks" "$1" touch "$scratch/ran" 2> "$scratch/err"; }
for file in "$scratch/none/clocks.csv" "$scratch"; do
  expect "a file that cannot be written is wrong use" equal "$(PATH=$scratch/bin:$PATH ran "$file")" 2
  expect "and named" grep -qF "with_clocks: $file: cannot be written" "$scratch/err"
done
expect "before the command runs" test ! -e "$scratch/ran"

rm "$scratch/clocks.csv"
printf '#!/bin/sh\necho "Field \\"x\\" is not valid"\necho "See help."\nexit 9\n' > "$scratch/bin/nvidia-smi"
expect "with an nvidia-smi that refuses it only runs the command" equal "$(code_of beside sh -c 'exit 3')" 3
expect "writes nothing" test ! -e "$scratch/clocks.csv"
expect "and says so in one line" equal "$(cat "$scratch/err")" \
  'with_clocks: no clocks are recorded: nvidia-smi: Field "x" is not valid; See help.'
touch "$scratch/clocks.csv"
expect "an empty file that was there" equal "$(code_of beside true)" 0
expect "stays" test -e "$scratch/clocks.csv"
rm "$scratch/clocks.csv" "$scratch/bin/nvidia-smi"
expect "so it does where there is no nvidia-smi" equal "$(code_of beside sh -c 'exit 4')" 4
expect "without a word" equal "$(cat "$scratch/err")" ""
expect "wrong use is 2" equal "$(code_of "$root/experiments/with_clocks")" 2
exit $((failures > 0))
