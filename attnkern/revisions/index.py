"""The package index: which Triton releases it lists, and the download of one wheel.

Which index that is, is pip's own decision: its configuration files and PIP_* variables are read by pip.
The committed lock file stands in where no index can be reached.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib.resources
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pypi_simple
import requests
from packaging.utils import InvalidWheelFilename, parse_wheel_filename
from packaging.version import InvalidVersion, Version
from requests.adapters import HTTPAdapter
from urllib3.util import Retry

from attnkern.errors import FailedError, UserError
from attnkern.home import disk_errors
from attnkern.revisions.release import FIRST, Release, Wheel, from_json, to_json

PROJECT = "triton"
LOCK = "releases.lock.json"
UNREADABLE = (pypi_simple.UnsupportedContentTypeError, pypi_simple.UnsupportedRepoVersionError, ValueError)
ATTEMPTS = 3


@dataclass(frozen=True)
class IndexConfiguration:
    """pip's settings for reaching an index."""

    urls: tuple[str, ...]
    cert: str | None
    timeout_s: float
    proxy: str | None


def listed_releases() -> list[Release]:
    """The final releases since 2.0.0 that the index has, with their CPython wheels for Linux x86-64.

    Raises FailedError when no index answers.
    """
    configuration = index_configuration()
    files: dict[str, dict[str, pypi_simple.DistributionPackage]] = {}
    with index_session(configuration) as client:
        for package in project_files(client, configuration):
            if (version := release_version(package)) is not None:
                files.setdefault(version, {}).setdefault(package.filename, package)
    return [release for version, named in files.items() if (release := as_release(version, list(named.values())))]


def locked_releases() -> list[Release]:
    """The releases of the committed lock file."""
    text = importlib.resources.files("attnkern.revisions").joinpath(LOCK).read_text(encoding="utf-8")
    return [from_json(json.dumps(entry)) for entry in json.loads(text)]


def lock_text(releases: list[Release]) -> str:
    """What the lock file should hold for these releases."""
    return json.dumps([json.loads(to_json(release)) for release in releases], indent=1) + "\n"


def download(wheel: Wheel, destination: Path, on_bytes: Callable[[int], None] = lambda count: None) -> None:
    """Fetch a wheel to `destination` and check it against the recorded sha256, not the index's word.

    Raises FailedError when the index has no such file, can't be reached, or hands out something else.
    """
    configuration = index_configuration()
    with index_session(configuration) as client:
        for package in project_files(client, configuration):
            if package.filename == wheel.filename:
                break
        else:
            raise FailedError(f"no index has {wheel.filename} any more: choose another release")
        for attempt in range(1, ATTEMPTS + 1):
            try:
                digest, count = fetch(client, package.url, destination, configuration.timeout_s, on_bytes)
                break
            except (requests.RequestException, ConnectionError) as error:
                if attempt == ATTEMPTS:
                    raise FailedError(
                        f"the download of {wheel.filename} broke off ({brief(error)}): try again"
                    ) from error
    if digest != wheel.sha256:
        destination.unlink()
        kind = "truncated" if count < wheel.size else "not the recorded file"
        raise FailedError(
            f"{wheel.filename} is {kind}: {count} of {wheel.size} bytes, sha256 {digest[:12]}… where"
            f" {wheel.sha256[:12]}… is recorded; try again, or check the index"
        )


def fetch(
    client: pypi_simple.PyPISimple, url: str, destination: Path, timeout_s: float, on_bytes: Callable[[int], None]
) -> tuple[str, int]:
    """(sha256, bytes) of what came."""
    digest, count = hashlib.sha256(), 0
    with client.s.get(url, stream=True, timeout=timeout_s) as response, disk_errors(destination):
        response.raise_for_status()
        with open(destination, "wb") as file:
            for chunk in response.iter_content(1 << 20):
                file.write(chunk)
                digest.update(chunk)
                count += len(chunk)
                on_bytes(count)
    return digest.hexdigest(), count


