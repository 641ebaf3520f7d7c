"""What the counters of network devices say of predicted bytes. Run times: `rankwright report`."""

import json

# How far counted bytes may be from predicted ones, with the headers that `calibrate` measured and without.
WITH_HEADERS, WITHOUT_HEADERS = 0.03, 0.08
# What a device must carry to be looked at: below it, connections and acknowledgements count for too much.
LEAST_BYTES = 2e6


def bytes_off(rows):
    """How far the counted bytes of any device are from the predicted ones, as a share of these."""
    due = [(predicted, counted) for _, _, predicted, counted in rows if predicted >= LEAST_BYTES]
    return max((abs(counted / predicted - 1) for predicted, counted in due), default=float("inf"))


def report_bytes(state, cases, rows):
    """Prints the ratios of each program; the exit code."""
    headers = {}
    for case in cases:
        rates = json.loads((state / f"{case.lab.replace(' ', '-')}.json").read_text())["rates"]
        headers[case.name] = next((row["value"] for row in rates if row["rate"] == "wire_per_byte"), 1.0)
    worst, fails = 1.0, 0
    print("| program | placements | counted / payload | counted / payload with measured headers |")
    print("|---|---|---|---|")
    for case in cases:
        of = [row for row in rows if row["program"] == case.name and float(row["predicted"]) >= LEAST_BYTES]
        if not of:
            continue
        plain = [float(row["counted"]) / float(row["predicted"]) for row in of]
        known = [ratio / headers[case.name] for ratio in plain]
        placements = len({row["placement"] for row in of})
        print(f"| {case.name} | {placements} | {min(plain):.3f} to {max(plain):.3f} | {min(known):.3f} to {max(known):.3f} |")
        fails += max(abs(ratio - 1) for ratio in plain) > WITHOUT_HEADERS or max(abs(ratio - 1) for ratio in known) > WITH_HEADERS
        worst = max([worst, *known], key=lambda ratio: abs(ratio - 1))
    if worst == 1.0:
        print("nothing to compare")
        return 1
    print(f"\n{fails} programs are outside\nworst ratio {worst:.3f}")
    return int(fails > 0)
