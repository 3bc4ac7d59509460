/* What a document contains: after writes, appends, a removal, and after damage. */
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "test/unit/engine/store_scene.h"

#define KIB 1024u
#define MIB (1024u * KIB)

static const struct store_call plain; /* no deadline, no cancel, no permit */

/* ---- Writing and reading ---- */

static void never_written(struct store_scene *scene)
{
    struct store_file *file = store_scene_open(scene);
    struct document document = DOCUMENT_INIT;

    expect_code(scene, store_scene_read(scene, file, &document), ERR_NOT_FOUND, "read");
    expect_ok(scene, store_scene_remove(scene, file), "removing nothing");
    if (store_scene_can_append(scene))
        expect_code(scene, store_scene_append(scene, file, "a"), ERR_NOT_FOUND,
                    "nothing to append to");
    store_scene_close(file);
    store_scene_expect_none(scene, "after all that");
}

static void both_parts(struct store_scene *scene)
{
    static const struct {
        const char *open, *secret;
    } rows[] = {{"open", ""},         {"open", "secret"}, {"open", "another"},
                {"other", "another"}, {"", "secret"},     {"", ""},
                {"open", "secret"},   {"open", "secret"}, {"only open", ""}};
    struct store_file *file = store_scene_open(scene);

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        expect_ok(scene, store_scene_write(scene, file, rows[i].open, rows[i].secret), "write");
        store_scene_expect_kept(scene, rows[i].open, rows[i].secret, NULL, "by another");
        if (i % 2)
            store_scene_expect_read(scene, file, rows[i].open, rows[i].secret, NULL, "by itself");
    }
    store_scene_close(file);
    file = store_scene_open(scene);
    expect_code(scene, store_scene_write(scene, file, "blind", ""), ERR_CONFLICT,
                "not read before");
    store_scene_expect_read(scene, file, "only open", "", NULL, "it changed nothing");
    expect_ok(scene, store_scene_write(scene, file, "seen", ""), "read before");
    store_scene_close(file);
    store_scene_expect_kept(scene, "seen", "", NULL, "the last");
}

static void sizes(struct store_scene *scene)
{
    static const struct {
        size_t open, secret;
    } rows[] = {
        {0, 0},         {1, 0},
        {0, 1},         {700 * KIB - 1, 0},
        {700 * KIB, 1}, {700 * KIB + 1, 0},
        {1, 700 * KIB}, {10, 700 * KIB + 1},
        {3 * MIB, 0},   {3 * MIB, 3 * MIB},
        {100, 100},
    };
    struct store_file *file = store_scene_open(scene);

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_buf_ struct buf open = BUF_INIT, secret = BUF_INIT;
        _cleanup_free_ char *what = str_printf("%zu and %zu bytes", rows[i].open, rows[i].secret);
        struct document document = DOCUMENT_INIT;

        store_scene_fill(&open, rows[i].open, (unsigned)i);
        store_scene_fill(&secret, rows[i].secret, (unsigned)i + 100);
        expect_ok(scene, store_scene_write_bytes(scene, file, &open, &secret), what);
        expect_ok(scene, store_scene_read(scene, file, &document), what);
        expect_true_of(scene, has_bytes(&document.open, open.data, open.length), what);
        expect_true_of(scene, has_bytes(&document.secret, secret.data, secret.length), what);
        document_done(&document);
    }
    expect_ok(scene, store_scene_remove(scene, file), "remove");
    store_scene_close(file);
    store_scene_expect_none(scene, "removed");
}

