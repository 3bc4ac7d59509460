#include "test/unit/engine/store_contract.h"

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "test/unit/suite.h"

#define KIB 1024u
#define MIB (1024u * KIB)

/* One scenario: a Spec of its own, and the store as two processes have it. */
struct scene {
    const struct store_fixture *fixture;
    const char *note; /* the scenario's name */
    struct store *store, *other;
    struct document_name name;
    struct error error; /* of the last call that failed */
};

static const struct store_call plain; /* no deadline, no cancel, no permit */

/* ---- Helpers ---- */

static struct store_file *open_in(struct scene *scene, struct store *store)
{
    struct store_file *file = NULL;

    if (store == scene->other && scene->fixture->break_lock)
        scene->fixture->break_lock(scene->fixture->arg, &scene->name);
    EXPECT_INT(store->ops->open(store, &scene->name, STORE_WRITE, &plain, &file, &scene->error), 0,
               scene->error.message);
    if (!file)
        abort();
    return file;
}

static struct store_file *open_one(struct scene *scene)
{
    return open_in(scene, scene->store);
}

static void close_file(struct store_file *file)
{
    file->store->ops->close(file);
}

/* Bytes that do not repeat, so that a piece in the wrong place shows; NULs among them. */
static void fill(struct buf *buf, size_t length, unsigned seed)
{
    uint32_t state = seed * 2654435761u + 1;

    buf_done(buf);
    buf_reserve(buf, length);
    for (size_t i = 0; i < length; i++) {
        state = state * 1664525 + 1013904223;
        buf_add_char(buf, (char)(state >> 24));
    }
}

static int write_bytes(struct scene *scene, struct store_file *file, const struct buf *open,
                       const struct buf *secret)
{
    const struct document document = {.open = *open, .secret = *secret};

    err_clear(&scene->error);
    return file->store->ops->write(file, &plain, &document, &scene->error);
}

static int write_text(struct scene *scene, struct store_file *file, const char *open,
                      const char *secret)
{
    _cleanup_buf_ struct buf open_bytes = BUF_INIT, secret_bytes = BUF_INIT;

    buf_add_str(&open_bytes, open);
    buf_add_str(&secret_bytes, secret);
    return write_bytes(scene, file, &open_bytes, &secret_bytes);
}

static int append_text(struct scene *scene, struct store_file *file, const char *text)
{
    err_clear(&scene->error);
    return file->store->ops->append(file, &plain, text, strlen(text), &scene->error);
}

static int remove_it(struct scene *scene, struct store_file *file)
{
    err_clear(&scene->error);
    return file->store->ops->remove(file, &plain, &scene->error);
}

static int read_it(struct scene *scene, struct store_file *file, struct document *ret)
{
    err_clear(&scene->error);
    return file->store->ops->read(file, &plain, ret, &scene->error);
}

static bool has_bytes(const struct buf *buf, const void *bytes, size_t length)
{
    return buf->length == length && (length == 0 || memcmp(buf->data, bytes, length) == 0);
}

static void expect_code(struct scene *scene, int actual, int expected, const char *what)
{
    _cleanup_free_ char *note = str_printf("%s: %s (%s)", scene->note, what, scene->error.message);

    EXPECT_INT(actual, expected, note);
    if (actual < 0 && actual == expected)
        EXPECT(scene->error.code == actual && *scene->error.reason && *scene->error.message, note);
}

static void expect_ok(struct scene *scene, int actual, const char *what)
{
    expect_code(scene, actual, 0, what);
}

static void expect_true_of(struct scene *scene, bool holds, const char *what)
{
    _cleanup_free_ char *note = str_printf("%s: %s", scene->note, what);

    EXPECT(holds, note);
}

/* entries: texts, NULL-terminated; NULL: none. */
static void expect_read(struct scene *scene, struct store_file *file, const char *open,
                        const char *secret, const char *const *entries, const char *what)
{
    struct document document = DOCUMENT_INIT;
    size_t n = 0;

    expect_ok(scene, read_it(scene, file, &document), what);
    expect_true_of(scene, has_bytes(&document.open, open, strlen(open)), what);
    expect_true_of(scene, has_bytes(&document.secret, secret, strlen(secret)), what);
    for (; entries && entries[n]; n++)
        expect_true_of(scene,
                       n < document.n_entries &&
                           has_bytes(&document.entries[n], entries[n], strlen(entries[n])),
                       entries[n]);
    expect_true_of(scene, document.n_entries == n, what);
    document_done(&document);
}

