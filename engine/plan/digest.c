#include "engine/plan/digest.h"

#include <stdio.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/plan/unknown.h"
#include "engine/value/json.h"

/* What a digest is made of. It is no digest where a value could not be written whole: two values
 * may have the same beginning. */
struct digest {
    struct hash *hash;
    bool is_cut;
};

static struct digest begin(struct digest_key key, const char *what)
{
    struct digest digest = {.hash = hash_new_keyed(key.data, key.length)};

    hash_add_str(digest.hash, what);
    return digest;
}

static void add_value(struct digest *digest, const struct value *value)
{
    _cleanup_buf_ struct buf text = BUF_INIT;

    if (value)
        json_write(&text, value, JSON_CANONICAL);
    digest->is_cut = digest->is_cut || buf_overflowed(&text);
    hash_add_str(digest->hash, text.data);
}

/* False: there is none. */
static bool end(struct digest *digest, char ret_hex[HASH_HEX_SIZE])
{
    hash_finish_hex(digest->hash, ret_hex);
    hash_free(digest->hash);
    return !digest->is_cut;
}

static void add_object(struct digest *digest, const struct plan_change *change, const char *uid,
                       const struct value *before)
{
    hash_add_str(digest->hash, change->id);
    hash_add_str(digest->hash, change->type);
    hash_add_str(digest->hash, uid ? uid : "");
    if (change->step && change->step->place)
        hash_add_str(digest->hash, change->step->place);
    add_value(digest, before);
}

/* ---- What is made ---- */

enum part { PART_AFTER, PART_EXTENSIONS, PART_ATTRIBUTES, N_PARTS };

static const char *const prefixes[] = {
    [PART_AFTER] = "/after", [PART_EXTENSIONS] = "/extensions", [PART_ATTRIBUTES] = "/attributes"};

static const struct value *part_of(const struct plan_change *change, enum part part)
{
    const struct runtime_step *step = change->step;

    if (!step)
        return NULL;
    return part == PART_ATTRIBUTES ? step->attributes
           : part == PART_AFTER    ? step->after
                                   : step->extensions;
}

static bool add_paths(struct value_builder *b, const struct value *value, const char *prefix)
{
    _cleanup_value_ const struct value *paths = unknown_paths(value);

    for (size_t i = 0; i < value_count(paths); i++) {
        _cleanup_buf_ struct buf path = BUF_INIT;
        size_t length = 0;
        const char *below = value_string_n(value_at(paths, i), &length);

        buf_add_str(&path, prefix);
        buf_add(&path, below, length);
        value_add_string_n(b, path.data, path.length);
    }
    return value_count(paths) != 0;
}

static const struct value *list_unknown(const struct plan_change *change)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    bool any = false;

    value_begin_array(b);
    for (enum part part = 0; part < N_PARTS; part++)
        any = add_paths(b, part_of(change, part), prefixes[part]) || any;
    value_end_array(b);
    return any ? value_finish(b) : NULL;
}

/* The pointers that begin with the prefix, without it. A reference; NULL: there are no pointers. */
static const struct value *paths_below(const struct value *pointers, const char *prefix)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = NULL;
    size_t skipped = strlen(prefix);

    if (!pointers)
        return NULL;
    b = value_builder_new();
    value_begin_array(b);
    for (size_t i = 0; i < value_count(pointers); i++) {
        size_t length = 0;
        const char *path = value_string_n(value_at(pointers, i), &length);

        if (path && length >= skipped && memcmp(path, prefix, skipped) == 0 &&
            (length == skipped || path[skipped] == '/'))
            value_add_string_n(b, path + skipped, length - skipped);
    }
    value_end_array(b);
    return value_finish(b);
}

/* has_unknown: set where anything is unknown. */
static void add_part(struct digest *digest, const struct value *value, const struct value *unknown,
                     const char *prefix, bool *has_unknown)
{
    _cleanup_value_ const struct value *paths = paths_below(unknown, prefix);
    _cleanup_value_ const struct value *masked = unknown_mask(value, paths);

    digest->is_cut = digest->is_cut || (value && !masked);
    *has_unknown = *has_unknown || value_has_unknown(masked);
    add_value(digest, masked);
}

/* Where values are unknown, the resource as the Spec has it says what they will be taken from. */
static bool digest_made(const struct plan_change *change, const struct value *unknown,
                        struct digest_key key, char ret_hex[HASH_HEX_SIZE])
{
    const struct runtime_step *step = change->step;
    struct digest digest = begin(key, "made");
    bool has_unknown = false;

    add_object(&digest, change, step ? step->uid : NULL, step ? step->before : NULL);
    for (enum part part = 0; part < N_PARTS; part++)
        add_part(&digest, part_of(change, part), unknown, prefixes[part], &has_unknown);
    if (change->secrets) {
        hash_add_str(digest.hash, "secrets");
        add_value(&digest, change->secrets);
    }
    if (has_unknown && change->resource) {
        hash_add_str(digest.hash, "references");
        add_value(&digest, change->resource->attributes);
        add_value(&digest, change->resource->extensions);
    }
    return end(&digest, ret_hex);
}

