# shellcheck shell=bash
# One server that keeps State, for tests: its folder, its process, and how it comes and goes. To be
# sourced after common.sh.
#
# A set NAME is the folder $STORES/NAME, and in it a folder of each server:
#   run.pid, log    its process, the leader of its own process group; what it prints
#   ready           last of all: it came up
# Whoever changes a set holds the lock $STORES/NAME.lock. A folder without `ready`, or with a process
# that is gone, is what a killed script or machine left: it is cleaned away.
#
# A file hack/lib/stores/SERVER.sh has the functions
#   SERVER_needs    prints the servers that have to be up before it
#   SERVER_install  finds its programs, or unpacks them; dies with the reason where it cannot
#   SERVER_start    starts it in $dir, which is empty, and returns when it answers
#   SERVER_env      prints `export NAME=…` for those who use it

# Not in the home: servers that must not be root cannot look into root's.
STORES=${KUSION_STORES:-/var/tmp/kusion-stores-$(id -u)}

server_check_name() { # SET
    [[ $1 =~ ^[a-z0-9][a-z0-9-]{0,39}$ ]] ||
        die "'$1' is no name: lower case letters, digits and '-', 40 at most"
}

# server_select SET SERVER: the functions below are about this server.
server_select() {
    server=$2
    dir=$STORES/$1/$2
}

server_sets() { # the names of those there are
    local folder
    for folder in "$STORES"/*/; do
        [[ ! -d $folder || $folder == */programs/ ]] || basename "$folder"
    done
}

# The folder of all sets. Its name can be guessed, so it has to be ours.
_stores_folder() {
    (umask 022 && mkdir -p "$STORES")
    [[ -O $STORES && ! -L $STORES ]] || die "$STORES is somebody else's"
}

server_lock() { # SET
    _stores_folder
    lock_take "$STORES/$1.lock" _server_lock
    defer server_unlock "$1"
}
_server_lock=

server_unlock() { # SET: the lock's file goes with the set
    [[ -n $_server_lock ]] || return 0
    rmdir "$STORES/$1" 2>/dev/null || true
    [[ -d $STORES/$1 ]] || rm -f "$STORES/$1.lock"
    lock_release "$_server_lock"
    _server_lock=
}

# server_user: the user that servers run as. They refuse to be root.
server_user() {
    if (($(id -u) != 0)); then
        id -un
    elif id postgres >/dev/null 2>&1; then
        echo postgres
    else
        echo nobody
    fi
}

# server_as COMMAND…: as that user.
server_as() {
    local before=()
    _server_before before
    "${before[@]}" "$@"
}

_server_before() { # VARIABLE: what comes before a command that is to run as that user
    local -n ret_before=$1
    ret_before=(env)
    # shellcheck disable=SC2034 # the caller's variable
    (($(id -u) != 0)) ||
        ret_before=(setpriv --reuid="$(server_user)" --regid="$(id -g "$(server_user)")" --clear-groups)
}

server_folder() {
    (umask 022 && mkdir -p "$dir")
    chown "$(server_user)" "$dir"
    defer _server_abort "$dir"
}

_server_abort() { # FOLDER
    [[ -e $1/ready ]] || { dir=$1 && server_remove; }
}

# The pid of the process; fails if it is gone. A pid may have been given to another process since, so
# its command line must be one that we started.
server_pid() {
    local pid words
    pid=$(cat "$dir/run.pid" 2>/dev/null) || return 1
    mapfile -d '' -t words 2>/dev/null <"/proc/$pid/cmdline" || return 1
    [[ " ${words[*]}" == *"$dir"* ]] || return 1
    printf '%s' "$pid"
}

server_is_up() { [[ -e $dir/ready ]] && server_pid >/dev/null; }

# server_run COMMAND…: starts it, as that user; $dir must be among the arguments.
server_run() {
    local before=() descriptor=$_server_lock
    _server_before before
    (
        [[ -z $descriptor ]] || exec {descriptor}>&-
        cd "$dir" && exec setsid "${before[@]}" "$@" >>"$dir/log" 2>&1 </dev/null
    ) &
    printf '%s\n' "$!" >"$dir/run.pid"
    disown
}

