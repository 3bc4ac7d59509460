#include "engine/operation/secrets.h"

#include <string.h>

#include "engine/base/base64.h"
#include "engine/base/str.h"
#include "engine/operation/results.h"
#include "engine/operation/session.h"
#include "engine/threads/locked.h"
#include "engine/value/children.h"
#include "engine/value/value_mark.h"

#define DIGEST_SIZE (2 * SECRET_MARK_DIGEST_BYTES + 1)

#define READ_TIME 20000 /* ms for one secret, at most */

struct operation_secret {
    const char *reference, *version; /* in the operation's arena */
    const struct value *value;       /* a reference; NULL: not known */
    char digest[DIGEST_SIZE];
    bool is_being_read;
    struct operation_secret *next; /* of the operation's */
};

/* ---- Looking up ---- */

static void digest_value(const struct operation *operation, const char *bytes, size_t length,
                         char ret[DIGEST_SIZE])
{
    struct hash *hash =
        hash_new_keyed(operation->secret_source->key, sizeof(operation->secret_source->key));
    char hex[HASH_HEX_SIZE];

    hash_add(hash, bytes, length);
    hash_finish_hex(hash, hex);
    hash_free(hash);
    memcpy(ret, hex, DIGEST_SIZE - 1);
    ret[DIGEST_SIZE - 1] = '\0';
}

/* Under the lock. */
static struct operation_secret *entry_of(struct operation *operation, const char *text)
{
    struct operation_secret *entry = strmap_get(&operation->secrets, text);

    if (entry)
        return entry;
    entry = ARENA_NEW(&operation->arena, struct operation_secret);
    entry->reference = arena_str(&operation->arena, text);
    entry->next = operation->first_secret;
    operation->first_secret = entry;
    strmap_put(&operation->secrets, entry->reference, entry);
    return entry;
}

/* Under the lock. */
static void take_secret(struct operation *operation, struct operation_secret *entry,
                        const struct secret *secret)
{
    size_t length = 0;
    const char *bytes = value_string_n(secret->value, &length);

    entry->version = arena_str(&operation->arena, secret->version ? secret->version : "-");
    entry->value = value_sensitive(secret->value);
    digest_value(operation, bytes, length, entry->digest);
    operation_hold(operation, 0, length);
}

/* Under the lock, which is released meanwhile. */
static int read_secret(struct operation *operation, struct operation_secret *entry,
                       struct error *error)
{
    struct secret_source *source = operation->secret_source;
    int64_t deadline = operation_now(operation) + READ_TIME;
    struct secret secret = {0};
    int r;

    entry->is_being_read = true;
    pthread_mutex_unlock(&operation->lock);
    r = source->ops->get(source, entry->reference, deadline, operation->cancel, &secret, error);
    pthread_mutex_lock(&operation->lock);
    entry->is_being_read = false;
    pthread_cond_broadcast(&operation->changed);
    if (r >= 0)
        take_secret(operation, entry, &secret);
    value_unref(secret.value);
    free(secret.version);
    return r;
}

int operation_find_secret(struct operation *operation, const char *text, const struct value **ret,
                          struct error *error)
{
    int64_t deadline = operation_now(operation) + 2 * READ_TIME;
    struct operation_secret *entry;
    int r;

    if (!operation->secret_source)
        return 0;
    LOCKED(&operation->lock);
    entry = entry_of(operation, text);
    r = operation_wait_while(operation, &entry->is_being_read, deadline, error);
    if (r >= 0 && !entry->value)
        r = read_secret(operation, entry, error);
    if (r >= 0)
        *ret = value_ref(entry->value);
    return r;
}

void operation_use_secrets(struct operation *operation, struct secret_source *source)
{
    operation->secret_source = source;
}

void operation_free_secrets(struct operation *operation)
{
    for (struct operation_secret *entry = operation->first_secret; entry; entry = entry->next)
        value_unref(entry->value);
    strmap_done(&operation->secrets);
    if (operation->secret_source)
        operation->secret_source->ops->free(operation->secret_source);
}