@functools.cache
def index_configuration() -> IndexConfiguration:
    """Ask pip; raises UserError where pip can't be run or names no index that speaks HTTP."""
    command = [sys.executable, "-m", "pip", "config", "list"]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        raise UserError(f"can't read pip's configuration: `{' '.join(command)}` failed; repair it first")
    settings = pip_settings(answer.stdout)
    urls = [settings.get("index-url", pypi_simple.PYPI_SIMPLE_ENDPOINT), *settings.get("extra-index-url", "").split()]
    speaking = tuple(url for url in urls if url.startswith(("http://", "https://")))
    if not speaking:
        raise UserError(f"pip's index {urls[0]} is not served over HTTP: set PIP_INDEX_URL to one that is")
    return IndexConfiguration(speaking, settings.get("cert"), float(settings.get("timeout", 30)), settings.get("proxy"))


def pip_settings(listing: str) -> dict[str, str]:
    """The settings in force from `pip config list`: a command's section over the global one, variables over both."""
    values: dict[str, dict[str, str]] = {"global": {}, "download": {}, ":env:": {}}
    for line in listing.splitlines():
        name, _, literal = line.partition("=")
        section, _, key = name.rpartition(".")
        if section in values:
            values[section][key.removeprefix("default-")] = str(ast.literal_eval(literal))
    return values["global"] | values["download"] | values[":env:"]


@contextmanager
def index_session(configuration: IndexConfiguration) -> Iterator[pypi_simple.PyPISimple]:
    session = requests.Session()
    for scheme in ("http://", "https://"):
        session.mount(scheme, HTTPAdapter(max_retries=Retry(ATTEMPTS, backoff_factor=0.5)))
    if configuration.cert:
        session.verify = configuration.cert
    if configuration.proxy:
        session.proxies = {"http": configuration.proxy, "https": configuration.proxy}
    with pypi_simple.PyPISimple(configuration.urls[0], session=session) as client:
        yield client


def project_files(
    client: pypi_simple.PyPISimple, configuration: IndexConfiguration
) -> Iterator[pypi_simple.DistributionPackage]:
    """Every file of the project, the first index's first; FailedError when no index answers."""
    failures, found = [], False
    for url in configuration.urls:
        # The client's own endpoint is fixed when it is made; a page is asked for by its address here.
        try:
            page = client.s.get(
                f"{url.rstrip('/')}/{PROJECT}/",
                headers={"Accept": pypi_simple.ACCEPT_ANY},
                timeout=configuration.timeout_s,
            )
            if page.status_code == 404:
                continue
            page.raise_for_status()
            for package in pypi_simple.ProjectPage.from_response(page, PROJECT).packages:
                found = True
                yield package
        except (requests.RequestException, *UNREADABLE) as error:
            failures.append(f"{without_password(url)} ({brief(error)})")
    if failures and not found:
        raise FailedError(f"no package index can be reached: {', '.join(failures)}; check the network or PIP_INDEX_URL")


def without_password(url: str) -> str:
    return re.sub(r"//[^/@]*@", "//", url)


def release_version(package: pypi_simple.DistributionPackage) -> str | None:
    """The version of a file that counts: a final release since 2.0.0, a CPython wheel for Linux x86-64."""
    if package.package_type != "wheel" or package.version is None:
        return None
    try:
        version = Version(package.version)
        tags = parse_wheel_filename(package.filename)[3]
    except (InvalidVersion, InvalidWheelFilename):
        return None
    fits = any(tag.platform.startswith("manylinux") and tag.platform.endswith("x86_64") for tag in tags)
    if version < FIRST or version.is_prerelease or version.local or not fits:
        return None
    return str(version)


def as_release(version: str, packages: list[pypi_simple.DistributionPackage]) -> Release | None:
    """None where the index gives no sha256 or upload time (a bare HTML index), or withdrew the release."""
    usable = [
        package
        for package in packages
        if not package.is_yanked and package.upload_time is not None and "sha256" in package.digests
    ]
    if not usable:
        return None
    return Release(
        version=version,
        uploaded=min(package.upload_time for package in usable if package.upload_time).replace(microsecond=0),
        wheels=tuple(
            Wheel(package.filename, package.digests["sha256"], package.size or 0)
            for package in sorted(usable, key=lambda package: package.filename)
        ),
    )


def brief(error: Exception) -> str:
    """An exception in a few words, without requests' nested reasons."""
    response = getattr(error, "response", None)
    if response is not None:
        return f"HTTP {response.status_code}"
    return type(error).__name__
