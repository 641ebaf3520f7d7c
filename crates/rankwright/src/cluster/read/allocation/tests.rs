use std::path::Path;

use super::*;
use crate::cluster::read::{synthetic, toml};
use crate::cluster::{ClusterDescription, hostlist};

/// The variables of a job, as `NAME=value` on lines.
fn job(text: &str) -> impl Fn(&str) -> Option<String> + '_ {
    |name| {
        let mut lines = text.lines().filter_map(|line| line.split_once('='));
        lines.find(|(key, _)| *key == name).map(|(_, value)| value.to_owned())
    }
}

fn listed(hosts: &[Granted]) -> Vec<(&str, u32)> {
    hosts.iter().map(|granted| (granted.host.as_str(), granted.cpus)).collect()
}

#[test]
fn jobs_of_slurm_are_read() {
    // From jobs of Slurm 22.05.
    let plain = "SLURM_JOB_NODELIST=f0,n[0-1]\nSLURM_JOB_CPUS_PER_NODE=8,16(x2)\n";
    assert_eq!(listed(&slurm(job(plain)).unwrap()), [("f0", 8), ("n0", 16), ("n1", 16)]);
    let heterogeneous = "SLURM_HET_SIZE=2\nSLURM_JOB_NODELIST=n1\nSLURM_JOB_CPUS_PER_NODE=4\n\
        SLURM_JOB_NODELIST_HET_GROUP_0=n1\nSLURM_JOB_CPUS_PER_NODE_HET_GROUP_0=4\n\
        SLURM_JOB_NODELIST_HET_GROUP_1=f0\nSLURM_JOB_CPUS_PER_NODE_HET_GROUP_1=2\n";
    assert_eq!(listed(&slurm(job(heterogeneous)).unwrap()), [("n1", 4), ("f0", 2)]);
    let shared = heterogeneous.replace("GROUP_1=f0", "GROUP_1=n1");
    assert_eq!(listed(&slurm(job(&shared)).unwrap()), [("n1", 6)]);
}

#[test]
fn tasks_of_slurm_are_read_where_they_belong_to_the_hosts() {
    let list = "SLURM_JOB_NODELIST=n[0-2]\n";
    let tasks = |text: &str| slurm_tasks(job(&format!("{list}{text}")));
    let listed = |hosts: &[(&str, u32)]| {
        Some(hosts.iter().map(|(host, tasks)| ((*host).to_owned(), *tasks)).collect::<Vec<_>>())
    };
    let three = listed(&[("n0", 4), ("n1", 4), ("n2", 3)]);
    assert_eq!(tasks("SLURM_TASKS_PER_NODE=4(x2),3"), three);
    // An interactive step has those of its own host.
    assert_eq!(tasks("SLURM_TASKS_PER_NODE=1"), None);
    assert_eq!(tasks("SLURM_TASKS_PER_NODE=4(x"), None);
    assert_eq!(tasks("SLURM_HET_SIZE=2\nSLURM_TASKS_PER_NODE=1(x3)"), None);
    assert_eq!(tasks(""), None);
}

#[test]
fn jobs_of_lsf_are_read() {
    let hosts = lsf(job("LSB_MCPU_HOSTS=a.site 1 b.site 2 ")).unwrap();
    assert_eq!(listed(&hosts), [("a.site", 1), ("b.site", 2)]);
    for text in ["LSB_MCPU_HOSTS=a 1 b", "LSB_MCPU_HOSTS=", "LSB_MCPU_HOSTS=a 0", "X=1"] {
        assert!(lsf(job(text)).is_err(), "{text}");
    }
}

