"""What a message of ChatGPT holds: by its `content_type`, texts, pictures, thoughts."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum, auto
from typing import Any, Final

from recollect.agents.fields import dict_of, list_of, text_of


class Told(Enum):
    """What a piece of content is, whoever it is from."""

    TEXT = auto()
    IMAGE = auto()
    THOUGHT = auto()
    CONTEXT = auto()  # for the model alone
    EVENT = auto()
    ERROR = auto()


Piece = tuple[Told, str]

# Where there is nothing to read: sound and film, and what an app showed.
_SILENT: Final = frozenset(
    {
        "app_pairing_content",
        "audio_asset_pointer",
        "real_time_user_audio_video_asset_pointer",
        "video_container_asset_pointer",
    }
)
_PICTURES: Final = frozenset({"computer_output", "image_asset_pointer"})
# Pages that were read, and what a program printed: the fields that tell them, one below the other.
_FIELDS: Final = {
    "audio_transcription": ("text",),
    "browser_window": ("url", "title", "text"),
    "citable_code_output": ("output_str",),
    "code": ("text",),
    "execution_output": ("text",),
    "sonic_webpage": ("title", "url", "text"),
    "tether_browsing_code": ("text",),
    "tether_browsing_display": ("result", "summary"),
    "tether_quote": ("title", "url", "text"),
}
_CONTEXTS: Final = {
    "model_editable_context": ("model_set_context", "repository", "repo_summary"),
    "user_editable_context": ("user_profile", "user_instructions"),
}


class Strange(Exception):
    """A type that is not known, by its name."""


def pieces_of(content: dict[str, Any]) -> list[Piece]:
    """What a message or a part of one tells; Strange where that is not known."""
    kind = text_of(content.get("content_type"))
    if kind in ("", "multimodal_text", "text"):
        return list(_joined(content))
    if kind in _SILENT:
        return [(Told.EVENT, "")]
    if kind in _PICTURES:
        return [(Told.IMAGE, "")]
    if kind in _FIELDS:
        return [(Told.TEXT, _lines(content, _FIELDS[kind]))]
    if kind in _CONTEXTS:
        return [(Told.CONTEXT, _lines(content, _CONTEXTS[kind]))]
    if kind == "thoughts":
        thoughts = (
            _lines(dict_of(each), ("summary", "content")) for each in list_of(content.get("thoughts"))
        )
        return [(Told.THOUGHT, thought) for thought in thoughts if thought]
    if kind == "reasoning_recap":
        return [(Told.EVENT, text_of(content.get("content")))]
    if kind == "system_error":
        return [(Told.ERROR, _lines(content, ("name", "text")))]
    raise Strange(kind)


def _joined(content: dict[str, Any]) -> Iterator[Piece]:
    """A text in its parts as one, and what else stands between them."""
    texts, others = [text_of(content.get("text"))], []
    for part in list_of(content.get("parts")):
        if type(part) is dict and part.get("content_type") not in (None, "", "multimodal_text", "text"):
            found = pieces_of(part)
            texts += [text for told, text in found if told is Told.TEXT]
            others += [piece for piece in found if piece[0] is not Told.TEXT]
        else:
            texts.append(text_of(part) or text_of(dict_of(part).get("text")))
    if text := "\n".join(filter(None, texts)):
        yield Told.TEXT, text
    yield from others


def _lines(content: dict[str, Any], names: tuple[str, ...]) -> str:
    return "\n".join(filter(None, (text_of(content.get(name)) for name in names)))
