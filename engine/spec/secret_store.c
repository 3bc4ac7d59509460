/* The field `secretStore`: which provider, and as whom it is asked. */

#include "engine/base/str.h"
#include "engine/spec/private.h"

#define N_FIELDS 4

struct field {
    const char *name;
    bool is_required;
};

/* In Kusion's words. */
static const struct provider {
    const char *name;
    bool is_of_later;
    bool is_any; /* its fields are not looked at */
    struct field fields[N_FIELDS];
    struct field auth[N_FIELDS]; /* ours */
} providers[] = {
    {.name = "vault",
     .fields = {{"server", true}, {"path", false}, {"version", false}},
     .auth = {{"role", true}, {"mount", false}, {"audience", false}}},
    {.name = "aws", .fields = {{"region", true}}, .auth = {{"role", true}, {"audience", false}}},
    {.name = "alicloud",
     .fields = {{"region", true}},
     .auth = {{"role", true}, {"providerArn", true}, {"audience", false}}},
    {.name = "azure",
     .fields = {{"vaultUrl", true}, {"tenantId", true}, {"environmentType", false}},
     .auth = {{"clientId", true}, {"audience", false}}},
    {.name = "fake", .is_any = true},
    {.name = "onpremises", .is_of_later = true},
    {.name = "viettelcloud", .is_of_later = true},
};

static const struct provider *find_provider(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(providers); i++)
        if (str_equal(providers[i].name, name))
            return &providers[i];
    return NULL;
}

static bool has_field(const struct field fields[N_FIELDS], const char *name)
{
    for (size_t i = 0; i < N_FIELDS && fields[i].name; i++)
        if (str_equal(fields[i].name, name))
            return true;
    return false;
}

/* An object of texts. */
static void check_fields(struct check *check, const struct field fields[N_FIELDS],
                         const struct value *object, const struct place *place)
{
    if (object && !value_is(object, VALUE_OBJECT)) {
        check_problem(check, INVALID_SPEC, place, "must be an object, and is of type %s",
                      value_type_name(object));
        return;
    }
    for (size_t i = 0; i < value_count(object); i++) {
        size_t length = 0;
        const char *name = value_member_key(object, i, &length);
        const struct place at = {.above = place, .key = name};

        if (has_field(fields, name))
            check_text(check, value_member(object, i), &at);
        else
            check_problem(check, INVALID_SPEC, &at, "is no field of this provider");
    }
    for (size_t i = 0; i < N_FIELDS && fields[i].name; i++) {
        const struct place at = {.above = place, .key = fields[i].name};

        if (fields[i].is_required && check_is_absent(value_get(object, fields[i].name)))
            check_problem(check, INVALID_SPEC, &at, "is required");
    }
}

static void check_provider(struct check *check, const char *name, const struct value *store,
                           const struct place *place)
{
    const struct place at = {.above = place, .key = name};
    const struct place in = {.key = "secretStore"};
    const struct place at_auth = {.above = &in, .key = "auth"};
    const struct value *fields = value_get(value_get(store, "provider"), name);
    const struct provider *provider = find_provider(name);

    if (!provider) {
        check_problem(check, INVALID_SPEC, &at,
                      "is no provider of secrets: vault, aws, alicloud and "
                      "azure are");
    } else if (provider->is_of_later) {
        check_problem(check, UNSUPPORTED, &at, "is not supported by this version");
    } else if (!provider->is_any) {
        check_fields(check, provider->fields, fields, &at);
        check_fields(check, provider->auth, value_get(store, "auth"), &at_auth);
    }
}

bool check_secret_store(struct check *check, const struct value *store)
{
    const struct place in = {.key = "secretStore"};
    const struct place place = {.above = &in, .key = "provider"};
    const struct value *provider = value_get(store, "provider");
    size_t length = 0;

    if (check_is_absent(store) || (value_is(store, VALUE_OBJECT) && !value_count(store)))
        return false;
    if (value_count(provider) == 1 && value_is(provider, VALUE_OBJECT))
        check_provider(check, value_member_key(provider, 0, &length), store, &place);
    else
        check_problem(check, INVALID_SPEC, &place,
                      "must name one provider of secrets: vault, aws, "
                      "alicloud or azure");
    return true;
}