#[test]
fn variables_that_contradict_each_other_are_named() {
    let list = "SLURM_JOB_NODELIST=n[0-2]\n";
    for (text, part) in [
        (String::new(), "SLURM_JOB_NODELIST: found nothing in the environment"),
        (list.to_owned(), "SLURM_JOB_CPUS_PER_NODE: found nothing"),
        (
            format!("{list}SLURM_JOB_CPUS_PER_NODE=16(x2)"),
            "for 2 nodes, expected numbers for the 3 nodes of SLURM_JOB_NODELIST",
        ),
        (format!("{list}SLURM_JOB_CPUS_PER_NODE=16(x2),0"), "found `0` in `16(x2),0`"),
        (format!("{list}SLURM_JOB_CPUS_PER_NODE=16(x9999999999)"), "`16(x9999999999)`"),
        (format!("{list}SLURM_JOB_CPUS_PER_NODE=16(x3"), "`16(x3`"),
        ("SLURM_JOB_NODELIST=n[0-".to_owned(), "without a closing bracket"),
        ("SLURM_HET_SIZE=many".to_owned(), "SLURM_HET_SIZE: found `many`"),
        (format!("SLURM_HET_SIZE=1\n{list}"), "SLURM_JOB_NODELIST_HET_GROUP_0: found nothing"),
    ] {
        let error = slurm(job(&text)).expect_err(part).to_string();
        assert!(error.contains(part), "{part}: {error}");
    }
}

#[test]
fn all_components_together_have_a_limit() {
    let half = hostlist::MOST_NAMES / 2 + 1;
    let component = |number: usize, name: &str| {
        format!(
            "SLURM_JOB_NODELIST_HET_GROUP_{number}={name}[1-{half}]\n\
             SLURM_JOB_CPUS_PER_NODE_HET_GROUP_{number}=4(x{half})\n"
        )
    };
    let size = "SLURM_HET_SIZE=2\n";
    let shared = format!("{size}{}{}", component(0, "n"), component(1, "n"));
    assert_eq!(slurm(job(&shared)).unwrap().len(), half);
    let apart = format!("{size}{}{}", component(0, "n"), component(1, "m"));
    let error = slurm(job(&apart)).unwrap_err().to_string();
    let wanted = "SLURM_JOB_NODELIST_HET_GROUP_1: found 100002 hosts up to this component, \
        expected at most 100000";
    assert_eq!(error, wanted);
}

#[test]
fn the_first_cpus_stand_for_those_granted() {
    let group = NodeGroup::all_free(synthetic::parse("core:4 pu:2").unwrap());
    let names = ["f0", "f1"].map(str::to_owned).to_vec();
    let like = ClusterDescription::uniform("c", names, group).build().unwrap();
    let granted =
        |cpus| vec![Granted { host: "f1".to_owned(), cpus, which: Which::Unknown, gpus: None }];
    let free = |cpus, cpu| {
        let allocation = cluster(&like, &granted(cpus), cpu).unwrap();
        let free = &allocation.cluster.groups[0].free;
        (free.iter().filter(|free| **free).count(), allocation.in_part.len())
    };
    assert_eq!(free(4, Cpu::Thread), (4, 1));
    assert_eq!(free(4, Cpu::Core), (8, 0));
    assert_eq!(free(8, Cpu::Thread), (8, 0));
    let misfit = cluster(&like, &granted(5), Cpu::Core).unwrap_err();
    assert!(matches!(misfit, Misfit::TooManyCpus { has: 4, .. }));
}

#[test]
fn the_cpus_that_slurm_names_are_those_left_free() {
    // From Slurm 22.05, shortened.
    let text = "JobId=7 JobName=wrap\n   NumNodes=3 NumCPUs=6\n   \
        Nodes=n0 CPU_IDs=1-2 Mem=0 GRES=\n     Nodes=n[1-2] CPU_IDs=0,3 Mem=0 GRES=\n";
    let ids = slurm_cpu_ids(text);
    let expected = [("n0", vec![1, 2]), ("n1", vec![0, 3]), ("n2", vec![0, 3])];
    assert_eq!(ids, expected.map(|(host, ids)| (host.to_owned(), ids)).into());
    // Two cores with PUs P#0, P#2 and P#1, P#3.
    let mut machine = synthetic::parse("core:2 pu:2").unwrap();
    let order = [0, 2, 1, 3].map(crate::ids::PuId);
    for (at, id) in order.into_iter().enumerate() {
        machine.pus[at].id = id;
        machine.cores[at / 2].pus[at % 2] = id;
    }
    let names = vec!["n0".to_owned()];
    let group = NodeGroup::all_free(machine);
    let like = ClusterDescription::uniform("c", names, group).build().unwrap();
    let free = |which, cpu| {
        let granted = [Granted { host: "n0".to_owned(), cpus: 2, which, gpus: None }];
        let allocation = cluster(&like, &granted, cpu)?;
        assert!(allocation.in_part.is_empty());
        Ok::<_, Misfit>(allocation.cluster.groups[0].free.clone())
    };
    let slurm = |ids: &[u32]| Which::Slurm(ids.to_vec());
    assert_eq!(free(slurm(&[0, 1]), Cpu::Thread).unwrap(), [true, true, false, false]);
    assert_eq!(free(slurm(&[1]), Cpu::Core).unwrap(), [false, false, true, true]);
    let pus = Which::Pus("1,3".parse().unwrap());
    assert_eq!(free(pus, Cpu::Thread).unwrap(), [false, false, true, true]);
    for wrong in [slurm(&[4]), Which::Pus("0,7".parse().unwrap())] {
        let misfit = free(wrong, Cpu::Thread).unwrap_err();
        assert!(matches!(misfit, Misfit::NoSuchCpu { has: 4, .. }), "{misfit:?}");
    }
}

