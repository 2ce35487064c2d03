#!/usr/bin/env python3
"""Compares what HolisticTraceAnalysis reads from exported traces with the database's own figures.

By hand, because HTA is not in Debian:

    python3 -m venv /tmp/hta && /tmp/hta/bin/pip install HolisticTraceAnalysis
    /tmp/hta/bin/python tests/db/hta_by_hand.py build/release/bin/moe-db results.db 12

The last argument is a timeline. Prints a line per rank and figure, and ends with 1 where the two
differ by more than 0.1% of the iteration: times are written with three decimals of a microsecond,
which HTA may round to whole ones.

Its critical path is not compared. HTA follows the thread that launches kernels and leaves out
launches that take no time, as all of these do; ours goes over all ranks by what ops wait for
(`moe-view results.db --table path`).
"""
import json
import subprocess
import sys
import tempfile

from hta.trace_analysis import TraceAnalysis


def main(moe_db, database, timeline):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([moe_db, "export", "trace", "--db", database, "--timeline", timeline,
                        "--per-rank", folder + "/traces"], check=True)
        analysis = TraceAnalysis(trace_dir=folder + "/traces")
        temporal = analysis.get_temporal_breakdown(visualize=False).set_index("rank")
        overlap = analysis.get_comm_comp_overlap(visualize=False).set_index("rank")
        kinds, _ = analysis.get_gpu_kernel_breakdown(visualize=False)
    # Between the first start and the last end of a rank, which is the time that HTA looks at.
    own = json.loads(subprocess.run(
        [moe_db, "query", "--db", database, "--format", "json", f"""
         SELECT rank, computation_s, communication_s, exposed_s, copy_s,
                (SELECT max(end_s) - min(start_s) FROM span_view
                 WHERE span_view.timeline = {int(timeline)} AND span_view.rank = activity_view.rank
                   AND activity <> 'host') AS window_s
         FROM activity_view WHERE timeline = {int(timeline)}"""],
        check=True, capture_output=True, text=True).stdout)
    worst = 0
    print(f"{'rank':>4}  {'figure':<22} {'HTA':>12} {'database':>12}")
    for row in own:
        rank, window_us = row["rank"], row["window_s"] * 1e6
        theirs, covered = temporal.loc[rank], row["communication_s"] - row["exposed_s"]
        ours_pct = 100 * covered / row["communication_s"] if row["communication_s"] else 0
        pairs = [
            ("computation, us", theirs["compute_time(us)"], row["computation_s"] * 1e6, window_us),
            ("exposed, us", theirs["non_compute_time(us)"], row["exposed_s"] * 1e6, window_us),
            ("idle, us", theirs["idle_time(us)"],
             window_us - (row["computation_s"] + row["exposed_s"]) * 1e6, window_us),
            ("overlap, %", overlap.loc[rank]["comp_comm_overlap_pctg"], ours_pct, 100)]
        for name, hta, database_figure, whole in pairs:
            worst = max(worst, abs(hta - database_figure) / whole)
            print(f"{rank:>4}  {name:<22} {hta:>12.1f} {database_figure:>12.1f}")
    print(kinds.to_string(index=False))
    print(f"largest difference {100 * worst:.3f}% of the iteration")
    return 0 if worst < 0.001 else 1


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
