#!/usr/bin/env python3
"""Writes expert_choice and soft_moe (.json, .bin): a transformer of one block with these gates, by PyTorch.

    /tmp/golden/bin/python tests/golden/make_group_gate_golden.py

Files and everything outside the mixture of experts are those of make_golden.py, smaller. The gates are written here
from the papers' formulas, group by group: Expert Choice with torch.topk, SoftMoE with two softmaxes and einsums.
"""

import json
import math
import pathlib

import numpy as np
import torch

import make_golden as golden

golden.V = 16
MODEL = golden.Model(d_model=12, d_hidden=8, heads=2, blocks=1, moe_every=1)
M, E, B, L = MODEL.d_model, golden.E, golden.B, golden.L
GROUPS = golden.CAPACITY_GROUPS
N = B * L // GROUPS  # tokens of a group


def rows_per_expert(choices, factor):
    return min(N, math.ceil(choices * factor * N / E))


def expert(x, p, b, e):
    return golden.network(MODEL, x, p, b + "experts", e, E)


def expert_choice(x, p, b, rows, seen):
    """x [n, M] of one group: every expert takes its `rows` best tokens."""
    scores = (x @ p[b + "gate.weight"]).softmax(-1)
    y = torch.zeros_like(x)
    taken = torch.zeros(N, E, dtype=torch.int64)
    for e in range(E):
        ordered = scores[:, e].detach().sort(descending=True).values
        if rows < N:
            seen["margin"] = min(seen["margin"], (ordered[rows - 1] - ordered[rows]).item())
        weight, token = scores[:, e].topk(rows)
        taken[token, e] = 1
        y = y.index_add(0, token, weight[:, None] * expert(x[token], p, b, e))
    seen["taken"] += taken.flatten().tolist()
    return y


def soft_moe(x, p, b, rows, seen):
    """x [n, M] of one group: every expert has `rows` slots."""
    logits = torch.einsum("nm,mes->nes", x, p[b + "gate.weight"].view(M, E, rows))
    dispatch = logits.softmax(0)
    combine = logits.flatten(1).softmax(-1).view(N, E, rows)
    slots = torch.einsum("nes,nm->esm", dispatch, x)
    produced = torch.stack([expert(slots[e], p, b, e) for e in range(E)])
    return torch.einsum("nes,esm->nm", combine, produced)


class Unsuitable(Exception):
    """This draw has a choice too close for float32, or no token that is left out."""


def write(gate, mixture_of_group, cases, seed):
    generator = torch.Generator().manual_seed(seed)
    start = golden.make_parameters(MODEL, generator)
    rows = rows_per_expert(*cases[0][:2])
    if gate == "soft_moe":
        start["block0.gate.weight"] = 0.3 * torch.randn(M, E * rows, generator=generator)
    text = torch.randint(0, golden.V, (B, L + 1), generator=generator)
    tokens, targets = text[:, :-1], text[:, 1:]
    sections = [[t.numpy() for t in start.values()]]
    written = []
    for choices, factor, order in cases:
        rows = rows_per_expert(choices, factor)
        seen = {"margin": 1.0, "taken": []}

        def mixture(_model, x, p, b, *_):
            groups = [mixture_of_group(group, p, b, rows, seen) for group in x.split(N)]
            return torch.cat(groups), torch.zeros(())

        golden.mixture = mixture
        p = {name: value.clone().requires_grad_() for name, value in start.items()}
        loss, _ = golden.forward(MODEL, p, tokens, targets, choices, None, seen)
        loss.backward()
        if seen["margin"] < golden.SMALLEST_GATE_MARGIN:
            raise Unsuitable
        case = {"gate": gate, "order": order, "choices": choices, "capacity_factor": factor,
                "loss": loss.item(), "auxiliary_losses": [], "dropped": 0, "gradients": len(sections)}
        if gate == "expert_choice":
            case["taken"] = seen["taken"]
            per_token = np.array(seen["taken"]).reshape(-1, E).sum(1)
            if per_token.max() <= choices or (choices == 1 and per_token.min() > 0):
                raise Unsuitable
        written.append(case)
        sections.append([t.grad.numpy().copy() for t in p.values()])

    header = {
        "torch": torch.__version__,
        "model": {
            "vocabulary": golden.V, "sequence_length": L, "d_model": M, "d_hidden": MODEL.d_hidden,
            "heads": MODEL.heads, "blocks": MODEL.blocks, "moe_every": MODEL.moe_every, "experts": E, "global_batch": B,
            "capacity_groups": GROUPS, "auxiliary_weight": golden.AUXILIARY_WEIGHT,
            "learning_rate": golden.LEARNING_RATE, "momentum": golden.MOMENTUM,
        },
        "steps": 1,
        "tokens": tokens.flatten().tolist(),
        "targets": targets.flatten().tolist(),
        "tensors": [[name, *value.shape] for name, value in start.items()],
        "cases": written,
    }
    here = pathlib.Path(__file__).parent
    (here / f"{gate}.json").write_text(json.dumps(header) + "\n")
    flat = [array.astype("<f8").ravel() for section in sections for array in section]
    np.concatenate(flat).tofile(here / f"{gate}.bin")


def write_first_suitable(gate, mixture_of_group, cases):
    for seed in range(1, 1000):
        try:
            write(gate, mixture_of_group, cases, seed)
            print(f"{gate}: seed {seed}")
            return
        except Unsuitable:
            pass
    raise SystemExit(f"{gate}: no seed gives a suitable draw")


def main():
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)
    write_first_suitable("expert_choice", expert_choice,
                         [(2, 1.0, "sparse"), (2, 1.0, "einsum"), (1, 1.5, "sparse")])
    write_first_suitable("soft_moe", soft_moe, [(1, 1.0, "einsum"), (2, 0.5, "einsum")])


if __name__ == "__main__":
    main()
