"""Makes archives of providers in a folder, good and bad ones, for test_package.c: packages.py FOLDER.

Prints a line for each good one: its name, its h1, and its SHA-256.
"""

import base64
import hashlib
import io
import pathlib
import stat
import sys
import zipfile

PROGRAM = "terraform-provider-random_v3.6.0"
SCRIPT = b"#!/bin/sh\nexit 1\n"


def h1(files):
    """What Go's golang.org/x/mod/sumdb/dirhash makes of them."""
    lines = "".join(f"{hashlib.sha256(files[name]).hexdigest()}  {name}\n" for name in sorted(files))
    return "h1:" + base64.b64encode(hashlib.sha256(lines.encode()).digest()).decode()


def entry(name, mode=stat.S_IFREG | 0o644, system=3, method=zipfile.ZIP_DEFLATED):
    info = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
    info.create_system = system
    info.external_attr = (mode << 16) if system == 3 else 0
    info.compress_type = method
    return info


def program(name=PROGRAM, **more):
    return entry(name, stat.S_IFREG | 0o755, **more)


class Pipe(io.RawIOBase):
    """Cannot be sought: sizes come after the data, as Go writes them."""

    def __init__(self):
        self.data = b""

    def writable(self):
        return True

    def write(self, data):
        self.data += bytes(data)
        return len(data)


def pack(*entries, into=None):
    """Pairs of an entry (or a path) and its bytes."""
    file = into or io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for info, data in entries:
            archive.writestr(info if isinstance(info, zipfile.ZipInfo) else entry(info), data)
    return file.data if into else file.getvalue()


def provider(script=SCRIPT):
    return pack((program(), script), ("LICENSE", b"none"))


def patched(data, offset_in_local, offset_in_central, value):
    """The fields of the first entry's two headers."""
    data = bytearray(data)
    central = data.index(b"PK\x01\x02")
    for at in (offset_in_local, central + offset_in_central):
        data[at:at + len(value)] = value
    return bytes(data)


FILES = {PROGRAM: SCRIPT, "LICENSE": b"none", "docs/a/b.md": b"b" * 100_000, "docs/a.md": b""}


def good():
    some = [(program() if name == PROGRAM else name, data) for name, data in FILES.items()]
    folders = [(entry("docs/", stat.S_IFDIR | 0o755), b""), (entry("empty/", stat.S_IFDIR | 0o755), b"")]
    yield "good", pack(*some)
    yield "streamed", pack(*some, into=Pipe())
    yield "stored", pack(*((program(method=0) if name == PROGRAM else entry(name, method=0), data)
                           for name, data in FILES.items()))
    yield "without-modes", pack(*((entry(name, system=0), data) for name, data in FILES.items()))
    yield "with-folders", pack(*folders, *some)


def bad():
    whole = pack((program(), SCRIPT * 1000))
    yield "truncated", whole[:-30]
    yield "cut-in-half", whole[:len(whole) // 2]
    yield "no-archive", b"<html>not found</html>"
    yield "nothing", b""
    yield "no-files", pack()
    yield "bomb", pack((program(), b"\0" * (8 << 20)))
    yield "many-files", pack(*((f"f{i}", b"") for i in range(10001)))
    yield "other-sum", pack((program(method=0), SCRIPT)).replace(SCRIPT, SCRIPT.replace(b"1", b"2"))
    yield "other-size", patched(pack((program(), SCRIPT * 1000)), 22, 24, b"\x05\0\0\0")
    yield "encrypted", patched(provider(), 6, 8, b"\x01\x00")
    yield "bzip2", pack((program(method=zipfile.ZIP_BZIP2), SCRIPT))
    yield "up", pack(("../evil", b""))
    yield "up-inside", pack(("a/../../evil", b""))
    yield "dots", pack(("a/..", b""))
    yield "absolute", pack(("/tmp/kusion-evil", b""))
    yield "here", pack(("./evil", b""))
    yield "slashes", pack(("a//evil", b""))
    yield "backslashes", pack(("a__evil", b"")).replace(b"a__evil", b"a\\\\evil")
    yield "newline", pack(("a\nevil", b""))
    yield "deep", pack(("/".join("a" * 20), b""))
    yield "up-folder", pack((entry("../", stat.S_IFDIR | 0o755), b""))
    yield "link", pack((entry("l", stat.S_IFLNK | 0o777), b"/etc"), ("l/evil", b""))
    yield "device", pack((entry("d", stat.S_IFCHR | 0o666), b""))
    yield "twice", pack(("a", b"1"), ("b", b"1")).replace(b"b", b"a")
    yield "file-as-folder", pack(("a", b"1"), ("a/b", b"1"))
    yield "no-program", pack(("LICENSE", b""), (program("terraform-provider-randomly"), b""))
    yield "not-executable", pack((entry(PROGRAM), SCRIPT))
    yield "two-programs", pack((program(), SCRIPT), (program("terraform-provider-random_v3.6.1"), SCRIPT))


def main(folder):
    for name, data in good():
        (folder / f"{name}.zip").write_bytes(data)
        print(name, h1(FILES), hashlib.sha256(data).hexdigest())
    for name, data in bad():
        (folder / f"{name}.zip").write_bytes(data)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
