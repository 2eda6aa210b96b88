"""The embedder inside the wheel: same text, same bits, whatever the text."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.examples import examples

from recollect.search.embed import static
from recollect.search.embed.contract import Embedder
from recollect.search.embed.static import StaticEmbedder, words

HOSTILE = {
    "empty": "",
    "spaces": " \t\n\r\v\f ",
    "NUL": "\0\0\0",
    "lone surrogates": "\ud800 \udfff text \udc00",
    "control bytes": "\x01\x02\x1b[31mred\x1b[0m\x7f",
    "a word of a megabyte": "a" * 1_000_000,
    "capitals of a megabyte": "A" * 1_000_000,
    "underscores of a megabyte": "_" * 1_000_000,
    "base64 of a megabyte": "aB3xY9Zq" * 125_000,
    "combining marks of a megabyte": "e" + "\u0301" * 1_000_000,
    "distinct words of a megabyte": " ".join(f"w{n:x}" for n in range(170_000)),
    "one CJK run": "数据库连接错误" * 50_000,
    "joined emoji": "👩‍👩‍👧‍👦" * 1000,
    "right to left": "שגיאת חיבור למסד הנתונים \u202e override",
    "digits of other scripts": "٠١٢٣٤٥٦٧٨٩ ४५६",
    "ligatures": "ﬁle ﬃ İstanbul ẞ ǅ",
}

# (a, b, c): a is nearer to b than to c.
NEARER = [
    ("database connection refused", "cannot connect to the sql server", "bake a chocolate cake"),
    ("fix the failing unit test", "pytest assertion error in test_login", "choose a font for the heading"),
    ("user login with password", "authenticate account credentials", "resize the image thumbnail"),
    ("delete a directory recursively", "rm -rf folder", "curl https://example.com"),
    ("list files in a folder", "ls -la directory", "git commit -m message"),
    ("parse json from a string", "json.loads(text)", "math.sqrt(value)"),
    ("read a csv file", "pandas.read_csv(path)", "socket.listen(port)"),
    ("sort the list in reverse order", "sorted(items, reverse=True)", "open(path, 'wb').write(data)"),
    ("convert a string to a date", "datetime.strptime(text, format)", "random.choice(items)"),
    ("download a file from a url", "requests.get(url, stream=True)", "threading.Lock()"),
    ("create a new git branch", "git checkout -b feature", "docker ps"),
    ("install the python package", "pip install numpy", "chmod +x script.sh"),
    ("start the docker container", "docker run image", "tar -xzf archive.tar.gz"),
    ("memory leak in the cache", "cache never evicts and memory grows", "rename the variable"),
    ("refreshToken expired", "oauth token expiry and refresh", "css grid layout"),
    ("timeout while waiting for the response", "request timed out after 30 seconds", "list of colours"),
    ("permission denied when writing the file", "cannot write, access not permitted", "average of numbers"),
    ("speed up the slow query", "add an index to make the sql query faster", "translate the readme"),
    ("I adopted a puppy last week", "we got a new dog", "the printer is out of paper"),
    ("my sister is getting married", "the wedding of a family member", "compile the kernel module"),
    ("what did we eat at the restaurant", "dinner with pasta and wine", "tcp socket buffer size"),
    ("planning a trip to Japan", "travel to Tokyo, flights and hotels", "unit tests for the parser"),
    ("she plays the violin", "music lessons on an instrument", "network firewall rules"),
    ("the doctor prescribed medicine", "hospital visit and treatment", "merge the pull request"),
    ("deploy to production", "release the service on kubernetes", "draw a circle on the canvas"),
    ("encrypt the data with a key", "aes cipher and secret key", "sort the rows by name"),
    ("race condition between threads", "add a lock for concurrent access", "update the copyright year"),
    ("upgrade the dependency version", "bump package to the latest release", "compute the median"),
    ("getUserById", "fetch a user from its id", "matrix multiplication"),
    ("HTTPServer handleRequest", "http server that handles a request", "plot a histogram"),
]


@pytest.fixture(scope="module")
def embedder() -> StaticEmbedder:
    return StaticEmbedder.load()


def test_it_is_an_embedder_of_256_dimensions(embedder: StaticEmbedder) -> None:
    same: Embedder = embedder
    assert (same.name, same.dims) == ("recollect-static", 256)


def test_the_revision_is_the_hash_of_the_table(embedder: StaticEmbedder) -> None:
    """Vectors of two tables must never pass for each other's."""
    with np.load(static.TABLE) as data:
        parts = b"".join(data[name].tobytes() for name in ("vocabulary", "table", "scales"))
    assert embedder.revision == hashlib.sha256(parts).hexdigest()[:12]


