"""What the runs say: intervals, pairs, errors, regret, and bytes."""

import itertools
import json
import random
import statistics

HEADER = ["program", "half", "placement", "verdict", "predicted_s", "measured_s"]
DRAWS = 2000
# The differences that a prediction must get the right way round.
FAR = 1.10
# Of bytes: how far counted ones may be from predicted ones, with the headers that `calibrate` measured and without.
WITH_HEADERS, WITHOUT_HEADERS = 0.03, 0.08
# What a device must carry to be looked at: below it, connections and acknowledgements count for too much.
LEAST_BYTES = 2e6


def interval(values, draws=DRAWS):
    """The 95 % bootstrap interval of the median."""
    numbers = random.Random(1)
    medians = sorted(statistics.median(numbers.choices(values, k=len(values))) for _ in range(draws))
    return medians[int(0.025 * draws)], medians[int(0.975 * draws)]


def ratio_interval(values, others, draws=DRAWS):
    """The 95 % bootstrap interval of the ratio of two medians."""
    numbers = random.Random(2)

    def drawn(times):
        return statistics.median(numbers.choices(times, k=len(times)))

    ratios = sorted(drawn(values) / drawn(others) for _ in range(draws))
    return ratios[int(0.025 * draws)], ratios[int(0.975 * draws)]


def beyond(predicted, low, high):
    """How far a prediction is from an interval, as a share of its nearer end."""
    return max(1 - predicted / low, predicted / high - 1, 0)


class Program:
    """The placements of a program: predicted seconds, measured seconds."""

    def __init__(self, name, rows):
        self.name, self.half = name, rows[0]["half"]
        self.measured = {row["placement"]: [float(text) for text in row["measured_s"].split()] for row in rows}
        self.measured = {name: values for name, values in self.measured.items() if values}
        self.predicted = {row["placement"]: float(row["predicted_s"]) for row in rows if row["predicted_s"]}
        self.verdict = next((row["verdict"] for row in rows if row["verdict"]), "")
        self.intervals = {name: interval(values) for name, values in self.measured.items()}

    def median(self, name):
        return statistics.median(self.measured[name])

    def both(self):
        return [name for name in self.measured if name in self.predicted]

    def pairs(self):
        """Pairs of placements that differ for sure by more than FAR, and whether the prediction has the same order."""
        for a, b in itertools.combinations(self.both(), 2):
            if self.median(a) > self.median(b):
                a, b = b, a
            if self.intervals[a][1] < self.intervals[b][0] and self.median(b) > FAR * self.median(a):
                yield a, b, self.predicted[a] < self.predicted[b]

    def second_errors(self):
        return {name: beyond(self.predicted[name], *self.intervals[name]) for name in self.both()}

    def ratio_errors(self):
        """Against the first placement, the launcher's default."""
        names = self.both()
        if not names:
            return {}
        base = names[0]
        return {name: beyond(self.predicted[name] / self.predicted[base],
                             *ratio_interval(self.measured[name], self.measured[base])) for name in names[1:]}

    def regret(self):
        """`place` against the best that was measured: the ratio of medians, 1 where their intervals overlap."""
        if "place" not in self.measured:
            return None
        best = min(self.measured, key=self.median)
        overlap = self.intervals["place"][0] <= self.intervals[best][1]
        return 1.0 if overlap else self.median("place") / self.median(best)

    def gain_is_right(self):
        """Whether "no gain" is said where none was measured, and a gain where one was; None if the runs do not tell."""
        if not {"place", "default"} <= self.measured.keys():
            return None
        low, high = ratio_interval(self.measured["place"], self.measured["default"])
        if low <= 1 <= high or high < 1 < 1.02 * high:
            return None if self.verdict == "shorter_run" and low < 0.98 else self.verdict != "shorter_run" or high < 1
        return (self.verdict == "shorter_run") == (high < 1)


def plain_errors(programs):
    """|predicted / measured - 1| of seconds, and of ratios to the first placement with a prediction, by medians."""
    seconds, ratios = [], []
    for program in programs:
        known = [(program.predicted[name], program.median(name)) for name in program.measured if name in program.predicted]
        seconds += [abs(predicted / measured - 1) for predicted, measured in known]
        if known:
            base = known[0][0] / known[0][1]
            ratios += [abs(predicted / measured / base - 1) for predicted, measured in known[1:]]
    return seconds, ratios


def percent(value):
    return f"{100 * value:.1f} %"


def spread(errors):
    return f"{percent(statistics.median(errors))} median, {percent(max(errors))} worst" if errors else "-"


def report_times(rows):
    programs = [Program(name, list(group)) for name, group in itertools.groupby(rows, key=lambda row: row["program"])]
    print("| program | half | placement | predicted, s | measured, s (95 %) | off, beyond the interval | ratio off |")
    print("|---|---|---|---|---|---|---|")
    for program in programs:
        seconds, ratios = program.second_errors(), program.ratio_errors()
        for name in program.measured:
            low, high = program.intervals[name]
            predicted = f"{program.predicted[name]:.3f}" if name in program.predicted else "-"
            off = percent(seconds[name]) if name in seconds else "-"
            ratio = percent(ratios[name]) if name in ratios else "-"
            print(f"| {program.name} | {program.half} | {name} | {predicted} | {program.median(name):.3f} ({low:.3f} to {high:.3f}) "
                  f"| {off} | {ratio} |")
    print("\n| programs | pairs in the right order | seconds: predicted / measured - 1 | ratios, the same | seconds beyond the "
          "interval | ratios beyond it | regret of `place`, mean and worst | verdict right |")
    print("|---|---|---|---|---|---|---|---|")
    for half in ("even", "odd", "all"):
        of = [program for program in programs if half in (program.half, "all")]
        pairs = [right for program in of for _, _, right in program.pairs()]
        seconds = [error for program in of for error in program.second_errors().values()]
        ratios = [error for program in of for error in program.ratio_errors().values()]
        regrets = [program.regret() for program in of if program.regret()]
        verdicts = [program.gain_is_right() for program in of]
        if not regrets:
            continue
        plain = " | ".join(spread(errors) for errors in plain_errors(of))
        print(f"| {half} ({len(of)}) | {sum(pairs)} of {len(pairs)} | {plain} | {spread(seconds)} | {spread(ratios)} "
              f"| {statistics.mean(regrets):.3f}, {max(regrets):.3f} | {verdicts.count(True)} of {len(verdicts) - verdicts.count(None)} |")
    misses = [f"- {program.name}: {a} was faster than {b}, predicted the other way round"
              for program in programs for a, b, right in program.pairs() if not right]
    misses += [f"- {program.name}: regret {program.regret():.3f}" for program in programs if (program.regret() or 1) > 1.03]
    misses += [f"- {program.name}: `place` said {program.verdict}, measured {program.median('place') / program.median('default'):.3f} "
               "of the default's time" for program in programs if program.gain_is_right() is False]
    print("\n" + ("\n".join(misses) if misses else "No pair in the wrong order, no regret above 1.03, no wrong verdict."))


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
