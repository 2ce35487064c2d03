#!/usr/bin/env python3
"""Writes NAME.json and NAME.bin for every model below: what PyTorch computes for such a model of moe/model.h.

    python3 -m venv /tmp/golden && /tmp/golden/bin/pip install torch numpy transformers
    /tmp/golden/bin/python tests/golden/make_golden.py

All in float64 on the CPU, seeds fixed. NAME.bin holds sections of equal length, little-endian
float64: one array per tensor of the header's list, in its order, row-major. Section 0 is the
parameters that every case starts from; a case names the sections of its gradients and of its
parameters after two steps on the same batch. The model is written here from formulas, not translated
from the C++: an independent second opinion. Latent attention is compared with that of transformers here.
"""

import dataclasses
import fractions
import json
import math
import pathlib

import numpy as np
import torch
import torch.nn.functional as F

V, L, B, E = 32, 8, 4, 4
CAPACITY_GROUPS = 4
AUXILIARY_WEIGHT = 0.01
LEARNING_RATE = 0.01
MOMENTUM = 0.9
STEPS = 2
SMALLEST_GATE_MARGIN = 1e-4  # so that float32 chooses the same experts


@dataclasses.dataclass
class Model:
    """Keys of a model file; what they are called there."""
    d_model: int = 16
    d_hidden: int = 32
    heads: int = 2
    blocks: int = 4
    moe_every: int = 2
    block_pattern: str = "moe_every"
    key_value_heads: int = 0  # 0: as many as heads
    norm: str = "layer_norm"
    positions: str = "learned"
    rotary_base: float = 10000.0
    rotary_columns: int = 0  # 0: all of a head
    rotary_pattern: str = "t"
    rotary_scaling: str = "none"
    rotary_factor: float = 1.0
    rotary_trained_length: int = 4096
    head_width: int = 0  # 0: d_model / heads
    query_key_norm: str = "none"
    query_key_norm_turned: bool = False
    norm_place: str = "before"
    embedding_factor: float = 1.0
    residual_factor: float = 1.0
    logits_divisor: float = 1.0
    normalize_weights: bool = True
    gate_bias: bool = False
    shared_expert_gate: bool = False
    window: int = 0
    window_pattern: str = "s"
    window_rotary_base: float = 0.0  # 0: rotary_base
    window_rotary_scaling: bool = True
    attention_sinks: bool = False
    attention_scale: float = 0.0
    value_width: int = 0  # 0: head_width
    latent_rank: int = 0
    latent_query_rank: int = 0
    latent_norm_epsilon: float = 1e-5
    expert_groups: int = 1
    best_groups: int = 1
    weight_factor: float = 1.0
    head: str = "untied"
    biases: bool = True
    dense_blocks: int = 0
    expert: str = "gpt"
    activation: str = "gelu"
    d_expert: int = 0  # 0: d_hidden
    shared_experts: int = 0

    def __post_init__(self):
        self.key_value_heads = self.key_value_heads or self.heads
        self.d_expert = self.d_expert or self.d_hidden
        self.head_width = self.head_width or self.d_model // self.heads
        self.rotary_columns = self.rotary_columns or self.head_width
        self.value_width = self.value_width or self.head_width

    def has_window(self, block):
        return self.window > 0 and self.window_pattern[block % len(self.window_pattern)] == "s"

    def turns(self, block):
        return self.positions == "rotary" and self.rotary_pattern[block % len(self.rotary_pattern)] == "t"

    def has_experts(self, block):
        if self.block_pattern != "moe_every":
            return self.block_pattern[block % len(self.block_pattern)] == "e"
        behind = block - self.dense_blocks
        return behind >= 0 and (behind + 1) % self.moe_every == 0


