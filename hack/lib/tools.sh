# shellcheck shell=bash
# The programs of a control plane, and those of others that tests need: found in KUBEBUILDER_ASSETS or in the cache, else built
# into the cache, where each has its version's folder and appears whole or not at all.
# To be sourced after common.sh and go.sh.

KWOK_VERSION=v0.8.0
HELM_VERSION=v4.3.1
VERSITYGW_VERSION=v1.8.0 # before it, two creates of one object could both succeed
_TOOLS_MODULE=$ROOT/hack/tools
# Modules of their own: they need, or replace, other versions than the others have.
_TOFU_MODULE=$ROOT/hack/tools/tofu
_FLUX_MODULE=$ROOT/hack/tools/flux
_VAULT_MODULE=$ROOT/hack/tools/vault
_ARGOCD_MODULE=$ROOT/hack/tools/argocd

_module_version() { # MODULE FOLDER: its version in the go.mod there
    awk -v module="$1" '$1 == module && $2 ~ /^v/ {print $2; exit}' "$2/go.mod"
}

KUBERNETES_VERSION=$(_module_version k8s.io/kubernetes "$_TOOLS_MODULE")
ETCD_VERSION=$(_module_version go.etcd.io/etcd/server/v3 "$_TOOLS_MODULE")
TOFU_VERSION=$(_module_version github.com/opentofu/opentofu "$_TOFU_MODULE")
FLUX_VERSION=$(_module_version github.com/fluxcd/kustomize-controller "$_FLUX_MODULE")
VAULT_VERSION=$(_module_version github.com/hashicorp/vault "$_VAULT_MODULE")
ARGOCD_VERSION=$(_module_version github.com/argoproj/argo-cd/v3 "$_ARGOCD_MODULE")

# By tool: the folder of its version in the cache, its package, and how long its build takes
# on two cores. A package with a version is a module of its own, outside hack/tools/go.mod.
declare -A _TOOL_FOLDER=(
    [etcd]=etcd-$ETCD_VERSION
    [kube-apiserver]=k8s-$KUBERNETES_VERSION
    [kube-controller-manager]=k8s-$KUBERNETES_VERSION
    [kube-scheduler]=k8s-$KUBERNETES_VERSION
    [kubectl]=k8s-$KUBERNETES_VERSION
    [kubelet]=k8s-$KUBERNETES_VERSION
    [kwok]=kwok-$KWOK_VERSION
    [helm]=helm-$HELM_VERSION
    [tofu]=tofu-$TOFU_VERSION
    [versitygw]=versitygw-$VERSITYGW_VERSION
    [kustomize-controller]=flux-$FLUX_VERSION
    [vault]=vault-$VAULT_VERSION
    [argocd]=argocd-$ARGOCD_VERSION
)
declare -A _TOOL_PACKAGE=(
    [etcd]=go.etcd.io/etcd/server/v3
    [kube-apiserver]=k8s.io/kubernetes/cmd/kube-apiserver
    [kube-controller-manager]=k8s.io/kubernetes/cmd/kube-controller-manager
    [kube-scheduler]=k8s.io/kubernetes/cmd/kube-scheduler
    [kubectl]=k8s.io/kubernetes/cmd/kubectl
    [kubelet]=k8s.io/kubernetes/cmd/kubelet
    [kwok]=sigs.k8s.io/kwok/cmd/kwok@$KWOK_VERSION
    [helm]=helm.sh/helm/v4/cmd/helm@$HELM_VERSION
    [tofu]=github.com/opentofu/opentofu/cmd/tofu
    [versitygw]=github.com/versity/versitygw/cmd/versitygw@$VERSITYGW_VERSION
    [kustomize-controller]=github.com/fluxcd/kustomize-controller
    [vault]=.
    [argocd]=.
)
declare -A _TOOL_TIME=(
    [etcd]='1 min' [kube-apiserver]='3 min' [kube-controller-manager]='1 min'
    [kube-scheduler]='1 min' [kubectl]='1 min' [kubelet]='1 min' [kwok]='1 min' [helm]='2 min' [tofu]='4 min' [versitygw]='2 min'
    [kustomize-controller]='6 min' [vault]='8 min' [argocd]='9 min'
)
# Of a control plane.
TOOLS=(etcd kube-apiserver kube-controller-manager kube-scheduler kubectl kwok helm kubelet)

