#!/usr/bin/env python3
"""Writes transformer.json and transformer.bin: what PyTorch computes for the model of moe/model.h.

    python3 -m venv /tmp/golden && /tmp/golden/bin/pip install torch numpy
    /tmp/golden/bin/python tests/golden/make_golden.py

All in float64 on the CPU, seeds fixed. transformer.bin holds sections of equal length, little-endian
float64: one array per tensor of the header's list, in its order, row-major. Section 0 is the
parameters that every case starts from; a case names the sections of its gradients and of its
parameters after two steps on the same batch. The model is written here from formulas, not translated
from the C++: an independent second opinion.
"""

import fractions
import json
import math
import pathlib

import numpy as np
import torch
import torch.nn.functional as F

M, H, V, L, B, BLOCKS, HEADS, E = 16, 32, 32, 8, 4, 4, 2, 4
MOE_EVERY = 2
CAPACITY_GROUPS = 4
AUXILIARY_WEIGHT = 0.01
LEARNING_RATE = 0.01
MOMENTUM = 0.9
STEPS = 2
SMALLEST_GATE_MARGIN = 1e-4  # so that float32 chooses the same experts


def has_experts(block):
    return (block + 1) % MOE_EVERY == 0


def make_parameters(generator):
    """Name -> tensor [rows, columns], large enough that gates prefer some experts and drop."""

    def normal(rows, columns, deviation, mean=0.0):
        return mean + deviation * torch.randn(rows, columns, generator=generator)

    p = {
        "token_table": normal(V, M, 0.5),
        "position_table": normal(L, M, 0.2),
    }
    for i in range(BLOCKS):
        b = f"block{i}."
        p[b + "norm1.scale"] = normal(1, M, 0.1, 1.0)
        p[b + "norm1.shift"] = normal(1, M, 0.1)
        p[b + "attention.qkv.weight"] = normal(M, 3 * M, 0.25)
        p[b + "attention.qkv.bias"] = normal(1, 3 * M, 0.1)
        p[b + "attention.output.weight"] = normal(M, M, 0.2)
        p[b + "attention.output.bias"] = normal(1, M, 0.1)
        p[b + "norm2.scale"] = normal(1, M, 0.1, 1.0)
        p[b + "norm2.shift"] = normal(1, M, 0.1)
        if has_experts(i):
            p[b + "gate.weight"] = normal(M, E, 0.3)
            p[b + "experts.up.weight"] = normal(E * M, H, 0.25)
            p[b + "experts.up.bias"] = normal(E, H, 0.1)
            p[b + "experts.down.weight"] = normal(E * H, M, 0.2)
            p[b + "experts.down.bias"] = normal(E, M, 0.1)
        else:
            p[b + "ffn.up.weight"] = normal(M, H, 0.25)
            p[b + "ffn.up.bias"] = normal(1, H, 0.1)
            p[b + "ffn.down.weight"] = normal(H, M, 0.2)
            p[b + "ffn.down.bias"] = normal(1, M, 0.1)
    p["final_norm.scale"] = normal(1, M, 0.1, 1.0)
    p["final_norm.shift"] = normal(1, M, 0.1)
    p["head.weight"] = normal(M, V, 0.25)
    return p


def norm(x, p, name):
    return F.layer_norm(x, (M,), p[name + ".scale"][0], p[name + ".shift"][0], eps=1e-5)