def make_parameters(model, generator):
    """Name -> tensor [rows, columns], large enough that gates prefer some experts and drop."""
    m = model.d_model
    width, key_width = model.heads * model.head_width, model.key_value_heads * model.head_width

    def normal(rows, columns, deviation, mean=0.0):
        return mean + deviation * torch.randn(rows, columns, generator=generator)

    def norm(name):
        p[name + ".scale"] = normal(1, m, 0.1, 1.0)
        if model.norm == "layer_norm":
            p[name + ".shift"] = normal(1, m, 0.1)

    def linear(name, inputs, outputs, deviation, copies=1, biases=model.biases):
        p[name + ".weight"] = normal(copies * inputs, outputs, deviation)
        if biases:
            p[name + ".bias"] = normal(copies, outputs, 0.1)

    def network(name, hidden, copies=1):
        if model.expert == "gpt_oss":
            linear(name + ".gate", m, hidden, 2.0, copies)
            linear(name + ".up", m, hidden, 2.0, copies)
            linear(name + ".down", hidden, m, 0.02, copies)
        elif model.expert == "mixtral":
            linear(name + ".gate", m, hidden, 0.25, copies, biases=False)
            linear(name + ".up", m, hidden, 0.25, copies, biases=False)
            linear(name + ".down", hidden, m, 0.2, copies, biases=False)
        else:
            linear(name + ".up", m, hidden, 0.25, copies)
            linear(name + ".down", hidden, m, 0.2, copies)

    p = {"token_table": normal(V, m, 0.5)}
    if model.positions == "learned":
        p["position_table"] = normal(L, m, 0.2)
    for i in range(model.blocks):
        b = f"block{i}."
        norm(b + "norm1")
        value_width = model.heads * model.value_width
        if model.latent_rank:
            made = model.key_value_heads * (model.head_width - model.rotary_columns + model.value_width)
            latents = [("query", model.latent_query_rank, width), ("latent", model.latent_rank, made)]
            for part, rank, outputs in latents:
                linear(b + f"attention.{part}_down", m, rank, 0.25)
                p[b + f"attention.{part}_down_norm.scale"] = normal(1, rank, 0.1, 1.0)
                linear(b + f"attention.{part}_up", rank, outputs, 0.5, biases=False)
            linear(b + "attention.shared_key", m, model.rotary_columns, 0.25)
        else:
            linear(b + "attention.qkv", m, width + key_width + model.key_value_heads * model.value_width, 0.25)
        if model.query_key_norm != "none":
            whole = model.query_key_norm == "all"
            p[b + "attention.query_norm.scale"] = normal(1, width if whole else model.head_width, 0.1, 1.0)
            p[b + "attention.key_norm.scale"] = normal(1, key_width if whole else model.head_width, 0.1, 1.0)
        if model.attention_sinks:
            p[b + "attention.sinks"] = normal(1, model.heads, 1.0)
        linear(b + "attention.output", value_width, m, 0.2)
        norm(b + "norm2")
        if model.has_experts(i):
            linear(b + "gate", m, E, 0.3, biases=model.gate_bias)
            network(b + "experts", model.d_expert, E)
            if model.shared_experts:
                network(b + "shared", model.shared_experts * model.d_expert)
                if model.shared_expert_gate:
                    linear(b + "shared_gate", m, 1, 0.3, biases=False)
        else:
            network(b + "ffn", model.d_hidden)
    norm("final_norm")
    if model.head == "untied":
        p["head.weight"] = normal(m, V, 0.25)
    return p


def norm(model, x, p, name):
    scale = p[name + ".scale"][0]
    if model.norm == "rms_norm":
        return F.rms_norm(x, (model.d_model,), scale, eps=1e-5)
    return F.layer_norm(x, (model.d_model,), scale, p[name + ".shift"][0], eps=1e-5)


def linear(x, p, name, copy=None, copies=1):
    """x W + b, of one of `copies` matrices below each other."""
    weight, bias = p[name + ".weight"], p.get(name + ".bias")
    if copy is not None:
        weight = weight.view(copies, -1, weight.shape[1])[copy]
        bias = None if bias is None else bias[copy]
    y = x @ weight
    return y if bias is None else y + bias


