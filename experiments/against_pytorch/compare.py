"""Steps of moe-train and of pytorch_step.py in turns; started by run, which explains the options."""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
# Enough steps for a median; a turn lasts seconds.
STEPS = {"tiny": 60, "box-small": 5, "real-small": 5, "wide": 4, "gpu-layer": 20}


def step_s(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"against_pytorch: {' '.join(map(str, command))}: exit code {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])["iteration_s"]


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
    arguments = parser.parse_args()
    cases = [(model, precision, int(threads)) for model in arguments.models.split(",")
             for precision in arguments.precisions.split(",") for threads in arguments.threads.split(",")]
    subprocess.run([sys.executable, "-B", HERE / "pytorch_step.py", "--check"], check=True, stdout=sys.stderr)

    turns = {case: [] for case in cases}
    for _ in range(arguments.rounds):
        for model, precision, threads in cases:
            file, steps = model_file(model), str(STEPS.get(model, 8))
            ours = step_s([arguments.moe_train, "--model", file, "--threads", str(threads), "--steps", steps,
                           "--device", arguments.device, "--set", f"training.precision={precision}",
                           "--evaluate-batches", "0", "--timelines", "0", "--format", "json"])
            theirs = step_s([sys.executable, "-B", HERE / "pytorch_step.py", file, str(threads), steps, precision,
                             arguments.device])
            turns[model, precision, threads].append((ours, theirs))
            print(f"{model}, {precision}, threads {threads}: {ours * 1e3:.1f} and {theirs * 1e3:.1f} ms", file=sys.stderr)

    print("| model | precision | threads | moelab (ms) | PyTorch (ms) | PyTorch / moelab | least, most |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for (model, precision, threads), pairs in turns.items():
        ours, theirs = (statistics.median(times) * 1e3 for times in zip(*pairs))
        ratios = [b / a for a, b in pairs]
        print(f"| {model} | {precision} | {threads} | {ours:.1f} | {theirs:.1f} | {statistics.median(ratios):.2f} "
              f"| {min(ratios):.2f}, {max(ratios):.2f} |")


if __name__ == "__main__":
    main()
