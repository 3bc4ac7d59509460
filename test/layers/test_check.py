"""Whether test/layers/check, and CMake, fail when they should: on a small project of three
layers, which is right until a test breaks it."""

import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]

CMAKE = """
cmake_minimum_required(VERSION 3.25)
project(small LANGUAGES C)
include(cmake/layers.cmake)
find_package(PkgConfig REQUIRED)
pkg_check_modules(YAJL REQUIRED IMPORTED_TARGET yajl)
pkg_check_modules(CRYPTO REQUIRED IMPORTED_TARGET libcrypto)
pkg_check_modules(CURL REQUIRED IMPORTED_TARGET libcurl)
layer(engine/base  USES PkgConfig::CRYPTO)
layer(engine/value USES engine/base PkgConfig::YAJL)
layer(engine/plan  USES engine/base)
layer(runtimes/io  USES engine/base PkgConfig::CURL)
program(small controller USES runtimes/io)
"""

FILES = {
    "engine/base/str.h": "int str_length(const char *s);\n",
    "engine/base/str.c": '#include "engine/base/str.h"\n#include <string.h>\n'
                         "int str_length(const char *s) { return (int)strlen(s); }\n",
    "engine/value/json.c": "#include <yajl/yajl_parse.h>\n"
                          "void *json(void) { return yajl_alloc(0, 0, 0); }\n",
    "engine/runtime.h": '#include "engine/base/str.h"\n',
    "engine/plan/plan.h": "int plan(void);\n",
    "engine/plan/plan.c": '#include "engine/runtime.h"\n#include <stdio.h>\n'
                          'int plan(void) { fprintf(stderr, "x"); return str_length("a"); }\n',
    "runtimes/io/http.h": "#include <curl/curl.h>\n",
    "controller/main.c": '#include "runtimes/io/http.h"\n#include "engine/base/str.h"\n',
    "test/unit/engine/plan/test_plan.c": '#include "test/unit/suite.h"\n#include "engine/base/str.h"\n',
    "test/unit/suite.h": "",
}


class Project:
    def __init__(self, root):
        self.root = root
        self.build = root / "build/debug"
        self.build.mkdir(parents=True)
        shutil.copytree(ROOT / "cmake", root / "cmake")
        self.write("CMakeLists.txt", CMAKE)
        # What _our_sources() in cmake/layers.cmake includes everywhere.
        self.write("engine/base/banned.h", "")
        for path, text in FILES.items():
            self.write(path, text)

    def write(self, path, text):
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def append(self, path, text):
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        with (self.root / path).open("a") as file:
            file.write(text)

    def compile(self):
        for layer in ("engine/base", "engine/value", "engine/plan"):
            objects = []
            for source in sorted((self.root / layer).glob("*.c")):
                objects.append(str(source.with_suffix(".o")))
                subprocess.run(["gcc", "-Og", "-g", "-D_GNU_SOURCE", "-w", "-fsanitize=address,undefined",
                                f"-I{self.root}", "-c", str(source), "-o", objects[-1]], check=True)
            archive = self.build / f"lib{layer.replace('/', '_')}.a"
            archive.unlink(missing_ok=True)
            subprocess.run(["ar", "rc", str(archive), *objects], check=True)

    def check(self):
        result = subprocess.run([str(ROOT / "test/layers/check"), "--root", str(self.root)],
                                capture_output=True, text=True)
        assert result.stderr == ""
        return result.returncode, result.stdout


@pytest.fixture(name="project")
def fixture_project(tmp_path):
    return Project(tmp_path)


def test_accepts_what_is_right(project):
    project.compile()
    assert project.check() == (0, "tests: 15 passed, 0 failed\n")