static void any_bytes(struct store_scene *scene)
{
    static const char nul[] = "a\0b\0", all[] = "\0\n\r\xff\xfe{}\"\\%s";
    struct store_file *file = store_scene_open(scene);
    _cleanup_buf_ struct buf open = BUF_INIT, secret = BUF_INIT;
    struct document document = DOCUMENT_INIT;

    buf_add(&open, nul, sizeof(nul));
    buf_add(&secret, all, sizeof(all));
    expect_ok(scene, store_scene_write_bytes(scene, file, &open, &secret), "write");
    if (store_scene_can_append(scene)) {
        expect_ok(scene, file->store->ops->append(file, &plain, all, sizeof(all), &scene->error),
                  "append");
        expect_ok(scene, file->store->ops->append(file, &plain, "", 0, &scene->error),
                  "append of nothing");
    }
    expect_ok(scene, store_scene_read(scene, file, &document), "read");
    expect_true_of(scene, has_bytes(&document.open, nul, sizeof(nul)), "open");
    expect_true_of(scene, has_bytes(&document.secret, all, sizeof(all)), "secret");
    if (store_scene_can_append(scene))
        expect_true_of(scene,
                       document.n_entries == 2 &&
                           has_bytes(&document.entries[0], all, sizeof(all)) &&
                           has_bytes(&document.entries[1], "", 0),
                       "entries");
    document_done(&document);
    store_scene_close(file);
}

static void read_replaces_what_was_there(struct store_scene *scene)
{
    struct store_file *file = store_scene_open(scene);
    struct document document = DOCUMENT_INIT;

    expect_ok(scene, store_scene_write(scene, file, "first", "secret"), "write");
    expect_ok(scene, store_scene_read(scene, file, &document), "read");
    expect_ok(scene, store_scene_write(scene, file, "2nd", ""), "write");
    expect_ok(scene, store_scene_read(scene, file, &document), "read into the same");
    expect_true_of(scene, has_bytes(&document.open, "2nd", 3) && !document.secret.length, "anew");
    document_done(&document);
    store_scene_close(file);
}

/* ---- Removing ---- */

static void removes(struct store_scene *scene)
{
    struct store_file *file = store_scene_open(scene);

    for (unsigned i = 0; i < 3; i++) {
        expect_ok(scene, store_scene_write(scene, file, "open", "secret"), "write");
        if (store_scene_can_append(scene))
            expect_ok(scene, store_scene_append(scene, file, "entry"), "append");
        if (i == 2)
            store_scene_expect_read(
                scene, file, "open", "secret",
                store_scene_can_append(scene) ? (const char *[]){"entry", NULL} : NULL, "there");
        expect_ok(scene, store_scene_remove(scene, file), "remove");
        store_scene_expect_none(scene, "gone");
        expect_ok(scene, store_scene_remove(scene, file), "again");
    }
    store_scene_close(file);
}

/* ---- Appending ---- */

static void append_numbers(struct store_scene *scene, struct store_file *file, size_t from,
                           size_t to, size_t length)
{
    for (size_t i = from; i < to; i++) {
        _cleanup_buf_ struct buf entry = BUF_INIT;

        store_scene_fill(&entry, length, (unsigned)i);
        err_clear(&scene->error);
        expect_ok(scene,
                  file->store->ops->append(file, &plain, entry.data, entry.length, &scene->error),
                  "append");
    }
}

static void expect_numbers(struct store_scene *scene, struct store_file *file, size_t count,
                           size_t length)
{
    struct document document = DOCUMENT_INIT;

    expect_ok(scene, store_scene_read(scene, file, &document), "read");
    expect_true_of(scene, document.n_entries == count, "all entries");
    for (size_t i = 0; i < count && i < document.n_entries; i++) {
        _cleanup_buf_ struct buf entry = BUF_INIT;

        store_scene_fill(&entry, length, (unsigned)i);
        expect_true_of(scene, has_bytes(&document.entries[i], entry.data, entry.length), "order");
    }
    document_done(&document);
}

