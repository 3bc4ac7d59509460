# shellcheck shell=bash disable=SC2154 # server.sh sets dir
# S3 by versitygw over a folder, with TLS; it verifies signatures. To be sourced after server.sh, which
# says what the functions do.
#
# KUSION_TEST_S3 is a bucket as the operator's flag names it. KUSION_TEST_S3_FOLDER has the objects in
# data/kusion, the bucket's credentials in key/, tls/, and run.pid.
# shellcheck source=hack/lib/go.sh
source "$ROOT/hack/lib/go.sh"
# shellcheck source=hack/lib/tools.sh
source "$ROOT/hack/lib/tools.sh"

s3_needs() { :; }

# Where users other than root can reach it.
_s3_program() { printf '%s' "$STORES/programs/versitygw/$VERSITYGW_VERSION/versitygw"; }

s3_install() {
    local program
    program=$(_s3_program)
    if [[ -x $program ]]; then return; fi
    tools_ensure versitygw
    _stores_folder
    mkdir -p "${program%/*}"
    cp "$(tool_path versitygw)" "$program.$$" # two sets may be started at once
    mv "$program.$$" "$program"
}

s3_start() {
    local folder
    server_port >"$dir/port"
    server_certificate "$dir/tls"
    for folder in data data/kusion key; do
        mkdir -p "$dir/$folder"
        chown "$(server_user)" "$dir/$folder"
    done
    (umask 077 && printf 'kusion' >"$dir/key/AWS_ACCESS_KEY_ID" &&
        server_password >"$dir/key/AWS_SECRET_ACCESS_KEY")
    s3_run
}

# s3_run: the process alone; tests kill it, and start it again.
s3_run() {
    local port
    port=$(<"$dir/port")
    ROOT_ACCESS_KEY=$(<"$dir/key/AWS_ACCESS_KEY_ID") ROOT_SECRET_KEY=$(<"$dir/key/AWS_SECRET_ACCESS_KEY") \
        server_run "$(_s3_program)" --port "127.0.0.1:$port" --region us-east-1 \
        --cert "$dir/tls/server.crt" --key "$dir/tls/server.key" posix "$dir/data"
    server_wait 'it answers' curl --silent --show-error --cacert "$dir/tls/ca.crt" "https://localhost:$port/"
}

s3_env() {
    printf 'export KUSION_TEST_S3=%q\n' \
        "s3://kusion/test?endpoint=https://localhost:$(<"$dir/port")&credentials=$dir/key&ca=$dir/tls/ca.crt"
    printf 'export KUSION_TEST_S3_FOLDER=%q\n' "$dir"
}
