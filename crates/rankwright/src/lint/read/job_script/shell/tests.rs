//! What a script is known to start.

use super::super::lexer::commands;
use super::*;

fn launches(text: &str) -> Vec<(usize, Vec<String>)> {
    let known = [("SLURM_NTASKS".to_owned(), Value::Known("8".to_owned()))];
    let commands = commands(text).unwrap();
    let launches = Shell::new(known.into()).launches(&commands);
    let text = |word: Expanded| word.unknown.map_or(word.text, |unknown| format!("?{unknown}"));
    launches.into_iter().map(|l| (l.line, l.words.into_iter().map(text).collect())).collect()
}

#[test]
fn words_are_those_of_a_shell() {
    let text = "cat <<END\nsrun it's -n 3\nEND\nA='-n 2 ' # it's\nif test \"$A\"; then\n  B=1; fi\n\
                X=1 /usr/bin/srun ${A}--label \\\n \"-c$A\" $B ${C:-3} $SLURM_NTASKS > o 2>&1 || exit\n\
                echo srun; time srun $(nproc) 'a b'\n";
    let first = ["-n", "2", "--label", "-c-n 2 ", "?$B", "?$C", "8"].map(str::to_owned).to_vec();
    let second = ["?$(nproc)", "a b"].map(str::to_owned).to_vec();
    assert_eq!(launches(text), [(7, first), (9, second)]);
}

#[test]
fn arrays_and_expressions_are_followed_as_far_as_they_are_known() {
    for (text, words) in [
        ("A=(-n 3 'a b')\nsrun \"${A[@]}\" ./a", ["-n", "3", "a b", "./a"].as_slice()),
        ("A=(srun -n)\nA+=(\n 2 # two\n)\n\"${A[@]}\" ./a", &["-n", "2", "./a"]),
        ("A=(4 5)\nsrun -n ${A[1]} ${A} ./a", &["-n", "5", "4", "./a"]),
        ("declare -i N=SLURM_NTASKS/2\nsrun -n $N ./a", &["-n", "4", "./a"]),
        (
            "N=$((SLURM_NTASKS * 2)); srun -n $N -c $(( N / ${SLURM_NTASKS} )) a",
            &["-n", "16", "-c", "2", "a"],
        ),
        ("O=-n; O+=' 4'\nsrun $O a", &["-n", "4", "a"]),
        ("declare -i N=3; N+=1; srun -n $N a", &["-n", "4", "a"]),
        // Not known.
        ("A=(1 2); A[1]=3\nsrun -n ${A[1]} a", &["-n", "?${A[1]}", "a"]),
        ("A=(1 2); A[$i]=3\nsrun -n ${A[1]} a", &["-n", "?${A[1]}", "a"]),
        ("O+=4\nsrun -n $O a", &["-n", "?$O", "a"]),
        ("mapfile -t A < <(srun hostname)\nsrun -n ${A[0]} a", &["-n", "?${A[0]}", "a"]),
        ("A=($(ls))\nsrun ${A[@]} a", &["?${A[@]}", "a"]),
        ("declare -A A=([x]=1)\nsrun -n ${A[x]} a", &["-n", "?${A[x]}", "a"]),
        ("declare -i N=$(nproc)\nsrun -n $N a", &["-n", "?$N", "a"]),
        ("A=([1]=3)\nsrun -n ${A[1]} a", &["-n", "?${A[1]}", "a"]),
        ("if test x; then A=(1); fi\nsrun -n ${A[0]} a", &["-n", "?${A[0]}", "a"]),
    ] {
        let found = launches(text);
        assert_eq!(found.len(), 1, "{text}: {found:?}");
        assert_eq!(found[0].1, words, "{text}");
    }
}

#[test]
fn open_quotes_and_continuations_are_damage() {
    assert_eq!(commands("a\n'b\nc").unwrap_err(), (2, "' without a closing quote".to_owned()));
    assert_eq!(commands("a\n\"b").unwrap_err(), (2, "\" without a closing quote".to_owned()));
    assert_eq!(commands("a $(b").unwrap_err(), (1, "$( without )".to_owned()));
    assert_eq!(commands("srun \\").unwrap_err().0, 1);
}
