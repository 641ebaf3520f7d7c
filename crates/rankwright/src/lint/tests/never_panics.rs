//! Readers do not panic for any text.

use proptest::prelude::*;

use crate::cluster::read::synthetic;
use crate::cluster::{Cluster, ClusterDescription, NodeGroup};
use crate::launch::LAUNCHERS;
use crate::launch::testing::random_placement::{native, placements};
use crate::lint::{FORMATS, find, read_guessed};

fn cluster() -> Cluster {
    let machine = synthetic::parse("pack:2 core:4 pu:2").unwrap();
    let names = (0..3).map(|node| format!("node-{node}.cluster")).collect();
    ClusterDescription::uniform("c", names, NodeGroup::all_free(machine)).build().unwrap()
}

/// Reads a text as every format, with and without a cluster and some arguments.
fn read_all(text: &str, arguments: &[String]) {
    let cluster = cluster();
    let _ = read_guessed(text, "test", arguments, Some(&cluster));
    for format in FORMATS {
        for cluster in [None, Some(&cluster)] {
            let _ = format.read(text, "test", arguments, cluster);
            let _ = format.read(text, "test", &[], cluster);
        }
    }
}

/// Pieces of the formats, valid and nearly valid.
const PIECES: &[&str] = &[
    "rank ",
    " slots=",
    " max_slots=3",
    "#SBATCH ",
    "#SBATCH -N2 --exclusive -w node-[0-1] --ntasks-per-node=",
    "\nsrun -n",
    "#PBS ",
    "#PBS -l select=2:ncpus=4:mpiprocs=",
    "#PBS -l nodes=2:ppn=",
    "+1:host=n0",
    " -l place=pack",
    "#BSUB -n 4\n#BSUB -nnodes ",
    "#BSUB -n8 -R span[ptile=",
    "\njsrun -n 2 -a 2 -c",
    " -d plane:",
    " -b packed:",
    "\nmpiexec -n 4 --ppn 2 --depth ",
    " --cpu-bind list:0-1:2",
    " --cpu-bind depth ",
    "\naprun -n4 -d",
    " -N ",
    "$(wc -l < $PBS_NODEFILE)",
    " -c2 ",
    " -m block:block ",
    " --cpu-bind=cores ",
    "\nmpirun -np 2 ",
    "\\\n",
    "${A:-",
    "$(",
    "<<E",
    "0",
    "1",
    "2",
    "=",
    "n0",
    "node-1.cluster",
    " slot=",
    "0-1",
    "1:0",
    "0:*",
    "p1",
    ":2",
    " binding=user:",
    "0+1",
    "x3",
    ",",
    ";",
    "-",
    "*",
    "\n",
    "\r\n",
    "#",
    "/*",
    "\"",
    " ",
    "-n ",
    " -host ",
    " -env I_MPI_PIN_DOMAIN [0x3,0xc] ",
    "./a",
    "[",
    "]",
    "99999999999999999999",
    "65536",
    "16777215",
    "s1",
    "\u{e9}",
    "\0",
    "+n1",
    "@",
    "#!",
    ") host=",
    " options='--physcpubind=",
    "numactl -C ",
    "# rank ",
    "taskset -c ",
    "'",
    "cpu",
    "#!/bin/sh\nsrun -n 2 -w ",
    " : -w n1 --cpu-bind=map_cpu:",
    "//",
];

fn pieces() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(PIECES), 0..40).prop_map(|words| words.concat())
}

proptest! {
    #[test]
    fn arbitrary_bytes(bytes: Vec<u8>) {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        read_all(&text, &[]);
    }

    #[test]
    fn arbitrary_words(text in pieces(), value in pieces(), option in 0_usize..10) {
        let options = [
            "-n", "--cpu-bind", "-rankmap", "--map-by", "-bind-to", "--nodelist", "--ntasks-per-node",
            "--map-by", "-H", "--hostfile",
        ];
        let prefixed =
            ["", "map_cpu:", "(vector,(", "rankfile:file=f:", "user:", "", "", "seq:", "", "no/"][option];
        let arguments = [
            options[option].to_owned(),
            format!("{prefixed}{value}"),
            format!("cpu-affinity=map:{value}"),
            format!("I_MPI_PIN_DOMAIN=[{value}]"),
        ];
        read_all(&text, &arguments);
    }

    #[test]
    fn damaged_files_of_ours(placement in placements(), place: prop::sample::Index, byte: u8) {
        let cluster = cluster();
        for launcher in LAUNCHERS {
            let format = find(launcher.name).expect("every launcher's files can be read");
            let Ok(launch) = launcher.write(&native(&placement)) else { continue };
            for file in &launch.files {
                let mut bytes = file.contents.clone().into_bytes();
                if bytes.is_empty() {
                    continue;
                }
                let index = place.index(bytes.len());
                bytes[index] = byte;
                let damaged = String::from_utf8_lossy(&bytes).into_owned();
                let _ = format.read(&damaged, "test", &launch.command, Some(&cluster));
                bytes.truncate(index);
                let cut = String::from_utf8_lossy(&bytes).into_owned();
                let _ = format.read(&cut, "test", &launch.command, None);
            }
        }
    }
}
