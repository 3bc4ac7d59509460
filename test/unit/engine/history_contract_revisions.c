/* All records of a Spec: lists, the newest one, and revisions and names at their limits. */
#include "engine/base/str.h"
#include "test/unit/engine/history_scene.h"

static const struct store_call plain; /* no deadline, no cancel, no permit */

/* ---- Lists ---- */

struct listed {
    struct release_head heads[8];
    bool has_digest[8];
    size_t count, stop_at; /* 0: does not */
};

static int on_head(void *arg, const struct release_head *head, struct error *error)
{
    struct listed *listed = arg;

    if (listed->count < ARRAY_SIZE(listed->heads)) {
        listed->has_digest[listed->count] = head->spec_digest != NULL;
        listed->heads[listed->count] = *head;
    }
    listed->count++;
    return listed->count == listed->stop_at ? err_set(error, ERR_GONE, NULL, "stop") : 0;
}

static int list_call(struct history_scene *scene, struct listed *listed)
{
    return scene->other->ops->list(scene->other, &scene->spec, on_head, listed, &plain,
                                   &scene->error);
}

static void never_made(struct history_scene *scene)
{
    struct listed all = {.count = 0};

    history_scene_expect_none(scene, 0, "the newest");
    history_scene_expect_none(scene, 1, "the first");
    expect_ok(scene, history_scene_remove(scene, 1, &plain), "remove");
    expect_ok(scene, list_call(scene, &all), "list");
    expect_true_of(scene, all.count == 0, "none");
    expect_true_of(scene, scene->history->ops->type && *scene->history->ops->type, "has a type");
}

static void lists_newest_first(struct history_scene *scene)
{
    static const int64_t made[] = {9, 10, 2, 100}, expected[] = {100, 10, 9, 2};
    const struct spec_key spec = scene->spec;
    struct listed all = {.count = 0}, some = {.stop_at = 2}, rest = {.count = 0};

    for (size_t i = 0; i < ARRAY_SIZE(made); i++) {
        _cleanup_free_ char *version = history_scene_create(scene, made[i]);

        history_scene_update(scene, made[i], made[i] == 10 ? PHASE_FAILED : PHASE_APPLYING,
                             &version);
    }
    /* Specs whose names, and whose records' names, are nearly the same. */
    scene->spec.name = "lists-1";
    free(history_scene_create(scene, 1000));
    scene->spec.name = "list";
    free(history_scene_create(scene, 1001));
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
    expect_ok(scene, history_scene_remove(scene, 100, &plain), "remove");
    expect_ok(scene, list_call(scene, &rest), "the rest");
    expect_true_of(scene, rest.count == 3 && rest.heads[0].revision == 10, "without it");
}

static void finds_the_newest(struct history_scene *scene)
{
    for (int64_t revision = 8; revision <= 11; revision++) {
        _cleanup_(release_record_free_p) struct release_record *record = NULL;
        _cleanup_free_ char *version = history_scene_create(scene, revision), *loaded = NULL;

        expect_ok(scene, history_scene_load(scene, scene->other, 0, &record, &loaded), "load");
        if (record)
            history_scene_expect_record(scene, record, revision, PHASE_NONE, "the newest");
        expect_ok(scene,
                  history_scene_try_update(scene, scene->other, revision, PHASE_APPLYING, &plain,
                                           &loaded),
                  "update");
    }
    expect_ok(scene, history_scene_remove(scene, 11, &plain), "remove");
    history_scene_expect_kept(scene, 10, PHASE_APPLYING, "the one before");
}

