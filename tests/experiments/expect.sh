# shellcheck shell=bash
# Sourced by the tests of this folder: where the repository is, a scratch folder that goes with the test, and `expect`.
# A test ends with `exit $((failures > 0))`.
# shellcheck disable=SC2034,SC2317
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
scratch=$(mktemp -d)
trap 'chmod -R u+w "$scratch"; rm -rf "$scratch"' EXIT

failures=0
# expect CLAIM COMMAND...: runs the command and counts a failure where it fails.
expect() {
  local claim=$1
  shift
  if "$@"; then
    echo "ok: $claim"
  else
    echo "FAILED: $claim ($*)"
    failures=$((failures + 1))
  fi
}

# A command for expect: true where both texts are equal.
equal() { [[ $1 == "$2" ]] || { echo "  '$1' is not '$2'"; return 1; }; }
