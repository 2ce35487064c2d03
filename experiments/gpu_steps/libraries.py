"""Libraries that a packed build leaves out for their size: found in the CUDA toolkit or in PyTorch's packages."""

import os
import pathlib
import subprocess
import sys

# Opened at run time, where they are there: the loader names none of them.
OPTIONAL = ("libcudnn.so.9",)
# What these open in turn lies beside them.
BESIDE = {"libcudnn.so.9": ("libcudnn_*.so.9", "libnvrtc.so.1*", "libnvrtc-builtins.so.1*", "libnvJitLink.so.1*")}


class Missing(Exception):
    pass


def not_found(file):
    """What the loader misses of a program or a library; nothing where there is no ldd."""
    try:
        said = subprocess.run(["ldd", file], capture_output=True, text=True)
    except FileNotFoundError:
        return []
    lines = (said.stdout + said.stderr).splitlines()
    return [line.split()[0] for line in lines if line.strip().endswith("=> not found")] + [
        line.split(": ", 1)[-1] for line in lines if "not found (required by" in line]


def folders(venv):
    """Where libraries of CUDA are, the toolkit's first."""
    found = [pathlib.Path(folder) for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":") if folder]
    for toolkit in [os.environ.get("CUDA_HOME", ""), "/usr/local/cuda", *sorted(map(str, pathlib.Path("/usr/local").glob(
            "cuda-*")), reverse=True)]:
        if toolkit:
            found += [pathlib.Path(toolkit) / "lib64", pathlib.Path(toolkit) / "targets" / "x86_64-linux" / "lib"]
    packages = [pathlib.Path(entry) for entry in sys.path if entry]
    if venv:
        packages += sorted(pathlib.Path(venv).glob("lib/python*/site-packages"))
    for entry in packages:
        found += sorted(entry.glob("nvidia/*/lib"))
    return [folder for folder in found if folder.is_dir()]


def known_to_loader(name):
    try:
        return name in subprocess.run(["ldconfig", "-p"], capture_output=True, text=True).stdout
    except FileNotFoundError:
        return False


def make_reachable(bin, venv):
    """Links what the programs of a packed build miss into its folder lib, where they look first. So PyTorch, which may
    have others, is started as ever. Throws Missing, with the names of what is nowhere."""
    named = os.environ.get("MOELAB_CUDA_MODULE")
    modules = [pathlib.Path(named)] if named else sorted((bin.parent / "lib" / "moelab").glob("*.so"))
    names = {name for file in [*modules, bin / "moe-train", bin / "gpu_test"] for name in not_found(file)}
    lib = bin.parent / "lib"
    packed = lib / "libdnnl.so.2"
    wanted = sorted(names) + [name for name in OPTIONAL if packed.exists() and not known_to_loader(name)]
    nowhere = []
    for name in wanted:
        folder = next((folder for folder in folders(venv) if (folder / name).exists()), None)
        if folder is None:
            if name not in OPTIONAL:
                nowhere.append(name)
            continue
        for pattern in (name, *BESIDE.get(name, ())):
            for file in [file for beside in [folder, *folders(venv)] for file in sorted(beside.glob(pattern))]:
                link = lib / file.name
                if not link.exists():
                    link.unlink(missing_ok=True)  # of another machine, and leads nowhere
                    link.symlink_to(file)
    # What was linked may need others.
    still = {name for file in modules for name in not_found(file)} | set(nowhere)
    if still:
        raise Missing(f"{', '.join(sorted(still))}: neither in this machine's folders of libraries, nor in a CUDA "
                      "toolkit (/usr/local/cuda, CUDA_HOME), nor in PyTorch's packages (--venv)")
