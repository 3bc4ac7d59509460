/* State moves from one store in memory to another, and back, killed at each change. */
#include "controller/state/copy.h"

#include <stdlib.h>

#include "controller/state/view.h"
#include "engine/base/limits.h"
#include "engine/base/str.h"
#include "engine/release/document_history.h"
#include "engine/state/codec.h"
#include "engine/store/identity_document.h"
#include "engine/store/names.h"
#include "test/unit/engine/faulty_store.h"
#include "test/unit/engine/memory_store.h"
#include "test/unit/runtimes/seal/key_folder.h"
#include "test/unit/suite.h"

static const struct store_call plain;
static const struct spec_key web = {"team", "web"};
static const struct document_name names[] = {
    {DOCUMENT_STATE, {"team", "web"}, NULL},       {DOCUMENT_STATE, {"team", "db"}, NULL},
    {DOCUMENT_OUTCOME, {"team", "web"}, "call-1"}, {DOCUMENT_PLAN, {"team", "web"}, "web-3"},
    {DOCUMENT_APPROVAL, {"team", "web"}, "web-4"}, {DOCUMENT_SPEC, {"team", "web"}, "abc"},
};

struct end {
    struct memory_medium *medium;
    struct store_faults *faults;
    struct state_side side;
};

struct stage {
    struct end from, to;
    struct state_copied copied;
};

/* ---- Both ends ---- */

static void end_open(struct end *end, const char *place, bool has_releases)
{
    struct store *store = faulty_store_new(end->faults, memory_store_new(end->medium));

    end->side = (struct state_side){.base = store,
                                    .store = store,
                                    .history = document_history_new(store),
                                    .place = place,
                                    .has_releases = has_releases};
}

static void end_close(struct end *end)
{
    end->side.history->ops->free(end->side.history);
    end->side.store->ops->free(end->side.store);
}

static void write_document(struct store *store, const struct document_name *name,
                           const char *content)
{
    struct document document = DOCUMENT_INIT, there = DOCUMENT_INIT;
    struct store_file *file = NULL;

    EXPECT_INT(store->ops->open(store, name, STORE_WRITE, &plain, &file, NULL), 0, content);
    store->ops->read(file, &plain, &there, NULL);
    buf_add_str(&document.open, content);
    buf_add_str(&document.secret, "s3cret");
    EXPECT_INT(store->ops->write(file, &plain, &document, NULL), 0, content);
    store->ops->close(file);
    document_done(&document);
    document_done(&there);
}

static const struct state_head head = {.spec_namespace = "team",
                                       .spec_name = "web",
                                       .spec_uid = "u1",
                                       .revision = 3,
                                       .generation = 1,
                                       .serial = 7};

/* With an entry, which says that the revision is 4. */
static void write_state(struct store *store, const struct document_name *name)
{
    struct state *state = state_new(&head);
    struct state_head later = head;
    struct changes changes = {0};
    struct document document = DOCUMENT_INIT;
    struct store_file *file = NULL;
    _cleanup_buf_ struct buf entry = BUF_INIT;

    later.revision = 4;
    later.serial = 8;
    EXPECT_INT(state_encode(state, &document, NULL), 0, "State");
    EXPECT_INT(entry_encode(&head, &later, &changes, &entry, NULL), 0, "its entry");
    EXPECT_INT(store->ops->open(store, name, STORE_WRITE, &plain, &file, NULL), 0, "open");
    EXPECT_INT(store->ops->write(file, &plain, &document, NULL), 0, "written");
    EXPECT_INT(store->ops->append(file, &plain, entry.data, entry.length, NULL), 0, "appended");
    store->ops->close(file);
    document_done(&document);
    state_free(state);
}

static void set_identity(struct store *store, const struct store_identity *identity)
{
    struct store_identity there;
    struct store_file *file = NULL;

    EXPECT_INT(store_identity_open(store, &plain, &file, &there, NULL), 0, "open");
    EXPECT_INT(store_identity_put(file, &plain, identity, NULL), 0, "put");
    store->ops->close(file);
    store_identity_done(&there);
}

