# Sourced by the other scripts: makes the checkout's own environment in .venv, or leaves it when nothing changed,
# and sets $root and $python. With extra=NAME set before, the package's extra of that name is installed too.
# PYTHON chooses the interpreter; the oldest Tritons have wheels up to CPython 3.11 only.

say() { echo "$(basename "$0"): $*" >&2; }
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
extra=${extra:-}

find_python() {
    local candidate
    for candidate in ${PYTHON:-python3.11 python3 python3.12 python3.13}; do
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            command -v "$candidate"
            return
        fi
    done
    say "needs Python 3.11 or newer (3.11 for Triton 2.0.0 and 2.1.0): install it, or set PYTHON"
    return 1
}

# What a bare Debian machine lacks: git, and the half of venv that Debian packages apart.
install_system_packages() {
    local missing=()
    command -v git >/dev/null || missing+=(git)
    "$1" -c 'import ensurepip, venv' 2>/dev/null || missing+=(python3-venv)
    [ ${#missing[@]} -eq 0 ] || install_with_apt "${missing[@]}" || { say "needs ${missing[*]}: install them first"; return 1; }
}

install_with_apt() {
    [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null || return 1
    say "installing $*"
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qqy "$@" >/dev/null
}

make_environment() {
    local base stamp wanted
    base=$(find_python) || return 1
    install_system_packages "$base" || return 1
    stamp=$root/.venv/attnkern-stamp
    wanted=$({ "$base" --version; cat "$root/pyproject.toml"; echo "$root"; } | sha256sum | cut -d' ' -f1)
    # An environment made with more extras serves one that needs fewer.
    [ "$(head -n 1 "$stamp" 2>/dev/null)" = "$wanted" ] && { [ -z "$extra" ] || grep -qx "$extra" "$stamp"; } && return
    say "making the environment in .venv"
    [ "$(head -n 1 "$stamp" 2>/dev/null)" = "$wanted" ] || "$base" -m venv --clear "$root/.venv" || return 1
    "$root/.venv/bin/python" -m pip install -q --disable-pip-version-check -e "$root${extra:+[$extra]}" || return 1
    printf '%s\n' "$wanted" "$extra" >"$stamp.partial" && mv "$stamp.partial" "$stamp"
}

# Two scripts at once: the second waits for the first's environment.
exec 9>"$root/.venv.lock"
flock 9
make_environment || { say "could not make the environment"; exit 1; }
exec 9>&-
python=$root/.venv/bin/python
