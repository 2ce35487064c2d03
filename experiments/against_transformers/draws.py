"""Random checkpoints of many classes, made by transformers and read by moe-train; started by run --draws, which explains the options.

Draw N of a seed is always the same configuration. What moe-train imports must have the losses and logits that transformers has.
What it refuses is counted by class and key.
"""

import argparse
import collections
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile

from compare import LENGTH, VOCABULARY, our_loss, their_loss, write_text

import torch
import transformers

HERE = pathlib.Path(__file__).resolve().parent
TOLERANCE = 2e-5


def scaling(draw, *kinds):
    """The scaled angles of a file as the Hub has it, or none."""
    kind = draw.choice((None, None, *kinds))
    if kind is None:
        return None
    factor = draw.choice((2.0, 4.0, 8.0))
    known = {"rope_type": kind, "factor": factor}
    if kind == "llama3":
        return known | {"low_freq_factor": 1.0, "high_freq_factor": draw.choice((2.0, 4.0)), "original_max_position_embeddings": 16}
    if kind == "yarn":
        return known | {"beta_fast": draw.choice((4.0, 32.0)), "beta_slow": 1.0, "original_max_position_embeddings": 16}
    return known


def sizes(draw, *scalings, wide_heads=False, biases=None):
    """Keys that all classes have."""
    heads = draw.choice((2, 4, 6))
    keys = {"vocab_size": VOCABULARY, "num_hidden_layers": draw.choice((2, 3, 4)), "num_attention_heads": heads,
            "hidden_size": heads * draw.choice((8, 12, 16)), "max_position_embeddings": 64, "pad_token_id": None,
            "num_key_value_heads": draw.choice([n for n in (1, 2, 3, 6) if heads % n == 0]),
            "rms_norm_eps": draw.choice((1e-5, 1e-6, 1e-3)), "rope_theta": draw.choice((100.0, 1e4, 1e6)),
            "tie_word_embeddings": draw.random() < 0.3, "rope_scaling": scaling(draw, "linear", "llama3", "yarn", *scalings)}
    width = draw.choice((8, 12, 16, 32)) if wide_heads else keys["hidden_size"] // heads
    if wide_heads or keys["rope_scaling"] or draw.random() < 0.5:  # yarn of transformers 5 needs it
        keys["head_dim"] = width
    if biases:
        keys[biases] = draw.random() < 0.5
    return keys


def mixture(draw, experts="num_experts", choices="num_experts_per_tok", most=3):
    count = draw.choice((2, 4, 6, 8))
    return {experts: count, choices: draw.randint(1, min(most, count))}


def normalized(draw):
    return {"norm_topk_prob": draw.random() < 0.5}


def networks(draw):
    return {"intermediate_size": draw.choice((40, 56, 80)), "moe_intermediate_size": draw.choice((16, 24, 40))}


def window(draw):
    return {"sliding_window": draw.choice((None, None, 4, 9))}


def kinds_of_layers(draw, layers):
    kinds = [draw.choice(("sliding_attention", "full_attention")) for _ in range(layers)]
    return {"layer_types": kinds}


def sparse_layers(draw, layers):
    """Qwen's ways to say which layers have no experts."""
    only = draw.choice(([], [], [0], [1], [0, 1]))
    return {"decoder_sparse_step": draw.choice((1, 1, 2)), "mlp_only_layers": only[:layers - 1]}


def deepseek_router(draw, layers):
    """Groups of experts, the first dense layers, shared experts."""
    groups = draw.choice((1, 1, 2, 4))
    of_group = draw.choice((2, 3))
    best = draw.randint(1, groups)
    return {"n_routed_experts": groups * of_group, "n_group": groups, "topk_group": best, "n_shared_experts": draw.choice((1, 2)),
            "num_experts_per_tok": draw.randint(1, min(3, best * of_group)), "routed_scaling_factor": draw.choice((1.0, 1.0, 2.5, 0.5)),
            "first_k_dense_replace": draw.randint(0, layers - 1), **normalized(draw)}


def latent(draw):
    turned = draw.choice((4, 8))
    return {"q_lora_rank": draw.choice((None, 12, 20)), "kv_lora_rank": draw.choice((8, 16)), "qk_rope_head_dim": turned,
            "qk_nope_head_dim": draw.choice((4, 8, 12)), "v_head_dim": draw.choice((4, 8, 12))}


