"""Secrets are masked in the bytes of a line, and no other byte of it changes."""

from __future__ import annotations

import base64
import json
import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from recollect.redact import redact_object
from recollect.redact.raw import mask_pieces, mask_raw

TOKEN = "ghp_Zk3uV9xQ2mB7nL5rT8wY1cD4fG6hJ0pSaE2R"
SECRET_TEXTS = st.sampled_from(
    (
        f"export GITHUB_TOKEN={TOKEN}",
        f"a {TOKEN} b",
        'curl -u ada:"hunter2-and-Mor3" https://example.invalid/',
        "postgres://ada:s3cr3t-Pa55word@db.invalid/harbor",
        json.dumps({"out": f"token {TOKEN}\nnext", "password": "Tr0ub4dor&3-stapler"}),
        base64.b64encode(f"login {TOKEN} done".encode()).decode(),
    )
)
TEXTS = st.text(max_size=20) | SECRET_TEXTS | st.tuples(st.text(max_size=5), SECRET_TEXTS).map("é\n".join)
VALUES = st.recursive(
    TEXTS | st.integers() | st.booleans() | st.none(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(("password", "name", "value", "text", "x")) | TEXTS, inner, max_size=4
        )
    ),
    max_leaves=12,
)


def written(value: Any, *, escaped: bool, wide: bool) -> bytes:
    """JSON in one of the ways that agents write it."""
    text = json.dumps(value, ensure_ascii=escaped, separators=(" , ", " : ") if wide else (",", ":"))
    return (
        text.replace("/", "\\/").encode("utf-8", "surrogatepass")
        if escaped
        else text.encode("utf-8", "replace")
    )


@given(VALUES, st.booleans(), st.booleans())
def test_a_masked_line_says_what_a_masked_object_would(value: Any, escaped: bool, wide: bool) -> None:
    data = written([value], escaped=escaped, wide=wide)
    meant = redact_object(json.loads(data))[0]
    assert json.loads(mask_raw(data).data) == meant


@given(VALUES, st.booleans(), st.booleans())
def test_masking_twice_is_masking_once_and_no_secret_is_left(value: Any, escaped: bool, wide: bool) -> None:
    once = mask_raw(written([value], escaped=escaped, wide=wide)).data
    assert mask_raw(once).data == once
    assert TOKEN.encode() not in once


@given(VALUES, st.booleans(), st.booleans())
def test_every_byte_that_is_no_secret_stays(value: Any, escaped: bool, wide: bool) -> None:
    data = written([value], escaped=escaped, wide=wide)
    parts = re.split(rb"\[redacted:[a-z0-9-]+\]", mask_raw(data).data)
    at = 0
    for part in parts:
        at = data.find(part, at) + len(part)
        assert at >= len(part)
    assert data.startswith(parts[0])
    assert data.endswith(parts[-1])


@given(VALUES, st.data())
def test_a_line_in_pieces_is_masked_as_one(value: Any, cuts: st.DataObject) -> None:
    data = written([value], escaped=False, wide=False)
    at = sorted(cuts.draw(st.lists(st.integers(0, len(data)), max_size=3)))
    pieces = [data[a:b] for a, b in zip([0, *at], [*at, len(data)], strict=True)]
    made, found, _ = mask_pieces(pieces)
    assert len(made) == len(pieces)
    assert (b"".join(made), found) == (mask_raw(data).data, mask_raw(data).found)


@given(st.binary(max_size=40), st.binary(max_size=40))
def test_what_is_no_json_is_masked_as_bytes(before: bytes, after: bytes) -> None:
    data = b"\xff not json " + before + b" GITHUB_TOKEN=" + TOKEN.encode() + b" \xff" + after
    masked = mask_raw(data).data
    assert TOKEN.encode() not in masked
    assert masked.startswith(b"\xff not json ")
    assert mask_raw(masked).data == masked


def test_of_a_name_that_is_given_twice_both_values_are_read() -> None:
    data = b'{"password": "Tr0ub4dor&3-stapler", "password": "x", "n": 1e400}'
    assert mask_raw(data).data == b'{"password": "[redacted:password]", "password": "x", "n": 1e400}'


def test_a_piece_of_a_document_is_read_like_json() -> None:
    piece = b',\n  {"name": "DB_PASSWORD", "value": "Tr0ub4dor\\u00263-stapler", "n": 007.10e2}'
    assert b"[redacted:" in mask_raw(piece).data
    told = mask_raw(b', {"name": "DB_PASSWORD", "value": "Tr0ub4dor\\u00263-stapler"}')
    assert told.data == b', {"name": "DB_PASSWORD", "value": "[redacted:password]"}'
    assert told.secrets == {"Tr0ub4dor&3-stapler": "password"}


def test_what_is_known_to_be_a_secret_is_masked_where_nothing_says_so() -> None:
    data = b'{"said": "it was Zx81kQ-77-harbor, I think"}'
    assert mask_raw(data).data == data
    assert mask_raw(data, {"Zx81kQ-77-harbor": "password"}).data == (
        b'{"said": "it was [redacted:password], I think"}'
    )


def test_a_picture_is_left_alone() -> None:
    picture = "iVBORw0KGgo" + base64.b64encode(TOKEN.encode() * 20).decode()
    data = json.dumps({"data": picture, "text": f"GITHUB_TOKEN={TOKEN}"}).encode()
    assert json.loads(mask_raw(data).data) == {
        "data": picture,
        "text": "GITHUB_TOKEN=[redacted:github-token]",
    }
