# shellcheck shell=bash
# One control plane: its folder, its processes, and how it comes and goes. To be sourced
# after common.sh, tools.sh and pki.sh.
#
# A plane NAME is the folder $PLANES/NAME:
#   kubeconfig      of its administrator
#   url, audit.log  where the API server listens; the audit log, if there is one
#   run/X.pid       process X, which is the leader of its own process group
#   log/X.log, pki/, etcd/, etcd.sock
#   audit.yaml      it keeps an audit log
#   fsync           its etcd waits for the disk
#   existing        instead of all but kubeconfig: the plane is a cluster of the user's
#   ready           last of all: it came up
# Whoever changes a plane holds the lock $PLANES/NAME.lock. A folder without `ready`, or with
# a process that is gone, is what a killed script or machine left: it is cleaned away.

PLANES=${KUSION_CONTROLPLANES:-$STATE/controlplanes}
PLANE_PROCESSES=(etcd kube-apiserver kube-controller-manager kube-scheduler kwok)
_SOCKET_PATH_MAX=107 # bytes, of Linux

# plane_select NAME: the functions below are about this plane.
plane_select() {
    [[ $1 =~ ^[a-z0-9][a-z0-9-]{0,39}$ ]] ||
        die "'$1' is no name: lower case letters, digits and '-', 40 at most"
    plane=$1
    dir=$PLANES/$1
}

plane_exists() { [[ -d $dir ]]; }
plane_is_existing_cluster() { [[ -e $dir/existing ]]; }

plane_lock_fd=
plane_lock() {
    lock_take "$dir.lock" plane_lock_fd
    defer plane_unlock
}

plane_unlock() { # the lock's file goes with the plane
    [[ -n $plane_lock_fd ]] || return 0
    plane_exists || rm -f "$dir.lock"
    lock_release "$plane_lock_fd"
    plane_lock_fd=
}

# The pid of a process of this plane; fails if it is gone. A pid may have been given to
# another process since, so its command line must be one that we started.
_process_pid() { # PROCESS
    local pid words
    pid=$(cat "$dir/run/$1.pid" 2>/dev/null) || return 1
    mapfile -d '' -t words 2>/dev/null <"/proc/$pid/cmdline" || return 1
    [[ ${words[0]:-} == */$1 && " ${words[*]}" == *"$dir/"* ]] || return 1
    printf '%s' "$pid"
}

_program() { # PROCESS: a tool of ours, or a program of the system
    if [[ -n ${_TOOL_FOLDER[$1]:-} ]]; then tool_path "$1"; else type -P "$1"; fi
}

_process_start() { # PROCESS ARGUMENT…: the plane's folder must be among the arguments
    local process=$1
    shift
    setsid "$(_program "$process")" "$@" >"$dir/log/$process.log" 2>&1 </dev/null \
        {plane_lock_fd}>&- &
    _started[$process]=$!
    disown
    printf '%s\n' "${_started[$process]}" >"$dir/run/$process.pid"
}
declare -A _started=()

_processes_kill() {
    local process pid
    for process in "${PLANE_PROCESSES[@]}"; do
        pid=${_started[$process]:-$(_process_pid "$process" || true)}
        [[ -z $pid ]] || kill -KILL -- "-$pid" 2>/dev/null || true
    done
    _started=()
    for process in "${PLANE_PROCESSES[@]}"; do
        while _process_pid "$process" >/dev/null; do sleep 0.02; done
    done
}

# plane_remove: all that is there of it, running or not.
plane_remove() {
    plane_exists || return 0
    _processes_kill
    rm -rf "$dir"
}

# A request to the API server, as its administrator.
_api() { # PATH CURL-ARGUMENT…
    local path=$1
    shift
    curl --silent --fail --noproxy '*' --max-time 5 --cacert "$dir/pki/ca.crt" \
        --cert "$dir/pki/admin.crt" --key "$dir/pki/admin.key" "$@" "$(<"$dir/url")$path"
}

plane_kubectl() { "$(tool_path kubectl)" --kubeconfig "$dir/kubeconfig" "$@"; }

# plane_healthy: whether it is up, all of it, and answers.
plane_healthy() {
    local process
    [[ -e $dir/ready ]] || return 1
    if plane_is_existing_cluster; then
        plane_kubectl get --raw /readyz --request-timeout 10s >/dev/null
        return
    fi
    for process in "${PLANE_PROCESSES[@]}"; do
        _process_pid "$process" >/dev/null || return 1
    done
    _api /readyz >/dev/null
}

