"""Redaction measured: `python -m benchmarks.redact [--corpus DIR]`.

Four figures: how many megabytes of real logs it reads in a second of processor time; how many planted
secrets it masks, each of them random and of its kind's published form; how many it masks of those that are
written as `redact_spellings` lists it; how often it masks something in ordinary code and in real logs.
The planted forms and the rules have one author: the second figure says that nothing broke, not how much of
the world is covered. `--show` prints every hit of the last, to be looked at. With `--scanner`, kingfisher
(of the extra `bench`) reads the same planted lines and the same logs, by its own rules, offline.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import random
import shutil
import string
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from benchmarks.redact_spellings import ISSUED, Spelling, is_left, spellings
from recollect.redact import redact
from recollect.redact.issuers import issuers

SPEED_MB_LEAST = 10.0
FALSE_HITS_MAX = 1.0  # in 10,000 lines
SPELLED_LEAST = 0.95
ROUNDS = 25
LOG_BYTES = 60_000_000


@dataclass(frozen=True)
class Canary:
    """A secret of our own making, and a line of a log that holds it."""

    kind: str
    secret: str
    line: str


def canaries(seed: int) -> Iterator[Canary]:
    """One secret of every kind, the same for the same seed."""
    draw = random.Random(seed)
    for kind, secret, line in KINDS:
        made = secret(draw)
        yield Canary(kind, made, line.replace("@@", made))


def written(canary: Canary) -> Iterator[tuple[str, str]]:
    """The line in the shapes a log gives it, with the secret as it is written there."""
    yield canary.line, canary.secret
    for depth in (1, 2):
        line, secret = canary.line, canary.secret
        for _ in range(depth):
            line, secret = json.dumps({"output": line}), json.dumps(secret)[1:-1]
        yield line, secret
    yield f"curl 'https://app.local/?next={quote(canary.line, safe='')}'", quote(canary.secret, safe="")
    encoded = base64.b64encode(canary.line.encode()).decode()
    yield f"data: {encoded}", encoded


# -- what is planted ----------------------------------------------------------------------------

_ALNUM = string.ascii_letters + string.digits
_WORD = _ALNUM + "_-"
_HEX = "0123456789abcdef"
_BASE64 = _ALNUM + "+/"


def _of(letters: str, count: int, before: str = "", after: str = "") -> Callable[[random.Random], str]:
    # The last one is a letter or a digit: a sign at the end is not told from what follows.
    ends = [each for each in letters if each.isalnum()]
    return lambda draw: before + "".join(draw.choices(letters, k=count - 1)) + draw.choice(ends) + after


def _jwt(draw: random.Random) -> str:
    claims = {"sub": "".join(draw.choices(_ALNUM, k=9)), "iat": draw.randrange(10**9)}
    parts = [json.dumps({"alg": "HS256", "typ": "JWT"}), json.dumps(claims)]
    body = ".".join(base64.urlsafe_b64encode(each.encode()).decode().rstrip("=") for each in parts)
    return f"{body}.{_of(_WORD, 43)(draw)}"


def _key_block(draw: random.Random) -> str:
    lines = "\n".join("".join(draw.choices(_BASE64, k=64)) for _ in range(12))
    name = draw.choice(["RSA ", "EC ", "OPENSSH ", ""])
    return f"-----BEGIN {name}PRIVATE KEY-----\n{lines}\nab==\n-----END {name}PRIVATE KEY-----"


def _discord(draw: random.Random) -> str:
    number = base64.b64encode(str(draw.randrange(10**17, 10**18)).encode()).decode().rstrip("=")
    return f"{number}.{_of(_WORD, 6)(draw)}.{_of(_WORD, 38)(draw)}"


def _login(draw: random.Random) -> str:
    return base64.b64encode(f"ada:{_of(_ALNUM, 14)(draw)}".encode()).decode()


def _two(first: Callable[[random.Random], str], second: Callable[[random.Random], str], by: str) -> Any:
    return lambda draw: first(draw) + by + second(draw)


KINDS: tuple[tuple[str, Callable[[random.Random], str], str], ...] = (
    ("aws-access-key", _of(string.ascii_uppercase, 16, "AK" + "IA"), "aws_access_key_id = @@"),
    ("aws-secret", _of(_BASE64, 40), "aws_secret_access_key = @@"),
    ("github-token", _of(_ALNUM, 36, "gh" + "p_"), "git clone https://@@@github.com/ada/harbor"),
    ("github-token", _of(_ALNUM, 36, "gh" + "s_"), "remote: token @@ expired"),
    ("github-token", _of(_ALNUM + "_", 82, "github" + "_pat_"), "GH_TOKEN=@@ gh pr list"),
    ("gitlab-token", _of(_WORD, 20, "gl" + "pat-"), "PRIVATE-TOKEN: @@"),
    ("gitlab-token", _two(_of(_WORD, 27, "gl" + "pat-"), _of(_HEX, 9, "01."), "."), "glab auth login -t @@"),
    ("slack-token", _of(string.digits, 12, "xo" + "xb-", "-a9Kd83kSl2mQpZ7vB4nT1xR"), "bot: @@"),
    ("slack-webhook", _of(_ALNUM, 24, "T0A1B2C3D/B0A1B2C3D/"), "POST https://hooks.slack.com/services/@@"),
    ("stripe-key", _of(_ALNUM, 24, "sk" + "_live_"), 'stripe.api_key = "@@"'),
    ("openai-key", _of(_ALNUM, 48, "sk" + "-proj-"), "OPENAI: @@"),
    ("anthropic-key", _of(_WORD, 90, "sk" + "-ant-api03-"), 'client = Anthropic("@@")'),
    ("huggingface-token", _of(_ALNUM, 34, "h" + "f_"), "huggingface-cli login --token @@"),
    ("npm-token", _of(_ALNUM, 36, "np" + "m_"), "//registry.local/:_authToken=@@"),
    ("pypi-token", _of(_WORD, 150, "py" + "pi-AgEIcHlwaS5vcmc"), "twine upload -u __token__ -p @@"),
    ("sendgrid-key", _two(_of(_WORD, 22, "S" + "G."), _of(_WORD, 43), "."), "mail key @@ rejected"),
    ("twilio-key", _of(_HEX, 32, "S" + "K"), "twilio key sid @@"),
    ("telegram-token", _of(_WORD, 33, "123498765:" + "AA"), "GET https://api.telegram.org/bot@@/getMe"),
    ("discord-token", _discord, "client.login('@@')"),
    ("google-key", _of(_WORD, 35, "AI" + "za"), "maps.js?key=@@&v=3"),
    ("google-key", _of(_WORD, 120, "ya" + "29.a0"), "gcloud says @@"),
    ("azure-key", _of(_BASE64, 86, after="=="), "Protocol=https;AccountName=ada;AccountKey=@@"),
    ("signed-url", _of(_ALNUM, 43, after="%3D"), "https://ada.blob.local/c?sv=2022&se=2030&sr=c&sig=@@"),
    ("vault-token", _of(_WORD, 90, "hv" + "s."), "VAULT said @@"),
    ("digitalocean-token", _of(_HEX, 64, "do" + "p_v1_"), "doctl auth init -t @@"),
    ("jwt", _jwt, "the cookie held @@ all along"),
    ("private-key", _key_block, "cat deploy.pem\n@@\n$ exit"),
    ("url-password", _of(_ALNUM + "!*", 14), "psql postgres://ada:@@@db.local:5432/harbor"),
    ("url-password", _of(_ALNUM, 12, "p@ss/"), "redis://:@@@cache.local/0"),
    ("bearer-token", _of(_ALNUM, 32), "curl -H 'Authorization: Bearer @@' https://api.local"),
    ("authorization", _of(_HEX, 40), '"Authorization": "token @@"'),
    ("basic-login", _login, "Authorization: Basic @@"),
    ("basic-login", _login, '{"auths": {"registry.local": {"auth": "@@"}}}'),
    ("cookie", _of(_ALNUM, 32), "Set-Cookie: sessionid=@@; HttpOnly; Path=/"),
    ("cookie", _of(_ALNUM, 32), "curl -H 'Cookie: theme=dark; sid=@@' https://app.local"),
    ("password", _of(_ALNUM, 12), "machine git.local login ada password @@"),
    ("password", _of(_ALNUM + "!#*", 12), "DB_PASSWORD=@@"),
    ("password", _of(_ALNUM, 10), "curl -u ada:@@ https://api.local"),
    ("password", _of(_ALNUM, 10), "mysql -u root -p@@ harbor"),
    ("password", _of(_ALNUM, 12), '{"user": "ada", "password": "@@"}'),
    ("password", _of(_ALNUM, 12), "the password is @@"),
    ("password", _of(_ALNUM, 12), "  password: @@"),
    ("password", _of(_ALNUM, 16), "docker login --password @@ registry.local"),
    ("password", _of(_ALNUM, 12), 'password: str = "@@"'),
    ("password", _of(_ALNUM, 12), "<Password>@@</Password>"),
    ("secret", _of(_ALNUM + "-~", 32), "client_secret: '@@'"),
    ("secret", _of(_ALNUM + "!*(", 50), "SECRET_KEY = '@@'"),
    ("token", _of(_HEX, 40), "export SENTRY_AUTH_TOKEN=@@"),
    ("token", _of(_ALNUM, 32), "GET /v1/me?access_token=@@&page=2"),
    ("key", _of(_ALNUM, 32), 'apiKey: "@@",'),
    ("key", _of(_HEX, 32), "X-Api-Key: @@"),
    ("key", _of(_ALNUM, 32), '[{"name": "MAIL_API_KEY", "value": "@@"}]'),
    ("key", _of(_ALNUM, 32), "os.environ['MAIL_API_KEY'] = '@@'"),
)


# -- figures --------------------------------------------------------------------------------------


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.redact", description="Measure redaction.")
    parser.add_argument("--corpus", type=Path, default=os.environ.get("RECOLLECT_CORPUS"), metavar="DIR")
    parser.add_argument("--whole", action="store_true", help="read all logs of the corpus, not an even pick")
    parser.add_argument("--show", action="store_true", help="print what is masked in code and logs")
    parser.add_argument("--scanner", action="store_true", help="compare with kingfisher")
    arguments = parser.parse_args(argv)
    marks = [_planted(), _spelled(), _false_hits(_code(), arguments.show, "ordinary code")]
    if arguments.corpus:
        texts = sorted(set(_logs(Path(arguments.corpus), sys.maxsize if arguments.whole else LOG_BYTES)))
        marks += [_speed(texts), _false_hits(texts, arguments.show, "real logs")]
    if arguments.scanner:
        _compare_planted()
        _compare_spelled()
        if arguments.corpus:
            _compare_logs(texts)
    return 0 if all(marks) else 1


def _planted() -> bool:
    """Every kind, in every shape a log gives a line; what is left of a secret is a miss."""
    missed: Counter[str] = Counter()
    planted = 0
    for canary in (each for seed in range(ROUNDS) for each in canaries(seed)):
        for at, (line, secret) in enumerate(written(canary)):
            planted += 1
            missed[f"{canary.kind} {_SHAPES[at]}"] += secret in redact(line).text
    total = sum(missed.values())
    print(f"{'planted secrets masked':<42}{planted - total:,} of {planted:,}")
    for name, count in missed.most_common():
        if count:
            print(f"  missed {name:<33}{count}")
    return total * 100 < planted


def _spelled() -> bool:
    """Every spelling, by the set it is in; what is left of a secret is a miss."""
    masked: dict[str, list[bool]] = {}
    missed: Counter[str] = Counter()
    for each, text, stretches in _spelt():
        left = is_left(redact(text).text, stretches)
        masked.setdefault(each.group, []).append(not left)
        missed[each.name] += left
    for group, marks in masked.items():
        print(f"{f'spellings masked, {group}':<42}{sum(marks) / len(marks):.1%} of {len(marks):,}")
    for name, count in missed.most_common():
        if count > ROUNDS // 2:
            print(f"  missed {name:<33}{count}")
    every = [mark for marks in masked.values() for mark in marks]
    return sum(every) >= SPELLED_LEAST * len(every)


def _spelt() -> Iterator[tuple[Spelling, str, list[str]]]:
    for each in spellings():
        for seed in range(ROUNDS):
            yield (each, *each.planted(seed))


_SHAPES = ("plain", "in JSON", "in JSON in JSON", "percent-encoded", "in base64")


def _false_hits(texts: Sequence[str], show: bool, name: str) -> bool:
    lines = hits = 0
    for text in texts:
        lines += text.count("\n") + 1
        found = redact(text)
        hits += sum(found.found.values())
        if show and found.found:
            _show(text, found.text)
    rate = hits * 10_000 / lines
    print(f"{name + ', hits in 10,000 lines':<42}{rate:.3f} ({hits:,} in {lines:,} lines)")
    return rate < FALSE_HITS_MAX


def _show(before: str, after: str) -> None:
    for old, new in zip(before.splitlines(), after.splitlines(), strict=False):
        if old != new:
            print(f"  {old.strip()[:150]!r}\n    {new.strip()[:150]!r}", file=sys.stderr)


def _speed(texts: Sequence[str]) -> bool:
    size = sum(len(each.encode("utf-8", "surrogatepass")) for each in texts)
    begun = time.process_time()
    for text in texts:
        redact(text)
    rate = size / 1e6 / (time.process_time() - begun)
    print(f"{'real logs, a second of processor':<42}{rate:.1f} MB ({size / 1e6:.1f} MB read)")
    return rate >= SPEED_MB_LEAST


# -- the same, by a scanner that others maintain ----------------------------------------------------

SCANNER = "kingfisher"
BUNDLE_CHARS = 1_000_000


def _compare_planted() -> None:
    """The share of planted secrets of which nothing would be left, had each finding been masked."""
    planted = [(each, *pair) for seed in range(ROUNDS) for each in canaries(seed) for pair in written(each)]
    found: dict[int, list[str]] = {}
    for at, snippet in _findings([line for _, line, _ in planted]):
        found.setdefault(at, []).append(snippet)
    kinds = {rule.kind for group in issuers() for rule in group.rules}
    kinds |= {rule.kind for group in issuers() for rule in group.searched}
    kinds -= {"password", "private-key", "token", "url-password"}  # whatever it is that stands there
    masked: dict[str, list[tuple[bool, bool]]] = {}
    for at, (canary, line, secret) in enumerate(planted):
        ours = secret not in redact(line).text
        for snippet in sorted(found.get(at, ()), key=len, reverse=True):
            line = line.replace(snippet, "")
        masked.setdefault("in all shapes", []).append((ours, secret not in line))
        if at % len(_SHAPES) == 0:
            masked.setdefault("plain", []).append((ours, secret not in line))
            if canary.kind in kinds:
                masked.setdefault("plain, of an issuer", []).append((ours, secret not in line))
    for name, pairs in masked.items():
        ours_share, their_share = (sum(each) / len(pairs) for each in zip(*pairs, strict=True))
        _compare(f"planted, masked, {name}", ours_share, their_share, ".1%")


def _compare_spelled() -> None:
    planted = list(_spelt())
    found: dict[int, list[str]] = {}
    for at, snippet in _findings([text for _, text, _ in planted]):
        found.setdefault(at, []).append(snippet)
    masked: dict[str, list[tuple[bool, bool]]] = {}
    issued = {name for name, _, _ in ISSUED}
    for at, (each, text, stretches) in enumerate(planted):
        ours = not is_left(redact(text).text, stretches)
        for snippet in sorted(found.get(at, ()), key=len, reverse=True):
            text = text.replace(snippet, "")
        pair = (ours, not is_left(text, stretches))
        masked.setdefault("all", []).append(pair)
        if each.name in issued:
            masked.setdefault("of an issuer", []).append(pair)
    for name, pairs in masked.items():
        ours_share, their_share = (sum(each) / len(pairs) for each in zip(*pairs, strict=True))
        _compare(f"spellings, masked, {name}", ours_share, their_share, ".1%")


def _compare_logs(texts: Sequence[str]) -> None:
    lines = sum(text.count("\n") + 1 for text in texts)
    ours = sum(sum(redact(text).found.values()) for text in texts)
    theirs = len(list(_findings(_bundles(texts))))
    _compare("real logs, hits in 10,000 lines", ours * 10_000 / lines, theirs * 10_000 / lines, ".2f")


def _compare(name: str, ours: float, theirs: float, form: str) -> None:
    print(f"{name:<42}{ours:{form}}, {SCANNER} {theirs:{form}}")


def _bundles(texts: Sequence[str]) -> Iterator[str]:
    """The texts in files of a megabyte: one file each would take the scanner an hour."""
    bundle, size = [], 0
    for text in texts:
        bundle.append(text)
        size += len(text)
        if size > BUNDLE_CHARS:
            yield "\n".join(bundle)
            bundle, size = [], 0
    yield "\n".join(bundle)


def _findings(texts: Iterable[str]) -> Iterator[tuple[int, str]]:
    """The number of a text and what the scanner took for a secret in it. It asks no server about it."""
    program = shutil.which(SCANNER, path=os.pathsep.join([sysconfig.get_path("scripts"), os.environ["PATH"]]))
    if program is None:
        sys.exit(f"{SCANNER} is not installed: pip install 'recollect[bench]'")
    with tempfile.TemporaryDirectory() as folder:
        for at, text in enumerate(texts):
            Path(folder, f"{at}.txt").write_text(text, "utf-8", "replace")
        options = ["--no-update-check", "--quiet", "scan", folder, "--no-validate", "--no-dedup"]
        run = subprocess.run([program, *options, "--format", "jsonl"], capture_output=True, text=True)
    for line in run.stdout.splitlines():
        finding = json.loads(line).get("finding") if line.startswith("{") else None
        if finding:
            yield int(Path(finding["path"]).stem), finding["snippet"]


def _code() -> list[str]:
    """The standard library and what is installed beside us."""
    folders = {sysconfig.get_path(name) for name in ("stdlib", "purelib")}
    files = sorted({file for folder in folders for file in Path(folder).rglob("*.py")})
    return [file.read_text("utf-8", "replace") for file in files]


def _logs(corpus: Path, left: int) -> Iterator[str]:
    """The strings of an even pick of log files, so many bytes of them."""
    files = sorted(corpus.rglob("*.jsonl"))
    random.Random(1).shuffle(files)
    for file in files:
        if left <= 0:
            return
        left -= file.stat().st_size
        for line in file.read_text("utf-8", "replace").splitlines():
            yield from _strings(line)


def _strings(line: str) -> Iterator[str]:
    try:
        todo = [json.loads(line)]
    except ValueError:
        return
    while todo:
        item = todo.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict | list):
            todo.extend(item.values() if isinstance(item, dict) else item)


if __name__ == "__main__":
    sys.exit(main())
