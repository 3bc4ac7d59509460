"""Packaging of the CLI (hack/lib/release.sh), with a program that is given, and what is said of the libraries in it
(hack/notice): nothing is compiled."""

import gzip
import hashlib
import json
import os
import subprocess
import tarfile
from email import message_from_string
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
EPOCH = 1_700_000_000
SHELLS = ["bash", "zsh", "fish", "kubectl"]

PROGRAM = """#!/bin/sh
case $1 in
__man) for page in kubectl-kusion kubectl-kusion-status; do echo ".TH $page" >"$2/$page.1"; done ;;
completion) echo "# $2" ;;
esac
"""
MAKE = """
set -euo pipefail
source hack/lib/common.sh
source hack/lib/release.sh
VERSION=1.2.3
MAINTAINER="A B <a@example.com>"
cli_documents "$1/program" "$2/documents"
mkdir "$2/out"
for arch in amd64 arm64; do
    cli_archive $arch "$1/program" "$1/notice" "$1/license" "$2/documents" "$2/out"
    cli_deb $arch "$1/program" "$1/notice" "$2/documents" "$2/out"
done
krew_manifest "$2/out" amd64 arm64 >"$2/out/kusion.yaml"
"""
NAMES = {f"kubectl-kusion_1.2.3_{arch}" for arch in ("linux_amd64.tar.gz", "linux_arm64.tar.gz", "amd64.deb", "arm64.deb")}


def make(given, folder, umask):
    folder.mkdir()
    subprocess.run(["bash", "-c", f"umask {umask}\n{MAKE}", "make", given, folder], cwd=ROOT, check=True,
                   env={**os.environ, "SOURCE_DATE_EPOCH": str(EPOCH)})
    return folder / "out"


@pytest.fixture(name="given", scope="module")
def fixture_given(tmp_path_factory):
    folder = tmp_path_factory.mktemp("given")
    (folder / "program").write_text(PROGRAM)
    (folder / "program").chmod(0o700)
    (folder / "notice").write_text("libcurl\n")
    (folder / "license").write_text("Apache\n")
    return folder


@pytest.fixture(name="made", scope="module")
def fixture_made(given, tmp_path_factory):
    return make(given, tmp_path_factory.mktemp("made") / "once", "022")


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_made_by_another_user_at_another_time_the_bytes_are_equal(given, made, tmp_path):
    again = make(given, tmp_path / "again", "077")
    assert {path.name for path in made.iterdir()} == NAMES | {"kusion.yaml"}
    assert {path.name: sha256(path) for path in made.iterdir()} == {path.name: sha256(path) for path in again.iterdir()}


def test_the_archive(made):
    folder = "kubectl-kusion_1.2.3_linux_arm64"
    with tarfile.open(made / f"{folder}.tar.gz") as archive:
        members = {m.name.removeprefix(f"{folder}/"): m for m in archive if m.isfile()}
        assert set(members) == {
            "kubectl-kusion", "LICENSE", "NOTICE", "man/kubectl-kusion.1", "man/kubectl-kusion-status.1",
            "completions/kubectl-kusion.bash", "completions/_kubectl_kusion", "completions/kubectl-kusion.fish",
            "completions/kubectl_complete-kusion"}
        assert {name for name, m in members.items() if m.mode == 0o755} == {
            "kubectl-kusion", "completions/kubectl_complete-kusion"}
        assert {(m.uid, m.gid, m.mtime) for m in members.values()} == {(0, 0, EPOCH)}
        assert archive.extractfile(members["kubectl-kusion"]).read().decode() == PROGRAM
        assert archive.extractfile(members["completions/_kubectl_kusion"]).read() == b"# zsh\n"


def test_the_debian_package(made, tmp_path):
    deb = made / "kubectl-kusion_1.2.3_amd64.deb"
    subprocess.run(["dpkg-deb", "--raw-extract", deb, tmp_path / "root"], check=True)
    files = {str(path.relative_to(tmp_path / "root")) for path in (tmp_path / "root").rglob("*") if path.is_file()}
    assert files == {
        "DEBIAN/control", "DEBIAN/md5sums", "usr/bin/kubectl-kusion", "usr/bin/kubectl_complete-kusion",
        "usr/share/man/man1/kubectl-kusion.1.gz", "usr/share/man/man1/kubectl-kusion-status.1.gz",
        "usr/share/bash-completion/completions/kubectl-kusion", "usr/share/zsh/vendor-completions/_kubectl_kusion",
        "usr/share/fish/vendor_completions.d/kubectl-kusion.fish", "usr/share/doc/kubectl-kusion/copyright",
        "usr/share/doc/kubectl-kusion/changelog.gz"}
    rights = (tmp_path / "root/usr/share/doc/kubectl-kusion/copyright").read_text()
    assert "/usr/share/common-licenses/Apache-2.0" in rights and rights.endswith("\nlibcurl\n")
    assert (tmp_path / "root/usr/share/bash-completion/completions/kubectl-kusion").read_text() == "# bash\n"
    subprocess.run(["md5sum", "--check", "--quiet", "DEBIAN/md5sums"], cwd=tmp_path / "root", check=True)
    control = message_from_string((tmp_path / "root/DEBIAN/control").read_text())
    assert (control["Package"], control["Version"], control["Architecture"]) == ("kubectl-kusion", "1.2.3", "amd64")
    assert "Depends" not in control and control["Maintainer"] == "A B <a@example.com>"
    changes = gzip.decompress((tmp_path / "root/usr/share/doc/kubectl-kusion/changelog.gz").read_bytes()).decode()
    assert changes.startswith("kubectl-kusion (1.2.3) ")
    assert changes.endswith(" -- A B <a@example.com>  Tue, 14 Nov 2023 22:13:20 +0000\n")
    owners = subprocess.run(["dpkg-deb", "--contents", deb], check=True, capture_output=True, text=True).stdout
    assert {line.split()[1] for line in owners.splitlines()} == {"root/root"}


