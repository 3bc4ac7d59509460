# shellcheck shell=bash
# The benchmark is _http.py: beside it, a file http.py would be taken for Python's own module.
exec /usr/bin/python3 "$(dirname "${BASH_SOURCE[0]}")/_http.py"
