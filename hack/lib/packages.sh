# shellcheck shell=bash
# Which packages of Debian files are from. To be sourced after common.sh.

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
