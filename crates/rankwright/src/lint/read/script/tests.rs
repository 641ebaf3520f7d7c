//! Wrapper scripts as users write them.

use std::collections::BTreeMap;
use std::path::Path;

use super::run::Shell;
use super::syntax::parse;
use crate::cluster;
use crate::lint::{Reading, find, read_guessed};

/// The exported variables and the words before the program, for a local rank of four.
fn started(script: &str, local: usize) -> Result<(BTreeMap<String, String>, Vec<String>), String> {
    let set = |(name, value): (&str, String)| (name.to_owned(), Ok(value));
    let variables = [("LOCAL", local.to_string()), ("N", "4".to_owned())].map(set);
    let mut shell = Shell::new(BTreeMap::from(variables));
    shell.arguments = vec!["./app".to_owned()];
    let list = parse(script).map_err(|(line, what)| format!("{line}: {what}"))?;
    let started = shell.run(&list).map_err(|(line, what)| format!("{line}: {what}"))?;
    let started = started.ok_or("not started")?;
    let known = started.exported.into_iter().filter_map(|(name, value)| Some((name, value.ok()?)));
    let known = known.filter(|(name, _)| name != "LOCAL" && name != "N").collect();
    Ok((known, started.before))
}

fn gpu(script: &str, local: usize) -> String {
    let (exported, _) = started(script, local).unwrap_or_else(|why| panic!("{script}\n{why}"));
    exported.get("GPU").cloned().unwrap_or_default()
}

#[test]
fn scripts_give_each_rank_what_a_shell_would() {
    for (script, expected) in [
        ("export GPU=$LOCAL\nexec \"$@\"", "3"),
        ("export GPU=$((LOCAL % 2)); \"$@\"", "1"),
        ("GPU=$(( (N - 1) - $LOCAL ))\nexport GPU\n\"$@\"", "0"),
        ("let x=LOCAL+1\nexport GPU=${x}\n$@", "4"),
        ("GPUS=(3 2 1 0)\nexport GPU=${GPUS[$LOCAL]}\nexec $*", "0"),
        ("GPUS=(3 2 1 0); export GPU=${GPUS[LOCAL % ${#GPUS[@]}]}; exec \"$@\"", "0"),
        (
            "case ${LOCAL} in\n  [0-2]) export GPU=0 ;;\n  3|7) export GPU=9;;\n  *) ;;\nesac\n\"$@\"",
            "9",
        ),
        (
            "if [ $LOCAL -eq 0 ]; then\n  export GPU=a\nelif [[ $LOCAL == 3 && -n $N ]]; then\n export GPU=b\nelse\n export GPU=c\nfi\nexec \"$@\"",
            "b",
        ),
        ("(( LOCAL > 2 )) && GPU=1 || GPU=2\nexport GPU\n\"$@\"", "1"),
        ("export GPU=${UNSET:-$LOCAL}\n\"$@\"", "3"),
        ("export GPU=`expr $LOCAL % 2`\nexec \"$@\"", "1"),
        ("for i in 5 6; do export GPU=$i; done\nexec \"$@\"", "6"),
        (
            "set -e # all\nmodule load cuda > /dev/null 2>&1\necho \"rank $LOCAL\"\nenv GPU=7 \"$@\"",
            "7",
        ),
        ("GPU=8 \"$@\"", "8"),
        ("list=4,5,6,7\nexport GPU=${list:6:1}\n\"$@\"", "7"),
        ("f() {\n GPU=$(( $1 * 2 ))\n}\nf $LOCAL\nexport GPU\n\"$@\"", "6"),
        ("declare -i GPU=LOCAL*2+1; export GPU; exec \"$@\"", "7"),
        ("f() { local -i n=$LOCAL/2; n+=4; GPU=$n; }; f; export GPU; exec \"$@\"", "5"),
        ("declare -a A=(4 5); A+=(6 7); export GPU=${A[LOCAL]}; exec \"$@\"", "7"),
        ("mapfile -t nics < <(ls /sys)\nexport GPU=$LOCAL$((  ))\nexec \"$@\"", "30"),
        ("function f {\n export GPU=5; }\nsource /etc/profile\nf\n\"$@\"", "5"),
    ] {
        assert_eq!(gpu(script, 3), expected, "{script}");
    }
}

