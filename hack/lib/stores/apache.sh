# shellcheck shell=bash disable=SC2154 # server.sh sets dir
# WebDAV by Apache httpd (mod_dav_fs), with TLS and a password. To be sourced after server.sh, which
# says what the functions do.
#
# KUSION_TEST_APACHE is a folder as the operator's flag names it. KUSION_TEST_APACHE_FOLDER has what is
# kept in data/state, the user's credentials in key/, tls/, and run.pid.

apache_needs() { :; }

_apache_program() { server_program apache2-bin /usr/sbin/apache2; }

apache_install() {
    _apache_program >/dev/null
    server_libraries apache2-bin
}

apache_start() {
    local folder
    server_port >"$dir/port"
    server_certificate "$dir/tls"
    for folder in data data/state key run; do
        mkdir -p "$dir/$folder"
        chown "$(server_user)" "$dir/$folder"
    done
    (umask 077 && printf 'kusion' >"$dir/key/username" && server_password >"$dir/key/password")
    _webdav_users >"$dir/users"
    _apache_configuration >"$dir/apache.conf"
    apache_run
}

_webdav_users() { # what Basic is checked against: SHA-1, as both servers know it
    printf 'kusion:{SHA}%s\n' "$(tr -d '\n' <"$dir/key/password" | openssl dgst -sha1 -binary | base64)"
}

# apache_run: the process alone; tests kill it, and start it again.
apache_run() {
    local program
    program=$(_apache_program)
    server_libraries apache2-bin
    server_run "$program" -D FOREGROUND -f "$dir/apache.conf"
    server_wait 'it answers' curl --silent --show-error --cacert "$dir/tls/ca.crt" "https://localhost:$(<"$dir/port")/"
}

_apache_configuration() {
    local program modules name
    program=$(_apache_program)
    modules=${program%/sbin/apache2}/lib/apache2/modules
    printf 'ServerRoot "%s"\nServerName localhost\nPidFile "%s/run/pid"\nListen 127.0.0.1:%s\n' \
        "$dir" "$dir" "$(<"$dir/port")"
    printf 'DefaultRuntimeDir "%s/run"\nErrorLog "%s/error.log"\nMutex file:%s/run\n' "$dir" "$dir" "$dir"
    for name in mpm_event authn_core authn_file authz_core authz_user auth_basic dav dav_fs ssl socache_shmcb; do
        printf 'LoadModule %s_module "%s/mod_%s.so"\n' "$name" "$modules" "$name"
    done
    cat <<CONFIGURATION
DocumentRoot "$dir/data"
DavLockDB "$dir/run/locks"
SSLEngine on
SSLCertificateFile "$dir/tls/server.crt"
SSLCertificateKeyFile "$dir/tls/server.key"
LimitRequestBody 0
KeepAlive On
MaxKeepAliveRequests 0
<Directory "$dir/data">
    Dav On
    AuthType Basic
    AuthName state
    AuthUserFile "$dir/users"
    Require valid-user
</Directory>
CONFIGURATION
}

apache_env() {
    printf 'export KUSION_TEST_APACHE=%q\n' \
        "https://localhost:$(<"$dir/port")/state?credentials=$dir/key&ca=$dir/tls/ca.crt"
    printf 'export KUSION_TEST_APACHE_FOLDER=%q\n' "$dir"
}
