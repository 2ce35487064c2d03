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
COMPILED_WARMUP = 5  # rows of experts differ from step to step, so code is made twice


def step_s(command, steps, warmup=WARMUP):
    """Wall time of a whole iteration, which either program ends with a line of JSON: from the end of the warm-up to
    the end of the last, over all between. Batches, waits and reports are in it."""
    ends = []
    with tempfile.TemporaryFile("w+") as errors:
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True) as process:
            for line in process.stdout:
                now = time.perf_counter()
                if line.startswith("{") and "iteration" in json.loads(line):
                    ends.append(now)
        if process.returncode != 0 or len(ends) != warmup + steps:
            errors.seek(0)
            sys.exit(f"against_pytorch: {' '.join(map(str, command))}: exit code {process.returncode}, {len(ends)} "
                     f"iterations: expected {warmup + steps}\n{errors.read()}")
        errors.seek(0)
        sys.stderr.writelines(line for line in errors if line.startswith("clocks of GPU"))
    return (ends[-1] - ends[warmup - 1]) / steps


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
    parser.add_argument("--compile", action="store_true")
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
            pytorch = [*beside, sys.executable, "-B", HERE / "pytorch_step.py", file, str(threads), str(steps), precision,
                       arguments.device]
            times = [ours, step_s(pytorch, steps)]
            if arguments.compile:
                times.append(step_s([*pytorch, "--compile", str(COMPILED_WARMUP)], steps, COMPILED_WARMUP))
            turns[model, precision, threads].append(times)
            print(f"{model}, {precision}, threads {threads}: {' and '.join(f'{time * 1e3:.1f}' for time in times)} ms",
                  file=sys.stderr, flush=True)

    others = ["PyTorch", "PyTorch compiled"][:1 + arguments.compile]
    head = ["model", "precision", "threads", *(f"{side} (ms)" for side in ("moelab", *others)),
            *(f"{side} (tokens/s)" for side in ("moelab", *others)),
            *(column for side in others for column in (f"{side} / moelab", "least, most"))]
    print(f"| {' | '.join(head)} |")
    print("|" + " --- |" * len(head))
    for (model, precision, threads), rounds in turns.items():
        medians = [statistics.median(times) for times in zip(*rounds)]
        tokens = tokens_of(model_file(model))
        cells = [model, precision, str(threads), *(f"{time * 1e3:.1f}" for time in medians),
                 *(f"{tokens / time:,.0f}" for time in medians)]
        for side in range(1, len(medians)):
            ratios = [times[side] / times[0] for times in rounds]
            cells += [f"{statistics.median(ratios):.2f}", f"{min(ratios):.2f}, {max(ratios):.2f}"]
        print(f"| {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