#[test]
fn words_before_the_program_bind_it() {
    let script = "exec numactl --cpunodebind=$((LOCAL / 2)) --membind=$((LOCAL/2)) \"$@\"";
    let (_, before) = started(script, 3).unwrap();
    assert_eq!(before, ["numactl", "--cpunodebind=1", "--membind=1"]);
    let (_, before) = started("exec taskset -c $LOCAL ./app", 1).unwrap();
    assert_eq!(before, ["taskset", "-c", "1", "./app"]);
    let (_, before) = started("set -- 4 5 6\nexec taskset -c $2 ./app", 1).unwrap();
    assert_eq!(before, ["taskset", "-c", "5", "./app"]);
}

#[test]
fn what_is_not_known_is_said_with_its_line() {
    for (script, why) in [
        ("\nif [ -f /x ]; then\n:\nfi\n\"$@\"", "2: `-f /x`"),
        ("while true; do :; done\n\"$@\"", "1: `while`"),
        ("case $(uname) in *) ;; esac\n\"$@\"", "1: `$(uname)`"),
        ("x=$((1 / 0))\n[ $x -eq 1 ]\n\"$@\"", "2: a division by zero"),
        ("'", "1: no closing '"),
        ("if true; then", "1: no `fi`"),
        ("echo", "not started"),
        ("f() { f; }\nf\n\"$@\"", "1: the function `f`, which calls itself"),
    ] {
        let error = started(script, 0).unwrap_err();
        assert!(error.starts_with(why), "{script}: {error}");
    }
    let (known, _) = started("export GPU=$(lspci | head)\nexport A=1\n\"$@\"", 0).unwrap();
    assert_eq!(known.into_iter().collect::<Vec<_>>(), [("A".to_owned(), "1".to_owned())]);
}

/// Two packages, each with a NUMA node of four cores, two GPUs and a network device.
const NODE: &str = r#"
name = "two"
[[node]]
names = "n[0-1]"
topology = "pack:2 numa:1 core:4 pu:1"
[[node.nic]]
name = "mlx5_0"
near = "numa:0"
[[node.nic]]
name = "mlx5_1"
near = "numa:1"
[[node.gpu]]
name = "cuda0"
near = "numa:1"
[[node.gpu]]
name = "cuda1"
near = "numa:1"
[[node.gpu]]
name = "cuda2"
near = "numa:0"
[[node.gpu]]
name = "cuda3"
near = "numa:0"
"#;

fn linted(script: &str, arguments: &str) -> Reading {
    let cluster = cluster::read::toml::parse(NODE, "two.toml", Path::new("")).unwrap();
    let arguments: Vec<String> = arguments.split_whitespace().map(str::to_owned).collect();
    read_guessed(script, "wrapper.sh", &arguments, Some(&cluster)).unwrap().reading
}

fn codes(reading: &Reading) -> Vec<&str> {
    let mut codes: Vec<&str> = reading.warnings.iter().map(|warning| warning.trap.code).collect();
    codes.dedup();
    codes
}

const HEAD: &str = "#!/bin/bash\nexport CUDA_VISIBLE_DEVICES=";

#[test]
fn devices_far_from_the_cores_are_named() {
    let script = |gpu: &str| {
        let bind = "exec numactl -N $((SLURM_LOCALID / 2)) -m $((SLURM_LOCALID / 2)) \"$@\"\n";
        format!("{HEAD}{gpu}\nexport UCX_NET_DEVICES=mlx5_$((SLURM_LOCALID / 2)):1\n{bind}")
    };
    let far = linted(&script("$SLURM_LOCALID"), "");
    assert_eq!(codes(&far), ["gpu-far-from-cores"]);
    assert_eq!(far.warnings.len(), 4, "{:?}", far.warnings);
    assert_eq!(
        far.warnings[0].text,
        "rank 0: GPU cuda0 is beside NUMA node 1, its cores are beside NUMA node 0; cuda2, cuda3 \
         would be near"
    );
    let near = linted(&script("$(( (SLURM_LOCALID + 2) % 4 ))"), "-n 8 --ntasks-per-node=4");
    assert_eq!(codes(&near), [""; 0]);
    assert_eq!(near.ranks.len(), 8);
    assert_eq!(near.ranks[5].host, "n1");
    let devices = near.ranks[5].devices.clone().unwrap();
    assert_eq!(devices.gpus.unwrap(), ["cuda3"]);
    assert_eq!((devices.nics, devices.memory), (vec!["mlx5_0".to_owned()], vec![0]));
}

