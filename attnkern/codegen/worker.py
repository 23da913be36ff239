"""The compile worker: runs inside a foreign Triton, old or new, and makes it compile one launch at a time.

Started as `python -sSP worker.py TRITON_DIR KERNEL_FILE KERNEL_NAME`; reads jobs as JSON lines on standard
input and answers each with a JSON line on standard output.  It knows the standard library, triton and the
kernel's file, and must never import anything else of attnkern: it runs under every Triton since 2.0.0.

A job is `{"dir", "target", "arguments", "constants", "options", "grid", "timeout_s",
"memory_bytes"}`; `dir` is an empty folder.  The compiler leaves what each of its stages made under `dir/cache`,
ptxas's report goes to `dir/ptxas.log`, and all that is printed to `dir/log`.  The answer is `{"status":
"ok"|"raised"|"died"|"timeout", "message", "how", "wall_s", "cpu_s", "peak_bytes"}`.

What a release's own JIT would make of the launch is asked of that JIT: from Triton 3 on by `warmup` under
a stand-in driver, before that by `compile` with the specialisation that its JITFunction works out.  Which
way it is, and what arguments `compile` takes, is found by looking at what the module offers.
"""

import contextlib
import ctypes
import importlib.abc
import importlib.machinery
import inspect
import json
import linecache
import os
import resource
import signal
import sys
import time
import traceback
import types

KERNEL_PATH = "attnkern/kernel.py"  # what the compilers write into line tables, wherever the file lies
PR_SET_PDEATHSIG = 1  # <linux/prctl.h>
ADDR_NO_RANDOMIZE = 0x0040000  # <linux/personality.h>


def main(triton_dir, kernel_file, kernel_name):
    os.chdir(triton_dir)
    sys.path.insert(0, os.getcwd())  # with links resolved, so that paths below it are relative to it
    sys.meta_path.insert(0, RelativeFinder())
    sys.meta_path.append(StandInFinder())
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever a Triton prints must not mix with the answers
    kernel = load_kernel(kernel_file, kernel_name)
    for line in sys.stdin:
        answers.write(json.dumps(run_job(kernel, json.loads(line))) + "\n")
        answers.flush()


def load_kernel(path, name):
    """The JITFunction; its source is registered under a path that is the same on every machine."""
    with open(path, encoding="utf-8") as file:
        source = file.read()
    linecache.cache[KERNEL_PATH] = (len(source), None, source.splitlines(True), KERNEL_PATH)
    namespace = {"__name__": "attnkern.kernel", "__file__": KERNEL_PATH}
    exec(compile(source, KERNEL_PATH, "exec"), namespace)
    return namespace[name]


def run_job(kernel, job):
    """Compile in a child process, so that an abort, a hang or a leak costs this job alone."""
    started = time.monotonic()
    child = os.fork()
    if child == 0:
        compile_and_exit(kernel, job)
    signal.signal(signal.SIGTERM, lambda *_: end_with(child))
    status, usage = wait(child, started + job["timeout_s"])
    answer = {
        "wall_s": time.monotonic() - started,
        "cpu_s": usage.ru_utime + usage.ru_stime,
        "peak_bytes": usage.ru_maxrss * 1024,  # the largest of the compiler and the ptxas it started
    }
    if status is None:
        return dict(answer, status="timeout", message="over the limit of %g s" % job["timeout_s"])
    try:
        with open(os.path.join(job["dir"], "outcome.json"), encoding="utf-8") as file:
            return dict(answer, **json.load(file))
    except FileNotFoundError:
        killer = signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else None
        return dict(answer, status="died", message=describe_death(status), signal=killer)


def end_with(child):
    """Take the compile along, with the ptxas that it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    os._exit(1)


def wait(child, deadline):
    """(wait status or None when the deadline passed, resource usage); kills the child's whole group then, and
    where this worker's own parent is gone."""
    parent = os.getppid()
    while True:
        pid, status, usage = os.wait4(child, os.WNOHANG)
        if pid:
            return status, usage
        if time.monotonic() > deadline or os.getppid() != parent:
            os.killpg(child, signal.SIGKILL)
            _, _, usage = os.wait4(child, 0)
            return None, usage
        time.sleep(0.01)


