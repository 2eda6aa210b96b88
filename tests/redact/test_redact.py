"""Redaction: nothing of a secret is left, the rest stays as it is, and no text makes it slow.

The secrets are drawn by `benchmarks.redact`, so that nothing in this repository looks like one.
"""

from __future__ import annotations

import base64
import copy
import json
import random
import re
import string
import subprocess
import sys
import sysconfig
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from benchmarks.redact import KINDS, Canary, canaries, written
from hypothesis import example, given
from hypothesis import strategies as st
from tests.support import ROOT
from tests.support.examples import examples

import recollect.redact
from recollect.redact import (
    assignments,
    commands,
    contexts,
    engine,
    forms,
    has_secret,
    listing,
    names,
    places,
    plausible,
    readings,
    redact,
    redact_object,
    statements,
    tables,
    wrapped,
)
from recollect.redact.issuers import FILE, LETTERS, issuers

RULES = [rule for group in issuers() for rule in group.rules]
PLACES = [
    place
    for finer in places.places().values()
    for anchors in finer.values()
    for rules in anchors.values()
    for place in rules
]
SEARCHED = [rule for group in issuers() for rule in group.searched]

CANARIES = list(canaries(0))
TOKEN = next(each.secret for each in CANARIES if each.kind == "github-token")
JWT = next(each.secret for each in CANARIES if each.kind == "jwt")
BLOCK = next(each.secret for each in CANARIES if each.kind == "private-key")
HEX = "".join(random.Random(6).choices("0123456789abcdef", k=32))
UUID = f"{HEX[:8]}-{HEX[:4]}-{HEX[4:8]}-{HEX[8:12]}-{HEX[:12]}"
DRAWN = "".join(random.Random(5).choices(string.ascii_letters + string.digits, k=32))


def pieces_of(secret: str) -> set[str]:
    """Every stretch of a secret that is long enough to be worth something."""
    return {secret[at : at + 12] for at in range(max(1, len(secret) - 11))}


# -- what is found -----------------------------------------------------------------------------


@pytest.mark.parametrize("canary", CANARIES, ids=[f"{each.kind}-{at}" for at, each in enumerate(CANARIES)])
def test_nothing_is_left_of_a_secret_however_its_line_is_written(canary: Canary) -> None:
    for line, secret in written(canary):
        result = redact(f"before\n{line}\nafter")
        assert not [each for each in pieces_of(secret) if each in result.text], result.text
        assert sum(result.found.values()) >= 1
        assert result.text.startswith("before\n")
        assert result.text.endswith("\nafter")


@pytest.mark.parametrize("canary", CANARIES, ids=[f"{each.kind}-{at}" for at, each in enumerate(CANARIES)])
def test_a_secret_is_masked_by_its_kind_and_its_surroundings_stay(canary: Canary) -> None:
    result = redact(canary.line)
    before, _, after = canary.line.partition(canary.secret)
    kind = next(iter(result.found))
    assert result.text == f"{before}[redacted:{kind}]{after}"
    assert result.found == Counter({kind: 1})
    certain = {rule.kind for rule in RULES}
    assert kind == canary.kind or canary.kind not in certain


def test_most_secrets_are_found_whatever_is_drawn() -> None:
    drawn = [each for seed in range(1, 21) for each in canaries(seed)]
    left = [each for each in drawn if each.secret in redact(each.line).text]
    assert len(left) < len(drawn) / 100, left


def test_a_token_does_not_end_at_a_dot() -> None:
    for secret in (f"{TOKEN}.{DRAWN}", f"{JWT}.{DRAWN}.{DRAWN}"):
        assert DRAWN not in redact(f"use {secret} now").text
    assert redact(f"It is {TOKEN}. Then go on.").text == "It is [redacted:github-token]. Then go on."


@pytest.mark.parametrize(
    "before", ["", "\n", "\\n", "\\\\n", "=", "%3D", "\\u003d", "\x1b[32m", '"', "@", "/", "+", "-"]
)
def test_a_token_is_found_after_anything_that_ends_a_word(before: str) -> None:
    assert redact(f"x{before}{TOKEN}" if before else TOKEN).text.endswith("[redacted:github-token]")