@pytest.mark.parametrize("path, text, message", [
    ("engine/base/str.h", '#include "engine/plan/plan.h"\n',
     'engine/base/str.h: "engine/plan/plan.h" is of engine/plan, which engine/base does not use'),
    ("engine/plan/plan.c", '# include "runtimes/io/http.h"\n', "is of runtimes/io, which engine/plan does not use"),
    ("runtimes/io/http.h", '#include "engine/plan/plan.h"\n', "is of engine/plan, which runtimes/io does not use"),
    ("engine/runtime.h", '#include "runtimes/io/http.h"\n', "is of runtimes/io, which engine/plan does not use"),
    ("test/unit/engine/plan/test_plan.c", '#include "runtimes/io/http.h"\n',
     "is of runtimes/io, which engine/plan does not use"),
    ("engine/plan/plan.c", '#include "plan.h"\n', '"plan.h" is no path from the root'),
    ("engine/plan/plan.c", "#include <yajl/yajl_gen.h>\n", "<yajl/yajl_gen.h> is only for engine/value/json*"),
    ("engine/base/str.c", "#include <yajl/yajl_gen.h>\n", "<yajl/yajl_gen.h> is only for engine/value/json*"),
    ("engine/base/str.c", "#include <curl/curl.h>\n", "<curl/curl.h> is only for runtimes/io/*"),
    ("controller/main.c", "#include <libwebsockets.h>\n", "<libwebsockets.h> is only for controller/serve/*"),
    ("engine/plan/plan.c", "#include <openssl/evp.h>\n", "engine/plan does not name that library"),
    ("engine/base/str.c", "#include <zlib.h>\n", "engine/base does not name that library"),
    ("engine/stray/x.c", "int x;\n", "engine/stray/x.c belongs to no layer"),
])
def test_finds_a_wrong_include(project, path, text, message):
    project.append(path, text)
    status, output = project.check()
    assert status == 1
    assert message in output


@pytest.mark.parametrize("includes, circle", [
    ([("http.h", "loop.h"), ("loop.h", "http.h")], ["http", "loop"]),
    ([("http.c", "loop.h"), ("loop.c", "http.h")], ["http", "loop"]),
    ([("http.h", "loop.h"), ("loop.h", "call.h"), ("call.c", "http.h"), ("use.c", "call.h"), ("loop.h", "url.h")],
     ["call", "http", "loop"]),
    ([("http.h", "loop.h"), ("call.c", "loop.h"), ("call.h", "http.h")], None),
    ([("http.c", "http_private.h"), ("http_private.h", "http.h"), ("http_do.c", "http_private.h")], None),
    ([("private.h", "http.h"), ("http.c", "private.h"), ("loop.c", "private.h"), ("private.h", "loop.h")], None),
])
def test_finds_circles_of_modules(project, includes, circle):
    for path, header in includes:
        (project.root / "runtimes/io" / header).touch()
        project.append(f"runtimes/io/{path}", f'#include "runtimes/io/{header}"\n')
    output = project.check()[1]
    if circle:
        names = ", ".join(f"runtimes/io/{module}" for module in circle)
        assert f"circles of runtimes/io: these include each other: {names}\n" in output
    else:
        assert "include each other" not in output


@pytest.mark.parametrize("header, is_circle", [("up/up.h", True), ("base.h", False)])
def test_finds_circles_of_subfolders(project, header, is_circle):
    """Those of their sources too, which are in no circle of modules; what is beside the folders is no part."""
    for path, used in (("up/call.c", "down/down.h"), ("down/find.c", header), ("main.c", "up/up.h"), ("up/up.c", "base.h")):
        (project.root / "runtimes/io" / pathlib.Path(path).parent).mkdir(parents=True, exist_ok=True)
        project.append(f"runtimes/io/{path}", f'#include "runtimes/io/{used}"\n')
    for used in ("up/up.h", "down/down.h", "base.h"):
        project.append(f"runtimes/io/{used}", "")
    circle = "circles of runtimes/io: these include each other: runtimes/io/down, runtimes/io/up\n"
    assert (circle in project.check()[1]) == is_circle


@pytest.mark.parametrize("line, word", [
    ('const char *kind = "Namespace";', "Namespace"),
    ("/* of Namespaces */", "Namespaces"),
    ('const char *kind = "CustomResourceDefinition";', "CustomResourceDefinition"),
    ('const char *kind = "Deployment";', "Deployment"),
    ('const char *kind = "StatefulSet";', "StatefulSet"),
    ('const char *kind = "ServiceAccount";', "ServiceAccount"),
    ("/* as a ConfigMap has it */", "ConfigMap"),
    ("// a Secret's data", "Secret"),
    ('const char *kind = "Service";', "Service"),
    ('const char *kind = "ClusterRoleBinding";', "ClusterRoleBinding"),
    ('const char *kind = "RoleBinding";', "RoleBinding"),
    ("/* of CRDs */", "CRDs"),
    ('const char *group = "apiextensions.k8s.io";', "apiextensions.k8s.io"),
    ('const char *group = "rbac.authorization.k8s.io/v1";', "rbac.authorization.k8s.io"),
    ('const char *label = "app.kubernetes.io/name";', "app.kubernetes.io"),
    ('const char *label = "kubectl.kubernetes.io/last-applied-configuration";', "kubectl.kubernetes.io"),
    ('const char *label = "api.kusion.io/owner";', "api.kusion.io/owner"),
    ("/* managed by Helm */", "Helm"),
])
@pytest.mark.parametrize("path", ["engine/plan/plan.c", "engine/runtime.h"])
def test_finds_a_word_of_kubernetes_in_the_engine(project, path, line, word):
    before = (project.root / path).read_text().count("\n")
    project.append(path, f"{line}\n")
    status, output = project.check()
    assert status == 1
    assert f"words of engine: {path}:{before + 1} names {word}, which is Kubernetes' own" in output