# _wait_for SECONDS PROCESS WHAT COMMAND…: until the command succeeds. Shows the end of the
# log of PROCESS, of which the command asks, when it never does.
_wait_for() {
    local seconds=$1 process=$2 what=$3 started=$SECONDS
    shift 3
    until "$@" >/dev/null 2>&1; do
        if ! kill -0 "${_started[$process]}" 2>/dev/null; then
            _give_up "$process" "$process ended, before $what"
        elif ((SECONDS - started > seconds)); then
            _give_up "$process" "not $what within $seconds s"
        fi
        sleep 0.2
    done
}

_give_up() { # PROCESS MESSAGE
    say "the log of $1 ends:"
    tail -n 15 "$dir/log/$1.log" | tr -d '\000' >&2
    die "$plane: $2"
}

_etcd_start() {
    ((${#dir} + 10 <= _SOCKET_PATH_MAX)) || die "$dir: too long a path for a socket in it; set XDG_STATE_HOME"
    # On a socket nobody else can reach it, and needs no port. Its only member talks to no
    # peer, so the addresses that it must announce are never used. No fsync, unless it is asked for: a
    # plane that was killed with its machine is thrown away.
    local durability=(--unsafe-no-fsync)
    [[ ! -e $dir/fsync ]] || durability=()
    _process_start etcd --name "$plane" --data-dir "$dir/etcd" \
        --listen-client-urls "unix://$dir/etcd.sock" --advertise-client-urls http://localhost:2379 \
        --listen-peer-urls "unix://$dir/peer.sock" --initial-advertise-peer-urls http://localhost:2380 \
        --initial-cluster "$plane=http://localhost:2380" "${durability[@]}" --log-level warn
}

_etcd_answers() { curl --silent --fail --max-time 2 --unix-socket "$dir/etcd.sock" http://etcd/health; }

_free_port() { # below the ports that connections get for themselves
    local port
    while true; do
        port=$((20000 + RANDOM % 10000))
        (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || break
    done
    printf '%s' "$port"
}

_apiserver_start() {
    local port audit=()
    port=$(_free_port)
    printf 'https://127.0.0.1:%s' "$port" >"$dir/url"
    if [[ -e $dir/audit.yaml ]]; then
        audit=(--audit-policy-file "$dir/audit.yaml" --audit-log-path "$dir/audit.log")
    fi
    _process_start kube-apiserver --etcd-servers "unix://$dir/etcd.sock" \
        --bind-address 127.0.0.1 --secure-port "$port" \
        --advertise-address 127.0.0.1 --endpoint-reconciler-type none \
        --tls-cert-file "$dir/pki/apiserver.crt" --tls-private-key-file "$dir/pki/apiserver.key" \
        --client-ca-file "$dir/pki/ca.crt" --authorization-mode RBAC --allow-privileged \
        --kubelet-client-certificate "$dir/pki/admin.crt" --kubelet-client-key "$dir/pki/admin.key" \
        --kubelet-preferred-address-types InternalIP \
        --service-cluster-ip-range 10.96.0.0/16 \
        --service-account-issuer https://kubernetes.default.svc \
        --service-account-key-file "$dir/pki/service-account.pub" \
        --service-account-signing-key-file "$dir/pki/service-account.key" "${audit[@]}"
}

_audit_policy() {
    cat <<'POLICY'
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
POLICY
}

# Another process may take the port before the API server does: then it gets another one.
_apiserver_up() {
    local started=$SECONDS
    _apiserver_start
    while ((SECONDS - started < 180)); do
        if _api /readyz >/dev/null; then return; fi
        if ! kill -0 "${_started[kube-apiserver]}" 2>/dev/null; then
            grep -a -q 'address already in use' "$dir/log/kube-apiserver.log" || break
            _apiserver_start
        fi
        sleep 0.2
    done
    _give_up kube-apiserver "kube-apiserver does not get ready"
}

_kubeconfigs_write() {
    local user
    for user in kube-controller-manager kube-scheduler kwok; do
        pki_kubeconfig "$dir/pki" "$user" "$(<"$dir/url")" "$plane" >"$dir/pki/$user.kubeconfig"
    done
    pki_kubeconfig "$dir/pki" admin "$(<"$dir/url")" "$plane" >"$dir/kubeconfig"
}

_controllers_start() {
    # Their default rates are those of a busy cluster, and would be what tests measure.
    local client=(--kube-api-qps 400 --kube-api-burst 800 --leader-elect=false --secure-port 0)
    _process_start kube-controller-manager --kubeconfig "$dir/pki/kube-controller-manager.kubeconfig" \
        --use-service-account-credentials --root-ca-file "$dir/pki/ca.crt" \
        --service-account-private-key-file "$dir/pki/service-account.key" \
        --cluster-signing-cert-file "$dir/pki/ca.crt" --cluster-signing-key-file "$dir/pki/ca.key" \
        "${client[@]}"
    _process_start kube-scheduler --kubeconfig "$dir/pki/kube-scheduler.kubeconfig" "${client[@]}"
    # Its nodes and pods only look alive.
    _process_start kwok --kubeconfig "$dir/pki/kwok.kubeconfig" --config "$ROOT/hack/lib/kwok.yaml" \
        --manage-all-nodes=false --manage-nodes-with-annotation-selector kwok.x-k8s.io/node=fake \
        --node-ip 192.0.2.1 --cidr 10.244.0.0/16 --node-lease-duration-seconds 40
}

_node() { # NAME
    cat <<NODE
{"apiVersion":"v1","kind":"Node","metadata":{"name":"$1",
 "annotations":{"kwok.x-k8s.io/node":"fake"},
 "labels":{"kubernetes.io/hostname":"$1","kubernetes.io/os":"linux","kubernetes.io/arch":"amd64","type":"kwok"}}}
NODE
}

_node_ready() { # NAME
    _api "/api/v1/nodes/$1" | "$PYTHON" -c '
import json, sys
node = json.load(sys.stdin)
conditions = {c["type"]: c["status"] for c in node["status"].get("conditions", [])}
sys.exit(conditions.get("Ready") != "True" or bool(node["spec"].get("taints")))'
}

# plane_nodes COUNT: makes kwok-0 … and waits until pods can be placed on them.
plane_nodes() {
    local i
    for ((i = 0; i < $1; i++)); do
        _api "/api/v1/nodes/kwok-$i" >/dev/null ||
            _node "kwok-$i" |
            _api /api/v1/nodes --header 'Content-Type: application/json' --data-binary @- >/dev/null ||
            die "$plane: cannot create node kwok-$i"
    done
    for ((i = 0; i < $1; i++)); do
        _wait_for 180 kwok "node kwok-$i is ready" _node_ready "kwok-$i"
    done
}

_abort_unless_ready() {
    [[ -e $dir/ready ]] || plane_remove
}

_plane_folder() {
    (umask 077 && mkdir -p "$dir/run" "$dir/log" "$dir/pki")
    defer _abort_unless_ready
}

# plane_start NODES AUDIT FSYNC PKI: a new one; 1 is for an audit log, and for an etcd that waits for the disk;
# PKI is a folder of pki_make, or empty.
plane_start() {
    tools_ensure "${PLANE_PROCESSES[@]}" kubectl
    _plane_folder
    umask 077
    (($2)) && _audit_policy >"$dir/audit.yaml"
    (($3)) && : >"$dir/fsync"
    _etcd_start
    if [[ -n $4 ]]; then cp -r "$4/." "$dir/pki"; else pki_make "$dir/pki"; fi
    _wait_for 180 etcd 'etcd answers' _etcd_answers
    _apiserver_up
    _kubeconfigs_write
    _controllers_start
    plane_nodes "$1"
    _wait_for 180 kube-controller-manager 'the default ServiceAccount is there' \
        _api /api/v1/namespaces/default/serviceaccounts/default
    : >"$dir/ready"
}

# plane_adopt KUBECONFIG: the plane is the cluster of that file's current context; a list of
# files with colons is taken as kubectl takes it.
plane_adopt() {
    tools_ensure kubectl
    _plane_folder
    umask 077
    : >"$dir/existing"
    KUBECONFIG=$1 "$(tool_path kubectl)" config view --raw --minify --flatten >"$dir/kubeconfig" ||
        die "cannot read the current context of $1"
    plane_kubectl get --raw /readyz --request-timeout 10s >/dev/null || die "the cluster of $1 does not answer"
    : >"$dir/ready"
}
