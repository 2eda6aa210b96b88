"""A briefing as one HTML file, safe against what is in it: no script, no link, nothing fetched.

Every element is made by `_tag`, which escapes whatever it did not make itself: no text reaches the page in
another way. Should one still do, the page's policy forbids all but its own style sheet (by hash) and
pictures inside the file. Markdown that was said is not rendered, only its code is set apart.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from html import escape

from recollect.export.pages.briefing import (
    Briefing,
    Origin,
    body,
    ending,
    facts,
    heading,
    label,
    placeholder,
    utc,
)
from recollect.export.pages.markdown import pieces
from recollect.export.pages.turns import Part, Turn
from recollect.values.text import one_line, printable


def html(briefing: Briefing) -> str:
    """The whole file."""
    title = heading(briefing.title)
    head = _tag("head", *_metas(), _tag("title", title), _tag("style", _Html(STYLE)))
    described = _prose(briefing.description) if briefing.description.strip() else _Html()
    top = _tag("header", _tag("h1", title), described, _list(facts(briefing)), _sessions(briefing.sessions))
    main = _tag("main", *map(_turn, briefing.turns))
    page = _tag("html", head, _tag("body", top, main, _tag("footer", _list(ending(briefing)))), lang="en")
    return f"<!doctype html>\n{page}\n"


class _Html(str):
    """Markup of ours."""

    __slots__ = ()


def _tag(name: str, /, *inside: str, **attributes: str) -> _Html:
    """An element. Text inside it and the values of attributes are escaped, other elements are not."""
    given = "".join(
        f' {key.strip("_").replace("_", "-")}="{escape(printable(value))}"'
        for key, value in attributes.items()
    )
    if name in ("meta", "img"):
        return _Html(f"<{name}{given}>")
    end = "\n" if name in _BLOCKS else ""
    return _Html(f"<{name}{given}>{''.join(map(_escaped, inside))}</{name}>{end}")


def _escaped(text: str) -> str:
    return text if isinstance(text, _Html) else escape(printable(text))


# -- elements -------------------------------------------------------------------------------------

_BLOCKS = frozenset({
    "article", "dd", "details", "div", "footer", "h1", "h2", "head", "header", "li", "main", "pre", "style",
    "summary", "title",
})  # fmt: skip


def _metas() -> list[_Html]:
    digest = base64.b64encode(hashlib.sha256(STYLE.encode("utf-8")).digest()).decode("ascii")
    policy = (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    )
    return [
        _tag("meta", charset="utf-8"),
        _tag("meta", http_equiv="Content-Security-Policy", content=policy),
        _tag("meta", name="referrer", content="no-referrer"),
        _tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
    ]


def _sessions(sessions: Sequence[Origin]) -> _Html:
    if not sessions:
        return _Html()
    told = [
        (heading(each.title), each.project, each.agent, utc(each.time_ms), each.session) for each in sessions
    ]
    items = [_tag("li", " · ".join(one_line(word) for word in words if word)) for words in told]
    return _tag("details", _tag("summary", f"Sessions ({len(items)})"), _tag("ol", *items))


def _list(told: Sequence[tuple[str, str]]) -> _Html:
    pairs = (_tag("dt", name) + _tag("dd", one_line(value)) for name, value in told)
    return _tag("dl", *map(_Html, pairs)) if told else _Html()


def _turn(turn: Turn) -> _Html:
    about = " · ".join(filter(None, (one_line(turn.model), utc(turn.time_ms))))
    said = _tag("h2", turn.speaker.capitalize(), " ", _tag("small", about))
    return _tag("article", said, *map(_part, turn.parts), class_=turn.speaker)


def _part(part: Part) -> _Html:
    if part.kind == "text":
        return _prose(part.text)
    if part.data:
        source = f"data:{part.media_type};base64,{base64.b64encode(part.data).decode('ascii')}"
        return _tag("img", src=source, alt=placeholder(part))
    if part.kind in ("image", "document") and not part.text:
        return _tag("div", placeholder(part), class_="absent")
    summary = _tag("summary", one_line(label(part)), " ", _tag("small", one_line(body(part), _SUMMARY_CELLS)))
    return _tag("details", summary, _tag("pre", body(part).strip("\n")), class_=part.kind)


_SUMMARY_CELLS = 80


def _prose(text: str) -> _Html:
    made = (
        _tag("pre", part) if language is not None else _tag("div", part, class_="text")
        for language, part in pieces(text)
        if part.strip()
    )
    return _Html("".join(made))


# -- style ----------------------------------------------------------------------------------------

STYLE = """
:root { color-scheme: light dark; --ink: #1c1c1a; --paper: #fdfdfb; --faint: #6b6b66; --line: #dcdcd4;
  --code: #f3f3ee; --user: #2f5fa8; --assistant: #3b7a57; --other: #8a8a82; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e6e1; --paper: #1a1a19; --faint: #9b9b94;
  --line: #3a3a37; --code: #242422; --user: #8ab0e8; --assistant: #86c9a4; } }
body { margin: 0 auto; max-width: 52rem; padding: 1.5rem; background: var(--paper); color: var(--ink);
  font: 16px/1.55 system-ui, sans-serif; }
h1 { font-size: 1.5rem; line-height: 1.25; }
h2 { font-size: 1rem; margin: 0 0 .4rem; }
small, dt, .absent, footer { color: var(--faint); font-weight: normal; font-size: .85rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; margin: 1rem 0; }
dd { margin: 0; }
h1, dd, li, .text, summary { overflow-wrap: anywhere; }
article { border-left: 3px solid var(--other); padding: .1rem 0 .1rem 1rem; margin: 1.4rem 0; }
article.user { border-color: var(--user); }
article.assistant { border-color: var(--assistant); }
.text { white-space: pre-wrap; margin: .5rem 0; }
pre { background: var(--code); padding: .6rem .8rem; border-radius: 4px; overflow-x: auto;
  white-space: pre-wrap; overflow-wrap: anywhere; margin: .5rem 0;
  font: .85rem/1.45 ui-monospace, monospace; }
details { margin: .4rem 0; }
details > pre { max-height: 32rem; overflow: auto; }
summary { cursor: pointer; }
img { max-width: 100%; height: auto; border: 1px solid var(--line); }
footer { border-top: 1px solid var(--line); margin-top: 2rem; }
@media print {
  body { max-width: none; padding: 0; background: none; }
  details > pre { max-height: none; }
  details::details-content { content-visibility: visible; display: block; }
  h2 { break-after: avoid; }
}
"""