static void appends(struct store_scene *scene)
{
    struct store_file *file;

    if (!store_scene_can_append(scene))
        return;
    file = store_scene_open(scene);
    expect_ok(scene, store_scene_write(scene, file, "snapshot", "secret"), "write");
    append_numbers(scene, file, 0, 40, 5000);
    expect_numbers(scene, file, 40, 5000);
    append_numbers(scene, file, 40, 50, 5000);
    store_scene_close(file);
    file = store_scene_open_in(scene, scene->other);
    expect_numbers(scene, file, 50, 5000);
    append_numbers(scene, file, 50, 60, 5000);
    expect_numbers(scene, file, 60, 5000);
    expect_ok(scene, store_scene_write(scene, file, "folded", ""), "write");
    store_scene_expect_kept(scene, "folded", "", NULL, "without entries");
    append_numbers(scene, file, 0, 2, 300 * KIB);
    expect_numbers(scene, file, 2, 300 * KIB);
    expect_ok(scene, store_scene_remove(scene, file), "remove");
    expect_ok(scene, store_scene_write(scene, file, "new", ""), "write");
    store_scene_close(file);
    store_scene_expect_kept(scene, "new", "", NULL, "without entries");
}

/* ---- Damage ---- */

static void expect_damage(struct store_scene *scene, enum damage_part part, enum damage_how how)
{
    static const char *const parts[] = {"head", "open part", "secret part", "entries"};
    _cleanup_free_ char *what =
        str_printf("%s %s", parts[part], how == DAMAGE_MISSING ? "missing" : "changed");
    _cleanup_free_ char *spec_name = str_printf("damage-%d-%d", (int)part, (int)how);
    _cleanup_free_ char *expected = NULL;
    _cleanup_buf_ struct buf large = BUF_INIT;
    struct document document = DOCUMENT_INIT;
    struct store_file *file;
    int code = part == DAMAGE_HEAD && how == DAMAGE_MISSING ? ERR_NOT_FOUND : ERR_CORRUPT;

    scene->name.spec.name = spec_name;
    file = store_scene_open(scene);
    store_scene_fill(&large, 800 * KIB, 1);
    expect_ok(scene, store_scene_write_bytes(scene, file, &large, &large), what);
    for (size_t i = 0; i < 3 && part == DAMAGE_ENTRIES; i++)
        expect_ok(scene, store_scene_append(scene, file, "an entry of some length"), what);
    if (scene->fixture->damage(scene->fixture->arg, &scene->name, part, how, &expected)) {
        store_scene_close(file);
        file = store_scene_open(scene);
        expect_code(scene, store_scene_read(scene, file, &document), code, what);
        expect_true_of(scene, document.open.length + document.n_entries == 0, what);
        expect_true_of(scene, !expected || strstr(scene->error.message, expected), what);
        if (code == ERR_CORRUPT && store_scene_can_append(scene))
            expect_code(scene, store_scene_append(scene, file, "x"), ERR_CORRUPT,
                        "append to damage");
        expect_ok(scene, store_scene_write_bytes(scene, file, &large, &large),
                  "the same bytes anew");
        expect_ok(scene, store_scene_read(scene, file, &document), "whole again");
        expect_true_of(scene,
                       has_bytes(&document.secret, large.data, large.length) &&
                           has_bytes(&document.open, large.data, large.length),
                       what);
    }
    document_done(&document);
    store_scene_close(file);
    scene->name.spec.name = scene->note;
}

static void tells_damage(struct store_scene *scene)
{
    for (int part = DAMAGE_HEAD; part <= DAMAGE_ENTRIES; part++)
        for (int how = DAMAGE_CHANGED; how <= DAMAGE_MISSING; how++)
            if (part != DAMAGE_ENTRIES || store_scene_can_append(scene))
                expect_damage(scene, (enum damage_part)part, (enum damage_how)how);
}

/* ---- All of them ---- */

const struct store_scenario store_contract_documents[] = {
    {"never-written", never_written},
    {"both-parts", both_parts},
    {"sizes", sizes},
    {"any-bytes", any_bytes},
    {"read-replaces", read_replaces_what_was_there},
    {"removes", removes},
    {"appends", appends},
    {"damage", tells_damage},
    {NULL, NULL},
};
