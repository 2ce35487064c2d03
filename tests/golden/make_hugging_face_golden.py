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
CASES = {
    "mixtral": transformers.MixtralConfig(**COMMON, intermediate_size=6, num_local_experts=3, rope_theta=1e3),
    "qwen2_moe": transformers.Qwen2MoeConfig(**COMMON, intermediate_size=10, moe_intermediate_size=4, num_experts=3,
                                             shared_expert_intermediate_size=8, norm_topk_prob=True, mlp_only_layers=[0],
                                             tie_word_embeddings=True),
    "glm4_moe": transformers.Glm4MoeConfig(**COMMON, intermediate_size=10, moe_intermediate_size=4, n_routed_experts=4,
                                           n_shared_experts=2, first_k_dense_replace=1, attention_bias=True,
                                           partial_rotary_factor=1.0, head_dim=4),
}


def main():
    for seed, (name, config) in enumerate(CASES.items()):
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        torch.manual_seed(seed)
        model = transformers.AutoModelForCausalLM.from_config(config, experts_implementation="eager").float().eval()
        with torch.no_grad():
            for parameter, value in model.named_parameters():
                if "norm" in parameter:
                    value.uniform_(0.5, 1.5)
                elif parameter.endswith("bias"):
                    value.normal_(0, 0.3)
                elif "shared_expert_gate" in parameter:
                    value.zero_()
            for buffer, value in model.named_buffers():
                if buffer.endswith("e_score_correction_bias"):
                    value.normal_(0, 0.1)
            tokens = torch.tensor([TOKENS])
            logits = model(input_ids=tokens[:, :-1]).logits.double()
        loss = torch.nn.functional.cross_entropy(logits[0], tokens[0, 1:]).item()
        # The second in several files with an index.
        model.save_pretrained(HERE / name, max_shard_size="1GB" if seed == 0 else "3KB")
        for extra in ("generation_config.json",):
            (HERE / name / extra).unlink(missing_ok=True)
        (HERE / name / "expected.json").write_text(json.dumps({"tokens": TOKENS, "loss": loss}) + "\n")


if __name__ == "__main__":
    main()