static void stage_init(struct stage *stage)
{
    const struct store_identity identity = {.term = {"a1", 5, "w1"}};

    *stage = (struct stage){0};
    stage->from.medium = memory_medium_new(NULL);
    stage->to.medium = memory_medium_new(NULL);
    stage->from.faults = store_faults_new();
    stage->to.faults = store_faults_new();
    end_open(&stage->from, "memory:old", true);
    end_open(&stage->to, "memory:new", true);
    set_identity(stage->from.side.store, &identity);
    write_state(stage->from.side.store, &names[0]);
    write_state(stage->from.side.store, &names[1]);
    for (size_t i = 2; i < ARRAY_SIZE(names); i++)
        write_document(stage->from.side.store, &names[i], names[i].item);
}

static void stage_done(struct stage *stage)
{
    end_close(&stage->from);
    end_close(&stage->to);
    store_faults_free(stage->from.faults);
    store_faults_free(stage->to.faults);
    memory_medium_free(stage->from.medium);
    memory_medium_free(stage->to.medium);
}

static int copy(struct stage *stage, struct error *error)
{
    return copy_state(&stage->from.side, &stage->to.side, &plain, &stage->copied, error);
}

/* ---- What is there then ---- */

static void expect_identity(const struct end *end, const char *id, const char *moved_to,
                            const char *copied_from)
{
    struct store_identity identity;

    EXPECT_INT(store_identity_open(end->side.store, &plain, NULL, &identity, NULL), 0, "read");
    EXPECT_STR(identity.term.id, id, end->side.place);
    EXPECT_STR(identity.moved_to, moved_to, end->side.place);
    EXPECT_STR(identity.copied_from, copied_from, end->side.place);
    store_identity_done(&identity);
}

static void expect_whole(const struct end *end, size_t documents)
{
    struct document document = DOCUMENT_INIT;
    _cleanup_(state_free_p) struct state *state = NULL;
    struct names there = NAMES_INIT;
    size_t count = 0;

    EXPECT_INT(store_load(end->side.store, &names[0], &plain, &document, NULL), 0, "State");
    EXPECT_INT(document.n_entries, 0, "its entries are part of it");
    EXPECT_INT(state_decode(&document, &state, NULL), 0, "whole");
    EXPECT_INT(state ? state_head(state)->revision : 0, 4, "with what was appended");
    document_done(&document);
    for (enum document_kind kind = 0; kind < DOCUMENT_KINDS; kind++)
        EXPECT_INT(names_list(&there, end->side.store, kind, &plain, NULL), 0, "listed");
    for (size_t i = 0; i < there.count; i++)
        count += there.items[i].kind != DOCUMENT_STORE;
    EXPECT_INT(count, documents, "all, and nothing else");
    names_done(&there);
}

/* ---- Copying ---- */

static void all_is_moved_and_the_source_says_so(void)
{
    struct error error = {0};
    struct stage stage;

    stage_init(&stage);
    EXPECT_INT(copy(&stage, &error), 0, error.message);
    EXPECT_INT(stage.copied.documents, ARRAY_SIZE(names), "documents");
    EXPECT_INT(stage.copied.written, ARRAY_SIZE(names), "written");
    expect_whole(&stage.to, ARRAY_SIZE(names));
    expect_identity(&stage.to, "a1", NULL, NULL);
    expect_identity(&stage.from, "a1", "memory:new", NULL);
    EXPECT_INT(copy(&stage, &error), 0, "once more");
    EXPECT(stage.copied.was_done, "it was done");
    stage_done(&stage);
}

/* The documents in it are of yesterday by then. */
static void it_can_come_back(void)
{
    struct error error = {0};
    struct stage stage;
    struct end end;

    stage_init(&stage);
    EXPECT_INT(copy(&stage, &error), 0, error.message);
    EXPECT_INT(store_drop(stage.to.side.store, &names[3], &plain, NULL), 0, "one is removed there");
    end = stage.from;
    stage.from = stage.to;
    stage.to = end;
    EXPECT_INT(copy(&stage, &error), 0, error.message);
    EXPECT_INT(stage.copied.removed, 1, "and here then");
    expect_whole(&stage.to, ARRAY_SIZE(names) - 1);
    expect_identity(&stage.to, "a1", NULL, NULL);
    expect_identity(&stage.from, "a1", "memory:old", NULL);
    stage_done(&stage);
}