/* As a process reads it that begins now. */
static void expect_kept(struct scene *scene, const char *open, const char *secret,
                        const char *const *entries, const char *what)
{
    struct store *store = scene->fixture->attach(scene->fixture->arg);
    struct store_file *file = NULL;

    expect_ok(scene,
              store->ops->open(store, &scene->name, STORE_READ, &plain, &file, &scene->error),
              what);
    expect_read(scene, file, open, secret, entries, what);
    close_file(file);
    store->ops->free(store);
}

static void expect_none(struct scene *scene, const char *what)
{
    struct store *store = scene->fixture->attach(scene->fixture->arg);
    struct document document = DOCUMENT_INIT;
    struct store_file *file = NULL;

    expect_ok(scene,
              store->ops->open(store, &scene->name, STORE_READ, &plain, &file, &scene->error),
              what);
    expect_code(scene, read_it(scene, file, &document), ERR_NOT_FOUND, what);
    expect_true_of(scene, document.open.length + document.n_entries == 0, what);
    close_file(file);
    store->ops->free(store);
}

static bool can_append(const struct scene *scene)
{
    return scene->store->ops->append != NULL;
}

/* ---- Writing and reading ---- */

static void never_written(struct scene *scene)
{
    struct store_file *file = open_one(scene);
    struct document document = DOCUMENT_INIT;

    expect_code(scene, read_it(scene, file, &document), ERR_NOT_FOUND, "read");
    expect_ok(scene, remove_it(scene, file), "removing nothing");
    if (can_append(scene))
        expect_code(scene, append_text(scene, file, "a"), ERR_NOT_FOUND, "nothing to append to");
    close_file(file);
    expect_none(scene, "after all that");
}

static void both_parts(struct scene *scene)
{
    static const struct {
        const char *open, *secret;
    } rows[] = {{"open", ""},         {"open", "secret"}, {"open", "another"},
                {"other", "another"}, {"", "secret"},     {"", ""},
                {"open", "secret"},   {"open", "secret"}, {"only open", ""}};
    struct store_file *file = open_one(scene);

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        expect_ok(scene, write_text(scene, file, rows[i].open, rows[i].secret), "write");
        expect_kept(scene, rows[i].open, rows[i].secret, NULL, "by another");
        if (i % 2)
            expect_read(scene, file, rows[i].open, rows[i].secret, NULL, "by itself");
    }
    close_file(file);
    file = open_one(scene);
    expect_code(scene, write_text(scene, file, "blind", ""), ERR_CONFLICT, "not read before");
    expect_read(scene, file, "only open", "", NULL, "it changed nothing");
    expect_ok(scene, write_text(scene, file, "seen", ""), "read before");
    close_file(file);
    expect_kept(scene, "seen", "", NULL, "the last");
}

static void sizes(struct scene *scene)
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
    struct store_file *file = open_one(scene);

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_buf_ struct buf open = BUF_INIT, secret = BUF_INIT;
        _cleanup_free_ char *what = str_printf("%zu and %zu bytes", rows[i].open, rows[i].secret);
        struct document document = DOCUMENT_INIT;

        fill(&open, rows[i].open, (unsigned)i);
        fill(&secret, rows[i].secret, (unsigned)i + 100);
        expect_ok(scene, write_bytes(scene, file, &open, &secret), what);
        expect_ok(scene, read_it(scene, file, &document), what);
        expect_true_of(scene, has_bytes(&document.open, open.data, open.length), what);
        expect_true_of(scene, has_bytes(&document.secret, secret.data, secret.length), what);
        document_done(&document);
    }
    expect_ok(scene, remove_it(scene, file), "remove");
    close_file(file);
    expect_none(scene, "removed");
}

