"""Called by run: predict.py MOE-TUNE TRAININGS CLUSTER ONLY prints the tables of trainings.md and README.md."""

import csv
import json
import re
import subprocess
import sys
import tempfile

MOE_TUNE, TRAININGS, CLUSTER, ONLY = sys.argv[1:]
SHARDED = {"decisions": [{"decision": "shard_optimizer"}]}


def compare(row, times=1.0):
    """Predicts a training with `times` its micro-batches, each as large: its row of moe-tune compare, or what it refuses."""
    settings = [f"cluster.nodes={row['nodes']}", "cluster.memory=1T",
                f"training.global_batch={int(int(row['global_batch']) * times)}",
                f"training.micro_batches={int(int(row['micro_batches']) * times)}", *row["settings"].split()]
    command = [MOE_TUNE, "compare", "--model", row["model"], "--cluster", CLUSTER or row["cluster"],
               "--layout", row["layout"], "--planners", row["planner"], "--format", "json"]
    for setting in settings:
        command += ["--set", setting]
    with tempfile.TemporaryDirectory() as folder:
        given = folder + "/shard.json"
        with open(given, "w", encoding="utf-8") as file:
            json.dump(SHARDED, file)
        ran = subprocess.run([*command, "--given", given], capture_output=True, text=True, check=False)
    if ran.returncode:
        return None, ran.stderr
    return next(one for one in json.loads(ran.stdout) if one["given"] == "shard"), ""


def must(row, times=1.0):
    predicted, said = compare(row, times)
    if predicted is None:
        sys.exit(f"{said}public_trainings: {row['training']}: moe-tune failed")
    return predicted


def iteration_s(row, whole_s):
    """Seconds of an iteration whose stages are cut into chunks, from those without, `whole_s`.

    moelab's own interleaved stages are not used here. With v chunks a pipeline of p stages waits for
    (p - 1) / v micro-batches, not p - 1 [Megatron-LM]. What does not depend on micro-batches, as the
    optimizer and reductions, stays. So
      whole = fixed + (m + p - 1) t,  chunked = whole - (p - 1) (1 - 1/v) t
    with the time t of one of m micro-batches from a second prediction with twice as many, or with half where
    those are too many for moe-tune.
    """
    stages = re.search(r"pp=(\d+)", row["layout"])
    chunks, parts = int(row["chunks"]), int(row["micro_batches"])
    if chunks == 1 or not stages:
        return whole_s
    doubled, _ = compare(row, 2)
    if doubled:
        micro_batch_s = (doubled["predicted_s"] - whole_s) / parts
    else:
        micro_batch_s = (whole_s - must(row, 0.5)["predicted_s"]) / (parts / 2)
    return whole_s - (int(stages[1]) - 1) * (1 - 1 / chunks) * micro_batch_s


def say_means(errors):
    """errors: (row, percent) of each training."""
    sets = {"the first eleven": "0", "held out": "1"}
    kinds = {"all": lambda row: True, "on 64 GPUs and more": lambda row: int(row["nodes"]) >= 8,
             "Mixtral's own models on 64 and more": lambda row: int(row["nodes"]) >= 8 and
             re.match(r"8x(22|7)B ", row["training"])}
    for name, held_out in sets.items():
        for kind, is_of in kinds.items():
            of = [abs(error) for row, error in errors if row["held_out"] == held_out and is_of(row)]
            if of:
                print(f"Mean error of {name}, {kind} ({len(of)}): {sum(of) / len(of):.1f}%, worst {max(of):.1f}%.")


def main():
    with open(TRAININGS, newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if ONLY in row["training"]]
    print("| training | GPUs | batch | held out | reported | reported s | predicted s | error | planned GiB |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    errors = []
    for row in rows:
        whole, reported_s = must(row), float(row["seconds"])
        predicted_s = iteration_s(row, whole["predicted_s"])
        errors.append((row, 100 * (predicted_s / reported_s - 1)))
        print(f"| {row['training']} | {8 * int(row['nodes'])} | {row['global_batch']} "
              f"| {'yes' if row['held_out'] == '1' else ''} | {row['reported']} | {reported_s:.2f} | {predicted_s:.2f} "
              f"| {errors[-1][1]:+.1f}% | {whole['predicted_peak_bytes'] / 2**30:.0f} |", flush=True)
    print()
    say_means(errors)


main()