/* ---- Finding what was looked up ---- */

/* The entries do not go away, and what they have does not change once they have a value. NULL:
 * none. */
static const struct operation_secret *find_digest(struct operation *operation, const char *digest)
{
    const struct operation_secret *found = NULL;
    LOCKED(&operation->lock);

    for (found = operation->first_secret; found; found = found->next)
        if (found->value && str_equal(found->digest, digest))
            break;
    return found;
}

static const struct operation_secret *find_bytes(struct operation *operation, const char *bytes,
                                                 size_t length)
{
    char digest[DIGEST_SIZE];

    if (length > SECRET_BYTES)
        return NULL;
    digest_value(operation, bytes, length, digest);
    return find_digest(operation, digest);
}

/* ---- Marks ---- */

struct marking {
    struct operation *operation;
    /* A reference in place of a sensitive string; NULL: it stays. */
    const struct value *(*replace)(struct operation *operation, const char *text, size_t length);
};

static const struct value *mark_of(const struct operation_secret *secret, const char *prefix)
{
    _cleanup_free_ char *text =
        str_printf("%s%s %s %s", prefix, secret->digest, secret->version, secret->reference);

    return value_pack("s", text);
}

static const struct value *seal(struct operation *operation, const char *text, size_t length)
{
    _cleanup_buf_ struct buf decoded = BUF_INIT;
    const struct operation_secret *secret = find_bytes(operation, text, length);
    const struct value *mark = secret ? mark_of(secret, SECRET_MARK) : NULL;

    if (mark || !base64_decode(&decoded, text, length))
        return mark;
    secret = find_bytes(operation, decoded.data, decoded.length);
    explicit_bzero(decoded.data, decoded.length);
    return secret ? mark_of(secret, SECRET_MARK_BASE64) : NULL;
}

/* Whether the text is a mark; ret: its digest. */
static bool read_mark(const char *text, char ret[DIGEST_SIZE], bool *ret_is_base64)
{
    if (!secret_ref_is_mark(text))
        return false;
    *ret_is_base64 = str_has_prefix(text, SECRET_MARK_BASE64);
    memcpy(ret, strchr(text, ':') + 1, DIGEST_SIZE - 1);
    ret[DIGEST_SIZE - 1] = '\0';
    return true;
}

static const struct value *value_of(const struct operation_secret *secret, bool is_base64)
{
    _cleanup_buf_ struct buf encoded = BUF_INIT;
    const struct value *made;
    size_t length = 0;
    const char *bytes = value_string_n(secret->value, &length);

    if (!is_base64)
        return value_ref(secret->value);
    base64_encode(&encoded, bytes, length);
    made = value_pack("s", encoded.data);
    explicit_bzero(encoded.data, encoded.length);
    return made;
}

static const struct value *open_mark(struct operation *operation, const char *text, size_t length)
{
    const struct operation_secret *secret;
    char digest[DIGEST_SIZE];
    bool is_base64;

    (void)length;
    if (!read_mark(text, digest, &is_base64))
        return NULL;
    secret = find_digest(operation, digest);
    return secret ? value_of(secret, is_base64) : NULL;
}

static const struct value *unmark(struct operation *operation, const char *text, size_t length)
{
    const struct value *opened = open_mark(operation, text, length);
    char digest[DIGEST_SIZE];
    bool is_base64;

    if (opened || !read_mark(text, digest, &is_base64))
        return opened;
    return value_pack("n");
}

/* ---- Copies ---- */

static const struct value *replacement(const struct marking *marking, const struct value *value)
{
    size_t length = 0;
    const char *text = value_is_sensitive(value) ? value_string_n(value, &length) : NULL;

    return text ? marking->replace(marking->operation, text, length) : NULL;
}

static bool has_any(const struct marking *marking, const struct value *value)
{
    _cleanup_value_ const struct value *other = NULL;

    if (!value_has_sensitive(value))
        return false;
    other = replacement(marking, value);
    for (size_t i = 0; !other && i < value_count(value); i++)
        if (has_any(marking, value_child(value, i)))
            return true;
    return other != NULL;
}