#[test]
fn devices_that_are_missing_shared_or_filtered_twice_are_named() {
    let with = |lines: &str, arguments: &str| {
        let text = format!("#!/bin/sh\n{lines}\nexec \"$@\"\n");
        let reading = linted(&text, arguments);
        let text: Vec<&str> = reading.warnings.iter().map(|it| it.text.as_str()).collect();
        (codes(&reading).join(" "), text.join("; "))
    };
    let local = "OMPI_COMM_WORLD_LOCAL_RANK";
    let gpu = |value: &str| format!("export CUDA_VISIBLE_DEVICES={value}");
    let (code, text) = with(&gpu(&format!("$(({local} + 1))")), "-n 4");
    assert_eq!(
        (code.as_str(), text.as_str()),
        ("no-such-gpu", "rank 3: GPU 4, but the node has 4, from 0")
    );
    let (code, text) = with(&gpu(&format!("$(({local} % 2))")), "-n 4");
    assert_eq!(code, "gpu-shared");
    assert!(text.starts_with("ranks 0,2: they share GPU cuda0, and no rank uses cuda2"), "{text}");
    let twice =
        format!("export ROCR_VISIBLE_DEVICES=${local}\nexport HIP_VISIBLE_DEVICES=${local}");
    let (code, text) = with(&twice, "-n 2");
    assert_eq!(code, "no-such-gpu");
    assert!(text.contains("rank 1: HIP_VISIBLE_DEVICES counts among the GPUs"), "{text}");
    // Under srun it is not set: all ranks would see no GPU.
    let (code, text) = with(&gpu(&format!("${local}")), "srun -n 4");
    assert_eq!(code, "no-such-gpu variable-of-another-launcher");
    assert!(text.contains("the list is empty"), "{text}");
    let (code, _) = with("exec numactl -N $PMI_RANK \"$@\"", "-n 4");
    assert_eq!(code, "no-such-numa-node");
    let (code, _) = with(&format!("if [ ${local} -lt 2 ]; then exec \"$@\"; fi; exit 0"), "-n 4");
    assert_eq!(code, "script-starts-nothing");
}

#[test]
fn ranks_on_a_node_are_as_many_as_its_gpus_unless_said() {
    let script = format!("{HEAD}$SLURM_LOCALID\nexec \"$@\"\n");
    let reading = linted(&script, "");
    assert_eq!(reading.ranks.len(), 4);
    assert!(
        reading.notes[0].starts_with("read for one rank per GPU: 4 on a node"),
        "{:?}",
        reading.notes
    );
    let without = find("wrapper").unwrap().read(&script, "w.sh", &[], None).unwrap_err();
    assert!(without.to_string().contains("--launcher-args"), "{without}");
    let many = ["-n".to_owned(), "99".to_owned()];
    let cluster = cluster::read::toml::parse(NODE, "two.toml", Path::new("")).unwrap();
    let error = find("wrapper").unwrap().read(&script, "w.sh", &many, Some(&cluster)).unwrap_err();
    assert!(error.to_string().contains("99 ranks"), "{error}");
}

#[test]
fn broken_scripts_end_with_an_error_and_never_hang() {
    let pieces = [
        "if",
        "case x in",
        "(",
        "((",
        "$((",
        "${",
        "[[",
        "for i",
        "do",
        ";;",
        "a=(",
        "`",
        "<<E",
        "&",
        "|",
        "}",
    ];
    for first in pieces {
        for second in pieces {
            let _ = started(&format!("{first} {second}\n\"$@\""), 0);
        }
    }
    let deep = format!("{}{}", "(".repeat(10_000), ")".repeat(10_000));
    assert!(started(&deep, 0).is_err());
    let signs = format!("x=$(({}1))\n[ $x ]\n\"$@\"", "-".repeat(10_000));
    assert!(started(&signs, 0).is_err());
    assert!(started(&format!("export A={}\n\"$@\"", "$(echo ".repeat(300)), 0).is_err());
}