# server_wait WHAT COMMAND…: until the command succeeds. Shows the end of the log when it never does.
server_wait() {
    local what=$1 started=$SECONDS
    shift
    until "$@" >/dev/null 2>&1; do
        if ((SECONDS - started > 60)) || { ((SECONDS - started > 2)) && ! server_pid >/dev/null; }; then
            say "the log of $server ends:"
            tail -n 15 "$dir/log" >&2
            die "$server: not $what"
        fi
        sleep 0.05
    done
}

server_kill() {
    local pid
    pid=$(server_pid) || return 0
    kill -KILL -- "-$pid" 2>/dev/null || kill -KILL "$pid" 2>/dev/null || true
    while kill -0 -- "-$pid" 2>/dev/null; do sleep 0.02; done
}

server_remove() {
    server_kill
    rm -rf "$dir"
}

server_port() { # a free one, below the ports that connections get for themselves
    local port
    while true; do
        port=$((20000 + RANDOM % 10000))
        (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || break
    done
    printf '%s' "$port"
}

server_password() { head -c 18 /dev/urandom | base64 | tr '+/' '-_'; }

# server_certificate FOLDER: ca.crt, and server.crt and server.key of localhost, which it signed; for
# the user that servers run as.
server_certificate() {
    local extension
    mkdir -p "$1"
    openssl req -x509 -new -nodes -newkey ec -pkeyopt ec_paramgen_curve:P-256 -days 3650 \
        -subj /CN=kusion-stores -keyout "$1/ca.key" -out "$1/ca.crt" 2>"$1/openssl.log" ||
        die "openssl: $(<"$1/openssl.log")"
    openssl req -new -nodes -newkey ec -pkeyopt ec_paramgen_curve:P-256 -subj /CN=localhost \
        -keyout "$1/server.key" -out "$1/server.csr" 2>>"$1/openssl.log" ||
        die "openssl: $(<"$1/openssl.log")"
    extension=$'subjectAltName=DNS:localhost,IP:127.0.0.1\nextendedKeyUsage=serverAuth'
    openssl x509 -req -in "$1/server.csr" -CA "$1/ca.crt" -CAkey "$1/ca.key" -CAcreateserial -days 3650 \
        -extfile <(printf '%s\n' "$extension") -out "$1/server.crt" 2>>"$1/openssl.log" ||
        die "openssl: $(<"$1/openssl.log")"
    chown -R "$(server_user)" "$1"
}

# server_program PACKAGE PATH…: the path of a program that the package installs at one of these
# (patterns); unpacks the package, with what it needs and is not installed, where there is none.
server_program() {
    local package=$1 folder=$STORES/programs/$1 found
    shift
    if ! found=$(_first_file / "$@") && ! found=$(_first_file "$folder" "$@"); then
        _server_unpack "$package" "$folder"
        found=$(_first_file "$folder" "$@") || die "$package has no $*"
    fi
    printf '%s' "$found"
}

_first_file() { # ROOT PATTERN…
    local root=${1%/} pattern file
    shift
    for pattern in "$@"; do
        for file in $root$pattern; do
            [[ ! -x $file ]] || { printf '%s' "$file" && return; }
        done
    done
    return 1
}

# No script of the packages is run, so that none starts a service of its own.
_server_unpack() { # PACKAGE FOLDER
    local archives file
    command -v dpkg >/dev/null || die "this is no Debian; install $1"
    _stores_folder
    archives=$(mktemp -d)
    defer rm -rf "$archives"
    say "unpacking $1 of Debian"
    mkdir -p "$archives/partial"
    apt-get --quiet --yes --download-only --no-install-recommends -o Debug::NoLocking=1 \
        -o APT::Sandbox::User= -o "Dir::Cache::archives=$archives" install "$1" >"$archives/log" 2>&1 ||
        { cat "$archives/log" >&2 && die "apt-get cannot download $1; apt-get update may help"; }
    rm -rf "$2.unfinished"
    mkdir -p "$2.unfinished"
    for file in "$archives"/*.deb; do
        dpkg -x "$file" "$2.unfinished"
    done
    mv "$2.unfinished" "$2"
}

# server_libraries PACKAGE: exports where the libraries of an unpacked package are.
server_libraries() {
    local folder=$STORES/programs/$1
    [[ ! -d $folder ]] ||
        export LD_LIBRARY_PATH=$folder/usr/lib/x86_64-linux-gnu:$folder/lib/x86_64-linux-gnu
}