@pytest.mark.parametrize(
    "wrap",
    [
        lambda lines: "\n".join(lines),
        lambda lines: "\\n".join(lines),
        lambda lines: "\\\\n".join(lines),
        lambda lines: "\r\n".join(lines),
        lambda lines: "\n".join(f"{at:6}→{line}" for at, line in enumerate(lines, 1)),
        lambda lines: "\n".join(f"{at:6}\t{line}" for at, line in enumerate(lines, 1)),
        lambda lines: "\n".join(f"+{line}" for line in lines),
        lambda lines: "\n".join(f"> {line}" for line in lines),
        lambda lines: "\n".join(f'    "{line}\\n"' for line in lines),
        lambda lines: "\n".join(lines[:7]),  # cut off
        lambda lines: quote("\n".join(lines)),
        lambda lines: base64.b64encode("\n".join(lines).encode()).decode(),
        lambda lines: base64.encodebytes("\n".join(lines).encode()).decode(),
    ],
)
def test_a_private_key_is_masked_to_its_end_in_any_listing(wrap: Any) -> None:
    lines = BLOCK.split("\n")
    result = redact(f"$ cat key\n{wrap(lines)}\nThe end of it.")
    assert not [line for line in lines[1:-1] if len(line) > 20 and line in result.text]
    assert len(result.text) < 120, result.text
    assert result.text.endswith("The end of it.")
    assert set(result.found) == {"private-key"}


@given(
    password=st.text(
        st.sampled_from(string.ascii_letters + string.digits + "\"\\'/&,; #"), min_size=1, max_size=30
    ),
    depth=st.integers(0, 3),
)
def test_a_quoted_password_is_masked_whole_at_any_depth_of_json(password: str, depth: int) -> None:
    password = "Zq7$mX4wKb9" + password.replace(" ", "-")
    text = json.dumps({"password": password, "next": "stays"})
    for _ in range(depth):
        text = json.dumps([text, "stays"])
    value: Any = redact(text).text
    for _ in range(depth):
        value, after = json.loads(value)
        assert after == "stays"
    assert json.loads(value) == {"password": "[redacted:password]", "next": "stays"}


def test_what_was_found_once_is_masked_wherever_else_it_stands() -> None:
    secret = "Hx7!kd82/Lq"
    encoded = base64.b64encode(secret.encode()).decode()
    text = f"DB_PASSWORD={secret}\nauth failed for {secret}\n{encoded} {quote(secret, safe='')}"
    masked = redact(text)
    assert masked.text == "\n".join(
        (
            "DB_PASSWORD=[redacted:password]",
            "auth failed for [redacted:password]",
            "[redacted:password]= [redacted:password]",
        )
    )
    assert masked.found == Counter({"password": 4})
    value, found = redact_object([{"input": f"DB_PASSWORD={secret}"}, {"result": f"no {secret}"}])
    assert value == [{"input": "DB_PASSWORD=[redacted:password]"}, {"result": "no [redacted:password]"}]
    assert found == Counter({"password": 2})


# -- what is known of issuers --------------------------------------------------------------------

ROWS = [
    pytest.param(row, prefix, id=f"{row['kind']}-{prefix}")
    for row in tomllib.loads(FILE.read_text("utf-8"))["prefixed"]
    for prefix in row["prefixes"].split()
]


def drawn(row: dict[str, Any], count: int) -> str:
    """Letters of a row; the last one is no sign, which is not told from what follows."""
    allowed = re.compile(f"[{LETTERS.get(row['letters'], row['letters'])}]")
    letters = [each for each in string.printable if allowed.match(each)]
    draw = random.Random(row["kind"])
    ends = [each for each in letters if each.isalnum()]
    return "".join(draw.choices(letters, k=count - 1)) + draw.choice(ends)


@pytest.mark.parametrize(("row", "prefix"), ROWS)
def test_a_token_of_every_row_is_masked_as_its_kind(row: dict[str, Any], prefix: str) -> None:
    for token in (prefix + drawn(row, count) for count in (row["least"], row["least"] + 40)):
        assert token not in redact(f"https://app.local/?next=a%3D{token}").text
        for line in (f"use {token} now", f"'x\\n{token}' now", f"\x1b[1m{token} now"):
            assert redact(line).text == line.replace(token, f"[redacted:{row['kind']}]")


