#include "test/unit/engine/operation/fake_store.h"

#include "engine/base/str.h"

static char *text_of(const struct state *state)
{
    struct buf text;

    buf_init(&text, 0);
    for (size_t i = 0; i < state->n_records; i++)
        buf_printf(&text, "%s%s%s", i ? " " : "", short_name(state->records[i]->id),
                   state->records[i]->status == RECORD_INTENT ? "?" : "");
    return buf_take(&text);
}

static char *version_text(const struct fake_store *store)
{
    return str_printf("%u", store->version);
}

/* Whether the store still is as who asks has seen it. */
static bool is_as_seen(const struct fake_store *store, const char *version)
{
    _cleanup_free_ char *now = store->stored ? version_text(store) : NULL;

    return str_equal(now, version);
}

static int conflict(struct fake_store *store, struct error *error)
{
    fake_world_leave(store->world);
    return err_set(error, ERR_CONFLICT, "StateConflict", "someone else saved State");
}

static int load(struct state_store *base, const struct state_key *key, struct cancel *cancel,
                struct state **ret, char **ret_version, struct error *error)
{
    struct fake_store *store = (struct fake_store *)base;
    int r = fake_world_enter(store->world, error);

    (void)key, (void)cancel;
    if (r < 0)
        return r;
    if (store->damaged)
        r = err_set(error, ERR_CORRUPT, "StateCorrupt", "chunk 1 is missing");
    else if (!store->stored)
        r = err_set(error, ERR_NOT_FOUND, "NotFound", "no State");
    else
        r = state_from_value(store->stored, ret, error);
    if (r == 0)
        *ret_version = version_text(store);
    fake_world_leave(store->world);
    return r;
}

static int save(struct state_store *base, const struct state_key *key, const struct state *state,
                struct cancel *cancel, char **version, struct error *error)
{
    struct fake_store *store = (struct fake_store *)base;
    _cleanup_free_ char *text = text_of(state);
    int r = fake_world_enter(store->world, error);
    bool lost;

    (void)key, (void)cancel;
    if (r < 0)
        return r;
    store->saves++;
    lost = store->saves == store->lose_at;
    if (store->saves == store->conflict_at || !is_as_seen(store, *version))
        return conflict(store, error);
    if (store->saves == store->fail_at) {
        fake_world_leave(store->world);
        return err_set(error, ERR_UNAVAILABLE, "Unavailable", "the store does not answer");
    }
    value_unref(store->stored);
    store->stored = state_to_value(state);
    store->version++;
    if (!lost) {
        free(*version);
        *version = version_text(store);
    }
    r = fake_world_step(store->world, error, "save%s%s", *text ? " " : "", text);
    return r == 0 && lost ? err_set(error, ERR_TIMEOUT, "Timeout", "no answer in time") : r;
}

static int remove_state(struct state_store *base, const struct state_key *key, const char *version,
                        struct cancel *cancel, struct error *error)
{
    struct fake_store *store = (struct fake_store *)base;
    int r = fake_world_enter(store->world, error);

    (void)key, (void)cancel;
    if (r < 0)
        return r;
    if (!is_as_seen(store, version))
        return conflict(store, error);
    value_unref(store->stored);
    store->stored = NULL;
    return fake_world_step(store->world, error, "remove State");
}

static const struct state_store_ops ops = {.load = load, .save = save, .remove = remove_state};

void fake_store_init(struct fake_store *store, struct fake_world *world)
{
    *store = (struct fake_store){.base = {&ops}, .world = world};
}

void fake_store_done(struct fake_store *store)
{
    value_unref(store->stored);
}

struct state *fake_store_state(const struct fake_store *store)
{
    struct state *state = NULL;

    if (store->stored)
        state_from_value(store->stored, &state, NULL);
    return state;
}

char *fake_store_text(const struct fake_store *store)
{
    _cleanup_(state_free_p) struct state *state = fake_store_state(store);

    return state ? text_of(state) : str_new("none");
}

void fake_store_put(struct fake_store *store, const struct state *state)
{
    value_unref(store->stored);
    store->stored = state_to_value(state);
    store->version++;
}
