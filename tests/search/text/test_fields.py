"""What of an entry is indexed, and as what."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from recollect.search.text.fields import (
    BODY_CHARS_MAX,
    TERM_CHARS_MAX,
    body_of,
    cjk_query,
    cjk_terms,
    dir_terms,
    encodable,
    file_terms,
    files_of,
    flags_of,
    gist_of,
    identifiers,
    is_indexed,
    names_folder,
    path_term,
    split_humps,
    whole_query,
)
from recollect.values.records import Entry, Flag, Kind


def call(tool: str, **arguments: object) -> Entry:
    return Entry(Kind.CALL, json.dumps(arguments), tool=tool)


def result(text: str) -> str:
    return body_of(Entry(Kind.RESULT, text))


def whole(text: str) -> set[str]:
    return set(identifiers([text])[0].whole.split())


def parts(text: str) -> set[str]:
    return {each.lower() for each in re.findall(r"\w+", identifiers([text])[0].parts)}


class TestBody:
    @pytest.mark.parametrize(
        ("flags", "indexed"), [(0, True), (Flag.COPY, False), (Flag.INJECTED, False), (Flag.ERROR, True)]
    )
    def test_copies_and_our_own_words_are_left_out(self, flags: int, indexed: bool) -> None:
        assert is_indexed(Entry(Kind.PROMPT, "hello", flags)) == indexed

    def test_a_call_is_its_arguments(self) -> None:
        entry = call("Edit", file_path="/a/b.py", edits=[{"old_string": "one\ntwo", "count": 3}], all=True)
        assert body_of(entry).split("\n") == ["/a/b.py", "one", "two", "3"]

    def test_of_what_an_edit_leaves_as_it_was_only_what_stands_beside_a_change_is_there_twice(self) -> None:
        old = ["one", "two", "three", "four", "five"]
        entry = call("Edit", old_string="\n".join(old), new_string="one\ntwo\nTHREE\nfour\nfive")
        assert body_of(entry).split("\n") == [*old, "two", "THREE", "four"]

    def test_a_call_that_is_no_json_is_its_text(self) -> None:
        assert body_of(Entry(Kind.CALL, "*** Begin Patch\n+x")) == "*** Begin Patch\n+x"
        assert body_of(Entry(Kind.CALL, '{"broken')) == '{"broken'
        assert body_of(Entry(Kind.CALL, "tr a \\n")) == "tr a \\n"

    def test_a_line_break_inside_json_is_not_a_letter(self) -> None:
        assert body_of(Entry(Kind.RESULT, '{"out":"one\\ntwo\\tthree"}')) == '{"out":"one\ntwo\tthree"}'
        assert (
            body_of(Entry(Kind.RESULT, 'line: {\\"out\\": \\"one\\ntwo\\"}')) == 'line: {"out": "one\ntwo"}'
        )

    def test_a_backslash_in_a_path_stays_one(self) -> None:
        assert (
            body_of(Entry(Kind.RESULT, '{"cwd":"C:\\\\new","out":"a\\nb"}'))
            == '{"cwd":"C:\\new","out":"a\nb"}'
        )
        assert body_of(Entry(Kind.RESULT, "in C:\\new\\table")) == "in C:\\new\\table"

    def test_escaped_characters_are_themselves(self) -> None:
        assert "naïve" in result('{"a":"na\\u00efve\\nx"}')

    def test_a_long_text_is_cut(self) -> None:
        assert len(body_of(Entry(Kind.RESULT, "ab " * BODY_CHARS_MAX))) == BODY_CHARS_MAX
        assert "needle" in result("hay " * 450_000 + "needle")
        assert "needle" not in result("hay " * 700_000 + "needle")

    def test_only_what_is_json_is_read_as_json(self) -> None:
        assert result('["one\\ntwo"]') == '["one\ntwo"]'
        assert result('"one\\ntwo"') == '"one\ntwo"'
        assert result("one\\ntwo") == "one\\ntwo"
        assert result('{"tab":"one\\ttwo"}') == '{"tab":"one\\ttwo"}'
        assert result('said \\"one\\ttwo\\"') == 'said \\"one\\ttwo\\"'

    def test_json_keeps_its_blanks(self) -> None:
        assert result('{ "a" : "one\\ntwo" }') == '{ "a" : "one\ntwo" }'
        assert result('{ "a" : "one\\r\\ntwo\\/three" }') == '{ "a" : "one\n\ntwo/three" }'

    def test_numbers_are_words_of_a_call_and_truth_is_none(self) -> None:
        entry = call("Tool", port=8080, share=0.5, deep=True, missing=None)
        assert body_of(entry).split("\n") == ["8080", "0.5"]

    def test_texts_that_begin_alike_but_for_digits_blanks_and_case_are_one(self) -> None:
        assert gist_of("Built 12 of 40\n") == gist_of("built 13 of 40") != gist_of("tested 13 of 40")
        assert gist_of("12 34") != gist_of("56 78")
        assert gist_of("") == 0 != gist_of(" ")
        begin = "words " * 250  # 1,250 letters
        assert gist_of(begin + "one") == gist_of(begin + "other")
        assert gist_of(begin[:800] + "one") != gist_of(begin[:800] + "other")

    @given(st.text(st.characters(exclude_categories=[])), st.sampled_from(Kind))
    @example('{"a":"\\ud800\\n"}', Kind.CALL)
    @example("\ud800", Kind.PROMPT)
    @example("[" * 5000, Kind.RESULT)
    @example('{"a":' * 5000, Kind.CALL)
    def test_any_text_gives_one_that_can_be_indexed(self, text: str, kind: Kind) -> None:
        entry = Entry(kind, text)
        body_of(entry).encode()
        [each.encode() for each in files_of(entry)]
        encodable(text).encode()

    def test_flags_have_the_names_that_filters_use(self) -> None:
        every = sum(Flag)
        assert flags_of(Entry(Kind.RESULT, flags=every)) == [
            "error",
            "sidechain",
            "meta",
            "boundary",
            "spilled",
            "exported",
        ]
        assert flags_of(Entry(Kind.RESULT)) == []


class TestPaths:
    @pytest.mark.parametrize(
        ("entry", "paths"),
        [
            (call("Read", file_path="/src/a.py", limit=3), ["/src/a.py"]),
            (call("NotebookEdit", notebook_path="n.ipynb"), ["n.ipynb"]),
            (call("Grep", pattern="x", path="src/auth"), ["src/auth"]),
            (call("Edit", file_path="D:\\go\\a.go"), ["D:/go/a.go"]),
            (call("Bash", command="cat /etc/hosts"), []),
            (call("Read", file_path=["not", "text"]), []),
            (call("Read", file_path=""), []),
            (Entry(Kind.RESULT, '{"file_path":"a.py"}'), []),
            (Entry(Kind.CALL, '{"file_path":"a.py"', tool="Read"), []),
            (Entry(Kind.CALL, '["file_path"]', tool="Read"), []),
        ],
    )
    def test_the_paths_a_call_names(self, entry: Entry, paths: list[str]) -> None:
        assert files_of(entry) == paths

    def test_a_patch_names_every_file_it_touches(self) -> None:
        patch = (
            "*** Begin Patch\n*** Update File: src/app.js\n*** Move to: src/main.js\n@@\n-a\n+b\n"
            "*** Add File: new file.md\n+x\n*** Delete File: old.md\n*** End Patch"
        )
        touched = ["src/app.js", "src/main.js", "new file.md", "old.md"]
        assert files_of(Entry(Kind.CALL, patch, tool="apply_patch")) == touched
        assert files_of(call("shell", command=["bash", "-lc", f"apply_patch <<'P'\n{patch}\nP"])) == touched
        script = f"const patch = {json.dumps(patch)};"
        assert files_of(Entry(Kind.CALL, script, tool="exec")) == touched

    def test_what_has_several_lines_is_no_path(self) -> None:
        assert files_of(call("Read", file_path="a.py\nb.py", path="c.py")) == ["c.py"]

    def test_a_path_is_named_once_and_of_very_many_the_first(self) -> None:
        patch = "*** Begin Patch\n{}*** End Patch"
        added = [f"*** Add File: f{n}.md\n+x\n" for n in range(1_000)]
        named = files_of(Entry(Kind.CALL, patch.format("".join(added)), tool="apply_patch"))
        assert 100 <= len(named) <= 300
        assert named == [f"f{n}.md" for n in range(len(named))]
        assert files_of(Entry(Kind.CALL, patch.format(added[0] * 2), tool="apply_patch")) == ["f0.md"]

    def test_of_a_very_deep_path_the_last_names_count(self) -> None:
        names = [f"d{n}" for n in range(99)]
        terms = file_terms("/".join([*names, "a.py"]))
        assert 10 <= len(terms) <= 20
        assert terms[-2:] == ("d98/a.py", "a.py")
        assert 10 <= len({term for term in dir_terms("/".join([*names, "a.py"])) if "/" not in term}) <= 20
        assert len(whole("/".join(f"{name}-x" for name in names))) <= 20
        assert len(whole(".".join(f"{name}_x" for name in names[:20]))) <= 20

    def test_a_path_is_found_by_every_suffix(self) -> None:
        assert file_terms("/A/b/c.PY") == ("c.py", "b/c.py", "a/b/c.py")[::-1]

    def test_a_folder_is_found_by_every_suffix_too(self) -> None:
        assert set(dir_terms("/a/b/c.py")) == {"a", "b", "a/b"}
        assert set(dir_terms("a/b", True)) == {"a", "b", "a/b"}
        assert names_folder(call("Grep", path="a"))
        assert not names_folder(call("Read", path="a"))

    @pytest.mark.parametrize(
        "written", ["src/a.py", "/src/a.py", "./src/a.py", "C:\\src\\A.py", "~/src//a.py"]
    )
    def test_a_path_is_one_however_it_is_written(self, written: str) -> None:
        assert path_term(written) == "src/a.py"

    @given(st.lists(st.text(st.characters(exclude_characters="/\\"), min_size=1), min_size=1, max_size=10))
    def test_every_suffix_a_person_may_type_is_a_term(self, names: list[str]) -> None:
        path = "/" + "/".join(names)
        for at in range(len(names)):
            asked = path_term("/".join(names[at:]))
            plain = names[at] not in (".", "..", "~") and not re.fullmatch("[A-Za-z]:", names[at])
            assert not plain or asked in file_terms(path)


class TestIdentifiers:
    @pytest.mark.parametrize(
        "name",
        [
            "token_store",
            "token_store.py",
            "src/auth/token_store.py",
            "std::io::error",
            "os.path.join",
            "err_module_not_found",
            "faiss-cpu",
            "v1.2.3",
            "0.27.0",
            "127.0.0.1",
            "user@host.example",
            "__init__.py",
            "_private",
            "x-request-id",
            "a.b",
            "3d_printer",
            "aaaa-bbbb-cccc-dddd-eeee-ffff-gggggg",
            "_" + "n" * 90,
        ],
    )
    def test_what_the_word_analyzer_breaks_is_one_term(self, name: str) -> None:
        for text in (
            name,
            f"see {name}.",
            f"({name})",
            f"'{name}': {name}, x",
            f"{name.upper()}\n",
            f"é{name}é",
        ):
            assert name in whole(text), text
            assert whole_query(text) == whole_query(text.upper()) == [name]

    @pytest.mark.parametrize(
        "text",
        [
            "plain words, and more.",
            "getUserName",
            "12:30:45",
            "0.123",
            "2026-03-02T09:00:00.000Z",
            "-----",
            "98cb46a7-f08c-4a44-96f7-9c9eaf5c7b8f",
            "____",
            "...",
            "a-",
            "",
            "3.473zm10.609",
            "key: value",
            "_a",
            "a_" * 75,
            "1.2",
            "1.2.3.4.5",
        ],
    )
    def test_what_nobody_would_ask_for_is_none(self, text: str) -> None:
        assert whole(text) == set()
        assert whole_query(text) == []

    def test_names_inside_a_path_are_found(self) -> None:
        assert whole("/home/ada/my-app/src/token_store.py:12: error") == {
            "home/ada/my-app/src/token_store.py",
            "my-app",
            "token_store.py",
            "token_store",
        }
        assert {"self.token_store.refresh_all", "token_store", "refresh_all"} == whole(
            "self.token_store.refresh_all()"
        )
        assert "main.rs" in whole("src/main.rs-116-    let x")
        assert "main.rs" in whole("src/main.rs-5-    let x")

    def test_a_windows_path_is_the_same_path(self) -> None:
        assert whole_query("C:\\work\\token_store.py") == whole_query("work/token_store.py")

    def test_humps_are_parts(self) -> None:
        assert parts("call getUserName() now") == {"get", "user", "name"}
        assert parts("XMLHttpRequest and HTTPServerError") == {"xml", "http", "request", "server", "error"}
        assert parts("plain words Only Here") == set()
        assert parts("toolu_01XgFmGcP5Et728d3LpQhFdX") == set()
        assert parts("on iOS") == {"i", "os"}
        assert parts("aBcD") == {"a", "bc", "d"}
        assert parts("getUserNameOf") == {"get", "user", "name", "of"}
        assert parts("USER_ID A1B2C3") == set()
        assert split_humps("getUserName HTTPServer URLs") == "get User Name HTTP Server URLs"

    @given(st.lists(st.text(st.sampled_from("aB0_./\\-@: \né世"), max_size=30), max_size=8))
    def test_many_texts_at_once_are_as_one_by_one(self, texts: list[str]) -> None:
        assert identifiers(texts) == [each for text in texts for each in identifiers([text])]

    @given(st.text(st.sampled_from("aB0_./\\-@: \né世"), max_size=40))
    def test_what_a_query_asks_for_is_in_the_text(self, text: str) -> None:
        """The same text, indexed and asked for, agrees on its terms."""
        terms = identifiers([text])[0].whole.split(" ")
        assert set(whole_query(text)) <= set(terms)
        assert all(len(each) <= TERM_CHARS_MAX for each in terms)


class TestCjk:
    def test_pairs_in_order_and_each_character(self) -> None:
        assert cjk_terms("数据库 ok 表").split() == ["数据", "据库", "数", "据", "库", "表"]
        assert cjk_terms("arrows → and naïve — dashes") == ""

    def test_a_query_means_its_pairs(self) -> None:
        assert cjk_query("数据库 ok 表") == ["数据", "据库", "表"]
        assert cjk_query("かな 한국어 ok") == ["かな", "한국", "국어"]

    @given(st.text(st.sampled_from("a 数据库かな한국어𠀀é、")))
    def test_what_a_query_asks_for_is_in_the_text(self, text: str) -> None:
        assert set(cjk_query(text)) <= set(cjk_terms(text).split())
