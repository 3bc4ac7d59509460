# shellcheck shell=bash
# What the scripts of hack/ share: messages, where things are kept, locks, and long work
# that shows its progress and dies with the script. To be sourced.
# shellcheck disable=SC2034 # what is set here is used by those who source it

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
export HOME=${HOME:-$(getent passwd "$(id -u)" | cut -d: -f6)}
CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/kusion-operator
STATE=${XDG_STATE_HOME:-$HOME/.local/state}/kusion-operator
# Debian's own Python: it is the one that has Debian's pytest and yaml.
PYTHON=/usr/bin/python3

# Messages are for people and go to stderr: stdout is for what a command is asked for.
say() { printf '%s\n' "$*" >&2; }
warn() { printf '%s: warning: %s\n' "${0##*/}" "$*" >&2; }
die() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit 1
}

# help_of_comment ARGUMENT…: if help is asked for, prints the comment that the script begins
# with, and exits.
help_of_comment() {
    case ${1:-} in
    help | -h | --help) sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" && exit ;;
    esac
}

# defer COMMAND…: is run when the script ends, however it ends (last in, first out).
_deferred=()
defer() { _deferred+=("$(printf '%q ' "$@")"); }
_run_deferred() {
    local i
    for ((i = ${#_deferred[@]} - 1; i >= 0; i--)); do
        eval "${_deferred[i]}" || true
    done
    _deferred=()
}
trap _run_deferred EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

seconds_text() { # SECONDS: "75" is "1 min 15 s"
    if (($1 < 60)); then printf '%d s' "$1"; else printf '%d min %02d s' $(($1 / 60)) $(($1 % 60)); fi
}

# lock_take FILE VARIABLE: waits for the lock, and puts its descriptor into VARIABLE. What
# is started while it is held must close that descriptor, or it goes on holding the lock.
# The file may be removed by whoever holds the lock; hence the second look.
lock_take() {
    local -n ret_fd=$2
    mkdir -p "$(dirname "$1")"
    while true; do
        exec {ret_fd}>>"$1"
        if ! flock --nonblock "$ret_fd"; then
            say "waiting for another ${0##*/} (lock $1)"
            flock "$ret_fd"
        fi
        [[ $1 -ef /proc/self/fd/$ret_fd ]] && return
        exec {ret_fd}>&-
    done
}

lock_release() { # DESCRIPTOR
    local fd=$1
    exec {fd}>&-
}

# What long_work runs at the moment, so that an interrupted script does not leave it behind.
_work_pid=
_long_work_abort() {
    local i
    [[ -n $_work_pid ]] || return 0
    disown "$_work_pid" # without it, bash tells that it was killed
    kill -TERM -- "-$_work_pid" 2>/dev/null # ninja ends its compilers, which are in other groups
    for ((i = 0; i < 20; i++)); do
        kill -0 -- "-$_work_pid" 2>/dev/null || return 0
        sleep 0.1
    done
    kill -KILL -- "-$_work_pid" 2>/dev/null
}
defer _long_work_abort

# long_work LOG PROGRESS COMMAND…: runs the command in its own process group, its output in
# LOG, and tells now and then (on a terminal: at every second) what the function PROGRESS
# prints. On failure shows the end of LOG.
long_work() {
    local log=$1 progress=$2 started=$SECONDS every=20 status=0
    shift 2
    setsid "$@" >"$log" 2>&1 </dev/null &
    _work_pid=$!
    [[ -t 2 ]] && every=1
    while kill -0 "$_work_pid" 2>/dev/null; do
        sleep 0.5
        if ((SECONDS - started >= every)); then
            started=$SECONDS
            _long_work_tell "$("$progress")"
        fi
    done
    wait "$_work_pid" || status=$?
    _work_pid=
    [[ -t 2 ]] && printf '\r\033[K' >&2
    ((status == 0)) || tail -n 30 "$log" >&2
    return "$status"
}

_long_work_tell() {
    if [[ -t 2 ]]; then printf '\r\033[K    %s' "$1" >&2; else say "    $1"; fi
}
