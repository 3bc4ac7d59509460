"""Real servers that keep State (hack/stores), and what is in them."""

import contextlib
import os
import re
import shlex
import shutil
import subprocess
import zlib
from pathlib import Path

import pytest

from kusion_e2e.paths import ROOT

STORES = ROOT / "hack/stores"


def _stores(*arguments):
    return subprocess.run([STORES, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=400, check=False)


class Servers:
    """A set of them, of this run, which goes with it. Each is started when it is first asked for."""

    def __init__(self, name):
        self.name = name
        self.there = {}
        self.count = 0

    def get(self, kind):
        """Skips the test where it cannot be had here."""
        if kind not in self.there:
            can = _stores("can", kind)
            if can.returncode != 0:
                pytest.skip(f"{kind}: {can.stderr.strip()}")
            self.do("up", kind)
            self.there[kind] = KINDS[kind](self, kind)
        return self.there[kind]

    def do(self, verb, kind):
        done = _stores(verb, self.name, kind)
        assert done.returncode == 0, done.stderr

    def environment(self):
        words = shlex.split(_stores("env", self.name).stdout)
        return dict(word.split("=", 1) for word in words if "=" in word)

    def new_name(self):
        self.count += 1
        return f"place{self.count}"

    def down(self):
        _stores("down", self.name)


class Server:
    """One that is up."""

    NAME = None  # as which `hack/stores env` says where it is

    def __init__(self, servers, kind):
        self.servers, self.kind = servers, kind
        environment = servers.environment()
        self.place, self.admin = environment[self.NAME], environment.get(f"{self.NAME}_ADMIN")
        self.folder = Path(environment[f"{self.NAME}_FOLDER"])

    def kill(self):
        self.servers.do("kill", self.kind)

    def run(self):
        self.servers.do("run", self.kind)

    def content(self, place):
        """All that is kept there, names and contents, as text."""
        raise NotImplementedError

    def empty(self, place):
        """While the server runs. All of it comes back by restore()."""
        raise NotImplementedError

    def restore(self, place):
        raise NotImplementedError

    def back_up(self, place, to):
        """While no operator runs, as docs/backup.md says. to: a path that is not there yet."""
        raise NotImplementedError

    def put_back(self, place, backup):
        raise NotImplementedError


def _readable(content):
    """As text, with what is compressed in it."""
    found = [content]
    for start in (one.start() for one in re.finditer(b"\x1f\x8b\x08", content)):
        try:
            found.append(zlib.decompressobj(wbits=31).decompress(content[start:]))
        except zlib.error:
            pass  # sealed bytes that look like it
    return b"\n".join(found).decode(errors="replace")


def _files(folder):
    found = b""
    for path in sorted(folder.rglob("*")):
        found += f"{path}\n".encode()
        with contextlib.suppress(FileNotFoundError, IsADirectoryError):  # what an operator removes meanwhile
            found += path.read_bytes() + b"\n"
    return _readable(found)


class Folders(Server):
    """A place is a folder of the server's."""

    def folder_of(self, place):
        return self.folder / "data" / re.search(r"/(place[0-9]+)\?", place).group(1)

    def content(self, place):
        return _files(self.folder_of(place))

    def empty(self, place):
        folder = self.folder_of(place)
        folder.rename(f"{folder}-away")
        _make_folder(folder, like=f"{folder}-away")

    def restore(self, place):
        folder = self.folder_of(place)
        shutil.rmtree(folder)
        Path(f"{folder}-away").rename(folder)

    def back_up(self, place, to):
        subprocess.run(["cp", "-a", self.folder_of(place), to], check=True)

    def put_back(self, place, backup):
        shutil.rmtree(self.folder_of(place))
        subprocess.run(["cp", "-a", backup, self.folder_of(place)], check=True)


def _make_folder(folder, like):
    status = os.stat(like)
    folder.mkdir()
    shutil.copymode(like, folder)
    os.chown(folder, status.st_uid, status.st_gid)


class Postgres(Server):
    """A place is a database."""

    NAME = "KUSION_TEST_POSTGRES"

    def new_place(self):
        name = self.servers.new_name()
        self._run("psql", f"--command=CREATE DATABASE {name} OWNER kusion", self.admin)
        return self.place.replace("/kusion?", f"/{name}?")

    def content(self, place):
        text = self._run("pg_dump", self._database(place))
        binary = [bytes.fromhex(one) for one in re.findall(r"\\x((?:[0-9a-f]{2})+)", text)]
        return text + "\n".join(map(_readable, binary))

    def empty(self, place):
        self._run("psql", "--command=ALTER SCHEMA kusion RENAME TO away", self._database(place))

    def restore(self, place):
        self._run("psql", "--command=ALTER SCHEMA away RENAME TO kusion", self._database(place))

    def back_up(self, place, to):
        self._run("pg_dump", "--schema=kusion", f"--file={to}", self._database(place))

    def put_back(self, place, backup):
        self._run("psql", "--command=DROP SCHEMA kusion CASCADE", f"--file={backup}", "--set=ON_ERROR_STOP=1",
                  self._database(place))

    def _database(self, place):
        name = re.search(r"/(place[0-9]+)\?", place).group(1)
        return self.admin.replace("dbname=kusion", f"dbname={name}")

    def _run(self, program, *arguments):
        """Its own, which may be unpacked in a folder of their own."""
        script = f'''source hack/lib/common.sh; source hack/lib/server.sh; source hack/lib/stores/postgres.sh
program=$(_postgres_program {program}); server_libraries postgresql-15; "$program" "$@"'''
        options = ["--no-psqlrc", "--quiet"] if program == "psql" else []
        return subprocess.run(["bash", "-c", script, "bash", *options, *arguments], cwd=ROOT, check=True,
                              stdout=subprocess.PIPE, text=True, timeout=60).stdout


class Bucket(Folders):
    """A place is a prefix."""

    NAME = "KUSION_TEST_S3"

    def new_place(self):
        return self.place.replace("/test?", f"/{self.servers.new_name()}?")

    def folder_of(self, place):
        return self.folder / "data/kusion" / super().folder_of(place).name


class WebDav(Folders):
    def new_place(self):
        name = self.servers.new_name()
        _make_folder(self.folder / "data" / name, like=self.folder / "data/state")
        return self.place.replace("/state?", f"/{name}?")


class Apache(WebDav):
    NAME = "KUSION_TEST_APACHE"


class Nginx(WebDav):
    NAME = "KUSION_TEST_NGINX"


KINDS = {"postgres": Postgres, "s3": Bucket, "apache": Apache, "nginx": Nginx}
