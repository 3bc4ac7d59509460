/*
 * Placeholders of Argo CD's Vault plugin (argocd-vault-plugin.readthedocs.io/en/stable/howitworks):
 * `<path:PATH#KEY>`, `<path:PATH#KEY#VERSION>`. One that is the whole of a string becomes a
 * reference to a secret store (engine/spec/secret_ref.h). In `data` of a Secret that takes the
 * placeholder in Base64, or with the modifier base64encode, since a reference there becomes the
 * Base64 of the value.
 */
#include <ctype.h>
#include <string.h>

#include "cli/convert/candidate.h"
#include "engine/base/base64.h"
#include "engine/base/escape.h"
#include "engine/base/str.h"
#include "engine/spec/place.h"
#include "engine/spec/secret_ref.h"
#include "engine/value/path.h"

#define OPENING   "<path:"
#define IN_BASE64 "PHBhdGg6" /* of that */

struct rewriting {
    const struct candidates *all;
    struct candidate *candidate;
    struct value_builder *made;
    struct path path;
    bool has_data; /* the object is a Secret */
    bool *has_references;
};

/* ---- One ---- */

/* Of a part of a reference, which is decoded where it is read. */
static bool is_plain(char c)
{
    return isalnum((unsigned char)c) || strchr("-._~/:@+=,$!*()'", c);
}

static void add_part(struct buf *to, const char *text, size_t length)
{
    escape_add(to, text, length, '%', is_plain);
}

/* The engine's "data/" after the mount is no part of a name. */
static void add_name(struct buf *to, const char *path, size_t length)
{
    size_t mount = strcspn(path, "/");

    if (mount < length && str_has_prefix(path + mount, "/data/")) {
        add_part(to, path, mount);
        path += mount + strlen("/data");
        length -= mount + strlen("/data");
    }
    add_part(to, path, length);
}

static size_t trimmed(const char *text, size_t length)
{
    while (length && text[length - 1] == ' ')
        length--;
    return length;
}

/* free(); NULL: it is no placeholder that has a reference. is_data: it stands in `data`, where it
 * has to be encoded. */
static char *reference_of(const char *text, bool is_data)
{
    const char *path = text + strlen(OPENING), *key, *end, *version = NULL, *modifier;
    _cleanup_buf_ struct buf reference = BUF_INIT;
    struct secret_ref ref;
    bool encodes = false;

    if (!str_has_prefix(text, OPENING) || !(key = strchr(path, '#')) || !(end = strchr(key, '>')) ||
        end[1])
        return NULL;
    modifier = memchr(key, '|', (size_t)(end - key));
    if (modifier) {
        encodes = str_equal(modifier, "| base64encode>") || str_equal(modifier, "|base64encode>");
        if (!encodes)
            return NULL;
        end = modifier;
    }
    if (encodes != is_data)
        return NULL;
    version = memchr(key + 1, '#', (size_t)(end - key - 1));
    buf_add_str(&reference, SECRET_REF_PREFIX);
    add_name(&reference, path, (size_t)(key - path));
    buf_add_char(&reference, '/');
    add_part(&reference, key + 1, trimmed(key + 1, (size_t)((version ? version : end) - key - 1)));
    if (version) {
        buf_add_str(&reference, "?version=");
        add_part(&reference, version + 1, trimmed(version + 1, (size_t)(end - version - 1)));
    }
    if (secret_ref_parse(reference.data, &ref, NULL) < 0)
        return NULL;
    secret_ref_done(&ref);
    return buf_take(&reference);
}

/* A placeholder that is in Base64 as a whole: the plugin decodes it, and encodes the value. */
static char *reference_in_base64(const char *text, size_t length)
{
    _cleanup_buf_ struct buf decoded = BUF_INIT;

    return str_has_prefix(text, IN_BASE64) && base64_decode(&decoded, text, length)
               ? reference_of(decoded.data, false)
               : NULL;
}

