"""A training with moe-train and the same one in PyTorch; started by run --curves, which explains the options.

Both begin with the same weights (a checkpoint of moe-train), draw the same samples of one text, and update with
AdamW, a warm-up, a cosine and clipping. What differs is rounding, and what rounding makes routers choose.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import statistics
import subprocess
import sys

import torch

import pytorch_step as eager

MASK = (1 << 64) - 1
PEAK, FLOOR, WEIGHT_DECAY, BETAS, CLIP_NORM = 6e-4, 6e-5, 0.1, (0.9, 0.95), 1.0
HELD_OUT_BATCHES = 8
TRAINING, HELD_OUT = 0, 1  # the splits of moe/train/data.h


def mix(x):
    """SplitMix64 (moe/kernels/counter_random.h)."""
    x = (x + 0x9E3779B97F4A7C15) & MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def mix_all(*values):
    state = 0
    for value in values:
        state = mix((state + value) & MASK)
    return state


class Text:
    """The samples that moe-train --data-order random draws from a file."""

    def __init__(self, path, seed):
        self.tokens = torch.frombuffer(bytearray(path.read_bytes()), dtype=torch.uint8).long()
        self.seed = seed
        self.training = len(self.tokens) - int(len(self.tokens) * 0.1 + 0.5)

    def batch(self, split, step):
        length = eager.golden.L
        begin, end = (0, self.training) if split == TRAINING else (self.training, len(self.tokens))
        first = [begin + mix_all(self.seed, split, step, i) % (end - begin - length) for i in range(eager.golden.B)]
        sample = self.tokens[torch.tensor(first)[:, None] + torch.arange(length + 1)]
        return sample[:, :-1], sample[:, 1:]


def read_checkpoint(folder):
    """The parameters of a checkpoint under pytorch_step.py's names."""
    parameters = {}
    for path in folder.glob("rank-*.safetensors"):
        data = path.read_bytes()
        length = int.from_bytes(data[:8], "little")
        for name, tensor in json.loads(data[8:8 + length]).items():
            if name == "__metadata__" or name.endswith("_moment"):
                continue
            assert tensor["dtype"] == "F32", f"{name} is of {tensor['dtype']}"
            begin, end = (8 + length + offset for offset in tensor["data_offsets"])
            value = torch.frombuffer(bytearray(data[begin:end]), dtype=torch.float32).view(tensor["shape"])
            if ".experts." in name:
                block, rest = name.split("experts.")
                which, expert = rest.rsplit(".", 1)
                name = block + which.removesuffix(".weight") + expert
            parameters[name] = value.clone().requires_grad_()
    return parameters


def keys(arguments, precision):
    """Both trainings, as keys of a model file."""
    steps = arguments.steps
    return {"global_batch": eager.golden.B, "seed": arguments.seed, "optimizer": "adamw", "learning_rate": PEAK, "least_learning_rate": FLOOR, "learning_rate_schedule": "cosine",
            "warmup_steps": max(1, steps // 20), "decay_steps": max(2, steps), "weight_decay": WEIGHT_DECAY, "beta1": BETAS[0],
            "beta2": BETAS[1], "clip_norm": CLIP_NORM, "precision": precision}


def moe_train(arguments, out, text, steps, settings, *more):
    command = [arguments.moe_train, "--model", arguments.file, "--data", text, "--data-order", "random", "--threads",
               str(arguments.threads), "--steps", str(steps), "--timelines", "0", "--quiet", "--format", "csv", *more]
    for key, value in settings.items():
        command += ["--set", f"training.{key}={value}"]
    done = subprocess.run(command, stdout=(out / "stdout.csv").open("w"), stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"against_pytorch: {' '.join(map(str, command))}: exit code {done.returncode}\n{done.stderr}")


def ours(arguments, out, text, precision):
    """Losses by step, and the held-out loss by the steps after which it was computed."""
    log = out / "moelab.jsonl"
    log.unlink(missing_ok=True)
    moe_train(arguments, out, text, arguments.steps, keys(arguments, precision), "--log", log, "--evaluate-every",
              str(arguments.every), "--evaluate-batches", str(HELD_OUT_BATCHES))
    rows = [json.loads(line) for line in log.read_text().splitlines()]
    return [row["loss"] for row in rows], {row["iteration"]: row["heldout_loss"] for row in rows if "heldout_loss" in row}


def rate_at(step, settings):
    warmup, decay = settings["warmup_steps"], settings["decay_steps"]
    if step < warmup:
        return PEAK * step / warmup
    cosine = torch.cos(torch.tensor(torch.pi * min(1.0, (step - warmup) / (decay - warmup)), dtype=torch.float64))
    return FLOOR + (PEAK - FLOOR) * (1 + cosine.item()) / 2


def theirs(arguments, out, text, precision):
    """The same of PyTorch."""
    torch.set_num_threads(arguments.threads)
    choices, factor = arguments.choices_and_factor
    capacity = eager.capacity_of(choices, factor)
    p = read_checkpoint(start_of(arguments) / "iteration-00000001")
    settings = keys(arguments, precision)
    matrices = [value for value in p.values() if value.dim() > 1 and value.shape[0] > 1]
    others = [value for value in p.values() if value.dim() == 1 or value.shape[0] == 1]
    optimizer = torch.optim.AdamW([{"params": matrices, "weight_decay": WEIGHT_DECAY}, {"params": others, "weight_decay": 0.0}],
                                  lr=PEAK, betas=BETAS, fused=True)
    corpus = Text(text, arguments.seed)
    narrow = precision == "bf16"
    losses, held_out = [], {}
    for step in range(1, arguments.steps + 1):
        for group in optimizer.param_groups:
            group["lr"] = rate_at(step, settings)
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=narrow):
            loss, auxiliary = eager.forward(p, *corpus.batch(TRAINING, step), choices, capacity)
        (loss + eager.golden.AUXILIARY_WEIGHT * sum(auxiliary)).backward()
        torch.nn.utils.clip_grad_norm_(p.values(), CLIP_NORM)
        optimizer.step()
        losses.append(loss.item())
        if step % arguments.every == 0 or step == arguments.steps:
            with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16, enabled=narrow):
                held_out[step] = statistics.mean(
                    eager.forward(p, *corpus.batch(HELD_OUT, i), choices, capacity)[0].item() for i in range(HELD_OUT_BATCHES))
            print(f"PyTorch: seed {arguments.seed}, step {step} of {arguments.steps}, loss {losses[-1]:.4f}", file=sys.stderr)
    return losses, held_out


