import hashlib
import shutil
import subprocess
from pathlib import Path

import git
import pytest

from attnkern.errors import FailedError, UserError
from attnkern.revisions import history
from attnkern.revisions.index import locked_releases
from attnkern.revisions.release import Release, to_json
from tests.conftest import CommandLine


def object_id(kind: str, data: bytes) -> str:
    """A git object's id, from git's documented format alone."""
    return hashlib.sha1(f"{kind} {len(data)}\0".encode() + data).hexdigest()


def expected_line(releases: list[Release]) -> list[str]:
    parent, line = "", []
    for release in releases:
        blob = object_id("blob", to_json(release).encode())
        tree = object_id("tree", b"100644 release.json\0" + bytes.fromhex(blob))
        who = f"attnkern <attnkern@localhost> {int(release.uploaded.timestamp())} +0000"
        text = f"tree {tree}\n{parent}author {who}\ncommitter {who}\n\nTriton {release.version}\n"
        line.append(object_id("commit", text.encode()))
        parent = f"parent {line[-1]}\n"
    return line


def test_commit_ids_follow_from_the_releases_alone(home: Path) -> None:
    synced = history.sync(offline=True)
    assert [revision.commit for revision in synced.revisions] == expected_line(locked_releases())
    assert len(synced.new) == 18
    assert history.revisions() == synced.revisions


def test_refs(home: Path) -> None:
    tip = history.sync(offline=True).revisions[-1].commit
    with git.Repo(home / "history.git") as repository:
        assert repository.commit("releases").hexsha == repository.commit("main").hexsha == tip
        assert repository.git.symbolic_ref("refs/heads/main") == "refs/heads/releases"
        assert {tag.name for tag in repository.tags} == {f"v{release.version}" for release in locked_releases()}
        assert repository.git.fsck("--strict") == ""


def test_a_second_sync_changes_nothing(home: Path) -> None:
    first = history.sync(offline=True)
    again = history.sync(offline=True)
    assert again.new == []
    assert again.revisions == first.revisions


def test_a_release_that_only_the_history_knows_stays(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    everything = history.sync(offline=True).revisions
    monkeypatch.setattr(history.index, "locked_releases", lambda: locked_releases()[:-1])
    assert history.sync(offline=True).revisions == everything


def test_many_processes_at_once(tmp_path: Path) -> None:
    attnkern = CommandLine(tmp_path / "home")
    command = attnkern.arguments("history", "sync", "--offline")
    running = [
        subprocess.Popen(command, env=attnkern.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(6)
    ]
    answers = [process.communicate() for process in running]
    assert [process.returncode for process in running] == [0] * 6, answers
    listed = attnkern.run("history", "list").stdout.splitlines()
    assert [line.split()[0] for line in listed] == expected_line(locked_releases())


def test_after_a_kill_half_way(home: Path) -> None:
    """What kills leave: git's lock files, objects that nothing refers to, a branch that was never written."""
    history.create()
    git_dir = home / "history.git"
    (git_dir / "refs" / "heads" / "releases.lock").touch()
    (git_dir / "config.lock").touch()
    (git_dir / "refs" / "tags" / "v2.0.0.lock").touch()
    assert len(history.revisions()) == 18
    assert len(history.sync(offline=True).revisions) == 18


def test_a_damaged_history(home: Path) -> None:
    history.sync(offline=True)
    for pack in (home / "history.git" / "objects").glob("??"):
        shutil.rmtree(pack)
    with pytest.raises(FailedError, match="delete that folder and sync"):
        history.revisions()


@pytest.mark.parametrize("kind", ["file", "folder", "repository"])
def test_not_ours(home: Path, kind: str) -> None:
    path = home / "history.git"
    home.mkdir()
    if kind == "file":
        path.write_text("notes")
    elif kind == "folder":
        path.mkdir()
    else:
        git.Repo.init(path, bare=True).close()
    with pytest.raises(UserError, match="is not a history made by attnkern: move it away"):
        history.sync(offline=True)


def test_offline_without_an_index(tmp_path: Path) -> None:
    attnkern = CommandLine(tmp_path / "home")
    answer = attnkern.run(
        "history", "sync", PIP_INDEX_URL="http://127.0.0.1:9/simple", PIP_EXTRA_INDEX_URL="", PIP_NO_INDEX="0"
    )
    assert answer.returncode == 0
    assert "18 releases, 18 new, newest 3.9.0" in answer.stdout
    assert "from the lock file, not the index: no package index can be reached" in answer.stderr
