"""Which device there is: a GPU, or one in software; its name; the build that uses it."""

import csv
import dataclasses
import hashlib
import os
import pathlib
import subprocess
import sys


class NoDevice(Exception):
    pass


class NoPyTorch(Exception):
    pass


@dataclasses.dataclass
class Found:
    kind: str  # cuda, or emulated
    card: str
    revision: str


PROBE_S = 60


def train_two_steps(bin, database, scratch):
    """A training on the device, stored; None where there is no device."""
    command = [bin / "moe-train", "--model", "micro", "--steps", "2", "--evaluate-batches", "0", "--device", "cuda",
               "--db", database]
    with open(pathlib.Path(scratch) / "probe", "w+") as said:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=said)
        try:
            code = process.wait(PROBE_S)
        except subprocess.TimeoutExpired:
            raise NoDevice(f"a training of two steps did not end within {PROBE_S} s on the device") from None
        finally:
            process.kill()
        said.seek(0)
        text = said.read()
    if code == 2 and ("no CUDA device" in text or "without CUDA" in text):
        return None
    if code != 0:
        raise NoDevice(f"a training of two steps failed on the device, exit code {code}: {text.strip()}")
    rows = subprocess.run([bin / "moe-db", "query", "--db", database, "--format", "csv",
                          "SELECT device, gpu, revision FROM run_view ORDER BY run DESC LIMIT 1"],
                         check=True, capture_output=True, text=True).stdout.splitlines()
    kind, card, revision = list(csv.reader(rows))[-1]
    return Found(kind, card or kind, build_of(bin, revision))


def build_of(bin, revision):
    """A commit tells what was built; where files differed from it, the programs themselves do."""
    if not revision.endswith("-dirty") and revision != "unknown":
        return revision
    digest = hashlib.sha256()
    for file in [bin / "moe-train", *sorted((bin.parent / "lib" / "moelab").glob("*.so"))]:
        digest.update(file.read_bytes())
    return f"{revision}-{digest.hexdigest()[:8]}"


def find(bin, database, scratch):
    found = train_two_steps(bin, database, scratch)
    if found is None:
        modules = [file for file in sorted(bin.parent.rglob("libmoelab_cuda_emulated.so"))
                   if "race_checked" not in file.parts]
        if not modules:
            raise NoDevice(f"no GPU, and no libmoelab_cuda_emulated.so in {bin.parent}")
        os.environ["MOELAB_CUDA_MODULE"] = str(modules[0])
        found = train_two_steps(bin, database, scratch)
        if found is None:
            raise NoDevice(f"no device in {modules[0]}")
    return found


def venv_with_torch(named):
    """The Python environment `named`, which must have PyTorch, or else that of python3 where it has it, or else ''."""
    asks = "import sys, torch, numpy; print(sys.prefix)"
    python = pathlib.Path(named) / "bin" / "python" if named else sys.executable
    try:
        answer = subprocess.run([python, "-c", asks], capture_output=True, text=True)
    except OSError as problem:
        raise NoPyTorch(f"--venv {named}: {problem}") from problem
    if answer.returncode != 0 and named:
        raise NoPyTorch(f"--venv {named}: {(answer.stderr.strip().splitlines() or ['python fails'])[-1]}")
    return named or (answer.stdout.strip() if answer.returncode == 0 else "")
