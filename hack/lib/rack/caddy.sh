# shellcheck shell=bash disable=SC2154 # server.sh sets dir
# Caddy with one server, "rack", and no routes. To be sourced after server.sh, which says what the
# functions do.
#
# KUSION_RACK_LB is the address of its API, KUSION_RACK_LB_SITE that where it serves.

caddy_needs() { :; }

_caddy_program() { server_program caddy /usr/bin/caddy; }

caddy_install() { _caddy_program >/dev/null; }

caddy_start() {
    server_port >"$dir/port"
    server_port >"$dir/api-port"
    printf '{"admin": {"listen": "127.0.0.1:%s"}, "apps": {"http": {"servers": {"rack": {
        "listen": ["127.0.0.1:%s"], "routes": [], "automatic_https": {"disable": true}}}}}}\n' \
        "$(<"$dir/api-port")" "$(<"$dir/port")" >"$dir/caddy.json"
    caddy_run
    server_wait 'its API answers' curl -fsS "http://127.0.0.1:$(<"$dir/api-port")/config/"
}

caddy_run() {
    server_run env HOME="$dir" XDG_DATA_HOME="$dir" XDG_CONFIG_HOME="$dir" \
        "$(_caddy_program)" run --config "$dir/caddy.json"
}

caddy_env() {
    printf 'export KUSION_RACK_LB=%q KUSION_RACK_LB_SITE=%q\n' \
        "http://127.0.0.1:$(<"$dir/api-port")" "http://127.0.0.1:$(<"$dir/port")"
}
