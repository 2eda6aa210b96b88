"""C28: nothing that a conversation holds becomes an element, an attribute or a request; it is shown as text.

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

from recollect.export.pages.briefing import Briefing, Origin, brief
from recollect.export.pages.html import html
from recollect.values.conversation import Block, Conversation, Message
from recollect.values.text import printable

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(40)).decode("ascii")

PAYLOADS = (
    "<script>alert(1)</script>",
    "<ScRiPt>alert(1)</sCrIpT>",
    "<script src=//evil.test/x.js></script>",
    "<script\n>alert(1)</script\n>",
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<img/src='x'/onerror=alert(1)>",
    '"><img src=x onerror=alert(1)>',
    "'><img src=x onerror=alert(1)>",
    '" onmouseover="alert(1)',
    "' onfocus='alert(1)' autofocus='",
    "x` onerror=alert(1) `",
    "<svg onload=alert(1)>",
    "<svg><script>alert(1)</script></svg>",
    "<svg/onload=alert(1)//",
    "<svg><animate onbegin=alert(1) attributeName=x></svg>",
    "<math><mtext></p><script>alert(1)</script>",
    "<body onload=alert(1)>",
    "<iframe src=javascript:alert(1)>",
    "<iframe srcdoc='<script>alert(1)</script>'>",
    "<object data=javascript:alert(1)>",
    "<embed src=//evil.test/x.swf>",
    "<link rel=stylesheet href=//evil.test/x>",
    "<style>@import '//evil.test/x.css';</style>",
    "</style><script>alert(1)</script>",
    "</title><script>alert(1)</script>",
    "</pre></details></article></main><h1>owned</h1>",
    "</summary></details><form action=//evil.test>",
    "<base href=//evil.test/>",
    "<meta http-equiv=refresh content='0;url=//evil.test'>",
    "<form><button formaction=javascript:alert(1)>x",
    "<input autofocus onfocus=alert(1)>",
    "<details open ontoggle=alert(1)>",
    "<video><source onerror=alert(1)></video>",
    "<audio src=x onerror=alert(1)>",
    "<marquee onstart=alert(1)>",
    "<a href=javascript:alert(1)>x</a>",
    "<a href='&#106;avascript:alert(1)'>x</a>",
    "<a href='java\tscript:alert(1)'>x</a>",
    "[x](javascript:alert(1))",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "![x](http://evil.test/pixel.png)",
    '![x](x"onerror="alert(1))',
    "<javascript:alert(1)>",
    "[x]: javascript:alert(1)\n\n[x]",
    "<!--><script>alert(1)</script>-->",
    "--><script>alert(1)</script><!--",
    "<![CDATA[<script>alert(1)</script>]]>",
    "<?xml-stylesheet href='javascript:alert(1)'?>",
    "<!DOCTYPE html><p>",
    "]]><script>alert(1)</script>",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "&#60;script&#62;alert(1)&#60;/script&#62;",
    "\u003cscript\u003ealert(1)\u003c/script\u003e",
    "\uff1cscript\uff1ealert(1)\uff1c/script\uff1e",
    "<scr\x00ipt>alert(1)</scr\x00ipt>",
    "<\x00script>alert(1)</script>",
    "<img src=x\x0conerror=alert(1)>",
    "<img src=x\u2028onerror=alert(1)>",
    "\u202e<script>alert(1)</script>\u202c",
    "\ud800<script>alert(1)</script>",
    "%3Cscript%3Ealert(1)%3C/script%3E",
    "+ADw-script+AD4-alert(1)+ADw-/script+AD4-",
    "<noscript><p title='</noscript><img src=x onerror=alert(1)>'>",
    "<template><script>alert(1)</script></template>",
    "<xmp><script>alert(1)</script></xmp>",
    "<plaintext>",
    "<textarea><script>",
    "<x onclick=alert(1)>x</x>",
    "<div style='background:url(//evil.test/x)'>",
    "<div style=width:expression(alert(1))>",
    "x; url(//evil.test/x)",
    "'; default-src *; script-src 'unsafe-inline",
    "<table background=//evil.test/x>",
    "{{constructor.constructor('alert(1)')()}}",
    "${alert(1)}",
    "<portal src=//evil.test>",
    "\x1b]8;;http://evil.test\x1b\\x",
)

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


def conversation(evil: str) -> Conversation:
    """A conversation with the same text in every field that a log or a person fills."""
    call = {"type": "tool_use", "id": evil, "name": evil, "input": {evil: evil, "file_path": f"/home/{evil}"}}
    parts = [
        {"type": "text", "text": evil},
        {"type": "image", "source": {"type": "base64", "media_type": evil}},
    ]
    result = {"type": "tool_result", "tool_use_id": evil, "content": parts, "is_error": True}
    said = ({"type": "text", "text": evil}, {"type": "thinking", "thinking": evil, "signature": evil}, call)
    document = {
        "type": "document",
        "source": {"type": "text", "media_type": evil, "data": evil},
        "title": evil,
    }
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
    elsewhere = {"type": "image", "source": {"type": "url", "url": evil, "media_type": evil, "data": evil}}
    asked = tuple(
        Block(body, evil) for body in ({"type": "text", "text": evil}, document, picture, elsewhere)
    )
    return Conversation(
        (
            Message("user", asked, evil, evil, 1),
            Message("assistant", tuple(Block(body, evil) for body in said), evil, evil, 2, evil, evil),
            Message("user", (Block(result, evil),), evil, evil, 3),
            Message("user", (Block({"type": "text", "text": evil}),), evil, evil, 4, note=True),
            Message("user", (Block({"type": "text", "text": evil}),), evil, evil, 5, meta=True),
        ),
        evil,
        evil,
        evil,
        evil,
        (evil,),
    )


def briefing(evil: str, *, redacted: bool = False) -> Briefing:
    sessions = [Origin(evil, evil, evil, evil, 1)]
    return brief(
        conversation(evil), title=evil, description=evil, sessions=sessions, notes=[evil], redacted=redacted
    )


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