def mixtral(draw):
    return sizes(draw) | mixture(draw, "num_local_experts") | {"intermediate_size": draw.choice((40, 56))} | window(draw)


def qwen2_moe(draw):
    keys = sizes(draw, biases="qkv_bias") | mixture(draw) | networks(draw) | normalized(draw)
    keys["shared_expert_intermediate_size"] = keys["moe_intermediate_size"] * draw.choice((1, 2)) + draw.choice((0, 0, 0, 8))
    return keys | sparse_layers(draw, keys["num_hidden_layers"]) | windows_above(draw, keys["num_hidden_layers"])


def windows_above(draw, layers):
    if draw.random() < 0.6:
        return {"use_sliding_window": False}
    return {"use_sliding_window": True, "sliding_window": draw.choice((4, 9)), "max_window_layers": draw.randint(0, layers)}


def qwen3_moe(draw):
    keys = sizes(draw, wide_heads=True, biases="attention_bias") | mixture(draw) | networks(draw) | normalized(draw)
    return keys | sparse_layers(draw, keys["num_hidden_layers"]) | (
        {"use_sliding_window": True, "sliding_window": 9} if draw.random() < 0.2 else {"use_sliding_window": False})


def glm4_moe(draw):
    keys = sizes(draw, wide_heads=True, biases="attention_bias") | networks(draw)
    return keys | deepseek_router(draw, keys["num_hidden_layers"]) | {
        "use_qk_norm": draw.random() < 0.5, "partial_rotary_factor": draw.choice((0.5, 1.0))}


def gpt_oss(draw):
    keys = sizes(draw, wide_heads=True, biases="attention_bias") | mixture(draw, "num_local_experts") | {"intermediate_size": 40}
    if keys["rope_scaling"] and keys["rope_scaling"]["rope_type"] == "yarn":
        keys["rope_scaling"]["truncate"] = draw.random() < 0.5
    return keys | {"sliding_window": draw.choice((4, 9))} | kinds_of_layers(draw, keys["num_hidden_layers"])


def deepseek_v3(draw):
    keys = sizes(draw) | networks(draw) | latent(draw) | {"attention_bias": draw.random() < 0.1}
    keys["num_key_value_heads"] = keys["num_attention_heads"]
    keys.pop("head_dim", None)
    if keys["rope_scaling"] and keys["rope_scaling"]["rope_type"] == "yarn":
        keys["rope_scaling"] |= {"mscale": draw.choice((0.707, 1.0)), "mscale_all_dim": draw.choice((0.0, 0.707, 1.0))}
    return keys | deepseek_router(draw, keys["num_hidden_layers"]) | {"rope_interleave": draw.random() < 0.9}


def deepseek_v2(draw):
    keys = deepseek_v3(draw) | {"topk_method": draw.choice(("greedy", "group_limited_greedy")), "norm_topk_prob": draw.random() < 0.1}
    if transformers.__version__.startswith("4") and keys["rope_scaling"]:
        keys["rope_scaling"].pop("mscale_all_dim", None)  # version 4 does not scale scores by it, as version 5 does
    return {key: value for key, value in keys.items() if key != "rope_interleave"}


def olmoe(draw):
    keys = sizes(draw, biases="attention_bias") | mixture(draw) | normalized(draw)
    return keys | {"intermediate_size": 40, "clip_qkv": draw.choice((None, None, None, 1.0))}


def granitemoe(draw):
    keys = sizes(draw, biases="attention_bias") | mixture(draw, "num_local_experts") | {"intermediate_size": 40}
    if draw.random() < 0.3:
        keys |= {"embedding_multiplier": 12.0, "logits_scaling": 6.0, "residual_multiplier": 0.22}
    return keys | {"attention_multiplier": draw.choice((1.0, 0.25, 0.015625))}


def granitemoeshared(draw):
    return granitemoe(draw) | {"shared_intermediate_size": draw.choice((0, 40, 80, 56))}


def dots1(draw):
    keys = sizes(draw, wide_heads=True, biases="attention_bias") | networks(draw)
    return keys | deepseek_router(draw, keys["num_hidden_layers"]) | {"sliding_window": None}


def ernie4_5_moe(draw):
    layers = {"moe_layer_start_index": draw.choice((0, 1)), "moe_layer_end_index": -1, "moe_layer_interval": draw.choice((1, 1, 2))}
    return sizes(draw) | networks(draw) | mixture(draw, "moe_num_experts", "moe_k") | layers | {
        "moe_num_shared_experts": draw.choice((0, 1, 2)), "use_bias": draw.random() < 0.1}


