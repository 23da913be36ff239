import hashlib
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnkern.codegen import bundle
from attnkern.codegen.artifact import Artifact, Costs, Failure, Key, from_dict, to_dict
from attnkern.codegen.ptxas import PtxasReport
from attnkern.errors import FailedError
from tests.codegen.builders import FILES, artifact, figures

FAILURE = Failure(Key("seed", "transposed", "sm_80"), "llir", "aborted", "unsupported layout conversion")


def made() -> bundle.Bundle:
    return bundle.Bundle(
        "c" * 40,
        "3.2.0",
        "2025-01-22T19:12:21+00:00",
        (artifact(), FAILURE),
        {artifact().key.name: figures()},
        {"SWITCH": "1"},
    )


def contents() -> dict[str, bytes]:
    return {f"{artifact().key.name}/{name}": data for name, data in FILES.items()}


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    return bundle.write(
        made(), contents(), {artifact().key.name: Costs(1.5, 1.4, 10**8, 120.0, 2**33)}, tmp_path / "out"
    )


keys = st.builds(Key, st.sampled_from(["seed", "d64"]), st.sampled_from(["direct", "transposed"]), st.just("sm_80"))
naturals = st.integers(0, 2**31)
reports = st.builds(PtxasReport, naturals, naturals, naturals, naturals, st.lists(st.text()).map(tuple), st.text())
outcomes = st.one_of(
    st.builds(Failure, keys, st.text(), st.text(), st.text()),
    st.builds(artifact, key=keys, ptxas=reports, entry=st.text(), parameters=st.lists(st.text()).map(tuple)),
)


@given(outcomes)
def test_outcomes_round_trip(outcome: Artifact | Failure) -> None:
    assert from_dict(to_dict(outcome)) == outcome


def test_round_trip(wheel: Path, tmp_path: Path) -> None:
    assert bundle.read_wheel(wheel, tmp_path / "unpacked") == made()
    package = tmp_path / "unpacked" / bundle.PACKAGE
    assert bundle.read_file(package, artifact(), "kernel.cubin") == b"this is cubin"


def test_same_input_same_bytes(wheel: Path) -> None:
    shuffled = dict(reversed(contents().items()))
    assert bundle.wheel_bytes(made(), shuffled) == wheel.read_bytes()


def test_what_a_compile_took_is_beside_the_wheel(wheel: Path, tmp_path: Path) -> None:
    slower = {artifact().key.name: Costs(99.0, 98.0, 10**9, 120.0, 2**33)}
    other = bundle.write(made(), contents(), slower, tmp_path / "other")
    assert other.read_bytes() == wheel.read_bytes()
    assert (tmp_path / "other" / bundle.COSTS).read_bytes() != (wheel.parent / bundle.COSTS).read_bytes()


def test_it_is_a_wheel_as_pip_wants_it(wheel: Path) -> None:
    assert wheel.name == "attnkern_bundle-3.2.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as file:
        record = file.read("attnkern_bundle-3.2.0.dist-info/RECORD").decode()
        names = {line.split(",")[0] for line in record.splitlines()}
        assert names == set(file.namelist())
        assert all(member.date_time == (1980, 1, 1, 0, 0, 0) for member in file.infolist())


def test_truncated(wheel: Path, tmp_path: Path) -> None:
    whole = wheel.read_bytes()
    for length in (0, 1, len(whole) // 2, len(whole) - 1):
        wheel.write_bytes(whole[:length])
        with pytest.raises(FailedError, match=r"is no whole bundle .* make it again with `attnkern bundle`"):
            bundle.read_wheel(wheel, tmp_path / f"unpacked-{length}")


def test_every_flipped_byte_is_noticed_or_harmless(wheel: Path, tmp_path: Path) -> None:
    """Either an error, or the same bundle: never another one taken for whole."""
    whole = wheel.read_bytes()
    for place in range(0, len(whole), 37):
        wheel.write_bytes(whole[:place] + bytes([whole[place] ^ 0x10]) + whole[place + 1 :])
        folder = tmp_path / hashlib.sha1(str(place).encode()).hexdigest()
        try:
            read = bundle.read_wheel(wheel, folder)
        except FailedError:
            continue
        assert read == made()


def test_manifest_of_another_format(wheel: Path, tmp_path: Path) -> None:
    bundle.read_wheel(wheel, tmp_path / "unpacked")
    manifest = tmp_path / "unpacked" / bundle.PACKAGE / "manifest.json"
    manifest.write_text(manifest.read_text().replace(f'"format": {bundle.FORMAT}', '"format": 99'))
    with pytest.raises(FailedError, match="format 99"):
        bundle.read(manifest.parent)
