#include "test/unit/engine/history_contract.h"

#include "engine/base/str.h"
#include "engine/release/document_history.h"
#include "test/unit/suite.h"

#define LARGE 1500 /* results: some 300 KiB */

/* One scenario: a Spec of its own, and the history as two processes have it. */
struct scene {
    const struct history_fixture *fixture;
    const char *note; /* the scenario's name */
    struct release_history *history, *other;
    struct spec_key spec;
    struct error error; /* of the last call that failed */
};

static const struct store_call plain; /* no deadline, no cancel, no permit */

/* ---- Helpers ---- */

static void expect_code(struct scene *scene, int actual, int expected, const char *what)
{
    _cleanup_free_ char *note = str_printf("%s: %s (%s)", scene->note, what, scene->error.message);

    EXPECT_INT(actual, expected, note);
    if (actual < 0 && actual == expected)
        EXPECT(scene->error.code == actual && *scene->error.reason && *scene->error.message, note);
    err_clear(&scene->error);
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

static struct release_head head_of(const struct scene *scene, int64_t revision)
{
    return (struct release_head){scene->spec, revision, 4, RELEASE_APPLY, PHASE_NONE};
}

static int create_call(struct scene *scene, int64_t revision, const struct store_call *call,
                       char **ret_version)
{
    const struct release_head head = head_of(scene, revision);

    return scene->history->ops->create(scene->history, &head, call, ret_version, &scene->error);
}

/* Makes a record; gives its version, to be freed. */
static char *create(struct scene *scene, int64_t revision)
{
    char *version = NULL;

    expect_ok(scene, create_call(scene, revision, &plain, &version), "create");
    expect_true_of(scene, version && *version, "a version");
    return version;
}

static const struct value *status_of(int64_t revision, enum release_phase phase)
{
    return value_pack("{s:I, s:s, s:s}", "revision", revision, "phase", release_phase_name(phase),
                      "createTime", "2026-01-02T03:04:05Z");
}

static int update_call(struct scene *scene, struct release_history *history, int64_t revision,
                       enum release_phase phase, const struct store_call *call, char **version)
{
    _cleanup_value_ const struct value *status = status_of(revision, phase);
    /* What a record is made with stays, whatever update says. */
    const struct release_record record = {
        .head = {scene->spec, revision, 99, RELEASE_DESTROY, PHASE_NONE}, .status = status};

    return history->ops->update(history, &record, call, version, &scene->error);
}

static void update(struct scene *scene, int64_t revision, enum release_phase phase, char **version)
{
    _cleanup_free_ char *before = str_new(*version);

    expect_ok(scene, update_call(scene, scene->history, revision, phase, &plain, version),
              release_phase_name(phase));
    expect_true_of(scene, !str_equal(*version, before), "another version");
}

static int load_from(struct scene *scene, struct release_history *history, int64_t revision,
                     struct release_record **ret, char **ret_version)
{
    return history->ops->load(history, &scene->spec, revision, &plain, ret, ret_version,
                              &scene->error);
}

static int remove_call(struct scene *scene, int64_t revision, const struct store_call *call)
{
    return scene->history->ops->remove(scene->history, &scene->spec, revision, call, &scene->error);
}

static void expect_record(struct scene *scene, const struct release_record *record,
                          int64_t revision, enum release_phase phase, const char *what)
{
    _cleanup_value_ const struct value *status = status_of(revision, phase);

    expect_true_of(scene,
                   str_equal(record->head.spec.name, scene->spec.name) &&
                       str_equal(record->head.spec.namespace_name, scene->spec.namespace_name),
                   what);
    expect_true_of(scene, record->head.revision == revision, what);
    expect_true_of(scene, record->head.generation == 4, what);
    expect_true_of(scene, record->head.operation == RELEASE_APPLY, what);
    expect_true_of(scene, record->head.phase == phase, what);
    expect_true_of(scene, record->own_generation == 1, what);
    expect_true_of(
        scene, phase == PHASE_NONE ? !record->status : value_equal(record->status, status), what);
}

/* As a process loads it that begins now. */
static void expect_kept(struct scene *scene, int64_t revision, enum release_phase phase,
                        const char *what)
{
    struct release_history *history = scene->fixture->attach(scene->fixture->arg);
    _cleanup_(release_record_free_p) struct release_record *record = NULL;
    _cleanup_free_ char *version = NULL;

    expect_ok(scene, load_from(scene, history, revision, &record, &version), what);
    if (record)
        expect_record(scene, record, revision, phase, what);
    history->ops->free(history);
}

static void expect_none(struct scene *scene, int64_t revision, const char *what)
{
    _cleanup_(release_record_free_p) struct release_record *record = NULL;
    _cleanup_free_ char *version = NULL;

    expect_code(scene, load_from(scene, scene->other, revision, &record, &version), ERR_NOT_FOUND,
                what);
    expect_true_of(scene, !record && !version, what);
    expect_true_of(scene,
                   scene->other->ops->load(scene->other, &scene->spec, revision, &plain, &record,
                                           &version, NULL) == ERR_NOT_FOUND,
                   what);
}

/* ---- Records ---- */

static int count_heads(void *arg, const struct release_head *head, struct error *error)
{
    (void)head;
    (void)error;
    ++*(size_t *)arg;
    return 0;
}

static void never_made(struct scene *scene)
{
    size_t count = 0;

    expect_none(scene, 0, "the newest");
    expect_none(scene, 1, "the first");
    expect_ok(scene, remove_call(scene, 1, &plain), "remove");
    expect_ok(scene,
              scene->history->ops->list(scene->history, &scene->spec, count_heads, &count, &plain,
                                        &scene->error),
              "list");
    expect_true_of(scene, count == 0, "none");
    expect_true_of(scene, scene->history->ops->type && *scene->history->ops->type, "has a type");
}

static void a_revision_is_taken_once(struct scene *scene)
{
    _cleanup_free_ char *version = create(scene, 3), *none = NULL;
    const struct release_head other = {scene->spec, 3, 5, RELEASE_DESTROY, PHASE_NONE};

    expect_kept(scene, 3, PHASE_NONE, "made");
    expect_code(scene, create_call(scene, 3, &plain, &none), ERR_EXISTS, "the same again");
    expect_code(scene,
                scene->other->ops->create(scene->other, &other, &plain, &none, &scene->error),
                ERR_EXISTS, "by another, of something else");
    expect_true_of(scene, !none, "no version");
    expect_kept(scene, 3, PHASE_NONE, "as it was made");
    update(scene, 3, PHASE_APPLYING, &version);
    expect_code(scene, create_call(scene, 3, &plain, &none), ERR_EXISTS, "one that goes on");
    expect_kept(scene, 3, PHASE_APPLYING, "goes on");
}

static void updates(struct scene *scene)
{
    _cleanup_free_ char *version = create(scene, 1);

    update(scene, 1, PHASE_GENERATING, &version);
    expect_kept(scene, 1, PHASE_GENERATING, "by the version of create");
    update(scene, 1, PHASE_APPLYING, &version);
    expect_kept(scene, 1, PHASE_APPLYING, "by the version of update");
    update(scene, 1, PHASE_SUCCEEDED, &version);
    expect_kept(scene, 1, PHASE_SUCCEEDED, "by the version of update");
}

static void versions_decide(struct scene *scene)
{
    _cleanup_free_ char *version = create(scene, 1), *other = NULL;
    _cleanup_(release_record_free_p) struct release_record *record = NULL, *again = NULL;

    expect_ok(scene, load_from(scene, scene->other, 1, &record, &other), "load");
    update(scene, 1, PHASE_GENERATING, &version);
    expect_code(scene, update_call(scene, scene->other, 1, PHASE_APPLYING, &plain, &other),
                ERR_CONFLICT, "stale");
    expect_kept(scene, 1, PHASE_GENERATING, "nothing changed");
    expect_code(scene, update_call(scene, scene->other, 1, PHASE_APPLYING, &plain, &other),
                ERR_CONFLICT, "its version stays");
    free(TAKE(other));
    expect_ok(scene, load_from(scene, scene->other, 1, &again, &other), "load again");
    expect_ok(scene, update_call(scene, scene->other, 1, PHASE_APPLYING, &plain, &other),
              "by the version of load");
    expect_code(scene, update_call(scene, scene->history, 1, PHASE_FAILED, &plain, &version),
                ERR_CONFLICT, "stale");
    expect_kept(scene, 1, PHASE_APPLYING, "the last");
}

static void an_end_is_final(struct scene *scene)
{
    static const enum release_phase ends[] = {PHASE_SUCCEEDED, PHASE_FAILED, PHASE_CANCELLED};

    for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
        int64_t revision = (int64_t)i + 1;
        _cleanup_free_ char *version = create(scene, revision), *stale = str_new(version);
        _cleanup_free_ char *loaded = NULL, *none = NULL;
        _cleanup_(release_record_free_p) struct release_record *record = NULL;

        update(scene, revision, ends[i], &version);
        expect_ok(scene, load_from(scene, scene->other, revision, &record, &loaded), "load");
        for (size_t to = PHASE_GENERATING; to <= PHASE_CANCELLED; to++) {
            enum release_phase phase = (enum release_phase)to;

            expect_code(scene,
                        update_call(scene, scene->history, revision, phase, &plain, &version),
                        ERR_CONFLICT, "by the version of update");
            expect_code(scene, update_call(scene, scene->other, revision, phase, &plain, &loaded),
                        ERR_CONFLICT, "by the version of load");
            expect_code(scene, update_call(scene, scene->other, revision, phase, &plain, &stale),
                        ERR_CONFLICT, "stale");
        }
        expect_code(scene, create_call(scene, revision, &plain, &none), ERR_EXISTS, "create");
        expect_kept(scene, revision, ends[i], "as it ended");
    }
}

