#!/usr/bin/env python3
"""Writes gates.json: what PyTorch computes for every gate of moe/model/gates, alone.

    python3 -m venv /tmp/golden && /tmp/golden/bin/pip install torch numpy
    /tmp/golden/bin/python tests/golden/make_gate_golden.py

All in float64 on the CPU, seeds fixed. A case is a gate and a k: which experts it chooses for the tokens
x, their weights, its losses, which copies each way of dropping keeps, and the gradients of
    sum(weight * d_weight) + AUXILIARY_WEIGHT * balance + Z_LOSS_WEIGHT * z
with respect to x and its parameters. Written from the papers' formulas, not translated from the C++:
an independent second opinion.
"""

import json
import math
import pathlib

import torch
import torch.nn.functional as F

T, M, E = 16, 4, 6
SEED, LAYER, STEP = 11, 3, 5
CAPACITY_GROUPS = 2
CAPACITY_FACTOR = 0.6
AUXILIARY_WEIGHT, Z_LOSS_WEIGHT = 0.3, 0.2
BIAS_SPEED = 0.01
MASK = (1 << 64) - 1
SMALLEST_MARGIN = 1e-4  # so that float32 chooses the same experts


def mix(x):
    """SplitMix64."""
    x = (x + 0x9E3779B97F4A7C15) & MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def bits(iteration, token, expert):
    key = mix(SEED)
    for part in (LAYER, iteration, token, expert):
        key = mix(key ^ part)
    return key


def unit(b):
    return ((b >> 11) + 1) / 2**53


def noise(token, expert):
    """Box-Muller."""
    b = bits(STEP, token, expert)
    return math.sqrt(-2 * math.log(unit(b))) * math.cos(2 * math.pi * unit(mix(b)))


def table(f):
    return torch.tensor([[f(t, e) for e in range(E)] for t in range(T)], dtype=torch.float64)


def softmax_gate(x, p):
    logits = x @ p["gate.weight"]
    return logits, logits, logits.softmax(-1)


def gshard_gate(x, p):
    noisy = x @ p["gate.weight"] + table(noise) * F.softplus(x @ p["gate.noise.weight"])
    return noisy, noisy, noisy.softmax(-1)


def sigmoid_gate(x, p):
    logits = x @ p["gate.weight"]
    return logits, logits, logits.sigmoid()


def x_moe_gate(x, p, temperature=0.3):
    cosines = F.cosine_similarity((x @ p["gate.projection.weight"])[:, None, :], p["gate.weight"][None, :, :], -1)
    if "gate.log_temperature" in p:
        temperature = temperature * p["gate.log_temperature"].exp()
    logits = cosines / temperature
    return logits, logits, logits.softmax(-1)


def x_moe_fixed_gate(x, p):
    return x_moe_gate(x, p, 0.07)


def bias_adjusted_gate(x, p):
    logits = x @ p["gate.weight"]
    scores = logits.sigmoid()
    return logits, scores.detach() + p["gate.expert_bias"].detach(), scores


def bias_adjusted_softmax_gate(x, p):
    logits = x @ p["gate.weight"]
    scores = logits.softmax(-1)
    return logits, scores.detach() + p["gate.expert_bias"].detach(), scores


ROUNDS = 8