/* ---- All of an object ---- */

static void tell(const struct rewriting *rewriting, const char *text)
{
    const struct convert_item *item = rewriting->candidate->item;
    const char *above = item->place.path;
    const char *below = path_text(&rewriting->path);
    const struct place_in place = {item->place.document,
                                   arena_printf(rewriting->all->arena, "%s%s%s%s", above,
                                                *above ? "." : "",
                                                item->is_entry ? "attributes." : "", below)};

    findings_add(rewriting->all->findings, SEVERITY_WARNING, "VaultPlugin", &place,
                 rewriting->candidate->label, "%s", text);
}

static void rewrite_string(struct rewriting *rewriting, const struct value *value, bool is_data)
{
    size_t length = 0;
    const char *text = value_string_n(value, &length);
    _cleanup_free_ char *reference = reference_of(text, is_data);

    if (!reference && is_data)
        reference = reference_in_base64(text, length);
    if (!reference && strstr(text, OPENING))
        tell(rewriting,
             "a placeholder of Argo CD's Vault plugin stays as it is: only one that is the "
             "whole of a string, without modifiers, becomes a reference (docs/secrets.md)");
    if (!reference) {
        value_add(rewriting->made, value);
        return;
    }
    if (!*rewriting->has_references)
        tell(rewriting,
             "placeholders of Argo CD's Vault plugin become references (ref://): the Spec "
             "needs secretStore (docs/secrets.md)");
    *rewriting->has_references = true;
    value_add_string(rewriting->made, reference);
}

static void rewrite(struct rewriting *rewriting, const struct value *value, bool is_data)
{
    if (value_is(value, VALUE_STRING)) {
        rewrite_string(rewriting, value, is_data);
        return;
    }
    if (!value_count(value)) {
        value_add(rewriting->made, value);
        return;
    }
    value_begin_like(rewriting->made, value);
    for (size_t i = 0; i < value_count(value); i++) {
        size_t length = 0;
        const char *key = value_member_key(value, i, &length);
        bool begins_data =
            rewriting->has_data && key && !rewriting->path.depth && str_equal(key, "data");

        if (key) {
            value_key_n(rewriting->made, key, length);
            path_push_key(&rewriting->path, key);
        } else {
            path_push_index(&rewriting->path, i);
        }
        rewrite(rewriting, value_child(value, i), is_data || begins_data);
        path_pop(&rewriting->path);
    }
    value_end(rewriting->made);
}

static int has_placeholder(void *arg, const struct value *string, const struct place *place,
                           struct error *error)
{
    const char *text = value_string(string);

    (void)arg, (void)place, (void)error;
    return strstr(text, OPENING) || str_has_prefix(text, IN_BASE64);
}

void vault_plugin_take(const struct candidates *all)
{
    bool has_references = false;

    for (size_t i = 0; i < all->count; i++) {
        struct candidate *candidate = &all->items[i];
        const struct value *attributes = value_get(candidate->entry, "attributes");
        struct rewriting rewriting = {.all = all,
                                      .candidate = candidate,
                                      .has_data = secret_ref_has_data(attributes),
                                      .has_references = &has_references};

        if (candidate->is_left_out ||
            !place_each_string(attributes, NULL, has_placeholder, NULL, NULL))
            continue;
        rewriting.made = value_builder_new();
        path_init(&rewriting.path);
        rewrite(&rewriting, attributes, false);
        path_done(&rewriting.path);
        {
            _cleanup_value_ const struct value *before = candidate->entry;
            _cleanup_value_ const struct value *made = value_finish(rewriting.made);

            candidate->entry = value_with(before, "attributes", made);
            if (candidate->ref.name)
                candidate->ref = object_ref_of(value_get(candidate->entry, "attributes"));
            if (candidate->item->is_entry)
                candidate->id = value_get_string(candidate->entry, "id");
        }
        value_builder_free(rewriting.made);
    }
}