static void add_marked(const struct marking *marking, struct value_builder *b,
                       const struct value *value)
{
    _cleanup_value_ const struct value *other = NULL;

    if (!value_has_sensitive(value)) {
        value_add(b, value);
        return;
    }
    other = replacement(marking, value);
    if (other) {
        value_add_sensitive(b, other);
        return;
    }
    if (!value_count(value)) {
        value_add(b, value);
        return;
    }
    value_begin_like(b, value);
    for (size_t i = 0; i < value_count(value); i++) {
        value_key_like(b, value, i);
        add_marked(marking, b, value_child(value, i));
    }
    value_end(b);
}

static const struct value *copy(const struct marking *marking, const struct value *value)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = NULL;

    if (!value || !has_any(marking, value))
        return value_ref(value);
    b = value_builder_new();
    add_marked(marking, b, value);
    return value_finish(b);
}

const struct value *operation_seal_secrets(struct operation *operation, const struct value *value)
{
    const struct marking marking = {operation, seal};
    bool has_secrets;

    pthread_mutex_lock(&operation->lock);
    has_secrets = operation->first_secret != NULL;
    pthread_mutex_unlock(&operation->lock);
    return has_secrets ? copy(&marking, value) : value_ref(value);
}

/* The inverse of sealing, as far as the values are known: marks of others stay. */
static const struct value *open_marks(struct operation *operation, const struct value *value)
{
    const struct marking marking = {operation, open_mark};

    return copy(&marking, value);
}

const struct value *operation_unmark_secrets(struct operation *operation, const struct value *value)
{
    const struct marking marking = {operation, unmark};

    return copy(&marking, value);
}

const struct value *operation_seal_result(struct node *node, const struct value *result)
{
    _cleanup_value_ const struct value *marked = operation_mark_quotes(node, result);

    return operation_ops(node)->foreign ? value_ref(result)
                                        : operation_seal_secrets(node->operation, marked);
}

const struct record *operation_open_record(struct operation *operation, const struct record *record)
{
    _cleanup_value_ const struct value *attributes = NULL, *result = NULL;
    struct record opened;

    if (!record)
        return NULL;
    attributes = open_marks(operation, record->attributes);
    result = open_marks(operation, record->result);
    if (attributes == record->attributes && result == record->result)
        return record_ref(record);
    opened = *record;
    opened.attributes = attributes;
    opened.result = result;
    return record_new(&opened);
}

/* ---- What a plan says of them ---- */

/* The parts of a mark; borrowed. */
struct mark {
    char digest[DIGEST_SIZE];
    const char *version, *reference;
    int version_length;
};

static bool split_mark(const struct value *value, struct mark *ret)
{
    const char *text = value_is_sensitive(value) ? value_string(value) : NULL;
    bool is_base64;

    if (!text || !read_mark(text, ret->digest, &is_base64))
        return false;
    ret->version = strchr(text, ' ') + 1;
    ret->reference = strchr(ret->version, ' ') + 1;
    ret->version_length = (int)(ret->reference - 1 - ret->version);
    return true;
}

/* fn: nonzero ends it, and is returned. */
static int each_mark(const struct value *value, int (*fn)(void *arg, const struct mark *mark),
                     void *arg)
{
    struct mark mark;
    int r = 0;

    if (!value_has_sensitive(value))
        return 0;
    if (split_mark(value, &mark))
        return fn(arg, &mark);
    for (size_t i = 0; r == 0 && i < value_count(value); i++)
        r = each_mark(value_child(value, i), fn, arg);
    return r;
}

struct listing {
    struct value_builder *builder;
    struct strmap seen;
    struct arena arena;
};

static int list_mark(void *arg, const struct mark *mark)
{
    struct listing *listing = arg;
    _cleanup_free_ char *text =
        str_printf("%s version %.*s", mark->reference, mark->version_length, mark->version);

    if (strmap_get(&listing->seen, text))
        return 0;
    value_add_string(listing->builder, text);
    strmap_put(&listing->seen, arena_str(&listing->arena, text), listing);
    return 0;
}