static void large_ones(struct scene *scene)
{
    _cleanup_free_ char *version = create(scene, 1), *loaded = NULL;
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    _cleanup_value_ const struct value *results = NULL, *status = NULL;
    _cleanup_(release_record_free_p) struct release_record *back = NULL;
    struct release_record record = {.head = head_of(scene, 1)};

    value_begin_array(b);
    for (int i = 0; i < LARGE; i++) {
        value_begin_object(b);
        value_key(b, "id");
        value_add_printf(b, "id-%d", i);
        value_key(b, "message");
        value_add_printf(b, "%0150d \" \\ ü €", i);
        value_end_object(b);
    }
    value_end_array(b);
    EXPECT_INT(value_builder_finish(b, &results, NULL), 0, "results");
    status = value_pack("{s:s, s:v}", "phase", "failed", "results", results);
    record.status = status;
    expect_ok(scene,
              scene->history->ops->update(scene->history, &record, &plain, &version, &scene->error),
              "update");
    expect_ok(scene, load_from(scene, scene->other, 1, &back, &loaded), "load");
    expect_true_of(scene, back && value_equal(back->status, status), "as it was written");
}

static void removes(struct scene *scene)
{
    _cleanup_free_ char *version = create(scene, 1), *again = NULL;

    update(scene, 1, PHASE_APPLYING, &version);
    expect_ok(scene, remove_call(scene, 1, &plain), "remove");
    expect_none(scene, 1, "gone");
    expect_none(scene, 0, "the newest");
    expect_ok(scene, remove_call(scene, 1, &plain), "remove again");
    expect_code(scene, update_call(scene, scene->history, 1, PHASE_SUCCEEDED, &plain, &version),
                ERR_NOT_FOUND, "update");
    expect_none(scene, 1, "nothing is made again");
    again = create(scene, 1);
    expect_code(scene, update_call(scene, scene->history, 1, PHASE_SUCCEEDED, &plain, &version),
                ERR_CONFLICT, "it is another one");
    expect_kept(scene, 1, PHASE_NONE, "made anew");
    update(scene, 1, PHASE_SUCCEEDED, &again);
    expect_ok(scene, remove_call(scene, 1, &plain), "remove one that has ended");
    expect_none(scene, 1, "gone");
}

