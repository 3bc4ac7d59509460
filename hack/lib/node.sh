# shellcheck shell=bash
# A real node of a control plane: containerd, a kubelet, and a network for pods. To be sourced after
# plane.sh and image.sh, with a plane selected. It needs root.
# shellcheck disable=SC2154 # plane and dir are plane_select's
#
# Pods have interfaces on a bridge. The address of the Service `kubernetes` is an address of this
# machine, from where connections go on to the API server; there is no kube-proxy and no DNS of the
# cluster. So there is one such node on a machine at a time.

NODE=node-0
_NODE_IP=10.96.255.254          # on lo; outside of what Services get first
_API_IP=10.96.0.1               # of the Service `kubernetes`
_POD_SUBNET=10.88.0.0/16
_PAUSE=localhost/kusion-pause:1 # the image of a pod's sandbox

node_ctr() { ctr --address "$dir/run/cri.sock" --namespace k8s.io "$@"; }

# node_import ARCHIVE…: images for its pods (imagePullPolicy: Never, or IfNotPresent).
node_import() {
    local archive
    for archive in "$@"; do
        node_ctr images import "$archive" >/dev/null || die "containerd does not take $archive"
    done
}

# node_program_image SOURCE TAG ARCHIVE: an image of one static C program.
node_program_image() {
    local folder container
    folder=$(mktemp -d)
    defer rm -rf "$folder"
    gcc -static -Os -Wall -Werror -o "$folder/main" "$1" || die "$1 cannot be built"
    container=$(image_buildah from scratch)
    image_buildah copy --quiet "$container" "$folder/main" /main >/dev/null
    image_buildah config --entrypoint '["/main"]' --cmd '' --user 65532:65532 "$container"
    image_buildah commit --quiet --rm "$container" "$2" >/dev/null
    rm -f "$3"
    image_buildah push --quiet "$2" "docker-archive:$3:$2"
}

_containerd_config() {
    cat <<CONFIG
version = 2
root = "$dir/containerd"
state = "$dir/run/containerd"
[grpc]
  address = "$dir/run/cri.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "$_PAUSE"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = false
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "$dir/cni"
CONFIG
}

_cni_config() {
    cat <<CONFIG
{"cniVersion": "1.0.0", "name": "kusion", "plugins": [
  {"type": "bridge", "bridge": "kusion0", "isGateway": true, "hairpinMode": true,
   "ipam": {"type": "host-local", "dataDir": "$dir/cni-state", "ranges": [[{"subnet": "$_POD_SUBNET"}]],
            "routes": [{"dst": "0.0.0.0/0"}]}},
  {"type": "portmap", "capabilities": {"portMappings": true}}]}
CONFIG
}

# Nothing is evicted: the node shares this machine's disk and memory.
_kubelet_config() {
    cat <<CONFIG
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
containerRuntimeEndpoint: unix://$dir/run/cri.sock
authentication:
  anonymous: {enabled: false}
  webhook: {enabled: true}
  x509: {clientCAFile: $dir/pki/ca.crt}
authorization: {mode: Webhook}
address: $_NODE_IP
cgroupDriver: cgroupfs
failCgroupV1: false
failSwapOn: false
enforceNodeAllocatable: []
localStorageCapacityIsolation: false
evictionHard: {memory.available: 0%, nodefs.available: 0%, nodefs.inodesFree: 0%, imagefs.available: 0%}
healthzPort: 0
CONFIG
}

# Why no node can be had here; fails if one can.
node_why_not() {
    if (($(id -u) != 0)); then
        echo "it needs root"
    elif ! ip link add kusion-try type bridge 2>/dev/null; then
        echo "no bridge can be made"
    else
        ip link del kusion-try
        return 1
    fi
}

_addresses_add() {
    local address
    for address in "$_API_IP" "$_NODE_IP"; do
        ip address add "$address/32" dev lo 2>/dev/null ||
            die "$address is in use on this machine: is there another node? (hack/node down)"
        printf '%s\n' "$address" >>"$dir/run/addresses"
    done
}

_node_is_ready() {
    [[ $(plane_kubectl get node "$NODE" -o 'jsonpath={.status.conditions[?(@.type=="Ready")].status}') == True ]]
}

_node_abort_unless_ready() {
    [[ -e $dir/node-ready ]] || node_stop
}

# node_start: a node of the plane, Ready.
node_start() {
    local why
    ! why=$(node_why_not) || die "no node can be had here: $why"
    debian_install containerd runc containernetworking-plugins socat iproute2 iptables buildah
    tools_ensure kubelet
    mkdir -p "$dir"/{cni,cni-state,kubelet,images}
    defer _node_abort_unless_ready
    _addresses_add
    _containerd_config >"$dir/containerd.toml"
    _cni_config >"$dir/cni/10-kusion.conflist"
    _kubelet_config >"$dir/kubelet.yaml"
    pki_kubeconfig "$dir/pki" admin "$(<"$dir/url")" "$plane" >"$dir/pki/kubelet.kubeconfig"
    _process_start containerd --config "$dir/containerd.toml"
    _wait_for 60 containerd 'containerd answers' node_ctr version
    node_program_image "$ROOT/hack/lib/pause.c" "$_PAUSE" "$dir/images/pause.tar"
    node_import "$dir/images/pause.tar"
    _process_start socat -lf "$dir/log/socat.log" \
        "TCP-LISTEN:443,bind=$_API_IP,fork,reuseaddr" "TCP:127.0.0.1:$(sed 's/.*://' "$dir/url")"
    _process_start kubelet --config "$dir/kubelet.yaml" --kubeconfig "$dir/pki/kubelet.kubeconfig" \
        --root-dir "$dir/kubelet" --hostname-override "$NODE" --node-ip "$_NODE_IP"
    _wait_for 120 kubelet "node $NODE is ready" _node_is_ready
    : >"$dir/node-ready"
}

_process_end() { # PROCESS
    local pid
    pid=$(_process_pid "$1") || return 0
    kill -TERM -- "-$pid" 2>/dev/null || true
    while _process_pid "$1" >/dev/null; do sleep 0.05; done
}

_containers_kill() {
    local task
    for task in $(node_ctr tasks list --quiet 2>/dev/null); do
        node_ctr tasks kill --signal KILL "$task" 2>/dev/null || true
    done
    for _ in {1..50}; do
        node_ctr tasks list 2>/dev/null | grep -q RUNNING || break
        sleep 0.1
    done
}

# A container that was being made when containerd ended has left its shim, with what runs in it.
_shims_kill() {
    pkill -KILL -f "^[^ ]*containerd-shim.* $dir/run/cri.sock" || true
    while pgrep -f "^[^ ]*containerd-shim.* $dir/run/cri.sock" >/dev/null; do sleep 0.05; done
}

# node_stop: its pods, its processes, its mounts and its network. Another plane may have the machine's one node:
# the bridge belongs to whom the addresses belong to.
node_stop() {
    local address mount
    _process_end kubelet
    _containers_kill
    _process_end containerd
    _shims_kill
    _process_end socat
    while read -r mount; do
        umount --lazy "$mount" 2>/dev/null || true
    done < <(awk -v dir="$dir/" 'index($2, dir) == 1 {print $2}' /proc/self/mounts | sort -r)
    while read -r address; do
        ip address del "$address/32" dev lo 2>/dev/null || true
    done < <(cat "$dir/run/addresses" 2>/dev/null)
    [[ ! -s $dir/run/addresses ]] || ip link del kusion0 2>/dev/null || true
    rm -rf "$dir"/{containerd,cni,cni-state,kubelet,images,run/containerd,run/addresses,node-ready}
}
