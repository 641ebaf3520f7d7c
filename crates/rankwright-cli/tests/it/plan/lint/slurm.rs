//! What `lint` reads for Slurm, held against what `srun` does: where its tasks run and what they may use.
//! Reordering by Cray MPICH is not tried: there the ranks are those of the slots.

use crate::command::{make_executable, transcript};
use crate::every_day::slurm::{Slurm, start_with_two_pus};
use crate::plan::lint::launchers::{TELL, places_read, places_told, read_on};

/// What `srun` does in an allocation of both nodes.
fn run(slurm: &Slurm, words: &[&str]) -> std::collections::BTreeMap<u64, (String, String)> {
    let words = [&["salloc", "-Q", "-N2", "--exclusive", "env"], words].concat();
    let output = slurm.told("exec", &words);
    assert!(output.status.success(), "{}", transcript(&words, &output));
    places_told(&String::from_utf8_lossy(&output.stdout))
}

#[test]
fn srun_places_and_binds_as_read() {
    let Some(slurm) = start_with_two_pus() else { return };
    let at = |name: &str, text: &str| {
        let path = slurm.folder.path().join(name);
        std::fs::write(&path, text).expect("the folder is writable");
        path.display().to_string()
    };
    let tell = at("tell", TELL);
    make_executable(tell.as_ref());
    for (text, bind) in [
        ("n1\nn0\nn0\nn1\n", "--cpu-bind=map_cpu:1,0"),
        ("n1\nn0*2\nn1\n", "--cpu-bind=mask_cpu:0x3,0x2"),
        // The list begins again.
        ("n1,n0\nn0,n1\n", "--cpu-bind=map_cpu:1"),
        ("n1 # first\nn0\nn0\nn1\n", "--cpu-bind=quiet,map_cpu:0*2"),
    ] {
        let hosts = format!("SLURM_HOSTFILE={}", at("hosts", text));
        let arguments = ["srun", "-N", "2", "-n", "4", "-m", "arbitrary", bind];
        let found = run(&slurm, &[&[&hosts[..]], &arguments[..], &[&tell]].concat());
        let reading = read_on(None, text, "slurm", &arguments.join(" "));
        assert_eq!(found, places_read(&reading, ""), "{bind}: {reading:#}");
    }
    let components = format!(
        "srun -N 1 -n 2 -w n1 --cpu-bind=map_cpu:1,0 {tell} : \
         -N 1 -n 1 -w n0 --cpu-bind=mask_cpu:0x2 {tell}"
    );
    let script = at("components", &format!("#!/bin/sh\nexec {components}\n"));
    make_executable(script.as_ref());
    let reading = read_on(None, &format!("#!/bin/sh\nexec {components}\n"), "slurm", "");
    assert_eq!(run(&slurm, &[&script]), places_read(&reading, ""), "{reading:#}");
    // Programs by task, and the variable without -m.
    let programs = format!("0,2 {tell}\n3 taskset -c 1 {tell}\n* {tell}\n");
    let conf = at("programs", &programs);
    let bind = "--cpu-bind=map_cpu:1,0";
    let words = ["srun", "-N", "2", "-n", "4", bind, "--multi-prog", &conf];
    let arguments = format!("srun -N 2 -n 4 --exclusive --nodelist=n[0-1] {bind}");
    let reading = read_on(None, &programs, "slurm", &arguments);
    assert_eq!(run(&slurm, &words), places_read(&reading, ""), "{reading:#}");
    let hosts = at("hosts", "n1\nn0\nn0\nn1\n");
    let script = format!(
        "#!/bin/sh\n#SBATCH -N 2 --exclusive\nexport SLURM_HOSTFILE={hosts}\nsrun -n 3 {bind} {tell}\n"
    );
    let reading = read_on(None, &script, "slurm", "");
    let script = at("arbitrary", &script);
    make_executable(script.as_ref());
    assert_eq!(run(&slurm, &[&script]), places_read(&reading, ""), "{reading:#}");
    // Tasks that do not divide, on hosts that a file names.
    let names = at("names", "n0\nn1\n");
    let arguments = format!(
        "srun -N 2 -n 3 --ntasks-per-node=2 -m block --nodelist={names} --cpu-bind=map_cpu:1,0"
    );
    let words: Vec<&str> = arguments.split(' ').chain([&tell[..]]).collect();
    let reading = read_on(None, "0-2\n", "craympich", &arguments);
    assert_eq!(run(&slurm, &words), places_read(&reading, ""), "{reading:#}");
}