def aria_text(draw):
    return sizes(draw, wide_heads=True, biases="attention_bias") | mixture(draw, "moe_num_experts", "moe_topk") | {
        "intermediate_size": draw.choice((24, 40)), "moe_num_shared_experts": draw.choice((1, 2)),
        "mlp_bias": draw.random() < 0.2}


def phimoe(draw):
    return sizes(draw, biases="attention_bias") | mixture(draw, "num_local_experts", most=2) | {
        "intermediate_size": 40, "lm_head_bias": draw.random() < 0.5, "num_experts_per_tok": 2, "sliding_window": None,
        "rope_scaling": None}


def hunyuan_v1_moe(draw):
    return sizes(draw, wide_heads=True, biases="attention_bias") | mixture(draw, "num_experts", "moe_topk") | {"intermediate_size": 40}


def flex_olmo(draw):
    return sizes(draw, biases="attention_bias") | mixture(draw) | normalized(draw) | {"intermediate_size": 40}


# Of transformers 5.
def minimax_m2(draw):
    keys = sizes(draw, wide_heads=True) | mixture(draw, "num_local_experts") | {"intermediate_size": 40}
    return keys | {"rotary_dim": keys["head_dim"] // draw.choice((1, 2))}


def glm4_moe_lite(draw):
    keys = deepseek_v3(draw)
    dense = keys.pop("first_k_dense_replace")
    return keys | {"mlp_layer_types": ["dense"] * dense + ["sparse"] * (keys["num_hidden_layers"] - dense)}


def solar_open(draw):
    keys = glm4_moe(draw)
    others = ("first_k_dense_replace", "use_qk_norm", "partial_rotary_factor", "intermediate_size")
    return {key: value for key, value in keys.items() if key not in others}


def hy_v3(draw):
    keys = sizes(draw, wide_heads=True, biases="attention_bias") | networks(draw) | mixture(draw)
    return keys | {"num_shared_experts": draw.choice((1, 2)), "router_scaling_factor": draw.choice((1.0, 2.826))}


def mellum(draw):
    keys = sizes(draw, wide_heads=True, biases="attention_bias") | mixture(draw) | networks(draw) | normalized(draw)
    angles = {kind: {"rope_type": "default", "rope_theta": draw.choice((100.0, 1e4))} for kind in ("full_attention", "sliding_attention")}
    layers = keys["num_hidden_layers"]
    keys |= kinds_of_layers(draw, layers) | {"rope_parameters": angles, "sliding_window": draw.choice((4, 9))}
    return {key: value for key, value in keys.items() if key not in ("rope_theta", "rope_scaling")} | {
        "mlp_layer_types": [draw.choice(("dense", "sparse", "sparse")) for _ in range(layers - 1)] + ["sparse"]}


def exaone_moe(draw):
    keys = sizes(draw) | networks(draw)
    router = deepseek_router(draw, keys["num_hidden_layers"])
    router |= {"num_experts": router.pop("n_routed_experts"), "num_shared_experts": router.pop("n_shared_experts")}
    return keys | router | kinds_of_layers(draw, keys["num_hidden_layers"]) | {"sliding_window": draw.choice((4, 9))}


def flint(draw):
    keys = sizes(draw, wide_heads=True, biases="attention_bias") | mixture(draw) | networks(draw) | normalized(draw)
    keys["shared_expert_intermediate_size"] = keys["moe_intermediate_size"] * draw.choice((1, 2))
    layers = keys["num_hidden_layers"]
    return keys | sparse_layers(draw, layers) | kinds_of_layers(draw, layers) | {"sliding_window": draw.choice((4, 9))}


def granitemoe_swa(draw):
    keys = granitemoeshared(draw) | {"sliding_window": draw.choice((4, 9))}
    keys |= kinds_of_layers(draw, keys["num_hidden_layers"])
    bases = {kind: draw.choice((0, 100.0, 1e4)) for kind in ("full_attention", "sliding_attention")}
    return keys | {"layer_rope_theta": [bases[kind] for kind in keys["layer_types"]]}


CLASSES = (mixtral, qwen2_moe, qwen3_moe, glm4_moe, gpt_oss, deepseek_v2, deepseek_v3, olmoe, granitemoe, granitemoeshared, dots1,
           ernie4_5_moe, aria_text, phimoe, hunyuan_v1_moe, flex_olmo, minimax_m2, glm4_moe_lite, solar_open, hy_v3, mellum,
           exaone_moe, flint, granitemoe_swa)


def changed(draw, keys):
    """The keys with what files also say, and draws do not: nulls, contradictions, keys of other classes."""
    def yarn(**more):
        return {"rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16} | more}
    layers = keys["num_hidden_layers"]
    angles = keys.get("rope_scaling") or {"rope_type": "default"}
    inside = {key: value for key, value in keys.items() if key not in ("rope_scaling", "rope_theta")}
    by_version = () if transformers.__version__.startswith("4") else (  # which knows no rope_parameters
        inside | {"rope_parameters": angles | {"rope_theta": 100.0}},
        inside | {"rope_parameters": {"full_attention": angles | {"rope_theta": 100.0}}, "layer_types": ["full_attention"] * layers})
    return draw.choice((
        keys | {draw.choice(sorted(keys)): None},
        keys | {"partial_rotary_factor": 0.5},
        keys | {"rope_scaling": {}},
        *by_version,
        keys | draw.choice((yarn(attention_factor=1.3), yarn(mscale=0.7), yarn(mscale=0.7, mscale_all_dim=1.2), yarn(truncate=False),
                            yarn(type="linear"), yarn(beta_fast=None, beta_slow=0), yarn() | {"original_max_position_embeddings": 32})),
        keys | {"sliding_window": draw.choice((0, 1, 5)), "max_window_layers": 1},
        keys | {"sliding_window": 5, "use_sliding_window": draw.random() < 0.5} | kinds_of_layers(draw, layers),
        keys | {"mlp_layer_types": [draw.choice(("dense", "sparse")) for _ in range(layers)]},
        keys | {"decoder_sparse_step": 3, "mlp_only_layers": []},
        keys | draw.choice(({"norm_topk_prob": True}, {"norm_topk_prob": False}, {"routed_scaling_factor": 0.0})),
        keys | draw.choice(({"attention_bias": True}, {"use_qk_norm": True}, {"head_dim": 6}, {"hidden_act": "swish"}))))


def drawn_model(kind, seed, eager, changes):
    """The configuration's keys; the model, whose every parameter matters, in numbers of the type that is drawn; that type."""
    draw = random.Random(seed)
    keys = kind(draw)
    if changes:
        keys = changed(random.Random(seed + 1), keys)
    config = transformers.CONFIG_MAPPING[kind.__name__](**json.loads(json.dumps(keys)))
    torch.manual_seed(seed % 2**31)
    model = transformers.AutoModelForCausalLM.from_config(config, **eager).float().eval()
    dtype = draw.choice((torch.float32, torch.float32, torch.bfloat16))
    with torch.no_grad():
        for name, value in (*model.named_parameters(), *model.named_buffers()):
            if name.endswith("e_score_correction_bias"):
                value.uniform_(0, 0.3)  # where a sum with a score is below 0, version 4 leaves the best groups
            elif "norm" in name and name.endswith("weight"):
                value.uniform_(0.5, 1.5)
            elif name.endswith(("bias", "sinks")) or value.dim() == 1 and isinstance(value, torch.nn.Parameter):
                value.normal_(0, 0.3)
            elif isinstance(value, torch.nn.Parameter):
                value.normal_(0, 0.2)
            if isinstance(value, torch.nn.Parameter) or name.endswith("e_score_correction_bias"):
                value.copy_(value.to(dtype).float())
    return keys, model, dtype


def saved(model, dtype, folder, seed, eager, keys):
    """Writes a file, or several with an index, and gives what transformers reads from them. config.json may say less, or has `keys`."""
    model.to(dtype).save_pretrained(folder, max_shard_size=random.Random(seed).choice(("1GB", "100KB")))
    if keys:
        written = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        names = {key: written[key] for key in ("model_type", "architectures")}
        (folder / "config.json").write_text(json.dumps(keys | names), encoding="utf-8")
    return transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, **eager).eval()


def refused_key(said):
    """The key, or the kind of tensor, that a refusal names."""
    if "its tensors are not read" in said:
        return "tensors"
    found = re.search(r"(?:config\.json(?::\d+)?: |class \w+, which has no |tensor )([a-z][\w.\[\]]+)", said)
    return re.sub(r"\d+", "N", found[1]) if found else said[:100].replace("|", " ")


def difference(arguments, model, scratch, seed):
    """The largest difference of the loss of a text, and of logits behind its last token, of the largest."""
    text = scratch / "text.bin"
    tokens = write_text(text, seed)
    worst = abs(our_loss(arguments.moe_train, scratch / "ours", text) - their_loss(model, tokens))
    with torch.no_grad():
        other = model(input_ids=tokens[:, :-1]).logits[0, -1].double()
    begin = text.read_bytes()[:-2]
    losses = []
    chosen = random.Random(seed).sample(range(VOCABULARY), arguments.tokens)
    for token in chosen:
        text.write_bytes(begin + token.to_bytes(2, "little"))
        losses.append(our_loss(arguments.moe_train, scratch / "ours", text))
    ours = -LENGTH * torch.tensor(losses, dtype=torch.float64)
    theirs = other[torch.tensor(chosen)]
    return worst, ((ours - ours.mean()) - (theirs - theirs.mean())).abs().max().item() / other.abs().max().item()


def compare_draw(arguments, kind, number, eager):
    """A row: class, number, what came of it, the key or the differences."""
    seed = arguments.seed * 1_000_000 + number
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        try:
            keys, model, dtype = drawn_model(kind, seed, eager, arguments.changes)
            model = saved(model, dtype, scratch / "theirs", seed, eager, keys if arguments.changes else None)
            with torch.no_grad():
                model(input_ids=write_text(scratch / "text.bin", seed)[:, :-1])
        except Exception as error:  # of many kinds, whatever was changed
            if not arguments.changes:
                raise
            return {"came": "refused", "key": "by transformers", "said": f"{type(error).__name__}: {error}"}
        done = subprocess.run([arguments.moe_train, "import", scratch / "theirs", "--model", HERE / "base.toml", "--set",
                               "training.precision=f64", "--checkpoint", scratch / "ours", "--quiet"], capture_output=True,
                              text=True, check=False)
        if done.returncode == 2:
            return {"came": "refused", "key": refused_key(done.stderr), "said": done.stderr.strip()}
        if done.returncode != 0:
            return {"came": "failed", "said": done.stderr.strip(), "keys": keys}
        loss, logits = difference(arguments, model, scratch, seed)
        came = "equal" if max(loss, logits) <= TOLERANCE else "wrong"
        return {"came": came, "loss": loss, "logits": logits} | ({"keys": keys} if came == "wrong" else {})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--moe-train", required=True)
    parser.add_argument("--draws", type=int, required=True)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tokens", type=int, default=6)
    parser.add_argument("--classes")
    parser.add_argument("--changes", action="store_true")
    parser.add_argument("--log")
    arguments = parser.parse_args()
    known = [kind for kind in CLASSES if kind.__name__ in transformers.CONFIG_MAPPING]
    if arguments.classes:
        known = [kind for kind in known if kind.__name__ in arguments.classes.split(",")]
    eager = {} if transformers.__version__.startswith("4") else {"experts_implementation": "eager"}
    rows = []
    with open(arguments.log or "/dev/null", "a", encoding="utf-8") as log:
        for number in range(arguments.first, arguments.first + arguments.draws):
            kind = known[number % len(known)]
            row = {"class": kind.__name__, "number": number} | compare_draw(arguments, kind, number, eager)
            log.write(json.dumps(row) + "\n")
            log.flush()
            if row["came"] in ("wrong", "failed"):
                print(f"{row['came']}: {json.dumps(row)}", file=sys.stderr, flush=True)
            rows.append(row)
    print(f"transformers {transformers.__version__}, seed {arguments.seed}, draws {arguments.first} to "
          f"{arguments.first + arguments.draws - 1}")
    print("| class | drawn | equal | wrong | worst loss | worst logits | refused, by key |\n| --- | --- | --- | --- | --- | --- | --- |")
    for kind in known:
        of = [row for row in rows if row["class"] == kind.__name__]
        came = collections.Counter(row["came"] for row in of)
        keys = collections.Counter(row["key"] for row in of if "key" in row).most_common()
        worst = [max((row[what] for row in of if what in row), default=None) for what in ("loss", "logits")]
        print(f"| {kind.__name__} | {len(of)} | {came['equal']} | {came['wrong'] + came['failed']} | "
              f"{' | '.join('' if value is None else f'{value:.1e}' for value in worst)} | "
              f"{', '.join(f'{key} {count}' for key, count in keys)} |")
    sys.exit(1 if any(row["came"] in ("wrong", "failed") for row in rows) else 0)


if __name__ == "__main__":
    main()
