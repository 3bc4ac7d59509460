#include "test/unit/runtimes/chain/chain_server.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "runtimes/chain/store.h"
#include "runtimes/io/clock.h"
#include "test/unit/engine/history_contract.h"
#include "test/unit/engine/store_contract.h"
#include "test/unit/runtimes/chain/damage.h"
#include "test/unit/runtimes/chain/objects_contract.h"
#include "test/unit/runtimes/chain/server_process.h"
#include "test/unit/runtimes/io/certificate.h"
#include "test/unit/suite.h"

/* An object makes the folders above it. */
static void make_folder(int (*open)(const char *place, struct objects **ret, struct error *error),
                        const char *place, const char *folder)
{
    struct chain_server server = {open, str_new(place)};
    _cleanup_(objects_free_p) struct objects *objects = chain_server_attach(&server);
    _cleanup_free_ char *key = str_printf("%s/~0", folder);
    const struct store_call call = {0};
    _cleanup_buf_ struct buf bytes = BUF_INIT;
    struct error error = {0};

    buf_add_str(&bytes, "x");
    EXPECT_INT(objects->ops->create(objects, key, &bytes, &call, &error), 0, error.message);
    chain_server_done(&server);
}

bool chain_server_find(const char *variable,
                       int (*open)(const char *place, struct objects **ret, struct error *error),
                       struct chain_server *ret)
{
    static unsigned number;
    const char *place = getenv(variable), *query;
    _cleanup_free_ char *folder = NULL;

    if (!place || !*place) {
        printf("server: skipped: %s is not set\n", variable);
        return false;
    }
    query = strchrnul(place, '?');
    ret->open = open;
    folder = str_printf("%d-%lld-%u", getpid(), (long long)system_clock.monotonic(&system_clock),
                        number++);
    make_folder(open, place, folder);
    ret->place = str_printf("%.*s/%s%s", (int)(query - place), place, folder, query);
    return true;
}

void chain_server_done(struct chain_server *server)
{
    free(server->place);
}

struct objects *chain_server_attach(void *arg)
{
    struct chain_server *server = arg;
    struct objects *objects = NULL;
    struct error error = {0};

    if (server->open(server->place, &objects, &error) < 0) {
        fprintf(stderr, "%s: %s\n", server->place, error.message);
        abort();
    }
    return objects;
}

struct store *chain_server_store(void *arg)
{
    return chain_store_new(chain_server_attach(arg), &system_clock, true);
}

static bool damage(void *arg, const struct document_name *name, enum damage_part part,
                   enum damage_how how, char **ret)
{
    _cleanup_(objects_free_p) struct objects *objects = chain_server_attach(arg);

    return chain_damage(objects, name, part, how, ret);
}

void chain_server_check_objects(struct chain_server *server, size_t races)
{
    objects_contract_check(&(struct objects_fixture){server, chain_server_attach, races});
}

void chain_server_check_store(struct chain_server *server)
{
    store_contract_check(&(struct store_fixture){server, chain_server_store, damage, NULL});
}

void chain_server_check_history(struct chain_server *server)
{
    struct store *store = chain_server_store(server);

    history_contract_check_store(store);
    store->ops->free(store);
}

/* ---- What is refused ---- */

/* The place with another value of an option. */
static char *with_option(const char *place, const char *option, const char *value)
{
    const char *at = strstr(place, option), *rest;

    if (!at)
        abort();
    at += strlen(option);
    rest = strchrnul(at, '&');
    return str_printf("%.*s%s%s", (int)(at - place), place, value, rest);
}

static void expect_refused(struct chain_server *server, const char *place, int code,
                           const char *reason)
{
    struct chain_server other = {server->open, str_new(place)};
    struct store *store = chain_server_store(&other);
    const struct document_name name = {DOCUMENT_STATE, {"team", "refused"}, NULL};
    const struct store_call call = {.deadline = system_clock.monotonic(&system_clock) + 10000};
    struct document document = DOCUMENT_INIT;
    struct store_file *file = NULL;
    struct error error = {0};

    store->ops->open(store, &name, STORE_WRITE, &call, &file, &error);
    EXPECT_INT(store->ops->read(file, &call, &document, &error), code, place);
    EXPECT_STR(error.reason, reason, error.message);
    EXPECT_INT(store->ops->write(file, &call, &document, &error), code, place);
    EXPECT_STR(error.reason, reason, error.message);
    EXPECT(!strstr(error.message, "wrong-secret"), "no secret");
    store->ops->close(file);
    store->ops->free(store);
    chain_server_done(&other);
}

void chain_server_check_refusals(struct chain_server *server, const char *gone)
{
    static const char *const names[] = {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "username",
                                        "password"};
    char folder[] = "/tmp/wrong-XXXXXX";
    _cleanup_free_ char *untrusted =
        with_option(server->place, "ca=", "/etc/ssl/certs/ca-certificates.crt");
    _cleanup_free_ char *wrong = NULL;

    if (!mkdtemp(folder))
        abort();
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        _cleanup_free_ char *path = str_printf("%s/%s", folder, names[i]);
        int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

        dprintf(fd, "wrong-secret");
        close(fd);
    }
    wrong = with_option(server->place, "credentials=", folder);
    expect_refused(server, untrusted, ERR_UNAVAILABLE, "TLSVerification");
    expect_refused(server, wrong, ERR_FORBIDDEN, "StoreRefused");
    expect_refused(server, gone, ERR_UNAVAILABLE, "StoreNotFound");
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        _cleanup_free_ char *path = str_printf("%s/%s", folder, names[i]);

        unlink(path);
    }
    rmdir(folder);
}

/* ---- Certificates ---- */

