/* Reading a state file. */
#include <string.h>

#include "engine/base/base64.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/value/json.h"
#include "runtimes/terraform/session.h"
#include "runtimes/terraform/tfstate/address.h"
#include "runtimes/terraform/tfstate/tfstate.h"

#define VERSION     4
#define SHOWN_NAMES 5
#define SHOWN_KEY   128 /* bytes of a key; a longer one is counted, and not shown */
/* Each target is compared with each resource and instance of the file: about ten seconds of them.
 */
#define MOST_COMPARISONS (UINT64_C(100) << 20)
/* OpenTofu's own registry has the same providers under the same names. */
#define OPENTOFU_HOST "registry.opentofu.org"

/* ---- The file ---- */

static int bad_file(struct error *error, int code, const char *what)
{
    return err_set(error, code, "TakeoverFailed", "%s", what);
}

static int check_version(const struct value *file, struct error *error)
{
    int64_t version = value_int(value_get(file, "version"), -1);

    if (value_get(file, "encrypted_data") || value_get(file, "encryption_version"))
        return bad_file(error, ERR_UNSUPPORTED,
                        "it is encrypted; `tofu state pull` writes one that is not");
    if (version == VERSION)
        return 0;
    if (version < 0)
        return bad_file(error, ERR_INVALID, "it is no state file of Terraform: it has no version");
    if (version > VERSION)
        return err_set(error, ERR_UNSUPPORTED, "TakeoverFailed",
                       "it is a state file of version %lld, and this operator reads version %d",
                       (long long)version, VERSION);
    return err_set(error, ERR_UNSUPPORTED, "TakeoverFailed",
                   "it is a state file of version %lld: Terraform 0.12 or later, and OpenTofu, "
                   "write version %d, with `terraform apply -refresh-only`",
                   (long long)version, VERSION);
}

/* The reader's messages quote keys of the document, which nobody should see. */
static int read_file(const char *text, size_t length, const struct value **ret, struct error *error)
{
    _cleanup_value_ const struct value *file = NULL;
    int r = json_read(text, length, &file, NULL);

    if (r < 0)
        return bad_file(error, r,
                        r == ERR_TOO_LARGE
                            ? "it is larger, or nested deeper, than a document may be"
                            : "it is not JSON");
    if (!value_is(file, VALUE_OBJECT))
        return bad_file(error, ERR_INVALID, "it is no state file of Terraform: it is no object");
    r = check_version(file, error);
    if (r >= 0 && value_get(file, "resources") &&
        !value_is(value_get(file, "resources"), VALUE_ARRAY))
        r = bad_file(error, ERR_INVALID, "it is damaged: resources must be a list");
    if (r >= 0)
        *ret = TAKE(file);
    return r;
}

/* ---- Looking ---- */

static bool is_current(const struct value *instance)
{
    const char *deposed = value_get_string(instance, "deposed");

    return !deposed || !*deposed;
}

static bool is_null(const struct value *value)
{
    return !value || value_is(value, VALUE_NULL);
}

static bool has_key(const struct value *instance, const struct value *key)
{
    const struct value *its = value_get(instance, "index_key");

    return is_null(its) || !key ? is_null(its) && !key : value_equal(its, key);
}

static bool is_named(const struct value *resource, const struct tf_address *address)
{
    return str_equal(value_get_string(resource, "mode"), "managed") &&
           str_equal(value_get_string(resource, "type"), address->type) &&
           str_equal(value_get_string(resource, "name"), address->name);
}

static bool is_in(const struct value *resource, const char *module)
{
    const char *its = value_get_string(resource, "module");

    return str_equal(its && *its ? its : NULL, module);
}

/* What a file has under one address. All borrowed from the file. */
struct place_of {
    const struct value *resource; /* NULL: none of that type and name in that module */
    const struct value *instance; /* the current object; NULL: none */
    bool has_deposed;             /* of this instance */
};

static struct place_of look(const struct value *file, const struct tf_address *address)
{
    const struct value *resources = value_get(file, "resources");
    struct place_of found = {0};

