"""`history.git`: the bare repository whose commits are Triton's revisions, which asv walks.

The line `releases` holds one commit per release, in order of version.  Author, committer, dates, tree and
message are fixed by the release alone, so the same releases give the same commit ids on every machine.  `main` is
an alias of it.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import git

from attnkern.errors import FailedError, UserError
from attnkern.home import disk_errors, exclusive, home, scratch
from attnkern.revisions import index
from attnkern.revisions.release import Release, from_json, merge, to_json

RELEASES = "refs/heads/releases"
MAIN = "refs/heads/main"
OURS = ("attnkern", "history")  # section and name of the mark in the repository's configuration
IDENTITY = {
    f"GIT_{role}_{field}": value
    for role in ("AUTHOR", "COMMITTER")
    for field, value in (("NAME", "attnkern"), ("EMAIL", "attnkern@localhost"))
}


@dataclass(frozen=True)
class Revision:
    """One Triton commit of the history, with the release that it stands for."""

    commit: str
    release: Release

    @property
    def name(self) -> str:
        return self.release.version


@dataclass(frozen=True)
class Sync:
    """What a sync found: the revisions, oldest first, those that are new, and why the index was not asked."""

    revisions: list[Revision]
    new: list[Revision]
    index_failure: str | None


def path() -> Path:
    return home() / "history.git"


def sync(offline: bool = False) -> Sync:
    """Bring the `releases` line up to date with the lock file and, unless `offline`, the index."""
    listed: list[Release] = []
    failure = None
    if not offline:
        try:
            listed = index.listed_releases()
        except FailedError as error:
            failure = str(error)
    with exclusive("history"), disk_errors(path()):
        repository = open_or_create()
        with repository:
            remove_stale_locks(Path(repository.git_dir))
            known = revisions_of(repository)
            releases = merge(index.locked_releases(), (revision.release for revision in known), listed)
            revisions = write_line(repository, releases)
    before = {revision.commit for revision in known}
    return Sync(revisions, [revision for revision in revisions if revision.commit not in before], failure)


def revisions() -> list[Revision]:
    """The revisions of the `releases` line, oldest first; made from the lock file where there is no history yet."""
    if not path().exists():
        return sync(offline=True).revisions
    with open_or_create() as repository:
        found = revisions_of(repository)
    return found or sync(offline=True).revisions  # a sync that was killed before its end


def open_or_create() -> git.Repo:
    """Our repository; raises UserError where something else stands at its path."""
    if not path().exists():
        create()
    try:
        repository = git.Repo(path())
        ours = repository.bare and repository.config_reader("repository").get_value(*OURS, default="no") == 1
    except (git.InvalidGitRepositoryError, git.NoSuchPathError, ValueError):
        ours = False
    if not ours:
        raise UserError(f"{path()} is not a history made by attnkern: move it away, or set ATTNKERN_HOME")
    return repository


def create() -> None:
    """A new bare repository, put in its place whole."""
    with scratch("history") as folder:
        made = folder / "history.git"
        with git.Repo.init(made, bare=True, initial_branch="releases") as repository:
            with repository.config_writer() as config:
                config.set_value(*OURS, "1")
                config.set_value("gc", "auto", "0")
            repository.git.symbolic_ref(MAIN, RELEASES)
        shutil.rmtree(made / "hooks", ignore_errors=True)
        os.rename(made, path())


def remove_stale_locks(git_dir: Path) -> None:
    """A git killed in mid-update leaves its lock behind; nobody else can hold one while our own lock is held."""
    for lock in [*git_dir.glob("*.lock"), *git_dir.glob("refs/**/*.lock")]:
        lock.unlink(missing_ok=True)


def write_line(repository: git.Repo, releases: list[Release]) -> list[Revision]:
    """Make the commits, then move the branch and the tags to them in one transaction."""
    parent: str | None = None
    line: list[Revision] = []
    for release in releases:
        parent = write_commit(repository, release, parent)
        line.append(Revision(parent, release))
    updates = [f"update {RELEASES} {parent}"]
    updates += [f"update refs/tags/v{revision.name} {revision.commit}" for revision in line]
    repository.git.update_ref("--stdin", istream=stream("\n".join(["start", *updates, "commit"]) + "\n"))
    return line


def write_commit(repository: git.Repo, release: Release, parent: str | None) -> str:
    blob = repository.git.hash_object("-w", "--stdin", istream=stream(to_json(release)))
    tree = repository.git.mktree(istream=stream(f"100644 blob {blob}\trelease.json\n"))
    date = f"{int(release.uploaded.timestamp())} +0000"
    dates = {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
    return str(
        repository.git.commit_tree(
            tree, *(["-p", parent] if parent else []), "-m", f"Triton {release.version}", env=IDENTITY | dates
        )
    )


def stream(text: str) -> IO[bytes]:
    """Text as a file with a descriptor, which is what GitPython hands to git."""
    file = tempfile.TemporaryFile()  # noqa: SIM115 (git reads it)
    file.write(text.encode())
    file.seek(0)
    return file


def revisions_of(repository: git.Repo) -> list[Revision]:
    if RELEASES not in {reference.path for reference in repository.references}:
        return []  # a sync that was killed before its end
    try:
        commits = list(repository.iter_commits(RELEASES, reverse=True))
    except git.GitCommandError as error:
        raise FailedError(f"git can't read {path()}: delete that folder and sync, or see `git log` there") from error
    return [Revision(commit.hexsha, release_of(commit)) for commit in commits]


def release_of(commit: git.Commit) -> Release:
    try:
        return from_json((commit.tree / "release.json").data_stream.read().decode())
    except (KeyError, ValueError, git.GitCommandError) as error:
        raise FailedError(f"commit {commit.hexsha[:12]} of {path()} is damaged: delete that folder and sync") from error
