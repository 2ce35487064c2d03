"""What ncu --csv --page raw has written: sums by kernel, the worst of moelab's own, counters of the longest launch."""

import csv
import sys

TIME = "gpu__time_duration.sum"  # ns, as --print-units base writes it
OTHERS = ("cublas", "nvjet", "cutlass", "gemm", "cudnn", "splitK", "Kernel2")  # kernels of libraries, by their names


def launches(file):
    """Rows as dictionaries. The second line of the table has units; what the program printed stands before it."""
    with open(file) as text:
        lines = [line for line in text if line.startswith('"')]
    rows = list(csv.DictReader(lines))
    return [row for row in rows if row["ID"].isdigit()]


def number(text):
    return float(text.replace(",", ""))


def short(name):
    """Without arguments and parameters of templates, as --kernel-name compares it."""
    return name.split("(")[0].split("<")[0].split("::")[-1].split(" ")[-1]


def sums(rows):
    times = {}
    for row in rows:
        total = times.setdefault(short(row["Kernel Name"]), [0, 0.0])
        total[0] += 1
        total[1] += number(row[TIME])
    return sorted(times.items(), key=lambda item: -item[1][1])


def main():
    command, file = sys.argv[1], sys.argv[-1]
    rows = launches(file)
    if command == "worst":
        own = [name for name, _ in sums(rows) if not any(other in name for other in OTHERS)]
        print("\n".join(own[:int(sys.argv[2])]))
    elif command == "table":
        print("| kernel | launches | time (ms) |\n| --- | --- | --- |")
        for name, (count, time) in sums(rows)[:15]:
            print(f"| `{name}` | {count} | {time / 1e6:.3f} |")
    else:
        longest = {}
        for row in rows:
            name = short(row["Kernel Name"])
            if name not in longest or number(row[TIME]) > number(longest[name][TIME]):
                longest[name] = row
        print("| kernel | time (us) | read (MB) | written (MB) | memory (% of peak) | SM (% of peak) | warps (% of peak) "
              "| registers | grid, block |\n|" + " --- |" * 9)
        for name, row in sorted(longest.items(), key=lambda item: -number(item[1][TIME])):
            get = lambda metric: number(row[metric])  # noqa: E731
            print(f"| `{name}` | {get(TIME) / 1e3:.1f} | {get('dram__bytes_read.sum') / 1e6:.1f} "
                  f"| {get('dram__bytes_write.sum') / 1e6:.1f} "
                  f"| {get('dram__throughput.avg.pct_of_peak_sustained_elapsed'):.0f} "
                  f"| {get('sm__throughput.avg.pct_of_peak_sustained_elapsed'):.0f} "
                  f"| {get('sm__warps_active.avg.pct_of_peak_sustained_active'):.0f} "
                  f"| {row['launch__registers_per_thread']} | {row['launch__grid_size']}, {row['launch__block_size']} |")


main()
