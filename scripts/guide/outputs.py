"""Whether what a command printed is what stands below it in the guide."""

import re

NUMBER = re.compile(
    r"[+-]?(?<![A-Za-z_\d])\d+(?:[ .]\d+)*(?:e[+-]?\d+)?"
    r"(?:\s?(?:[kMGT]?i?(?:B|bit)(?:/s)?|[mun]?s|us|/s|%)(?!\w))?"
)


def masked(line):
    """A line without its numbers and units, and without the width of columns and what is in bars."""
    line = re.sub(r"\bbest: \S+", "best: @", re.sub(r"[▁-█·]+", "~", NUMBER.sub("#", line)))
    return re.sub(r"\s+", " ", re.sub(r"(# ?)+", "# ", line)).strip()


def differs(shown, printed):
    """Where shown lines are not what was printed: a sentence, or None. `...` stands for any lines."""
    parts, any_before = [[]], [False]
    for line in shown:
        if line.strip() == "...":
            parts.append([])
            any_before.append(True)
        else:
            parts[-1].append(line)
    position = 0
    for index, (part, free) in enumerate(zip(parts, any_before)):
        if not part:
            continue
        last = index == len(parts) - 1
        starts = range(position, len(printed) - len(part) + 1) if free else [position]
        if last:
            # What nothing follows must be the end.
            starts = [start for start in starts if start == len(printed) - len(part)]
        start = next((start for start in starts if printed[start : start + len(part)] == part), None)
        if start is None:
            return f"not printed there: {part[0]!r}" + (" and what follows" if len(part) > 1 else "")
        position = start + len(part)
    return None


def trimmed(lines):
    lines = [line.rstrip() for line in lines]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def comparison(shown, done, block):
    """What is wrong with the output; it may be shown with standard error, before or behind, or without."""
    settings = block.settings()

    def prepared(lines):
        lines = [masked(line) if "numbers vary" in settings else line for line in trimmed(lines)]
        return sorted(lines) if "order varies" in settings else lines

    shown = prepared(shown)
    texts = (done.out, done.err + done.out, done.out + done.err, done.both)
    objections = [differs(shown, prepared(text.splitlines())) for text in texts]
    return None if None in objections or are_apart(shown, prepared, done) else objections[0]


def are_apart(shown, prepared, done):
    """Whether the shown lines are those of both streams, each in its order: how they mix on a busy machine is chance."""
    out, err = prepared(done.out.splitlines()), prepared(done.err.splitlines())
    of_err = [line for line in shown if line in err or line.strip() == "..."]
    of_out = [line for line in shown if line not in err]
    return differs(of_out, out) is None and differs(of_err, err) is None