/* ---- What is removed ---- */

/* An object that is gone is only forgotten: that is another removal than its deletion. What is
 * forgotten stays, whichever object it is. An object that is deleted is known by its uid: `before`
 * may come from the record in State, which an operation that was ended may have changed. */
static bool digest_removed(const struct plan_change *change, struct digest_key key,
                           char ret_hex[HASH_HEX_SIZE])
{
    const struct runtime_step *step =
        change->action == PLAN_REPLACE ? change->removal : change->step;
    const char *uid = step && step->action != PLAN_FORGET ? step->uid : NULL;
    struct digest digest = begin(key, "removed");

    add_object(&digest, change, uid, step && !uid ? step->before : NULL);
    hash_add_str(digest.hash, step ? plan_action_name(step->action) : "");
    add_value(&digest, step ? step->extensions : NULL);
    return end(&digest, ret_hex);
}

/* ---- What a creation shows ---- */

static const struct value *shown_of(const struct plan_change *change)
{
    return change->action == PLAN_CREATE && change->step ? change->step->shown_after : NULL;
}

struct digest_shown digest_shown_like(const struct plan_change *change,
                                      const struct value *assigned, struct digest_key key)
{
    _cleanup_value_ const struct value *masked = unknown_mask(shown_of(change), assigned);
    struct digest_shown shown = {"", NULL};
    struct digest digest;

    if (!masked)
        return shown;
    digest = begin(key, "shown");
    add_object(&digest, change, NULL, masked);
    if (!end(&digest, shown.hex))
        shown.hex[0] = '\0';
    return shown;
}

struct digest_shown digest_shown(const struct plan_change *change, struct digest_key key)
{
    struct digest_shown shown = digest_shown_like(change, NULL, key);

    if (*shown.hex)
        shown.assigned = unknown_paths(shown_of(change));
    return shown;
}

/* ---- Changes ---- */

static bool makes(enum plan_action action)
{
    return action == PLAN_CREATE || action == PLAN_ADOPT || action == PLAN_UPDATE ||
           action == PLAN_REPLACE || action == PLAN_READ;
}

static bool removes(enum plan_action action)
{
    return action == PLAN_DELETE || action == PLAN_FORGET || action == PLAN_REPLACE;
}

bool digest_halves_of(const struct plan_change *change, const struct value *unknown,
                      struct digest_key key, struct digest_halves *ret)
{
    struct digest_halves halves = {"", ""};

    if (makes(change->action) && !digest_made(change, unknown, key, halves.made))
        return false;
    if (removes(change->action) && !digest_removed(change, key, halves.removed))
        return false;
    *ret = halves;
    return true;
}

struct change_digest *change_digest_new(const struct plan_change *change, struct digest_key key)
{
    struct change_digest *digest = NEW(struct change_digest);

    digest->is_cut = !digest_halves_of(change, NULL, key, &digest->halves);
    if (!digest->is_cut && *digest->halves.made)
        digest->unknown = list_unknown(change);
    if (!digest->is_cut)
        digest->shown = digest_shown(change, key);
    return digest;
}

void change_digest_free(struct change_digest *digest)
{
    if (!digest)
        return;
    value_unref(digest->unknown);
    value_unref(digest->shown.assigned);
    free(digest);
}

void digest_add_pointers(struct hash *hash, const struct value *pointers)
{
    char digits[32];

    for (size_t i = 0; i < value_count(pointers); i++) {
        size_t length = 0;
        const char *path = value_string_n(value_at(pointers, i), &length);

        snprintf(digits, sizeof(digits), "%zu", length); /* a path may have any bytes */
        hash_add_str(hash, digits);
        hash_add(hash, path, length);
    }
}

void digest_change(const struct digest_parts *parts, struct digest_key key,
                   char ret_hex[HASH_HEX_SIZE])
{
    _cleanup_(hash_free_p) struct hash *hash = hash_new_keyed(key.data, key.length);

    hash_add_str(hash, "change");
    hash_add_str(hash, parts->id);
    hash_add_str(hash, parts->type);
    hash_add_str(hash, plan_action_name(parts->action));
    hash_add_str(hash, parts->leaves ? "leaves" : "");
    hash_add_str(hash, parts->action != PLAN_REPLACE ? ""
                       : parts->create_first         ? "create first"
                                                     : "delete first");
    hash_add_str(hash, parts->has_unknown ? "has unknown" : "");
    hash_add_str(hash, parts->halves->made);
    hash_add_str(hash, parts->halves->removed);
    digest_add_pointers(hash, parts->unknown);
    hash_finish_hex(hash, ret_hex);
}
