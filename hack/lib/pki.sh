# shellcheck shell=bash
# The certificates and kubeconfigs of one control plane. To be sourced after common.sh.

_pki_config() {
    cat <<'CONFIG'
[req]
distinguished_name = name
prompt = no
[name]
[ca]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
[server]
basicConstraints = CA:FALSE
extendedKeyUsage = serverAuth
subjectAltName = IP:127.0.0.1, IP:::1, IP:10.96.0.1, DNS:localhost, DNS:kubernetes, DNS:kubernetes.default, DNS:kubernetes.default.svc
[client]
basicConstraints = CA:FALSE
extendedKeyUsage = clientAuth
CONFIG
}

# _pki_issue FOLDER NAME KIND SUBJECT: NAME.key and NAME.crt, signed by ca.key, or by itself.
_pki_issue() {
    local signer=()
    [[ $3 == ca ]] || signer=(-CA "$1/ca.crt" -CAkey "$1/ca.key")
    openssl req -x509 -config "$1/openssl.cnf" -extensions "$3" "${signer[@]}" -days 3650 -nodes \
        -newkey ec -pkeyopt ec_paramgen_curve:P-256 -subj "$4" \
        -keyout "$1/$2.key" -out "$1/$2.crt" 2>"$1/openssl.log" || die "openssl: $(<"$1/openssl.log")"
}

# pki_make FOLDER: a CA; the certificates of the API server and of its clients; and the key
# that signs service accounts' tokens.
pki_make() {
    mkdir -p "$1"
    _pki_config >"$1/openssl.cnf"
    _pki_issue "$1" ca ca /CN=kusion-controlplane
    _pki_issue "$1" apiserver server /CN=kube-apiserver
    _pki_issue "$1" admin client /O=system:masters/CN=admin
    _pki_issue "$1" kwok client /O=system:masters/CN=kwok
    _pki_issue "$1" kube-controller-manager client /CN=system:kube-controller-manager
    _pki_issue "$1" kube-scheduler client /CN=system:kube-scheduler
    openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$1/service-account.key" 2>/dev/null
    openssl pkey -in "$1/service-account.key" -pubout -out "$1/service-account.pub"
}

# pki_kubeconfig FOLDER USER SERVER NAME: on stdout; whole in itself, so that it may be copied.
pki_kubeconfig() {
    cat <<CONFIG
apiVersion: v1
kind: Config
current-context: $4
clusters:
- name: $4
  cluster:
    server: $3
    certificate-authority-data: $(base64 -w 0 "$1/ca.crt")
users:
- name: $2
  user:
    client-certificate-data: $(base64 -w 0 "$1/$2.crt")
    client-key-data: $(base64 -w 0 "$1/$2.key")
contexts:
- name: $4
  context: {cluster: $4, user: $2}
CONFIG
}
