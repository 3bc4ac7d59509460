/* What a sealed store hides, what it finds, and what it does not touch. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "test/unit/engine/faulty_store.h"
#include "test/unit/engine/memory_store.h"
#include "test/unit/runtimes/seal/key_folder.h"
#include "test/unit/runtimes/seal/tamper.h"
#include "test/unit/suite.h"

static const struct store_call plain;
static const struct document_name web = {DOCUMENT_STATE, {"team", "web"}, NULL};
static const struct document_name plan = {DOCUMENT_PLAN, {"team", "web"}, "web-7"};

struct desk {
    struct memory_medium *medium;
    char *folder;
    struct store *raw; /* what is below */
    struct error error;
};

static void desk_init(struct desk *desk)
{
    *desk = (struct desk){.medium = memory_medium_new(NULL), .folder = key_folder_new()};
    desk->raw = memory_store_new(desk->medium);
}

static void desk_done(struct desk *desk)
{
    desk->raw->ops->free(desk->raw);
    memory_medium_free(desk->medium);
    key_folder_free(desk->folder);
}

/* As a process has it that begins now. */
static struct store *attach(struct desk *desk, const char *more, enum seal_scope scope)
{
    return seal_store_new(memory_store_new(desk->medium), key_folder_keys(desk->folder, more),
                          scope);
}

static void expect_document(struct desk *desk, struct store *store,
                            const struct document_name *name, const char *open, const char *secret,
                            const char *entries, const char *note)
{
    struct document document = DOCUMENT_INIT;
    _cleanup_buf_ struct buf joined = BUF_INIT;

    EXPECT_INT(tamper_read(store, name, &document, &desk->error), 0, desk->error.message);
    for (size_t i = 0; i < document.n_entries; i++)
        buf_printf(&joined, "%s%s", i ? " " : "", document.entries[i].data);
    EXPECT_STR(document.open.data, open, note);
    EXPECT_STR(document.secret.data, secret, note);
    EXPECT_STR(joined.data, entries, note);
    document_done(&document);
}

/* ---- What is hidden ---- */

#define CANARY "c4n4ry-7f3a"

static bool has_text(const struct buf *buf, const char *text)
{
    return memmem(buf->data, buf->length, text, strlen(text)) != NULL;
}

static void nothing_secret_is_below(void)
{
    struct desk desk;

    desk_init(&desk);
    for (int scope = SEAL_NONE; scope <= SEAL_ALL; scope++) {
        struct store *store = attach(&desk, ",identity", (enum seal_scope)scope);
        struct document below = DOCUMENT_INIT;
        char key[33] = "";

        memset(key, 1, sizeof(key) - 1);
        EXPECT_INT(tamper_write(store, &web, "open " CANARY, "secret " CANARY,
                                (const char *const[]){"entry " CANARY, CANARY, NULL}, &desk.error),
                   0, desk.error.message);
        tamper_take(desk.raw, &web, &below);
        EXPECT_INT(has_text(&below.open, CANARY), scope != SEAL_ALL, "the open part");
        EXPECT_INT(has_text(&below.secret, CANARY), scope == SEAL_NONE, "the secret part");
        EXPECT(!has_text(&below.secret, key), "the key");
        EXPECT_INT((long long)below.n_entries, 2, "entries");
        for (size_t i = 0; i < below.n_entries; i++)
            EXPECT_INT(has_text(&below.entries[i], CANARY), scope == SEAL_NONE, "an entry");
        document_done(&below);
        store->ops->free(store);
    }
    desk_done(&desk);
}

static void no_two_parts_are_alike(void)
{
    struct desk desk;
    struct store *store;
    struct document first = DOCUMENT_INIT, second = DOCUMENT_INIT;

    desk_init(&desk);
    store = attach(&desk, "", SEAL_ALL);
    tamper_write(store, &web, "same", "same", NULL, &desk.error);
    tamper_take(desk.raw, &web, &first);
    tamper_write(store, &web, "same", "same", NULL, &desk.error);
    tamper_take(desk.raw, &web, &second);
    EXPECT_INT((long long)first.secret.length, (long long)second.secret.length, "length");
    EXPECT(memcmp(first.secret.data, second.secret.data, first.secret.length) != 0, "secret");
    EXPECT(memcmp(first.open.data, second.open.data, first.open.length) != 0, "open");
    document_done(&first);
    document_done(&second);
    store->ops->free(store);
    desk_done(&desk);
}

/* ---- What is found ---- */

