"""A step: a program whose first lines say its title and its limit, run in a session of its own."""

import contextlib
import dataclasses
import os
import pathlib
import re
import signal
import subprocess
import time

IMPOSSIBLE = 77  # exit code of a step that cannot be done here; the last line that it prints says why
END_S = 5  # for the end of the whole, and for what was asked to end before it is killed


@dataclasses.dataclass
class Step:
    """`# title: A layer` and `# limit: 90 s` stand at the head of the file."""
    name: str
    file: pathlib.Path
    title: str
    limit_s: float


@dataclasses.dataclass
class Outcome:
    state: str  # done, failed, hung or impossible
    code: int
    duration_s: float
    limit_s: float
    output: str
    clocks: str
    started_at: float
    left_behind: list  # processes that could not be ended

    def in_words(self):
        left = f"; processes {self.left_behind} could not be ended" if self.left_behind else ""
        if self.state == "hung":
            return f"ended after its limit of {self.limit_s:.0f} s{left}"
        if self.state == "impossible":
            last = self.output.strip().splitlines()
            return f"not possible here: {last[-1] if last else 'it does not say why'}"
        return f"{self.state} in {self.duration_s:.1f} s" + (f", exit code {self.code}" if self.code else "") + left


def steps_of(folder):
    """In the order of the numbers that their names begin with."""
    steps = []
    for file in sorted(folder.glob("[0-9]*_*"), key=lambda file: int(file.name.partition("_")[0])):
        head = file.read_text()[:1000]
        title = re.search(r"^# title: (.+)$", head, re.M)
        limit = re.search(r"^# limit: ([0-9.]+) s$", head, re.M)
        if not title or not limit:
            raise OSError(f"{file}: expected lines '# title: TEXT' and '# limit: SECONDS s' at its head")
        steps.append(Step(file.name, file, title[1], float(limit[1])))
    return steps


def session_of(leader):
    """The processes that live in the session of `leader`; not those that ended and were not waited for."""
    members = []
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == leader and fields[0] not in "ZX":
            members.append(int(entry.name))
    return members


def end_session(leader):
    """Asks all processes of a session to end, then kills them; returns those that are still there after the wait, as
    a process that waits for a driver may be."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        until = time.monotonic() + END_S
        members = session_of(leader)
        for member in members:
            try:
                os.kill(member, number)
            except ProcessLookupError:
                pass
        while members and time.monotonic() < until:
            time.sleep(0.05)
            members = session_of(leader)
        if not members:
            return []
    return members


def birth_of(process):
    """The process, when it began, and the boot: no other is alike. None where it does not live."""
    try:
        fields = pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        return f"{process} {fields[19]} " + pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return None


def end_left_behind(running):
    """Ends the step of a call that was killed: it would run on beside those of this one."""
    try:
        birth = running.read_text()
    except OSError:
        return
    leader = birth.partition(" ")[0]
    if leader.isdigit() and birth_of(leader) == birth:
        end_session(int(leader))
    running.unlink()


def run(step, limit_s, environment, running, clocks, log):
    """Runs a step for at most limit_s, and ends whatever it leaves behind. What it says on stderr is in `log`; while it
    runs, `running` names it."""
    log.write(f"\n== {step.name}, {time.strftime('%H:%M:%S')}\n")
    log.flush()
    said = log.tell()
    output = pathlib.Path(environment["GPU_SCRATCH"]) / step.name
    # What another call left there is none of this one's; a step finds its own files in a folder of its own.
    beside = pathlib.Path(__file__).resolve().parents[1] / "with_clocks"
    started_at, begun = time.time(), time.monotonic()
    code, state = 1, "hung"
    with open(output, "w") as out:
        process = subprocess.Popen([beside, clocks, step.file], stdin=subprocess.DEVNULL, stdout=out, stderr=log,
                                   env=dict(environment, GPU_LIMIT_S=str(int(limit_s))), start_new_session=True)
        try:
            with contextlib.suppress(OSError):  # as where the disk is full
                running.write_text(birth_of(process.pid) or "")
            code = process.wait(limit_s)
            state = {0: "done", IMPOSSIBLE: "impossible"}.get(code, "failed")
        except subprocess.TimeoutExpired:
            pass
        finally:
            duration_s = time.monotonic() - begun
            left_behind = end_session(process.pid)
            process.poll()
            running.unlink(missing_ok=True)
    with open(log.name, errors="replace") as text:
        text.seek(said)
        summary = [line.strip() for line in text if line.startswith("clocks of GPU")]
    return Outcome(state, code, duration_s, limit_s, output.read_text(errors="replace"), "; ".join(summary),
                   started_at, left_behind)
