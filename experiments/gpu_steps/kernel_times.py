"""What ncu --csv --page raw has written.

    kernel_times.py longest N FILE   the longest launch of each of moelab's N kernels that take most time: their numbers
    kernel_times.py table FILE       sums by kernel, the largest first
    kernel_times.py counters FILE... a row for each launch
"""

import csv
import sys

TIME = "gpu__time_duration.sum"  # ns, as --print-units base writes it
COUNTERS = {  # column: metric, how it is shown
    "time (us)": (TIME, lambda ns: f"{ns / 1e3:.1f}"),
    "read (MB)": ("dram__bytes_read.sum", lambda count: f"{count / 1e6:.1f}"),
    "written (MB)": ("dram__bytes_write.sum", lambda count: f"{count / 1e6:.1f}"),
    "memory (% of peak)": ("dram__throughput.avg.pct_of_peak_sustained_elapsed", "{:.0f}".format),
    "SM (% of peak)": ("sm__throughput.avg.pct_of_peak_sustained_elapsed", "{:.0f}".format),
    "warps (% of peak)": ("sm__warps_active.avg.pct_of_peak_sustained_active", "{:.0f}".format),
    "registers": ("launch__registers_per_thread", "{:.0f}".format),
    "blocks": ("launch__grid_size", "{:.0f}".format),
    "threads of a block": ("launch__block_size", "{:.0f}".format),
}


def launches(file):
    """Rows as dictionaries. The second line of the table has units; what the program printed stands around it."""
    with open(file, errors="replace") as text:
        lines = [line for line in text if line.startswith('"')]
    return [row for row in csv.DictReader(lines) if row["ID"].isdigit()]


def number(text):
    return float(text.replace(",", ""))


def without_arguments(name):
    """rows_kernel<256, 256, EmbedBody<Bf16>> of void moe::rows_kernel<(int)256, (int)256, moe::EmbedBody<moe::Bf16>>(T3)."""
    for part in ("(anonymous namespace)::", "<unnamed>::", "(int)", "moe::"):
        name = name.replace(part, "")
    depth = 0
    for i, letter in enumerate(name):
        depth += (letter == "<") - (letter == ">")
        if letter == "(" and depth == 0:
            name = name[:i]
            break
    return name.removeprefix("void ")


def by_kernel(rows):
    """The launches of each kernel, those that take most time together first."""
    kernels = {}
    for row in rows:
        kernels.setdefault(row["Kernel Name"], []).append(row)
    return sorted(kernels.values(), key=lambda group: -sum(number(row[TIME]) for row in group))


def print_row(*cells):
    print("| " + " | ".join(cells) + " |")


def main():
    command = sys.argv[1]
    if command == "longest":
        own = [group for group in by_kernel(launches(sys.argv[3])) if "moe::" in group[0]["Kernel Name"]]
        for group in own[:int(sys.argv[2])]:
            print(max(group, key=lambda row: number(row[TIME]))["ID"])
    elif command == "table":
        print_row("kernel", "launches", "time (ms)")
        print_row("---", "---", "---")
        for group in by_kernel(launches(sys.argv[2]))[:20]:
            print_row(f"`{without_arguments(group[0]['Kernel Name'])}`", str(len(group)),
                      f"{sum(number(row[TIME]) for row in group) / 1e6:.3f}")
    else:
        print_row("kernel", *COUNTERS)
        print_row(*["---"] * (len(COUNTERS) + 1))
        for row in [row for file in sys.argv[2:] for row in launches(file)]:
            print_row(f"`{without_arguments(row['Kernel Name'])}`",
                      *(show(number(row[metric])) for metric, show in COUNTERS.values()))


main()