static void any_bytes(struct scene *scene)
{
    static const char nul[] = "a\0b\0", all[] = "\0\n\r\xff\xfe{}\"\\%s";
    struct store_file *file = open_one(scene);
    _cleanup_buf_ struct buf open = BUF_INIT, secret = BUF_INIT;
    struct document document = DOCUMENT_INIT;

    buf_add(&open, nul, sizeof(nul));
    buf_add(&secret, all, sizeof(all));
    expect_ok(scene, write_bytes(scene, file, &open, &secret), "write");
    if (can_append(scene)) {
        expect_ok(scene, file->store->ops->append(file, &plain, all, sizeof(all), &scene->error),
                  "append");
        expect_ok(scene, file->store->ops->append(file, &plain, "", 0, &scene->error),
                  "append of nothing");
    }
    expect_ok(scene, read_it(scene, file, &document), "read");
    expect_true_of(scene, has_bytes(&document.open, nul, sizeof(nul)), "open");
    expect_true_of(scene, has_bytes(&document.secret, all, sizeof(all)), "secret");
    if (can_append(scene))
        expect_true_of(scene,
                       document.n_entries == 2 &&
                           has_bytes(&document.entries[0], all, sizeof(all)) &&
                           has_bytes(&document.entries[1], "", 0),
                       "entries");
    document_done(&document);
    close_file(file);
}

static void read_replaces_what_was_there(struct scene *scene)
{
    struct store_file *file = open_one(scene);
    struct document document = DOCUMENT_INIT;

    expect_ok(scene, write_text(scene, file, "first", "secret"), "write");
    expect_ok(scene, read_it(scene, file, &document), "read");
    expect_ok(scene, write_text(scene, file, "2nd", ""), "write");
    expect_ok(scene, read_it(scene, file, &document), "read into the same");
    expect_true_of(scene, has_bytes(&document.open, "2nd", 3) && !document.secret.length, "anew");
    document_done(&document);
    close_file(file);
}

/* ---- Two writers ---- */

static void conflicts(struct scene *scene)
{
    struct store_file *first = open_one(scene), *second = open_in(scene, scene->other);
    struct document document = DOCUMENT_INIT;

    expect_ok(scene, write_text(scene, first, "1", "s1"), "the first creates");
    expect_code(scene, write_text(scene, second, "2", "s2"), ERR_CONFLICT, "both saw none");
    expect_code(scene, remove_it(scene, second), ERR_CONFLICT, "it saw none");
    if (can_append(scene))
        expect_code(scene, append_text(scene, second, "x"), ERR_CONFLICT, "it saw none");
    expect_read(scene, second, "1", "s1", NULL, "nothing changed");
    expect_ok(scene, write_text(scene, second, "2", "s2"), "it has seen it now");
    expect_code(scene, write_text(scene, first, "3", ""), ERR_CONFLICT, "stale");
    expect_code(scene, remove_it(scene, first), ERR_CONFLICT, "stale");
    if (can_append(scene))
        expect_code(scene, append_text(scene, first, "x"), ERR_CONFLICT, "stale");
    expect_kept(scene, "2", "s2", NULL, "nothing changed");
    expect_read(scene, first, "2", "s2", NULL, "read brings it up to date");
    expect_ok(scene, remove_it(scene, first), "remove");
    expect_code(scene, write_text(scene, second, "4", ""), ERR_CONFLICT, "it is gone");
    expect_code(scene, remove_it(scene, second), ERR_CONFLICT, "it is gone");
    expect_code(scene, read_it(scene, second, &document), ERR_NOT_FOUND, "it is gone");
    expect_ok(scene, write_text(scene, second, "5", ""), "made again");
    expect_code(scene, write_text(scene, first, "6", ""), ERR_CONFLICT, "it saw none");
    close_file(second);
    close_file(first);
    expect_kept(scene, "5", "", NULL, "the last");
}

static void appends_conflict(struct scene *scene)
{
    struct store_file *first, *second;

    if (!can_append(scene))
        return;
    first = open_one(scene);
    second = open_in(scene, scene->other);
    expect_ok(scene, write_text(scene, first, "1", ""), "write");
    expect_read(scene, second, "1", "", NULL, "both see it");
    expect_ok(scene, append_text(scene, first, "a"), "the first entry");
    expect_code(scene, append_text(scene, second, "x"), ERR_CONFLICT, "its first entry");
    expect_code(scene, write_text(scene, second, "2", ""), ERR_CONFLICT, "folding");
    expect_code(scene, remove_it(scene, second), ERR_CONFLICT, "removing");
    expect_read(scene, second, "1", "", (const char *[]){"a", NULL}, "nothing changed");
    expect_ok(scene, append_text(scene, second, "b"), "it has seen it now");
    expect_code(scene, append_text(scene, first, "x"), ERR_CONFLICT, "stale");
    expect_code(scene, write_text(scene, first, "2", ""), ERR_CONFLICT, "stale");
    expect_read(scene, first, "1", "", (const char *[]){"a", "b", NULL}, "in order");
    expect_ok(scene, write_text(scene, first, "2", ""), "folded");
    expect_code(scene, append_text(scene, second, "x"), ERR_CONFLICT, "to what was folded");
    expect_read(scene, second, "2", "", NULL, "folded");
    expect_ok(scene, append_text(scene, second, "c"), "anew");
    close_file(second);
    close_file(first);
    expect_kept(scene, "2", "", (const char *[]){"c", NULL}, "the last");
}