const struct value *operation_list_secrets(struct operation *operation,
                                           const struct runtime_step *step)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    _cleanup_value_ const struct value *attributes =
        operation_seal_secrets(operation, step->attributes);
    _cleanup_value_ const struct value *extensions =
        operation_seal_secrets(operation, step->extensions);
    struct listing listing = {.builder = b, .arena = ARENA_INIT};
    const struct value *list;

    value_begin_array(b);
    each_mark(attributes, list_mark, &listing);
    each_mark(extensions, list_mark, &listing);
    value_end_array(b);
    list = value_finish(b);
    strmap_done(&listing.seen);
    arena_done(&listing.arena);
    if (value_count(list))
        return list;
    value_unref(list);
    return NULL;
}

/* ---- What was there before ---- */

static int is_any(void *arg, const struct mark *mark)
{
    (void)arg, (void)mark;
    return 1;
}

static void add_sensitive(struct value_builder *b, const struct value *value)
{
    if (value_is_sensitive(value) && !value_count(value))
        value_add_sensitive(b, value);
    for (size_t i = 0; value_has_sensitive(value) && i < value_count(value); i++)
        add_sensitive(b, value_child(value, i));
}

void operation_note_former(struct node *node, const struct record *record,
                           const struct runtime_step *step)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = NULL;
    _cleanup_value_ const struct value *marked = NULL, *former = NULL;

    if (!record || !step->before || !each_mark(record->attributes, is_any, NULL))
        return;
    b = value_builder_new();
    marked = value_mark_like(step->before, record->attributes);
    value_begin_array(b);
    add_sensitive(b, marked);
    value_end_array(b);
    former = value_finish(b);
    LOCKED(&node->operation->lock);
    value_assign(&node->former, former);
}

/* ---- Rotation ---- */

struct comparison {
    const struct mark *before;
    struct mark found;
};

static int find_other(void *arg, const struct mark *mark)
{
    struct comparison *comparison = arg;

    if (!str_equal(mark->reference, comparison->before->reference) ||
        str_equal(mark->digest, comparison->before->digest))
        return 0;
    comparison->found = *mark;
    return 1;
}

struct rotation {
    const struct value *now; /* sealed attributes */
    struct operation *operation;
    const char *text;
};

static int compare_mark(void *arg, const struct mark *mark)
{
    struct rotation *rotation = arg;
    struct comparison comparison = {.before = mark};

    if (!each_mark(rotation->now, find_other, &comparison))
        return 0;
    rotation->text =
        operation_text(rotation->operation, "%s has version %.*s, and was applied in version %.*s",
                       mark->reference, comparison.found.version_length, comparison.found.version,
                       mark->version_length, mark->version);
    return 1;
}

const char *operation_rotation(struct operation *operation, const struct record *record,
                               const struct runtime_step *step)
{
    _cleanup_value_ const struct value *now = NULL;
    struct rotation rotation = {.operation = operation};

    if (!record || !step || !operation->secret_source)
        return NULL;
    now = operation_seal_secrets(operation, step->attributes);
    rotation.now = now;
    each_mark(record->attributes, compare_mark, &rotation);
    return rotation.text;
}

void operation_note_unread_secrets(const struct operation *operation, struct plan_change *change)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = NULL;
    const struct value *before = change->warnings;
    const struct resource *resource = change->resource;

    if (!resource || operation->secret_source || !operation->spec->has_secret_store ||
        !(secret_ref_is_within(resource->attributes) || secret_ref_is_within(resource->extensions)))
        return;
    b = value_builder_new();
    value_begin_array(b);
    for (size_t i = 0; i < value_count(before); i++)
        value_add(b, value_at(before, i));
    value_add_string(b,
                     "its secrets (" SECRET_REF_PREFIX "…) are not looked up for a preview, which "
                     "cannot tell if they change");
    value_end_array(b);
    change->warnings = value_finish(b);
    value_unref(before);
}
