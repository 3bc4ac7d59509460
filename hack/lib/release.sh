# shellcheck shell=bash
# Files of a release: archives, and those of kubectl-kusion, from a program and the notice of what is linked into
# it (hack/cli). Made twice, they have the same bytes: times are SOURCE_DATE_EPOCH. To be sourced after common.sh;
# VERSION is that of the release, MAINTAINER "NAME <ADDRESS>" of the Debian package.

_DOWNLOADS=https://github.com/KusionStack/kusion-operator/releases/download
_KREW=v0.4.3
_CHANGES=https://github.com/KusionStack/kusion-operator/blob/main/CHANGELOG.md
_SUMMARY="Work with Specs of the Kusion operator" # krew wants less than 50 characters

# folder_archive FOLDER NAME: FOLDER/NAME as .tar.gz, to stdout, with files in the order of their names.
folder_archive() {
    tar -c -C "$1" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner \
        --mode='u=rwX,go=rX' "$2" | gzip -n -9
}

cli_archive_name() { # ARCH
    printf 'kubectl-kusion_%s_linux_%s.tar.gz\n' "$VERSION" "$1"
}

# cli_documents PROGRAM FOLDER: man pages and completions. PROGRAM is for this machine: it writes them itself.
cli_documents() {
    mkdir -p "$2/man" "$2/completions"
    "$1" __man "$2/man"
    "$1" completion bash >"$2/completions/kubectl-kusion.bash"
    "$1" completion zsh >"$2/completions/_kubectl_kusion"
    "$1" completion fish >"$2/completions/kubectl-kusion.fish"
    "$1" completion kubectl >"$2/completions/kubectl_complete-kusion"
    chmod +x "$2/completions/kubectl_complete-kusion"
}

# cli_archive ARCH PROGRAM NOTICE LICENSE DOCUMENTS FOLDER: the archive, into FOLDER. All of it is in one folder.
cli_archive() {
    local name work
    name=$(cli_archive_name "$1")
    work=$(mktemp -d)
    defer rm -rf "$work"
    install -D --mode=0755 "$2" "$work/${name%.tar.gz}/kubectl-kusion"
    install --mode=0644 "$3" "$work/${name%.tar.gz}/NOTICE"
    install --mode=0644 "$4" "$work/${name%.tar.gz}/LICENSE"
    cp -r "$5/." "$work/${name%.tar.gz}"
    folder_archive "$work" "${name%.tar.gz}" >"$6/$name"
}

_deb_control() { # ARCH FOLDER
    cat <<CONTROL
Package: kubectl-kusion
Version: $VERSION
Architecture: $1
Maintainer: $MAINTAINER
Installed-Size: $(find "$2/usr" -type f -printf '%s\n' | awk '{ kib += int(($1 + 1023) / 1024) } END { print kib }')
Section: admin
Priority: optional
Homepage: https://www.kusionstack.io
Description: $_SUMMARY
 kubectl finds this program as its plugin: kubectl kusion. It shows, previews,
 applies and approves, with the rights that the user has in the cluster.
CONTROL
}

_deb_changelog() {
    cat <<CHANGELOG
kubectl-kusion ($VERSION) unstable; urgency=medium

  * $_CHANGES

 -- $MAINTAINER  $(LC_ALL=C date --utc --date="@$SOURCE_DATE_EPOCH" --rfc-email)
CHANGELOG
}

# _deb_copyright NOTICE: Debian has the text of Apache's licence, and packages are to refer to it.
_deb_copyright() {
    cat <<COPYRIGHT
kubectl-kusion: Copyright The authors of the Kusion operator.
License: Apache-2.0; its text is in /usr/share/common-licenses/Apache-2.0.

COPYRIGHT
    cat "$1"
}