/* ---- Lists ---- */

struct listed {
    struct release_head heads[8];
    size_t count, stop_at; /* 0: does not */
};

static int on_head(void *arg, const struct release_head *head, struct error *error)
{
    struct listed *listed = arg;

    if (listed->count < ARRAY_SIZE(listed->heads))
        listed->heads[listed->count] = *head;
    listed->count++;
    return listed->count == listed->stop_at ? err_set(error, ERR_GONE, NULL, "stop") : 0;
}

static int list_call(struct scene *scene, struct listed *listed)
{
    return scene->other->ops->list(scene->other, &scene->spec, on_head, listed, &plain,
                                   &scene->error);
}

static void lists_newest_first(struct scene *scene)
{
    static const int64_t made[] = {9, 10, 2, 100}, expected[] = {100, 10, 9, 2};
    const struct spec_key spec = scene->spec;
    struct listed all = {.count = 0}, some = {.stop_at = 2}, rest = {.count = 0};

    for (size_t i = 0; i < ARRAY_SIZE(made); i++) {
        _cleanup_free_ char *version = create(scene, made[i]);

        update(scene, made[i], made[i] == 10 ? PHASE_FAILED : PHASE_APPLYING, &version);
    }
    /* Specs whose names, and whose records' names, are nearly the same. */
    scene->spec.name = "lists-1";
    free(create(scene, 1000));
    scene->spec.name = "list";
    free(create(scene, 1001));
    scene->spec = spec;
    expect_ok(scene, list_call(scene, &all), "all");
    expect_true_of(scene, all.count == ARRAY_SIZE(expected), "as many as there are");
    for (size_t i = 0; i < ARRAY_SIZE(expected) && i < all.count; i++) {
        enum release_phase phase = expected[i] == 10 ? PHASE_FAILED : PHASE_APPLYING;

        expect_true_of(scene, all.heads[i].revision == expected[i], "newest first, by number");
        expect_true_of(scene, all.heads[i].generation == 4, "generation");
        expect_true_of(scene, all.heads[i].operation == RELEASE_APPLY, "operation");
        expect_true_of(scene, all.heads[i].phase == phase || all.heads[i].phase == PHASE_NONE,
                       "phase");
    }
    expect_code(scene, list_call(scene, &some), ERR_GONE, "ended by the callback");
    expect_true_of(scene, some.count == 2, "at once");
    expect_ok(scene, remove_call(scene, 100, &plain), "remove");
    expect_ok(scene, list_call(scene, &rest), "the rest");
    expect_true_of(scene, rest.count == 3 && rest.heads[0].revision == 10, "without it");
}