    for (size_t i = 0; i < value_count(resources); i++) {
        const struct value *resource = value_at(resources, i);
        const struct value *instances = value_get(resource, "instances");

        if (!is_named(resource, address) || !is_in(resource, address->module))
            continue;
        found.resource = resource;
        for (size_t j = 0; value_is(instances, VALUE_ARRAY) && j < value_count(instances); j++) {
            const struct value *instance = value_at(instances, j);

            if (!has_key(instance, address->key))
                continue;
            if (is_current(instance))
                found.instance = instance;
            else
                found.has_deposed = true;
        }
    }
    return found;
}

/* ---- Messages ---- */

static const struct value *problem(const char *format, ...) PRINTF_LIKE(1, 2);
/* As long as an error's: what a file has may be long, and there may be a problem of each target. */
static const struct value *problem(const char *format, ...)
{
    struct error error = {0};
    va_list args;

    va_start(args, format);
    err_set_v(&error, ERR_INVALID, "TakeoverFailed", format, args);
    va_end(args);
    return value_pack("{s:s}", "error", error.message);
}

/* False: it is too long. */
static bool add_key(struct buf *to, const struct value *key)
{
    struct buf text;
    bool is_short;

    buf_init(&text, SHOWN_KEY);
    json_write(&text, key, JSON_VISIBLE);
    is_short = !buf_overflowed(&text);
    if (is_short)
        buf_printf(to, "%s[%s]", to->length ? ", " : "", text.data);
    buf_done(&text);
    return is_short;
}

/* "[0], [1]": the keys that there are. */
static void add_keys(struct buf *to, const struct value *resource)
{
    const struct value *instances = value_get(resource, "instances");
    size_t n = 0, shown = 0;

    for (size_t i = 0; value_is(instances, VALUE_ARRAY) && i < value_count(instances); i++) {
        const struct value *key = value_get(value_at(instances, i), "index_key");

        if (is_null(key) || !is_current(value_at(instances, i)))
            continue;
        n++;
        shown += shown < SHOWN_NAMES && add_key(to, key);
    }
    if (n > shown)
        buf_printf(to, "%s%zu more", shown ? " and " : "", n - shown);
}

static const struct value *without_instance(const struct value *resource, const char *address)
{
    _cleanup_buf_ struct buf keys = BUF_INIT;

    add_keys(&keys, resource);
    if (!keys.length)
        return problem("Terraform's state has no object under %s", address);
    return problem("Terraform's state has %s with these keys: %s: say which one by "
                   "extensions[" STATE_ADDRESS "]",
                   address, keys.data);
}

/* In another module; NULL: there is none, and it is new. */
static const struct value *elsewhere(const struct value *file, const struct tf_address *address,
                                     const char *text)
{
    const struct value *resources = value_get(file, "resources");

    for (size_t i = 0; i < value_count(resources); i++) {
        const struct value *resource = value_at(resources, i);

        if (is_named(resource, address))
            return problem(
                "Terraform's state has no %s, but %s.%s: say by extensions[" STATE_ADDRESS
                "] if that is meant; for a new object give the resource another name",
                text, value_get_string(resource, "module"), text);
    }
    return NULL;
}

/* ---- One object ---- */

/* HOST/NAMESPACE/NAME of `provider["HOST/NAMESPACE/NAME"].alias`; free(). NULL: it is written in
 * another way. */
static char *provider_of(const struct value *resource, const struct value *instance)
{
    const char *text = value_get_string(instance, "provider"), *begin, *end;

    text = text && *text ? text : value_get_string(resource, "provider");
    begin = text ? strstr(text, "provider[\"") : NULL;
    begin = begin ? begin + strlen("provider[\"") : NULL;
    end = begin ? strchr(begin, '"') : NULL;
    if (!end)
        return NULL;
    if (str_has_prefix(begin, OPENTOFU_HOST "/"))
        return str_printf(SOURCE_HOST "%.*s", (int)(end - begin - (ptrdiff_t)strlen(OPENTOFU_HOST)),
                          begin + strlen(OPENTOFU_HOST));
    return str_new_n(begin, (size_t)(end - begin));
}