def yarn_rates(model, rates, base):
    """Those of pairs that turn less than once in a sequence of the training are divided by the factor, those of pairs
    that turn 32 times are not, and between them the share rises by the pair [YaRN; DeepSeek-V3 has these 32 and 1]."""
    pairs = len(rates)
    pair_of = [pairs * math.log(model.rotary_trained_length / (turns * 2 * math.pi)) / math.log(base) for turns in (32, 1)]
    first, last = max(math.floor(pair_of[0]), 0), min(math.ceil(pair_of[1]), 2 * pairs - 1)
    share = ((torch.arange(pairs) - first) / (last - first or 0.001)).clamp(0, 1)
    return rates * (1 - share + share / model.rotary_factor)


def turned(model, x, block):
    """x [B, L, heads, W]: of the first R columns c and c + R/2 as a complex number, times e^(i position base^(-2c/R))."""
    if not model.turns(block):
        return x
    windowed = model.has_window(block)
    x, rest = x[..., :model.rotary_columns], x[..., model.rotary_columns:]
    half = model.rotary_columns // 2
    base = model.window_rotary_base if windowed and model.window_rotary_base else model.rotary_base
    rates = base ** (-torch.arange(half) / half)
    if model.rotary_scaling == "yarn" and (model.window_rotary_scaling or not windowed):
        rates = yarn_rates(model, rates, base)
    angles = torch.arange(L)[:, None, None] * rates
    z = torch.complex(x[..., :half].contiguous(), x[..., half:].contiguous())
    z = z * torch.polar(torch.ones_like(angles), angles)
    return torch.cat([z.real, z.imag, rest], -1)


def compressed(model, x, p, name):
    low = linear(x, p, name + "_down")
    low = F.rms_norm(low, low.shape[-1:], p[name + "_down_norm.scale"][0], eps=model.latent_norm_epsilon)
    return linear(low, p, name + "_up").view(B, L, model.heads, -1)


def latent_attention(model, x, p, b):
    """Queries, keys and values [B, L, heads, ...] of DeepSeek-V2: the columns that turn are the first, and those of keys
    are the same for all heads."""
    q = compressed(model, x, p, b + "attention.query")
    unturned, v = compressed(model, x, p, b + "attention.latent").split(
        [model.head_width - model.rotary_columns, model.value_width], dim=-1)
    shared = linear(x, p, b + "attention.shared_key")[:, :, None].expand(-1, -1, model.heads, -1)
    return q, torch.cat([shared, unturned], -1), v


def attention(model, x, p, b, block):
    """x [B, L, M]; q, k, v are groups of the columns, heads side by side in each."""
    width = model.head_width
    query_width, key_width = model.heads * width, model.key_value_heads * width
    if model.latent_rank:
        q, k, v = latent_attention(model, x, p, b)
        return attended(model, q, k, v, p, b, block)
    value_width = model.key_value_heads * model.value_width
    q, k, v = linear(x, p, b + "attention.qkv").split([query_width, key_width, value_width], dim=-1)
    if model.query_key_norm == "all":
        q = F.rms_norm(q, (query_width,), p[b + "attention.query_norm.scale"][0], eps=1e-5)
        k = F.rms_norm(k, (key_width,), p[b + "attention.key_norm.scale"][0], eps=1e-5)
    q, k, v = (t.view(B, L, -1, columns) for t, columns in ((q, width), (k, width), (v, model.value_width)))
    if model.query_key_norm_turned:
        q, k = turned(model, q, block), turned(model, k, block)
    if model.query_key_norm == "head":
        q = F.rms_norm(q, (width,), p[b + "attention.query_norm.scale"][0], eps=1e-5)
        k = F.rms_norm(k, (width,), p[b + "attention.key_norm.scale"][0], eps=1e-5)
    return attended(model, q, k, v, p, b, block)