/* With a store around it, which seals. */
static void end_seal(struct end *end, struct seal_keys *keys)
{
    end_close(end);
    end_open(end, end->side.place, true);
    end->side.history->ops->free(end->side.history);
    end->side.store = seal_store_new(end->side.store, keys, SEAL_SECRET);
    end->side.history = document_history_new(end->side.store);
}

/* Keys were changed while State was in the other store, and nothing there needs the old one. */
static void what_the_target_has_need_not_be_readable(void)
{
    static const struct {
        const char *note, *key, *more;
    } rows[] = {
        {"it is sealed with a key that is gone", "k2", ""},
        {"the same, and what is not sealed may be read", "k2", ",identity"},
        {"it is not sealed", NULL, ""},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_(key_folder_free_p) char *folder = key_folder_new();
        struct error error = {0};
        struct stage stage;
        struct end end;

        stage_init(&stage);
        if (rows[i].key)
            end_seal(&stage.to, key_folder_keys(folder, ""));
        EXPECT_INT(copy(&stage, &error), 0, error.message);
        end = stage.from;
        stage.from = stage.to;
        stage.to = end;
        EXPECT_INT(copy(&stage, &error), 0, error.message);
        end = stage.from;
        stage.from = stage.to;
        stage.to = end;
        if (rows[i].key) {
            key_folder_use(folder, rows[i].key);
            key_folder_remove(folder, "k1");
        }
        end_seal(&stage.to, key_folder_keys(folder, rows[i].more));
        EXPECT_INT(store_drop(stage.from.side.store, &names[3], &plain, NULL), 0, "one is removed");
        EXPECT_INT(copy(&stage, &error), 0, error.message);
        EXPECT_INT(stage.copied.written, ARRAY_SIZE(names) - 1, rows[i].note);
        EXPECT_INT(stage.copied.removed, 1, rows[i].note);
        expect_whole(&stage.to, ARRAY_SIZE(names) - 1);
        stage_done(&stage);
    }
}

/* False: it makes fewer changes than that. */
static bool kill_at(struct stage *stage, bool of_target, size_t nth, enum store_fault fault)
{
    struct store_faults *faults = of_target ? stage->to.faults : stage->from.faults;
    struct error error = {0};
    int r;

    store_faults_fail(faults, nth, fault);
    r = copy(stage, &error);
    store_faults_fail(faults, 0, FAULT_NONE);
    return r < 0;
}

static void killed_at_any_change_it_goes_on(void)
{
    static const enum store_fault faults[] = {FAULT_BEFORE, FAULT_AFTER};

    for (size_t i = 0; i < ARRAY_SIZE(faults); i++)
        for (int of_target = 0; of_target < 2; of_target++)
            for (size_t nth = 1;; nth++) {
                struct error error = {0};
                struct stage stage;
                bool was_killed;

                stage_init(&stage);
                was_killed = kill_at(&stage, of_target, nth, faults[i]);
                EXPECT_INT(copy(&stage, &error), 0, error.message);
                expect_whole(&stage.to, ARRAY_SIZE(names));
                expect_identity(&stage.to, "a1", NULL, NULL);
                expect_identity(&stage.from, "a1", "memory:new", NULL);
                stage_done(&stage);
                EXPECT(was_killed || nth > 1, "something is killed");
                if (!was_killed)
                    break;
            }
}

/* An operator went on with the source before the copy was made again. */
static void half_a_copy_is_brought_up_to_date(void)
{
    struct error error = {0};
    struct stage stage;

    stage_init(&stage);
    EXPECT(kill_at(&stage, true, 5, FAULT_BEFORE), "killed");
    expect_identity(&stage.to, "", NULL, "memory:old");
    EXPECT_INT(store_drop(stage.from.side.store, &names[2], &plain, NULL), 0, "one is removed");
    write_document(stage.from.side.store, &names[3], "another content");
    EXPECT_INT(copy(&stage, &error), 0, error.message);
    expect_whole(&stage.to, ARRAY_SIZE(names) - 1);
    stage_done(&stage);
}

/* ---- What is refused ---- */

