# shellcheck shell=bash disable=SC2154 # server.sh sets dir
# PowerDNS with SQLite, without zones. To be sourced after server.sh, which says what the functions do.
#
# KUSION_RACK_DNS is the address of its API, KUSION_RACK_DNS_KEY the key, KUSION_RACK_DNS_PORT where it
# answers questions.

powerdns_needs() { :; }

_powerdns_program() { server_program pdns-backend-sqlite3 /usr/sbin/pdns_server; }

powerdns_install() {
    _powerdns_program >/dev/null
    server_libraries pdns-backend-sqlite3
}

_powerdns_file() { # PATH: installed, or unpacked
    local unpacked=$STORES/programs/pdns-backend-sqlite3$1
    if [[ -e $unpacked ]]; then printf '%s' "$unpacked"; else printf '%s' "$1"; fi
}

powerdns_start() {
    server_port >"$dir/port"
    server_port >"$dir/api-port"
    server_password >"$dir/key"
    "$PYTHON" - "$dir/pdns.db" "$(_powerdns_file /usr/share/pdns-backend-sqlite3/schema/schema.sqlite3.sql)" <<'PROGRAM'
import sqlite3, sys
sqlite3.connect(sys.argv[1]).executescript(open(sys.argv[2]).read())
PROGRAM
    (umask 077 && _powerdns_configuration >"$dir/pdns.conf")
    chown "$(server_user)" "$dir/pdns.db" "$dir/pdns.conf"
    powerdns_run
    server_wait 'its API answers' _powerdns_answers
}

powerdns_run() {
    server_libraries pdns-backend-sqlite3
    server_run "$(_powerdns_program)" --config-dir="$dir"
}

_powerdns_configuration() {
    cat <<CONFIGURATION
launch=gsqlite3
gsqlite3-database=$dir/pdns.db
gsqlite3-pragma-synchronous=0
module-dir=$(_powerdns_file /usr/lib/x86_64-linux-gnu/pdns)
daemon=no
guardian=no
socket-dir=$dir
local-address=127.0.0.1
local-port=$(<"$dir/port")
api=yes
api-key=$(<"$dir/key")
webserver=yes
webserver-address=127.0.0.1
webserver-port=$(<"$dir/api-port")
zone-cache-refresh-interval=0
CONFIGURATION
}

_powerdns_answers() {
    curl -fsS -H "X-API-Key: $(<"$dir/key")" "http://127.0.0.1:$(<"$dir/api-port")/api/v1/servers/localhost"
}

powerdns_env() {
    printf 'export KUSION_RACK_DNS=%q KUSION_RACK_DNS_KEY=%q KUSION_RACK_DNS_PORT=%q\n' \
        "http://127.0.0.1:$(<"$dir/api-port")" "$(<"$dir/key")" "$(<"$dir/port")"
}
