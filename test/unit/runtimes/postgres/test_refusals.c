/*
 * What a server refuses, or cannot do: each has its code and reason, and its message says where,
 * and not the password. Afterwards the store goes on.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "runtimes/io/clock.h"
#include "test/unit/runtimes/io/certificate.h"
#include "test/unit/runtimes/postgres/desk.h"
#include "test/unit/runtimes/postgres/proxy.h"
#include "test/unit/runtimes/postgres/server.h"
#include "test/unit/suite.h"

static enum server_way directly = SERVER_DIRECTLY;

static char *file_text(const char *path)
{
    char text[256] = "";
    FILE *file = fopen(path, "r");

    if (!file || !fgets(text, sizeof(text), file))
        abort();
    fclose(file);
    return str_new(text);
}

static void expect_error(const struct error *error, int code, const char *reason, const char *note)
{
    _cleanup_free_ char *path = str_printf("%s/password", server_folder());
    _cleanup_free_ char *password = file_text(path);

    EXPECT_INT(error->code, code, error->message);
    EXPECT_STR(error->reason, reason, error->message);
    EXPECT(strstr(error->message, "localhost:"), error->message);
    EXPECT(!strstr(error->message, password), note);
}

/* ---- Connecting ---- */

static void tells_why_it_cannot_connect(void)
{
    const struct {
        const char *note;
        struct server_change change;
        int code;
        const char *reason;
    } rows[] = {
        {"port", {.port = "1"}, ERR_UNAVAILABLE, "StoreUnreachable"},
        {"user", {.user = "nobody"}, ERR_UNAUTHENTICATED, "StoreRefused"},
        {"password", {.passfile = "/proc/self/comm"}, ERR_UNAUTHENTICATED, "StoreRefused"},
        {"no file of the password", {.passfile = "/nowhere"}, ERR_UNAUTHENTICATED, "StoreRefused"},
        {"an empty file", {.passfile = "/dev/null"}, ERR_UNAUTHENTICATED, "StoreRefused"},
        {"database", {.database = "none"}, ERR_UNAVAILABLE, "StoreNotFound"},
        {"no TLS", {.sslmode = "disable"}, ERR_UNAUTHENTICATED, "StoreRefused"},
        {"authorities",
         {.sslrootcert = "/etc/ssl/certs/ca-certificates.crt"},
         ERR_UNAUTHENTICATED,
         "StoreRefused"},
        {"no file", {.sslrootcert = "/nowhere"}, ERR_UNAUTHENTICATED, "StoreRefused"},
    };

    if (!server_begin(directly))
        return;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct error error = {0};
        char *text = NULL;

        desk_read_by(server_attach_changed(directly, &rows[i].change), &text, &error);
        expect_error(&error, rows[i].code, rows[i].reason, rows[i].note);
    }
}

/* Nobody listens at the first of them. */
static void takes_the_host_that_answers(void)
{
    const struct server_change change = {.host = "127.0.0.9,localhost"};
    struct error error = {0};
    char *text = NULL;

    if (!server_begin(directly))
        return;
    EXPECT_INT(desk_read_by(server_attach_changed(directly, &change), &text, &error), ERR_NOT_FOUND,
               error.message);
}

static void put_certificate(int days)
{
    _cleanup_free_ char *folder = str_printf("%s/tls", server_folder());

    certificate_sign_again(folder, days);
    free(server_sql("SELECT pg_reload_conf()"));
}

static void await_code(int code, struct error *ret)
{
    for (int i = 0; i < 400; i++) {
        char *text = NULL;

        err_clear(ret);
        desk_read_by(server_attach(&directly), &text, ret);
        free(text);
        if (ret->code == code)
            return;
        usleep(25000);
    }
}

/* The server reads its certificate again a moment after it was told to. */
static void a_certificate_that_expired_is_refused(void)
{
    struct error error = {0};

    if (!server_begin(directly))
        return;
    put_certificate(-1);
    await_code(ERR_UNAUTHENTICATED, &error);
    expect_error(&error, ERR_UNAUTHENTICATED, "StoreRefused", "expired");
    put_certificate(3650);
    await_code(ERR_NOT_FOUND, &error);
    EXPECT_INT(error.code, ERR_NOT_FOUND, error.message);
}

/* ---- In use ---- */

static void a_right_that_is_withdrawn_is_refused(void)
{
    _cleanup_free_ char *text = NULL;
    struct desk desk;

    if (!server_begin(directly))
        return;
    desk_init(&desk, server_attach(&directly));
    EXPECT_INT(desk_write(&desk, "kept"), 0, desk.error.message);
    free(server_sql("REVOKE UPDATE ON kusion.document FROM kusion"));
    desk_write(&desk, "no");
    expect_error(&desk.error, ERR_FORBIDDEN, "StoreRefused", "UPDATE");
    EXPECT(strstr(desk.error.message, "document"), desk.error.message);
    free(server_sql("REVOKE SELECT ON kusion.document FROM kusion"));
    desk_read(&desk, &text);
    expect_error(&desk.error, ERR_FORBIDDEN, "StoreRefused", "SELECT");
    free(server_sql("GRANT ALL ON kusion.document TO kusion"));
    EXPECT_INT(desk_read(&desk, &text), 0, desk.error.message);
    EXPECT_STR(text, "kept", "nothing was changed");
    EXPECT_INT(desk_write(&desk, "next"), 0, desk.error.message);
    desk_done(&desk);
}

