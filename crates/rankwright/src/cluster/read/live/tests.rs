//! This machine, and recorded ones (`testdata/sysfs`), by both ways.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

use super::*;
use crate::cluster::read::hwloc_xml;

#[test]
fn this_machine_has_cores_and_free_pus() {
    let group = discover().unwrap();
    assert!(!group.machine.cores.is_empty());
    assert_eq!(group.free.len(), group.machine.pus.len());
    assert!(group.free.contains(&true));
}

/// A group as both ways tell it: ports are in the XML without rates, and libhwloc takes the rates of PCIe
/// links from registers that only root reads. Virtual machines may hide caches from the kernel.
fn comparable(mut group: NodeGroup) -> NodeGroup {
    for nic in &mut group.machine.nics {
        nic.ports.clear();
        nic.pci_bandwidth = None;
    }
    group
}

#[test]
#[cfg(feature = "hwloc")]
fn this_machine_is_the_same_with_and_without_libhwloc() {
    let (with, without) = (discover().unwrap(), discover_below(Path::new("/")).unwrap());
    let with = comparable(with);
    let without = comparable(without);
    // Names that only plug-ins of libhwloc know.
    let of_plug_ins = |name: &str| crate::cluster::GpuVendor::of_name(name).is_some();
    if !with.machine.gpus.iter().any(|gpu| of_plug_ins(&gpu.name)) {
        assert_eq!(with.machine.gpus, without.machine.gpus);
    }
    assert_eq!(with.machine.cores, without.machine.cores);
    assert_eq!(with.machine.pus, without.machine.pus);
    assert_eq!(with.machine.numa_nodes, without.machine.numa_nodes);
    assert_eq!(with.machine.numa_distance, without.machine.numa_distance);
    assert_eq!(with.machine.nics, without.machine.nics);
    assert_eq!(with.machine.packages, without.machine.packages);
    assert_eq!(with.free, without.free);
}

/// The recorded machines, each in a folder.
fn recorded() -> Vec<(String, tempfile::TempDir)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/sysfs");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|name| name == "tree")).collect();
    files.sort();
    let name = |path: &Path| path.file_stem().unwrap().to_string_lossy().into_owned();
    files.iter().map(|path| (name(path), unpacked(&fs::read_to_string(path).unwrap()))).collect()
}

/// A folder with the files and links of a text of `testdata/sysfs/record`.
fn unpacked(text: &str) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    let place = |path: &str| {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    };
    for line in text.lines() {
        if let Some((path, text)) = line.split_once('\t') {
            fs::write(place(path), text.replace("\\n", "\n") + "\n").unwrap();
        } else if let Some((path, target)) = line.split_once(" -> ") {
            let path = place(path);
            // Where it leads, there may be nothing else.
            let mut folder = path.parent().unwrap().to_owned();
            for part in target.split('/') {
                if part == ".." { assert!(folder.pop()) } else { folder.push(part) }
            }
            fs::create_dir_all(folder).unwrap();
            symlink(target, path).unwrap();
        } else if let Some(folder) = line.strip_suffix('/') {
            fs::create_dir_all(place(folder)).unwrap();
        }
    }
    root
}

#[test]
fn recorded_machines_are_read_without_libhwloc() {
    let mut told = String::new();
    for (name, root) in recorded() {
        let group = discover_below(root.path()).unwrap_or_else(|error| panic!("{name}: {error}"));
        let free = group.free.iter().filter(|free| **free).count();
        told += &format!("{name}: {}, {free} free\n", group.machine);
        for nic in &group.machine.nics {
            let (names, near) = (nic.names().collect::<Vec<_>>().join("="), &nic.near);
            told += &format!(
                "  {names} near {near:?} {:?} Gbit/s\n",
                nic.known_bandwidth().map(|rate| rate.0 * 8e-9)
            );
        }
        for gpu in &group.machine.gpus {
            told += &format!("  {} near {:?} {:?}\n", gpu.name, gpu.near, gpu.vendor);
        }
    }
    insta::assert_snapshot!(told);
}

#[test]
#[expect(clippy::print_stdout, reason = "the test runner looks there for what is skipped")]
fn recorded_machines_are_the_same_to_libhwloc() {
    let lstopo = |root: &Path| {
        let mut command = Command::new("lstopo-no-graphics");
        command.args(["--disallowed", "--filter", "io:important", "--of", "xml", "-"]);
        command.env("HWLOC_FSROOT", root).env("HWLOC_THISSYSTEM", "0");
        command.env("HWLOC_COMPONENTS", "linux,stop").env("HWLOC_HIDE_ERRORS", "2");
        command.output().ok().filter(|output| output.status.success())
    };
    for (name, root) in recorded() {
        let Some(output) = lstopo(root.path()) else {
            println!("SKIPPED: lstopo is not installed (lstopo-no-graphics)");
            return;
        };
        let xml = String::from_utf8(output.stdout).unwrap();
        let theirs = hwloc_xml::parse(&xml, &name).unwrap_or_else(|error| panic!("{error}"));
        let ours = sysfs::group(root.path()).unwrap();
        assert_eq!(comparable(ours), comparable(theirs), "{name}");
    }
}

#[test]
fn files_that_contradict_each_other_or_are_missing_do_no_harm() {
    let nothing = tempfile::tempdir().unwrap();
    let error = discover_below(nothing.path()).unwrap_err().to_string();
    assert!(error.contains("cpu/online") && error.contains("mount -t sysfs"), "{error}");
    for (name, root) in recorded() {
        let cpus = root.path().join("sys/devices/system/cpu");
        for (file, text) in [
            ("online", "0-99999999"),
            ("cpu0/topology/core_siblings", "zzz"),
            ("cpu1/topology/core_siblings", "ffffffff,ffffffff"),
            ("cpu0/topology/thread_siblings", ""),
            ("cpu1/topology/core_id", "-7"),
            ("cpu0/cache/index0/level", "99999999999999999999"),
            ("cpu1/cache/index0/shared_cpu_map", "0"),
        ] {
            if cpus.join(file).exists() {
                fs::write(cpus.join(file), text).unwrap();
            }
        }
        let node = root.path().join("sys/devices/system/node/node0");
        if node.exists() {
            fs::write(node.join("distance"), "10 x").unwrap();
            fs::write(node.join("meminfo"), "Node 0 MemTotal: 99999999999999999999 kB").unwrap();
        }
        // Any result will do, but no panic.
        if let Ok(group) = discover_below(root.path()) {
            assert_eq!(group.free.len(), group.machine.pus.len(), "{name}");
        }
    }
}
