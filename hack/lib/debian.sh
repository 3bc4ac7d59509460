# shellcheck shell=bash
# Debian's packages. To be sourced after common.sh.

_installed() { # PACKAGE…: the names of those that are
    dpkg-query --show --showformat '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null |
        sed -n 's/^installed //p'
}

_missing() { # PACKAGE…
    comm -23 <(printf '%s\n' "$@" | sort -u) <(_installed "$@" | sort -u)
}

_as_root() {
    if (($(id -u) == 0)); then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        die "not root, and there is no sudo; as root, run: $*"
    fi
}

_apt() {
    _as_root env DEBIAN_FRONTEND=noninteractive apt-get --quiet --quiet --yes \
        -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 "$@" </dev/null
}

# debian_install PACKAGE…: those that are missing.
debian_install() {
    local lacking log
    command -v dpkg-query >/dev/null ||
        die "this is no Debian; install by hand what these packages of Debian 12 hold: $*"
    mapfile -t lacking < <(_missing "$@")
    ((${#lacking[@]})) || return 0
    say "installing from Debian (2 min at most): ${lacking[*]}"
    log=$(mktemp)
    defer rm -f "$log"
    if ! { _apt update && _apt install --no-install-recommends "${lacking[@]}"; } >"$log" 2>&1; then
        cat "$log" >&2
        die "apt-get failed: its output is above"
    fi
}

# debian_unpack PACKAGE FOLDER: its files, into a new folder, without installing it.
debian_unpack() {
    rm -rf "$2"
    mkdir -p "$2"
    (cd "$2" && { apt-get --quiet --quiet download "$1" || { _apt update && apt-get --quiet --quiet download "$1"; }; }) >&2 ||
        die "cannot download Debian's package $1"
    dpkg-deb --extract "$2"/*.deb "$2"
}
