"""Intervals of means: what several benchmarks share."""

import statistics

# Half width of the 95 % interval in standard errors, for 1 to 30 degrees of freedom.
T = [12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13]
T += [2.12, 2.11, 2.10, 2.09, 2.09, 2.08, 2.07, 2.07, 2.06, 2.06, 2.06, 2.05, 2.05, 2.05, 2.04]


def half_width(values):
    """Half the width of the 95 % interval of the mean of values, by Student's t; infinite for a single one. With
    more than 31 values it is a little too wide: as if by 30 degrees of freedom."""
    if len(values) < 2:
        return float("inf")
    quantile = T[min(len(values) - 1, len(T)) - 1]
    return quantile * statistics.stdev(values) / len(values) ** 0.5