static void locks(struct scene *scene)
{
    struct store_file *first, *second = NULL;

    if (!scene->fixture->break_lock)
        return;
    first = open_one(scene);
    expect_code(scene,
                scene->other->ops->open(scene->other, &scene->name, STORE_WRITE, &plain, &second,
                                        &scene->error),
                ERR_CONFLICT, "open to write");
    expect_true_of(scene, str_equal(scene->error.reason, "StateLocked") && !second, "locked");
    expect_ok(scene, write_text(scene, first, "1", ""), "write");
    expect_kept(scene, "1", "", NULL, "it can be read meanwhile");
    close_file(first);
    expect_ok(scene,
              scene->other->ops->open(scene->other, &scene->name, STORE_WRITE, &plain, &second,
                                      &scene->error),
              "free again");
    close_file(second);
}

/* ---- Removing ---- */

static void removes(struct scene *scene)
{
    struct store_file *file = open_one(scene);

    for (unsigned i = 0; i < 3; i++) {
        expect_ok(scene, write_text(scene, file, "open", "secret"), "write");
        if (can_append(scene))
            expect_ok(scene, append_text(scene, file, "entry"), "append");
        if (i == 2)
            expect_read(scene, file, "open", "secret",
                        can_append(scene) ? (const char *[]){"entry", NULL} : NULL, "there");
        expect_ok(scene, remove_it(scene, file), "remove");
        expect_none(scene, "gone");
        expect_ok(scene, remove_it(scene, file), "again");
    }
    close_file(file);
}

/* ---- Appending ---- */

static void append_numbers(struct scene *scene, struct store_file *file, size_t from, size_t to,
                           size_t length)
{
    for (size_t i = from; i < to; i++) {
        _cleanup_buf_ struct buf entry = BUF_INIT;

        fill(&entry, length, (unsigned)i);
        err_clear(&scene->error);
        expect_ok(scene,
                  file->store->ops->append(file, &plain, entry.data, entry.length, &scene->error),
                  "append");
    }
}

static void expect_numbers(struct scene *scene, struct store_file *file, size_t count,
                           size_t length)
{
    struct document document = DOCUMENT_INIT;

    expect_ok(scene, read_it(scene, file, &document), "read");
    expect_true_of(scene, document.n_entries == count, "all entries");
    for (size_t i = 0; i < count && i < document.n_entries; i++) {
        _cleanup_buf_ struct buf entry = BUF_INIT;

        fill(&entry, length, (unsigned)i);
        expect_true_of(scene, has_bytes(&document.entries[i], entry.data, entry.length), "order");
    }
    document_done(&document);
}

static void appends(struct scene *scene)
{
    struct store_file *file;

    if (!can_append(scene))
        return;
    file = open_one(scene);
    expect_ok(scene, write_text(scene, file, "snapshot", "secret"), "write");
    append_numbers(scene, file, 0, 40, 5000);
    expect_numbers(scene, file, 40, 5000);
    append_numbers(scene, file, 40, 50, 5000);
    close_file(file);
    file = open_in(scene, scene->other);
    expect_numbers(scene, file, 50, 5000);
    append_numbers(scene, file, 50, 60, 5000);
    expect_numbers(scene, file, 60, 5000);
    expect_ok(scene, write_text(scene, file, "folded", ""), "write");
    expect_kept(scene, "folded", "", NULL, "without entries");
    append_numbers(scene, file, 0, 2, 300 * KIB);
    expect_numbers(scene, file, 2, 300 * KIB);
    expect_ok(scene, remove_it(scene, file), "remove");
    expect_ok(scene, write_text(scene, file, "new", ""), "write");
    close_file(file);
    expect_kept(scene, "new", "", NULL, "without entries");
}

