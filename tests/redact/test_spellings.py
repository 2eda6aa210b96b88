"""Every way of writing a secret that `benchmarks.redact_spellings` lists: masked, and the rest as it was.

Values are drawn here, so that nothing in this repository looks like a secret.
"""

from __future__ import annotations

import json
import random
import re
import string
import subprocess
import sys
from typing import Any

import pytest
from benchmarks.redact_spellings import ALNUM, Spelling, is_left, of, spellings, two_words, word_inside
from hypothesis import given
from hypothesis import strategies as st
from tests.support.examples import examples

import recollect.redact
from recollect.redact import redact, redact_object
from recollect.redact.commands import options

SPELLINGS = list(spellings())

# What is not found, and why it is worth a note: there is neither a form nor a name nor a telling place.
MISSED = {
    "honeycomb", "jwk", "redis auth", "sentence slash",
}  # fmt: skip

TOKEN = of(ALNUM, 32)(random.Random(7))
STRONG = "Zq7$mX4wKb9!r"


@pytest.mark.parametrize(
    "spelling", [each for each in SPELLINGS if each.name not in MISSED], ids=lambda each: each.name
)
def test_nothing_is_left_of_a_secret_wherever_it_is_written(spelling: Spelling) -> None:
    """Of a few values one may be drawn that looks like a word or a number: then another must be masked."""
    texts = [spelling.planted(seed) for seed in range(3)]
    left = [text for text, stretches in texts if is_left(redact(text).text, stretches)]
    assert len(left) <= 1, left


def test_the_share_that_is_masked_does_not_fall() -> None:
    planted = [each.planted(seed) for each in SPELLINGS for seed in range(2)]
    left = sum(is_left(redact(text).text, stretches) for text, stretches in planted)
    assert left < len(planted) * 0.025


def test_a_name_of_a_spelling_is_used_once() -> None:
    names = [each.name for each in SPELLINGS]
    assert len(names) == len(set(names))
    assert set(names) >= MISSED


MASK = re.compile(r"\[redacted:[a-z0-9-]{1,40}\]")


def stays_outside(before: str, after: str) -> bool:
    """Whether all that is left of a text stands in it in that order, with something cut out for each mask."""
    pattern = ".+?".join(map(re.escape, MASK.split(after)))
    return re.fullmatch(pattern, before, re.DOTALL) is not None


@examples(300)
@given(
    st.sampled_from(SPELLINGS), st.integers(0, 10**6), st.sampled_from(["", "\n", "Then:\n", "$ "]),
    st.sampled_from(["", "\n", "\nand so on.", "\n\n# next"]),
)  # fmt: skip
def test_what_stands_around_a_secret_stays_and_twice_is_as_once(
    spelling: Spelling, seed: int, before: str, after: str
) -> None:
    text = before + spelling.planted(seed)[0] + after
    once = redact(text)
    assert once.text.startswith(before)
    assert once.text.endswith(after)
    assert stays_outside(text, once.text)
    assert redact(once.text) == recollect.redact.Redacted(once.text)


@examples(100)
@given(st.sampled_from(SPELLINGS), st.integers(0, 10**6))
def test_a_spelling_is_masked_alike_inside_json(spelling: Spelling, seed: int) -> None:
    """A log holds most text as a string of JSON: what is masked plain leaves valid JSON behind there too."""
    text, _ = spelling.planted(seed)
    assert isinstance(json.loads(redact(json.dumps({"output": text})).text), dict)


def test_the_result_does_not_hang_on_the_order_of_a_set() -> None:
    code = (
        "from benchmarks.redact_spellings import spellings; from recollect.redact import redact;"
        "print([redact(each.planted(1)[0]).text for each in spellings()])"
    )
    runs = [
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    ]
    assert runs[0] == runs[1]


# -- a password that looks like a word -----------------------------------------------------------

WORDED = [
    pytest.param(draw(random.Random(seed)), id=f"{draw.__name__}-{seed}")
    for draw in (two_words, word_inside)
    for seed in range(3)
]


@pytest.mark.parametrize("value", WORDED)
@pytest.mark.parametrize(
    "given",
    [
        "password={}", "DB_PASSWORD={}", "export DB_PASSWORD={}", "db.password={}", "tool --password={} run",
        "[db]\npassword = {}\n", "user=ada password={} host=db", "Server=db;User Id=ada;Password={};",
        "POST /login user=ada&password={}&next=1", 'password = "{}"', '"password": "{}"',
        "    password: {}\n",
        "- DB_PASSWORD={}", "$env:DB_PASSWORD = '{}'", "set DB_PASSWORD={}",
    ],
)  # fmt: skip
def test_a_password_may_be_a_word_where_configuration_gives_it(given: str, value: str) -> None:
    assert value not in redact(given.format(value)).text


