# shellcheck shell=bash
# Which packages of Debian files are from, and a list of them (SPDX 2.3). To be sourced after common.sh.

# package_of FILE: NAME VERSION. Debian's index names files by the path before /usr was merged, or
# after.
package_of() {
    local file=$1 real name
    real=$(realpath "$file")
    for file in "$real" "${real#/usr}" "/usr$real"; do
        name=$(dpkg-query --search "$file" 2>/dev/null | sed 's/: .*//' | head -n 1) || true
        if [[ -n $name ]]; then
            dpkg-query --show --showformat '${Package} ${Version}\n' "$name"
            return
        fi
    done
    die "no package has $real"
}

# sbom NAME: what the program NAME is made of, from lines "PACKAGE VERSION" on stdin. Debian's names and versions need
# no escapes. Its time is SOURCE_DATE_EPOCH, or now.
sbom() {
    local name version of created
    of=$(sed -n 's/^project(.* VERSION \([^ ]*\).*/\1/p' "$ROOT/CMakeLists.txt")
    created=$(date --utc --date="@${SOURCE_DATE_EPOCH:-$(date +%s)}" +%Y-%m-%dT%H:%M:%SZ)
    printf '{"spdxVersion":"SPDX-2.3","dataLicense":"CC0-1.0","SPDXID":"SPDXRef-DOCUMENT",'
    printf '"name":"%s","documentNamespace":"https://kusion.io/sbom/%s/%s/%s",' "$1" "$1" "$of" "$created"
    printf '"creationInfo":{"created":"%s","creators":["Tool: hack/%s"]},' "$created" "${0##*/}"
    printf '"documentDescribes":["SPDXRef-%s"],"packages":[' "$1"
    printf '{"SPDXID":"SPDXRef-%s","name":"%s","versionInfo":"%s",' "$1" "$1" "$of"
    printf '"downloadLocation":"NOASSERTION","filesAnalyzed":false}'
    while read -r name version; do
        printf ',{"SPDXID":"SPDXRef-Package-%s","name":"%s","versionInfo":"%s",' \
            "${name//+/-}" "$name" "$version"
        printf '"supplier":"Organization: Debian","downloadLocation":"NOASSERTION","filesAnalyzed":false,'
        printf '"externalRefs":[{"referenceCategory":"PACKAGE-MANAGER","referenceType":"purl",'
        printf '"referenceLocator":"pkg:deb/debian/%s@%s"}]}' "${name//+/%2B}" "${version//+/%2B}"
    done
    printf ']}\n'
}
