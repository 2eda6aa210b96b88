"""None of thirty secrets is in a byte of a briefing, whatever its field and its spelling."""

from __future__ import annotations

import base64
import html as entities
import random
import re
from collections import Counter
from urllib.parse import quote

import pytest
from tests.support.pages import conversation, forms, text, told

from recollect.export.pages.briefing import Briefing, Origin, brief, json_object, markdown
from recollect.export.pages.html import html
from recollect.values.conversation import Block, Conversation, Message

LOT = random.Random(34)
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"


def drawn(count: int, letters: str = LETTERS) -> str:
    """Letters of every class in turn, as a generator of keys would draw them."""
    classes = [[each for each in letters if test(each)] for test in (str.isupper, str.islower, str.isdigit)]
    classes = [each for each in classes if each]
    return "".join(LOT.choice(classes[n % len(classes)]) for n in range(count))


def planted() -> list[tuple[str, str]]:
    """Thirty secrets, each with the words it stands in."""
    upper = LETTERS[:26] + "234567"
    jwt = ".".join(
        base64.urlsafe_b64encode(each.encode()).decode().rstrip("=")
        for each in ('{"alg":"HS256","typ":"JWT"}', f'{{"sub":"{drawn(12)}"}}', drawn(32))
    )
    plain = [
        "AKIA" + drawn(16, upper),
        "ASIA" + drawn(16, upper),
        "AIza" + drawn(35),
        "ghp_" + drawn(36),
        "gho_" + drawn(36),
        "ghs_" + drawn(36),
        f"github_pat_{drawn(22)}_{drawn(59)}",
        "glpat-" + drawn(20),
        f"xoxb-{LOT.randrange(10**11, 10**12)}-{LOT.randrange(10**12, 10**13)}-{drawn(24)}",
        "sk_live_" + drawn(24),
        "rk_live_" + drawn(24),
        "sk-proj-" + drawn(48),
        f"sk-ant-api03-{drawn(93)}AA",
        "hf_" + drawn(34),
        "npm_" + drawn(36),
        "pypi-AgEIcHlwaS5vcmc" + drawn(70),
        f"SG.{drawn(22)}.{drawn(43)}",
        jwt,
    ]
    found = [(each, f"it is {each} now") for each in plain]
    for form in (
        "postgres://ada:{}@db.test/tides",
        "Authorization: Bearer {}",
        "password = '{}'",
        'export DB_PASSWORD="{}"',
        "api_key: {}",
        "AWS_SECRET_ACCESS_KEY={}",
        '{{"client_secret": "{}"}}',
        "--token {}",
        "ACCESS_TOKEN={}",
        "Cookie: session={}",
        "redis://:{}@cache.test:6379",
        "SECRET_KEY={}",
    ):
        secret = f"{drawn(20)}/{drawn(20)}"
        found.append((secret, form.format(secret)))
    return found


SECRETS = planted()
EVERYWHERE = "\n".join(words for _, words in SECRETS)


def loaded(*, redacted: bool) -> Briefing:
    """A briefing with every secret in every field; also encoded, and in the words inside a picture."""
    encoded = [form for secret, _ in SECRETS for form in spellings(secret)[1:]]
    every = "\n".join((EVERYWHERE, *encoded))
    picture = base64.b64encode(b"\x89PNG\r\n\x1a\n\0\0tEXtComment\0" + every.encode() + b"\0IDAT").decode()
    source = {"type": "base64", "media_type": "image/png", "data": picture}
    base = conversation(every)
    messages = (
        *base.messages,
        Message("user", (Block({"type": "image", "source": source}),), "claude", "s", 9),
    )
    return brief(
        Conversation(messages, base.title, base.cwd, base.project, base.branch),
        title=every,
        description=every,
        sessions=[Origin(every, every, every, every)],
        notes=[every],
        redacted=redacted,
    )


def spellings(secret: str) -> list[str]:
    """The secret as it is, in base64 and in a URL."""
    return [secret, base64.b64encode(secret.encode()).decode().rstrip("="), quote(secret, safe="")]


def read_back(found: Briefing) -> list[str]:
    """What each form says, without the escapes of the form."""
    page, file, object_ = forms(found)
    pictures = b"".join(map(base64.b64decode, re.findall(r"base64,([A-Za-z0-9+/=]+)", file)))
    return [page.replace("\\", ""), entities.unescape(file), object_, pictures.decode("latin-1")]


def test_there_are_thirty_different_secrets() -> None:
    assert len({secret for secret, _ in SECRETS}) == 30


def test_no_secret_is_in_any_form_in_any_spelling() -> None:
    found = loaded(redacted=True)
    for form in read_back(found):
        for secret, _ in SECRETS:
            for spelling in spellings(secret):
                assert spelling not in form, secret[:8]
    assert found.masked is not None
    assert found.masked.total() >= 30


def test_unmasked_every_secret_is_there() -> None:
    """The test of the test: each form would show them."""
    found = loaded(redacted=False)
    for form in read_back(found):
        for secret, _ in SECRETS:
            assert secret in form
    assert found.masked is None
    assert json_object(found)["masked"] is None
    assert "Secrets: not looked for" in markdown(found)


@pytest.mark.parametrize(("secret", "words"), SECRETS)
def test_each_secret_is_masked_alone(secret: str, words: str) -> None:
    found = told(text(f"Look: {words}"), text("It works.", "assistant"))
    for form in read_back(found):
        assert secret not in form
    assert found.masked


def test_a_secret_known_in_one_place_is_masked_in_all() -> None:
    secret = drawn(32)
    found = told(
        text(f"DB_PASSWORD={secret}"), text(f"I used {secret}.", "assistant"), title=f"With {secret}"
    )
    assert all(secret not in form for form in read_back(found))


def test_kinds_and_counts_are_told_at_the_end() -> None:
    token = SECRETS[3][0]
    found = told(text(f"a {token} b"), text(f"c {token} d", "assistant"))
    assert found.masked == Counter({"github-token": 2})
    assert markdown(found).endswith("- Secrets masked: github-token (2)\n")
    assert "<dt>Secrets masked</dt><dd>github-token (2)</dd>" in html(found)
    assert json_object(found)["masked"] == {"github-token": 2}


def test_a_title_is_masked_before_it_is_cut() -> None:
    token = SECRETS[6][0]
    page = markdown(told(text("hello"), title=f"{'word ' * 18}{token}"))
    assert token[:16] not in page.replace("\\", "")


def test_a_url_keeps_its_host() -> None:
    page = markdown(told(text(f"postgres://ada:{quote(drawn(20))}@db.test/tides")))
    assert "@db.test/tides" in page