@pytest.mark.parametrize(
    "line",
    [
        "password=password", "password = get_password()", "password: str", "token=token",
        "self.password = password",
        "password=<your-password>", "password=${PASS}", "password=changeme", "password=xxxx",
        "password=None,",
        "connect(user=user, password=pw)", "connect(user, password=settings.db_password)",
        "password: string;",
        "password = input('Password: ')", "password: required", "Password: incorrect", "password: undefined",
        "if password == expected:", "password=user_password", "password = hashed_password",
        "bypass('a.local:1234')",
        "--- PASS: TestThing256Fallback (0.00s)", "  --pass: #34d399;", "tests pass: 12 fail: 3",
        "pass `evaluate=True`",
        "POSTGRES_PASSWORD=postgres", "PASSWORD=$(cat /run/secrets/x)", '"password": "Passwort"',
        "PWD=/home/ada",
        '"AWS::IAM::AccessKey": "48205d4ffd7feba3"', "docker run -p 8080:8080 nginx", "mkdir -p build/output",
        "ssh -p 2222 ada@host", "gh secret set HOST --body 'app.local'", "cp -a source-folder target-folder",
        "git log -p authors.txt", "python -u main.py:app", "echo hello | base64", "data:\n  name: ada",
        "kind: Secrets are kept elsewhere\ndata: none", "| user | password |\n|---|---|\n| ada | (secret) |",
        "token page 12345678901234567890", "UNRESERVED_PAT = r'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnop'",
        "CACHE_KEY=3f2a9c8b7d6e5f40a1b2c3d4e5f60718", "src/one/two/Three4.py\nsrc/one/two/Five6.py\n",
        "the secret is empty**: set it", "arn:aws:secretsmanager:*:*:secret:redshift*",
        "id,name\nada7x9Kq2,bob",
        "-----END CERTIFICATE-----", "see https://ada@git.local/x.git",
        "/webhooks/incoming/handlers/registry.py",
    ],
)  # fmt: skip
def test_what_a_program_a_schema_or_a_sentence_says_stays(line: str) -> None:
    assert redact(line).text == line


# -- places ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("option", sorted(name for name in options() if len(name) == 1))
def test_an_option_that_takes_a_secret_of_one_command_takes_none_of_another(option: str) -> None:
    line = f"frobnicate x -{option} {STRONG}"
    assert redact(line).text == line


def test_the_values_of_a_cluster_secret_are_masked_whatever_their_names() -> None:
    for text in (
        f"kind: Secret\nmetadata:\n  name: db\ndata:\n  main: {TOKEN}\n  other: {TOKEN[::-1]}\ntype: Opaque",
        f"data:\n  main: {TOKEN}\n  other: {TOKEN[::-1]}\nkind: Secret\nmetadata:\n  name: db",
        json.dumps({"kind": "Secret", "data": {"main": TOKEN, "other": TOKEN[::-1]}, "type": "Opaque"}),
    ):
        masked = redact(text).text
        assert TOKEN not in masked
        assert TOKEN[::-1] not in masked
        assert masked.count("[redacted:secret]") == 2
        assert "Opaque" not in text or "Opaque" in masked


def test_only_the_column_of_passwords_is_masked() -> None:
    rows = f"| ada | {STRONG} | admin2031x |\n| bob | `{STRONG[::-1]}` | - |\n"
    text = f"| user | password | role |\n|---|---|---|\n{rows}"
    assert redact(text).text == text.replace(STRONG, "[redacted:password]").replace(
        STRONG[::-1], "[redacted:password]"
    )


@pytest.mark.parametrize("indent", ["", "  ", "\t"])
@pytest.mark.parametrize("cut", [26, 33])
def test_a_value_that_is_broken_over_lines_is_masked_to_its_end(cut: int, indent: str) -> None:
    value = of(ALNUM, 90)(random.Random(cut))
    lines = f"\n{indent}".join(value[at : at + cut] for at in range(0, len(value), cut))
    for text in (
        f"API_TOKEN={lines}\nThe end.",
        f"use ghp_{lines}\nThe end.",
        f"-H 'X-Api-Key: {lines}'\nThe end.",
    ):
        masked = redact(text)
        assert not [line for line in lines.split() if line in masked.text], masked.text
        assert masked.text.endswith("\nThe end.")


@pytest.mark.parametrize(
    "name", ["RSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "PRIVATE KEY", "ENCRYPTED PRIVATE KEY"]
)
def test_a_private_key_is_masked_without_its_first_line(name: str) -> None:
    letters = string.ascii_letters + string.digits + "+/"
    lines = ["".join(random.Random(at).choices(letters, k=64)) for at in range(8)]
    text = "$ tail key.pem\n" + "\n".join(lines) + f"\n-----END {name}-----\n$ exit"
    masked = redact(text)
    assert not [line for line in lines if line in masked.text]
    assert masked.text.startswith("$ tail key.pem\n[redacted:private-key]")
    assert masked.text.endswith("$ exit")


def test_an_object_is_read_with_the_options_in_its_lists() -> None:
    value: Any = {
        "args": ["npx", "--api-key", TOKEN, "--verbose", "plain"],
        "env": [{"key": "X_PAT", "value": TOKEN}],
    }
    masked, found = redact_object(value)
    assert masked["args"] == ["npx", "--api-key", "[redacted:key]", "--verbose", "plain"]
    assert TOKEN not in json.dumps(masked)
    assert sum(found.values()) == 2