/* What reading the changed document gives: an error that names the part, and no byte of it. code 0:
 * damage, or a key that is not at hand, because who names the key is damaged. */
static void expect_found(struct desk *desk, struct store *store, int code, const char *part,
                         const char *note)
{
    struct document document = DOCUMENT_INIT;
    int r = tamper_read(store, &web, &document, &desk->error);
    bool is_found = code ? r == code : r == ERR_CORRUPT || r == ERR_UNAVAILABLE;

    if (r == ERR_UNSUPPORTED && !code) /* the format's version */
        is_found = true;
    EXPECT(is_found, note);
    EXPECT(strstr(desk->error.message, part), desk->error.message);
    EXPECT(strstr(desk->error.message, "state of team/web"), desk->error.message);
    EXPECT(document.open.length + document.secret.length + document.n_entries == 0, note);
    document_done(&document);
}

static void flip_each_bit(struct desk *desk, struct store *store, const struct document *whole,
                          struct document *changed, struct buf *part, const char *name)
{
    for (size_t bit = 0; bit < 8 * part->length; bit++) {
        part->data[bit / 8] ^= (char)(1 << bit % 8);
        tamper_put(desk->raw, &web, changed);
        expect_found(desk, store, 0, name, "a flipped bit");
        part->data[bit / 8] ^= (char)(1 << bit % 8);
    }
    for (size_t length = 0; length < part->length; length++) {
        size_t all = part->length;

        part->length = length;
        tamper_put(desk->raw, &web, changed);
        expect_found(desk, store, ERR_CORRUPT, name, "cut");
        part->length = all;
    }
    tamper_put(desk->raw, &web, whole);
    expect_document(desk, store, &web, "o", "s", "e f", "whole again");
}

static void each_bit_and_each_cut_of_a_document_is_found(void)
{
    struct desk desk;
    struct store *store;
    struct document whole = DOCUMENT_INIT, changed = DOCUMENT_INIT;

    desk_init(&desk);
    store = attach(&desk, ",identity", SEAL_ALL);
    tamper_write(store, &web, "o", "s", (const char *const[]){"e", "f", NULL}, &desk.error);
    tamper_take(desk.raw, &web, &whole);
    tamper_copy(&whole, &changed);
    flip_each_bit(&desk, store, &whole, &changed, &changed.open, "open part");
    flip_each_bit(&desk, store, &whole, &changed, &changed.secret, "secret part");
    flip_each_bit(&desk, store, &whole, &changed, &changed.entries[0], "entry 1");
    flip_each_bit(&desk, store, &whole, &changed, &changed.entries[1], "entry 2");
    document_done(&whole);
    document_done(&changed);
    store->ops->free(store);
    desk_done(&desk);
}

static void an_open_part_that_is_not_sealed_cannot_be_changed(void)
{
    struct desk desk;
    struct store *store;
    struct document below = DOCUMENT_INIT;

    desk_init(&desk);
    store = attach(&desk, "", SEAL_SECRET);
    tamper_write(store, &web, "open", "", NULL, &desk.error);
    tamper_take(desk.raw, &web, &below);
    EXPECT_STR(below.open.data, "open", "it can be read");
    EXPECT(below.secret.length > 0, "an empty secret part is sealed, too");
    below.open.data[0] = 'O';
    tamper_put(desk.raw, &web, &below);
    expect_found(&desk, store, ERR_CORRUPT, "open part", "changed");
    below.open.data[0] = 'o';
    tamper_put(desk.raw, &web, &below);
    expect_document(&desk, store, &web, "open", "", "", "whole again");
    document_done(&below);
    store->ops->free(store);
    desk_done(&desk);
}

static void swap(struct buf *a, struct buf *b)
{
    struct buf other = *a;

    *a = *b;
    *b = other;
}

