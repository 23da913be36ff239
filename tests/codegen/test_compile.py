import pytest

from attnkern.codegen.artifact import Failure, Key
from attnkern.codegen.compile import entry_point, failure, one_line

KEY = Key("seed", "direct", "sm_80")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("unsupported layout conversion\nUNREACHABLE executed at /a/b/C.cpp:52!\n", "unsupported layout conversion"),
        (
            'python: /project/lib/Combine.cpp:870: int f(int): Assertion `false && "capability > 90"\' failed.\n',
            'assertion failed: "capability > 90"',
        ),
        ("a warning\n/home/x/y.py:3: error: no such layout\nStack dump:\n", "y.py:3: error: no such layout"),
        ("first\nlast\n", "last"),
        ("", "otherwise"),
    ],
)
def test_the_telling_line(text: str, line: str) -> None:
    assert one_line(text, "otherwise") == line


@pytest.mark.parametrize(
    ("status", "message", "log", "kind", "said"),
    [
        (
            "died",
            "the compiler died of SIGABRT",
            "LLVM ERROR: x",
            "aborted",
            "LLVM ERROR: x (the compiler died of SIGABRT)",
        ),
        ("died", "the compiler died of SIGSEGV", "", "aborted", "the compiler died of SIGSEGV"),
        ("died", "the compiler died of SIGABRT", "what():  std::bad_alloc", "out-of-memory", None),
        ("raised", "MemoryError: ", "", "out-of-memory", "MemoryError:"),
        ("timeout", "over the limit of 120 s", "out of memory", "timeout", "over the limit of 120 s"),
    ],
)
def test_kinds_of_failure(status: str, message: str, log: str, kind: str, said: str | None) -> None:
    made = failure(KEY, "llir", {"status": status, "message": message}, log)
    assert isinstance(made, Failure)
    assert (made.stage, made.kind) == ("llir", kind)
    assert said is None or made.message == said


def test_entry_point() -> None:
    ptx = ".visible .entry name_0d1d(\n\t.param .u64 name_param_0,\n\t.param .f32 name_param_1\n)\n.maxntid 256, 1, 1"
    assert entry_point(ptx) == ("name_0d1d", ("u64", "f32"))
    with pytest.raises(ValueError, match="no entry point"):
        entry_point(".func helper()")
