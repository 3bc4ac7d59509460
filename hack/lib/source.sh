# shellcheck shell=bash
# Static libraries from the sources of Debian's own packages, kept in the cache. For another
# architecture, CMAKE_TOOLCHAIN_FILE in the environment names it (cmake/arm64.cmake). To be sourced
# after common.sh.

case ${CMAKE_TOOLCHAIN_FILE:-$(uname -m)} in
*arm64* | aarch64) _ARCH=arm64 _BRANCHES=-mbranch-protection=standard ;;
*) _ARCH=amd64 _BRANCHES=-fcf-protection ;;
esac
_KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg
# These libraries parse what comes from the network: the hardening of our own code
# (cmake/options.cmake).
# shellcheck disable=SC2034 # those who source this use it
SOURCE_HARDENING="-D_FORTIFY_SOURCE=2 -fstack-protector-strong -fstack-clash-protection $_BRANCHES"

# source_select NAME PACKAGE OPTION…: the functions below are about the library NAME, of the version
# that the installed PACKAGE has, built with these options. Sets FOLDER and VERSION.
source_select() {
    _library=$1
    read -r _source VERSION < <(dpkg-query --show --showformat '${source:Package} ${Version}\n' "$2:$_ARCH" 2>/dev/null) ||
        die "run hack/deps first"
    # Named by the version of the installed package and by the options: a security update of the
    # package makes this one be built anew, as other options do.
    FOLDER=$CACHE/tools/$1-${VERSION//[^0-9A-Za-z.+-]/_}-$_ARCH-$(sha256sum <<<"${*:3}" | head -c 8)
}

# _source_download OPTION…: the source of the package's version. A mirror may have a package's new version
# before its source: then the newest source that it has, and $FOLDER/version says which.
_source_download() {
    local version
    for version in "$VERSION" $(apt-cache "$@" showsrc "$_source" | sed -n 's/^Version: //p' | sort --version-sort -r); do
        apt-get "$@" source --download-only "$_source=$version" || continue
        mkdir -p "$FOLDER" && printf '%s\n' "$version" >"$FOLDER/version"
        return
    done
    return 1
}

# _source_fetch: the package's source into ./source, from where Debian's packages come from. apt
# checks it against the archive's signature.
_source_fetch() {
    local options=(-o "Dir::Etc::sourcelist=$PWD/sources.list" -o Dir::Etc::sourceparts=/dev/null
        -o "Dir::State::lists=$PWD/lists" -o "Dir::Cache=$PWD/cache" -o APT::Sandbox::User=)

    mkdir -p lists/partial cache &&
        apt-get indextargets 'Created-By: Packages' 'Origin: Debian' \
            --format "deb-src [signed-by=$_KEYRING] \$(REPO_URI) \$(RELEASE) \$(COMPONENT)" |
        sort -u >sources.list &&
        apt-get "${options[@]}" update &&
        _source_download "${options[@]}" &&
        dpkg-source --no-check -x "$_source"_*.dsc source
}

# source_is_hardened FILE: whether a static library was built with the hardening.
source_is_hardened() {
    local symbols
    if symbols=$(nm "$1" 2>/dev/null) &&
        grep -q __stack_chk_fail <<<"$symbols" && grep -q '__[a-z]*_chk$' <<<"$symbols"; then
        return
    fi
    echo "$1 was built without its hardening"
    return 1
}

# source_ensure WHAT BUILD: unless it is there, fetches the source and calls BUILD beside it, which
# fills FOLDER. Whoever finds the file `complete` finds all of it. WHAT is for people.
source_ensure() {
    local work lock log=$CACHE/tools/$_library.log
    [[ ! -e $FOLDER/complete ]] || return 0
    lock_take "$CACHE/tools/$_library.lock" lock
    [[ ! -e $FOLDER/complete ]] || return 0
    say "$_library: building $VERSION $1, from Debian's source"
    rm -rf "$FOLDER"
    # A fixed name: paths of the sources are in debug information, and so in the identity of what is linked.
    work=$CACHE/tools/$_library.work
    rm -rf "$work"
    mkdir -p "$work"
    defer rm -rf "$work"
    if ! (exec {lock}>&- && cd "$work" && _source_fetch && "$2" && touch "$FOLDER/complete") >"$log" 2>&1; then
        tail -n 20 "$log" >&2
        die "$_library: could not be built; all of the output is in $log"
    fi
    [[ $(<"$FOLDER/version") == "$VERSION" ]] ||
        warn "$_library: the source of $VERSION is not to be had, so this is $(<"$FOLDER/version")"
}