@pytest.mark.parametrize(
    ("kind", "line", "left"),
    [
        (
            "teams-webhook",
            f"https://x.webhook.office.com/webhookb2/{UUID}@{UUID}/IncomingWebhook/{HEX}/{UUID}",
            "https://x.webhook.office.com/webhookb2/[redacted:teams-webhook]",
        ),
        (
            "sentry-dsn",
            f"dsn: https://{HEX}@o41234.ingest.us.sentry.io/4501",
            "dsn: https://[redacted:sentry-dsn]@o41234.ingest.us.sentry.io/4501",
        ),
    ],
)
def test_an_address_that_is_a_key_is_masked(kind: str, line: str, left: str) -> None:
    assert redact(line) == recollect.redact.Redacted(left, Counter({kind: 1}))


def test_what_follows_a_token_is_not_its_own() -> None:
    slack = next(each.secret for each in CANARIES if each.kind == "slack-token")
    assert redact(f"login('{slack}', 'x')").text == "login('[redacted:slack-token]', 'x')"


def test_the_issuers_are_read_with_the_first_text() -> None:
    code = (
        "import recollect.redact, recollect.redact.issuers as issuers;"
        "print(issuers.issuers.cache_info().currsize);"
        "recollect.redact.redact('plain/text/that/is/long/enough');"
        "print(issuers.issuers.cache_info().currsize)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["0", "1"]


# -- what is not ---------------------------------------------------------------------------------

ORDINARY = (
    "api_key = YOUR_API_KEY", "api_key = 'your-api-key-here'", "token: <your token>", "TOKEN=${GITHUB_TOKEN}",
    "password = os.environ['PASSWORD']", "token = os.getenv('TOKEN_2', default)",
    "API_KEY=xxxxxxxxxxxxxxxxxxxxxxxx",
    "password: string", "password: str", "password = get_password(user)", "password=password", "secret=None",
    'api_key="sk-..."', "sk-ant-api03-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "Authorization: Bearer $TOKEN",
    "Authorization: Bearer <token>", "Authorization: Bearer {{ token }}", "bearer authentication is used",
    "AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE", "postgres://user:password@localhost/db", "PWD=/home/ada/harbor",
    "postgres://postgres:postgres@localhost/db", "http://localhost:3000/@vite/client",
    "redis://$USER:$PASS@host",
    "commit 9fceb02d0ae598e95dc970b74767f19372d61af8", "id 123e4567-e89b-12d3-a456-426614174000",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "max_tokens: 4096",
    '"input_tokens": 123456, "cache_read_input_tokens": 98765', "model: claude-sonnet-4-5-20250929",
    "primary_key = 'a8Kd93LsPq02mZx7'", "next_page_token: 'CAESBgoEGgIIATAB'",
    "class='sk-estimator-doc-link-2'",
    'if "-----BEGIN PRIVATE KEY-----" in text: return SomethingVeryLongHappensHere',
    "task-runner-v2-with-a-name",
    "-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBaMQswCQYDVQQGEwJJRTESMBAG",
    "tokenizer = AutoTokenizer.from_pretrained('bert-base-uncased')", "<password>",
    "docker run -u 1000:1000 x",
    "client_secret: env.AUTH0_CLIENT_SECRET", "password=self.password1", "curl -u user:password https://x",
    "password = '${DbPw9xK2}'", "DB_PASSWORD=%(DbPw9xK2)s", 'password: "{{ DbPw9xK2 }}"',
    "password=Hx7...kd82L",
    'password: "<generated-Pw9xK2>"', "postgres://ada:$DbPw9xK2@db.local/x", "[redacted:password]",
    "Cookie: theme=dark; lang=en", "keys: a, b",
)  # fmt: skip


@pytest.mark.parametrize("text", ORDINARY)
def test_what_only_stands_for_a_secret_stays(text: str) -> None:
    assert redact(text) == recollect.redact.Redacted(text)
    assert not has_secret(text)


def test_pictures_and_signatures_stay() -> None:
    blob = base64.b64encode(random.Random(2).randbytes(300_000)).decode()
    assert redact(f"data:image/png;base64,{blob}").text.endswith(blob)


def test_ordinary_code_stays() -> None:
    """Below one hit in 10,000 lines; the benchmark reads more of it."""
    lines = hits = 0
    for file in Path(sysconfig.get_path("stdlib")).glob("*.py"):
        text = file.read_text("utf-8", "replace")
        lines += text.count("\n")
        hits += sum(redact(text).found.values())
    assert lines > 50_000
    assert hits * 10_000 < lines


# -- how it behaves ------------------------------------------------------------------------------

PIECES = st.sampled_from(
    [
        *(each.secret for each in CANARIES),
        *(each.line for each in CANARIES),
        "password=",
        "token: ",
        "'",
        '"',
        "\\",
        "\\n",
        "\n",
        " ",
        ".",
        "/",
        "@",
        "://",
        "a",
        "A1",
        "%41",
        "[redacted:",
        "[redacted:jwt]",
        "]",
        "é",
        "\u0130",
        "\ud800",
        "-----BEGIN PRIVATE KEY-----",
        "-----END PRIVATE KEY-----",
        "AKIA",
        "eyJ",
        "sk-",
        "Bearer ",
        "Cookie: ",
        ";",
        "=",
        DRAWN,
        DRAWN[:9],
        "x" * 40,
    ]
)
HOSTILE = st.lists(PIECES | st.text(max_size=3), max_size=12).map("".join)


@examples(400)
@given(HOSTILE)
@example(f"password={TOKEN}AKIA{DRAWN}")
@example("[redacted:jwt]" * 3)
def test_twice_is_as_once(text: str) -> None:
    once = redact(text)
    assert redact(once.text) == recollect.redact.Redacted(once.text)
    assert has_secret(text) == (once.text != text) == bool(once.found)


JSON = st.recursive(
    HOSTILE | st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(HOSTILE, inner, max_size=3),
    max_leaves=6,
)


def shape(value: Any) -> Any:
    """An object without its strings: how many of what, where."""
    if isinstance(value, dict):
        return ["{", *map(shape, value.values())]
    if isinstance(value, list):
        return ["[", *map(shape, value)]
    return "" if isinstance(value, str) else value


@examples(200)
@given(JSON)
def test_an_object_keeps_its_structure_and_twice_is_as_once(value: Any) -> None:
    before = copy.deepcopy(value)
    masked, found = redact_object(value)
    assert value == before, "what was given is not changed"
    assert shape(masked) == shape(value)
    assert redact_object(masked) == (masked, Counter())
    assert bool(found) == (masked != value)


def test_an_object_is_read_with_its_names_and_keys() -> None:
    value = {
        "password": "Hx7kd82L",
        "env": [{"name": "MAIL_API_KEY", "value": DRAWN}, 1, None, True],
        TOKEN: 1,
        TOKEN[:-1] + "z": 2,
        "type": "text",
    }
    masked, found = redact_object(value)
    assert masked == {
        "password": "[redacted:password]",
        "env": [{"name": "MAIL_API_KEY", "value": "[redacted:key]"}, 1, None, True],
        "[redacted:github-token]": 1,
        "[redacted:github-token]'": 2,
        "type": "text",
    }
    assert list(masked) == ["password", "env", "[redacted:github-token]", "[redacted:github-token]'", "type"]
    assert found == Counter({"github-token": 2, "password": 1, "key": 1})


def test_an_object_may_be_deep() -> None:
    value: Any = TOKEN
    for _ in range(5_000):
        value = [value]
    masked, found = redact_object(value)
    while isinstance(masked, list):
        (masked,) = masked
    assert masked == "[redacted:github-token]"
    assert found == Counter({"github-token": 1})


def test_a_text_that_does_not_settle_is_masked_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "ROUNDS", 0)
    assert redact(f"glued {TOKEN}") == recollect.redact.Redacted(
        "[redacted:unsettled]", Counter({"unsettled": 1})
    )


