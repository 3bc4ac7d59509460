# shellcheck shell=bash disable=SC2154 # server.sh sets dir
# pgbouncer in front of PostgreSQL (postgres.sh), in transaction pooling, with TLS on both sides. To be
# sourced after server.sh, which says what the functions do.
#
# KUSION_TEST_PGBOUNCER is the same database as KUSION_TEST_POSTGRES, by it; it passes on any other
# database of that server, too.

pgbouncer_needs() { echo postgres; }

_pgbouncer_program() { server_program pgbouncer /usr/sbin/pgbouncer; }

pgbouncer_install() {
    _pgbouncer_program >/dev/null
    server_libraries pgbouncer
}

pgbouncer_start() {
    local postgres=${dir%/*}/postgres port
    port=$(server_port)
    printf '%s\n' "$port" >"$dir/port"
    server_certificate "$dir/tls"
    (umask 077 && printf '"kusion" "%s"\n' "$(<"$postgres/password")" >"$dir/users")
    _pgbouncer_configuration "$port" "$postgres" >"$dir/pgbouncer.ini"
    chown "$(server_user)" "$dir/users" "$dir/pgbouncer.ini"
    server_libraries pgbouncer
    server_run "$(_pgbouncer_program)" "$dir/pgbouncer.ini"
    server_wait 'it listens' _pgbouncer_listens "$port"
}

_pgbouncer_listens() { (exec 3<>"/dev/tcp/127.0.0.1/$1"); }

_pgbouncer_configuration() { # PORT POSTGRES
    cat <<CONFIGURATION
[databases]
* = host=localhost port=$(<"$2/port")
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = $1
unix_socket_dir =
auth_type = scram-sha-256
auth_file = $dir/users
pool_mode = transaction
default_pool_size = 8
max_client_conn = 500
client_tls_sslmode = require
client_tls_cert_file = $dir/tls/server.crt
client_tls_key_file = $dir/tls/server.key
server_tls_sslmode = verify-full
server_tls_ca_file = $2/tls/ca.crt
CONFIGURATION
}

pgbouncer_env() {
    local place="kusion?sslrootcert=$dir/tls/ca.crt&passfile=${dir%/*}/postgres/password"
    printf 'export KUSION_TEST_PGBOUNCER=%q\n' "postgres://kusion@localhost:$(<"$dir/port")/$place"
}