/* The attributes that the state calls sensitive, as pointers: those at the top, as wholes. */
static const struct value *sensitive_of(const struct value *instance)
{
    const struct value *paths = value_get(instance, "sensitive_attributes");
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();

    value_begin_array(b);
    for (size_t i = 0; value_is(paths, VALUE_ARRAY) && i < value_count(paths); i++) {
        const struct value *step = value_at(value_at(paths, i), 0);
        const char *name = value_get_string(step, "value");

        if (name && !strpbrk(name, "~/"))
            value_add_printf(b, "/%s", name);
    }
    value_end_array(b);
    return value_finish(b);
}

static bool is_base64(const struct value *value)
{
    _cleanup_buf_ struct buf bytes = BUF_INIT;
    size_t length;
    const char *text = value_string_n(value, &length);

    return is_null(value) || (text && base64_decode(&bytes, text, length));
}

/* Why the object cannot be taken over; NULL: it can. */
static const struct value *objection(const struct place_of *found, const char *provider,
                                     const struct source *source, const char *address)
{
    const struct value *instance = found->instance;
    const struct value *attributes = value_get(instance, "attributes");
    const char *status = value_get_string(instance, "status");

    if (!provider)
        return problem("Terraform's state has %s with a provider that is not written as those of "
                       "Terraform 0.13 or later are: let that write it, by `terraform apply "
                       "-refresh-only`",
                       address);
    if (!str_equal(provider, source->address))
        return problem("Terraform's state has %s of the provider %s, and not of %s", address,
                       provider, source->address);
    if (status && *status)
        return problem("Terraform's state has %s as \"%s\": its creation did not complete, so that "
                       "it would be replaced, and what is taken over never is; `terraform untaint` "
                       "it if it is whole",
                       address, str_equal(status, "tainted") ? "tainted" : "not ready");
    if (found->has_deposed)
        return problem("Terraform's state has an old object of %s, too, that is still to be "
                       "deleted (\"deposed\"): let `terraform apply` delete it first",
                       address);
    if (is_null(attributes) && value_get(instance, "attributes_flat"))
        return problem(
            "Terraform's state has %s in the form of Terraform 0.11: let a later version "
            "write it, by `terraform apply -refresh-only`",
            address);
    if (!value_is(attributes, VALUE_OBJECT))
        return problem("Terraform's state is damaged: %s has no attributes", address);
    if (value_int(value_get(instance, "schema_version"), -1) < 0)
        return problem("Terraform's state is damaged: %s has no schema_version", address);
    if (!is_base64(value_get(instance, "private")))
        return problem("Terraform's state is damaged: the private data of %s is not Base64",
                       address);
    return NULL;
}

static const struct value *describe(const struct place_of *found, const struct tf_address *address,
                                    const char *provider, const char *text)
{
    const struct value *private = value_get(found->instance, "private");
    const struct value *given = value_get(found->instance, "identity");
    const struct value *identity = value_is(given, VALUE_OBJECT) ? given : NULL;

    return value_pack("{s:s, s:s, s:s, s:I, s:s, s:v, s:V, s:v?, s:v?}", "address", text,
                      "provider", provider, "type", address->type, "schemaVersion",
                      value_int(value_get(found->instance, "schema_version"), 0), "private",
                      value_string(private) ? value_string(private) : "", "state",
                      value_get(found->instance, "attributes"), "sensitive",
                      sensitive_of(found->instance), "identity", identity, "identitySchemaVersion",
                      identity ? value_get(found->instance, "identity_schema_version") : NULL);
}

/* A reference; NULL: the file does not have it. */
static const struct value *find_at(const struct value *file, const struct runtime_target *target,
                                   const struct tf_address *address, const struct source *source)
{
    bool is_written = value_get(target->extensions, STATE_ADDRESS);
    struct place_of found = look(file, address);
    _cleanup_free_ char *text = tf_address_text(address);
    _cleanup_free_ char *provider = provider_of(found.resource, found.instance);
    _cleanup_value_ const struct value *why_not = NULL;

    if (found.instance) {
        why_not = objection(&found, provider, source, text);
        return why_not ? TAKE(why_not) : describe(&found, address, provider, text);
    }
    if (found.resource)
        return without_instance(found.resource, text);
    if (is_written)
        return problem("Terraform's state has no %s", text);
    return address->module ? NULL : elsewhere(file, address, text);
}