# -- time ----------------------------------------------------------------------------------------


def patterns() -> list[re.Pattern[str]]:
    """Every pattern that may turn out not to match, after having read."""
    heads = [rule.head for rule in (*RULES, *contexts.RULES, *statements.RULES, *PLACES)]
    rooms = (
        *(assignments, commands, contexts, forms, listing, places),
        *(names, readings, statements, tables, wrapped),
    )
    here = [each for room in rooms for each in vars(room).values() if isinstance(each, re.Pattern)]
    held = [*commands._HOW.values(), *assignments._WORDS.values(), *tables._HEADINGS.values()]
    values = [command for pairs in commands.options().values() for command, _ in pairs]
    piped = [*commands.readers(), *commands.option_patterns()]
    bounded = [each for each in (*here, *held, *values, *piped) if each not in FOLLOWING]
    return [*heads, *dict.fromkeys(bounded)]


# These say how far something goes that was accepted, or read what is cut out for them.
FOLLOWING = (
    assignments._BARE_TAIL, assignments._BLOCK_TAIL, names._IDENTIFIER, names._NUMBERED,
    contexts._KEY_LINES,
)  # fmt: skip


@pytest.mark.parametrize("pattern", patterns(), ids=lambda each: each.pattern[:40])
def test_no_pattern_reads_far_before_it_says_no(pattern: re.Pattern[str]) -> None:
    """With this, and one try for each anchor, the time grows with the text and not with its square."""
    parsed = re._parser.parse(pattern.pattern, pattern.flags)  # type: ignore[attr-defined]
    assert parsed.getwidth()[1] < 25_000