/* ---- Lists ---- */

struct found {
    const struct document_name *expected;
    size_t count;
    unsigned seen; /* bits of expected */
    size_t others;
};

static bool is_same_name(const struct document_name *a, const struct document_name *b)
{
    return a->kind == b->kind && str_equal(a->item, b->item) &&
           str_equal(a->spec.name, b->spec.name) &&
           str_equal(a->spec.namespace_name, b->spec.namespace_name);
}

static int on_name(void *arg, const struct document_name *name, struct error *error)
{
    struct found *found = arg;
    size_t i = 0;

    (void)error;
    while (i < found->count && !is_same_name(&found->expected[i], name))
        i++;
    if (i == found->count || (found->seen & 1u << i))
        found->others++;
    else
        found->seen |= 1u << i;
    return 0;
}

static int stop_at_once(void *arg, const struct document_name *name, struct error *error)
{
    (void)name;
    ++*(int *)arg;
    return err_set(error, ERR_GONE, NULL, "enough");
}

static void write_all(struct scene *scene, const struct document_name *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct store_file *file;

        scene->name = names[i];
        file = open_one(scene);
        expect_ok(scene, write_text(scene, file, "x", i % 2 ? "s" : ""), "write");
        close_file(file);
    }
}

static void lists(struct scene *scene)
{
    const struct document_name names[] = {
        {DOCUMENT_PLAN, {"team", "lists"}, "r-1"},   {DOCUMENT_PLAN, {"team", "lists"}, "r-2"},
        {DOCUMENT_PLAN, {"team", "lists-2"}, "r-1"}, {DOCUMENT_PLAN, {"team-2", "lists"}, "r-1"},
        {DOCUMENT_TOLD, {"team", "lists"}, "r-1"},   {DOCUMENT_STATE, {"team", "lists"}, NULL},
    };
    struct found of_spec = {names, 2, 0, 0}, of_all = {names, 4, 0, 0}, none = {names, 6, 0, 0};
    struct store *store = scene->store;
    int calls = 0;

    write_all(scene, names, ARRAY_SIZE(names));
    err_clear(&scene->error);
    expect_ok(scene,
              store->ops->list(store, DOCUMENT_PLAN, &names[0].spec, on_name, &of_spec, &plain,
                               &scene->error),
              "of a Spec");
    expect_true_of(scene, of_spec.seen == 3 && of_spec.others == 0, "of a Spec");
    expect_ok(scene,
              store->ops->list(store, DOCUMENT_PLAN, NULL, on_name, &of_all, &plain, &scene->error),
              "of all");
    expect_true_of(scene, of_all.seen == 15, "of all");
    expect_ok(scene,
              store->ops->list(store, DOCUMENT_RELEASE, &names[0].spec, on_name, &none, &plain,
                               &scene->error),
              "none of that kind");
    expect_true_of(scene, none.seen == 0 && none.others == 0, "none of that kind");
    expect_code(scene,
                store->ops->list(store, DOCUMENT_PLAN, &names[0].spec, stop_at_once, &calls, &plain,
                                 &scene->error),
                ERR_GONE, "ended by the callback");
    expect_true_of(scene, calls == 1, "called once");
}

/* ---- Names ---- */

