"""A project is a repository, not a path: clones, worktrees and submodules are told by git's own files."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from recollect.light import project
from recollect.light.project import is_in_git, project_of, repository_folder


@pytest.fixture(autouse=True)
def _forget() -> None:
    project._known.clear()


def _repository(folder: Path, url: str = "", name: str = "demo") -> Path:
    git = folder / name / ".git"
    git.mkdir(parents=True)
    remote = (
        f'[remote "origin"]\n\turl = {url}\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n' if url else ""
    )
    (git / "config").write_text(f'[core]\n\tbare = false\n{remote}[branch "main"]\n\tremote = origin\n')
    return folder / name


REMOTES = {
    "https://github.com/.": "demo",
    "https://github.com/owner/..": "demo",
    "https://github.com/owner/name.git": "github.com/owner/name",
    "https://github.com/owner/name": "github.com/owner/name",
    "https://github.com/owner/name/": "github.com/owner/name",
    "git@github.com:owner/name.git": "github.com/owner/name",
    "ssh://git@github.com:22/owner/name.git": "github.com/owner/name",
    "ssh://git@github.com/owner/name": "github.com/owner/name",
    "git://github.com/owner/name.git": "github.com/owner/name",
    "HTTPS://GitHub.com/owner/name.git": "github.com/owner/name",
    "https://gitlab.example:8443/group/sub/name.git": "gitlab.example/group/sub/name",
    "/srv/git/name.git": "demo",
    "../name": "demo",
    "file:///srv/git/name.git": "demo",
    "": "demo",
}


@pytest.mark.parametrize("url", REMOTES)
def test_two_clones_are_one_project_however_they_are_addressed(tmp_path: Path, url: str) -> None:
    assert project_of(str(_repository(tmp_path, url))) == REMOTES[url]


SECRETS = [
    "https://user:s3cret@github.com/owner/name.git",
    "https://s3cret@github.com/owner/name.git",
    "https://user:s3cret@x@github.com/owner/name.git",
    "https://user:a/s3cret@github.com/owner/name.git",
    "HTTPS://s3cret@github.com/owner/name",
    "https://x-access-token:s3cret@github.com/owner/name.git?token=s3cret#s3cret",
    "user:s3cret@github.com:owner/name.git",
    "ssh://user:s3cret@github.com:22/owner/name",
    "https+x://s3cret:s3cret@github.com/owner/name",
]


@pytest.mark.parametrize("url", SECRETS)
def test_credentials_in_a_remote_never_appear(tmp_path: Path, url: str) -> None:
    assert "s3cret" not in project_of(str(_repository(tmp_path, url)))


def test_a_folder_inside_a_repository_is_the_repository(tmp_path: Path) -> None:
    inner = _repository(tmp_path, "https://github.com/owner/name") / "src" / "deep"
    inner.mkdir(parents=True)
    assert project_of(str(inner)) == "github.com/owner/name"
    assert project_of(str(inner / "gone" / "since")) == "github.com/owner/name"


def test_a_worktree_is_the_repository_it_was_made_from(tmp_path: Path) -> None:
    main = _repository(tmp_path, "https://github.com/owner/name")
    private = main / ".git" / "worktrees" / "feature"
    private.mkdir(parents=True)
    (private / "commondir").write_text("../..\n")
    tree = tmp_path / "feature"
    tree.mkdir()
    (tree / ".git").write_text(f"gitdir: {private}\n")
    assert project_of(str(tree)) == "github.com/owner/name"


def test_a_submodule_is_a_project_of_its_own(tmp_path: Path) -> None:
    main = _repository(tmp_path, "https://github.com/owner/name")
    module = main / ".git" / "modules" / "part"
    module.mkdir(parents=True)
    (module / "config").write_text('[remote "origin"]\n\turl = https://github.com/owner/part\n')
    (main / "part").mkdir()
    (main / "part" / ".git").write_text("gitdir: ../.git/modules/part\n")
    assert project_of(str(main / "part")) == "github.com/owner/part"
    (module / "config").unlink()
    project._known.clear()
    assert project_of(str(main / "part")) == "part"


def test_real_git_agrees(tmp_path: Path) -> None:
    if subprocess.run(["git", "--version"], capture_output=True, check=False).returncode:
        pytest.skip("git is not installed")
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "HOME": str(tmp_path)}

    def git(*words: str) -> None:
        command = ["git", "-c", "user.name=n", "-c", "user.email=e@e", "-C", str(tmp_path / "main"), *words]
        subprocess.run(command, check=True, capture_output=True, env=environment)

    (tmp_path / "main").mkdir()
    git("init", "-q")
    git("commit", "-q", "--allow-empty", "-m", "first")
    git("remote", "add", "origin", "git@example.org:team/tool.git")
    git("worktree", "add", "-q", str(tmp_path / "tree"))
    assert project_of(str(tmp_path / "main")) == project_of(str(tmp_path / "tree")) == "example.org/team/tool"


@pytest.mark.parametrize(
    ("cwd", "name"),
    [
        ("/nowhere/at/all/demo", "demo"),
        ("C:\\Users\\me\\demo", "demo"),
        ("C:\\Users\\me\\demo\\", "demo"),
        ("\\\\server\\share\\demo", "demo"),
        ("relative/demo", "demo"),
        ("/", ""),
        ("", ""),
        ("/a\0b", "a\0b"),
        ("/\ud800", "\ud800"),
        ("/" + "x" * 5000, "x" * 5000),
    ],
)
def test_a_folder_that_is_not_here_is_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cwd: str, name: str
) -> None:
    """Not the repository that this process happens to run in."""
    monkeypatch.chdir(_repository(tmp_path, "https://github.com/owner/here"))
    assert project_of(cwd) == name


@pytest.mark.parametrize(
    "content", [b"", b"gitdir: /\0", b"\xff\xfe", b"gitdir: loop", b"gitdir: " + b"x" * 9000]
)
def test_a_git_file_that_leads_nowhere_is_no_error(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / ".git").write_bytes(content)
    (tmp_path / "demo" / "loop").symlink_to(tmp_path / "demo" / "loop")
    assert isinstance(project_of(str(tmp_path / "demo")), str)


@pytest.mark.parametrize(
    "config", [b"", b"no section", b'[remote "origin"]\n\turl\n', b"\xff[", b"[" * 9999, b"\xef\xbb\xbf"]
)
def test_a_broken_git_configuration_gives_the_folders_name(tmp_path: Path, config: bytes) -> None:
    folder = _repository(tmp_path)
    (folder / ".git" / "config").write_bytes(config)
    assert project_of(str(folder)) == "demo"


@pytest.mark.parametrize(
    ("folder", "of"),
    [
        ("/srv/quay/.worktrees/1", "/srv/quay"),
        ("/srv/quay/.worktrees/1/src/deep", "/srv/quay"),
        ("/srv/quay/.claude/worktrees/agent-a1", "/srv/quay"),
        ("D:\\quay\\.claude\\worktrees\\agent-a1", "D:/quay"),
        ("/repo/.worktrees/1", "/repo"),
        ("/home/ada/.worktrees/quay", "/home/ada/.worktrees/quay"),
        ("/Users/ada/.codex/worktrees/4f/quay", "/Users/ada/.codex/worktrees/4f/quay"),
        ("/root/.worktrees/quay", "/root/.worktrees/quay"),
        ("/srv/worktrees/quay", "/srv/worktrees/quay"),
        ("/srv/quay/.worktrees", "/srv/quay/.worktrees"),
        ("/srv/quay/", "/srv/quay"),
        ("", ""),
    ],
)
def test_a_worktree_inside_of_a_repository_is_that_repository(folder: str, of: str) -> None:
    assert repository_folder(folder) == of


def test_a_worktree_that_is_gone_has_its_repositorys_name(tmp_path: Path) -> None:
    assert project_of(str(tmp_path / "quay" / ".worktrees" / "1")) == "quay"


@pytest.mark.parametrize(
    ("below", "name"), [("/d" * 63, "demo"), ("/d" * 64, "d"), ("/d/" + "e" * 4_096, "e" * 4_096)]
)
def test_git_is_looked_for_no_further_than_folders_go(tmp_path: Path, below: str, name: str) -> None:
    """A log can claim any folder; each level of it would be asked for."""
    assert project_of(f"{_repository(tmp_path)}{below}") == name


def test_whether_git_is_there(tmp_path: Path) -> None:
    folder = _repository(tmp_path)
    assert is_in_git(str(folder / "src"))
    assert not is_in_git(str(tmp_path))
    assert not is_in_git("demo")