def write_text(path):
    files = sorted(path for folder in ("db", "moe", "tuner", "viewer") for path in eager.ROOT.glob(f"{folder}/**/*")
                   if path.suffix in (".cpp", ".h", ".md"))
    path.write_bytes(b"".join(file.read_bytes() for file in files))


def start_of(arguments):
    return arguments.out / f"start-{arguments.seed}"


def train_both(arguments, out, text, precision):
    """Curves of both with a seed: [losses by step, held-out losses by step]."""
    if not start_of(arguments).exists():  # weights that a step of no length leaves as they begin
        moe_train(arguments, out, text, 1, {"learning_rate": 1e-30, "precision": "f32", "seed": arguments.seed}, "--checkpoint",
                  start_of(arguments), "--evaluate-batches", "0")
    with concurrent.futures.ThreadPoolExecutor() as pool:
        mine = pool.submit(ours, arguments, out, text, precision)
        if os.cpu_count() < 2 * arguments.threads:  # not enough cores for both at once
            mine.result()
        curves = {"PyTorch": theirs(arguments, out, text, precision), "moelab": mine.result()}
    (out / f"{precision}-{arguments.seed}.json").write_text(json.dumps(curves))
    return curves


def shown(differences):
    """Their mean, and with several its standard error."""
    mean = f"{statistics.mean(differences):+.4f}"
    if len(differences) == 1:
        return mean
    return f"{mean} ± {statistics.stdev(differences) / len(differences) ** 0.5:.4f}"


def print_table(by_seed, every):
    print("| step | moelab | PyTorch | difference | moelab, held out | PyTorch, held out | difference |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for step in sorted(by_seed[0]["PyTorch"][1]):
        cells = []
        for value in (lambda curve: statistics.mean(curve[0][max(0, step - every):step]), lambda curve: curve[1][step]):
            mine, other = ([value(curves[which]) for curves in by_seed] for which in ("moelab", "PyTorch"))
            cells += [f"{statistics.mean(mine):.4f}", f"{statistics.mean(other):.4f}", shown([a - b for a, b in zip(mine, other)])]
        print(f"| {step} | {' | '.join(cells)} |")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--moe-train", required=True)
    parser.add_argument("--file", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--precisions", default="bf16")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seeds", default="1")
    parser.add_argument("--batch", type=int)
    arguments = parser.parse_args()
    arguments.choices_and_factor = eager.take_sizes(arguments.file)
    eager.golden.B = arguments.batch or eager.golden.B
    arguments.every = max(5, arguments.steps // 20)
    out = arguments.out
    out.mkdir(parents=True, exist_ok=True)
    text = out / "text.txt"
    write_text(text)
    for precision in arguments.precisions.split(","):
        by_seed = []
        for arguments.seed in map(int, arguments.seeds.split(",")):
            by_seed.append(train_both(arguments, out, text, precision))
        print(f"{precision}: the mean loss of the last {arguments.every} steps, and the held-out loss after them; with several "
              "seeds their means, and the standard error of the difference\n")
        print_table(by_seed, arguments.every)
        first = [f"{curve[0][0]:.6f}" for curve in by_seed[0].values()]
        print(f"\nThe first losses are {' and '.join(first)}. Curves of single steps: {out}/{precision}-SEED.json\n")


if __name__ == "__main__":
    main()
