# shellcheck shell=bash disable=SC2154 # server.sh sets dir
# sshd, for files alone (SFTP): a host. To be sourced after server.sh, which says what the functions do.
#
# KUSION_RACK_HOST is its address, KUSION_RACK_HOST_USER who may come in, KUSION_RACK_HOST_IDENTITY the file
# with that user's private key, KUSION_RACK_HOST_KEY the host's public one, KUSION_RACK_HOST_FILES a folder in
# which that user may write.

sshd_needs() { :; }

_sshd_program() { server_program openssh-server /usr/sbin/sshd; }

sshd_install() {
    _sshd_program >/dev/null
    server_libraries openssh-server
    command -v ssh-keygen >/dev/null || die "there is no ssh-keygen (Debian: openssh-client)"
}

sshd_start() {
    local name
    server_port >"$dir/port"
    for name in host identity; do
        ssh-keygen -q -t ed25519 -N '' -C "$name" -f "$dir/$name"
    done
    mkdir "$dir/files"
    cat >"$dir/sshd.conf" <<CONFIGURATION
ListenAddress 127.0.0.1:$(<"$dir/port")
HostKey $dir/host
AuthorizedKeysFile $dir/identity.pub
PidFile none
UsePAM no
StrictModes no
PasswordAuthentication no
KbdInteractiveAuthentication no
AllowTcpForwarding no
Subsystem sftp internal-sftp
ForceCommand internal-sftp
CONFIGURATION
    chown -R "$(server_user)" "$dir"
    sshd_run
    server_wait 'it answers' ssh-keyscan -p "$(<"$dir/port")" 127.0.0.1
}

sshd_run() {
    server_libraries openssh-server
    server_run "$(_sshd_program)" -D -e -f "$dir/sshd.conf"
}

sshd_env() {
    printf 'export KUSION_RACK_HOST=%q KUSION_RACK_HOST_USER=%q KUSION_RACK_HOST_IDENTITY=%q\n' \
        "127.0.0.1:$(<"$dir/port")" "$(server_user)" "$dir/identity"
    printf 'export KUSION_RACK_HOST_KEY=%q KUSION_RACK_HOST_FILES=%q\n' \
        "$(cut -d' ' -f1,2 "$dir/host.pub")" "$dir/files"
}