def attended(model, q, k, v, p, b, block):
    if not model.query_key_norm_turned:
        q, k = turned(model, q, block), turned(model, k, block)
    q, k, v = (t.transpose(1, 2) for t in (q, k, v))
    k, v = (t.repeat_interleave(model.heads // model.key_value_heads, 1) for t in (k, v))
    scores = q @ k.transpose(-1, -2) * (model.attention_scale or 1 / math.sqrt(model.head_width))
    hidden = torch.ones(L, L, dtype=torch.bool).triu(1)
    if model.has_window(block):
        hidden |= torch.ones(L, L, dtype=torch.bool).tril(-model.window)
    scores = scores.masked_fill(hidden, -math.inf)
    if model.attention_sinks:
        sinks = p[b + "attention.sinks"].view(1, -1, 1, 1).expand(B, -1, L, 1)
        scores = torch.cat([scores, sinks], -1)
    y = scores.softmax(-1)[..., :L] @ v
    return linear(y.transpose(1, 2).reshape(B, L, -1), p, b + "attention.output")


def compare_with_transformers(model, p):
    """Latent attention of block 0 beside DeepseekV3Attention, of the same matrices. Returns the columns of what that
    makes for a token, by name."""
    from transformers import DeepseekV3Config
    from transformers.models.deepseek_v3 import modeling_deepseek_v3 as theirs

    turned_columns, heads, width, values = model.rotary_columns, model.heads, model.head_width, model.value_width
    unturned = width - turned_columns
    config = DeepseekV3Config(
        hidden_size=model.d_model, num_attention_heads=heads, num_key_value_heads=heads,
        q_lora_rank=model.latent_query_rank, kv_lora_rank=model.latent_rank, qk_rope_head_dim=turned_columns,
        qk_nope_head_dim=unturned, v_head_dim=values, attention_bias=False, rope_interleave=True,
        max_position_embeddings=int(model.rotary_factor) * model.rotary_trained_length,
        rope_parameters={"rope_type": model.rotary_scaling, "rope_theta": model.rotary_base,
                         "factor": model.rotary_factor, "mscale": 1.0, "mscale_all_dim": 1.0,
                         "original_max_position_embeddings": model.rotary_trained_length})
    config._attn_implementation = "eager"
    layer = theirs.DeepseekV3Attention(config, 0)
    ours = {name.removeprefix("block0.attention."): value.clone() for name, value in p.items()
            if name.startswith("block0.attention.")}
    # Their columns of a head that turn are the last, and those of a pair are neighbours.
    pairs = torch.arange(turned_columns).view(2, -1).T.flatten()
    places = torch.cat([torch.arange(turned_columns, width), pairs])
    with torch.no_grad():
        layer.q_a_proj.weight.copy_(ours["query_down.weight"].T)
        layer.q_a_layernorm.weight.copy_(ours["query_down_norm.scale"][0])
        layer.q_b_proj.weight.copy_(ours["query_up.weight"].T.view(heads, width, -1)[:, places].flatten(0, 1))
        layer.kv_a_proj_with_mqa.weight.copy_(
            torch.cat([ours["latent_down.weight"], ours["shared_key.weight"][:, pairs]], 1).T)
        layer.kv_a_layernorm.weight.copy_(ours["latent_down_norm.scale"][0])
        layer.kv_b_proj.weight.copy_(ours["latent_up.weight"].T)
        layer.o_proj.weight.copy_(ours["output.weight"].T)
    columns = {}
    for name, module in layer.named_children():
        module.register_forward_hook(lambda module, given, made, name=name: columns.update({name: made.shape[-1]}))
    attend = theirs.eager_attention_forward

    def counted(module, q, k, v, mask, **others):
        columns.update({name: t.shape[1] * t.shape[-1] for name, t in (("query", q), ("key", k), ("value", v))})
        return attend(module, q, k, v, mask, **others)

    theirs.eager_attention_forward = counted
    x = torch.randn(B, L, model.d_model, generator=torch.Generator().manual_seed(5)).requires_grad_()
    mask = torch.zeros(L, L).masked_fill(torch.ones(L, L, dtype=torch.bool).triu(1), -math.inf)[None, None]
    angles = theirs.DeepseekV3RotaryEmbedding(config)(x, torch.arange(L)[None])
    made, _ = layer(x, angles, mask)
    expected = attention(model, x, p, "block0.", 0)
    # Their norms and angles are in float32.
    difference = ((made - expected).norm() / expected.norm()).item()
    dy = torch.randn(expected.shape, generator=torch.Generator().manual_seed(6))
    gradients = [torch.autograd.grad((y * dy).sum(), x)[0] for y in (made, expected)]
    gradient_difference = ((gradients[0] - gradients[1]).norm() / gradients[1].norm()).item()
    print(f"latent attention beside transformers: output {difference:.2g}, gradient {gradient_difference:.2g}, {columns}")
    assert difference < 1e-6 and gradient_difference < 1e-6
    return columns


def network(model, x, p, name, copy=None, copies=1):
    up = linear(x, p, name + ".up", copy, copies)
    if model.expert == "gpt_oss":
        gate = linear(x, p, name + ".gate", copy, copies).clamp(max=7)
        hidden = (up.clamp(-7, 7) + 1) * gate * torch.sigmoid(1.702 * gate)
    elif model.expert == "mixtral":
        hidden = F.silu(linear(x, p, name + ".gate", copy, copies)) * up
    elif model.activation == "relu":
        hidden = F.relu(up)
    else:
        hidden = F.gelu(up, approximate="tanh")
    return linear(hidden, p, name + ".down", copy, copies)


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


def mixture(model, x, p, b, choices, capacity, seen):
    """x [T, M] -> y [T, M] and the load-balancing loss E sum_e f_e P_e."""
    probabilities = linear(x, p, b + "gate").softmax(-1)
    candidates = probabilities
    if model.best_groups < model.expert_groups:
        groups = probabilities.view(len(x), model.expert_groups, -1)
        scores = groups.max(-1).values
        seen["margin"] = min(seen["margin"], -scores.detach().sort(-1, descending=True).values.diff().max().item())
        best = scores.topk(model.best_groups, -1).indices
        allowed = torch.zeros_like(scores).scatter(1, best, 1).unsqueeze(-1).expand_as(groups).reshape(len(x), E)
        candidates = probabilities.masked_fill(allowed == 0, -1)
    _, order = candidates.sort(-1, descending=True)
    ordered = candidates.gather(1, order)
    seen["margin"] = min(seen["margin"], -ordered.detach().diff()[:, :choices].max().item())
    expert, weight = order[:, :choices], ordered[:, :choices]
    if choices == 2 and model.normalize_weights:
        weight = weight / weight.sum(-1, keepdim=True)
    weight = weight * model.weight_factor
    keep = kept(expert, capacity)
    seen["dropped"] += int((~keep).sum())

    y = torch.zeros_like(x)
    for e in range(E):
        share = (weight * ((expert == e) & keep)).sum(-1, keepdim=True)
        y = y + share * network(model, x, p, b + "experts", e, E)
    if model.shared_experts:
        shared = network(model, x, p, b + "shared")
        if model.shared_expert_gate:
            shared = shared * torch.sigmoid(linear(x, p, b + "shared_gate"))
        y = y + shared

    asked = torch.bincount(expert.flatten(), minlength=E).to(x.dtype) / expert.numel()
    return y, E * (asked * probabilities.mean(0)).sum()


def forward(model, p, tokens, targets, choices, capacity, seen):
    """Mean cross-entropy and the auxiliary loss of every MoE layer."""
    x = p["token_table"][tokens]
    if model.positions == "learned":
        x = x + p["position_table"]
    x = x * model.embedding_factor
    auxiliary = []

    def feed_forward(x, b, block):
        if not model.has_experts(block):
            return network(model, x, p, b + "ffn")
        y, loss = mixture(model, x.reshape(B * L, model.d_model), p, b, choices, capacity, seen)
        auxiliary.append(loss)
        return y.view(B, L, model.d_model)

    for i in range(model.blocks):
        b = f"block{i}."
        if model.norm_place == "before":
            x = x + model.residual_factor * attention(model, norm(model, x, p, b + "norm1"), p, b, i)
            x = x + model.residual_factor * feed_forward(norm(model, x, p, b + "norm2"), b, i)
        else:
            x = x + model.residual_factor * norm(model, attention(model, x, p, b, i), p, b + "norm1")
            x = x + model.residual_factor * norm(model, feed_forward(x, b, i), p, b + "norm2")
    head = p["head.weight"] if model.head == "untied" else p["token_table"].T
    logits = norm(model, x, p, "final_norm") @ head / model.logits_divisor
    return F.cross_entropy(logits.view(B * L, V), targets.flatten()), auxiliary


def run_case(model, start, tokens, targets, choices, capacity_factor, optimizer):
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
        loss, auxiliary = forward(model, p, tokens, targets, choices, capacity, seen)
        (loss + AUXILIARY_WEIGHT * sum(auxiliary)).backward()
        if first is None:
            first = (loss.item(), [a.item() for a in auxiliary], seen["dropped"],
                     [t.grad.numpy().copy() for t in p.values()])
        stepper.step()
    assert seen["margin"] > SMALLEST_GATE_MARGIN, f"gate margin {seen['margin']}: change the seed"
    assert (first[2] > 0) == (capacity is not None)
    return first, [t.detach().numpy() for t in p.values()]


def write(name, model, keys, seed, cases_of):
    """`keys` of the model go into the header beside the sizes that all have."""
    generator = torch.Generator().manual_seed(seed)
    start = make_parameters(model, generator)
    text = torch.randint(0, V, (B, L + 1), generator=generator)
    tokens, targets = text[:, :-1], text[:, 1:]

    sections = [[t.numpy() for t in start.values()]]
    cases = []
    for choices, capacity_factor, optimizer in cases_of:
        (loss, auxiliary, dropped, gradients), updated = run_case(
            model, start, tokens, targets, choices, capacity_factor, optimizer)
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

    columns = {"their_columns": compare_with_transformers(model, start)} if model.latent_rank else {}
    header = {
        "torch": torch.__version__,
        "model": {
            "vocabulary": V, "sequence_length": L, "d_model": model.d_model,
            "d_hidden": model.d_hidden, "heads": model.heads, "blocks": model.blocks,
            "moe_every": model.moe_every, "experts": E, "global_batch": B,
            "capacity_groups": CAPACITY_GROUPS, "auxiliary_weight": AUXILIARY_WEIGHT,
            "learning_rate": LEARNING_RATE, "momentum": MOMENTUM,
        } | keys,
        "steps": STEPS,
    } | columns | {
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
    (here / f"{name}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
    flat = [array.astype("<f8").ravel() for section in sections for array in section]
    np.concatenate(flat).tofile(here / f"{name}.bin")


def main():
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)
    write("transformer", Model(), {}, 1,
          [(1, 1.0, "sgd"), (1, None, None), (2, 1.0, "adam"), (2, None, None)])
    small = {"d_hidden": 20, "heads": 4, "blocks": 2}
    for name, keys, moe_every in [
        # A block of Mixtral, and all that its model has around it; a dense block of the same kind before it.
        ("mixtral", {"expert": "mixtral", "norm": "rms_norm", "positions": "rotary",
                     "rotary_base": 100.0, "head": "tied", "key_value_heads": 2, "biases": False,
                     "dense_blocks": 1}, 1),
        # ReLU, shared experts, and grouped heads with biases.
        ("relu_shared", {"activation": "relu", "d_expert": 12, "shared_experts": 2,
                         "key_value_heads": 2}, 2),
        # Shared experts of the gated network, and rotary positions with layer norms and a matrix as head.
        ("mixtral_shared", {"expert": "mixtral", "positions": "rotary", "shared_experts": 1}, 2),
        # Heads that are wider than d_model / heads and partly turned, with norms of queries and keys; weights of
        # experts that are not divided by their sum.
        ("normed_heads", {"expert": "mixtral", "norm": "rms_norm", "positions": "rotary", "key_value_heads": 2,
                          "biases": False, "head_width": 6, "rotary_columns": 4, "query_key_norm": "head",
                          "normalize_weights": False, "weight_factor": 1.5}, 1),
        # Heads that are normed together.
        ("normed_together", {"expert": "mixtral", "norm": "rms_norm", "positions": "rotary", "key_value_heads": 2,
                             "head_width": 6, "query_key_norm": "all", "weight_factor": 0.5}, 1),
        # Experts with limits and biases, as the gate has.
        ("limited", {"expert": "gpt_oss", "norm": "rms_norm", "positions": "rotary", "gate_bias": True}, 1),
        # Windows in every second block, sinks, and another scale of scores.
        ("windows", {"expert": "mixtral", "norm": "rms_norm", "positions": "rotary", "key_value_heads": 2, "window": 3,
                     "window_pattern": "sf", "attention_sinks": True, "attention_scale": 0.75}, 1),
        # Latent attention with all it has, beside shared experts and groups of experts. The scale of scores is that
        # of DeepSeek-V3 with this factor: (1 + 0.1 log 4)^2 / sqrt(7).
        ("latent", {"expert": "mixtral", "norm": "rms_norm", "positions": "rotary", "biases": False, "head_width": 7,
                    "rotary_columns": 4, "value_width": 5, "latent_rank": 6, "latent_query_rank": 5,
                    "latent_norm_epsilon": 1e-6, "rotary_scaling": "yarn", "rotary_factor": 4.0,
                    "rotary_trained_length": 64, "attention_scale": (1 + 0.1 * math.log(4)) ** 2 / math.sqrt(7),
                    "shared_experts": 1, "expert_groups": 2, "best_groups": 1, "dense_blocks": 1}, 1),
        # Values that are narrower than keys, of heads that share them.
        ("narrow_values", {"expert": "mixtral", "norm": "rms_norm", "positions": "rotary", "key_value_heads": 2,
                           "head_width": 6, "value_width": 5}, 1),
        # Factors of rows and logits; blocks without angles, and others for blocks with a window.
        ("factors", {"expert": "mixtral", "norm": "rms_norm", "positions": "rotary", "key_value_heads": 2,
                     "head": "tied", "biases": False, "embedding_factor": 3.0, "residual_factor": 0.4,
                     "logits_divisor": 2.5, "blocks": 3, "rotary_pattern": "ttn", "rotary_scaling": "yarn",
                     "rotary_factor": 4.0, "rotary_trained_length": 64, "window": 3, "window_pattern": "sff",
                     "window_rotary_base": 50.0, "window_rotary_scaling": False, "dense_blocks": 1}, 1),
        # Norms behind attention and networks; heads that are turned before they are normed.
        ("norms_behind", {"norm_place": "behind", "residual_factor": 0.5, "positions": "rotary", "key_value_heads": 2,
                          "query_key_norm": "head", "query_key_norm_turned": True, "shared_experts": 1}, 2),
        # A gate of the shared expert; experts of the better half.
        ("gated_shared", {"expert": "mixtral", "shared_experts": 1, "shared_expert_gate": True, "expert_groups": 2,
                          "best_groups": 1}, 1),
    ]:
        write(name, Model(**(small | keys), moe_every=moe_every), keys, 3,
              [(2, 1.0, "sgd"), (2, None, None)])


if __name__ == "__main__":
    main()