def sinkhorn_ranking(logits):
    """Megatron-LM's iteration over the tokens of each capacity group, so many times; the logarithm of its result."""
    rankings = []
    for group in logits.detach().split(T // CAPACITY_GROUPS):
        cost = group.exp()
        rows, columns = torch.ones(len(cost)), torch.ones(E)
        for _ in range(ROUNDS):
            rows = 1 / len(rows) / ((columns * cost).sum(1) + 1e-8)
            columns = 1 / E / ((rows[:, None] * cost).sum(0) + 1e-8)
        rankings.append((columns * cost * rows[:, None]).log())
    return torch.cat(rankings)


def sinkhorn_gate(x, p, scores=lambda logits: logits.softmax(-1)):
    logits = x @ p["gate.weight"]
    return logits, sinkhorn_ranking(logits), scores(logits)


def sinkhorn_alone_gate(x, p):
    return sinkhorn_gate(x, p, torch.sigmoid)


def hash_gate(x, p):
    ranking = table(lambda t, e: (bits(0, TOKENS[t], e) >> 40) / 2**24)
    return None, ranking, None


def random_gate(x, p):
    ranking = table(lambda t, e: (bits(STEP, t, e) >> 40) / 2**24)
    return None, ranking, None


TOKENS = [(t * 7 + 3) % 23 for t in range(T)]


def kept(expert, priority, capacity, drop):
    """Which of the choices [T, k] an expert with room for `capacity` of each group takes."""
    keep = [[False] * len(row) for row in expert]
    group_tokens = T // CAPACITY_GROUPS
    for first in range(0, T, group_tokens):
        tokens = list(range(first, first + group_tokens))
        k = len(expert[0])
        if drop == "position":
            order = [(t, j) for t in tokens for j in range(k)]
        else:
            if drop == "probability":
                tokens.sort(key=lambda t: -priority[t])  # stable
            order = [(t, j) for j in range(k) for t in tokens]
        taken = [0] * E
        for t, j in order:
            keep[t][j] = taken[expert[t][j]] < capacity
            taken[expert[t][j]] += 1
    return keep


def slots(expert, keep):
    taken = [0] * E
    result = []
    for row, kept_row in zip(expert, keep):
        for e, k in zip(row, kept_row):
            result.append(taken[e] if k else -1)
            taken[e] += k
    return result


def run(gate, x, parameters, choices, d_weight, balances=True):
    x = x.clone().requires_grad_()
    p = {name: value.clone().requires_grad_() for name, value in parameters.items()}
    logits, ranking, scores = gate(x, p)
    order = torch.sort(ranking.detach(), dim=-1, descending=True, stable=True)
    if choices < E:
        margin = -order.values.diff()[:, :choices].max().item()
        assert margin > SMALLEST_MARGIN, f"{gate.__name__}, k = {choices}: margin {margin}: change the seed"
    expert = order.indices[:, :choices]
    demand = torch.bincount(expert.flatten(), minlength=E)
    loss = torch.zeros(())
    if scores is None:
        weight = torch.full((T, choices), 1 / choices)
    else:
        weight = scores.gather(1, expert)
        if choices > 1:
            weight = weight / weight.sum(-1, keepdim=True)
        loss = loss + (weight * d_weight[:, :choices]).sum()
    case = {"expert": expert.flatten().tolist(), "weight": weight.flatten().tolist(), "demand": demand.tolist()}
    if logits is not None:
        z = (torch.logsumexp(logits, -1) ** 2).mean()
        loss = loss + Z_LOSS_WEIGHT * z
        case["z_loss"] = z.item()
        if balances:
            # Sigmoid scores do not add up to 1: their shares of a token's sum are balanced.
            shares = scores / scores.sum(-1, keepdim=True) if gate is sigmoid_gate else scores
            balance = E * (demand / demand.sum() * shares.mean(0)).sum()
            loss = loss + AUXILIARY_WEIGHT * balance
            case["auxiliary_loss"] = balance.item()
        loss.backward()
        case["d_x"] = x.grad.flatten().tolist()
        case["gradients"] = {n: t.grad.flatten().tolist() for n, t in p.items() if t.grad is not None}
    if "gate.expert_bias" in p:
        error = demand.double().mean() - demand
        case["adjusted_bias"] = (parameters["gate.expert_bias"][0] + BIAS_SPEED * error.sign()).tolist()
    capacity = max(1, math.ceil(choices * CAPACITY_FACTOR * (T // CAPACITY_GROUPS) / E))
    best = scores if scores is not None else ranking
    priority = best.detach().gather(1, expert)[:, 0].tolist()
    case["capacity"] = capacity
    case["slots"] = {drop: slots(expert.tolist(), kept(expert.tolist(), priority, capacity, drop))
                     for drop in ("choice", "position", "probability")}
    assert choices == E or any(s < 0 for s in case["slots"]["choice"]), "nothing dropped: lower the capacity factor"
    return case


def main():
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(4)

    def normal(rows, columns, deviation=1.0):
        return deviation * torch.randn(rows, columns, generator=generator)

    x, d_weight = normal(T, M), normal(T, E)
    weight = normal(M, E)
    rank = E // 2
    embedded = {"gate.projection.weight": normal(M, rank), "gate.weight": normal(E, rank)}
    gates = {
        "softmax": (softmax_gate, {"gate.weight": weight}),
        "gshard": (gshard_gate, {"gate.weight": weight, "gate.noise.weight": normal(M, E)}),
        "sigmoid": (sigmoid_gate, {"gate.weight": weight}),
        "x_moe": (x_moe_gate, embedded | {"gate.log_temperature": torch.tensor([[0.2]])}),
        "x_moe fixed": (x_moe_fixed_gate, embedded),
        "batch_prioritized": (softmax_gate, {"gate.weight": weight}),
        "bias_adjusted": (bias_adjusted_gate, {"gate.weight": weight, "gate.expert_bias": normal(1, E, 0.2)}),
        "hash": (hash_gate, {}),
        "random": (random_gate, {}),
        "sinkhorn alone": (sinkhorn_alone_gate, {"gate.weight": weight}),
        "sinkhorn": (sinkhorn_gate, {"gate.weight": weight}),
        "bias_adjusted softmax": (bias_adjusted_softmax_gate, {"gate.weight": weight, "gate.expert_bias": normal(1, E, 0.2)}),
    }
    unbalanced = ("bias_adjusted", "bias_adjusted softmax", "sinkhorn", "sinkhorn alone")
    cases = []
    for name, (gate, parameters) in gates.items():
        for choices in {"sinkhorn": (2, 4, E), "sinkhorn alone": (1,)}.get(name, (1, 2, 4, E)):
            case = run(gate, x, parameters, choices, d_weight, balances=name not in unbalanced)
            case = {"gate": name.split()[0], "choices": choices,
                    "parameters": {n: v.flatten().tolist() for n, v in parameters.items()}} | case
            if name == "x_moe fixed":
                case["temperature"] = 0.07
            if name == "bias_adjusted softmax":
                case["adjusted_scores"] = "softmax"
            cases.append(case)
    header = {
        "torch": torch.__version__,
        "tokens": T, "d_model": M, "experts": E, "seed": SEED, "layer": LAYER, "step": STEP,
        "capacity_groups": CAPACITY_GROUPS, "capacity_factor": CAPACITY_FACTOR,
        "auxiliary_weight": AUXILIARY_WEIGHT, "z_loss_weight": Z_LOSS_WEIGHT, "bias_speed": BIAS_SPEED,
        "ids": TOKENS, "x": x.flatten().tolist(), "d_weight": d_weight.flatten().tolist(),
    }
    lines = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in header.items()]
    lines.append('  "cases": [\n' + ",\n".join(f"    {json.dumps(case)}" for case in cases) + "\n  ]")
    (pathlib.Path(__file__).parent / "gates.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
