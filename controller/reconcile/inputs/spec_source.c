#include "controller/reconcile/inputs/spec_source.h"

#include <string.h>

#include "engine/base/base64.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "runtimes/kubernetes/session/session.h"

/* Bytes of an answer: SOURCE_BYTES, escaped or in Base64, and metadata. */
#define MOST_ANSWER (8u << 20)
#define DIGEST      "sha256:"

/* ---- What the Spec names ---- */

int spec_sources_read(const struct value *object, struct spec_sources *ret, struct error *error)
{
    const struct value *list = value_path(object, "spec", "resourcesFrom", NULL);

    *ret = (struct spec_sources){.items = NEW_ARRAY(struct spec_source, value_count(list))};
    for (size_t i = 0; i < value_count(list); i++) {
        const struct value *item = value_at(list, i);
        const char *kind = value_get_string(item, "kind"),
                   *digest = value_get_string(item, "digest");
        struct spec_source *source = &ret->items[ret->count++];

        source->kind = str_equal(kind, "ConfigMap") ? &kube_config_maps
                       : str_equal(kind, "Secret")  ? &kube_secrets
                                                    : NULL;
        source->name = value_get_string(item, "name");
        source->key = value_get_string(item, "key");
        source->is_secret = source->kind == &kube_secrets;
        if (!source->kind || !source->name || !*source->name || !source->key || !*source->key)
            return err_set(error, ERR_INVALID, "InvalidSpec",
                           "resourcesFrom[%zu] has to have a kind, ConfigMap or Secret, a name and "
                           "a key",
                           i);
        if (digest && (!str_has_prefix(digest, DIGEST) || !hash_is_hex(digest + strlen(DIGEST))))
            return err_set(error, ERR_INVALID, "InvalidSpec",
                           "resourcesFrom[%zu].digest has to be " DIGEST
                           " and 64 hexadecimal digits, in lower case, as sha256sum gives them",
                           i);
        source->wanted = digest ? digest + strlen(DIGEST) : NULL;
        source->label = str_printf("resourcesFrom[%zu]: %s \"%s\", key \"%s\"", i,
                                   source->kind->kind, source->name, source->key);
    }
    return 0;
}

void spec_sources_done(struct spec_sources *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free(list->items[i].label);
        free(list->items[i].uid);
        free(list->items[i].version);
    }
    free(list->items);
    *list = (struct spec_sources){0};
}

/* ---- Reading one ---- */

/* Of Secrets, no more than is asked for: without list and watch, changes are seen at `interval`. */
static void offer_right(const struct run *run, const struct spec_source *source,
                        struct error *error)
{
    const char *in = run->subject.key.namespace_name, *account = run_account(run);
    _cleanup_free_ char *role = NULL;

    if (!account || kube_is_system(in) || !kube_is_plain(in) || !kube_is_plain(account) ||
        !kube_is_plain(source->name))
        return;
    role = str_printf("%s-sources-%s%s%s", account, source->kind->plural,
                      source->is_secret ? "-" : "", source->is_secret ? source->name : "");
    err_hint(error,
             "to allow it: kubectl create role %s --verb=%s --resource=%s%s%s --namespace=%s && "
             "kubectl create rolebinding %s --role=%s --serviceaccount=%s:%s --namespace=%s",
             role, source->is_secret ? "get" : "get,list,watch", source->kind->plural,
             source->is_secret ? " --resource-name=" : "", source->is_secret ? source->name : "",
             in, role, role, in, account, in);
}

static int say_why(const struct run *run, const struct spec_source *source,
                   const struct error *problem, struct error *error)
{
    if (problem->code == ERR_NOT_FOUND)
        return err_set(error, ERR_INVALID, "SourceNotFound",
                       "%s: there is no such %s in namespace \"%s\"", source->label,
                       source->kind->kind, run->subject.key.namespace_name);
    if (problem->code == ERR_FORBIDDEN) {
        err_set(error, ERR_FORBIDDEN, "AccessDenied", "%s: %s", source->label, problem->message);
        offer_right(run, source, error);
        return ERR_FORBIDDEN;
    }
    err_copy(error, problem);
    err_wrap(error, "%s", source->label);
    return problem->code;
}

static int load(const struct run *run, const struct spec_source *source, int64_t deadline,
                const struct value **ret, struct error *error)
{
    const struct kube_request request = {.ref = {.kind = source->kind, .name = source->name},
                                         .max_response = MOST_ANSWER,
                                         .timeout = context_left(run->context, deadline)};
    struct error problem = {0};
    int r = run_read(run, request, ret, &problem);

    return r < 0 ? say_why(run, source, &problem, error) : 0;
}

/* False: there is no such key, or it is not Base64 where it has to be. */
static bool take_bytes(const struct spec_source *source, const struct value *object,
                       struct buf *ret)
{
    const struct value *text = value_path(object, "data", source->key, NULL);
    const struct value *binary = value_path(object, "binaryData", source->key, NULL);
    size_t length;
    const char *bytes = value_string_n(text ? text : binary, &length);

    if (!bytes)
        return false;
    if (!text || source->is_secret)
        return base64_decode(ret, bytes, length);
    buf_add(ret, bytes, length);
    return !buf_overflowed(ret);
}

int spec_source_read(const struct run *run, struct spec_source *source, int64_t deadline,
                     struct buf *ret, struct error *error)
{
    _cleanup_value_ const struct value *object = NULL;
    int r = load(run, source, deadline, &object, error);

    source->is_absent = r == ERR_INVALID; /* as say_why() has it; nothing else is invalid yet */
    if (r < 0)
        return r;
    if (!take_bytes(source, object, ret))
        return err_set(error, ERR_INVALID, "SourceNotFound", "%s: it has no such key",
                       source->label);
    hash_hex(ret->data, ret->length, source->digest);
    free(source->uid);
    free(source->version);
    source->uid = str_new(value_string(value_path(object, "metadata", "uid", NULL)));
    source->version =
        str_new(value_string(value_path(object, "metadata", "resourceVersion", NULL)));
    if (source->wanted && !str_equal(source->wanted, source->digest))
        return err_set(
            error, ERR_INVALID, "SourceDigest",
            "%s: its content is not the one that the Spec wants (resourcesFrom[].digest)",
            source->label);
    return 0;
}

/* ---- All of them ---- */

const struct value *spec_sources_value(const struct spec_sources *list)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();

    value_begin_array(b);
    for (size_t i = 0; i < list->count; i++) {
        const struct spec_source *source = &list->items[i];
        _cleanup_free_ char *digest =
            source->is_secret ? NULL : str_printf(DIGEST "%s", source->digest);
        _cleanup_value_ const struct value *item =
            value_pack("{s:s, s:s, s:s, s:s?, s:s?, s:s?}", "kind", source->kind->kind, "name",
                       source->name, "key", source->key, "uid", source->uid, "resourceVersion",
                       source->version, "digest", digest);

        value_add(b, item);
    }
    value_end_array(b);
    return value_finish(b);
}

void spec_sources_digest(const struct spec_sources *list, const struct run *run,
                         char ret[HASH_HEX_SIZE])
{
    const unsigned char *key = run->context->plan_key;
    _cleanup_(hash_free_p) struct hash *hash = hash_new_keyed(key, sizeof(run->context->plan_key));

    hash_add_str(hash, "sources");
    hash_add_str(hash, run->uid ? run->uid : "");
    for (size_t i = 0; i < list->count; i++) {
        hash_add_str(hash, list->items[i].kind->kind);
        hash_add_str(hash, list->items[i].digest);
    }
    hash_finish_hex(hash, ret);
}
