# shellcheck shell=bash
# Images without a daemon: buildah, as root, with a storage of our own. To be sourced after debian.sh.

IMAGES=$CACHE/images
BASE=docker.io/library/debian:12-slim # as in the Dockerfile
PULL_PATIENCE=20                      # seconds for a registry that may not be there

image_buildah() {
    _as_root buildah --root "$IMAGES/storage" --runroot "$IMAGES/run" "$@"
}

_image_is_there() { # NAME
    [[ -n $(image_buildah images --quiet "$1" 2>/dev/null) ]]
}

# Where the host has its packages from; Debian's own address where that is not known.
_debian_mirror() {
    local mirrors
    # shellcheck disable=SC2016 # apt's variable
    mirrors=$(apt-get indextargets 'Created-By: Packages' 'Origin: Debian' 'Codename: bookworm' \
        --format '$(REPO_URI)')
    printf '%s\n' "${mirrors:-http://deb.debian.org/debian}" | sed -n 1p
}

# _debian_bootstrap FOLDER: a Debian 12 with apt alone.
_debian_bootstrap() {
    local folder=$1 mirror log
    mirror=$(_debian_mirror)
    log=$(mktemp)
    defer rm -f "$log"
    _as_root debootstrap --variant=minbase bookworm "$folder" "$mirror" \
        >"$log" 2>&1 || { tail -n 20 "$log" >&2 && die "debootstrap failed: the end of its output is above"; }
    _as_root rm -f "$folder/etc/apt/sources.list" # debootstrap's, beside the host's own
    _as_root cp -r /etc/apt/. "$folder/etc/apt/"
    _as_root rm -rf "$folder"/var/cache/apt/archives/*.deb "$folder/var/lib/apt/lists"
    _as_root mkdir -p "$folder/var/lib/apt/lists/partial"
}

# image_base: BASE from its registry, or, where none is reached, a Debian made here under its name.
image_base() {
    local folder container
    ! _image_is_there "$BASE" || return 0
    if timeout "$PULL_PATIENCE" "$(command -v buildah)" --root "$IMAGES/storage" --runroot "$IMAGES/run" \
        pull --quiet "$BASE" >/dev/null 2>&1; then
        return
    fi
    say "no registry has $BASE: making a Debian 12 with debootstrap, under its name (1 min)"
    debian_install debootstrap
    folder=$(mktemp -d)
    defer _as_root rm -rf "$folder"
    _debian_bootstrap "$folder"
    container=$(image_buildah from scratch)
    image_buildah add --quiet "$container" "$folder" / >/dev/null
    image_buildah config --env PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        --cmd bash "$container"
    image_buildah commit --quiet --rm "$container" "$BASE" >/dev/null
}

# image_build ARCH LOG OPTION…: builds from the Dockerfile, on BASE. With SOURCE_DATE_EPOCH, two builds have the
# same bytes.
image_build() {
    # buildah knows BUILDPLATFORM too late to choose the base by it.
    local log=$2 options=(--build-arg "BASE=$BASE" --platform "linux/$1"
        --build-arg "BUILDPLATFORM=linux/$(dpkg --print-architecture)")
    [[ -z ${SOURCE_DATE_EPOCH:-} ]] ||
        options+=(--timestamp "$SOURCE_DATE_EPOCH" --build-arg "SOURCE_DATE_EPOCH=$SOURCE_DATE_EPOCH")
    mkdir -p "$(dirname "$log")"
    image_buildah build --isolation chroot --layers "${options[@]}" "${@:3}" "$ROOT" >"$log" 2>&1 || {
        tail -n 30 "$log" >&2
        die "the build failed: the end of its log is above"
    }
}
