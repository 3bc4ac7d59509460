#include "test/unit/engine/operation/fake_secrets.h"

#include "engine/base/mem.h"
#include "engine/base/str.h"

struct source {
    struct secret_source base;
    struct fake_secrets *secrets;
};

static int get(struct secret_source *base, const char *reference, int64_t deadline,
               struct cancel *cancel, struct secret *ret, struct error *error)
{
    struct fake_secrets *secrets = CONTAINER_OF(base, struct source, base)->secrets;

    (void)deadline, (void)cancel;
    secrets->asked++;
    if (secrets->is_down || secrets->down_for) {
        secrets->down_for -= secrets->down_for > 0;
        return err_set(error, ERR_UNAVAILABLE, "SecretUnavailable", "the store is down");
    }
    for (size_t i = 0; i < FAKE_SECRETS && secrets->items[i].name; i++) {
        _cleanup_free_ char *known = str_printf("ref://%s/x", secrets->items[i].name);

        if (!str_equal(known, reference))
            continue;
        ret->value = value_pack("s", secrets->items[i].value);
        ret->version = str_new(secrets->items[i].version);
        return 0;
    }
    return err_set(error, ERR_INVALID, "SecretNotFound", "no such secret");
}

static void free_source(struct secret_source *base)
{
    free(CONTAINER_OF(base, struct source, base));
}

struct secret_source *fake_secrets_source(struct fake_secrets *secrets)
{
    static const struct secret_source_ops ops = {.get = get, .free = free_source};
    struct source *source = NEW(struct source);

    source->base.ops = &ops;
    source->secrets = secrets;
    return &source->base;
}