/* Never "there is no such document". */
static void tables_that_were_dropped_are_no_absent_documents(void)
{
    struct desk desk;
    char *text = NULL;

    if (!server_begin(directly))
        return;
    desk_init(&desk, server_attach(&directly));
    EXPECT_INT(desk_write(&desk, "x"), 0, desk.error.message);
    free(server_sql("SET client_min_messages TO error; DROP SCHEMA kusion CASCADE"));
    desk_read(&desk, &text);
    expect_error(&desk.error, ERR_UNAVAILABLE, "StoreNotFound", "read");
    desk_write(&desk, "y");
    expect_error(&desk.error, ERR_UNAVAILABLE, "StoreNotFound", "write");
    desk_done(&desk);
}

static void a_database_that_was_dropped_is_no_absent_document(void)
{
    _cleanup_free_ char *name = NULL;
    struct desk desk;
    char *text = NULL;

    if (!server_begin(directly))
        return;
    name = str_printf("%s_2", server_database());
    free(server_sql("CREATE DATABASE %s OWNER kusion", name));
    desk_init(&desk, server_attach_changed(directly, &(struct server_change){.database = name}));
    EXPECT_INT(desk_write(&desk, "x"), 0, desk.error.message);
    free(server_sql("DROP DATABASE %s WITH (FORCE)", name));
    desk_read(&desk, &text);
    expect_error(&desk.error, ERR_UNAVAILABLE, "StoreNotFound", "dropped");
    desk_done(&desk);
}

/* The tables are moved to a file system of 16 MiB. */
static void a_full_disk_loses_nothing(void)
{
    _cleanup_free_ char *folder = NULL, *owner = NULL, *text = NULL, *large = NULL;
    struct desk desk;
    struct stat status;
    int r = 0;

    if (!server_begin(directly))
        return;
    folder = str_printf("%s/small", server_folder());
    mkdir(folder, 0700);
    if (stat(server_folder(), &status) < 0 || mount("tmpfs", folder, "tmpfs", 0, "size=16m") < 0) {
        rmdir(folder);
        skip_test("no file system can be mounted");
        return;
    }
    if (chown(folder, status.st_uid, status.st_gid) < 0)
        abort();
    desk_init(&desk, server_attach(&directly));
    EXPECT_INT(desk_write(&desk, "kept"), 0, desk.error.message);
    free(server_sql("CREATE TABLESPACE small LOCATION '%s'", folder));
    free(server_sql("ALTER TABLE kusion.document SET TABLESPACE small"));
    large = malloc(3 << 20);
    memset(large, 'x', (3 << 20) - 1);
    large[(3 << 20) - 1] = '\0';
    for (int i = 0; i < 20 && r == 0; i++) {
        r = desk_write(&desk, "kept");
        if (r == 0)
            r = desk_write(&desk, large);
        if (r == 0)
            r = desk_write(&desk, "kept");
    }
    expect_error(&desk.error, ERR_UNAVAILABLE, "StoreFull", "full");
    EXPECT_INT(desk_read(&desk, &text), 0, desk.error.message);
    EXPECT(str_equal(text, "kept") || str_equal(text, large), "the last that was acknowledged");
    free(server_sql("ALTER TABLE kusion.document SET TABLESPACE pg_default"));
    EXPECT_INT(desk_write(&desk, "next"), 0, desk.error.message);
    desk_done(&desk);
    free(server_sql("DROP TABLESPACE small"));
    umount2(folder, MNT_DETACH);
    rmdir(folder);
}

/* ---- Time ---- */

static int64_t now(void)
{
    return system_clock.monotonic(&system_clock);
}

static void *lock_for_a_while(void *arg)
{
    (void)arg;
    free(server_sql("BEGIN; LOCK TABLE kusion.document; SELECT pg_sleep(3); COMMIT"));
    return NULL;
}

