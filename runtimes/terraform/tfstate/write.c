/* Writing a state file. */
#include <string.h>

#include "engine/base/hash.h"
#include "engine/base/limits.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/base/strmap.h"
#include "engine/value/json.h"
#include "runtimes/terraform/lifecycle.h"
#include "runtimes/terraform/session.h"
#include "runtimes/terraform/tfstate/address.h"
#include "runtimes/terraform/tfstate/tfstate.h"

#define DEPOSED_KEY 8 /* bytes of one, in Terraform */

/* A record that becomes an instance. */
struct entry {
    const struct record *record;
    struct tf_address address;
};

struct writing {
    struct entry *entries; /* by their addresses */
    size_t n;
    struct strmap by_id; /* id -> const struct record: all current ones, of every type */
};

/* ---- Which records ---- */

/* State has nothing of a data source. */
static bool is_ours(const struct record *record)
{
    return str_equal(record->type, TF_RUNTIME_TYPE) && !record->is_only_read;
}

/* Of a create that is under way, nobody knows yet what there is. */
static bool is_there(const struct record *record)
{
    return record->status == RECORD_APPLIED || record->status == RECORD_TAINTED;
}

static int collect_one(struct writing *writing, const struct record *record, struct error *error)
{
    struct entry *entry = &writing->entries[writing->n];
    struct error problem = {0};

    if (!value_is(value_get(record->memory, "state"), VALUE_OBJECT))
        return err_set(error, ERR_INVALID, NULL,
                       "State has nothing of \"%s\" that Terraform could use", record->id);
    if (tf_address_of(record->id, record->extensions, &entry->address, &problem) < 0)
        return err_set(error, ERR_INVALID, problem.reason, "resource \"%s\": %s", record->id,
                       problem.message);
    entry->record = record;
    writing->n++;
    return 0;
}

static int collect(struct writing *writing, const struct record *const *records, size_t n,
                   struct error *error)
{
    int r = 0;

    writing->entries = NEW_ARRAY(struct entry, n + 1);
    for (size_t i = 0; i < n && r >= 0; i++) {
        if (!records[i]->deposed)
            strmap_put(&writing->by_id, records[i]->id, (void *)(uintptr_t)records[i]);
        if (is_ours(records[i]) && is_there(records[i]))
            r = collect_one(writing, records[i], error);
    }
    return r;
}

static void writing_done(struct writing *writing)
{
    for (size_t i = 0; i < writing->n; i++)
        tf_address_done(&writing->entries[i].address);
    free(writing->entries);
    strmap_done(&writing->by_id);
}

/* ---- Their order, which is Terraform's ---- */

static int compare_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "");
}

/* None, then numbers, then texts. */
static int compare_keys(const struct value *a, const struct value *b)
{
    int64_t one = value_int(a, 0), other = value_int(b, 0);

    if (!a || !b || value_type(a) != value_type(b))
        return (int)value_type(a) - (int)value_type(b);
    return value_is(a, VALUE_STRING) ? strcmp(value_string(a), value_string(b))
                                     : (one > other) - (one < other);
}

static int compare_resources(const struct entry *a, const struct entry *b)
{
    int r = compare_text(a->address.module, b->address.module);

    if (!r)
        r = strcmp(a->address.type, b->address.type);
    return r ? r : strcmp(a->address.name, b->address.name);
}

static int compare(const void *one, const void *other)
{
    const struct entry *a = one, *b = other;
    int r = compare_resources(a, b);

    if (!r)
        r = compare_keys(a->address.key, b->address.key);
    return r ? r : compare_text(a->record->deposed, b->record->deposed);
}

static const char *provider_of(const struct entry *entry)
{
    return value_get_string(entry->record->memory, "provider");
}