static int read_nothing(struct chain_server *server, struct error *error)
{
    const struct document_name name = {DOCUMENT_STATE, {"team", "expired"}, NULL};
    const struct store_call call = {.deadline = system_clock.monotonic(&system_clock) + 10000};
    struct store *store = chain_server_store(server);
    struct document document = DOCUMENT_INIT;
    int r;

    err_clear(error);
    r = store_load(store, &name, &call, &document, error);
    document_done(&document);
    store->ops->free(store);
    return r;
}

/* Once the server answers. */
static int await_answer(struct chain_server *server, struct error *error)
{
    int r = read_nothing(server, error);

    for (int i = 0; i < 400 && str_equal(error->reason, "StoreUnreachable"); i++) {
        usleep(25000);
        r = read_nothing(server, error);
    }
    return r;
}

void chain_server_check_expiry(struct chain_server *server, const char *folder)
{
    _cleanup_free_ char *tls = str_printf("%s/tls", getenv(folder));
    struct server_process process;
    struct error error = {0};

    server_process_find(getenv(folder), &process);
    certificate_sign_again(tls, -1);
    server_process_restart(&process);
    EXPECT_INT(await_answer(server, &error), ERR_UNAVAILABLE, error.message);
    EXPECT_STR(error.reason, "TLSVerification", error.message);
    EXPECT(strstr(error.message, "expired"), error.message);
    certificate_sign_again(tls, 3650);
    server_process_restart(&process);
    EXPECT_INT(await_answer(server, &error), ERR_NOT_FOUND, error.message);
}

/* ---- The server's disk ---- */

#define LARGE ((size_t)2 << 20)

static const struct document_name on_disk = {DOCUMENT_STATE, {"team", "disk"}, NULL};

static struct store_file *open_and_read(struct store *store)
{
    const struct store_call call = {0};
    struct document document = DOCUMENT_INIT;
    struct store_file *file = NULL;

    store->ops->open(store, &on_disk, STORE_WRITE, &call, &file, NULL);
    store->ops->read(file, &call, &document, NULL);
    document_done(&document);
    return file;
}

static int write_text(struct store_file *file, const char *text, struct error *error)
{
    const struct store_call call = {0};
    struct document document = DOCUMENT_INIT;
    int r;

    buf_add_str(&document.open, text);
    err_clear(error);
    r = file->store->ops->write(file, &call, &document, error);
    document_done(&document);
    return r;
}

static int put(struct store *store, const char *text, struct error *error)
{
    struct store_file *file = open_and_read(store);
    int r = write_text(file, text, error);

    store->ops->close(file);
    return r;
}

static void expect_text(struct store *store, const char *text, const char *note)
{
    const struct store_call call = {0};
    struct document document = DOCUMENT_INIT;
    struct error error = {0};

    EXPECT_INT(store_load(store, &on_disk, &call, &document, &error), 0, error.message);
    EXPECT(str_equal(document.open.data, text), note);
    document_done(&document);
}

static void check_full(struct store *store, const char *path, const char *full)
{
    _cleanup_free_ char *large = mem_new(LARGE + 1);
    struct error error = {0};
    int r = 0;

    memset(large, 'x', LARGE);
    for (int i = 0; i < 20 && r == 0; i++) {
        large[0] = (char)('a' + i);
        r = put(store, large, &error);
    }
    large[0]--;
    EXPECT_INT(r, ERR_UNAVAILABLE, error.message);
    EXPECT_STR(error.reason, full, error.message);
    expect_text(store, large, "what was acknowledged last");
    if (mount(NULL, path, NULL, MS_REMOUNT, "size=64m") < 0)
        abort();
    EXPECT_INT(put(store, "there is room", &error), 0, error.message);
    expect_text(store, "there is room", "it goes on");
}

static uid_t next_owner; /* nftw() passes nothing on */

static int give_one(const char *path, const struct stat *status, int type, struct FTW *at)
{
    (void)status, (void)type, (void)at;
    return lchown(path, next_owner, (gid_t)-1);
}

static void give_to(const char *path, uid_t owner)
{
    next_owner = owner;
    if (nftw(path, give_one, 16, FTW_PHYS) != 0)
        abort();
}

static void check_rights(struct store *store, const char *path, uid_t owner, const char *refused)
{
    struct error error = {0};

    give_to(path, 0);
    EXPECT(put(store, "no", &error) < 0, "it may not");
    EXPECT_STR(error.reason, refused, error.message);
    expect_text(store, "there is room", "nothing was changed");
    give_to(path, owner);
    EXPECT_INT(put(store, "it may", &error), 0, error.message);
}

static void check_gone(struct store *store, const char *path)
{
    struct store_file *file = open_and_read(store);
    struct error error = {0};

    if (umount2(path, MNT_DETACH) < 0 || rmdir(path) < 0)
        abort();
    EXPECT_INT(write_text(file, "no", &error), ERR_UNAVAILABLE, error.message);
    EXPECT_STR(error.reason, "StoreNotFound", error.message);
    store->ops->close(file);
}

void chain_server_check_disk(struct chain_server *server, const char *path, const char *folder,
                             const char *full, const char *refused)
{
    struct server_process process;
    struct store *store;

    server_process_find(getenv(folder), &process);
    mkdir(path, 0755);
    if (mount("tmpfs", path, "tmpfs", 0, "size=8m") < 0) {
        rmdir(path);
        skip_test("no file system can be mounted");
        return;
    }
    chmod(path, 0755);
    give_to(path, process.user);
    store = chain_server_store(server);
    check_full(store, path, full);
    if (refused)
        check_rights(store, path, process.user, refused);
    check_gone(store, path);
    store->ops->free(store);
}