def attention(x, p, b):
    """x [B, L, M]; q, k, v are the thirds of the columns, heads side by side in each."""
    qkv = x @ p[b + "attention.qkv.weight"] + p[b + "attention.qkv.bias"]
    q, k, v = (t.view(B, L, HEADS, M // HEADS).transpose(1, 2) for t in qkv.split(M, dim=-1))
    scores = q @ k.transpose(-1, -2) / math.sqrt(M // HEADS)
    future = torch.ones(L, L, dtype=torch.bool).triu(1)
    y = scores.masked_fill(future, -math.inf).softmax(-1) @ v
    y = y.transpose(1, 2).reshape(B, L, M)
    return y @ p[b + "attention.output.weight"] + p[b + "attention.output.bias"]


def kept(expert, capacity):
    """Which of the choices [T, k] fit: per group of tokens, first choices before second ones."""
    keep = torch.ones_like(expert, dtype=torch.bool)
    if capacity is None:
        return keep
    group_tokens = len(expert) // CAPACITY_GROUPS
    for first in range(0, len(expert), group_tokens):
        taken = [0] * E
        for choice in range(expert.shape[1]):
            for token in range(first, first + group_tokens):
                e = int(expert[token, choice])
                keep[token, choice] = taken[e] < capacity
                taken[e] += 1
    return keep


def mixture(x, p, b, choices, capacity, seen):
    """x [T, M] -> y [T, M] and the load-balancing loss E sum_e f_e P_e."""
    probabilities = (x @ p[b + "gate.weight"]).softmax(-1)
    ordered, order = probabilities.sort(-1, descending=True)
    seen["margin"] = min(seen["margin"], -ordered.detach().diff()[:, :choices].max().item())
    expert, weight = order[:, :choices], ordered[:, :choices]
    if choices == 2:
        weight = weight / weight.sum(-1, keepdim=True)
    keep = kept(expert, capacity)
    seen["dropped"] += int((~keep).sum())

    y = torch.zeros_like(x)
    for e in range(E):
        up = p[b + "experts.up.weight"].view(E, M, H)[e]
        down = p[b + "experts.down.weight"].view(E, H, M)[e]
        hidden = F.gelu(x @ up + p[b + "experts.up.bias"][e], approximate="tanh")
        output = hidden @ down + p[b + "experts.down.bias"][e]
        share = (weight * ((expert == e) & keep)).sum(-1, keepdim=True)
        y = y + share * output

    asked = torch.bincount(expert.flatten(), minlength=E).to(x.dtype) / expert.numel()
    return y, E * (asked * probabilities.mean(0)).sum()


def forward(p, tokens, targets, choices, capacity, seen):
    """Mean cross-entropy and the auxiliary loss of every MoE layer."""
    x = p["token_table"][tokens] + p["position_table"]
    auxiliary = []
    for i in range(BLOCKS):
        b = f"block{i}."
        x = x + attention(norm(x, p, b + "norm1"), p, b)
        normed = norm(x, p, b + "norm2")
        if has_experts(i):
            y, loss = mixture(normed.reshape(B * L, M), p, b, choices, capacity, seen)
            y = y.view(B, L, M)
            auxiliary.append(loss)
        else:
            hidden = normed @ p[b + "ffn.up.weight"] + p[b + "ffn.up.bias"]
            hidden = F.gelu(hidden, approximate="tanh")
            y = hidden @ p[b + "ffn.down.weight"] + p[b + "ffn.down.bias"]
        x = x + y
    logits = norm(x, p, "final_norm") @ p["head.weight"]
    return F.cross_entropy(logits.view(B * L, V), targets.flatten()), auxiliary


def run_case(start, tokens, targets, choices, capacity_factor, optimizer):
    capacity = None
    if capacity_factor is not None:
        # The decimal that was written: 2 * 1.1 * 420 / 7 is 132, and 133 once floats round it.
        group_tokens = B * L // CAPACITY_GROUPS
        copies = choices * fractions.Fraction(str(capacity_factor)) * group_tokens / E
        capacity = min(max(1, math.ceil(copies)), group_tokens)
    p = {name: value.clone().requires_grad_() for name, value in start.items()}
    if optimizer == "adam":
        stepper = torch.optim.Adam(p.values(), lr=LEARNING_RATE, betas=(0.9, 0.999), eps=1e-8)
    else:
        stepper = torch.optim.SGD(p.values(), lr=LEARNING_RATE, momentum=MOMENTUM)
    seen = {"dropped": 0, "margin": 1.0}
    first = None
    for _ in range(STEPS):
        stepper.zero_grad()
        loss, auxiliary = forward(p, tokens, targets, choices, capacity, seen)
        (loss + AUXILIARY_WEIGHT * sum(auxiliary)).backward()
        if first is None:
            first = (loss.item(), [a.item() for a in auxiliary], seen["dropped"],
                     [t.grad.numpy().copy() for t in p.values()])
        stepper.step()
    assert seen["margin"] > SMALLEST_GATE_MARGIN, f"gate margin {seen['margin']}: change the seed"
    assert (first[2] > 0) == (capacity is not None)
    return first, [t.detach().numpy() for t in p.values()]


def main():
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(1)
    start = make_parameters(generator)
    text = torch.randint(0, V, (B, L + 1), generator=generator)
    tokens, targets = text[:, :-1], text[:, 1:]

    sections = [[t.numpy() for t in start.values()]]
    cases = []
    for choices, capacity_factor, optimizer in [
        (1, 1.0, "sgd"),
        (1, None, None),
        (2, 1.0, "adam"),
        (2, None, None),
    ]:
        (loss, auxiliary, dropped, gradients), updated = run_case(
            start, tokens, targets, choices, capacity_factor, optimizer)
        case = {
            "choices": choices,
            "capacity_factor": capacity_factor if capacity_factor is not None else "dropless",
            "loss": loss,
            "auxiliary_losses": auxiliary,
            "dropped": dropped,
            "gradients": len(sections),
        }
        sections.append(gradients)
        if optimizer is not None:
            case |= {"optimizer": optimizer, "updated": len(sections)}
            sections.append(updated)
        cases.append(case)

    header = {
        "torch": torch.__version__,
        "model": {
            "vocabulary": V, "sequence_length": L, "d_model": M, "d_hidden": H, "heads": HEADS,
            "blocks": BLOCKS, "moe_every": MOE_EVERY, "experts": E, "global_batch": B,
            "capacity_groups": CAPACITY_GROUPS, "auxiliary_weight": AUXILIARY_WEIGHT,
            "learning_rate": LEARNING_RATE, "momentum": MOMENTUM,
        },
        "steps": STEPS,
        "tokens": tokens.flatten().tolist(),
        "targets": targets.flatten().tolist(),
        "tensors": [[name, *value.shape] for name, value in start.items()],
        "cases": cases,
    }
    here = pathlib.Path(__file__).parent
    lines = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in header.items()
             if key not in ("tensors", "cases")]
    for key in ("tensors", "cases"):
        rows = ",\n".join(f"    {json.dumps(row)}" for row in header[key])
        lines.append(f"  {json.dumps(key)}: [\n{rows}\n  ]")
    (here / "transformer.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
    flat = [array.astype("<f8").ravel() for section in sections for array in section]
    np.concatenate(flat).tofile(here / "transformer.bin")


if __name__ == "__main__":
    main()
