"""Tests of contrib/: what it names exists, in the form that Spack, ReFrame, Apptainer and modules expect."""

import pathlib
import re
import runpy
import shutil
import subprocess
import tomllib
import types
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
RECIPES = "spack/spack_repo/rankwright"
PROGRAM = tomllib.loads((ROOT / "crates/rankwright-cli/Cargo.toml").read_text(encoding="utf-8"))


def run_with(modules, file):
    """The names of a file that imports modules which are not installed here."""
    with mock.patch.dict("sys.modules", modules):
        return runpy.run_path(str(ROOT / "contrib" / file))


def spack(calls):
    """Spack's modules, as far as the recipe uses them: calls of programs are listed."""

    def called(*command):
        return lambda *arguments, **_: calls.append((*command, *arguments))

    language = types.ModuleType("spack.package")
    vars(language).update({name: mock.Mock() for name in ("license", "version", "depends_on")})
    language.variants = []
    language.variant = lambda name, **_: language.variants.append(name)
    language.cargo, language.make, language.Executable = called("cargo"), called("make"), called
    language.make_jobs = 2
    base = types.ModuleType("spack_repo.builtin.build_systems.cargo")
    base.CargoPackage = type("CargoPackage", (), {})
    parents = ["spack", "spack_repo", "spack_repo.builtin", "spack_repo.builtin.build_systems"]
    return {**{name: types.ModuleType(name) for name in parents}, "spack.package": language, base.__name__: base}


class Spec:
    def __init__(self, *variants):
        self.variants = variants

    def satisfies(self, variant):
        return variant in self.variants

    def __getitem__(self, name):
        return types.SimpleNamespace(mpicc=f"/{name}/bin/mpicc")


class SpackRecipe(unittest.TestCase):
    def setUp(self):
        self.calls = []
        modules = spack(self.calls)
        self.language = modules["spack.package"]
        self.recipe = run_with(modules, f"{RECIPES}/packages/rankwright/package.py")["Rankwright"]()

    def built(self, *variants):
        self.recipe.spec = Spec(*variants)
        self.recipe.build(self.recipe.spec, "/prefix")
        return self.calls

    def test_it_builds_both_programs_with_the_features_that_exist(self):
        calls = self.built("+hwloc", "+scotch")
        programs = [call[call.index("--bin") + 1] for call in calls]
        self.assertEqual(programs, [program["name"] for program in PROGRAM["bin"]])
        for call in calls:
            features = call[call.index("--features") + 1].split(",")
            self.assertEqual(features, PROGRAM["features"]["default"])
        self.assertEqual(self.language.variants, ["scotch", "hwloc", "mpi", "static_shim"])

    def test_the_options_of_the_compiler_come_last(self):
        self.assertEqual(self.built()[1][-2:], ("rankwright-exec", "--"))
        static = ("-C", "target-feature=+crt-static", "-C", "relocation-model=static")
        self.assertEqual(self.built("+static_shim")[3][-5:], ("--", *static))

    def test_it_builds_the_tracer_for_the_mpi_of_the_spec_only(self):
        self.assertEqual(self.built("+mpi")[2:], [("scripts/dist-tracers", "target/tracers", "/mpi/bin/mpicc")])
        self.assertTrue((ROOT / "scripts/dist-tracers").exists())

    def test_it_installs_with_what_the_makefile_has(self):
        self.recipe.install(Spec(), "/prefix")
        self.assertEqual(self.calls, [("make", "install-files", "PREFIX=/prefix")])
        self.assertRegex((ROOT / "Makefile").read_text(encoding="utf-8"), r"(?m)^install-files:")

    def test_it_fetches_the_repository_that_it_stands_in(self):
        self.assertEqual(self.recipe.git, ROOT.as_uri())

    def test_the_folder_has_the_name_that_spack_wants(self):
        # Of these recipes, `namespace` names the folder below spack_repo/.
        text = (ROOT / "contrib" / RECIPES / "repo.yaml").read_text(encoding="utf-8")
        self.assertEqual(re.search(r"(?m)^  namespace: (.*)$", text).group(1), pathlib.Path(RECIPES).name)

    def test_it_wants_the_rust_of_the_workspace(self):
        workspace = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]
        wanted = mock.call(f"rust@{workspace['rust-version']}:", type="build")
        self.assertIn(wanted, self.language.depends_on.call_args_list)


class ContainerDefinition(unittest.TestCase):
    def test_no_file_is_put_where_the_build_has_the_folders_of_the_host(self):
        text = (ROOT / "contrib/apptainer/rankwright.def").read_text(encoding="utf-8")
        files = re.search(r"(?ms)^%files\n(.*?)^%", text).group(1).split()
        self.assertEqual(files, ["target/package/rankwright_*_amd64.deb", "/opt/"])
        self.assertIn(f"/opt/{pathlib.Path(files[0]).name}", text)


@unittest.skipUnless(shutil.which("tclsh"), "SKIPPED: no tclsh, which reads the modulefile")
class Modulefile(unittest.TestCase):
    def test_it_finds_the_programs_from_its_own_place(self):
        commands = "proc module-whatis args {}; proc conflict args {};"
        commands += " proc prepend-path args { puts $args }; proc append-path args { puts $args };"
        place = "set ModulesCurrentModulefile /opt/rankwright/share/modulefiles/rankwright/1.0;"
        script = f"{commands} {place} source {ROOT / 'contrib/modulefiles/rankwright'}"
        said = subprocess.run(["tclsh"], input=script, check=True, capture_output=True, text=True).stdout
        # Without the empty part there would be no other manual pages.
        expected = ["PATH /opt/rankwright/bin", "MANPATH /opt/rankwright/share/man", "MANPATH {}"]
        self.assertEqual(said.splitlines(), expected)


if __name__ == "__main__":
    unittest.main()
