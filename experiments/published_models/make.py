"""Writes configurations/default-CLASS.json, the config.json of each MoE class of transformers that is a causal text model,
and counts.csv: what transformers builds from every file of configurations/, on the meta device.

    python make.py          needs torch and transformers 5, of PyPI
"""

import csv
import json
import os
import pathlib
import warnings

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"
import torch  # noqa: E402
import transformers  # noqa: E402

warnings.filterwarnings("ignore")
HERE = pathlib.Path(__file__).resolve().parent
CONFIGURATIONS = HERE / "configurations"
# Those whose defaults build a model with experts. dbrx, dots1, hunyuan_v1_moe and lfm2_moe have none that do.
CLASSES = """
afmoe aria_text axk1 axk2 bailing_hybrid beam cohere2_moe deepseek_v2 deepseek_v3 deepseek_v32 deepseek_v4 dots3_note ernie4_5_moe
exaone_moe flex_olmo flint glm4_moe glm4_moe_lite glm_moe_dsa gpt_oss granitemoe granitemoe_swa granitemoehybrid granitemoeshared
hy_v3 hy_v4 jamba jetmoe kimi_linear kolibri1 laguna lara_mini llama4_text longcat_flash mellum mimo_v2_flash minimax minimax_m2
mixtral nemotron_h olmoe phimoe qwen2_moe qwen3_5_moe_text qwen3_moe qwen3_next sarvam_mla sarvam_moe solar_open zaya
""".split()
# Of the library and of texts that a model writes, and alike in all files.
LEFT_OUT = ("transformers_version", "architectures", "bos_token_id", "eos_token_id", "pad_token_id")
# The Hub's model_type of a file, where transformers has another for its class.
SAME_CLASS = {"kimi_k2": "deepseek_v3"}


def write_default(name):
    config = transformers.CONFIG_MAPPING[name]()
    keys = {key: value for key, value in config.to_diff_dict().items() if key not in LEFT_OUT}
    lines = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in keys.items()]
    (CONFIGURATIONS / f"default-{name}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


def counted(path):
    """The name of the class, and the size of its parameters, a tied head once. Biases that correct a router's choice are among them
    only where the class says so (ERNIE)."""
    keys = json.loads(path.read_text())
    kind = keys.pop("model_type")
    config = transformers.CONFIG_MAPPING[SAME_CLASS.get(kind, kind)](**keys)
    with torch.device("meta"):
        model = transformers.AutoModelForCausalLM.from_config(config)
    return type(model).__name__, sum(value.numel() for value in model.parameters())


def main():
    for name in CLASSES:
        write_default(name)
    with open(HERE / "counts.csv", "w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["configuration", "class", "parameters"])
        for path in sorted(CONFIGURATIONS.glob("*.json")):
            table.writerow([path.stem, *counted(path)])


if __name__ == "__main__":
    main()
