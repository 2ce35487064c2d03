"""The model of moe/model/model.h in PyTorch eager, float32 or autocast to bfloat16, as one would write it to be fast.

    python pytorch_step.py MODEL.toml THREADS STEPS f32|bf16 cpu|cuda   prints a line after each step, WARMUP more of them
    python pytorch_step.py ... --compile WARMUP                         compiled
    python pytorch_step.py --check                                      compares it with tests/golden/make_golden.py in float64

Unlike make_golden.py, which is written to be read, an expert here computes only the rows routed to it,
capacity is found without a loop over tokens, and attention is PyTorch's own fused one.
"""

import json
import math
import pathlib
import sys
import tomllib

import torch
import torch.nn.functional as F

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "golden"))
import make_golden as golden  # noqa: E402

WARMUP = 3  # as in compare.py
# Keys of a model file: those of golden.Model, and those of the functions there.
KEYS = ("d_model", "d_hidden", "heads", "blocks", "block_pattern", "dense_blocks", "moe_every", "key_value_heads", "norm", "positions", "rotary_base", "biases",
        "expert", "d_expert")
OTHER_KEYS = ("vocabulary", "sequence_length", "experts", "choices", "capacity_groups", "capacity_factor", "auxiliary_weight")
MODEL = golden.Model()  # what --check compares; a model file's otherwise


def take_sizes(path):
    """Sets MODEL and the sizes that make_golden's functions read, from a model file; returns what is left."""
    global MODEL
    sections = tomllib.loads(path.read_text())
    model, moe, training = (sections.get(name, {}) for name in ("model", "moe", "training"))
    keys = model | moe
    others = keys.keys() - set(KEYS + OTHER_KEYS)
    assert not others, f"{path}: not here: {', '.join(sorted(others))}"
    assert training.get("optimizer", "adam") == "adam"
    golden.V, golden.L = keys.get("vocabulary", 256), keys["sequence_length"]
    MODEL = golden.Model(**{key: keys[key] for key in KEYS if key in keys})
    golden.E = keys["experts"]
    golden.CAPACITY_GROUPS = keys.get("capacity_groups", 1)
    golden.AUXILIARY_WEIGHT = keys.get("auxiliary_weight", 0.01)
    golden.B = training["global_batch"]
    golden.LEARNING_RATE = training.get("learning_rate", 1e-3)
    factor = keys.get("capacity_factor", "dropless")
    return moe.get("choices", 1), None if factor == "dropless" else factor


def capacity_of(choices, factor):
    if factor is None:
        return None
    group_tokens = golden.B * golden.L // golden.CAPACITY_GROUPS
    copies = choices * golden.fractions.Fraction(str(factor)) * group_tokens / golden.E
    return min(max(1, math.ceil(copies)), group_tokens)


def start_parameters():
    """make_golden's tensors, experts apart, small enough for layers of any width."""
    generator = torch.Generator().manual_seed(1)
    parameters = golden.make_parameters(MODEL, generator)
    for name, value in parameters.items():
        if "scale" not in name:
            value.mul_(0.08 if value.shape[0] > 1 else 0)
    return parameters


def linear(x, p, weight, bias):
    """x W + b in one call, where there is a bias."""
    return torch.addmm(p[bias], x, p[weight]) if bias in p else x @ p[weight]


def turned(x):
    """As make_golden's, of q and k [B, heads, L, W] and in their type."""
    half = x.shape[-1] // 2
    rates = MODEL.rotary_base ** (-torch.arange(half, device=x.device) / half)
    angles = torch.arange(x.shape[-2], device=x.device)[:, None] * rates
    cosine, sine = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    first, second = x.chunk(2, -1)
    return torch.cat([first * cosine - second * sine, first * sine + second * cosine], -1)


