"""Prints figures of graph beside those of another library, as medians of the rounds of one run.

usage: compare.py OURS THEIRS NAME

OURS and THEIRS are what Go's benchmarks print, of all rounds. NAME is the other library's. An empty THEIRS leaves the ratios out.
A figure that misses its requirement says so; the exit code is 0 all the same, because it depends on what else the machine does.
"""
import re
import statistics
import sys

# Figures that have to be so many times better. The others are for reading.
REQUIRED = [
    (r"Superstep ns/step", 20),
    (r"FanOut ns/op", 10),
    (r"Boundary/.* p99-ns", 10),
    (r"FileSize/.* bytes-200", 20),
]
# Figures that have to be below a limit, in their unit.
LIMITS = [(r"ManyThreads/.* p50-ns", 10e6)]

TITLES = [
    (r"Superstep ns/step", "superstep without I/O"),
    (r"FanOut ns/op", "1,000 parallel Sends"),
    (r"Boundary/(\w+)/(\S+) (p\d+)-ns", r"boundary, synchronous=\1, \2 a step, \3"),
    (r"Disk (p\d+)-ns", r"this disk: write 6 kB and sync, \1"),
    (r"FileSize/(\S+) bytes-(\d+)", r"file after \2 steps, \1 a step"),
    (r"ManyThreads/(\w+) p50-ns", r"10,000 threads: \1, median"),
    (r"IdleThread heap-B/thread", "idle thread of 5 steps, saver in memory"),
    (r"IdleThread file-B/thread", "idle thread of 5 steps, file"),
    (r"History ns/op", "history of 200 steps"),
    (r"Superstep allocs/step", "allocations a superstep"),
    (r"Superstep B/step", "allocated a superstep"),
]


def read(path):
    figures = {}
    for line in open(path):
        fields = line.split()
        if not fields or not fields[0].startswith("Benchmark"):
            continue
        name = re.sub(r"-\d+$", "", fields[0].removeprefix("Benchmark"))
        for value, unit in zip(fields[2::2], fields[3::2]):
            figures.setdefault(f"{name} {unit}", []).append(float(value))
    return {k: statistics.median(v) for k, v in figures.items()}


def show(value, key):
    unit = key.split()[1]
    if "ns" in unit:
        for size, name in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")):
            if value >= size:
                return f"{value / size:.3g} {name}"
        return f"{value:.3g} ns"
    if "B" in unit or "bytes" in unit:
        for size, name in ((1e6, "MB"), (1e3, "kB")):
            if value >= size:
                return f"{value / size:.3g} {name}"
        return f"{value:.0f} B"
    return f"{value:.0f}"


def natural(key):
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", key)]


def lookup(table, key):
    return next((v for pattern, v in table if re.fullmatch(pattern, key)), None)


def title(key):
    for pattern, text in TITLES:
        if re.fullmatch(pattern, key):
            return re.sub(pattern, text, key)
    return None


def main(ours_path, theirs_path, name):
    ours, theirs = read(ours_path), read(theirs_path)
    if not ours:
        sys.exit(f"error: no figures in {ours_path}")
    rows, missed = [], 0
    for pattern, _ in TITLES:
        for key in sorted(filter(lambda k: re.fullmatch(pattern, k), ours), key=natural):
            a, b = ours[key], theirs.get(key)
            ratio, need, limit = b / a if b else None, lookup(REQUIRED, key), lookup(LIMITS, key)
            wanted = f"{need}x" if need else f"< {show(limit, key)}" if limit else ""
            verdict = ""
            if limit or need and ratio:
                met = ratio >= need if need else a < limit
                verdict, missed = ("met", missed) if met else ("MISSED", missed + 1)
            rows.append((title(key), show(a, key), show(b, key) if b else "-", f"{ratio:.1f}x" if ratio else "-", wanted, verdict))
    head = ("", "graph", name, "ratio", "required", "")
    widths = [max(len(r[i]) for r in [head, *rows]) for i in range(6)]
    for r in [head, *rows]:
        print("  ".join(c.ljust(w) if i in (0, 5) else c.rjust(w) for i, (c, w) in enumerate(zip(r, widths))).rstrip())
    print(f"\n{missed} of the required figures missed" if missed else "\nall required figures met")
    if missed:
        print("Is the machine idle? Boundaries with synchronous=FULL can't be faster than its disk, whose figures are above.")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
