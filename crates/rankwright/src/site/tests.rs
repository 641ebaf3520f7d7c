use super::*;

fn parse(text: &str, file: &str) -> Result<SiteFile, InputError> {
    SiteFile::parse(text, file, Path::new("/etc/rankwright"))
}

const OF_SITE: &str = "\
launcher = \"slurm\"
cluster = \"thin.toml\"

[[partition]]
name = \"standard, long\"
default = true

[[partition]]
name = \"gpu\"
cluster = \"fat.toml\"
fabric = \"ucx\"
[partition.rates]
nic_bandwidth = \"25 GB/s\"
";

/// Cluster, launcher and network stack, each with its source.
fn told(files: &[SiteFile], partition: Option<&str>) -> [String; 3] {
    fn text<T>(value: Option<Sourced<T>>, name: impl Fn(&T) -> &str) -> String {
        value.map_or("-".to_owned(), |it| format!("{} by {}", name(&it.value), it.source))
    }
    let values = defaults(files, partition).unwrap();
    [
        text(values.cluster, |name| name),
        text(values.launcher, |launcher| launcher.name),
        text(values.fabric, |stack| stack.name),
    ]
}

#[test]
fn a_partition_overrides_the_file_field_by_field() {
    let site = [parse(OF_SITE, "site").unwrap()];
    let thin = ["/etc/rankwright/thin.toml by site:2", "slurm by site:1", "-"];
    assert_eq!(told(&site, Some("standard")), thin);
    assert_eq!(told(&site, Some("long")), thin);
    assert_eq!(told(&site, None), thin);
    let fat = ["/etc/rankwright/fat.toml by site:10", "slurm by site:1", "ucx by site:11"];
    assert_eq!(told(&site, Some("gpu")), fat);
    let rates = defaults(&site, Some("gpu")).unwrap().rates.unwrap();
    assert_eq!(rates.value.nic_bandwidth, "25 GB/s".parse().ok());
    assert_eq!(rates.source.to_string(), "site:12");
    assert!(defaults(&site, None).unwrap().rates.is_none());
}

#[test]
fn a_later_file_overrides_an_earlier_one_field_by_field() {
    let own = "cluster = \"synthetic:core:4 pu:1\"\n[[partition]]\nname = \"debug\"\n\
               default = true\nlauncher = \"openmpi5\"\n";
    let files = [parse(OF_SITE, "site").unwrap(), parse(own, "own").unwrap()];
    let mine = "synthetic:core:4 pu:1 by own:1";
    assert_eq!(told(&files, Some("gpu")), [mine, "slurm by site:1", "ucx by site:11"]);
    // A partition that only one of the files has, and the later default.
    let debug = [mine, "openmpi5 by own:5", "-"];
    assert_eq!(told(&files, Some("debug")), debug);
    assert_eq!(told(&files, None), debug);
    assert_eq!(told(&[], Some("gpu")), ["-", "-", "-"]);
}

#[test]
fn partitions_without_a_default_must_be_chosen() {
    let site = parse(OF_SITE, "site").unwrap();
    let own = parse("[[partition]]\nname = \"gpu,debug\"\n", "own").unwrap();
    assert_eq!(partitions_to_choose(&[site.clone(), own.clone()]), [""; 0]);
    let other = parse(&OF_SITE.replace("default = true", ""), "site").unwrap();
    assert_eq!(partitions_to_choose(&[other, own]), ["standard", "long", "gpu", "debug"]);
}

#[test]
fn a_file_without_partitions_holds_for_all() {
    let site = [parse("cluster = \"paper:2013\"\n", "site").unwrap()];
    assert_eq!(told(&site, Some("any"))[0], "paper:2013 by site:1");
}

#[test]
fn what_is_wrong_is_named_with_its_line() {
    let two = |second: &str| format!("[[partition]]\nname = \"a\"\ndefault = true\n{second}");
    let wrong = [
        (
            two("[[partition]]\nname = \"b\"\ndefault = true\n"),
            "s:6: partition.default: found a second default, expected at most one partition with \
             default = true; the first one is `a` in line 2",
        ),
        (
            two("[[partition]]\nname = \"b,a\"\n"),
            "s:5: partition.name: found a second partition `a`, expected every partition once; the \
             first one is in line 2",
        ),
        (
            "[[partition]]\nname = \"a,,b\"\n".to_owned(),
            "s:2: partition.name: found `a,,b`, expected the name of a partition, or several with \
             commas between them",
        ),
        ("cluster = \"-\"\n".to_owned(), "s:1: cluster: found `-`, expected a cluster.toml, "),
        ("launcher = \"srun\"\n".to_owned(), "s:1: launcher: found `srun`, expected openmpi4, "),
        ("\nfabric = \"opa\"\n".to_owned(), "s:2: fabric: found `opa`, expected "),
        ("rates = \"fast\"\n".to_owned(), "s:1: rates: found `fast`, expected "),
        ("on = \"x.toml\"\n".to_owned(), "s:1: found unknown field `on`, expected "),
        ("[[partition]]\n".to_owned(), "s:1: found no field `name`, expected "),
    ];
    for (text, message) in wrong {
        let error = parse(&text, "s").expect_err(&text).to_string();
        assert!(error.starts_with(message), "{error}");
    }
}

#[test]
fn a_partition_that_no_file_has_is_named_with_those_that_it_has() {
    let files = [parse(OF_SITE, "site").unwrap(), parse("fabric = \"ucx\"\n", "own").unwrap()];
    let error = defaults(&files, Some("debug")).unwrap_err().to_string();
    let expected = "site:5: partition.name: found no partition `debug`, expected standard, long, gpu, \
                    or a table [[partition]] with name = \"debug\"";
    assert_eq!(error, expected);
}
