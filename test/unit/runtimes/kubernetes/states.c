#include "test/unit/runtimes/kubernetes/states.h"

#include <stdlib.h>

#include "engine/base/buf.h"
#include "engine/base/value_mark.h"

static const struct value *noise(unsigned seed, size_t bytes)
{
    _cleanup_buf_ struct buf text = BUF_INIT;

    buf_reserve(&text, bytes);
    for (size_t i = 0; i < bytes; i++)
        buf_add_char(&text, (char)('#' + rand_r(&seed) % 57));
    return value_pack("s", text.data);
}

static void add(struct state *state, const char *id, const char *kind, const char *password,
                unsigned seed, size_t bytes)
{
    struct record *record = state_record(state, id, "Kubernetes");

    record->status = RECORD_APPLIED;
    record->attributes = value_pack("{s:s, s:s, s:{s:s}, s:{s:s?, s:V}}", "apiVersion", "v1",
                                    "kind", kind, "metadata", "name", "a", "data", "password",
                                    password, "noise", noise(seed, bytes));
    if (password) {
        _cleanup_value_ const struct value *pointers = value_pack("[s]", "/data");
        const struct value *marked = value_mark_paths(record->attributes, pointers);

        value_unref(record->attributes);
        record->attributes = marked;
    }
    record_set_str(&record->uid, "u-1");
    record_set_str(&record->digest, "d-1");
    record_set_str(&record->footprint, "f-1");
}

struct state *states_make(const char *spec_namespace, const char *spec_name, unsigned seed,
                          size_t bytes, bool secret)
{
    struct state *state = state_new(spec_namespace, spec_name, "spec-uid");

    state->revision = seed;
    add(state, "v1:ConfigMap:a:a", "ConfigMap", NULL, seed, bytes);
    if (secret)
        add(state, "v1:Secret:a:a", "Secret", STATES_SECRET, seed + 1000, bytes);
    return state;
}

bool states_equal(const struct state *a, const struct state *b)
{
    _cleanup_value_ const struct value *x = state_to_value(a), *y = state_to_value(b);

    return value_equal(x, y);
}