SLOW = (
    "eyJ-", "eyJaaaaaaaa.", "sk-", "token=", "pwd=", "api_key=\"\\'", "://a:", "redis://a:b/@",
    "cookie: a=b;", "%41",
    "-----BEGIN PRIVATE KEY-----\n", "bearer ", "AKIA", "machine a login b ", "cGFzc3dvcmQ9",
    'password="\\\\\\',
    "mysql -u ", "authorization: ", "password=[redacted:x]", "password=Hx7kd82L ", "secret,\n\n",
    "LS0tLS1CRUdJTi",
    "docker login -p ", "curl -u a:b ", " -p", "echo a | sudo -S ", "vault login ",
    "kind: Secret\ndata:\n  a: b\n",
    "a7B9c1D3e5F7g9H1i3J5\n", "a7B9c1D3e5F7g9H1i3J5\\\n", "-----END PRIVATE KEY-----\n", "Client('",
    "auth=('a', '",
    "| password |\n|---|\n| Hx7kd82L |\n", "$2b$12$", "\tTRUE\t1\ta\t",
    "MIIEvAIBADANBgkqhkiG9w0BAQEFAASC\n", "_pat=",
    "https://a/?code=", "password: |\n  ", "set -x token ", "sk_ pat re_ 2", "authorization: digest a=",
    "\x1b[1mpass\x1b[0m", 'passw\\"', "pass\\u0041", "identified by '", "user a identified by ",
    "seed phrase a ",
    "totp ABCD EFGH ", "recovery codes: a1b2-c3d4 auth ", "get secret a | base64 -d\n", "AgMBAAECgg\n",
    "insert into a (password) values ('", "| password |\n+---+\n", "USER  PASSWORD\nada  x\n",
    "password: a\n",
    " '-p", "cryptsetup key <<< '", "printf 'secret' | ", "credentials: admin / ", "login a password b\n",
    "API_TOKEN = 'abcd' 'efgh' ", "│ a7B9c1D3e5F7g9H1i3J5 │\n",
    "AKIAABCDEFGHIJKLMNOP", "1234567890:AA", "password='password=\"", f"{TOKEN} ", f"password={TOKEN}",
)  # fmt: skip


@pytest.mark.parametrize("unit", SLOW)
def test_twice_the_text_is_twice_the_work(unit: str) -> None:
    """Work is counted in calls: what each of them may read is bounded above."""
    small, large = (_calls(unit * count) for count in (150, 300))
    assert large <= small * 2.5 + 500


def _calls(text: str) -> int:
    count = 0

    def note(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        redact(text)
    finally:
        sys.setprofile(None)
    return count


# -- the page about it ---------------------------------------------------------------------------


def test_every_kind_is_named_in_its_page() -> None:
    page = (ROOT / "docs" / "redact.md").read_text("utf-8")
    kinds = {rule.kind for rule in (*RULES, *contexts.RULES, *statements.RULES, *SEARCHED)}
    kinds |= (
        {kind for _, kind in names.KINDS}
        | {row[0] for row in KINDS}
        | {"cookie", "password-hash", "unsettled"}
    )
    assert not [kind for kind in sorted(kinds) if f"`{kind}`" not in page]


def test_values_are_judged_by_a_bounded_part() -> None:
    assert plausible.VALUE_CHARS <= 128
