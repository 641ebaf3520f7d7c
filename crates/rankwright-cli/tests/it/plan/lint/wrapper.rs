//! Wrapper scripts, alone and in a job.

use std::fs;

use crate::command::{rankwright, repository};

use super::lint;

const ON: [&str; 2] = ["--on", "examples/clusters/epyc-slingshot.toml"];

#[test]
fn a_wrapper_is_evaluated_for_each_rank() {
    let file = "testdata/lint/gpu-wrapper.sh";
    assert_golden!("wrapper", lint(&[&[file][..], &ON].concat()));
    let two_nodes = ["--launcher-args", "srun -n 8 --ntasks-per-node=4", "--format"];
    let with = |format| lint(&[&[file][..], &ON, &two_nodes, &[format]].concat());
    assert_golden!("wrapper-csv", with("csv"));
    let json = with("json");
    assert!(json.contains("\"gpus\": [\n        \"rsmi0\"\n"), "{json}");
    assert!(json.contains("\"nics\": [") && json.contains("\"memory\": ["), "{json}");
}

#[test]
fn the_wrapper_of_a_job_is_read_too() {
    assert_golden!("sbatch-wrapper", lint(&[&["testdata/lint/gpu-job.sbatch"][..], &ON].concat()));
}

#[test]
fn under_mpirun_variables_of_srun_are_the_same_for_all_ranks() {
    let folder = tempfile::tempdir().unwrap();
    let script = "#!/bin/sh\nexport ROCR_VISIBLE_DEVICES=$SLURM_LOCALID\nexec \"$@\"\n";
    fs::write(folder.path().join("wrapper.sh"), script).unwrap();
    let job = folder.path().join("job.sh");
    let text = "#!/bin/bash\n#SBATCH -N 1 --exclusive -n 4 --nodelist=x1000c0s0b0n0\n\
                mpirun ./wrapper.sh ./app\n";
    fs::write(&job, text).unwrap();
    let output = rankwright(&["lint", job.to_str().unwrap()]).args(ON).output().unwrap();
    let notes = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(5), "{notes}");
    assert!(notes.contains("mpirun does not set SLURM_LOCALID for each rank"), "{notes}");
    assert!(notes.contains("ranks 0-3: they share GPU rsmi0"), "{notes}");
}

#[test]
fn a_wrapper_with_other_line_ends_is_refused_and_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let script = "#!/bin/sh\r\nexport ROCR_VISIBLE_DEVICES=$SLURM_LOCALID\r\nexec \"$@\"\r\n";
    fs::write(path("wrapper.sh"), script).unwrap();
    let text = "#!/bin/bash\n#SBATCH -N 1 --exclusive -n 4 --nodelist=x1000c0s0b0n0\n\
                srun ./wrapper.sh ./app\n";
    fs::write(path("job.sh"), text).unwrap();
    for (file, line) in [("job.sh", ""), ("wrapper.sh", ":1")] {
        let told = lint(&[&[&path(file)[..]], &ON[..], &["--launcher-args", "srun -n 4"]].concat());
        let warning = format!("warning: {}{line}: carriage-return: refused: ", path(file));
        assert!(told.contains("exit code: 5") && told.contains(&warning), "{told}");
        let way_out = format!("`dos2unix {}`", path("wrapper.sh"));
        assert!(told.contains(&way_out) && told.contains("  rsmi3  "), "{told}");
    }
}