/* Parts of two writes, of two documents, and entries in another order. */
static void nothing_is_exchanged(void)
{
    static const struct document_name api = {DOCUMENT_STATE, {"team", "api"}, NULL};
    struct desk desk;
    struct store *store;
    struct document before = DOCUMENT_INIT, now = DOCUMENT_INIT, other = DOCUMENT_INIT,
                    mixed = DOCUMENT_INIT;
    const char *const entries[] = {"a", "b", NULL};

    desk_init(&desk);
    store = attach(&desk, ",identity", SEAL_ALL);
    tamper_write(store, &web, "one", "uno", entries, &desk.error);
    tamper_take(desk.raw, &web, &before);
    tamper_write(store, &web, "two", "due", entries, &desk.error);
    tamper_take(desk.raw, &web, &now);
    tamper_write(store, &api, "api", "api", entries, &desk.error);
    tamper_take(desk.raw, &api, &other);

    static const struct {
        const char *note, *part;
        int from;               /* 0: the write before; 1: the other document; 2: the same */
        int part_to, part_from; /* 0 open, 1 secret, 2 and 3 entries */
    } rows[] = {
        {"the open part of an earlier write", "open part", 0, 0, 0},
        {"the secret part of an earlier write", "open part", 0, 1, 1},
        {"an entry of an earlier write", "entry 1", 0, 2, 2},
        {"the last entry of an earlier write", "entry 2", 0, 3, 3},
        {"another document's open part", "open part", 1, 0, 0},
        {"another document's secret part", "secret part", 1, 1, 1},
        {"another document's entry", "entry 2", 1, 3, 3},
        {"the secret part as the open one", "open part", 2, 0, 1},
        {"the open part as the secret one", "secret part", 2, 1, 0},
        {"an entry twice", "entry 2", 2, 3, 2},
        {"an entry as the secret part", "secret part", 2, 1, 2},
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct document from = DOCUMENT_INIT;
        struct buf *theirs[4], *ours[4];

        tamper_copy(rows[i].from == 0 ? &before : rows[i].from == 1 ? &other : &now, &from);
        tamper_copy(&now, &mixed);
        theirs[0] = &from.open, theirs[1] = &from.secret;
        theirs[2] = &from.entries[0], theirs[3] = &from.entries[1];
        ours[0] = &mixed.open, ours[1] = &mixed.secret;
        ours[2] = &mixed.entries[0], ours[3] = &mixed.entries[1];
        swap(ours[rows[i].part_to], theirs[rows[i].part_from]);
        tamper_put(desk.raw, &web, &mixed);
        expect_found(&desk, store, ERR_CORRUPT, rows[i].part, rows[i].note);
        document_done(&from);
    }
    /* A whole document that is put back is not found: seal.h says so. */
    tamper_put(desk.raw, &web, &before);
    expect_document(&desk, store, &web, "one", "uno", "a b", "an earlier document");
    document_done(&before);
    document_done(&now);
    document_done(&other);
    document_done(&mixed);
    store->ops->free(store);
    desk_done(&desk);
}

static void an_entry_may_have_another_key(void)
{
    struct desk desk;
    struct store *store;
    struct store_file *file = NULL;
    struct document document = DOCUMENT_INIT;

    desk_init(&desk);
    store = attach(&desk, "", SEAL_ALL);
    tamper_write(store, &web, "open", "secret", (const char *const[]){"one", NULL}, &desk.error);
    key_folder_use(desk.folder, "k2");
    store->ops->open(store, &web, STORE_WRITE, &plain, &file, NULL);
    EXPECT_INT(store->ops->read(file, &plain, &document, &desk.error), 0, desk.error.message);
    EXPECT_INT(store->ops->append(file, &plain, "two", 3, &desk.error), 0, desk.error.message);
    store->ops->close(file);
    document_done(&document);
    store->ops->free(store);
    store = attach(&desk, "", SEAL_ALL);
    expect_document(&desk, store, &web, "open", "secret", "one two", "both keys");
    key_folder_remove(desk.folder, "k2");
    store->ops->free(store);
    store = attach(&desk, "", SEAL_ALL);
    EXPECT_INT(tamper_read(store, &web, &document, &desk.error), ERR_UNAVAILABLE, "no k2");
    EXPECT(strstr(desk.error.message, "the entry 2 of state of team/web"), desk.error.message);
    EXPECT(strstr(desk.error.message, "its key \"k2\""), desk.error.message);
    document_done(&document);
    store->ops->free(store);
    desk_done(&desk);
}

/* ---- What is not touched ---- */

/* Every change of a handle that could not read, for want of a key. */
static void expect_untouched(struct desk *desk, struct store *store, const char *reason)
{
    const struct store_ops *ops = store->ops;
    const struct document document = DOCUMENT_INIT;
    struct document before = DOCUMENT_INIT, after = DOCUMENT_INIT, none = DOCUMENT_INIT;
    struct store_file *file = NULL;

    tamper_take(desk->raw, &web, &before);
    ops->open(store, &web, STORE_WRITE, &plain, &file, NULL);
    for (int call = 0; call < 4; call++) {
        int r;

        err_clear(&desk->error);
        r = call == 0   ? ops->read(file, &plain, &none, &desk->error)
            : call == 1 ? ops->write(file, &plain, &document, &desk->error)
            : call == 2 ? ops->append(file, &plain, "x", 1, &desk->error)
                        : ops->remove(file, &plain, &desk->error);
        EXPECT_INT(r, ERR_UNAVAILABLE, reason);
        EXPECT_STR(desk->error.reason, reason, "its reason");
    }
    ops->close(file);
    EXPECT_INT(store_drop(store, &web, &plain, &desk->error), ERR_UNAVAILABLE, "drop");
    tamper_take(desk->raw, &web, &after);
    EXPECT(before.secret.length == after.secret.length &&
               memcmp(before.secret.data, after.secret.data, after.secret.length) == 0,
           "as it was");
    document_done(&before);
    document_done(&after);
    document_done(&none);
}

