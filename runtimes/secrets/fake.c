/* Kusion's static store, whose values stand in the Spec: for tests alone. */
#include "engine/base/str.h"
#include "runtimes/secrets/private.h"

#ifdef KUSION_TEST_RUNTIME

static int open_fake(struct secret_store *store, struct error *error)
{
    (void)store, (void)error;
    return 0;
}

/* Of several entries with one key, the last one is the newest. */
static int read_fake(struct secret_store *store, const struct secret_login *login,
                     const struct secret_ref *ref, const struct secret_call *call,
                     struct secret_answer *ret, struct error *error)
{
    const struct value *data = value_get(store->fields, "data"), *found = NULL;

    (void)login, (void)call;
    for (size_t i = 0; i < value_count(data); i++) {
        const struct value *entry = value_at(data, i);

        if (str_equal(value_get_string(entry, "key"), ref->name) &&
            (!ref->version || str_equal(value_get_string(entry, "version"), ref->version)))
            found = entry;
    }
    if (!found)
        return err_set(error, ERR_NOT_FOUND, SECRET_NOT_FOUND, "none");
    ret->data = value_ref(value_get(found, value_get(found, "valueMap") ? "valueMap" : "value"));
    ret->version = str_new(value_get_string(found, "version"));
    return 0;
}

const struct secret_provider secret_fake = {.name = "fake", .open = open_fake, .read = read_fake};

#endif