#[test]
fn gpus_that_are_not_granted_are_not_there() {
    let four: String = [("b", "81"), ("a", "41"), ("d", "c1"), ("c", "a1")]
        .map(|(name, bus)| format!("{{ name = \"{name}\", pci = \"{bus}:00.0\" }}, "))
        .concat();
    let text =
        format!("[[node]]\nnames = \"n[0-2]\"\ntopology = \"core:4 pu:1\"\ngpu = [{four}]\n");
    let like = toml::parse(&text, "c.toml", Path::new("/")).unwrap();
    let granted = |host: &str, gpus: Option<Vec<u32>>| Granted {
        host: host.to_owned(),
        cpus: 4,
        which: Which::Unknown,
        gpus,
    };
    let names = |granted: Granted| -> String {
        let made = cluster(&like, &[granted], Cpu::Thread).unwrap().cluster;
        made.groups[0].machine.gpus.iter().map(|gpu| gpu.name.as_str()).collect()
    };
    assert_eq!(names(granted("n0", None)), "badc");
    assert_eq!(names(granted("n0", Some(vec![0, 2]))), "ac");
    assert_eq!(names(granted("n0", Some(Vec::new()))), "");
    assert_eq!(names(granted("n0", Some(vec![7]))), "badc");
    let all = ["n0", "n1", "n2"].map(|host| granted(host, Some(vec![u32::from(host == "n1")])));
    assert_eq!(cluster(&like, &all, Cpu::Thread).unwrap().cluster.groups.len(), 2);
}

#[test]
fn slurm_tells_which_gpus_are_granted() {
    let text = "   Nodes=n[0-1] CPU_IDs=0-3 Mem=0 GRES=gpu:a100:2(IDX:0,3)\n   \
                Nodes=n2 CPU_IDs=0 Mem=0 GRES=nic:1(IDX:0),gpu:h100:1(IDX:2),gpu:a30:1(IDX:5)\n   \
                Nodes=n3 CPU_IDs=0 Mem=0 GRES=\n   Nodes=n4 CPU_IDs=0 Mem=0 GRES=gpu:2\n   \
                Nodes=n5 CPU_IDs=0 Mem=0 GRES_IDX=gpu(IDX:1)\n";
    let ids = slurm_gpu_ids(text);
    let of = |host: &str| ids.get(host).cloned();
    assert_eq!((of("n0"), of("n1")), (Some(vec![0, 3]), Some(vec![0, 3])));
    assert_eq!((of("n2"), of("n3"), of("n4")), (Some(vec![2, 5]), Some(vec![]), None));
    assert_eq!(of("n5"), Some(vec![1]));
}