static void finds_the_newest(struct scene *scene)
{
    for (int64_t revision = 8; revision <= 11; revision++) {
        _cleanup_(release_record_free_p) struct release_record *record = NULL;
        _cleanup_free_ char *version = create(scene, revision), *loaded = NULL;

        expect_ok(scene, load_from(scene, scene->other, 0, &record, &loaded), "load");
        if (record)
            expect_record(scene, record, revision, PHASE_NONE, "the newest");
        expect_ok(scene,
                  update_call(scene, scene->other, revision, PHASE_APPLYING, &plain, &loaded),
                  "update");
    }
    expect_ok(scene, remove_call(scene, 11, &plain), "remove");
    expect_kept(scene, 10, PHASE_APPLYING, "the one before");
}

static void operations_and_generations(struct scene *scene)
{
    static const struct {
        int64_t revision, generation;
        enum release_operation operation;
    } rows[] = {
        {1, 1, RELEASE_APPLY},
        {2, 0, RELEASE_DESTROY},
        {3, INT64_C(1) << 40, RELEASE_ROLLBACK},
        {RELEASE_REVISION_MAX, 7, RELEASE_PREVIEW},
    };
    struct listed all = {.count = 0};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct release_head head = {scene->spec, rows[i].revision, rows[i].generation,
                                          rows[i].operation, PHASE_NONE};
        _cleanup_(release_record_free_p) struct release_record *record = NULL;
        _cleanup_free_ char *version = NULL, *loaded = NULL;

        expect_ok(
            scene,
            scene->history->ops->create(scene->history, &head, &plain, &version, &scene->error),
            "create");
        expect_ok(scene, load_from(scene, scene->other, rows[i].revision, &record, &loaded),
                  "load");
        expect_true_of(scene,
                       record && record->head.operation == rows[i].operation &&
                           record->head.generation == rows[i].generation,
                       release_operation_name(rows[i].operation));
    }
    expect_ok(scene, list_call(scene, &all), "list");
    for (size_t i = 0; i < ARRAY_SIZE(rows) && all.count == ARRAY_SIZE(rows); i++)
        expect_true_of(scene,
                       all.heads[3 - i].operation == rows[i].operation &&
                           all.heads[3 - i].generation == rows[i].generation,
                       "listed");
    expect_true_of(scene, all.count == ARRAY_SIZE(rows), "all");
}

