from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.tags import Tag

from attnkern.errors import UserError
from attnkern.revisions.index import locked_releases
from attnkern.revisions.release import Release, Wheel, from_json, merge, to_json

wheels = st.builds(
    Wheel,
    filename=st.from_regex(r"triton-[0-9]\.[0-9]-cp3[0-9]{1,2}-abi3-manylinux_2_17_x86_64\.whl", fullmatch=True),
    sha256=st.text("0123456789abcdef", min_size=64, max_size=64),
    size=st.integers(0, 10**10),
)
releases = st.builds(
    Release,
    version=st.builds(lambda *parts: ".".join(map(str, parts)), *[st.integers(0, 99)] * 3),
    uploaded=st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC)),
    wheels=st.lists(wheels, max_size=4, unique_by=lambda wheel: wheel.filename).map(
        lambda found: tuple(sorted(found, key=lambda wheel: wheel.filename))
    ),
)


@given(releases)
def test_json_round_trip(release: Release) -> None:
    assert from_json(to_json(release)) == release


@given(st.text())
def test_other_text_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match="not a release"):
        from_json(text)


@given(st.lists(releases), st.lists(releases))
def test_merge_prefers_the_earlier_source_and_sorts(first: list[Release], second: list[Release]) -> None:
    merged = merge(first, second)
    versions = [release.version for release in merged]
    assert sorted(versions, key=lambda version: [int(part) for part in version.split(".")]) == versions
    assert set(versions) == {release.version for release in first + second}
    for release in merged:
        assert release == next(other for other in first + second if other.version == release.version)


def test_wheel_for_this_interpreter() -> None:
    oldest = next(release for release in locked_releases() if release.version == "2.0.0")
    wheel = oldest.wheel_for([Tag("cp311", "cp311", "manylinux_2_17_x86_64")])
    assert wheel.filename == "triton-2.0.0-1-cp311-cp311-manylinux2014_x86_64.manylinux_2_17_x86_64.whl"
    assert wheel.sha256 == "226941c7b8595219ddef59a1fdb821e8c744289a132415ddd584facedeb475b1"


def test_no_wheel_for_a_newer_interpreter() -> None:
    oldest = next(release for release in locked_releases() if release.version == "2.0.0")
    with pytest.raises(UserError, match=r"Triton 2\.0\.0 has no wheel for cp313 .*run attnkern with one of .*cp311"):
        oldest.wheel_for([Tag("cp313", "cp313", "manylinux_2_28_x86_64")])