static void a_document_whose_key_is_not_at_hand_stays(void)
{
    struct desk desk;
    struct store *store;

    desk_init(&desk);
    store = attach(&desk, "", SEAL_SECRET);
    tamper_write(store, &web, "open", "secret", NULL, &desk.error);
    store->ops->free(store);
    key_folder_use(desk.folder, "k2");
    key_folder_remove(desk.folder, "k1");
    store = attach(&desk, "", SEAL_SECRET);
    expect_untouched(&desk, store, SEAL_MISSING);
    key_folder_add(desk.folder, "k1", 9);
    expect_untouched(&desk, store, SEAL_UNAVAILABLE);
    key_folder_add(desk.folder, "k1", 1);
    expect_document(&desk, store, &web, "open", "secret", "", "the key is back");
    store->ops->free(store);
    desk_done(&desk);
}

/* ---- Turning it on and off ---- */

static void sealing_is_turned_on_with_identity(void)
{
    struct desk desk;
    struct store *store;
    struct store_file *file = NULL;
    struct document document = DOCUMENT_INIT;

    desk_init(&desk);
    tamper_write(desk.raw, &web, "open", "secret", (const char *const[]){"one", NULL}, NULL);
    store = attach(&desk, "", SEAL_SECRET);
    expect_untouched(&desk, store, SEAL_NOT_SEALED);
    EXPECT(strstr(desk.error.message, "add \"identity\" to --state-key"), desk.error.message);
    store->ops->free(store);
    store = attach(&desk, ",identity", SEAL_SECRET);
    expect_document(&desk, store, &web, "open", "secret", "one", "as it was written");
    store->ops->open(store, &web, STORE_WRITE, &plain, &file, NULL);
    EXPECT_INT(store->ops->read(file, &plain, &document, &desk.error), 0, desk.error.message);
    EXPECT_INT(store->ops->append(file, &plain, "two", 3, &desk.error), ERR_TOO_LARGE,
               "the next save is a whole one");
    err_clear(&desk.error);
    EXPECT_INT(store->ops->write(file, &plain, &document, &desk.error), 0, desk.error.message);
    EXPECT_INT(store->ops->append(file, &plain, "two", 3, &desk.error), 0, desk.error.message);
    store->ops->close(file);
    store->ops->free(store);
    store = attach(&desk, "", SEAL_SECRET);
    expect_document(&desk, store, &web, "open", "secret", "two", "sealed");
    store->ops->free(store);
    document_done(&document);
    desk_done(&desk);
}

/* Entries that are sealed belong to no document that never was. */
static void what_is_left_of_a_sealed_document_is_not_read(void)
{
    struct document below = DOCUMENT_INIT;
    struct desk desk;
    struct store *store;

    desk_init(&desk);
    store = attach(&desk, ",identity", SEAL_SECRET);
    tamper_write(store, &web, "open", "secret", (const char *const[]){"one", NULL}, &desk.error);
    tamper_take(desk.raw, &web, &below);
    buf_reset(&below.secret);
    tamper_put(desk.raw, &web, &below);
    expect_found(&desk, store, ERR_CORRUPT, "secret part", "gone");
    buf_add_str(&below.secret, "another");
    tamper_put(desk.raw, &web, &below);
    expect_found(&desk, store, ERR_CORRUPT, "secret part", "not sealed");
    document_done(&below);
    store->ops->free(store);
    desk_done(&desk);
}

