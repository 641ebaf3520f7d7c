"""Pictures for notebooks: plain SVG and HTML, no extension needed."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._profiles import Profile
    from ._plans import Plan

#: Fill colours of jobs, distinguishable with colour blindness (Okabe and Ito 2008), in turn.
_COLOURS = ("#56b4e9", "#e69f00", "#009e73", "#f0e442", "#cc79a7", "#d55e00", "#0072b2", "#bbbbbb")
_CELL, _GAP, _TITLE, _PER_ROW = 34, 12, 22, 8
#: Above these numbers a picture shows the first ones only, and says so.
_MOST_NODES, _MOST_CORES = 64, 256
_STYLE = "font-family:sans-serif;font-size:12px"


def placement_svg(contents: dict[str, Any]) -> str:
    """The nodes of a ``placement.json`` with the ranks on their cores.

    A box per core, in the order of L#; each rank is on its first core, jobs differ in colour.
    """
    jobs = contents["jobs"]
    ranks: dict[str, dict[int, list[tuple[int, str]]]] = {}
    taken: dict[str, set[int]] = {}
    for number, job in enumerate(jobs):
        for entry in job["ranks"]:
            first = entry["cores"][0] if entry["cores"] else 0
            place = ranks.setdefault(entry["node"], {}).setdefault(first, [])
            place.append((number, str(entry["rank"])))
            taken.setdefault(entry["node"], set()).update(entry["cores"])
    nodes = contents["nodes"]
    shown = nodes[:_MOST_NODES]
    parts: list[str] = []
    y = _TITLE
    for node in shown:
        name, cores = node["name"], min(int(node["cores"]), _MOST_CORES)
        rows = -(-cores // _PER_ROW)
        parts.append(
            f'<text x="{_GAP}" y="{y + 14}" font-weight="bold" fill="currentColor">{escape(name)}</text>'
        )
        for core in range(cores):
            x = _GAP + core % _PER_ROW * _CELL
            top = y + _TITLE + core // _PER_ROW * _CELL
            here = ranks.get(name, {}).get(core, [])
            parts.append(_core(x, top, name, core, here, core in taken.get(name, ()), jobs))
        y += _TITLE + rows * _CELL + _GAP
        if node["cores"] > cores:
            parts.append(_note(y, f"{node['cores'] - cores} more cores of {name} are not shown"))
            y += _TITLE
    if len(nodes) > len(shown):
        parts.append(_note(y, f"{len(nodes) - len(shown)} more nodes are not shown"))
        y += _TITLE
    if len(jobs) > 1:
        for number, job in enumerate(jobs):
            fill = _COLOURS[number % len(_COLOURS)]
            parts.append(f'<rect x="{_GAP}" y="{y + 3}" width="12" height="12" rx="3" fill="{fill}"/>')
            name = escape(str(job["name"]))
            parts.append(f'<text x="{_GAP + 18}" y="{y + 14}" fill="currentColor">{name}</text>')
            y += _TITLE
    words = f"Placement by {contents['strategy']} on {contents['cluster']['name']}"
    title = escape(words)
    names = [words, *(str(named["name"]) for named in [*shown, *jobs])]
    width = max(2 * _GAP + _PER_ROW * _CELL, 2 * _GAP + 18 + 7 * max(map(len, names)))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{y}" viewBox="0 0 {width} {y}" '
        f'role="img" style="{_STYLE}"><title>{title}</title>'
        f'<text x="{_GAP}" y="15" fill="currentColor">{title}</text>{"".join(parts)}</svg>'
    )


def _core(
    x: int,
    y: int,
    node: str,
    core: int,
    here: list[tuple[int, str]],
    taken: bool,
    jobs: list[dict[str, Any]],
) -> str:
    fill = _COLOURS[here[0][0] % len(_COLOURS)] if here else ("#dddddd" if taken else "none")
    names = "; ".join(f"rank {rank} of {jobs[job]['name']}" for job, rank in here)
    hover = escape(f"{node} core L#{core}" + (f": {names}" if names else ""))
    label = here[0][1] + ("+" if len(here) > 1 else "") if here else ""
    return (
        f'<g><title>{hover}</title><rect x="{x}" y="{y}" width="{_CELL - 4}" height="{_CELL - 4}" rx="3" '
        f'fill="{fill}" stroke="currentColor" stroke-opacity="0.5"/>'
        f'<text x="{x + (_CELL - 4) / 2}" y="{y + 19}" text-anchor="middle" fill="#000000">{label}</text></g>'
    )


def _note(y: int, text: str) -> str:
    return f'<text x="{_GAP}" y="{y + 14}" fill="currentColor">{escape(text)}</text>'


def plan_html(plan: Plan) -> str:
    """The answer of a plan, its placement, and all strategies."""
    rows = plan.rows()
    columns = [
        ("strategy", "strategy", None),
        ("inter_node_bytes", "bytes between nodes", "{:,}"),
        ("busiest_nic_time_s", "busiest NIC, s", "{:.6g}"),
        ("total_waiting_s", "waiting, s", "{:.6g}"),
        ("workload_finish_s", "end, s", "{:.6g}"),
    ]
    columns = [column for column in columns if any(column[0] in row for row in rows)]

    def cell(row: dict[str, Any], key: str, form: str | None) -> str:
        value = row.get(key)
        text = "-" if value is None else form.format(value) if form else str(value)
        return f"<td>{escape(text)}</td>"

    head = "".join(f"<th>{escape(title)}</th>" for _, title, _ in columns)
    body = "".join(
        "<tr>" + "".join(cell(row, key, form) for key, _, form in columns) + "</tr>" for row in rows
    )
    return (
        f'<div><pre style="overflow-x:auto">{escape(plan.answer)}</pre>{plan.svg()}'
        f"<details><summary>all {len(rows)} strategies, the best first</summary>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></details></div>"
    )


def profile_html(profile: Profile) -> str:
    """The main facts of a profile."""
    facts = {
        name: value
        for name, value in profile.summary.items()
        if isinstance(value, (str, int, float)) and not isinstance(value, bool)
    }
    body = "".join(
        f"<tr><th>{escape(name)}</th><td>{escape(f'{value:,}' if isinstance(value, int) else str(value))}"
        "</td></tr>"
        for name, value in facts.items()
    )
    return f"<table><tbody>{body}</tbody></table>"