static void what_is_no_source_or_no_target_is_refused(void)
{
    static const struct {
        const char *note;
        struct store_identity from, to;
        bool has_document;
        const char *reason, *words;
    } rows[] = {
        {"a source that no operator has used",
         {.copied_from = (char *)(uintptr_t) "memory:x"},
         {.is_damaged = false},
         false,
         "InvalidCopy",
         "has not come to its end"},
        {"a source that was moved elsewhere",
         {.term = {"a1", 5, "w"}, .moved_to = (char *)(uintptr_t) "memory:x"},
         {.is_damaged = false},
         false,
         "StoreMoved",
         "State is in memory:x now"},
        {"a target with documents",
         {.term = {"a1", 5, "w"}},
         {.is_damaged = false},
         true,
         "InvalidCopy",
         "is not empty"},
        {"another operator's",
         {.term = {"a1", 5, "w"}},
         {.term = {"b2", 1, "w"}},
         false,
         "InvalidCopy",
         "another operator"},
        {"half a copy of another one",
         {.term = {"a1", 5, "w"}},
         {.copied_from = (char *)(uintptr_t) "memory:x"},
         false,
         "InvalidCopy",
         "half a copy"},
        {"a newer one",
         {.term = {"a1", 5, "w"}},
         {.term = {"a1", 6, "v"}},
         false,
         "InvalidCopy",
         "newer than the source"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct error error = {0};
        struct stage stage;

        stage_init(&stage);
        set_identity(stage.from.side.store, &rows[i].from);
        if (rows[i].to.term.counter || rows[i].to.copied_from)
            set_identity(stage.to.side.store, &rows[i].to);
        if (rows[i].has_document)
            write_document(stage.to.side.store, &names[0], "{}");
        EXPECT(copy(&stage, &error) < 0, rows[i].note);
        EXPECT_STR(error.reason, rows[i].reason, rows[i].note);
        EXPECT(strstr(error.message, rows[i].words), error.message);
        EXPECT_INT(memory_documents(stage.to.medium),
                   rows[i].has_document || rows[i].to.term.counter || rows[i].to.copied_from,
                   "it is as it was");
        stage_done(&stage);
    }
}

static void damage_ends_it_and_is_named(void)
{
    struct error error = {0};
    struct stage stage;

    stage_init(&stage);
    memory_damage(stage.from.medium, &names[3], "open part");
    EXPECT_INT(copy(&stage, &error), ERR_CORRUPT, "damaged");
    EXPECT(strstr(error.message, "plan team/web web-3"), error.message);
    expect_identity(&stage.to, "", NULL, "memory:old");
    expect_identity(&stage.from, "a1", NULL, NULL);
    stage_done(&stage);
}

/* ---- Releases ---- */

static void make_release_of(struct release_history *history, const char *spec, const char *uid,
                            int64_t revision, const char *phase)
{
    const struct release_head of = {
        .spec = {"team", spec}, .revision = revision, .generation = 1, .spec_uid = uid};
    _cleanup_(release_record_free_p) struct release_record *record = NULL;
    _cleanup_free_ char *version = NULL, *first = NULL;
    struct error error = {0};

    EXPECT_INT(history->ops->create(history, &of, &plain, &first, &error), 0, error.message);
    EXPECT_INT(history->ops->load(history, &of.spec, revision, &plain, &record, &version, &error),
               0, error.message);
    value_unref(record->status);
    record->status = value_pack("{s:s, s:s}", "phase", phase, "summary", "as it was");
    EXPECT_INT(history->ops->update(history, record, &plain, &version, &error), 0, error.message);
}

static void make_release(struct release_history *history, int64_t revision, const char *phase)
{
    make_release_of(history, "web", "u1", revision, phase);
}

/* Of the two histories here, one stands for the API server's. */
static void releases_go_to_where_the_other_side_has_them(void)
{
    for (size_t nth = 1;; nth++) {
        _cleanup_(release_record_free_p) struct release_record *record = NULL;
        _cleanup_free_ char *version = NULL;
        struct memory_medium *medium = memory_medium_new(NULL);
        struct store *store = memory_store_new(medium);
        struct release_history *own;
        struct error error = {0};
        struct stage stage;
        bool was_killed;

        stage_init(&stage);
        own = stage.from.side.history;
        stage.from.side.has_releases = false;
        stage.from.side.history = document_history_new(store);
        make_release(stage.from.side.history, 1, "succeeded");
        make_release(stage.from.side.history, 2, "failed");
        was_killed = kill_at(&stage, true, nth, FAULT_AFTER);
        EXPECT_INT(copy(&stage, &error), 0, error.message);
        EXPECT_INT(stage.to.side.history->ops->load(stage.to.side.history, &web, 0, &plain, &record,
                                                    &version, &error),
                   0, error.message);
        EXPECT_INT(record ? record->head.revision : 0, 2, "the newest");
        EXPECT_STR(record ? value_get_string(record->status, "summary") : NULL, "as it was",
                   "whole");
        stage.from.side.history->ops->free(stage.from.side.history);
        stage.from.side.history = own;
        stage_done(&stage);
        store->ops->free(store);
        memory_medium_free(medium);
        if (!was_killed)
            break;
    }
}

/* The target was the store before. Since then a Spec was deleted, and another was made anew. */
static void releases_of_another_time_go(void)
{
    for (size_t nth = 1;; nth++) {
        _cleanup_(names_done) struct names there = NAMES_INIT;
        struct memory_medium *medium = memory_medium_new(NULL);
        struct store *store = memory_store_new(medium);
        struct release_history *own, *kept;
        struct error error = {0};
        struct stage stage;
        bool was_killed;

        stage_init(&stage);
        kept = stage.to.side.history;
        make_release_of(kept, "web", "u0", 1, "succeeded");
        make_release_of(kept, "web", "u1", 2, "succeeded");
        make_release_of(kept, "web", "u1", 3, "applying");
        make_release_of(kept, "web", "u0", 4, "succeeded");
        make_release_of(kept, "gone", "u2", 1, "succeeded");
        own = stage.from.side.history;
        stage.from.side.has_releases = false;
        stage.from.side.history = document_history_new(store);
        for (int64_t revision = 1; revision <= 3; revision++)
            make_release(stage.from.side.history, revision, "succeeded");
        was_killed = kill_at(&stage, true, nth, FAULT_AFTER);
        EXPECT_INT(copy(&stage, &error), 0, error.message);
        EXPECT_INT(names_list(&there, stage.to.side.store, DOCUMENT_RELEASE, &plain, &error), 0,
                   error.message);
        EXPECT_INT(there.count, 3, "those of the source");
        for (int64_t revision = 1; revision <= 3; revision++) {
            _cleanup_(release_record_free_p) struct release_record *one = NULL;
            _cleanup_free_ char *ignored = NULL;

            EXPECT_INT(kept->ops->load(kept, &web, revision, &plain, &one, &ignored, &error), 0,
                       error.message);
            EXPECT_STR(one ? one->head.spec_uid : NULL, "u1", "of the Spec that is there");
            EXPECT_STR(one ? value_get_string(one->status, "phase") : NULL, "succeeded",
                       "as it is in the source");
        }
        stage.from.side.history->ops->free(stage.from.side.history);
        stage.from.side.history = own;
        stage_done(&stage);
        store->ops->free(store);
        memory_medium_free(medium);
        if (!was_killed)
            break;
    }
}

/* ---- Looking ---- */

static void what_is_kept_is_listed_and_read(void)
{
    _cleanup_buf_ struct buf text = BUF_INIT;
    struct error error = {0};
    struct stage stage;

    stage_init(&stage);
    EXPECT_INT(state_list(&stage.from.side, &plain, &text, &error), 0, error.message);
    EXPECT(strstr(text.data, "store memory:old, id a1, begun 5 times\n"), text.data);
    EXPECT(strstr(text.data, "team/web  revision 4  0 resources"), text.data);
    EXPECT(!strstr(text.data, "s3cret"), "no secret");
    EXPECT_INT(state_verify(&stage.from.side, &plain, &text, &error), 0, error.message);
    EXPECT(strstr(text.data, "6 documents are whole, 2 of them State; 0 are damaged\n"), text.data);
    EXPECT_INT(state_show(&stage.from.side, &names[0].spec, false, &plain, &text, &error), 0,
               error.message);
    EXPECT(strstr(text.data, "\"revision\": 4"), text.data);
    EXPECT_INT(state_show(&stage.from.side, &(struct spec_key){"team", "none"}, false, &plain,
                          &text, &error),
               ERR_NOT_FOUND, "there is none");
    memory_damage(stage.from.medium, &names[1], "open part");
    EXPECT_INT(state_verify(&stage.from.side, &plain, &text, &error), ERR_CORRUPT, "damaged");
    EXPECT(strstr(text.data, "DAMAGED state team/db: "), text.data);
    stage_done(&stage);
}

/* {"a":{"a":…}} */
static const struct value *nested(size_t levels)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();

    for (size_t i = 0; i < levels; i++) {
        value_begin_object(b);
        value_key(b, "a");
    }
    value_add_null(b);
    for (size_t i = 0; i < levels; i++)
        value_end_object(b);
    return value_finish(b);
}