static void what_is_no_revision(struct scene *scene)
{
    static const int64_t rows[] = {0, -1, RELEASE_REVISION_MAX + 1, INT64_MAX, INT64_MIN};
    _cleanup_free_ char *version = create(scene, 1);

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_free_ char *none = NULL;

        expect_code(scene, create_call(scene, rows[i], &plain, &none), ERR_INVALID, "create");
        expect_code(scene,
                    update_call(scene, scene->history, rows[i], PHASE_FAILED, &plain, &version),
                    ERR_NOT_FOUND, "update");
        expect_ok(scene, remove_call(scene, rows[i], &plain), "remove");
        if (rows[i])
            expect_none(scene, rows[i], "load");
    }
    expect_kept(scene, 1, PHASE_NONE, "what is one stays");
}

static void long_names(struct scene *scene)
{
    char name[254], other[254];
    size_t length = strlen(scene->spec.name);

    memset(name, 'x', 253);
    memcpy(name, scene->spec.name, length);
    name[253] = '\0';
    memcpy(other, name, sizeof(name));
    other[252] = 'y';
    scene->spec.name = name;
    free(create(scene, 12));
    scene->spec.name = other;
    expect_none(scene, 12, "of the other Spec");
    expect_none(scene, 0, "of the other Spec");
    free(create(scene, 12));
    expect_ok(scene, remove_call(scene, 12, &plain), "remove");
    scene->spec.name = name;
    expect_kept(scene, 12, PHASE_NONE, "by its own");
}

/* ---- Permits and cancels ---- */

struct refusal {
    unsigned asked;
    enum permit_use use; /* the last that was asked for */
};

static int refuse(void *arg, enum permit_use use, struct error *error)
{
    struct refusal *refusal = arg;

    refusal->asked++;
    refusal->use = use;
    return err_set(error, ERR_FENCED, NULL, "the Lease is lost");
}

/* Revision 1 is there, 2 is not. */
static void expect_refused(struct scene *scene, const struct store_call *call, char **version,
                           int code, const char *what)
{
    _cleanup_free_ char *before = str_new(*version), *none = NULL;

    expect_code(scene, create_call(scene, 2, call, &none), code, what);
    expect_code(scene, update_call(scene, scene->history, 1, PHASE_FAILED, call, version), code,
                what);
    expect_true_of(scene, str_equal(before, *version), "the version stays");
    expect_code(scene, remove_call(scene, 1, call), code, what);
    expect_kept(scene, 1, PHASE_NONE, what);
    expect_none(scene, 2, what);
}

static void asks_the_permit(struct scene *scene)
{
    _cleanup_free_ char *version = create(scene, 1), *loaded = NULL;
    _cleanup_(release_record_free_p) struct release_record *record = NULL;
    struct refusal refusal = {.asked = 0};
    const struct permit permit = {refuse, &refusal};
    const struct store_call call = {.permit = &permit, .use = PERMIT_TELL};

    expect_refused(scene, &call, &version, ERR_FENCED, "refused");
    expect_true_of(scene, refusal.asked >= 3 && refusal.use == PERMIT_TELL, "for this use");
    expect_ok(scene,
              scene->history->ops->load(scene->history, &scene->spec, 1, &call, &record, &loaded,
                                        &scene->error),
              "load needs none");
    update(scene, 1, PHASE_APPLYING, &version);
}