# _deb_usr PROGRAM NOTICE DOCUMENTS USR: what the package installs, into the folder USR.
_deb_usr() {
    local share=$4/share from=$3/completions page
    install -D --mode=0755 "$1" "$4/bin/kubectl-kusion"
    install -D --mode=0755 -t "$4/bin" "$from/kubectl_complete-kusion"
    install -D --mode=0644 "$from/kubectl-kusion.bash" "$share/bash-completion/completions/kubectl-kusion"
    install -D --mode=0644 -t "$share/zsh/vendor-completions" "$from/_kubectl_kusion"
    install -D --mode=0644 -t "$share/fish/vendor_completions.d" "$from/kubectl-kusion.fish"
    for page in "$3"/man/*.1; do
        install -D --mode=0644 -t "$share/man/man1" "$page"
    done
    gzip -n -9 "$share"/man/man1/*.1
    mkdir -p "$share/doc/kubectl-kusion"
    _deb_copyright "$2" >"$share/doc/kubectl-kusion/copyright"
    _deb_changelog | gzip -n -9 >"$share/doc/kubectl-kusion/changelog.gz"
}

# cli_deb ARCH PROGRAM NOTICE DOCUMENTS FOLDER: the Debian package, into FOLDER. It depends on nothing.
cli_deb() {
    local root
    root=$(mktemp -d)
    defer rm -rf "$root"
    _deb_usr "${@:2:3}" "$root/usr"
    mkdir "$root/DEBIAN"
    _deb_control "$1" "$root" >"$root/DEBIAN/control"
    (cd "$root" && find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum >DEBIAN/md5sums)
    chmod -R u=rwX,go=rX "$root"
    # More threads compress to other bytes.
    dpkg-deb --root-owner-group -Zxz --threads-max=1 --build "$root" "$5/kubectl-kusion_${VERSION}_$1.deb" >/dev/null
}

# krew_manifest FOLDER ARCH…: from the archives in FOLDER.
krew_manifest() {
    local arch name
    cat <<MANIFEST
apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: kusion
spec:
  version: v$VERSION
  homepage: https://www.kusionstack.io
  shortDescription: $_SUMMARY
  description: |
    Shows, previews, applies, approves and rolls back Specs of the Kusion operator, with the rights that you
    have in the cluster. The operator must be installed there.
  platforms:
MANIFEST
    for arch in "${@:2}"; do
        name=$(cli_archive_name "$arch")
        cat <<PLATFORM
  - selector:
      matchLabels:
        os: linux
        arch: $arch
    uri: $_DOWNLOADS/v$VERSION/$name
    sha256: $(sha256sum "$1/$name" | cut -d ' ' -f 1)
    bin: kubectl-kusion
    files:
    - from: ${name%.tar.gz}/kubectl-kusion
      to: .
    - from: ${name%.tar.gz}/LICENSE
      to: .
    - from: ${name%.tar.gz}/NOTICE
      to: .
PLATFORM
    done
}

# _man_pages_are_valid ARCHIVE: groff has nothing to say of them.
_man_pages_are_valid() {
    local work page said
    work=$(mktemp -d)
    defer rm -rf "$work"
    tar -xzf "$1" -C "$work" --strip-components=1
    for page in "$work"/man/*.1; do
        said=$(LC_ALL=C.UTF-8 MANROFFSEQ='' MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 -Z "$page" 2>&1 >/dev/null)
        [[ -z $said ]] || die "${page##*/}: $said"
    done
}

# What lintian is not to say: the program is static on purpose, with its libraries inside, kubectl alone calls the
# completion, and the notice of the libraries has the licences in full, as in the archive.
_LINTIAN_MEANT='statically-linked-binary
shared-library-lacks-prerequisites
embedded-library
no-manual-page
copyright-file-contains-full-apache-2-license
copyright-file-contains-full-gfdl-license
copyright-file-contains-full-gpl-license'

# release_is_valid FOLDER: what the tools of Debian, of man pages and of krew say of the files of the CLI.
release_is_valid() {
    local work archive
    debian_install lintian man-db
    (cd "$1" && sha256sum --check --quiet --strict SHA256SUMS) || die "SHA256SUMS: a file is another one"
    lintian --allow-root --fail-on error,warning --suppress-tags "$(paste -sd, <<<"$_LINTIAN_MEANT")" "$1"/*.deb ||
        die "lintian refuses the Debian package"
    for archive in "$1"/kubectl-kusion_*.tar.gz; do
        _man_pages_are_valid "$archive"
    done
    work=$(mktemp -d)
    defer rm -rf "$work"
    env -u GOFLAGS CGO_ENABLED=0 GOWORK=off GOBIN="$work" "$GO" install "sigs.k8s.io/krew/cmd/validate-krew-manifest@$_KREW" ||
        die "cannot build krew's validator"
    "$work/validate-krew-manifest" -manifest "$1/kusion.yaml" -skip-install || die "krew refuses kusion.yaml"
}