@pytest.mark.parametrize("path, line", [
    ("runtimes/io/http.h", "/* a Namespace */"),
    ("test/unit/engine/plan/test_plan.c", 'const char *kind = "Namespace";'),
    ("engine/plan/plan.c", "/* a namespace, several namespaces; what is secret; a job, its role; in service of */"),
    ("engine/plan/plan.c", 'const char *type = "Kubernetes", *version = "api.kusion.io/v1";'),
    ("engine/plan/plan.c", "int NamespaceOf(void);"),
])
def test_lets_other_words_pass(project, path, line):
    project.append(path, f"{line}\n")
    assert "words of engine" not in project.check()[1]


@pytest.mark.parametrize("header, statement, message", [
    ("sys/socket.h", "socket(1, 1, 0)", "uses socket: sockets are not for the engine"),
    ("netdb.h", "getaddrinfo(0, 0, 0, 0)", "uses getaddrinfo: sockets"),
    ("unistd.h", "fork()", "uses fork: processes"),
    ("unistd.h", 'execlp("a", "a", NULL)', "uses execlp: processes"),
    ("spawn.h", "posix_spawnp(0, 0, 0, 0, 0, 0)", "uses posix_spawnp: processes"),
    ("stdio.h", '(long)popen("a", "r")', "uses popen: processes"),
    ("time.h", "clock_gettime(0, (struct timespec *)8)", "uses clock_gettime: clocks"),
    ("time.h", "(long)time(0)", "uses time: clocks"),
    ("pthread.h", "pthread_cond_timedwait(0, 0, 0)", "uses pthread_cond_timedwait: clocks"),
    ("fcntl.h", 'open("a", 0)', "uses open: files"),
    ("fcntl.h", 'open64("a", 0)', "uses open64: files"),
    ("stdio.h", '(long)fopen("a", "r")', "uses fopen: files"),
    ("sys/stat.h", 'stat("a", (void *)8)', "uses stat: files"),
    ("stdlib.h", '(long)getenv("A")', "uses getenv: the environment"),
    ("unistd.h", "syscall(1)", "uses syscall: the kernel"),
    ("openssl/bio.h", '(long)BIO_new_file("a", "r")', "uses BIO_new_file: OpenSSL's input and output"),
    ("curl/curl.h", "(long)curl_easy_init()", "uses curl_easy_init, which is in no library that engine/base uses"),
    ("zlib.h", "(long)crc32(0, 0, 0)", "uses crc32, which is in no library that engine/base uses"),
])
def test_finds_an_impure_call(project, header, statement, message):
    project.append("engine/base/str.c", f"#include <{header}>\nlong impure(void) {{ return {statement}; }}\n")
    project.compile()
    status, output = project.check()
    assert status == 1
    assert f"symbols of engine/base: str {message}" in output.replace("str.c", "str")
    assert "symbols of engine/plan" not in output


def test_does_not_pass_what_was_not_built(project):
    status, output = project.check()
    assert status == 1
    assert "libengine_plan.a is not there" in output


@pytest.mark.parametrize("layers, message", [
    ("layer(engine/base USES engine/plan)\nlayer(engine/plan USES engine/base)\n",
     "engine/plan is used before it is declared: layers look down only"),
    ("layer(engine/base USES PkgConfig::YAJL)\nlayer(engine/plan USES runtimes/io)\n"
     "layer(runtimes/io USES engine/base)\n",
     "runtimes/io is used before it is declared: layers look down only"),
    ("layer(engine/base USES PkgConfig::YAJL)\nlayer(runtimes/io USES engine/base)\n"
     "layer(runtimes/io/http USES engine/base)\n",
     "runtimes/io/http is declared after runtimes/io, which has compiled it"),
])
def test_cmake_refuses_a_layer_that_looks_up(project, layers, message):
    project.write("CMakeLists.txt", CMAKE[:CMAKE.index("layer(engine/base")] + layers)
    result = subprocess.run(["cmake", "-G", "Ninja", "-S", str(project.root), "-B", str(project.root / "b")],
                            capture_output=True, text=True)
    assert result.returncode != 0
    assert message in " ".join(result.stderr.split())
