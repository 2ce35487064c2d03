"""Losses of moe-train and of transformers on the same parameters; started by run, which explains the options."""

import argparse
import array
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import warnings

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"
import torch  # noqa: E402
import transformers  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
TOLERANCE = 1e-5
transformers.utils.logging.disable_progress_bar()
warnings.filterwarnings("ignore", message="Initializing zero-element tensors")
LENGTH, VOCABULARY = 24, 64

COMMON = dict(vocab_size=VOCABULARY, hidden_size=48, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2,
              max_position_embeddings=64, initializer_range=0.3)


def qwen2_moe(**keys):
    return transformers.Qwen2MoeConfig(**COMMON, intermediate_size=80, moe_intermediate_size=40, num_experts=6,
                                       **{"shared_expert_intermediate_size": 0, **keys})


def glm4_moe(**keys):
    return transformers.Glm4MoeConfig(**COMMON, intermediate_size=80, moe_intermediate_size=40, n_routed_experts=6, head_dim=12,
                                      partial_rotary_factor=1.0, **keys)


CASES = {
    "mixtral": lambda: transformers.MixtralConfig(**COMMON, intermediate_size=56, num_local_experts=6,
                                                  num_experts_per_tok=2, rope_theta=5e4),
    "mixtral, tied head": lambda: transformers.MixtralConfig(**COMMON, intermediate_size=56, num_local_experts=4,
                                                             num_experts_per_tok=3, tie_word_embeddings=True),
    "qwen2_moe": lambda: qwen2_moe(num_experts_per_tok=2, norm_topk_prob=True, mlp_only_layers=[0]),
    "qwen2_moe, one choice": lambda: qwen2_moe(num_experts_per_tok=1, norm_topk_prob=False, decoder_sparse_step=3),
    "qwen2_moe, shared experts": lambda: qwen2_moe(num_experts_per_tok=2, norm_topk_prob=True, qkv_bias=False,
                                                   shared_expert_intermediate_size=80),
    "glm4_moe": lambda: glm4_moe(num_experts_per_tok=2, n_shared_experts=1, first_k_dense_replace=1),
    "glm4_moe, one choice": lambda: glm4_moe(num_experts_per_tok=1, n_shared_experts=0, first_k_dense_replace=0,
                                             norm_topk_prob=False),
}


def random_model(config, seed):
    """A model whose every parameter matters: norms and biases that are not 1 and 0."""
    torch.manual_seed(seed)
    model = transformers.AutoModelForCausalLM.from_config(config, experts_implementation="eager").float().eval()
    with torch.no_grad():
        for name, value in model.named_parameters():
            if "norm" in name:
                value.uniform_(0.5, 1.5)
            elif name.endswith("bias"):
                value.normal_(0, 0.3)
            elif "shared_expert_gate" in name:
                value.zero_()
        for name, value in model.named_buffers():
            if name.endswith("e_score_correction_bias"):
                value.normal_(0, 0.1)
    return model


def write_text(path, seed):
    """A file of tokens of which the last LENGTH + 1 are held out, so that a held-out loss is that of one text."""
    rng = random.Random(seed)
    tokens = [rng.randrange(VOCABULARY) for _ in range(10 * (LENGTH + 1))]
    path.write_bytes(array.array("H", tokens).tobytes())
    return torch.tensor([tokens[-LENGTH - 1:]])


def their_loss(model, text):
    with torch.no_grad():
        logits = model(input_ids=text[:, :-1]).logits.double()
    return torch.nn.functional.cross_entropy(logits[0], text[0, 1:]).item()


def run(command):
    done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"against_transformers: {' '.join(map(str, command))}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


def our_loss(moe_train, folder, text):
    return json.loads(run([moe_train, "--model", folder / "model.toml", "--checkpoint", folder, "--resume", "--data", text,
                           "--evaluate-only", "--evaluate-batches", 1, "--format", "json", "--quiet"]))["heldout_loss"]


def logits_differ(arguments, theirs, hf, text):
    """How far the logits behind a text differ, of the largest of them. Ours are what the loss changes by where another token
    follows, in float64; so all are told but for a constant that no softmax knows."""
    path, tokens = text
    with torch.no_grad():
        other = theirs(input_ids=tokens[:, :-1]).logits[0, -1].double()
    begin = path.read_bytes()[:-2]
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        run([arguments.moe_train, "import", hf, "--model", HERE / "base.toml", "--set", "training.precision=f64", "--checkpoint",
             scratch / "wide", "--quiet"])
        losses = []
        for token in range(arguments.tokens):
            (scratch / "text.bin").write_bytes(begin + token.to_bytes(2, "little"))
            losses.append(our_loss(arguments.moe_train, scratch / "wide", scratch / "text.bin"))
    ours = -LENGTH * torch.tensor(losses, dtype=torch.float64)
    other = other[:arguments.tokens]
    return ((ours - ours.mean()) - (other - other.mean())).abs().max().item() / other.abs().max().item()


def compare(name, way, theirs, folder, hf, texts, arguments):
    """Prints a row of the table; True where all losses and logits agree."""
    pairs = [(our_loss(arguments.moe_train, folder, path), their_loss(theirs, tokens)) for path, tokens in texts]
    worst = max(abs(ours - other) for ours, other in pairs)
    logits = logits_differ(arguments, theirs, hf, texts[0])
    shown = ", ".join(f"{ours:.6f}" for ours, _ in pairs[:2])
    print(f"| {name} | {way} | {shown} | {worst:.1e} | {logits:.1e} |", flush=True)
    return worst <= TOLERANCE and logits <= TOLERANCE


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--moe-train", required=True)
    parser.add_argument("--texts", type=int, default=4)
    parser.add_argument("--tokens", type=int, default=VOCABULARY)
    arguments = parser.parse_args()
    moe_train, agree = arguments.moe_train, True
    print(f"transformers {transformers.__version__}, torch {torch.__version__}", file=sys.stderr)
    print("| model | way | losses of the first texts | largest difference | of logits, of the largest |")
    print("| --- | --- | --- | --- | --- |")
    for seed, (name, config) in enumerate(CASES.items()):
        with tempfile.TemporaryDirectory() as scratch:
            scratch = pathlib.Path(scratch)
            texts = []
            for i in range(arguments.texts):
                path = scratch / f"{i}.bin"
                texts.append((path, write_text(path, 100 * seed + i)))
            model = random_model(config(), seed)
            model.save_pretrained(scratch / "theirs")
            run([moe_train, "import", scratch / "theirs", "--model", HERE / "base.toml", "--checkpoint", scratch / "ours",
                 "--quiet"])
            agree &= compare(name, "import", model, scratch / "ours", scratch / "theirs", texts, arguments)
            run([moe_train, "--model", scratch / "ours" / "model.toml", "--data", texts[0][0], "--steps", 5, "--checkpoint",
                 scratch / "ours", "--resume", "--evaluate-batches", 0, "--quiet"])
            run([moe_train, "export", scratch / "ours", "-o", scratch / "back", "--quiet"])
            back = transformers.AutoModelForCausalLM.from_pretrained(scratch / "back", experts_implementation="eager").float().eval()
            agree &= compare(name, "5 steps, export", back, scratch / "ours", scratch / "back", texts, arguments)
    sys.exit(0 if agree else 1)


if __name__ == "__main__":
    main()