static void sealing_is_turned_off_with_none(void)
{
    struct desk desk;
    struct store *store;
    struct store_file *file = NULL;
    struct document document = DOCUMENT_INIT;

    desk_init(&desk);
    store = attach(&desk, "", SEAL_ALL);
    tamper_write(store, &web, "open", "secret", (const char *const[]){"one", NULL}, &desk.error);
    store->ops->free(store);
    store = attach(&desk, ",identity", SEAL_NONE);
    store->ops->open(store, &web, STORE_WRITE, &plain, &file, NULL);
    EXPECT_INT(store->ops->read(file, &plain, &document, &desk.error), 0, desk.error.message);
    EXPECT_STR(document.open.data, "open", "what was sealed is opened");
    EXPECT_INT(store->ops->append(file, &plain, "two", 3, &desk.error), ERR_TOO_LARGE,
               "the next save is a whole one");
    EXPECT_INT(store->ops->write(file, &plain, &document, &desk.error), 0, "write");
    EXPECT_INT(store->ops->append(file, &plain, "two", 3, &desk.error), 0, "append");
    store->ops->close(file);
    store->ops->free(store);
    document_done(&document);
    expect_document(&desk, desk.raw, &web, "open", "secret", "two", "in clear");
    desk_done(&desk);
}

/* ---- Answers that are lost ---- */

static enum store_fault fail_appends(void *arg, const struct faulty_event *event)
{
    return event->call == FAULTY_APPEND && !event->is_done ? *(enum store_fault *)arg : FAULT_NONE;
}

/* An entry that was appended without an answer has its number; another one may not get it. */
static void an_append_in_doubt_is_read_first(void)
{
    static const enum store_fault faults[] = {FAULT_BEFORE, FAULT_AFTER};

    for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
        _cleanup_(store_faults_free_p) struct store_faults *lost = store_faults_new();
        enum store_fault fault = FAULT_NONE;
        struct document document = DOCUMENT_INIT;
        struct store_file *file = NULL;
        struct desk desk;
        struct store *store;

        desk_init(&desk);
        store = seal_store_new(faulty_store_new(lost, memory_store_new(desk.medium)),
                               key_folder_keys(desk.folder, ""), SEAL_SECRET);
        tamper_write(store, &web, "open", "secret", NULL, &desk.error);
        store->ops->open(store, &web, STORE_WRITE, &plain, &file, NULL);
        EXPECT_INT(store->ops->read(file, &plain, &document, &desk.error), 0, "read");
        store_faults_watch(lost, fail_appends, &fault);
        fault = faults[i];
        EXPECT_INT(store->ops->append(file, &plain, "one", 3, &desk.error), ERR_UNAVAILABLE,
                   "lost");
        fault = FAULT_NONE;
        EXPECT_INT(store->ops->append(file, &plain, "two", 3, &desk.error), ERR_CONFLICT, "doubt");
        err_clear(&desk.error);
        EXPECT_INT(store->ops->read(file, &plain, &document, &desk.error), 0, desk.error.message);
        EXPECT_INT(store->ops->append(file, &plain, "two", 3, &desk.error), 0, desk.error.message);
        store->ops->close(file);
        expect_document(&desk, store, &web, "open", "secret",
                        faults[i] == FAULT_AFTER ? "one two" : "two", "in order");
        document_done(&document);
        store->ops->free(store);
        desk_done(&desk);
    }
}

/* ---- Keys that change under way ---- */

static void another_key_holds_from_the_next_save_on(void)
{
    struct desk desk;
    struct store *store;

    desk_init(&desk);
    store = attach(&desk, "", SEAL_ALL);
    tamper_write(store, &web, "web", "web", NULL, &desk.error);
    key_folder_use(desk.folder, "k2");
    tamper_write(store, &plan, "plan", "plan", NULL, &desk.error);
    expect_document(&desk, store, &web, "web", "web", "", "by k1");
    key_folder_remove(desk.folder, "k1");
    expect_document(&desk, store, &web, "web", "web", "", "its seed is remembered");
    store->ops->free(store);
    store = attach(&desk, "", SEAL_ALL);
    expect_document(&desk, store, &plan, "plan", "plan", "", "by k2");
    expect_untouched(&desk, store, SEAL_MISSING);
    store->ops->free(store);
    desk_done(&desk);
}

SUITE(sealed_store, TEST(nothing_secret_is_below), TEST(no_two_parts_are_alike),
      TEST(each_bit_and_each_cut_of_a_document_is_found),
      TEST(an_open_part_that_is_not_sealed_cannot_be_changed), TEST(nothing_is_exchanged),
      TEST(an_entry_may_have_another_key), TEST(a_document_whose_key_is_not_at_hand_stays),
      TEST(sealing_is_turned_on_with_identity), TEST(what_is_left_of_a_sealed_document_is_not_read),
      TEST(sealing_is_turned_off_with_none), TEST(an_append_in_doubt_is_read_first),
      TEST(another_key_holds_from_the_next_save_on))
