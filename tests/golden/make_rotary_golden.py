"""Writes tests/golden/rotary_rates.json: the angles of one position, for each pair of columns, by the library transformers.

    python make_rotary_golden.py     needs torch and transformers, of PyPI
"""

import json
import os
import pathlib

os.environ["HF_HUB_OFFLINE"] = "1"
import transformers  # noqa: E402
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS  # noqa: E402

# Names of keys of a model file: base, columns, factor, trained length, slow and fast turns, whole pairs.
CASES = [
    ("linear", dict(rope_theta=1e4, factor=4.0), 16, {}),
    ("llama3", dict(rope_theta=5e5, factor=8.0, original_max_position_embeddings=8192, low_freq_factor=1.0,
                    high_freq_factor=4.0), 128, dict(trained_length=8192, slow_turns=1, fast_turns=4)),
    ("yarn", dict(rope_theta=1e4, factor=40.0, original_max_position_embeddings=4096, beta_fast=32, beta_slow=1), 64,
     dict(trained_length=4096)),
    ("yarn", dict(rope_theta=150000.0, factor=32.0, original_max_position_embeddings=4096, beta_fast=32, beta_slow=1,
                  truncate=False), 64, dict(trained_length=4096, whole_pairs=False)),
    ("yarn", dict(rope_theta=100.0, factor=2.0, original_max_position_embeddings=64, beta_fast=8, beta_slow=2), 8,
     dict(trained_length=64, slow_turns=2, fast_turns=8)),
]


def main():
    cases = []
    for kind, parameters, columns, keys in CASES:
        config = transformers.LlamaConfig(hidden_size=columns * 2, num_attention_heads=2, head_dim=columns,
                                          max_position_embeddings=131072,
                                          rope_parameters={"rope_type": kind, **parameters})
        rates, magnitude = ROPE_INIT_FUNCTIONS[kind](config, "cpu")
        cases.append({"scaling": kind, "columns": columns, "base": parameters["rope_theta"],
                      "factor": parameters["factor"], **keys, "magnitude": magnitude, "rates": rates.tolist()})
    path = pathlib.Path(__file__).resolve().parent / "rotary_rates.json"
    rows = ",\n".join("    " + json.dumps(case) for case in cases)
    path.write_text(f'{{\n  "transformers": "{transformers.__version__}",\n  "cases": [\n{rows}\n  ]\n}}\n')


if __name__ == "__main__":
    main()
