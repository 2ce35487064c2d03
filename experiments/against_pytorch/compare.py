"""Steps of moe-train and of pytorch_step.py in turns; started by run, which explains the options."""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
# Enough steps for a median; a turn lasts seconds.
STEPS = {"tiny": 60, "box-small": 5, "real-small": 5, "wide": 4, "gpu-layer": 20, "mixtral-layer": 20,
         "small-experts-layer": 20}


WARMUP = 3  # as in pytorch_step.py


def step_s(command, steps):
    """Wall time of a whole iteration, which either program ends with a line of JSON: from the end of the warm-up to
    the end of the last, over all between. Batches, waits and reports are in it."""
    ends = []
    with tempfile.TemporaryFile("w+") as errors:
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True) as process:
            for line in process.stdout:
                now = time.perf_counter()
                if line.startswith("{") and "iteration" in json.loads(line):
                    ends.append(now)
        if process.returncode != 0 or len(ends) != WARMUP + steps:
            errors.seek(0)
            sys.exit(f"against_pytorch: {' '.join(map(str, command))}: exit code {process.returncode}, {len(ends)} "
                     f"iterations: expected {WARMUP + steps}\n{errors.read()}")
        errors.seek(0)
        sys.stderr.writelines(line for line in errors if line.startswith("clocks of GPU"))
    return (ends[-1] - ends[WARMUP - 1]) / steps


def tokens_of(file):
    sections = tomllib.loads(file.read_text())
    return sections["training"]["global_batch"] * sections["model"]["sequence_length"]


def model_file(name):
    for path in (HERE / f"{name}.toml", HERE.parent / "models" / f"{name}.toml", pathlib.Path(name)):
        if path.is_file():
            return path
    sys.exit(f"against_pytorch: no model {name}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--moe-train", required=True)
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--models", default="tiny,box-small,real-small,wide")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--precisions", default="f32")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--clocks")
    arguments = parser.parse_args()
    cases = [(model, precision, int(threads)) for model in arguments.models.split(",")
             for precision in arguments.precisions.split(",") for threads in arguments.threads.split(",")]
    subprocess.run([sys.executable, "-B", HERE / "pytorch_step.py", "--check"], check=True, stdout=sys.stderr)

    beside = [HERE.parent / "with_clocks", arguments.clocks] if arguments.clocks else []
    turns = {case: [] for case in cases}
    for _ in range(arguments.rounds):
        for model, precision, threads in cases:
            file, steps = model_file(model), STEPS.get(model, 8)
            ours = step_s([*beside, arguments.moe_train, "--model", file, "--threads", str(threads), "--steps",
                           str(WARMUP + steps), "--device", arguments.device, "--set", f"training.precision={precision}",
                           "--evaluate-batches", "0", "--timelines", "0", "--format", "json", "--log", "-"], steps)
            theirs = step_s([*beside, sys.executable, "-B", HERE / "pytorch_step.py", file, str(threads), str(steps),
                             precision, arguments.device], steps)
            turns[model, precision, threads].append((ours, theirs))
            print(f"{model}, {precision}, threads {threads}: {ours * 1e3:.1f} and {theirs * 1e3:.1f} ms", file=sys.stderr)

    print("| model | precision | threads | moelab (ms) | PyTorch (ms) | moelab (tokens/s) | PyTorch (tokens/s) "
          "| PyTorch / moelab | least, most |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for (model, precision, threads), pairs in turns.items():
        ours, theirs = (statistics.median(times) for times in zip(*pairs))
        ratios = [b / a for a, b in pairs]
        tokens = tokens_of(model_file(model))
        print(f"| {model} | {precision} | {threads} | {ours * 1e3:.1f} | {theirs * 1e3:.1f} | {tokens / ours:,.0f} "
              f"| {tokens / theirs:,.0f} | {statistics.median(ratios):.2f} | {min(ratios):.2f}, {max(ratios):.2f} |")


if __name__ == "__main__":
    main()
