"""What was measured: a line for each instance and tool, written as soon as it is known."""

import csv
import dataclasses

from instances import Instance


@dataclasses.dataclass(frozen=True)
class Result:
    kind: str
    family: str
    count: int
    edges: int
    hierarchy: str
    distances: str
    seed: int
    graph: str
    tool: str
    status: str  # ok; repaired: moved vertices to be valid; limit: of processor time; failed
    moved: int
    cost: int
    cpu_s: float
    memory_mib: float

    @property
    def instance(self):
        return Instance(self.kind, self.family, self.count, self.hierarchy, self.distances, self.seed)

    @property
    def valid(self):
        return self.status in ("ok", "repaired")


FIELDS = dataclasses.fields(Result)


class Results:
    """Lines of CSV files, the last of the same instance and tool. New ones are added to `path`."""

    def __init__(self, path, others=()):
        self.path, self.found = path, {}
        for file in (*others, path):
            if file.exists():
                with file.open() as lines:
                    for row in csv.DictReader(lines):
                        self._keep(Result(**{field.name: field.type(row[field.name]) for field in FIELDS}))

    def _keep(self, result):
        self.found.setdefault(result.instance, {})[result.tool] = result

    def get(self, instance, tool):
        return self.found.get(instance, {}).get(tool)

    def add(self, result):
        new = not self.path.exists()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a") as file:
            if new:
                file.write(",".join(field.name for field in FIELDS) + "\n")
            values = [getattr(result, field.name) for field in FIELDS]
            file.write(",".join(f"{value:.5g}" if isinstance(value, float) else str(value) for value in values) + "\n")
        self._keep(result)