def attention(x, p, b):
    B, L, M = x.shape
    width = M // MODEL.heads
    qkv = linear(x.reshape(B * L, M), p, b + "attention.qkv.weight", b + "attention.qkv.bias")
    heads = [MODEL.heads, MODEL.key_value_heads, MODEL.key_value_heads]
    q, k, v = (t.transpose(1, 2) for t in qkv.view(B, L, -1, width).split(heads, 2))
    if MODEL.positions == "rotary":
        q, k = turned(q), turned(k)
    y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=MODEL.key_value_heads < MODEL.heads)
    y = y.transpose(1, 2).reshape(B * L, M)
    return linear(y, p, b + "attention.output.weight", b + "attention.output.bias").view(B, L, M)


def network(x, p, name, which=""):
    """A dense network, or the expert `which`, whose tensors are those of apart()."""
    def layer(y, part):
        if which == "":
            return linear(y, p, f"{name}.{part}.weight", f"{name}.{part}.bias")
        return linear(y, p, f"{name}{part}{which}", f"{name}{part}.bias{which}")

    up = layer(x, "up")
    hidden = F.silu(layer(x, "gate")) * up if MODEL.expert == "mixtral" else F.gelu(up, approximate="tanh")
    return layer(hidden, "down")


def kept(expert, capacity):
    """make_golden.kept without its loop: copies before this one, in (choice, token) order of a group."""
    groups, choices = golden.CAPACITY_GROUPS, expert.shape[1]
    in_order = expert.view(groups, -1, choices).transpose(1, 2).reshape(groups, -1)
    before = F.one_hot(in_order, golden.E).cumsum(1).gather(2, in_order.unsqueeze(2)).squeeze(2)
    return (before <= capacity).view(groups, choices, -1).transpose(1, 2).reshape(-1, choices)


def mixture(x, p, b, choices, capacity):
    with torch.autocast(x.device.type, enabled=False):  # routers compute in float32
        probabilities = (x @ p[b + "gate.weight"]).softmax(-1)
    weight, expert = probabilities.topk(choices, dim=-1)
    if choices > 1:
        weight = weight / weight.sum(-1, keepdim=True)
    asked = torch.bincount(expert.flatten(), minlength=golden.E).to(x.dtype) / expert.numel()
    auxiliary = golden.E * (asked * probabilities.mean(0)).sum()

    chosen = expert.flatten()
    if capacity is not None:
        chosen = torch.where(kept(expert, capacity).flatten(), chosen, golden.E)
    order = chosen.argsort()
    rows = torch.bincount(chosen, minlength=golden.E + 1).tolist()[:golden.E]
    order = order[:sum(rows)]
    token = order // choices
    outputs = [network(part, p, b, e) for e, part in enumerate(x[token].split(rows))]
    share = weight.flatten()[order].unsqueeze(1)
    return torch.zeros_like(x).index_add(0, token, (torch.cat(outputs) * share).to(x.dtype)), auxiliary


def apart(parameters):
    """An expert's weights as tensors of their own, each with a gradient of its own."""
    result = {}
    for name, value in parameters.items():
        if ".experts." not in name:
            result[name] = value
            continue
        b, which = name.split("experts.")
        for e, part in enumerate(value.chunk(golden.E)):
            bias = which.endswith("bias")
            result[b + which.removesuffix(".weight") + str(e)] = (part[0] if bias else part).clone()
    return {name: value.detach().requires_grad_() for name, value in result.items()}


def forward(p, tokens, targets, choices, capacity):
    B, L, M = golden.B, golden.L, MODEL.d_model
    x = F.embedding(tokens, p["token_table"])
    if MODEL.positions == "learned":
        x = x + p["position_table"]
    auxiliary = []
    for i in range(MODEL.blocks):
        b = f"block{i}."
        x = x + attention(golden.norm(MODEL, x, p, b + "norm1"), p, b)
        normed = golden.norm(MODEL, x, p, b + "norm2").reshape(B * L, M)
        if MODEL.has_experts(i):
            y, loss = mixture(normed, p, b, choices, capacity)
            auxiliary.append(loss)
        else:
            y = network(normed, p, b + "ffn")
        x = x + y.view(B, L, M)
    logits = golden.norm(MODEL, x, p, "final_norm").reshape(B * L, M) @ p["head.weight"]
    return F.cross_entropy(logits.float() if logits.dtype == torch.bfloat16 else logits, targets.flatten()), auxiliary