#[test]
fn a_resource_set_of_flux_tells_cores_and_gpus() {
    // From `flux --parent job info ID R` of Flux 0.88, of a job that has a part of its nodes.
    let text = r#"{"version": 1, "execution": {"R_lite": [{"rank": "0-1", "children": {"core": "2-3", "gpu": "2-3"}}], "starttime": 1795722720.9015334, "expiration": 0.0, "nslots": 4, "nodelist": ["n[0-1]"]}}"#;
    let granted = |host: &str, cores: &[u32], gpus: Option<&[u32]>| Granted {
        host: host.to_owned(),
        cpus: u32::try_from(cores.len()).unwrap(),
        which: Which::Cores(cores.to_vec()),
        gpus: gpus.map(<[u32]>::to_vec),
    };
    let both = ["n0", "n1"].map(|host| granted(host, &[2, 3], Some(&[2, 3])));
    assert_eq!(flux(text, "R").unwrap(), both);
    let of = |parts: &str, nodes: &str| {
        flux(
            &format!(r#"{{"version":1,"execution":{{"R_lite":[{parts}],"nodelist":[{nodes}]}}}}"#),
            "R",
        )
    };
    // Hosts are in the order of the ranks, whatever the order of the parts. Where some node has GPUs, the
    // others have none.
    let parts = r#"{"rank":"3","children":{"core":"0"}},{"rank":"0,2","children":{"core":"0-1","gpu":"1"}}"#;
    let expected = [("a", 2, Some(&[1][..])), ("b", 2, Some(&[1])), ("c", 1, Some(&[]))];
    let expected = expected.map(|(host, cores, gpus)| granted(host, &[0, 1][..cores], gpus));
    assert_eq!(of(parts, r#""a","b","c""#).unwrap(), expected);
    let plain = r#"{"rank":"0-1","children":{"core":"0"}}"#;
    // Several brokers on a host, as in tests.
    assert_eq!(of(plain, r#""n0","n0""#).unwrap(), [granted("n0", &[0], None)]);
    for (parts, nodes, found) in [
        (plain, r#""n0""#, "1 host names for 2 ranks"),
        (plain, "", "an empty name"),
        (plain, r#""n[0""#, "without a closing bracket"),
        (r#"{"rank":"x","children":{"core":"0"}}"#, r#""n0""#, "`x`"),
        (r#"{"rank":"0","children":{"core":""}}"#, r#""n0""#, "no core of n0"),
        (r#"{"rank":"0","children":{}}"#, r#""n0""#, "missing field `core`"),
        (
            r#"{"rank":"0-60000","children":{"core":"0-60000"}}"#,
            r#""n0""#,
            "more than 100000 nodes",
        ),
    ] {
        let error = of(parts, nodes).unwrap_err().to_string();
        assert!(error.contains(found), "{found}: {error}");
    }
    for text in ["", "[]", r#"{"version":2,"execution":{"R_lite":[]}}"#] {
        assert!(flux(text, "R").is_err(), "{text}");
    }
    // The cores are L#.
    let mut machine = synthetic::parse("core:2 pu:2").unwrap();
    for (at, id) in [0, 2, 1, 3].map(crate::ids::PuId).into_iter().enumerate() {
        machine.pus[at].id = id;
        machine.cores[at / 2].pus[at % 2] = id;
    }
    let group = NodeGroup::all_free(machine);
    let like = ClusterDescription::uniform("c", vec!["n0".to_owned()], group).build().unwrap();
    let free = |core: u32| cluster(&like, &[granted("n0", &[core], None)], Cpu::Thread);
    assert_eq!(free(1).unwrap().cluster.groups[0].free, [false, false, true, true]);
    assert!(matches!(free(2), Err(Misfit::NoSuchCpu { has: 2, .. })));
}

#[test]
fn the_job_around_a_program_has_a_system_and_a_title() {
    let slurm = "SLURM_JOB_ID=7\nSLURM_JOB_NODELIST=n0\n";
    for (text, expected) in [
        ("HOME=/home/me\n", None),
        // A variable that users set by hand.
        ("SLURM_JOB_ID=7\n", None),
        (slurm, Some("slurm: job 7 of Slurm")),
        ("SLURM_JOB_ID=8\nSLURM_HET_SIZE=2\n", Some("slurm: job 8 of Slurm")),
        ("LSB_JOBID=7\nLSB_MCPU_HOSTS=a 1\n", Some("lsf: job 7 of LSF")),
        ("PBS_JOBID=7.server\nPBS_NODEFILE=f\n", Some("pbs: job 7.server of PBS")),
        ("FLUX_ENCLOSING_ID=f7\n", Some("flux: job f7 of Flux")),
        ("FLUX_ENCLOSING_ID=f7\nFLUX_JOB_ID=f9\n", Some("flux: job f9 of Flux")),
    ] {
        let system = BatchSystem::around(job(text));
        let found = system.map(|it| format!("{} {}", it.prefix(), it.title(job(text))));
        assert_eq!(found.as_deref(), expected, "{text}");
    }
    assert_eq!(BatchSystem::Flux.hosts(job("FLUX_JOB_ID=f7")).unwrap(), None);
    let error = BatchSystem::Pbs.hosts(job("PBS_JOBID=7")).unwrap_err().to_string();
    assert!(error.starts_with("PBS_NODEFILE: found nothing in the environment"), "{error}");
}

#[test]
fn what_is_known_of_a_job_is_told_with_its_hosts() {
    let variables = "SLURM_JOB_ID=7\nSLURM_JOB_NODELIST=n[0-1]\nSLURM_JOB_CPUS_PER_NODE=4(x2)\n\
        SLURM_TASKS_PER_NODE=2(x2)\nSLURM_CPUS_PER_TASK=2\n";
    // On n1 Slurm tells of fewer CPUs than it granted.
    let said = "Nodes=n0 CPU_IDs=4-7 GRES=gpu:1(IDX:3)\nNodes=n1 CPU_IDs=0-1 GRES=\n";
    let JobGrant { hosts, shares } =
        BatchSystem::Slurm.grant(job(variables), said).unwrap().unwrap();
    let which: Vec<&Which> = hosts.iter().map(|granted| &granted.which).collect();
    assert_eq!(which, [&Which::Slurm(vec![4, 5, 6, 7]), &Which::Unknown]);
    assert_eq!((&hosts[0].gpus, &hosts[1].gpus), (&Some(vec![3]), &Some(Vec::new())));
    let of_hosts = [("n0", 2), ("n1", 2)].map(|(host, tasks)| (host.to_owned(), tasks)).to_vec();
    assert_eq!(shares, TaskShares { cpus_per_task: Some(2), of_hosts });
    assert_eq!(TaskShares::around(job(variables)), Some(shares));
    assert_eq!(TaskShares::around(job("LSB_JOBID=7\nLSB_MCPU_HOSTS=a 1")), None);

    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let affinity = file("affinity", "a 0,1\na 4,5\n");
    let lsf = format!("LSB_JOBID=7\nLSB_MCPU_HOSTS=a 2 b 2\nLSB_AFFINITY_HOSTFILE={affinity}\n");
    let JobGrant { hosts, shares } = BatchSystem::Lsf.grant(job(&lsf), "").unwrap().unwrap();
    assert_eq!(listed(&hosts), [("a", 4), ("b", 2)]);
    assert_eq!(hosts[0].which, Which::Pus("0-1,4-5".parse().unwrap()));
    assert_eq!(shares.cpus_per_task, Some(2));

    let (nodes, gpus) = (file("nodes", "a\na\nb\n"), file("gpus", "a-gpu1\n"));
    let pbs = format!("PBS_JOBID=7\nPBS_NODEFILE={nodes}\nPBS_GPUFILE={gpus}\n");
    let hosts = BatchSystem::Pbs.grant(job(&pbs), "").unwrap().unwrap().hosts;
    assert_eq!(listed(&hosts), [("a", 2), ("b", 1)]);
    assert_eq!((&hosts[0].gpus, &hosts[1].gpus), (&Some(vec![1]), &None));
}

#[test]
fn only_described_nodes_are_those_of_a_job() {
    let machine = synthetic::parse("pack:1 core:4 pu:1").unwrap();
    let names = ["n0", "n1.site", "n2"].map(str::to_owned).to_vec();
    let cluster = ClusterDescription::uniform("c", names, NodeGroup::all_free(machine));
    let mut cluster = cluster.build().unwrap();
    let hosts = |names: &[&str]| {
        let host = |name: &&str| Host { name: (*name).to_owned(), slots: None };
        JobHosts::Slots(names.iter().map(host).collect())
    };
    let part = hosts(&["n1", "n0", "x"]).nodes_of(&cluster).unwrap().unwrap();
    let names: Vec<&str> = part.nodes.iter().map(|node| node.name.as_str()).collect();
    assert_eq!(names, ["n1.site", "n0"]);
    assert_eq!(hosts(&["x"]).nodes_of(&cluster).unwrap(), None);
    cluster = cluster.edit(|cluster| cluster.invented = true).unwrap();
    assert_eq!(hosts(&["n0"]).nodes_of(&cluster).unwrap(), None);
}