static void is_cancelled(struct scene *scene)
{
    _cleanup_free_ char *version = create(scene, 1), *loaded = NULL;
    _cleanup_(cancel_free_p) struct cancel *cancel = cancel_new(NULL);
    _cleanup_(release_record_free_p) struct release_record *record = NULL;
    const struct store_call call = {.cancel = cancel};
    size_t count = 0;

    cancel_fire(cancel, "Superseded");
    expect_refused(scene, &call, &version, ERR_CANCELLED, "fired before");
    expect_code(scene,
                scene->history->ops->load(scene->history, &scene->spec, 1, &call, &record, &loaded,
                                          &scene->error),
                ERR_CANCELLED, "load");
    expect_code(scene,
                scene->history->ops->list(scene->history, &scene->spec, count_heads, &count, &call,
                                          &scene->error),
                ERR_CANCELLED, "list");
}

/* ---- Lost answers ---- */

/* Whatever is said of it, it happened as a whole or not at all, and load tells which. */
static void answers_are_lost(struct scene *scene)
{
    for (int is_after = 0; scene->fixture->lose_answer && is_after <= 1; is_after++) {
        int64_t revision = is_after + 1;
        _cleanup_(release_record_free_p) struct release_record *record = NULL, *updated = NULL;
        _cleanup_free_ char *version = NULL, *loaded = NULL, *after = NULL;
        int r;

        scene->fixture->lose_answer(scene->fixture->arg, is_after);
        r = create_call(scene, revision, &plain, &version);
        expect_true_of(scene, r == 0 || r == ERR_UNAVAILABLE, "create");
        if (r < 0 && !is_after)
            expect_none(scene, revision, "it did not happen");
        if (r < 0 && !is_after)
            free(create(scene, revision));
        expect_ok(scene, load_from(scene, scene->other, revision, &record, &loaded), "load");
        if (record)
            expect_record(scene, record, revision, PHASE_NONE, "made");
        scene->fixture->lose_answer(scene->fixture->arg, is_after);
        r = update_call(scene, scene->history, revision, PHASE_SUCCEEDED, &plain, &loaded);
        expect_true_of(scene, r == 0 || r == ERR_UNAVAILABLE, "update");
        expect_kept(scene, revision, r == 0 || is_after ? PHASE_SUCCEEDED : PHASE_NONE, "update");
        err_clear(&scene->error);
        expect_ok(scene, load_from(scene, scene->other, revision, &updated, &after), "load");
        r = r < 0 && !is_after
                ? update_call(scene, scene->history, revision, PHASE_SUCCEEDED, &plain, &after)
                : 0;
        expect_ok(scene, r, "it goes on from what load tells");
        expect_kept(scene, revision, PHASE_SUCCEEDED, "updated");
    }
}

/* ---- All of them ---- */

static const struct {
    const char *name; /* the Spec's, too */
    void (*run)(struct scene *scene);
} scenarios[] = {
    {"never-made", never_made},
    {"taken-once", a_revision_is_taken_once},
    {"updates", updates},
    {"versions", versions_decide},
    {"ends", an_end_is_final},
    {"large", large_ones},
    {"removes", removes},
    {"lists", lists_newest_first},
    {"newest", finds_the_newest},
    {"operations", operations_and_generations},
    {"revisions", what_is_no_revision},
    {"long-names", long_names},
    {"permit", asks_the_permit},
    {"cancel", is_cancelled},
    {"lost-answers", answers_are_lost},
};

void history_contract_check(const struct history_fixture *fixture)
{
    for (size_t i = 0; i < ARRAY_SIZE(scenarios); i++) {
        struct scene scene = {
            .fixture = fixture,
            .note = scenarios[i].name,
            .history = fixture->attach(fixture->arg),
            .other = fixture->attach(fixture->arg),
            .spec = {fixture->namespace_name, scenarios[i].name},
        };

        scenarios[i].run(&scene);
        scene.history->ops->free(scene.history);
        scene.other->ops->free(scene.other);
    }
}

static struct release_history *attach_documents(void *arg)
{
    return document_history_new(arg);
}

void history_contract_check_store(struct store *store)
{
    history_contract_check(&(struct history_fixture){store, "team", attach_documents, NULL});
}
