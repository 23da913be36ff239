"""The scripts that the pages need, each pinned to a version and a hash, and kept in the home once they were fetched.

asv's own pages name content networks; the site carries copies instead, so that it works with no internet. The copies
are those of the packages of that name and version: by `npm pack` where there is npm, or from the network that
asv's page itself names.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import tarfile
from dataclasses import dataclass
from pathlib import Path

import requests
from asv.commands import publish as asv_publish

from attnkern.errors import FailedError
from attnkern.home import home, scratch, write_file

TIMEOUT_S = 60


@dataclass(frozen=True)
class Asset:
    package: str
    version: str
    path: str
    """In the package."""
    sha256: str
    stands_for: str = ""
    """The file name of asv's own link that the copy takes the place of."""

    @property
    def name(self) -> str:
        return Path(self.path).name


CHARTS = Asset(
    "echarts", "6.1.0", "dist/echarts.min.js", "b66b25aeb4df84e33199dc21694014d336d222cbd9deb0e5a7c14bd6aa0d0fd0"
)  # Apache-2.0
AXE = Asset(
    "axe-core", "4.10.3", "axe.min.js", "880970c081707360e64f34cea25ff91892f5bc95675b0776925b9709dd8a68bb"
)  # for the tests of the pages
OF_ASV = (  # all MIT
    Asset("jquery", "3.3.1", "dist/jquery.min.js",
          "160a426ff2894252cd7cebbdd6d6b7da8fcd319c65b70468f10b6690c45d02ef", "jquery-3.3.1.min.js"),
    Asset("flot", "0.8.3", "jquery.flot.js",
          "b7b931f273c38b1277b9c6c1f4e05c4ec09885a487bddaf3279e2d7e49a38e12", "jquery.flot.min.js"),
    Asset("flot", "0.8.3", "jquery.flot.time.js",
          "a582c832adc7138a6b05aaf61f16ebac274701f1be4afea77e739a1c34b9c41a", "jquery.flot.time.min.js"),
    Asset("flot", "0.8.3", "jquery.flot.selection.js",
          "e6c85f6c1ebe4b4da29d8ae238c7c5060283f05f7ef054f6b91817d02c092918", "jquery.flot.selection.min.js"),
    Asset("flot", "0.8.3", "jquery.flot.categories.js",
          "6e81664b28ea795c734906f4aa15614640a75ac7fbd399a7fb9084040698351a", "jquery.flot.categories.min.js"),
    Asset("flot-orderbars", "1.0.0", "js/jquery.flot.orderBars.js",
          "39735b4f46f96ff4e082572401f47c55a2767b366fd1d1e821e44a8d830a12bf", "jquery.flot.orderBars.js"),
    Asset("stupid-table-plugin", "1.1.3", "stupidtable.min.js",
          "4642380f28ebe9ed7cac251793b281ef8620c4386205d92788f9b12f5cceb4e0", "stupidtable.min.js"),
    Asset("blueimp-md5", "2.19.0", "js/md5.min.js",
          "64d7ded388c562e4bde9e58ce205e5fa01b9734fcd434d496eb7b4fbfe9b927d", "md5.min.js"),
    Asset("bootstrap", "3.1.1", "dist/js/bootstrap.min.js",
          "898d05a17f2cfc5120ddcdba47a885c378c0b466f30f0700e502757e24b403a1", "bootstrap.min.js"),
    Asset("bootstrap", "3.1.1", "dist/css/bootstrap.min.css",
          "e9503448692b738dd260fbd7f7cabf2e11f09b600fa97e6eb3a56eba5b1a7e9b", "bootstrap.min.css"),
)  # fmt: skip


def fetched(asset: Asset) -> Path:
    """The asset's copy in the home, fetched where it is not there or not whole; raises FailedError."""
    kept = home() / "assets" / f"{asset.package}-{asset.version}" / asset.name
    if kept.exists() and digest(kept.read_bytes()) == asset.sha256:
        return kept
    data = packed(asset) if shutil.which("npm") else downloaded(asset)
    if digest(data) != asset.sha256:
        raise FailedError(
            f"{asset.path} of {asset.package} {asset.version} is not what was pinned (sha256 {digest(data)[:12]}…,"
            f" not {asset.sha256[:12]}…): nothing of it is used"
        )
    write_file(kept, data)
    return kept


def packed(asset: Asset) -> bytes:
    """Out of the package, by npm, which knows the registry and its settings."""
    spec = f"{asset.package}@{asset.version}"
    with scratch("npm") as folder:
        try:
            answer = subprocess.run(
                ["npm", "pack", "--silent", "--ignore-scripts", spec],
                cwd=folder, capture_output=True, text=True, check=False, timeout=TIMEOUT_S,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as error:
            raise FailedError(f"npm could not fetch {spec} ({error}): see that npm reaches its registry") from error
        packages = list(folder.glob("*.tgz"))
        if answer.returncode != 0 or len(packages) != 1:
            said = (answer.stderr.strip().splitlines() or ["no message"])[-1]
            raise FailedError(f"npm could not fetch {spec} ({said}): see that npm reaches its registry")
        try:
            with tarfile.open(packages[0]) as archive:
                file = archive.extractfile(f"package/{asset.path}")
                assert file is not None
                return file.read()
        except (OSError, KeyError, tarfile.TarError) as error:
            raise FailedError(f"the package {spec} does not hold {asset.path} ({error})") from error


def downloaded(asset: Asset) -> bytes:
    """From the network of packages that asv's own page names."""
    url = f"{packages_url(asv_index())}{asset.package}@{asset.version}/{asset.path}"
    try:
        answer = requests.get(url, timeout=TIMEOUT_S)
        answer.raise_for_status()
    except requests.RequestException as error:
        raise FailedError(f"{url} can't be fetched ({type(error).__name__}): install npm, or go online") from error
    return answer.content


def packages_url(page: str) -> str:
    """The start of the links by which asv's page loads files out of packages."""
    match = re.search(r'"(https://[^"]+/npm/)[^"@]+@', page)
    if match is None:
        raise FailedError("asv's page names no network of packages any more: install npm")
    return match[1]


def asv_index() -> str:
    return (Path(asv_publish.__file__).parent.parent / "www" / "index.html").read_text()


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