/* Neighbours, after sorting. */
static int check_pair(const struct entry *a, const struct entry *b, struct error *error)
{
    _cleanup_free_ char *address = tf_address_text(&b->address);

    if (compare_resources(a, b) != 0)
        return 0;
    if (compare(a, b) == 0 || (compare_keys(a->address.key, b->address.key) == 0 &&
                               !str_equal(a->record->id, b->record->id)))
        return err_set(error, ERR_INVALID, "InvalidAddress",
                       "\"%s\" and \"%s\" have the same address in Terraform's state, %s: say "
                       "others by extensions[" STATE_ADDRESS "]",
                       a->record->id, b->record->id, address);
    if (!str_equal(provider_of(a), provider_of(b)))
        return err_set(error, ERR_INVALID, "InvalidAddress",
                       "\"%s\" and \"%s\" have the same resource in Terraform's state, %s.%s, and "
                       "different providers: say others by extensions[" STATE_ADDRESS "]",
                       a->record->id, b->record->id, b->address.type, b->address.name);
    return 0;
}

static int sort(struct writing *writing, struct error *error)
{
    int r = 0;

    qsort(writing->entries, writing->n, sizeof(*writing->entries), compare);
    for (size_t i = 1; i < writing->n && r >= 0; i++)
        r = check_pair(&writing->entries[i - 1], &writing->entries[i], error);
    return r;
}

/* ---- Dependencies ---- */

struct dependencies {
    const struct writing *writing;
    struct strmap seen;           /* id -> its record */
    const struct record **beyond; /* of other types: what these depend on counts */
    size_t n_beyond, capacity;
    const char **items; /* addresses; owned */
    size_t n_items, items_capacity;
};

static void add_dependency(struct dependencies *found, const struct record *record)
{
    struct tf_address address = {0};

    if (!is_ours(record)) {
        found->beyond =
            mem_grow(found->beyond, found->n_beyond, &found->capacity, sizeof(*found->beyond));
        found->beyond[found->n_beyond++] = record;
    } else if (tf_address_of(record->id, record->extensions, &address, NULL) >= 0) {
        found->items =
            mem_grow(found->items, found->n_items, &found->items_capacity, sizeof(*found->items));
        found->items[found->n_items++] = tf_address_config(&address);
        tf_address_done(&address);
    }
}

static void add_dependencies(struct dependencies *found, const struct record *of)
{
    for (size_t i = 0; i < value_count(of->dependencies); i++) {
        const char *id = value_string(value_at(of->dependencies, i));
        struct record *record = id ? strmap_get(&found->writing->by_id, id) : NULL;

        if (!record || strmap_put(&found->seen, id, record))
            continue;
        add_dependency(found, record);
    }
}

/* Through objects of other types, which the file does not have. */
static void put_dependencies(const struct writing *writing, const struct record *record,
                             struct value_builder *b)
{
    struct dependencies found = {.writing = writing};

    add_dependencies(&found, record);
    for (size_t i = 0; i < found.n_beyond; i++)
        add_dependencies(&found, found.beyond[i]);
    if (found.n_items) {
        qsort(found.items, found.n_items, sizeof(*found.items), str_compare);
        value_key(b, "dependencies");
        value_begin_array(b);
        for (size_t i = 0; i < found.n_items; i++)
            if (!i || !str_equal(found.items[i], found.items[i - 1]))
                value_add_string(b, found.items[i]);
        value_end_array(b);
    }
    for (size_t i = 0; i < found.n_items; i++)
        free((void *)(uintptr_t)found.items[i]);
    free(found.items);
    free(found.beyond);
    strmap_done(&found.seen);
}

/* ---- The file ---- */

static void put(struct value_builder *b, const char *key, const struct value *value)
{
    value_key(b, key);
    value_add(b, value);
}

static void put_text(struct value_builder *b, const char *key, const char *text)
{
    value_key(b, key);
    value_add_string(b, text);
}

/* Terraform's are of eight digits. */
static void put_deposed(struct value_builder *b, const char *deposed)
{
    char hex[HASH_HEX_SIZE];

    hash_hex(deposed, strlen(deposed), hex);
    hex[DEPOSED_KEY] = '\0';
    put_text(b, "deposed", hex);
}

static bool has_element(const struct value *list, const struct value *element)
{
    for (size_t i = 0; i < value_count(list); i++)
        if (value_equal(value_at(list, i), element))
            return true;
    return false;
}

