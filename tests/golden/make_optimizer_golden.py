#!/usr/bin/env python3
"""Writes optimizers.json: what torch.optim makes of a matrix and a bias over some steps.

    python3 -m venv /tmp/golden && /tmp/golden/bin/pip install torch numpy
    /tmp/golden/bin/python tests/golden/make_optimizer_golden.py

All in float64 on the CPU, seeds fixed. Gradients are given, not computed. Rates come from PyTorch's own
schedulers, norms and clipping from clip_grad_norm_; the bias is in a group without weight decay.
"""

import json
import pathlib

import torch
from torch.optim import lr_scheduler

STEPS = 12
PEAK, FLOOR, WARMUP, DECAY = 0.05, 0.005, 3, 10
ROWS, COLUMNS = 4, 3


def schedule(optimizer, kind, warmup, floor):
    """Schedulers one after the other; step s of moelab is step s - 1 of theirs."""
    parts, milestones = [], []
    if warmup > 1:
        parts.append(lr_scheduler.LinearLR(optimizer, 1 / warmup, 1, warmup - 1))
        milestones.append(warmup - 1)
    falls = DECAY - warmup
    if kind == "constant":
        parts.append(lr_scheduler.ConstantLR(optimizer, 1, STEPS))
    elif kind == "inverse_square_root":
        start = max(warmup, 1)
        parts.append(lr_scheduler.LambdaLR(optimizer, lambda e: max((start / (start + e)) ** 0.5, floor / PEAK)))
    else:
        if kind == "linear":
            parts.append(lr_scheduler.LinearLR(optimizer, 1, floor / PEAK, falls))
        else:
            parts.append(lr_scheduler.CosineAnnealingLR(optimizer, falls, floor))
        # The floor, beyond which a cosine would rise again.
        parts.append(lr_scheduler.ConstantLR(optimizer, floor / PEAK, 10 * STEPS))
        milestones.append(max(warmup - 1, 0) + falls + 1)
    return lr_scheduler.SequentialLR(optimizer, parts, milestones)


def optimizer_of(case, matrix, bias):
    groups = [{"params": [matrix], "weight_decay": case["weight_decay"]}, {"params": [bias], "weight_decay": 0.0}]
    if case["optimizer"] == "sgd":
        return torch.optim.SGD(groups, lr=PEAK, momentum=case["momentum"], nesterov=case["nesterov"])
    make = torch.optim.AdamW if case["optimizer"] == "adamw" else torch.optim.Adam
    return make(groups, lr=PEAK, betas=(case["beta1"], case["beta2"]), eps=case["epsilon"])


def run(case, start, gradients):
    parameters = [value.clone().requires_grad_() for value in start]
    optimizer = optimizer_of(case, *parameters)
    rates = schedule(optimizer, case["learning_rate_schedule"], case["warmup_steps"], case["least_learning_rate"])
    case |= {"rates": [], "norms": [], "parameters": []}
    for of_step in gradients:
        for parameter, gradient in zip(parameters, of_step):
            parameter.grad = gradient.clone()
        largest = case["clip_norm"] if case["clip_norm"] is not None else float("inf")
        case["norms"].append(torch.nn.utils.clip_grad_norm_(parameters, largest).item())
        case["rates"].append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        rates.step()
        case["parameters"].append([value.detach().flatten().tolist() for value in parameters])
    if case["clip_norm"] is not None:
        over = sum(norm > case["clip_norm"] for norm in case["norms"])
        assert 0 < over < STEPS, f"{over} of {STEPS} steps are clipped: change clip_norm"
    return case


def main():
    torch.set_default_dtype(torch.float64)
    generator = torch.Generator().manual_seed(7)
    draw = lambda rows: torch.randn(rows, COLUMNS, generator=generator)  # noqa: E731
    start = [draw(ROWS), draw(1)]
    gradients = [[draw(ROWS), draw(1)] for _ in range(STEPS)]
    adam = {"optimizer": "adam", "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8, "weight_decay": 0.0}
    adamw = adam | {"optimizer": "adamw", "beta2": 0.95, "weight_decay": 0.1}
    sgd = {"optimizer": "sgd", "momentum": 0.9, "nesterov": False, "weight_decay": 0.0}
    rate = {"learning_rate_schedule": "constant", "warmup_steps": 0, "least_learning_rate": 0.0, "clip_norm": None}
    falls = {"warmup_steps": WARMUP, "least_learning_rate": FLOOR}
    cases = [
        adam | rate,
        adam | rate | {"epsilon": 0.5, "warmup_steps": WARMUP},
        adamw | rate,
        adamw | rate | falls | {"learning_rate_schedule": "cosine", "clip_norm": 3.5},
        adamw | rate | falls | {"learning_rate_schedule": "inverse_square_root", "least_learning_rate": 0.03},
        adam | rate | falls | {"learning_rate_schedule": "linear"},
        sgd | rate,
        sgd | rate | {"momentum": 0.0, "learning_rate_schedule": "inverse_square_root"},
        sgd | rate | {"nesterov": True, "weight_decay": 0.1},
        sgd | rate | falls | {"nesterov": True, "learning_rate_schedule": "linear", "clip_norm": 3.5},
        sgd | rate | {"weight_decay": 0.1, "learning_rate_schedule": "cosine", "warmup_steps": 1,
                      "clip_norm": 3.5},
    ]
    header = {
        "torch": torch.__version__, "rows": ROWS, "columns": COLUMNS, "learning_rate": PEAK, "decay_steps": DECAY,
        "start": [value.flatten().tolist() for value in start],
        "gradients": [[value.flatten().tolist() for value in of_step] for of_step in gradients],
    }
    lines = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in header.items()]
    done = [run(dict(case), start, gradients) for case in cases]
    lines.append('  "cases": [\n' + ",\n".join(f"    {json.dumps(case)}" for case in done) + "\n  ]")
    (pathlib.Path(__file__).parent / "optimizers.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
