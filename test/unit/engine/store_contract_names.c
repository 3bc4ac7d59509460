/* Names of documents: lists of them, odd ones, and how messages call them. */
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "test/unit/engine/store_scene.h"

static const struct store_call plain; /* no deadline, no cancel, no permit */

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

static void write_all(struct store_scene *scene, const struct document_name *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct store_file *file;

        scene->name = names[i];
        file = store_scene_open(scene);
        expect_ok(scene, store_scene_write(scene, file, "x", i % 2 ? "s" : ""), "write");
        store_scene_close(file);
    }
}

static void lists(struct store_scene *scene)
{
    const struct document_name names[] = {
        {DOCUMENT_PLAN, {"team", "lists"}, "r-1"},    {DOCUMENT_PLAN, {"team", "lists"}, "r-2"},
        {DOCUMENT_PLAN, {"team", "lists-2"}, "r-1"},  {DOCUMENT_PLAN, {"team-2", "lists"}, "r-1"},
        {DOCUMENT_OUTCOME, {"team", "lists"}, "r-1"}, {DOCUMENT_STATE, {"team", "lists"}, NULL},
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

static void odd_names(struct store_scene *scene)
{
    char long_item[254], other_long_item[254];
    const struct document_name names[] = {
        {DOCUMENT_OUTCOME, {"odd", "names"}, "a/b"},
        {DOCUMENT_OUTCOME, {"odd", "names"}, "a%2Fb"},
        {DOCUMENT_OUTCOME, {"odd", "names"}, "a"},
        {DOCUMENT_OUTCOME, {"odd", "names"}, "A"},
        {DOCUMENT_OUTCOME, {"odd", "names"}, ".."},
        {DOCUMENT_OUTCOME, {"odd", "names"}, "ü € \n\"'\\{}"},
        {DOCUMENT_OUTCOME, {"odd", "names"}, long_item},
        {DOCUMENT_OUTCOME, {"odd", "names"}, other_long_item},
        {DOCUMENT_OUTCOME, {"odd", "names"}, "a.head"},
        {DOCUMENT_OUTCOME, {"odd/names", "x"}, "a"},
        {DOCUMENT_OUTCOME, {"odd", "names/x"}, "a"},
        {DOCUMENT_OUTCOME, {"..", "."}, "a"},
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
        store_scene_expect_kept(scene, "x", i % 2 ? "s" : "", NULL, names[i].item);
    }
    err_clear(&scene->error);
    expect_ok(scene,
              scene->store->ops->list(scene->store, DOCUMENT_OUTCOME, &names[0].spec, on_name,
                                      &of_spec, &plain, &scene->error),
              "list");
    expect_true_of(scene, of_spec.seen == 511 && of_spec.others == 0, "each by its own name");
}

static void describes(struct store_scene *scene)
{
    struct document_name item = scene->name;
    _cleanup_free_ char *state = NULL, *outcome = NULL, *again = NULL;

    item.kind = DOCUMENT_OUTCOME;
    item.item = "call-1";
    state = scene->store->ops->describe(scene->store, &scene->name);
    outcome = scene->store->ops->describe(scene->store, &item);
    again = scene->store->ops->describe(scene->store, &item);
    expect_true_of(scene, state && *state && !str_equal(state, outcome), "different");
    expect_true_of(scene, str_equal(outcome, again), "the same each time");
    expect_true_of(scene, scene->store->ops->type && *scene->store->ops->type, "has a type");
}

/* ---- All of them ---- */

const struct store_scenario store_contract_names[] = {
    {"lists", lists},
    {"odd-names", odd_names},
    {"describes", describes},
    {NULL, NULL},
};