/* ---- All ---- */

struct sought {
    const struct runtime_target *target;
    struct tf_address address; /* all zeroes: it has none */
};

static const char *find_same(const struct sought *all, size_t n, const struct sought *one)
{
    for (size_t i = 0; i < n; i++)
        if (&all[i] != one && all[i].address.type &&
            tf_address_equal(&all[i].address, &one->address))
            return all[i].target->id;
    return NULL;
}

/* Two resources that have one object would each change it. */
static const struct value *find_one(const struct value *file, const struct sought *all, size_t n,
                                    const struct sought *one)
{
    const struct runtime_target *target = one->target;
    _cleanup_(source_done) struct source source = {0};
    _cleanup_value_ const struct value *found = NULL;
    const char *same;

    if (!one->address.type || target_source(target->id, target->extensions, &source, NULL) < 0)
        return NULL;
    found = find_at(file, target, &one->address, &source);
    same = found && !value_get(found, "error") ? find_same(all, n, one) : NULL;
    return same ? problem("the resource \"%s\" has the same address in Terraform's state, %s", same,
                          value_get_string(found, "address"))
                : TAKE(found);
}

static struct sought *sought_of(const struct runtime_target *targets, size_t n)
{
    struct sought *all = NEW_ARRAY(struct sought, n + 1);

    for (size_t i = 0; i < n; i++) {
        all[i].target = &targets[i];
        tf_address_of(targets[i].id, targets[i].extensions, &all[i].address, NULL);
    }
    return all;
}

static void sought_free(struct sought *all, size_t n)
{
    for (size_t i = 0; i < n; i++)
        tf_address_done(&all[i].address);
    free(all);
}

static size_t count_places(const struct value *file)
{
    const struct value *resources = value_get(file, "resources");
    size_t n = value_count(resources);

    for (size_t i = 0; i < value_count(resources); i++)
        n += value_count(value_get(value_at(resources, i), "instances"));
    return n;
}

static int check_work(const struct value *file, const struct sought *all, size_t n,
                      struct error *error)
{
    uint64_t n_new = 0;

    for (size_t i = 0; i < n; i++)
        n_new += !all[i].target->prior;
    if (n_new * count_places(file) <= MOST_COMPARISONS)
        return 0;
    return err_set(error, ERR_TOO_LARGE, "TakeoverFailed",
                   "it has too many resources to look for so many at once: take it over in parts, "
                   "by several Specs or one after another");
}

static int find_all(const struct value *file, const struct sought *all, size_t n,
                    const struct value **ret, struct error *error)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    _cleanup_value_ const struct value *found = NULL;
    int r;

    value_begin_object(b);
    for (size_t i = 0; i < n; i++) {
        _cleanup_value_ const struct value *one =
            all[i].target->prior ? NULL : find_one(file, all, n, &all[i]);

        if (!one)
            continue;
        value_key(b, all[i].target->id);
        value_add_copy(b, one);
    }
    value_end_object(b);
    r = value_builder_finish(b, &found, error);
    if (r < 0)
        return r;
    if (value_memory(found) > TFSTATE_FOUND_BYTES)
        return err_set(error, ERR_TOO_LARGE, "TakeoverFailed",
                       "what is to be taken over at once has more than %u MiB in memory: take it "
                       "over in parts, by several Specs or one after another",
                       TFSTATE_FOUND_BYTES >> 20);
    *ret = TAKE(found);
    return 0;
}

int tfstate_find(struct runtime *runtime, const char *text, size_t length,
                 const struct runtime_target *targets, size_t n, const struct value **ret,
                 struct error *error)
{
    _cleanup_value_ const struct value *file = NULL;
    struct sought *all;
    int r = read_file(text, length, &file, error);

    (void)runtime;
    if (r < 0)
        return r;
    all = sought_of(targets, n);
    r = check_work(file, all, n, error);
    if (r >= 0)
        r = find_all(file, all, n, ret, error);
    sought_free(all, n);
    return r;
}
