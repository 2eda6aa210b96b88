"""Edits of another's TOML: what is ours goes in and out, and nothing else moves."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from recollect.agents.editing.toml_text import Toml
from recollect.values.errors import SettingsRefused

TABLE = ("mcp_servers", "recollect")
OURS = '[mcp_servers.recollect]\ncommand = "x"\n'


def _toml(text: str) -> Toml:
    return Toml.parse(Path("config.toml"), text.encode())


def test_remarks_between_our_table_and_the_next_one_stay() -> None:
    text = f'model = "x"\n\n{OURS}\n# about features\n[features]\na = 1  # on\n'
    assert _toml(text).drop_table(TABLE).text == 'model = "x"\n\n# about features\n[features]\na = 1  # on\n'


def test_tables_below_ours_go_with_it_wherever_they_stand() -> None:
    below = "[mcp_servers.recollect.tools.a]\nb = 1\n"
    text = f"{OURS}\n[features]\na = 1\n\n{below}# the end\n"
    assert _toml(text).drop_table(TABLE).text == "[features]\na = 1\n\n# the end\n"


def test_an_entry_keeps_the_remark_beside_it_when_it_is_set_anew() -> None:
    text = "# first\nnotify = ['old']  # why\n"
    assert _toml(text).put_key("notify", ["new"]).text == '# first\nnotify = ["new"]  # why\n'


def test_a_value_comes_back_whatever_is_in_it() -> None:
    odd = "quote \" slash \\ line \n bell \x07 delete \x7f line of its own \x85 \u2028 中文 'x'"
    made = _toml("").put_key("notify", [odd]).put_table(TABLE, {"command": odd})
    assert _toml(made.text).value == {"notify": [odd], "mcp_servers": {"recollect": {"command": odd}}}
    assert made.drop_key("notify").drop_table(TABLE).text == ""


def test_an_edit_that_says_something_else_is_refused() -> None:
    with pytest.raises(SettingsRefused, match="could not be edited safely"):
        _toml("mcp_servers = { docs = {} }\n").put_table(TABLE, {"command": "x"})
    with pytest.raises(SettingsRefused, match="could not be edited safely"):
        _toml("a = 1\n")._edit(lambda document: document.update({"a": 3}), {"a": 2})


def test_tomlkit_is_imported_by_an_edit_and_not_before() -> None:
    code = (
        "import sys; from pathlib import Path; from recollect.agents.editing.toml_text import Toml;"
        "Toml.parse(Path('x'), b'a = 1'); print('tomlkit' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"


def test_tables_of_others_that_would_be_moved_are_left_and_the_edit_is_refused() -> None:
    text = f"[[hooks]]\na = 1\n\n[mcp_servers.other]\nb = 1\n\n[[hooks]]\na = 2\n\n{OURS}"
    with pytest.raises(SettingsRefused):
        _toml(text).put_table(TABLE, {"command": "new"})


def test_an_empty_line_at_the_top_stays_when_our_table_goes() -> None:
    text = f'\nmodel = "x"\n\n{OURS}'
    assert _toml(text).drop_table(TABLE).text == '\nmodel = "x"\n'
