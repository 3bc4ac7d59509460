# shellcheck shell=bash
# Building by CMake's presets. To be sourced after common.sh.

_build_progress() {
    printf 'build/%s: %s' "$_preset" "$(grep -o '^\[[0-9]*/[0-9]*\]' "$ROOT/build/$_preset.log" | tail -n 1)"
}

# build_preset PRESET TARGET…: configures and builds; all of it without a target. Fails if it
# fails, after the end of its output.
build_preset() {
    local started=$SECONDS targets=() libcurl='' libpq='' lock status=0
    _preset=$1
    shift
    (($# == 0)) || targets=(--target "$@")
    [[ $_preset != release && $_preset != cli ]] || libcurl=$("$ROOT/hack/libcurl") || return
    [[ $_preset != release ]] || libpq=$("$ROOT/hack/libpq") || return
    if [[ $_preset == debug || $_preset == tsan ]] && command -v ccache >/dev/null; then # as in other checkouts
        local -x CCACHE_BASEDIR=$ROOT CCACHE_NOHASHDIR=1 CMAKE_C_COMPILER_LAUNCHER=ccache
    fi
    lock_take "$ROOT/build/$_preset.lock" lock # two at once would spoil each other's files
    # shellcheck disable=SC2016 # the inner shell expands it
    long_work "$ROOT/build/$_preset.log" _build_progress \
        bash -c 'cd "$1" && cmake --preset "$2" -DKUSION_LIBCURL="$3" -DKUSION_LIBPQ="$4" &&
            cmake --build --preset "$2" "${@:5}"' \
        bash "$ROOT" "$_preset" "$libcurl" "$libpq" "${targets[@]}" || status=$?
    lock_release "$lock"
    ((status == 0)) || return "$status"
    say "build/$_preset: built in $(seconds_text $((SECONDS - started)))"
}
