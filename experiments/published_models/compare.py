"""Called by run: compare.py MOE-TRAIN ONLY prints the table of README.md and its sums."""

import csv
import pathlib
import re
import subprocess
import sys
import tempfile

MOE_TRAIN, ONLY = sys.argv[1:]
HERE = pathlib.Path(__file__).resolve().parent


def imported(path, folder):
    """The parameters that moe-train counts, or none; and what it says where it refuses."""
    command = [MOE_TRAIN, "import", path, "-o", f"{folder}/{path.stem}.toml"]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    said = done.stderr.strip()
    if done.returncode == 0:
        count = re.search(r"(\d+) parameters", said)
        return (int(count[1]), said) if count else (None, f"no count: {said}")
    if done.returncode != 2:
        sys.exit(f"published_models: {' '.join(map(str, command))}: exit code {done.returncode}\n{said}")
    refusal = re.sub(r"^moe-train: \S*json:\d+: ", "", said.splitlines()[-1])
    refusal = re.sub(r": expected one of (\"\w+\", )+\"\w+\"", "", refusal)
    return None, refusal.replace("model_type, got", "model_type: no class that is read:").replace("|", "\\|")


def main():
    with open(HERE / "counts.csv", newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if ONLY in row["configuration"]]
    print("| configuration | class | parameters there | here, or the refusal |")
    print("| --- | --- | --- | --- |")
    equal, refused, wrong = 0, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for row in rows:
            theirs = int(row["parameters"])
            ours, said = imported(HERE / "configurations" / f"{row['configuration']}.json", folder)
            equal += ours == theirs
            refused += ours is None
            wrong += ours is not None and ours != theirs
            shown = said if ours is None else "equal" if ours == theirs else f"**{ours:,}**"
            print(f"| {row['configuration']} | {row['class']} | {theirs:,} | {shown} |", flush=True)
    print(f"\nOf {len(rows)} configurations {equal} have as many parameters here, {refused} are refused, {wrong} differ.")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