def test_rows_are_unit_and_no_words_are_zeros(embedder: StaticEmbedder) -> None:
    vectors = embedder.encode(["the token expired", "", "x", "... !!! ---", "\0"])
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), [1, 0, 1, 0, 0], atol=1e-6)
    assert embedder.encode([]).shape == (0, 256)


@examples(50)
@given(
    texts=st.lists(st.text(max_size=60) | st.sampled_from([a for row in NEARER for a in row]), max_size=20)
)
def test_a_text_has_the_same_bits_alone_and_in_a_batch(texts: list[str]) -> None:
    embedder = StaticEmbedder.load()
    together = embedder.encode(texts)
    for text, row in zip(texts, together, strict=True):
        assert embedder.encode([text])[0].tobytes() == row.tobytes()
        assert embedder.encode_query(text).tobytes() == row.tobytes()


def test_another_process_gives_the_same_bits(embedder: StaticEmbedder) -> None:
    texts = [text for row in NEARER for text in row]
    code = (
        "import hashlib, sys; from recollect.search.embed.static import StaticEmbedder as E;"
        "print(hashlib.sha256(E.load().encode(sys.argv[1:]).tobytes()).hexdigest())"
    )
    run = subprocess.run([sys.executable, "-c", code, *texts], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == hashlib.sha256(embedder.encode(texts).tobytes()).hexdigest()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("parseHTTPHeader_v2", ["parse", "http", "header", "v", "2"]),
        ("getUserName", ["get", "user", "name"]),
        ("snake_case__twice_", ["snake", "case", "twice"]),
        ("SCREAMING_SNAKE", ["screaming", "snake"]),
        ("src/recollect/index.py:42", ["src", "recollect", "index", "py", "42"]),
        ("café NAÏVE Über", ["cafe", "naive", "uber"]),
        ("e\u0301te\u0301", ["ete"]),
        ("don't", ["don", "t"]),
        ("数据 base", ["数", "据", "base"]),
        ("x\udc00y", ["x", "y"]),
        ("", []),
    ],
)
def test_words_are_split_as_people_read_identifiers(text: str, expected: list[str]) -> None:
    assert list(words(text)) == expected


def test_case_style_of_an_identifier_does_not_matter(embedder: StaticEmbedder) -> None:
    vectors = embedder.encode(["getUserName", "get_user_name", "get user name", "GET_USER_NAME"])
    assert np.allclose(vectors @ vectors.T, 1, atol=1e-5)


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_no_text_breaks_it_or_takes_long(embedder: StaticEmbedder, text: str) -> None:
    start = time.process_time()
    vector = embedder.encode([text])[0]
    query = embedder.encode_query(text, idf=lambda word: 1.0)
    assert time.process_time() - start < 10  # each takes well under one second; the machine may be busy
    for found in (vector, query):
        assert np.isfinite(found).all()
        assert np.isclose(np.linalg.norm(found), 1, atol=1e-5) or not found.any()


def test_related_texts_are_nearer_than_unrelated_ones(embedder: StaticEmbedder) -> None:
    wrong = []
    for text, near, far in NEARER:
        one, two, three = embedder.encode([text, near, far])
        if one @ two <= one @ three:
            wrong.append((text, float(one @ two), float(one @ three)))
    assert len(NEARER) == 30
    assert not wrong


def test_a_rare_word_turns_the_query_towards_itself(embedder: StaticEmbedder) -> None:
    rare, other = embedder.encode(["kubernetes", "meeting"])
    plain = embedder.encode_query("kubernetes meeting")
    weighed = embedder.encode_query(
        "kubernetes meeting", idf=lambda word: 9.0 if word == "kubernetes" else 1.0
    )
    assert weighed @ rare > plain @ rare
    assert weighed @ other < plain @ other


def test_words_without_weight_drop_out_of_the_query(embedder: StaticEmbedder) -> None:
    only = embedder.encode_query("the kubernetes", idf=lambda word: 1.0 if word == "kubernetes" else -1.0)
    assert np.allclose(only, embedder.encode_query("kubernetes"), atol=1e-6)
    assert not embedder.encode_query("the kubernetes", idf=lambda word: 0.0).any()


def test_the_memo_is_bounded_and_forgetting_changes_nothing(
    embedder: StaticEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = embedder.encode(["parseHTTPHeader of the refreshToken"])
    monkeypatch.setattr(static, "MEMO_RUNS_MAX", 100)
    embedder.encode([" ".join(f"word{n}" for n in range(5000))])
    embedder.encode(["x" * 500])
    assert len(embedder._memo) <= 100
    assert all(len(run) <= static.RUN_CHARS_MAX for run in embedder._memo)
    assert embedder.encode(["parseHTTPHeader of the refreshToken"]).tobytes() == before.tobytes()