def check():
    """Losses and the sum of all gradients of make_golden's own cases, and of Mixtral's parts, in float64."""
    global MODEL
    torch.set_default_dtype(torch.float64)
    mixtral = golden.Model(key_value_heads=1, norm="rms_norm", positions="rotary", biases=False, expert="mixtral", d_expert=24)
    for MODEL in (golden.Model(), mixtral):
        check_model()
    print("pytorch_step.py computes what make_golden.py does")


def check_model():
    generator = torch.Generator().manual_seed(1)
    start = golden.make_parameters(MODEL, generator)
    text = torch.randint(0, golden.V, (golden.B, golden.L + 1), generator=generator)
    tokens, targets = text[:, :-1], text[:, 1:]
    for choices, factor in [(1, 1.0), (1, None), (2, 1.0), (2, None)]:
        capacity = capacity_of(choices, factor)
        sums = []
        for parameters, compute in [
            ({name: value.clone().requires_grad_() for name, value in start.items()},
             lambda p: golden.forward(MODEL, p, tokens, targets, choices, capacity, {"dropped": 0, "margin": 1.0})),
            (apart(start), lambda p: forward(p, tokens, targets, choices, capacity)),
        ]:
            loss, auxiliary = compute(parameters)
            (loss + golden.AUXILIARY_WEIGHT * sum(auxiliary)).backward()
            squares = sum((value.grad ** 2).sum().item() for value in parameters.values() if value.grad is not None)
            sums.append([loss.item(), *(a.item() for a in auxiliary), squares])
        worst = max(abs(a - b) / abs(a) for a, b in zip(*sums))
        assert worst < 1e-12, f"{choices} choices, capacity {capacity}: {sums}"


def main():
    torch.set_num_threads(int(sys.argv[2]))
    choices, factor = take_sizes(pathlib.Path(sys.argv[1]))
    capacity = capacity_of(choices, factor)
    narrow, device = sys.argv[4] == "bf16", sys.argv[5]
    finish = torch.cuda.synchronize if device == "cuda" else lambda: None
    start = {name: value.to(device) for name, value in start_parameters().items()}
    p = apart(start)
    optimizer = torch.optim.Adam(p.values(), lr=golden.LEARNING_RATE, fused=True)
    # A packed build has the text in one file.
    files = sorted(ROOT.glob("moe/**/*.cpp")) or [ROOT / "text" / "moelab.txt"]
    text = b"".join(path.read_bytes() for path in files)
    text = torch.frombuffer(bytearray(text), dtype=torch.uint8).long()
    generator = torch.Generator().manual_seed(1)
    compute, warmup = forward, WARMUP
    if sys.argv[6:7] == ["--compile"]:
        compute, warmup = torch.compile(forward), int(sys.argv[7])
    for step in range(warmup + int(sys.argv[3])):
        first = torch.randint(0, len(text) - golden.L - 1, (golden.B, 1), generator=generator)
        sample = text[first + torch.arange(golden.L + 1)].to(device)
        optimizer.zero_grad()
        with torch.autocast(device, dtype=torch.bfloat16, enabled=narrow):
            loss, auxiliary = compute(p, sample[:, :-1], sample[:, 1:], choices, capacity)
        (loss + golden.AUXILIARY_WEIGHT * sum(auxiliary)).backward()
        optimizer.step()
        finish()
        # compare.py times these lines, as it does those of moe-train.
        print(json.dumps({"iteration": step + 1, "loss": loss.item()}), flush=True)


if __name__ == "__main__":
    check() if sys.argv[1:] == ["--check"] else main()
