"""Makes tests/golden/hugging_face: small models as the library transformers writes them, and the loss of a text.

    python make_hugging_face_golden.py [CLASS...]     needs torch and transformers, of PyPI

Tests read them with moe/train/hugging_face and write them again. Run it only for a class that is added: the numbers are
drawn anew by another version of torch.
"""

import json
import os
import pathlib
import sys

os.environ["HF_HUB_OFFLINE"] = "1"
import torch  # noqa: E402
import transformers  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent / "hugging_face"
TOKENS = [3, 1, 4, 1, 5, 9, 2, 6, 5]
COMMON = dict(vocab_size=11, hidden_size=8, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1,
              num_experts_per_tok=2, max_position_embeddings=16, initializer_range=0.3)
ADJUSTED = dict(COMMON, intermediate_size=10, moe_intermediate_size=4, n_routed_experts=8, n_shared_experts=2,
                first_k_dense_replace=1, n_group=4, topk_group=2, routed_scaling_factor=2.5)
LATENT = dict(ADJUSTED, num_key_value_heads=2, kv_lora_rank=6, qk_rope_head_dim=4, qk_nope_head_dim=6, v_head_dim=5)
YARN = dict(rope_theta=1e3, rope_type="yarn", factor=4.0, original_max_position_embeddings=8)
KINDS = ["sliding_attention", "full_attention"]
CASES = {
    "mixtral": transformers.MixtralConfig(**COMMON, intermediate_size=6, num_local_experts=3, rope_theta=1e3),
    "qwen2_moe": transformers.Qwen2MoeConfig(**COMMON, intermediate_size=10, moe_intermediate_size=4, num_experts=3,
                                             shared_expert_intermediate_size=8, norm_topk_prob=False, mlp_only_layers=[0],
                                             tie_word_embeddings=True),
    "glm4_moe": transformers.Glm4MoeConfig(**ADJUSTED, attention_bias=True, use_qk_norm=True, head_dim=8,
                                           partial_rotary_factor=0.5),
    "qwen3_moe": transformers.Qwen3MoeConfig(**COMMON, intermediate_size=10, moe_intermediate_size=4, num_experts=3,
                                             norm_topk_prob=True, head_dim=6, attention_bias=True),
    "gpt_oss": transformers.GptOssConfig(**COMMON, intermediate_size=6, num_local_experts=3, head_dim=6, sliding_window=3,
                                         rope_parameters=dict(YARN, truncate=False)),
    "olmoe": transformers.OlmoeConfig(**COMMON, intermediate_size=6, num_experts=3),
    "dots1": transformers.Dots1Config(**ADJUSTED, head_dim=6, sliding_window=3, max_window_layers=1),
    "minimax_m2": transformers.MiniMaxM2Config(**COMMON, intermediate_size=6, num_local_experts=3, head_dim=8,
                                               partial_rotary_factor=0.5),
    "granitemoe": transformers.GraniteMoeConfig(**COMMON, intermediate_size=6, num_local_experts=3, attention_multiplier=0.3,
                                                embedding_multiplier=3.0, residual_multiplier=0.4, logits_scaling=2.5),
    "ernie4_5_moe": transformers.Ernie4_5_MoeConfig(**{k: v for k, v in COMMON.items() if k != "num_experts_per_tok"},
                                                    intermediate_size=10, moe_intermediate_size=4, moe_num_experts=4,
                                                    moe_k=2, moe_num_shared_experts=1),
    "deepseek_v2": transformers.DeepseekV2Config(**LATENT, q_lora_rank=None, topk_method="group_limited_greedy"),
    "deepseek_v3": transformers.DeepseekV3Config(**LATENT, q_lora_rank=7, num_mtp_layers=0, rope_parameters=dict(
        YARN, mscale=1.0, mscale_all_dim=0.7)),
    # Named apart from its class: what turns together is halves in the parameters.
    "deepseek_v3_halves": transformers.DeepseekV3Config(**LATENT, q_lora_rank=7, num_mtp_layers=0, attention_bias=True,
                                                        rope_interleave=False),
    "exaone_moe": transformers.ExaoneMoeConfig(**COMMON, intermediate_size=10, moe_intermediate_size=4, num_experts=8,
                                               first_k_dense_replace=1, n_group=4, topk_group=2, sliding_window=3,
                                               layer_types=KINDS),
    "flint": transformers.FlintConfig(**COMMON, intermediate_size=10, moe_intermediate_size=4, num_experts=4, head_dim=6,
                                      shared_expert_intermediate_size=8, mlp_only_layers=[0], sliding_window=3,
                                      layer_types=KINDS, attention_bias=True),
    "mellum": transformers.MellumConfig(**COMMON, intermediate_size=10, moe_intermediate_size=4, num_experts=3, head_dim=6,
                                        sliding_window=3, layer_types=KINDS, rope_parameters=dict(
                                            full_attention=YARN,
                                            sliding_attention=dict(rope_type="default", rope_theta=50.0))),
    "flex_olmo": transformers.FlexOlmoConfig(**COMMON, intermediate_size=6, num_experts=3, pad_token_id=0),
    "hunyuan_v1_moe": transformers.HunYuanMoEV1Config(
        **{k: v for k, v in COMMON.items() if k != "num_experts_per_tok"}, intermediate_size=6, num_experts=3, moe_topk=2,
        head_dim=6, tie_word_embeddings=True, rope_parameters=dict(rope_theta=1e3, rope_type="dynamic", alpha=20.0, factor=1.0)),
}


def main():
    for seed, (name, config) in enumerate(CASES.items()):
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        torch.manual_seed(seed)
        model = transformers.AutoModelForCausalLM.from_config(config, experts_implementation="eager").eval()
        with torch.no_grad():
            for parameter, value in model.named_parameters():
                if "norm" in parameter:
                    value.uniform_(0.5, 1.5)
                elif parameter.endswith(("bias", "sinks")):
                    value.normal_(0, 0.3)
            for buffer, value in model.named_buffers():
                if buffer.endswith("e_score_correction_bias"):
                    value.normal_(0, 0.1)
            tokens = torch.tensor([TOKENS])
            logits = model.double()(input_ids=tokens[:, :-1]).logits
            model.float()
        loss = torch.nn.functional.cross_entropy(logits[0], tokens[0, 1:]).item()
        # The second in several files with an index.
        model.save_pretrained(HERE / name, max_shard_size="1GB" if seed == 0 else "3KB")
        for extra in ("generation_config.json",):
            (HERE / name / extra).unlink(missing_ok=True)
        (HERE / name / "expected.json").write_text(json.dumps({"tokens": TOKENS, "loss": loss}) + "\n")


if __name__ == "__main__":
    main()