static void odd_names(struct scene *scene)
{
    char long_item[254], other_long_item[254];
    const struct document_name names[] = {
        {DOCUMENT_TOLD, {"odd", "names"}, "a/b"},
        {DOCUMENT_TOLD, {"odd", "names"}, "a%2Fb"},
        {DOCUMENT_TOLD, {"odd", "names"}, "a"},
        {DOCUMENT_TOLD, {"odd", "names"}, "A"},
        {DOCUMENT_TOLD, {"odd", "names"}, ".."},
        {DOCUMENT_TOLD, {"odd", "names"}, "ü € \n\"'\\{}"},
        {DOCUMENT_TOLD, {"odd", "names"}, long_item},
        {DOCUMENT_TOLD, {"odd", "names"}, other_long_item},
        {DOCUMENT_TOLD, {"odd", "names"}, "a.head"},
        {DOCUMENT_TOLD, {"odd/names", "x"}, "a"},
        {DOCUMENT_TOLD, {"odd", "names/x"}, "a"},
        {DOCUMENT_TOLD, {"..", "."}, "a"},
    };
    struct found of_spec = {names, 9, 0, 0};

    memset(long_item, '/', sizeof(long_item) - 1);
    long_item[253] = '\0';
    memset(other_long_item, '/', sizeof(other_long_item) - 1);
    other_long_item[252] = 'x';
    other_long_item[253] = '\0';
    write_all(scene, names, ARRAY_SIZE(names));
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        scene->name = names[i];
        expect_kept(scene, "x", i % 2 ? "s" : "", NULL, names[i].item);
    }
    err_clear(&scene->error);
    expect_ok(scene,
              scene->store->ops->list(scene->store, DOCUMENT_TOLD, &names[0].spec, on_name,
                                      &of_spec, &plain, &scene->error),
              "list");
    expect_true_of(scene, of_spec.seen == 511 && of_spec.others == 0, "each by its own name");
}

static void describes(struct scene *scene)
{
    struct document_name item = scene->name;
    _cleanup_free_ char *state = NULL, *told = NULL, *again = NULL;

    item.kind = DOCUMENT_TOLD;
    item.item = "call-1";
    state = scene->store->ops->describe(scene->store, &scene->name);
    told = scene->store->ops->describe(scene->store, &item);
    again = scene->store->ops->describe(scene->store, &item);
    expect_true_of(scene, state && *state && !str_equal(state, told), "told apart");
    expect_true_of(scene, str_equal(told, again), "the same each time");
    expect_true_of(scene, scene->store->ops->type && *scene->store->ops->type, "has a type");
}

/* ---- Permits and cancels ---- */

struct refusal {
    enum permit_use refused;
    unsigned asked;
};

static int refuse(void *arg, enum permit_use use, struct error *error)
{
    struct refusal *refusal = arg;

    refusal->asked++;
    return use == refusal->refused ? err_set(error, ERR_FENCED, NULL, "the Lease is lost") : 0;
}

/* What a call does that must change nothing. */
static void expect_refused(struct scene *scene, struct store_file *file,
                           const struct store_call *call, int code, const char *what)
{
    const struct store_ops *ops = file->store->ops;
    _cleanup_buf_ struct buf open = BUF_INIT;
    struct document document = DOCUMENT_INIT;

    buf_add_str(&open, "refused");
    document.open = open;
    document.secret = open;
    err_clear(&scene->error);
    expect_code(scene, ops->write(file, call, &document, &scene->error), code, what);
    if (ops->append)
        expect_code(scene, ops->append(file, call, "x", 1, &scene->error), code, what);
    expect_code(scene, ops->remove(file, call, &scene->error), code, what);
    expect_kept(scene, "open", "secret", NULL, what);
}

static void asks_the_permit(struct scene *scene)
{
    struct store_file *file = open_one(scene);
    struct refusal refusal = {PERMIT_ACT, 0};
    const struct permit permit = {refuse, &refusal};
    const struct document document = DOCUMENT_INIT;
    struct document back = DOCUMENT_INIT;
    struct store_call act = {.permit = &permit, .use = PERMIT_ACT};
    struct store_call tell = {.permit = &permit, .use = PERMIT_TELL};

    expect_ok(scene, write_text(scene, file, "open", "secret"), "write");
    expect_refused(scene, file, &act, ERR_FENCED, "ACT is refused");
    expect_ok(scene, file->store->ops->read(file, &act, &back, &scene->error), "read needs none");
    document_done(&back);
    refusal = (struct refusal){PERMIT_TELL, 0};
    expect_refused(scene, file, &tell, ERR_FENCED, "TELL is refused");
    expect_true_of(scene, refusal.asked >= 2, "it was asked");
    expect_ok(scene, file->store->ops->write(file, &act, &document, &scene->error), "ACT goes");
    refusal.refused = PERMIT_ACT;
    if (can_append(scene))
        expect_ok(scene, file->store->ops->append(file, &tell, "x", 1, &scene->error), "TELL goes");
    expect_ok(scene, file->store->ops->remove(file, &tell, &scene->error), "TELL goes");
    close_file(file);
    expect_none(scene, "removed");
}

