/* A store of files, sealed: what runtimes/seal/ proves over a store in memory, over a real one. */
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/str.h"
#include "runtimes/file/store.h"
#include "runtimes/io/clock.h"
#include "runtimes/seal/seal.h"
#include "test/unit/engine/history_contract.h"
#include "test/unit/engine/store_contract.h"
#include "test/unit/suite.h"

struct medium {
    char *folder, *keys;
    enum seal_scope scope;
};

static void write_file(const char *folder, const char *name, const char *text)
{
    _cleanup_free_ char *path = str_printf("%s/%s", folder, name);
    FILE *file = fopen(path, "we");

    if (!file || fputs(text, file) < 0 || fclose(file) != 0 || chmod(path, 0400) < 0)
        abort();
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *ftw)
{
    (void)status, (void)type, (void)ftw;
    return remove(path);
}

static int remove_lock(const char *path, const struct stat *status, int type, struct FTW *ftw)
{
    (void)status, (void)type, (void)ftw;
    return str_has_suffix(path, ".lock") ? remove(path) : 0;
}

static void medium_init(struct medium *medium, enum seal_scope scope)
{
    *medium = (struct medium){str_new("/tmp/test-sealed-XXXXXX"), str_new("/tmp/test-keys-XXXXXX"),
                              scope};
    if (!mkdtemp(medium->folder) || !mkdtemp(medium->keys))
        abort();
    write_file(medium->keys, "k1", "01234567890123456789012345678901");
    write_file(medium->keys, "current", "k1\n");
}

static void medium_done(struct medium *medium)
{
    nftw(medium->folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    nftw(medium->keys, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(medium->folder);
    free(medium->keys);
}

static struct store *attach(void *arg)
{
    struct medium *medium = arg;
    _cleanup_free_ char *text = str_printf("file:%s", medium->keys);
    struct seal_keys *keys = NULL;

    if (seal_keys_parse(text, &system_clock, &keys, NULL) < 0)
        abort();
    return seal_store_new(file_store_new(medium->folder), keys, medium->scope);
}

/* The file's own checksums find it first: test_store.c. */
static bool damage(void *arg, const struct document_name *name, enum damage_part part,
                   enum damage_how how, char **ret)
{
    (void)arg, (void)name, (void)part, (void)how, (void)ret;
    return false;
}

static void break_lock(void *arg, const struct document_name *name)
{
    (void)name;
    nftw(((struct medium *)arg)->folder, remove_lock, 16, FTW_DEPTH | FTW_PHYS);
}

static void keeps_the_contracts(void)
{
    for (int scope = SEAL_SECRET; scope <= SEAL_ALL; scope++) {
        struct medium medium;
        struct store *store;

        medium_init(&medium, (enum seal_scope)scope);
        store_contract_check(&(struct store_fixture){&medium, attach, damage, break_lock});
        store = attach(&medium);
        history_contract_check_store(store);
        store->ops->free(store);
        medium_done(&medium);
    }
}

/* ---- What is on the disk ---- */

#define CANARY "c4n4ry-7f3a"

static size_t files, canaries;

static int look_for_canary(const char *path, const struct stat *status, int type, struct FTW *ftw)
{
    char bytes[4096];
    FILE *file = type == FTW_F ? fopen(path, "re") : NULL;
    size_t length = file ? fread(bytes, 1, sizeof(bytes), file) : 0;

    (void)status, (void)ftw;
    files += file != NULL;
    canaries += memmem(bytes, length, CANARY, strlen(CANARY)) != NULL;
    if (file)
        fclose(file);
    return 0;
}

static void no_secret_is_on_the_disk(void)
{
    static const struct store_call plain;
    const struct document_name name = {DOCUMENT_STATE, {"team", "web"}, NULL};
    struct document document = DOCUMENT_INIT;
    struct store_file *file = NULL;
    struct error error = {0};
    struct medium medium;
    struct store *store;

    medium_init(&medium, SEAL_SECRET);
    store = attach(&medium);
    buf_add_str(&document.open, "open");
    buf_add_str(&document.secret, "secret " CANARY);
    EXPECT_INT(store->ops->open(store, &name, STORE_WRITE, &plain, &file, &error), 0,
               error.message);
    EXPECT_INT(store->ops->write(file, &plain, &document, &error), 0, error.message);
    EXPECT_INT(store->ops->append(file, &plain, CANARY, strlen(CANARY), &error), 0, error.message);
    store->ops->close(file);
    files = canaries = 0;
    nftw(medium.folder, look_for_canary, 16, FTW_PHYS);
    EXPECT(files >= 4, "head, open part, secret part, journal");
    EXPECT_INT((long long)canaries, 0, "none");
    document_done(&document);
    store->ops->free(store);
    medium_done(&medium);
}

SUITE(sealed_files, TEST(keeps_the_contracts), TEST(no_secret_is_on_the_disk))