def describe_death(status):
    if os.WIFSIGNALED(status):
        return "the compiler died of " + signal.Signals(os.WTERMSIG(status)).name
    return "the compiler exited with status %d" % os.WEXITSTATUS(status)


def compile_and_exit(kernel, job):
    os.setpgid(0, 0)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # a worker that is killed leaves nothing running
    log = os.open(os.path.join(job["dir"], "log"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(log, 1)
    os.dup2(log, 2)
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    memory = job["memory_bytes"] if hard == resource.RLIM_INFINITY else min(hard, job["memory_bytes"])
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.environ["TRITON_CACHE_DIR"] = os.path.join(job["dir"], "cache")
    os.environ["ATTNKERN_PTXAS_LOG"] = os.path.join(job["dir"], "ptxas.log")
    try:
        outcome = {"status": "ok", "how": compile_launch(kernel, job)}
    except BaseException as error:
        traceback.print_exc()
        outcome = {"status": "raised", "message": "%s: %s" % (type(error).__name__, error)}
    partial = os.path.join(job["dir"], "outcome.partial")
    with open(partial, "w", encoding="utf-8") as file:
        json.dump(outcome, file)
    os.rename(partial, os.path.join(job["dir"], "outcome.json"))
    sys.stdout.flush()
    os._exit(0)


def compile_launch(kernel, job):
    """Compile as this release's JIT would for that launch; returns which way it was asked."""
    arguments = {
        name: Tensor(value[1:]) if isinstance(value, str) else value for name, value in job["arguments"].items()
    }
    options = job["options"]
    if drivers_can_be_exchanged():
        import triton

        triton.runtime.driver.set_active(StandInDriver(job["target"]))
        kernel.warmup(*arguments.values(), grid=tuple(job["grid"]), **job["constants"], **options)
        return "warmup"
    compile_specialised(kernel, arguments, job["constants"], options, job["target"])
    return "compile"


def drivers_can_be_exchanged():
    """Whether this Triton has `runtime.driver.set_active`: asked of the type, for an older Triton's driver
    is a proxy that builds a C extension against libcuda when an attribute of it is read."""
    import triton

    return hasattr(type(getattr(triton.runtime, "driver", None)), "set_active")


# Triton 2: `triton.compile` with the specialisation that its own JITFunction finds


def compile_specialised(kernel, arguments, constants, options, target):
    import triton

    values = [dict(arguments, **constants)[name] for name in kernel.arg_names]
    specialisation = kernel._get_config(*values)
    folded = {index: values[index] for index in kernel.constexprs}
    folded.update({index: 1 for index in specialisation.equal_to_1})
    signature = {
        index: kernel._type_of(kernel._key_of(value))
        for index, value in enumerate(values)
        if index not in kernel.constexprs
    }
    skip_launcher()
    parameters = inspect.signature(triton.compile).parameters
    if "target" in parameters:
        source = triton.compiler.ASTSource(kernel, signature, folded, specialisation)
        triton.compile(source, target=("cuda", target), options=options)
    else:
        if has_device_types(kernel):
            options = dict(options, device_type="cuda")
        triton.compile(kernel, signature=signature, constants=folded, configs=[specialisation], cc=target, **options)


def has_device_types(kernel):
    """Whether this Triton's JIT hands a device type to `compile` (its options are a bare **kwargs)."""
    return hasattr(type(kernel), "_device_of")


def skip_launcher():
    """Only the artifacts are wanted: leave out the C launcher, which links libcuda, and the loading of the cubin."""
    import triton

    modules = [triton.compiler, getattr(triton.compiler, "compiler", None)]
    for module in filter(None, modules):
        for name, stand_in in (("make_stub", lambda *args, **kw: "no launcher"), ("CompiledKernel", Inert)):
            if hasattr(module, name):
                setattr(module, name, stand_in)
    backend = getattr(modules[1], "CUDABackend", None)
    if backend is not None:
        backend.make_launcher_stub = lambda *args, **kw: "no launcher"


class Inert:
    """Takes the place of something whose construction needs a GPU and whose use never comes."""

    def __init__(self, *args, **kwargs):
        pass


# Stand-ins for what a machine with no GPU and no torch lacks


class Tensor:
    """As much of a tensor as a JIT looks at: its type, and an address that is a multiple of 16."""

    def __init__(self, dtype):
        self.dtype = DTYPES[dtype]

    def data_ptr(self):
        return 0


class Dtype:
    """Prints as torch's types do, which is how every JIT so far reads them; a bare string means a scalar's type."""

    def __init__(self, name):
        self.name = name

    def __str__(self):
        return "torch." + self.name


DTYPES = {
    name: Dtype(name)
    for name in (
        "bool",
        "uint8",
        "int8",
        "int16",
        "int32",
        "int64",
        "float16",
        "bfloat16",
        "float32",
        "float64",
    )
}


class StandInDriver:
    """Answers what the JIT asks its driver on the way to compiling for `target` (80 for sm_80)."""

    def __init__(self, target):
        self.target = target

    def get_current_target(self):
        from triton.backends.compiler import GPUTarget

        return GPUTarget("cuda", self.target, 32)

    def get_current_device(self):
        return 0

    def get_current_stream(self, device=None):
        return 0

    def get_active_torch_device(self):
        return "cuda:0"

    launcher_cls = Inert


# Line tables without this machine's folders


class RelativeFinder(importlib.abc.MetaPathFinder):
    """Finds `triton.language` as usual, and has its functions say that they lie under `triton/`.

    The compilers write the file names of its helpers (tl.zeros, tl.cdiv) into IR, PTX and cubin.
    """

    def find_spec(self, name, path=None, target=None):
        if not name.startswith("triton.language"):
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is not None and isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            spec.loader = RelativeLoader(name, spec.loader.path)
        return spec


class RelativeLoader(importlib.machinery.SourceFileLoader):
    def get_code(self, fullname):
        """Compiled afresh: a cached .pyc would have the whole path put back in."""
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), os.path.relpath(path))


class StandInFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Offers the packages that Triton 2 imports and does not use on the way to the artifacts.

    torch serves its tensors' types and its GPU's capability, setuptools the launcher, filelock the cache,
    numpy the interpreter.  The PTX is the same with the real ones.
    """

    names = ("torch", "torch._C", "setuptools", "filelock", "numpy")

    def find_spec(self, name, path=None, target=None):
        if name in self.names:
            return importlib.machinery.ModuleSpec(name, self, is_package=name == "torch")
        return None

    def create_module(self, spec):
        return types.ModuleType(spec.name)

    def exec_module(self, module):
        if module.__name__ == "torch":
            module.version = types.SimpleNamespace(hip=None, cuda="12.0")
            module.dtype, module.Tensor = Dtype, Tensor
            module.autograd = types.SimpleNamespace(Function=type("Function", (), {"apply": None}))
            module.cuda = types.SimpleNamespace(is_available=lambda: True, current_device=lambda: 0)
            vars(module).update(DTYPES)
        elif module.__name__ == "torch._C":
            module._cuda_getCurrentRawStream = lambda device: 0
        elif module.__name__ == "filelock":
            module.FileLock = lambda path: contextlib.nullcontext()  # a job's cache is its own


def without_address_randomisation():
    """Start anew with fixed addresses, which the compilers that are started from here inherit.

    ptxas 12.8 made two different cubins of one PTX (3.6.0, seed, direct, sm_90: 4 and 6 of 10 runs), and one
    alone with fixed addresses.  A container may forbid it; then everything works, and that cubin varies.
    """
    libc = ctypes.CDLL(None)
    now = libc.personality(0xFFFFFFFF)
    if now & ADDR_NO_RANDOMIZE == 0 and libc.personality(now | ADDR_NO_RANDOMIZE) != -1:
        os.execv(sys.executable, sys.orig_argv)


if __name__ == "__main__":
    without_address_randomisation()
    main(*sys.argv[1:])
