"""Writes a folder as transformers does, of a Qwen2-MoE of two billion parameters in bf16, all drawn at random.

Several files and their index; numpy alone. One tensor at a time is in memory."""
import argparse
import json
import pathlib
import struct

import numpy


def tensors(c):
    """Name and shape of each tensor, in the order of the files."""
    width, hidden, keys = c["hidden_size"], c["moe_intermediate_size"], c["key_width"]
    yield "model.embed_tokens.weight", (c["vocab_size"], width)
    for layer in range(c["num_hidden_layers"]):
        at = f"model.layers.{layer}."
        for norm in ("input_layernorm", "post_attention_layernorm"):
            yield at + norm + ".weight", (width,)
        for name, rows in (("q_proj", width), ("k_proj", keys), ("v_proj", keys)):
            yield f"{at}self_attn.{name}.weight", (rows, width)
            yield f"{at}self_attn.{name}.bias", (rows,)
        yield at + "self_attn.o_proj.weight", (width, width)
        yield at + "mlp.gate.weight", (c["num_experts"], width)
        for expert in range(c["num_experts"]):
            for name in ("gate_proj", "up_proj"):
                yield f"{at}mlp.experts.{expert}.{name}.weight", (hidden, width)
            yield f"{at}mlp.experts.{expert}.down_proj.weight", (width, hidden)
        for name in ("gate_proj", "up_proj"):
            yield f"{at}mlp.shared_expert.{name}.weight", (c["shared_expert_intermediate_size"], width)
        yield f"{at}mlp.shared_expert.down_proj.weight", (width, c["shared_expert_intermediate_size"])
        yield at + "mlp.shared_expert_gate.weight", (1, width)
    yield "model.norm.weight", (width,)
    yield "lm_head.weight", (c["vocab_size"], width)


def in_bf16(random, name, shape):
    """The upper halves of floats; zeros for the gate of shared experts."""
    if name.endswith("shared_expert_gate.weight"):
        return bytes(2 * shape[0] * shape[1])
    values = random.standard_normal(shape, dtype=numpy.float32) * numpy.float32(0.02)
    return (values.view(numpy.uint32) >> 16).astype("<u2").tobytes()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--files", type=int, default=4)
    a = parser.parse_args()
    c = {"architectures": ["Qwen2MoeForCausalLM"], "model_type": "qwen2_moe", "hidden_act": "silu",
         "hidden_size": 2048, "intermediate_size": 5632, "moe_intermediate_size": 1408,
         "shared_expert_intermediate_size": 1408, "num_attention_heads": 16, "num_key_value_heads": 16,
         "num_experts": 12, "num_experts_per_tok": 2, "norm_topk_prob": True, "decoder_sparse_step": 1,
         "mlp_only_layers": [], "num_hidden_layers": a.layers, "vocab_size": 151936,
         "max_position_embeddings": 8192, "rms_norm_eps": 1e-06, "rope_theta": 1000000.0, "qkv_bias": True,
         "router_aux_loss_coef": 0.001, "tie_word_embeddings": False, "use_sliding_window": False}
    a.folder.mkdir(parents=True)
    (a.folder / "config.json").write_text(json.dumps(c, indent=2))
    c["key_width"] = 2048
    every = list(tensors(c))
    total = sum(int(numpy.prod(shape)) for _, shape in every)
    files, filled = [[]], 0
    for name, shape in every:
        if filled > total / a.files and len(files) < a.files:
            files.append([])
            filled = 0
        files[-1].append((name, shape))
        filled += int(numpy.prod(shape))
    random = numpy.random.default_rng(7)
    where = {}
    for number, content in enumerate(files, 1):
        file = f"model-{number:05}-of-{len(files):05}.safetensors"
        header, end = {}, 0
        for name, shape in content:
            begin, end = end, end + 2 * int(numpy.prod(shape))
            header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [begin, end]}
            where[name] = file
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        with open(a.folder / file, "wb") as out:
            out.write(struct.pack("<Q", len(text)) + text)
            for name, shape in content:
                out.write(in_bf16(random, name, shape))
    index = {"metadata": {"total_size": 2 * total}, "weight_map": where}
    (a.folder / "model.safetensors.index.json").write_text(json.dumps(index))
    print(f"{total} parameters in {len(files)} files")


if __name__ == "__main__":
    main()
