# shellcheck shell=bash disable=SC2154 # server.sh sets dir
# PostgreSQL, with TLS and SCRAM. Its database `kusion` belongs to the user `kusion`. To be sourced
# after server.sh, which says what the functions do.
#
# KUSION_TEST_POSTGRES is the database as the operator's flag names it; KUSION_TEST_POSTGRES_ADMIN is
# how its superuser connects, by a socket, as libpq takes it; KUSION_TEST_POSTGRES_FOLDER has
# server.crt, server.key, ca.crt and ca.key in tls/, and run.pid.

postgres_needs() { :; }

_postgres_program() { # NAME
    server_program postgresql-15 "/usr/lib/postgresql/*/bin/$1"
}

postgres_install() {
    _postgres_program postgres >/dev/null
    server_libraries postgresql-15
}

postgres_start() {
    local port password
    port=$(server_port)
    password=$(server_password)
    printf '%s\n' "$port" >"$dir/port"
    server_certificate "$dir/tls"
    (umask 077 && printf '%s' "$password" >"$dir/password")
    server_as "$(_postgres_program initdb)" --pgdata="$dir/data" --username=postgres --auth=trust \
        --encoding=UTF8 --no-locale --data-checksums --no-sync >"$dir/log" 2>&1 ||
        { cat "$dir/log" >&2 && die "initdb failed"; }
    _postgres_configuration "$port" >>"$dir/data/postgresql.conf"
    printf '%s\n' 'local all all trust' 'hostssl all all 127.0.0.1/32 scram-sha-256' >"$dir/data/pg_hba.conf"
    postgres_run
    _postgres_sql postgres "CREATE ROLE kusion LOGIN PASSWORD '$password'"
    _postgres_sql postgres 'CREATE DATABASE kusion OWNER kusion'
}

# postgres_run: the process alone; tests kill it, and start it again.
postgres_run() {
    server_libraries postgresql-15
    server_run "$(_postgres_program postgres)" -D "$dir/data"
    server_wait 'it answers' _postgres_sql postgres 'SELECT 1'
}

_postgres_configuration() { # PORT
    cat <<CONFIGURATION
listen_addresses = '127.0.0.1'
port = $1
unix_socket_directories = '$dir'
ssl = on
ssl_cert_file = '$dir/tls/server.crt'
ssl_key_file = '$dir/tls/server.key'
password_encryption = 'scram-sha-256'
fsync = $([[ ${KUSION_STORES_FSYNC:-} == 1 ]] && echo on || echo off)
jit = off
max_connections = 200
logging_collector = off
CONFIGURATION
}

_postgres_sql() { # DATABASE STATEMENT
    "$(_postgres_program psql)" --no-psqlrc --quiet --host="$dir" --port="$(<"$dir/port")" \
        --username=postgres --dbname="$1" --set=ON_ERROR_STOP=1 --command="$2"
}

postgres_env() {
    local place="kusion?sslrootcert=$dir/tls/ca.crt&passfile=$dir/password"
    printf 'export KUSION_TEST_POSTGRES=%q\n' "postgres://kusion@localhost:$(<"$dir/port")/$place"
    printf 'export KUSION_TEST_POSTGRES_ADMIN=%q\n' "host=$dir port=$(<"$dir/port") user=postgres dbname=kusion"
    printf 'export KUSION_TEST_POSTGRES_FOLDER=%q\n' "$dir"
}
