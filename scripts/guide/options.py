"""Whether the commands and options that a page names exist."""

import re
import shlex

import check_links
from blocks import blocks_of, steps

# Options of other programs that the text names alone.
FOREIGN = set(
    """
    --bind-to --map-by --rank-by --mca --prtemca --hostfile --default-hostfile --report-bindings --oversubscribe
    --cpu-bind --overlap --ntasks-per-node --ntasks --cpus-per-task --exclusive --oversubscribe --multi-prog
    --export --kill-on-bad-exit --wdir --app
    --cleanenv --bind --nodelist --no-default-features --node-name-map --taskmap --host --use-hwthread-cpus
    --exact --overcommit --preferred --membind --depth --ppn --appfile --map --trace --trace-options
    --npernode --npersocket --do-not-launch --display-devel-map --summary
    --pernode --ppr --bynode --bycore --byslot --cpus-per-proc --cpus-per-rank --bind-to-core --bind-to-socket
    --cpu-list --cpu-set --nolocal --tune --requires --tasks-per-node
    """.split()
)

# Names of options that the help does not list.
ALIASES = {("cluster", "import"): {"--on"}}



class Options:
    """What the program knows, and what is wrong with a command or an option."""

    def __init__(self, pages):
        self.pages = pages
        self.all = set().union(*(page.options for page in pages.values()))
        self.above = self.pages[()].options

    def objection(self, words):
        """What is wrong with a command line without `rankwright`; None if nothing is."""
        words = list(words)
        while words and words[0] in self.above | {"-qv"}:
            words.pop(0)
        if not words or not re.fullmatch(r"[a-z-]+", words[0]) or words[0].startswith("-"):
            return None  # a placeholder, or `rankwright` alone
        if words[0] == "help":
            words = words[1:]
        command = ()
        while words and command + (words[0],) in self.pages:
            command += (words.pop(0),)
        if words and any(len(other) == len(command) + 1 and other[:-1] == command for other in self.pages):
            if re.fullmatch(r"[a-z][a-z-]*", words[0]):
                return f"there is no command `rankwright {' '.join(command + (words[0],))}`"
        known = self.pages[command].options | self.above | ALIASES.get(command, set())
        if command == ("exec",):
            return None  # what follows is a program with its own options
        for word in words:
            if word == "--":
                break
            option = re.match(r"--[a-z][\w-]*|-[a-zA-Z](?=$|[^a-zA-Z-])", word)
            if option and option[0] not in known:
                return f"`rankwright {' '.join(command)}` has no option {option[0]}"
        return None

    def in_shell(self, line):
        """What is wrong with the commands of rankwright in a line of shell."""
        line = re.split(r"\s#\s", line)[0]
        for part in re.split(r"\|\||&&|[|;&]\s|\$\(", line):
            found = re.match(r"^(?:.*\s)?rankwright\s+(.*)$", part.strip())
            if found and "=" != found[1][:1]:
                yield self.objection(words_of(found[1]))

    def in_code(self, code):
        """What is wrong with `code` within the text."""
        words = words_of(code)
        if not words:
            return None
        if words[0] == "rankwright":
            return self.objection(words[1:])
        if (words[0],) in self.pages and len(words) > 1 and any(word.startswith("--") for word in words):
            return self.objection(words)
        option = re.match(r"--[a-z][\w-]+(?![\w.-])", words[0])
        if option and option[0] not in self.all | FOREIGN:
            return f"no command has the option {option[0]}, nor is it in FOREIGN of scripts/guide/options.py"
        return None


def words_of(text):
    """Words as a shell would see them; a word of several words is no option."""
    try:
        words = shlex.split(text, comments=False)
    except ValueError:
        words = text.split()
    return ["_" if " " in word else word for word in words]


def wrong_options(page, text, options):
    """A line for each option or command that does not exist."""
    wrong = []
    for number, line in check_links.prose(text):
        for code in re.findall(r"(?<!`)`([^`]+)`(?!`)", line):
            why = options.in_code(code.strip())
            if why:
                wrong.append(f"{page}:{number}: `{code}`: {why}")
    for block in blocks_of(page, text):
        if block.kind == "text" and re.match(r"(\$ )?rankwright [a-z]+ ", (block.text or [""])[0]):
            wrong.append(f"{page}:{block.line}: commands in a block marked `text`: mark it `sh` or `console`")
        lines = [re.sub(r"\\\n\s*", "", command) for _, command, _ in steps(block)] if block.kind != "python" else []
        if block.kind == "console" and not lines:
            lines = block.text
        for command in lines:
            for line in command.splitlines():
                wrong += [f"{page}:{block.line}: {line}: {why}" for why in options.in_shell(line) if why]
    return wrong