static void a_deadline_ends_each_wait(void)
{
    _cleanup_free_ char *text = NULL;
    struct server_change by;
    struct proxy *proxy;
    struct desk desk, cut;
    pthread_t thread;

    if (!server_begin(directly))
        return;
    proxy = proxy_new(server_port(directly));
    by = (struct server_change){.port = proxy_port(proxy)};
    desk_init(&desk, server_attach(&directly));
    EXPECT_INT(desk_write(&desk, "kept"), 0, desk.error.message);
    /* a lock */
    pthread_create(&thread, NULL, lock_for_a_while, NULL);
    for (int r = 0; r == 0;) {
        _cleanup_free_ char *held = server_sql("SELECT count(*) FROM pg_locks WHERE"
                                               " mode = 'AccessExclusiveLock' AND granted"
                                               " AND relation = 'kusion.document'::regclass");

        r = !str_equal(held, "0");
    }
    desk.call.deadline = now() + 300;
    desk_write(&desk, "no");
    expect_error(&desk.error, ERR_TIMEOUT, "StoreSlow", "locked");
    pthread_join(thread, NULL);
    /* a server that accepts, and says nothing */
    proxy_fail(proxy, PROXY_HANG, 1);
    desk_init(&cut, server_attach_changed(directly, &by));
    cut.call.deadline = now() + 300;
    desk_read(&cut, &text);
    expect_error(&cut.error, ERR_TIMEOUT, "StoreSlow", "connecting");
    cut.call.deadline = 0;
    EXPECT_INT(desk_read(&cut, &text), 0, cut.error.message);
    /* COMMIT is not answered */
    proxy_fail(proxy, PROXY_HANG, 2);
    cut.call.deadline = now() + 500;
    desk_write(&cut, "no");
    expect_error(&cut.error, ERR_TIMEOUT, "StoreInDoubt", "COMMIT");
    cut.call.deadline = 0;
    free(TAKE(text));
    EXPECT_INT(desk_read(&cut, &text), 0, cut.error.message);
    EXPECT_STR(text, "kept", "the server gave it up");
    desk_done(&cut);
    desk_done(&desk);
    proxy_free(proxy);
}

struct firing {
    struct cancel *cancel;
    struct proxy *proxy;
};

static void *fire_when_it_waits(void *arg)
{
    struct firing *firing = arg;

    while (!proxy_has_failed(firing->proxy))
        usleep(200);
    cancel_fire(firing->cancel, "Superseded");
    return NULL;
}

/* On a connection that is up: of a read (1), of a statement (1), and of COMMIT (2), which it must
 * not end. */
static void a_cancel_ends_what_is_not_done(void)
{
    struct server_change by;
    struct proxy *proxy;
    struct desk desk;
    char *text = NULL;

    if (!server_begin(directly))
        return;
    proxy = proxy_new(server_port(directly));
    by = (struct server_change){.port = proxy_port(proxy)};
    desk_init(&desk, server_attach_changed(directly, &by));
    EXPECT_INT(desk_write(&desk, "kept"), 0, desk.error.message);
    for (unsigned i = 0; i < 3; i++) {
        struct firing firing = {cancel_new(NULL), proxy};
        pthread_t thread;
        int r;

        desk.call = (struct store_call){.cancel = firing.cancel, .deadline = now() + 1500};
        proxy_fail(proxy, PROXY_HANG, i < 2 ? 1 : 2);
        pthread_create(&thread, NULL, fire_when_it_waits, &firing);
        r = i == 0 ? desk_read(&desk, &text) : desk_write(&desk, "no");
        pthread_join(thread, NULL);
        EXPECT_INT(r, i < 2 ? ERR_CANCELLED : ERR_TIMEOUT, desk.error.message);
        desk.call = (struct store_call){0};
        EXPECT_INT(desk_read(&desk, &text), 0, desk.error.message);
        EXPECT_STR(text, "kept", desk.error.message);
        free(TAKE(text));
        cancel_free(firing.cancel);
    }
    desk_done(&desk);
    proxy_free(proxy);
}

/* ---- The permit ---- */

static int refuse(void *arg, enum permit_use use, struct error *error)
{
    (void)use;
    ++*(unsigned *)arg;
    return err_set(error, ERR_FENCED, NULL, "the Lease is lost");
}

/* It is asked when all but COMMIT is done; a refusal leaves no lock behind. */
static void asks_the_permit_right_before_commit(void)
{
    unsigned asked = 0;
    const struct permit permit = {refuse, &asked};
    _cleanup_free_ char *text = NULL;
    struct desk desk, other;

    if (!server_begin(directly))
        return;
    desk_init(&desk, server_attach(&directly));
    EXPECT_INT(desk_write(&desk, "kept"), 0, desk.error.message);
    desk_init(&other, server_attach(&directly));
    EXPECT_INT(desk_read(&other, &text), 0, other.error.message);
    desk.call.permit = &permit;
    EXPECT_INT(desk_write(&desk, "no"), ERR_FENCED, desk.error.message);
    EXPECT_INT(desk_append(&desk, "no"), ERR_FENCED, desk.error.message);
    EXPECT_INT(desk_remove(&desk), ERR_FENCED, desk.error.message);
    EXPECT_INT(asked, 3, "once for each");
    EXPECT_INT(desk_write(&other, "next"), 0, other.error.message);
    EXPECT_INT(desk_write(&desk, "no"), ERR_CONFLICT, "it fails before the permit is asked");
    EXPECT_INT(asked, 3, "nothing was to be done");
    desk_done(&other);
    desk_done(&desk);
}

SUITE(postgres_refusals, TEST(tells_why_it_cannot_connect), TEST(takes_the_host_that_answers),
      TEST(a_certificate_that_expired_is_refused), TEST(a_right_that_is_withdrawn_is_refused),
      TEST(tables_that_were_dropped_are_no_absent_documents),
      TEST(a_database_that_was_dropped_is_no_absent_document), TEST(a_full_disk_loses_nothing),
      TEST(a_deadline_ends_each_wait), TEST(a_cancel_ends_what_is_not_done),
      TEST(asks_the_permit_right_before_commit))
