# shellcheck shell=bash disable=SC2154 # server.sh sets dir
# WebDAV by nginx, with the module dav-ext, TLS and a password. To be sourced after server.sh, which says
# what the functions do, and apache.sh.
#
# KUSION_TEST_NGINX is a folder as the operator's flag names it, and KUSION_TEST_NGINX_BEARER the same
# with a token in place of a password. KUSION_TEST_NGINX_FOLDER has what is kept in data/state, the
# credentials in key/ and token/, tls/, and run.pid.

nginx_needs() { :; }

_nginx_program() { server_program libnginx-mod-http-dav-ext /usr/sbin/nginx; }

# The module is where the program is.
_nginx_module() {
    local program module
    program=$(_nginx_program)
    module=${program%/sbin/nginx}/lib/nginx/modules/ngx_http_dav_ext_module.so
    [[ -e $module ]] || die "nginx is installed without its module dav-ext; install libnginx-mod-http-dav-ext"
    printf '%s' "$module"
}

nginx_install() {
    _nginx_module >/dev/null
    server_libraries libnginx-mod-http-dav-ext
}

nginx_start() {
    local folder
    server_port >"$dir/port"
    server_certificate "$dir/tls"
    for folder in data data/state key token run; do
        mkdir -p "$dir/$folder"
        chown "$(server_user)" "$dir/$folder"
    done
    (umask 077 && printf 'kusion' >"$dir/key/username" && server_password >"$dir/key/password" &&
        server_password >"$dir/token/token")
    _webdav_users >"$dir/users"
    _nginx_configuration >"$dir/nginx.conf"
    nginx_run
}

# nginx_run: the process alone; tests kill it, and start it again.
nginx_run() {
    local program
    program=$(_nginx_program)
    server_libraries libnginx-mod-http-dav-ext
    server_run "$program" -e "$dir/error.log" -c "$dir/nginx.conf"
    server_wait 'it answers' curl --silent --show-error --cacert "$dir/tls/ca.crt" "https://localhost:$(<"$dir/port")/"
}

_nginx_configuration() {
    local kind module
    module=$(_nginx_module)
    printf 'load_module %s;\ndaemon off;\npid %s/run/pid;\nerror_log %s/error.log;\nworker_processes 2;\n' \
        "$module" "$dir" "$dir"
    printf 'events { worker_connections 512; }\nhttp {\n    access_log off;\n'
    for kind in client_body proxy fastcgi uwsgi scgi; do
        printf '    %s_temp_path %s/run/%s;\n' "$kind" "$dir" "$kind"
    done
    cat <<CONFIGURATION
    map \$http_authorization \$denied {
        default 1;
        "Bearer $(<"$dir/token/token")" 0;
    }
    server {
        listen 127.0.0.1:$(<"$dir/port") ssl;
        server_name localhost;
        ssl_certificate $dir/tls/server.crt;
        ssl_certificate_key $dir/tls/server.key;
        root $dir/data;
        client_max_body_size 0;
        keepalive_requests 1000000;
        dav_methods PUT DELETE MKCOL COPY MOVE;
        dav_ext_methods PROPFIND OPTIONS;
        location / {
            auth_basic state;
            auth_basic_user_file $dir/users;
        }
        location /bearer/ {
            if (\$denied) { return 401; }
            alias $dir/data/state/;
        }
    }
}
CONFIGURATION
}

nginx_env() {
    local origin
    origin=https://localhost:$(<"$dir/port")
    printf 'export KUSION_TEST_NGINX=%q\n' "$origin/state?credentials=$dir/key&ca=$dir/tls/ca.crt"
    printf 'export KUSION_TEST_NGINX_BEARER=%q\n' "$origin/bearer?credentials=$dir/token&ca=$dir/tls/ca.crt"
    printf 'export KUSION_TEST_NGINX_FOLDER=%q\n' "$dir"
}
