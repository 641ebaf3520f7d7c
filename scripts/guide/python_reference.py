"""The reference of the Python package as Markdown, from its sources and docstrings, without importing it."""

import ast
import inspect
import re
import textwrap


def reference(package):
    """One chapter: all public names of the package in a folder."""
    entry = ast.parse((package / "__init__.py").read_text(encoding="utf-8"))
    public, origin = [], {}
    for node in entry.body:
        if isinstance(node, ast.ImportFrom) and node.level == 1:
            for alias in node.names:
                origin[alias.asname or alias.name] = (node.module, alias.name)
        elif isinstance(node, ast.Assign) and node.targets[0].id == "__all__":
            public = ast.literal_eval(node.value)
    classes = {
        node.name: node
        for source in sorted(package.glob("*.py"))
        for node in ast.parse(source.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef)
    }
    private = {name: node for name, node in classes.items() if name not in public}
    parts = ["# The Python package\n", prose(ast.get_docstring(entry)), ""]
    for kind in (ast.FunctionDef, ast.ClassDef):
        parts.append("## Functions\n" if kind is ast.FunctionDef else "## Classes\n")
        for name in public:
            module, original = origin[name]
            source = package / f"{module}.py"
            if not source.exists():
                continue  # of the extension module: the version
            found = next(
                (n for n in ast.parse(source.read_text(encoding="utf-8")).body if getattr(n, "name", "") == original), None
            )
            if isinstance(found, kind):
                parts.append(function(found, name, "###") if kind is ast.FunctionDef else class_(found, name, private))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(parts))


def methods(node, private):
    """The functions of a class, then those that it has from bases that have no chapter of their own."""
    found = {n.name: n for n in node.body if isinstance(n, ast.FunctionDef)}
    for base in node.bases:
        if ast.unparse(base) in private:
            for member in methods(private[ast.unparse(base)], private):
                found.setdefault(member.name, member)
    return list(found.values())


def class_(node, name, private):
    bases = [ast.unparse(base) for base in node.bases]
    parts = [f"### {name}\n"]
    members = methods(node, private)
    start = next((n for n in members if n.name == "__init__"), None)
    if start is not None:
        parts.append(signature(start, name))
    elif bases:
        parts.append(f"```python\nclass {name}({', '.join(bases)})\n```\n")
    parts.append(prose(ast.get_docstring(node)))
    for member in members:
        if member.name.startswith("_") or not ast.get_docstring(member):
            continue
        if "property" in [ast.unparse(d) for d in member.decorator_list]:
            kind = f": `{ast.unparse(member.returns)}`" if member.returns else ""
            parts.append(f"#### {name}.{member.name}\n\nProperty{kind}.\n\n{prose(ast.get_docstring(member))}")
        else:
            parts.append(function(member, f"{name}.{member.name}", "####"))
    return "\n".join(parts)


def function(node, name, heading):
    return f"{heading} {name}\n\n{signature(node, name)}\n{prose(ast.get_docstring(node))}"


def signature(node, name):
    arguments = node.args
    first = (arguments.posonlyargs + arguments.args)[:1]
    if first and first[0].arg in ("self", "cls"):
        (arguments.posonlyargs or arguments.args).pop(0)
    # One argument per line where it is long; commas within brackets do not end one.
    text = ast.unparse(arguments)
    returns = f" -> {ast.unparse(node.returns)}" if node.returns and node.name != "__init__" else ""
    line = f"{name}({text}){returns}"
    if len(line) > 100:
        parts, depth, part = [], 0, ""
        for character in text:
            depth += (character in "([{") - (character in ")]}")
            if character == "," and depth == 0:
                parts.append(part.strip())
                part = ""
            else:
                part += character
        line = f"{name}(\n" + "".join(f"    {p},\n" for p in [*parts, part.strip()]) + f"){returns}"
    return f"```python\n{line}\n```\n"


def prose(text):
    """A docstring as Markdown: sections with lists, examples and literal blocks as code."""
    out, code, entry_indent = [], None, None
    lines = inspect.cleandoc(text or "").splitlines()
    for number, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        if code is not None:
            ends = not line.strip() if code == ">>>" else line.strip() and indent == 0
            if not ends:
                out.append(line if code == ">>>" else line[4:])
                continue
            while not out[-1].strip():
                out.pop()
            out += ["```", ""]
            code = None
        if line.startswith(">>> "):
            code = ">>>"
            out += ["", "```python", line]
        elif re.fullmatch(r"(Args|Attributes|Returns|Raises|Yields):", line):
            out += ["", f"**{line[:-1]}**", ""]
            entry_indent = 4
        elif entry_indent and indent == entry_indent:
            name, colon, rest = line.strip().partition(": ")
            listed = colon and re.fullmatch(r"[\w*, .]+", name)
            out.append(f"- `{name}`: {markup(rest)}" if listed else markup(line.strip()))
        elif entry_indent and indent > entry_indent:
            out.append("  " + markup(line.strip()))
        elif line.endswith("::") and any(later.startswith("    ") for later in lines[number + 1 : number + 3]):
            out += [markup(line[:-1]), "", "```python"]
            code = "::"
        else:
            if line.strip():
                entry_indent = None
            out.append(markup(line))
    if code is not None:
        out.append("```")
    return re.sub(r"```python\n\n+", "```python\n", textwrap.dedent("\n".join(out))) + "\n"


def markup(text):
    text = re.sub(r":(?:func|class|meth|attr|data|exc|mod):`~?([^`]+)`", r"`\1`", text)
    return text.replace("``", "`")