static void one_damaged_release_hides_no_other(void)
{
    static const struct document_name second = {DOCUMENT_RELEASE, {"team", "web"}, "2"};
    _cleanup_buf_ struct buf text = BUF_INIT;
    struct error error = {0};
    struct stage stage;

    stage_init(&stage);
    for (int64_t revision = 1; revision <= 10; revision++)
        make_release(stage.from.side.history, revision, "succeeded");
    memory_damage(stage.from.medium, &second, "open part");
    EXPECT_INT(state_releases(&stage.from.side, &web, &plain, &text, &error), ERR_CORRUPT,
               "one is damaged");
    EXPECT(strstr(error.message, "release 2 of team/web"), error.message);
    EXPECT(!strstr(text.data, "\"web-2\""), text.data);
    EXPECT(strstr(text.data, "\"web-1\"") &&
               strstr(text.data, "\"web-1\"") < strstr(text.data, "\"web-9\"") &&
               strstr(text.data, "\"web-9\"") < strstr(text.data, "\"web-10\""),
           "the others, oldest first");
    stage_done(&stage);
}

/* A Spec may be nested as deep as its Release is, which is deeper in a List. */
static void resources_that_are_nested_too_deep_are_left_out(void)
{
    _cleanup_value_ const struct value *deep = nested(LIMIT_DEPTH - 3);
    _cleanup_value_ const struct value *resources = value_pack("[v]", deep);
    const struct release_head of = {
        .spec = web, .revision = 1, .generation = 1, .resources = resources};
    _cleanup_buf_ struct buf text = BUF_INIT;
    _cleanup_free_ char *version = NULL;
    struct error error = {0};
    struct stage stage;

    stage_init(&stage);
    EXPECT_INT(stage.from.side.history->ops->create(stage.from.side.history, &of, &plain, &version,
                                                    &error),
               0, error.message);
    EXPECT_INT(state_releases(&stage.from.side, &web, &plain, &text, &error), 0, error.message);
    EXPECT(strstr(text.data, "\"web-1\"") && !strstr(text.data, "\"resources\""), text.data);
    stage_done(&stage);
}

static void a_list_that_is_too_large_is_said(void)
{
    _cleanup_buf_ struct buf text;
    struct error error = {0};
    struct stage stage;

    buf_init(&text, 100);
    stage_init(&stage);
    make_release(stage.from.side.history, 1, "succeeded");
    EXPECT_INT(state_releases(&stage.from.side, &web, &plain, &text, &error), ERR_TOO_LARGE,
               "it is not cut");
    EXPECT_INT(text.length, 0, "nothing is printed");
    stage_done(&stage);
}

SUITE(copy, TEST(all_is_moved_and_the_source_says_so), TEST(it_can_come_back),
      TEST(what_the_target_has_need_not_be_readable), TEST(killed_at_any_change_it_goes_on),
      TEST(half_a_copy_is_brought_up_to_date), TEST(what_is_no_source_or_no_target_is_refused),
      TEST(damage_ends_it_and_is_named), TEST(releases_go_to_where_the_other_side_has_them),
      TEST(releases_of_another_time_go), TEST(what_is_kept_is_listed_and_read),
      TEST(one_damaged_release_hides_no_other),
      TEST(resources_that_are_nested_too_deep_are_left_out), TEST(a_list_that_is_too_large_is_said))