#[test]
fn a_binding_that_is_not_known_is_not_told_as_none() {
    for script in [
        "IFS=, read -ra B <<< \"0-1,2-3\"\nexec taskset -c ${B[$SLURM_LOCALID]} \"$@\"\n",
        "exec hwloc-bind numa:0 -- \"$@\"\n",
        "if [ -f /x ]; then A=1; fi\nexec numactl -C $A \"$@\"\n",
    ] {
        let script = format!("{HEAD}$SLURM_LOCALID\n{script}");
        let reading = linted(&script, "-n 2 --ntasks-per-node=2");
        assert_eq!(reading.ranks.len(), 2);
        for rank in &reading.ranks {
            assert_eq!((rank.bound, &rank.pus), (true, &None), "{script}");
        }
        assert_eq!(reading.notes.len(), 1, "{:?}", reading.notes);
    }
}

#[test]
fn what_is_not_evaluated_is_told_and_never_guessed() {
    for (lines, what) in [
        (
            "mapfile -t G < <(nvidia-smi)\nexport CUDA_VISIBLE_DEVICES=${G[0]}",
            "what `mapfile` reads",
        ),
        (
            "G=(7)\nreadarray G < list\nexport CUDA_VISIBLE_DEVICES=${G[*]}",
            "what `readarray` reads",
        ),
        ("declare -A G=([n0]=1)\nexport CUDA_VISIBLE_DEVICES=${G[n0]}", "the associative array G"),
        ("G=([2]=1)\nexport CUDA_VISIBLE_DEVICES=${G[2]}", "whose elements have indices"),
        ("G=($(cmd))\nexport CUDA_VISIBLE_DEVICES=${G[0]}", "`$(cmd)`"),
        ("declare -i G=$(cmd)\nexport CUDA_VISIBLE_DEVICES=$G", "`$(cmd)`"),
        ("export CUDA_VISIBLE_DEVICES=$((SLURM_LOCALID +))", "ends where a number must follow"),
    ] {
        let script = format!("#!/bin/bash\n{lines}\n# $SLURM_LOCALID\nexec \"$@\"\n");
        let reading = linted(&script, "");
        let told = reading.notes.join("\n");
        assert!(told.contains(what) && told.contains("is not evaluated"), "{script}{told}");
        let gpus = reading.ranks.iter().filter_map(|rank| rank.devices.as_ref()?.gpus.as_ref());
        assert_eq!(gpus.count(), 0, "{script}");
    }
}

#[test]
fn missing_devices_are_one_sorted_line() {
    let script = format!("{HEAD}$((SLURM_LOCALID + 2))\nexec \"$@\"\n");
    let reading = linted(&script, "-n 12 --ntasks-per-node=12");
    let missing = reading.warnings.iter().filter(|warning| warning.trap.code == "no-such-gpu");
    let texts: Vec<&str> = missing.map(|warning| warning.text.as_str()).collect();
    assert_eq!(texts, ["ranks 2-11: GPUs 4-13, but the node has 4, from 0"]);
}

#[test]
fn the_number_of_ranks_on_a_node_is_a_variable_too() {
    let script = format!("{HEAD}$((SLURM_LOCALID % SLURM_NTASKS_PER_NODE))\nexec \"$@\"\n");
    for arguments in ["srun -n 4 --ntasks-per-node=2", "srun -n 4 SLURM_NTASKS_PER_NODE=2"] {
        let reading = linted(&script, arguments);
        assert_eq!(reading.hosts.len(), 2, "{arguments}");
        let gpu = reading.ranks[3].devices.clone().unwrap().gpus.unwrap();
        assert_eq!(gpu, ["cuda1"], "{arguments}: {:?}", reading.notes);
    }
}