def test_the_manifest_for_krew(made):
    manifest = yaml.safe_load((made / "kusion.yaml").read_text())
    assert manifest["apiVersion"] == "krew.googlecontainertools.github.com/v1alpha2" and manifest["kind"] == "Plugin"
    assert manifest["metadata"]["name"] == "kusion" and manifest["spec"]["version"] == "v1.2.3"
    assert len(manifest["spec"]["shortDescription"]) < 50
    platforms = manifest["spec"]["platforms"]
    assert [one["selector"]["matchLabels"]["arch"] for one in platforms] == ["amd64", "arm64"]
    for one in platforms:
        archive = made / one["uri"].rsplit("/", 1)[1]
        assert one["sha256"] == sha256(archive) and one["bin"] == "kubectl-kusion"
        with tarfile.open(archive) as tar:
            assert {file["from"] for file in one["files"]} <= set(tar.getnames())


def library(name):
    return next(Path("/usr/lib").glob(f"*/{name}.a"))


def test_the_notice_has_what_the_linker_took_a_part_of(tmp_path):
    yaml_archive, unused = library("libyaml"), library("libz")
    (tmp_path / "tool.map").write_text(
        "Archive member included to satisfy reference by file (symbol)\n\n"
        "libours.a(a.c.o)              main.c.o (ours)\n"
        f"{yaml_archive}(api.o)\n                              libours.a(a.c.o) (yaml_parser_load)\n"
        f"\nLOAD {yaml_archive}\nLOAD {unused}\n")
    subprocess.run([ROOT / "hack/notice", tmp_path / "tool.map", tmp_path], check=True,
                   env={**os.environ, "SOURCE_DATE_EPOCH": str(EPOCH)})
    notice = (tmp_path / "NOTICE").read_text()
    assert Path("/usr/share/doc/libyaml-dev/copyright").read_text() in notice and "zlib" not in notice
    listed = json.loads((tmp_path / "tool.spdx.json").read_text())
    assert listed["name"] == "tool" and listed["creationInfo"]["created"] == "2023-11-14T22:13:20Z"
    assert [package["name"] for package in listed["packages"]] == ["tool", "libyaml-dev"]


def test_of_a_map_without_archives_no_notice_is_made(tmp_path):
    (tmp_path / "tool.map").write_text("libours.a(a.c.o)  main.c.o (ours)\n")
    done = subprocess.run([ROOT / "hack/notice", tmp_path / "tool.map", tmp_path], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "names no archive" in done.stderr
    assert not (tmp_path / "NOTICE").exists()


def test_archives_of_the_cli_have_all_that_they_need(tmp_path):
    """Libraries of which there are only archives do not name what they need themselves. The whole of each is linked, in
    the order that CMake has, so that nothing of this tree has to be compiled."""
    curl = subprocess.run([ROOT / "hack/libcurl"], check=True, capture_output=True, text=True).stdout.strip()
    subprocess.run(["cmake", "--preset", "cli", "-B", tmp_path, f"-DKUSION_LIBCURL={curl}"], cwd=ROOT, check=True,
                   capture_output=True)
    commands = subprocess.run(["ninja", "-C", tmp_path, "-t", "commands", "kubectl-kusion"], check=True,
                              capture_output=True, text=True).stdout.splitlines()
    libraries = [one for one in commands[-1].split() if one.startswith("-l") or one[0] == "/" and one.endswith(".a")]
    assert any("libcurl" in one for one in libraries) and not any(".so" in one for one in commands[-1].split()), commands[-1]
    (tmp_path / "main.c").write_text("int main(void) { return 0; }\n")
    said = subprocess.run(["cc", "-static-pie", tmp_path / "main.c", "-o", tmp_path / "main", "-Wl,--whole-archive",
                           *libraries, "-Wl,--no-whole-archive"], capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stderr