static void operations_and_generations(struct history_scene *scene)
{
    static const struct {
        int64_t revision, generation;
        enum release_operation operation;
        int64_t to_revision;
        const char *digest;
        bool has_resources;
    } rows[] = {
        {1, 1, RELEASE_APPLY, 0, "abc", false},
        {2, 0, RELEASE_DESTROY, 0, NULL, false},
        {3, INT64_C(1) << 40, RELEASE_ROLLBACK, 1, "abc", false},
        {4, 8, RELEASE_APPLY, 0, "def", true},
        {RELEASE_REVISION_MAX, 7, RELEASE_PREVIEW, 0, NULL, false},
    };
    const size_t last = ARRAY_SIZE(rows) - 1;
    struct listed all = {.count = 0};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *resources =
            rows[i].has_resources ? value_pack("[{s:s, s:s}]", "id", "a", "type", "b") : NULL;
        const struct release_head head = {.spec = scene->spec,
                                          .revision = rows[i].revision,
                                          .generation = rows[i].generation,
                                          .operation = rows[i].operation,
                                          .to_revision = rows[i].to_revision,
                                          .spec_digest = rows[i].digest,
                                          .resources = resources};
        _cleanup_(release_record_free_p) struct release_record *record = NULL;
        _cleanup_free_ char *version = NULL, *loaded = NULL;

        expect_ok(
            scene,
            scene->history->ops->create(scene->history, &head, &plain, &version, &scene->error),
            "create");
        expect_ok(scene,
                  history_scene_load(scene, scene->other, rows[i].revision, &record, &loaded),
                  "load");
        expect_true_of(scene,
                       record && record->head.operation == rows[i].operation &&
                           record->head.generation == rows[i].generation &&
                           record->head.to_revision == rows[i].to_revision &&
                           str_equal(record->head.spec_digest, rows[i].digest) &&
                           value_equal(record->head.resources, resources),
                       release_operation_name(rows[i].operation));
    }
    expect_ok(scene, list_call(scene, &all), "list");
    for (size_t i = 0; i < ARRAY_SIZE(rows) && all.count == ARRAY_SIZE(rows); i++)
        expect_true_of(scene,
                       all.heads[last - i].operation == rows[i].operation &&
                           all.heads[last - i].generation == rows[i].generation &&
                           all.has_digest[last - i] == (rows[i].digest && !rows[i].has_resources),
                       "listed");
    expect_true_of(scene, all.count == ARRAY_SIZE(rows), "all");
}

static void what_is_no_revision(struct history_scene *scene)
{
    static const int64_t rows[] = {0, -1, RELEASE_REVISION_MAX + 1, INT64_MAX, INT64_MIN};
    _cleanup_free_ char *version = history_scene_create(scene, 1);

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_free_ char *none = NULL;

        expect_code(scene, history_scene_try_create(scene, rows[i], &plain, &none), ERR_INVALID,
                    "create");
        expect_code(scene,
                    history_scene_try_update(scene, scene->history, rows[i], PHASE_FAILED, &plain,
                                             &version),
                    ERR_NOT_FOUND, "update");
        expect_ok(scene, history_scene_remove(scene, rows[i], &plain), "remove");
        if (rows[i])
            history_scene_expect_none(scene, rows[i], "load");
    }
    history_scene_expect_kept(scene, 1, PHASE_NONE, "what is one stays");
}

static void long_names(struct history_scene *scene)
{
    char name[254], other[254];
    size_t length = strlen(scene->spec.name);

    memset(name, 'x', 253);
    memcpy(name, scene->spec.name, length);
    name[253] = '\0';
    memcpy(other, name, sizeof(name));
    other[252] = 'y';
    scene->spec.name = name;
    free(history_scene_create(scene, 12));
    scene->spec.name = other;
    history_scene_expect_none(scene, 12, "of the other Spec");
    history_scene_expect_none(scene, 0, "of the other Spec");
    free(history_scene_create(scene, 12));
    expect_ok(scene, history_scene_remove(scene, 12, &plain), "remove");
    scene->spec.name = name;
    history_scene_expect_kept(scene, 12, PHASE_NONE, "by its own");
}

/* ---- All of them ---- */

const struct history_scenario history_contract_revisions[] = {
    {"never-made", never_made},
    {"lists", lists_newest_first},
    {"newest", finds_the_newest},
    {"operations", operations_and_generations},
    {"revisions", what_is_no_revision},
    {"long-names", long_names},
    {NULL, NULL},
};