_tool_cached() { # NAME: where it is, once it is built
    printf '%s' "$CACHE/tools/${_TOOL_FOLDER[$1]}/$1"
}

# tool_path NAME: its path, whether it is there or not.
tool_path() {
    if [[ -n ${KUBEBUILDER_ASSETS:-} && -x $KUBEBUILDER_ASSETS/$1 ]]; then
        printf '%s' "$KUBEBUILDER_ASSETS/$1"
    else
        _tool_cached "$1"
    fi
}

_tools_missing() { # NAME…: those that are not there
    local name
    for name in "$@"; do
        [[ -x $(tool_path "$name") ]] || printf '%s\n' "$name"
    done
}

# tools_ensure NAME…: builds what is missing, one script at a time.
tools_ensure() {
    local name missing lock
    for name in "$@"; do
        [[ -n ${_TOOL_FOLDER[$name]:-} ]] || die "no tool is called '$name' (there are: ${TOOLS[*]} tofu versitygw kustomize-controller vault argocd)"
    done
    [[ -n $(_tools_missing "$@") ]] || return 0
    lock_take "$CACHE/tools/.build.lock" lock
    mapfile -t missing < <(_tools_missing "$@") # another script may have built them meanwhile
    if ((${#missing[@]})); then
        go_ensure
        say "building ${missing[*]} into $CACHE/tools (once; $(_tools_time "${missing[@]}") on two cores)"
    fi
    for name in "${missing[@]}"; do
        _tool_build "$name"
    done
    lock_release "$lock"
}

_tools_time() { # NAME…: together
    local name total=0
    for name in "$@"; do
        total=$((total + ${_TOOL_TIME[$name]% min}))
    done
    printf 'about %d min' "$total"
}

_go_ldflags() { # of Kubernetes' programs: without a version, kubectl and helm refuse or warn
    local package version=${KUBERNETES_VERSION#v}
    printf -- '-s -w'
    for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
        printf -- ' -X %s.gitVersion=v%s -X %s.gitMajor=%s -X %s.gitMinor=%s' "$package" "$version" \
            "$package" "$(cut -d. -f1 <<<"$version")" "$package" "$(cut -d. -f2 <<<"$version")"
    done
}

_tool_progress() {
    local packages modules
    packages=$(grep -c -v '^go: ' "$_build_log" || true)
    modules=$(grep -c '^go: downloading' "$_build_log" || true)
    printf '%s: %s, %s modules fetched, %s packages compiled' "$_build_name" \
        "$(seconds_text $((SECONDS - _build_started)))" "$modules" "$packages"
}

_tool_command() { # NAME: into _build_command
    local package=${_TOOL_PACKAGE[$1]} module=$_TOOLS_MODULE
    case $1 in
    tofu) module=$_TOFU_MODULE ;;
    kustomize-controller) module=$_FLUX_MODULE ;;
    vault) module=$_VAULT_MODULE ;;
    argocd) module=$_ARGOCD_MODULE ;;
    esac
    _build_command=(env -u GOOS -u GOARCH -u GOFLAGS CGO_ENABLED=0 GOWORK=off)
    if [[ $package == *@* ]]; then
        _build_command+=("GOBIN=$_build_folder" "$GO" install -v -trimpath -ldflags '-s -w' "$package")
    else
        _build_command+=("$GO" -C "$module" build -v -trimpath -ldflags "$(_go_ldflags)"
            -o "$_build_folder/$1" "$package")
    fi
}

_tool_build_abort() {
    [[ -z ${_build_folder:-} ]] || rm -rf "$_build_folder"
}
defer _tool_build_abort

_tool_build() { # NAME
    local folder
    folder=$(dirname "$(_tool_cached "$1")")
    mkdir -p "$folder"
    _build_folder=$(mktemp -d "$folder/.new.XXXXXX")
    _build_name=$1 _build_log=$_build_folder/log _build_started=$SECONDS
    _tool_command "$1"
    say "  $1 ${_TOOL_FOLDER[$1]##*-} (about ${_TOOL_TIME[$1]})"
    if ! long_work "$_build_log" _tool_progress "${_build_command[@]}"; then
        die "cannot build $1: its output ends above"
    fi
    mv "$_build_folder/$1" "$folder/$1"
    rm -rf "$_build_folder"
    say "  $1: done in $(seconds_text $((SECONDS - _build_started)))"
}
