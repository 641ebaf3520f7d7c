"""Tests of bootstrap: what it would do on machines that have almost nothing."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parent / "bootstrap"
# What even the smallest system has.
BASE = "bash cat cut dirname env find grep head id sed sort timeout tr".split()


class Machine:
    """A folder of commands that is all a machine has."""

    def __init__(self, **commands):
        self.folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.folder.name)
        for name in BASE:
            os.symlink(shutil.which(name), self.path / name)
        for name, body in commands.items():
            command = self.path / name.replace("_", "-")
            command.unlink(missing_ok=True)
            command.write_text(f"#!{shutil.which('bash')}\n{body}\n", encoding="utf-8")
            command.chmod(0o755)

    def bootstrap(self, goal):
        return subprocess.run(
            [SCRIPT, goal],
            env={"PATH": str(self.path), "HOME": str(self.path), "LOG": str(self.path / "log")},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=60,
        )

    def log(self):
        path = self.path / "log"
        return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


class Bootstrap(unittest.TestCase):
    def machine(self, **commands):
        machine = Machine(**commands)
        self.addCleanup(machine.folder.cleanup)
        return machine

    def test_a_goal_must_be_known(self):
        result = self.machine().bootstrap("everything")
        self.assertEqual(result.returncode, 2)
        self.assertIn("demo|test|bench", result.stdout)

    def test_other_systems_get_a_list_in_their_own_names(self):
        for manager, names in (
            ("dnf", ["dnf install", "hwloc-devel", "openmpi-devel"]),
            ("pacman", ["pacman -S", "scotch", "openmpi"]),
            ("zypper", ["zypper install", "glibc-devel-static"]),
            ("apk", ["apk add", "musl-dev"]),
        ):
            result = self.machine(**{manager: "echo called >>$LOG"}).bootstrap("demo")
            self.assertEqual(result.returncode, 1, manager)
            for name in names:
                self.assertIn(name, result.stdout, manager)

    def test_what_has_no_package_is_said(self):
        result = self.machine(dnf="").bootstrap("test")
        self.assertRegex(result.stdout, "HPC Challenge.*: no package on this system")
        self.assertNotIn("?", result.stdout.partition("install with")[2])

    def test_without_the_right_nothing_is_tried(self):
        machine = self.machine(apt_get="echo called >>$LOG", id="echo 1000")
        result = machine.bootstrap("demo")
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stdout, "apt-get install .*libscotch-dev")
        self.assertEqual(machine.log(), [])

    def test_apt_updates_once_and_removes_nothing(self):
        machine = self.machine(
            apt_get='echo "$*" >>$LOG',
            apt_cache="echo '  Candidate: 9.99'",
            dpkg="exit 0",
            id="echo 0",
        )
        result = machine.bootstrap("demo")
        # The packages came from nowhere, so the second look finds them missing too.
        self.assertEqual(result.returncode, 1)
        self.assertIn("still not found", result.stdout)
        updates = [line for line in machine.log() if line.startswith("update")]
        installs = [line for line in machine.log() if line.startswith("install")]
        self.assertEqual(len(updates), 1)
        self.assertIn("libhwloc-dev", installs[0])
        self.assertNotIn("hyperfine", installs[0])
        for line in installs:
            self.assertIn("--no-remove", line)

    def test_sudo_is_used_where_it_asks_nothing(self):
        machine = self.machine(
            apt_get='echo "$*" >>$LOG',
            apt_cache="",
            id="echo 1000",
            sudo='[ "$1" = -n ] && shift && "$@"',
        )
        machine.bootstrap("bench")
        self.assertTrue(any(line.startswith("install") for line in machine.log()))

    def test_what_pip_installs_has_exact_versions(self):
        folder = SCRIPT.parent.parent / "python"
        lines = [line for file in folder.glob("requirements*.txt") for line in file.read_text("utf-8").splitlines()]
        packages = [line for line in lines if not line.startswith("#")]
        self.assertEqual([package for package in packages if "==" not in package], [])
        # `dist` takes the version of maturin from the list of `test`.
        self.assertEqual(sum(package.startswith("maturin==") for package in packages), 1)


if __name__ == "__main__":
    unittest.main()
