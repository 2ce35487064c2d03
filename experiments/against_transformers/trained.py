"""Small models trained by moe-train and, from the same weights, as models of transformers in PyTorch; started by run --train, which
explains the options.

Both draw the same samples of one text and update with AdamW. PyTorch begins with what moe-train export writes. What moe-train has
learnt is exported too, has the losses there that it has here, and is trained on there.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "against_pytorch"))
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"
import curves  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402

transformers.utils.logging.disable_progress_bar()
TOLERANCE = 2e-5
TRAINED_ON, HELD_OUT_BATCHES, LAST = 20, 8, 50


def moe_train(arguments, *more):
    command = [arguments.moe_train, *map(str, more), "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"against_transformers: {' '.join(map(str, command))}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


def load(folder):
    return transformers.AutoModelForCausalLM.from_pretrained(folder, experts_implementation="eager").float()


class Training:
    """Of a preset with a seed. Its learning rate is constant; biases of routers stay, as nothing moves them in transformers."""

    def __init__(self, arguments, name, seed, scratch):
        self.arguments, self.seed, self.scratch = arguments, seed, scratch
        keys = tomllib.loads((HERE.parent / "models" / f"{name}.toml").read_text())
        self.moe, length = keys["moe"], keys["model"]["sequence_length"]
        self.decay = 0.1 if keys["training"]["optimizer"] == "adamw" else 0.0
        curves.eager.golden.B, curves.eager.golden.L = keys["training"]["global_batch"], length
        self.options = ["--model", name, "--seed", seed]
        if self.moe.get("gate") == "bias_adjusted":
            self.options += ["--set", "moe.bias_speed=0"]
        self.data = ["--data", arguments.text, "--data-order", "random"]
        self.text = curves.Text(arguments.text, seed)

    def ours(self, steps):
        """Losses by step, and the held-out loss behind the last. Leaves a checkpoint, as the beginning does."""
        log = self.scratch / "log.jsonl"

        def train(steps, rate, end, *more):
            moe_train(self.arguments, *self.options, *self.data, "--steps", steps, "--set", f"training.learning_rate={rate}",
                      "--checkpoint", self.scratch / end, *more)

        train(1, 1e-30, "start", "--evaluate-batches", 0)
        train(steps, self.arguments.rate, "end", "--log", log, "--evaluate-batches", HELD_OUT_BATCHES, "--threads",
              self.arguments.threads)
        rows = [json.loads(line) for line in log.read_text().splitlines()]
        return [row["loss"] for row in rows], rows[-1]["heldout_loss"]

    def exported(self, which):
        folder = self.scratch / f"{which}-exported"
        moe_train(self.arguments, "export", self.scratch / which, "-o", folder)
        return folder

    def balance(self, logits):
        """The load-balancing loss of moe-train's softmax gate."""
        probabilities = logits.float().softmax(-1)
        count = probabilities.shape[-1]
        chosen = probabilities.topk(self.moe["choices"], dim=-1).indices.flatten()
        asked = torch.bincount(chosen, minlength=count) / chosen.numel()
        return count * (asked * probabilities.mean(0)).sum()

    def loss(self, model, split, step, balanced=False):
        tokens, targets = self.text.batch(split, step)
        weight = self.moe.get("auxiliary_weight", 0) if balanced else 0
        out = model(input_ids=tokens, use_cache=False, **({"output_router_logits": True} if weight else {}))
        loss = torch.nn.functional.cross_entropy(out.logits.float().flatten(0, 1), targets.flatten())
        return loss, weight * sum(map(self.balance, out.router_logits)) if weight else 0

    def theirs(self, model, first, last):
        """Losses of steps, and the held-out loss behind them."""
        decaying = [value for name, value in model.named_parameters() if value.dim() > 1 and "bias" not in name]
        others = [value for name, value in model.named_parameters() if value.dim() == 1 or "bias" in name]
        optimizer = torch.optim.AdamW([{"params": decaying, "weight_decay": self.decay}, {"params": others, "weight_decay": 0.0}],
                                      lr=self.arguments.rate, betas=(0.9, 0.999), eps=1e-8)
        losses = []
        model.train()
        for step in range(first, last + 1):
            optimizer.zero_grad()
            loss, balance = self.loss(model, curves.TRAINING, step, balanced=True)
            (loss + balance).backward()
            optimizer.step()
            losses.append(loss.item())
        return losses, self.held_out(model)

    def held_out(self, model):
        model.eval()
        with torch.no_grad():
            return statistics.mean(self.loss(model, curves.HELD_OUT, i)[0].item() for i in range(HELD_OUT_BATCHES))

    def differences(self, which):
        """Of the loss of a text, and of logits behind it of the largest, between a checkpoint and what it exports."""
        folder, length, wide = self.exported(which), curves.eager.golden.L, self.scratch / f"{which}-wide"
        model = load(folder).eval()
        moe_train(self.arguments, "import", folder, *self.options[:2], "--set", "training.precision=f64", "--checkpoint", wide)
        tokens = self.text.tokens[-length - 1:].tolist()
        file = self.scratch / "text.bin"
        ours = []
        for token in (tokens[-1], *range(0, 256, 256 // self.arguments.tokens)):
            file.write_bytes(b"".join(value.to_bytes(2, "little") for value in [*self.text.tokens[:9 * (length + 1)].tolist(),
                                                                                 *tokens[:-1], token]))
            ours.append(json.loads(moe_train(self.arguments, "--model", wide / "model.toml", "--checkpoint", wide, "--resume", "--data",
                                             file, "--evaluate-only", "--evaluate-batches", 1, "--format", "json"))["heldout_loss"])
        with torch.no_grad():
            logits = model(input_ids=torch.tensor([tokens[:-1]])).logits[0].double()
        loss = torch.nn.functional.cross_entropy(logits, torch.tensor(tokens[1:])).item()
        mine, other = -length * torch.tensor(ours[1:], dtype=torch.float64), logits[-1][::256 // self.arguments.tokens]
        mine, other = mine - mine.mean(), other - other.mean()
        return abs(ours[0] - loss), (mine - other).abs().max().item() / logits[-1].abs().max().item()


def trained(arguments, name, seed):
    with tempfile.TemporaryDirectory() as scratch:
        training = Training(arguments, name, seed, pathlib.Path(scratch))
        ours, held_out = training.ours(arguments.train)
        begin = training.differences("start")
        theirs, their_held_out = training.theirs(load(training.scratch / "start-exported"), 1, arguments.train)
        end = training.differences("end")
        on, on_held_out = training.theirs(load(training.scratch / "end-exported"), arguments.train + 1, arguments.train + TRAINED_ON)
        return {"model": name, "seed": seed, "begin": begin, "end": end, "held_out": [held_out, their_held_out, on_held_out],
                "last": [statistics.mean(losses[-LAST:]) for losses in (ours, theirs)], "first": [ours[0], theirs[0], on[0]]}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--moe-train", required=True)
    parser.add_argument("--train", type=int, required=True)
    parser.add_argument("--models", default="tiny-qwen3,tiny-gpt-oss,tiny-glm,tiny-deepseek")
    parser.add_argument("--seeds", default="1,2,3,4,5,6")
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--tokens", type=int, default=8)
    parser.add_argument("--log")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    agree = True
    with tempfile.TemporaryDirectory() as folder, open(arguments.log or "/dev/null", "a", encoding="utf-8") as log:
        arguments.text = pathlib.Path(folder) / "text.txt"
        arguments.text.write_bytes(b"".join(path.read_bytes() for path in sorted((HERE.parents[1] / "moe" / "model").glob("**/*.cpp"))))
        print(f"transformers {transformers.__version__}, PyTorch {torch.__version__}")
        print("| model | loss, logits: at first | behind the last step | moelab | PyTorch | difference | moelab, held out | PyTorch | "
              f"difference | {TRAINED_ON} steps more there |")
        print("| --- " * 10 + "|")
        for name in arguments.models.split(","):
            rows = []
            for seed in map(int, arguments.seeds.split(",")):
                rows.append(trained(arguments, name, seed))
                log.write(json.dumps(rows[-1]) + "\n")
                log.flush()
            cells = [", ".join(f"{max(row[when][i] for row in rows):.1e}" for i in (0, 1)) for when in ("begin", "end")]
            for what in ("last", "held_out"):
                mine, other = ([row[what][i] for row in rows] for i in (0, 1))
                cells += [f"{statistics.mean(mine):.4f}", f"{statistics.mean(other):.4f}",
                          curves.shown([a - b for a, b in zip(mine, other)])]
            cells.append(f"{statistics.mean(row['held_out'][2] for row in rows):.4f}")
            print(f"| {name} | {' | '.join(cells)} |", flush=True)
            agree &= all(difference <= TOLERANCE for row in rows for when in ("begin", "end") for difference in row[when])
    sys.exit(0 if agree else 1)


if __name__ == "__main__":
    main()