static void is_cancelled(struct scene *scene)
{
    struct store_file *file = open_one(scene);
    _cleanup_(cancel_free_p) struct cancel *cancel = cancel_new(NULL);
    const struct store_call call = {.cancel = cancel};
    struct document document = DOCUMENT_INIT;

    expect_ok(scene, write_text(scene, file, "open", "secret"), "write");
    expect_ok(scene, file->store->ops->read(file, &call, &document, &scene->error), "not yet");
    cancel_fire(cancel, "Superseded");
    expect_refused(scene, file, &call, ERR_CANCELLED, "fired before");
    expect_code(scene, file->store->ops->read(file, &call, &document, &scene->error), ERR_CANCELLED,
                "read");
    document_done(&document);
    close_file(file);
}

static void reading_handles_change_nothing(struct scene *scene)
{
    struct store_file *file = open_one(scene);

    expect_ok(scene, write_text(scene, file, "open", "secret"), "write");
    close_file(file);
    expect_ok(scene,
              scene->store->ops->open(scene->store, &scene->name, STORE_READ, &plain, &file,
                                      &scene->error),
              "open to read");
    expect_read(scene, file, "open", "secret", NULL, "read");
    expect_refused(scene, file, &plain, ERR_INVALID, "open to read");
    close_file(file);
}

/* ---- Damage ---- */

static void expect_damage(struct scene *scene, enum damage_part part, enum damage_how how)
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
    file = open_one(scene);
    fill(&large, 800 * KIB, 1);
    expect_ok(scene, write_bytes(scene, file, &large, &large), what);
    for (size_t i = 0; i < 3 && part == DAMAGE_ENTRIES; i++)
        expect_ok(scene, append_text(scene, file, "an entry of some length"), what);
    if (scene->fixture->damage(scene->fixture->arg, &scene->name, part, how, &expected)) {
        close_file(file);
        file = open_one(scene);
        expect_code(scene, read_it(scene, file, &document), code, what);
        expect_true_of(scene, document.open.length + document.n_entries == 0, what);
        expect_true_of(scene, !expected || strstr(scene->error.message, expected), what);
        if (code == ERR_CORRUPT && can_append(scene))
            expect_code(scene, append_text(scene, file, "x"), ERR_CORRUPT, "append to damage");
        expect_ok(scene, write_bytes(scene, file, &large, &large), "the same bytes anew");
        expect_ok(scene, read_it(scene, file, &document), "whole again");
        expect_true_of(scene,
                       has_bytes(&document.secret, large.data, large.length) &&
                           has_bytes(&document.open, large.data, large.length),
                       what);
    }
    document_done(&document);
    close_file(file);
    scene->name.spec.name = scene->note;
}

static void tells_damage(struct scene *scene)
{
    for (int part = DAMAGE_HEAD; part <= DAMAGE_ENTRIES; part++)
        for (int how = DAMAGE_CHANGED; how <= DAMAGE_MISSING; how++)
            if (part != DAMAGE_ENTRIES || can_append(scene))
                expect_damage(scene, (enum damage_part)part, (enum damage_how)how);
}

/* ---- All of them ---- */

static const struct {
    const char *name; /* the Spec's, too */
    void (*run)(struct scene *scene);
} scenarios[] = {
    {"never-written", never_written},
    {"both-parts", both_parts},
    {"sizes", sizes},
    {"any-bytes", any_bytes},
    {"read-replaces", read_replaces_what_was_there},
    {"conflicts", conflicts},
    {"appends-conflict", appends_conflict},
    {"locks", locks},
    {"removes", removes},
    {"appends", appends},
    {"lists", lists},
    {"odd-names", odd_names},
    {"describes", describes},
    {"permit", asks_the_permit},
    {"cancel", is_cancelled},
    {"reading-handles", reading_handles_change_nothing},
    {"damage", tells_damage},
};

void store_contract_check(const struct store_fixture *fixture)
{
    for (size_t i = 0; i < ARRAY_SIZE(scenarios); i++) {
        struct scene scene = {
            .fixture = fixture,
            .note = scenarios[i].name,
            .store = fixture->attach(fixture->arg),
            .other = fixture->attach(fixture->arg),
            .name = {DOCUMENT_STATE, {"team", scenarios[i].name}, NULL},
        };

        scenarios[i].run(&scene);
        scene.store->ops->free(scene.store);
        scene.other->ops->free(scene.other);
    }
}
