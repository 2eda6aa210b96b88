"""Nothing that a conversation holds becomes an element, an attribute or a request; it is shown as text.

Read with `html.parser`, not with a browser. What makes up for that: the page a payload gives has
the very elements and attributes of a harmless one, and every `<` in the file begins one of ours.
"""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.pages import PAYLOADS, PNG, briefing

from recollect.export.pages.briefing import brief
from recollect.export.pages.html import html
from recollect.values.conversation import Block, Conversation, Message
from recollect.values.text import printable

MEDIA = (
    "image/svg+xml",
    "text/html",
    'image/png" onerror="alert(1)',
    'image/png;base64,x" onload="alert(1)',
    "",
    "IMAGE/PNG",
    "image/png ",
    "application/javascript",
    "../image/png",
    "image/png,<script>alert(1)</script>",
)

OWN = re.compile(
    r"""<(?:!doctype\ html
    |/?(?:head|body|html|title|style|header|main|footer|h1|h2|small|dl|dt|dd|ol|li|pre|summary)
    |html\ lang="en"|/?details|details\ class="(?:thinking|call|result|document)"|/article|/div
    |article\ class="(?:user|assistant|harness|note)"|div\ class="(?:text|absent)"
    |meta\ charset="utf-8"|meta\ name="referrer"\ content="no-referrer"
    |meta\ name="viewport"\ content="width=device-width,\ initial-scale=1"
    |meta\ http-equiv="Content-Security-Policy"\ content="[^"<>]+"
    |img\ src="data:image/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]+"\ alt="[^"<>]*")>""",
    re.VERBOSE,
)


class Page(HTMLParser):
    """The elements of a page with their attributes, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, object]] = []
        self.text = ""
        self.style = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, attrs))

    def handle_endtag(self, tag: str) -> None:
        self.elements.append(("/" + tag, None))

    def handle_data(self, data: str) -> None:
        if self.elements and self.elements[-1][0] == "style":
            self.style += data
        else:
            self.text += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data!r}")

    def handle_pi(self, data: str) -> None:
        raise AssertionError(f"an instruction: {data!r}")

    def unknown_decl(self, data: str) -> None:
        raise AssertionError(f"a declaration: {data!r}")


HARMLESS = Page(html(briefing("x"))).elements


def test_there_are_enough_payloads() -> None:
    assert len(set(PAYLOADS)) >= 60


@pytest.mark.parametrize("evil", PAYLOADS)
def test_a_payload_in_every_field_is_shown_as_text_and_is_nothing_else(evil: str) -> None:
    told = html(briefing(evil))
    page = Page(told)
    assert page.elements == HARMLESS
    assert printable(evil) in page.text
    told.encode("utf-8")


@pytest.mark.parametrize("evil", PAYLOADS)
def test_every_bracket_of_a_file_begins_an_element_of_ours(evil: str) -> None:
    for redacted in (False, True):
        told = html(briefing(evil, redacted=redacted))
        assert OWN.sub("", told).count("<") == 0


@given(st.text(st.characters(exclude_categories=()), min_size=1))
def test_no_text_changes_the_elements_of_a_page(text: str) -> None:
    told = html(briefing(f"x{text.replace('```', '').replace('~~~', '')}x"))
    assert Page(told).elements == HARMLESS
    assert OWN.sub("", told).count("<") == 0


@pytest.mark.parametrize("media_type", MEDIA)
@pytest.mark.parametrize("data", [PNG, '"><script>alert(1)</script>', "PHN2ZyBvbmxvYWQ9YWxlcnQoMSk+", ""])
def test_only_a_sound_picture_of_a_known_kind_is_shown(media_type: str, data: str) -> None:
    source = {"type": "base64", "media_type": media_type, "data": data}
    told = html(brief(_pictures(source)))
    assert "<img" not in told
    assert OWN.sub("", told).count("<") == 0


@pytest.mark.parametrize(
    ("media_type", "data"),
    [
        ("image/png", base64.b64decode(PNG)),
        ("image/jpeg", b"\xff\xd8\xff\xe0\x00"),
        ("image/gif", b"GIF89a\x01"),
        ("image/webp", b"RIFF\x01\x00\x00\x00WEBPVP8 "),
    ],
)
def test_pictures_are_inside_the_file(media_type: str, data: bytes) -> None:
    encoded = base64.b64encode(data).decode("ascii")
    told = html(brief(_pictures({"type": "base64", "media_type": media_type, "data": encoded})))
    assert f'<img src="data:{media_type};base64,{encoded}"' in told
    other = "image/gif" if media_type != "image/gif" else "image/png"
    assert "<img" not in html(brief(_pictures({"type": "base64", "media_type": other, "data": encoded})))


@pytest.mark.parametrize(
    ("media_type", "data"),
    [
        ("image/png", f'{PNG[:8]}"<>{PNG[8:]}'),
        ("image/png", PNG[:-1]),
        ("image/webp", base64.b64encode(b"RIFF\x01\x00\x00\x00WAVEfmt ").decode("ascii")),
    ],
)
def test_a_damaged_picture_is_not_shown(media_type: str, data: str) -> None:
    told = html(brief(_pictures({"type": "base64", "media_type": media_type, "data": data})))
    assert "<img" not in told
    assert f"[image, {media_type}" in told


def test_the_policy_allows_its_own_style_and_nothing_to_run_or_fetch() -> None:
    page = Page(html(briefing("x")))
    policy = next(
        dict(attributes)["content"]  # type: ignore[call-overload]
        for tag, attributes in page.elements
        if tag == "meta" and ("http-equiv", "Content-Security-Policy") in attributes  # type: ignore[operator]
    )
    digest = base64.b64encode(hashlib.sha256(page.style.encode("utf-8")).digest()).decode("ascii")
    assert policy.split("; ") == [
        "default-src 'none'",
        f"style-src 'sha256-{digest}'",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    assert "url(" not in page.style
    assert "@import" not in page.style
    assert "unsafe" not in policy


def test_code_is_set_apart_and_the_rest_is_as_it_was_written() -> None:
    said = Block({"type": "text", "text": "See **this**:\n```python\nif a < b:\n    pass\n```\nDone."})
    told = html(brief(Conversation((Message("assistant", (said,), "claude", "s"),))))
    assert '<div class="text">See **this**:</div>\n<pre>if a &lt; b:\n    pass</pre>\n' in told
    assert '<div class="text">Done.</div>' in told


def _pictures(source: dict[str, str]) -> Conversation:
    block = Block({"type": "image", "source": source})
    result = Block(
        {"type": "tool_result", "tool_use_id": "c", "content": [{"type": "image", "source": source}]}
    )
    return Conversation((Message("user", (block, result), "claude", "s"),))
