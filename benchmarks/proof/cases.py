"""The programs, the labs in which they run, and the placements that are compared."""

import dataclasses
import hashlib
import pathlib

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]

# What `rankwright lab up` is given.
LABS = {
    "one device": ["--nodes", 4, "--cores", 4, "--nic", "100 Mbit/s"],
    "two devices": ["--nodes", 4, "--cores", 4, "--nic", "50 Mbit/s", "--nics", 2],
    "two tiers": ["--tiers", "2x4:100 Mbit/s", "--cores", 2, "--nic", "100 Mbit/s"],
    "32 ranks": ["--nodes", 8, "--cores", 4, "--nic", "100 Mbit/s"],
}
STRATEGIES = {"cyclic": "cyclic", "random 1": "random:seed=1", "random 2": "random:seed=2"}
# Devices for ranks that stay where the launcher puts them.
DEVICES = {"first device": "round-robin-all:devices=eth0", "in turn": "round-robin-all", "by locality": "device-affinity"}


@dataclasses.dataclass(frozen=True)
class Case:
    """Programs that run at the same time, in a lab."""

    name: str
    lab: str
    jobs: tuple  # of words of the program
    ranks: int = 16
    """Of each job."""
    needs: str = ""
    """A program that must be installed."""

    @property
    def half(self):
        """If parameters are ever chosen by these programs, then on the even ones only. So far none is."""
        program = self.jobs[0][0].removeprefix("./")
        kind = self.jobs[0][1] if program == "traffic" else ""
        return "odd" if hashlib.sha256((program + kind).encode()).digest()[-1] % 2 else "even"

    @property
    def chooses_devices(self):
        return self.lab == "two devices"

    def placements(self):
        """Name and the words of `map` for it, None where `place` decides; the launcher's default is the first."""
        default = ["--strategy", "blocked:within=numa"]
        if self.chooses_devices:
            others = {name: [*default, "--nics", devices] for name, devices in DEVICES.items()}
            return {"default": None, **others, "place": None}
        return {"default": default, **{name: ["--strategy", text] for name, text in STRATEGIES.items()},
                "next best": None, "place": None}


def traffic(kind, size, rounds, milliseconds=0):
    return ("./traffic", kind, str(size), str(rounds), str(milliseconds))


def one(name, lab, *words, ranks=16, needs=""):
    return Case(name, lab, (words,), ranks, needs)


CASES = [
    one("heat2d", "one device", "./heat2d", "--iterations", "150"),
    one("ring", "one device", *traffic("ring", 100_000, 80)),
    one("stencil", "one device", *traffic("stencil", 40_000, 40)),
    one("all-to-all", "one device", *traffic("all-to-all", 40_000, 12)),
    one("gather", "one device", *traffic("gather", 60_000, 15)),
    one("sparse", "one device", *traffic("sparse", 100_000, 25)),
    one("butterfly", "one device", *traffic("butterfly", 60_000, 20)),
    one("wavefront", "one device", *traffic("wavefront", 50_000, 60, 2)),
    one("farm", "one device", *traffic("farm", 30_000, 15, 20)),
    Case("two jobs", "one device", (traffic("groups", 60_000, 40), traffic("stencil", 30_000, 60)), 8),
    one("lammps", "one device", "lmp", "-in", "in.melt", "-log", "none", needs="lmp"),
    one("transpose", "one device", "./transpose", "960", "15", needs="mpif90.openmpi"),
    one("stencil, two devices", "two devices", *traffic("stencil", 40_000, 20)),
    one("sparse, two devices", "two devices", *traffic("sparse", 100_000, 15)),
    one("gather, two devices", "two devices", *traffic("gather", 60_000, 10)),
    one("heat2d, two tiers", "two tiers", "./heat2d", "--iterations", "100"),
    one("groups, two tiers", "two tiers", *traffic("groups", 100_000, 15)),
    one("sparse, two tiers", "two tiers", *traffic("sparse", 100_000, 20)),
    one("heat2d, 32 ranks", "32 ranks", "./heat2d", "--iterations", "100", ranks=32),
    one("ring, 32 ranks", "32 ranks", *traffic("ring", 100_000, 40), ranks=32),
    one("all-to-all, 32 ranks", "32 ranks", *traffic("all-to-all", 15_000, 8), ranks=32),
]

# What continuous integration runs: two placements of each, which differ by a factor above 2.
SHORT = {"heat2d": ("default", "place"), "groups, two tiers": ("default", "place")}