/* What is sensitive by the Spec, and by the schema; each path once. */
static void put_sensitive(const struct value *memory, struct value_builder *b)
{
    const struct value *by_spec = value_get(memory, "sensitive");
    const struct value *by_schema = value_get(memory, "sensitiveBySchema");

    if (!by_spec && !by_schema)
        return;
    value_key(b, "sensitive_attributes");
    value_begin_array(b);
    for (size_t i = 0; i < value_count(by_spec); i++)
        value_add(b, value_at(by_spec, i));
    for (size_t i = 0; i < value_count(by_schema); i++)
        if (!has_element(by_spec, value_at(by_schema, i)))
            value_add(b, value_at(by_schema, i));
    value_end_array(b);
}

static void put_instance(const struct writing *writing, const struct entry *entry,
                         struct value_builder *b)
{
    const struct record *record = entry->record;
    const struct value *memory = record->memory;
    const char *private = value_get_string(memory, "private");

    value_begin_object(b);
    if (entry->address.key)
        put(b, "index_key", entry->address.key);
    if (record->status == RECORD_TAINTED)
        put_text(b, "status", "tainted");
    if (record->deposed)
        put_deposed(b, record->deposed);
    put(b, "schema_version", value_get(memory, "schemaVersion"));
    put(b, "attributes", value_get(memory, "state"));
    put_sensitive(memory, b);
    if (private && *private)
        put_text(b, "private", private);
    if (value_get(memory, "identity")) {
        put(b, "identity", value_get(memory, "identity"));
        put(b, "identity_schema_version", value_get(memory, "identitySchemaVersion"));
    }
    put_dependencies(writing, record, b);
    if (lifecycle_creates_first(record->extensions)) {
        value_key(b, "create_before_destroy");
        value_add_bool(b, true);
    }
    value_end_object(b);
}

static void begin_resource(const struct entry *entry, struct value_builder *b)
{
    value_begin_object(b);
    if (entry->address.module)
        put_text(b, "module", entry->address.module);
    put_text(b, "mode", "managed");
    put_text(b, "type", entry->address.type);
    put_text(b, "name", entry->address.name);
    value_key(b, "provider");
    value_add_printf(b, "provider[\"%s\"]", provider_of(entry));
    value_key(b, "instances");
    value_begin_array(b);
}

static void end_resource(struct value_builder *b)
{
    value_end_array(b);
    value_end_object(b);
}

static void put_resources(const struct writing *writing, struct value_builder *b)
{
    const struct entry *entries = writing->entries;

    for (size_t i = 0; i < writing->n; i++) {
        bool is_first = !i || compare_resources(&entries[i - 1], &entries[i]) != 0;

        if (is_first && i)
            end_resource(b);
        if (is_first)
            begin_resource(&entries[i], b);
        put_instance(writing, &entries[i], b);
    }
    if (writing->n)
        end_resource(b);
}

static int put_file(const struct writing *writing, const struct runtime_mark *mark, struct buf *ret,
                    struct error *error)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    _cleanup_value_ const struct value *file = NULL;
    int r;

    value_begin_object(b);
    value_key(b, "version");
    value_add_int(b, 4);
    put_text(b, "terraform_version", TERRAFORM_VERSION);
    value_key(b, "serial");
    value_add_int(b, (int64_t)mark->serial);
    put_text(b, "lineage", mark->lineage);
    value_key(b, "outputs");
    value_begin_object(b);
    value_end_object(b);
    value_key(b, "resources");
    value_begin_array(b);
    put_resources(writing, b);
    value_end_array(b);
    value_key(b, "check_results");
    value_add_null(b);
    value_end_object(b);
    r = value_builder_finish(b, &file, error);
    if (r < 0)
        return r;
    json_write(ret, file, JSON_COMPACT);
    return buf_overflowed(ret)
               ? err_set(error, ERR_TOO_LARGE, NULL, "the state file has more than %zu bytes",
                         ret->maximum ? ret->maximum : (size_t)LIMIT_DOCUMENT_BYTES)
               : 0;
}

int tfstate_write(struct runtime *runtime, const struct record *const *records, size_t n,
                  const struct runtime_mark *mark, struct buf *ret, struct error *error)
{
    _cleanup_(writing_done) struct writing writing = {0};
    int r = collect(&writing, records, n, error);

    (void)runtime;
    if (r >= 0)
        r = sort(&writing, error);
    if (r >= 0)
        r = put_file(&writing, mark, ret, error);
    return r;
}
