#include "cli/convert/convert.h"

#include "cli/convert/candidate.h"
#include "cli/convert/clean.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/spec/ref.h"

#define KUBERNETES "Kubernetes"

struct maker {
    struct convert_source *source;
    struct findings *findings;
    const char *name, *namespace_name;
    struct strmap scopes; /* clean.h */
    struct candidates all;
};

#define PROBLEM(maker, item, label, ...)                                                      \
    findings_add((maker)->findings, SEVERITY_ERROR, "InvalidManifest", &(item)->place, label, \
                 __VA_ARGS__)

static struct place_in below(struct maker *maker, const struct convert_item *item, const char *key)
{
    const char *path = item->place.path;

    return (struct place_in){item->place.document, arena_printf(&maker->source->arena, "%s%s%s",
                                                                path, *path ? "." : "", key)};
}

/* ---- What an item is ---- */

/* True for an absent one. */
static bool is_type(struct maker *maker, const struct convert_item *item, const struct value *value,
                    const char *key, enum value_type type, const char *what, const char *label)
{
    struct place_in place = below(maker, item, key);

    if (value_type(value) == VALUE_NULL || value_is(value, type))
        return true;
    findings_add(maker->findings, SEVERITY_ERROR, "InvalidManifest", &place, label,
                 "%s must be %s, and is of type %s", key, what, value_type_name(value));
    return false;
}

static bool check_object(struct maker *maker, const struct convert_item *item, const char *label)
{
    const struct value *metadata = value_get(item->value, "metadata");
    const struct value *name = value_get(metadata, "name");

    if (!is_type(maker, item, metadata, "metadata", VALUE_OBJECT, "an object", label))
        return false;
    if (value_type(name) == VALUE_NULL || str_equal(value_string(name), "")) {
        PROBLEM(
            maker, item, NULL, "%s without metadata.name%s", value_get_string(item->value, "kind"),
            value_get(metadata, "generateName") ? "; generateName makes another object each time"
                                                : "");
        return false;
    }
    return is_type(maker, item, name, "metadata.name", VALUE_STRING, "a string", label) &&
           is_type(maker, item, value_get(metadata, "namespace"), "metadata.namespace",
                   VALUE_STRING, "a string", label) &&
           is_type(maker, item, value_get(metadata, "annotations"), "metadata.annotations",
                   VALUE_OBJECT, "an object", label);
}

/* Puts it into its namespace, if it has to have one. */
static void place_object(struct maker *maker, const struct convert_item *item, const char *label,
                         const struct value **object)
{
    static const char *const path[] = {"metadata", "namespace"};
    const struct object_ref ref = object_ref_of(*object);
    const struct value *before = *object;
    enum scope scope = clean_scope(ref.api_version, ref.kind, &maker->scopes);
    bool has_own = ref.namespace_name && *ref.namespace_name;

    if (scope == SCOPE_CLUSTER && has_own) {
        const struct place_in place = below(maker, item, "metadata.namespace");

        findings_add(maker->findings, SEVERITY_NOTE, "NoNamespace", &place, label,
                     "%s has no namespace: \"%s\" is left out", ref.kind, ref.namespace_name);
        *object = value_without_path(before, path, 2);
    } else if (scope == SCOPE_NAMESPACED && !has_own && maker->namespace_name) {
        _cleanup_value_ const struct value *name = value_pack("s", maker->namespace_name);

        *object = value_with_path(before, path, 2, name);
    } else if (!has_own && value_get(value_get(before, "metadata"), "namespace")) {
        *object = value_without_path(before, path, 2);
    } else {
        return;
    }
    value_unref(before);
}

static const char *label_of(struct maker *maker, const struct value *object)
{
    const struct object_ref ref = object_ref_of(object);

    return ref.kind && ref.name ? arena_printf(&maker->source->arena, "%s/%s", ref.kind, ref.name)
                                : NULL;
}

static void take_object(struct maker *maker, struct candidate *candidate)
{
    const struct convert_item *item = candidate->item;
    const char *label = label_of(maker, item->value);
    const struct value *object;

    candidate->is_left_out = !check_object(maker, item, label);
    if (candidate->is_left_out)
        return;
    object = clean_object(item->value);
    place_object(maker, item, label, &object);
    candidate->ref = object_ref_of(object);
    candidate->id = object_ref_id(&maker->source->arena, &candidate->ref);
    candidate->entry = value_pack("{s:s, s:s, s:V}", "id", candidate->id, "type", KUBERNETES,
                                  "attributes", object);
}

static bool check_entry(struct maker *maker, const struct convert_item *item)
{
    const struct value *id = value_get(item->value, "id");
    const struct value *list = value_get(item->value, "dependsOn");
    bool is_good;

    if (value_type(id) == VALUE_NULL || str_equal(value_string(id), "")) {
        PROBLEM(maker, item, NULL, "a resource without an id");
        return false;
    }
    is_good = is_type(maker, item, id, "id", VALUE_STRING, "a string", NULL) &&
              is_type(maker, item, list, "dependsOn", VALUE_ARRAY, "a list", value_string(id));
    for (size_t i = 0; is_good && i < value_count(list); i++) {
        const char *key = arena_printf(&maker->source->arena, "dependsOn[%zu]", i);
        const struct place_in place = below(maker, item, key);

        if (value_is(value_at(list, i), VALUE_STRING))
            continue;
        findings_add(maker->findings, SEVERITY_ERROR, "InvalidManifest", &place, value_string(id),
                     "%s must be a string, and is of type %s", key,
                     value_type_name(value_at(list, i)));
        is_good = false;
    }
    return is_good;
}

static void take_entry(struct maker *maker, struct candidate *candidate)
{
    const struct value *entry = candidate->item->value;
    const struct value *attributes = value_get(entry, "attributes");

    candidate->is_left_out = !check_entry(maker, candidate->item);
    if (candidate->is_left_out)
        return;
    candidate->id = value_get_string(entry, "id");
    if (!value_is(value_get(attributes, "metadata"), VALUE_OBJECT)) {
        candidate->entry = value_ref(entry);
        return;
    }
    _cleanup_value_ const struct value *clean = clean_object(attributes);
    candidate->entry =
        clean == attributes ? value_ref(entry) : value_with(entry, "attributes", clean);
    if (str_equal(value_get_string(entry, "type"), KUBERNETES))
        candidate->ref = object_ref_of(value_get(candidate->entry, "attributes"));
}

/* ---- All of them ---- */

const char *candidate_key(struct arena *arena, const char *group, size_t group_length,
                          const char *kind, const char *namespace_name, const char *name)
{
    return arena_printf(arena, "%.*s\x1f%s\x1f%s\x1f%s", (int)group_length, group, kind,
                        namespace_name, name);
}

/* Whichever version it is written in. */
static const char *key_of(struct maker *maker, const struct candidate *candidate)
{
    const struct object_ref *ref = &candidate->ref;
    size_t length;
    const char *group = api_group(ref->api_version, &length);

    return candidate_key(&maker->source->arena, group, length, ref->kind, candidate->namespace_name,
                         ref->name);
}

/* An object that names no namespace is in the Spec's, unless its kind is known to have none. */
static const char *namespace_of(struct maker *maker, const struct object_ref *ref)
{
    if (ref->namespace_name && *ref->namespace_name)
        return ref->namespace_name;
    if (!maker->namespace_name ||
        clean_scope(ref->api_version, ref->kind, &maker->scopes) == SCOPE_CLUSTER)
        return "";
    return maker->namespace_name;
}

static void refuse_second(struct maker *maker, const struct candidate *candidate,
                          const struct candidate *first)
{
    struct finding *finding =
        PROBLEM(maker, candidate->item, candidate->label, "%s is there already, at", candidate->id);

    if (!finding)
        return;
    finding->other = first->item->place.document;
    finding->other_path = first->item->place.path;
}

static void take_candidate(struct maker *maker, struct candidate *candidate)
{
    struct candidates *all = &maker->all;
    const struct candidate *first;
    const char *key = NULL;

    if (candidate->item->is_entry)
        take_entry(maker, candidate);
    else
        take_object(maker, candidate);
    if (candidate->is_left_out)
        return;
    if (!candidate->ref.api_version || !candidate->ref.kind || !candidate->ref.name)
        candidate->ref = (struct object_ref){0};
    candidate->label = candidate->ref.name ? arena_printf(&maker->source->arena, "%s/%s",
                                                          candidate->ref.kind, candidate->ref.name)
                                           : candidate->id;
    first = strmap_get(&all->by_id, candidate->id);
    if (candidate->ref.name) {
        candidate->namespace_name =
            arena_str(&maker->source->arena, namespace_of(maker, &candidate->ref));
        key = key_of(maker, candidate);
        first = first ? first : strmap_get(&all->by_object, key);
    }
    candidate->is_left_out = first;
    if (first) {
        refuse_second(maker, candidate, first);
        return;
    }
    strmap_put(&all->by_id, candidate->id, candidate);
    if (key)
        strmap_put(&all->by_object, key, candidate);
}

static void note_scope(struct maker *maker, const struct value *object,
                       const struct convert_item *item)
{
    const struct value *spec = value_get(object, "spec"), *names = value_get(spec, "names");
    const struct value *kind = value_get(names, "kind"), *group = value_get(spec, "group");
    const char *label = label_of(maker, object);

    if (!is_type(maker, item, spec, "spec", VALUE_OBJECT, "an object", label) ||
        !is_type(maker, item, names, "spec.names", VALUE_OBJECT, "an object", label) ||
        !is_type(maker, item, kind, "spec.names.kind", VALUE_STRING, "a string", label) ||
        !is_type(maker, item, group, "spec.group", VALUE_STRING, "a string", label))
        return;
    if (kind && group)
        strmap_put(&maker->scopes,
                   arena_printf(&maker->source->arena, "%s\x1f%s", value_string(group),
                                value_string(kind)),
                   (void *)(uintptr_t)object);
}

static void note_scopes(struct maker *maker)
{
    for (size_t i = 0; i < maker->source->n_items; i++) {
        const struct convert_item *item = &maker->source->items[i];

        if (!item->is_entry &&
            str_equal(value_get_string(item->value, "kind"), "CustomResourceDefinition"))
            note_scope(maker, item->value, item);
    }
}

static void take_all(struct maker *maker)
{
    struct candidates *all = &maker->all;

    note_scopes(maker);
    all->arena = &maker->source->arena;
    all->findings = maker->findings;
    all->items = NEW_ARRAY(struct candidate, maker->source->n_items + 1);
    /* As it was with entries first: they are what an id in dependsOn names. */
    for (int entries = 1; entries >= 0; entries--)
        for (size_t i = 0; i < maker->source->n_items; i++) {
            struct candidate *candidate = &all->items[all->count];

            if (maker->source->items[i].is_entry != entries)
                continue;
            *candidate = (struct candidate){.item = &maker->source->items[i], .namespace_name = ""};
            all->count++;
            take_candidate(maker, candidate);
        }
}

/* ---- What a Spec cannot have ---- */

/* A reference to the name of the Namespace that is left out: its id and name. */
struct own_name {
    char *text;
    const char *name;
};

/* The name; any other reference stays as it is. */
static int write_out(void *arg, const char *text, const struct value **ret, struct error *error)
{
    const struct own_name *own = arg;

    (void)error;
    *ret = value_pack("s", str_equal(text, own->text) ? own->name : text);
    return 0;
}

/* What refers to its name has the name. */
static void write_out_name(struct maker *maker, const struct candidate *left_out)
{
    struct own_name own = {str_printf(REF_PREFIX "%s.metadata.name", left_out->id),
                           left_out->ref.name};

    for (size_t i = 0; i < maker->all.count; i++) {
        struct candidate *candidate = &maker->all.items[i];
        const struct value *before = candidate->entry, *made = NULL;

        if (candidate->is_left_out || ref_resolve(before, write_out, &own, &made, NULL) < 0)
            continue;
        candidate->entry = made;
        value_unref(before);
        if (candidate->ref.name)
            candidate->ref = object_ref_of(value_get(made, "attributes"));
    }
    free(own.text);
}

/* A Spec lives in its Namespace, and does not make it. */
static void leave_out_own_namespace(struct maker *maker)
{
    for (size_t i = 0; i < maker->all.count; i++) {
        struct candidate *candidate = &maker->all.items[i];

        if (!candidate->ref.name || !object_ref_is_namespace(&candidate->ref) ||
            !str_equal(candidate->ref.name, maker->namespace_name))
            continue;
        candidate->is_left_out = true;
        findings_add(maker->findings, SEVERITY_NOTE, "OwnNamespace", &candidate->item->place,
                     candidate->label,
                     "is left out: the Spec lives in this Namespace, which must be there before it "
                     "(kubectl create namespace %s)",
                     candidate->ref.name);
        write_out_name(maker, candidate);
    }
}

/* ---- The Spec ---- */

bool candidate_depend(struct candidate *candidate, const struct candidate *on)
{
    const struct value *list = value_get(candidate->entry, "dependsOn");

    if (candidate == on)
        return false;
    for (size_t i = 0; i < value_count(list); i++)
        if (str_equal(value_string(value_at(list, i)), on->id))
            return false;
    for (size_t i = 0; i < candidate->n_depends_on; i++)
        if (str_equal(candidate->depends_on[i], on->id))
            return false;
    candidate->depends_on = mem_grow(candidate->depends_on, candidate->n_depends_on,
                                     &candidate->depends_on_capacity, sizeof(char *));
    candidate->depends_on[candidate->n_depends_on++] = on->id;
    return true;
}

static bool is_left_out(const struct maker *maker, const char *id)
{
    const struct candidate *candidate = strmap_get(&maker->all.by_id, id);

    return candidate && candidate->is_left_out;
}

static bool names_one_left_out(const struct maker *maker, const struct value *list)
{
    for (size_t i = 0; i < value_count(list); i++)
        if (is_left_out(maker, value_string(value_at(list, i))))
            return true;
    return false;
}

/* The entry with all that it depends on. A reference. */
static const struct value *finish_entry(const struct maker *maker,
                                        const struct candidate *candidate)
{
    const struct value *list = value_get(candidate->entry, "dependsOn"), *ids = NULL, *made;
    _cleanup_(value_builder_free_p) struct value_builder *b = NULL;

    if (!candidate->n_depends_on && !names_one_left_out(maker, list))
        return value_ref(candidate->entry);
    b = value_builder_new();
    value_begin_array(b);
    for (size_t i = 0; i < value_count(list); i++)
        if (!is_left_out(maker, value_string(value_at(list, i))))
            value_add(b, value_at(list, i));
    for (size_t i = 0; i < candidate->n_depends_on; i++)
        value_add_string(b, candidate->depends_on[i]);
    value_end_array(b);
    if (value_builder_finish(b, &ids, NULL) < 0)
        return value_ref(candidate->entry);
    made = value_count(ids) ? value_with(candidate->entry, "dependsOn", ids)
                            : value_without(candidate->entry, "dependsOn");
    value_unref(ids);
    return made;
}

static const struct value *finish_resources(const struct maker *maker, struct conversion *ret)
{
    const struct candidates *all = &maker->all;
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();

    ret->places = NEW_ARRAY(struct place_in, all->count + 1);
    ret->are_entries = NEW_ARRAY(bool, all->count + 1);
    value_begin_array(b);
    for (size_t i = 0; i < all->count; i++) {
        const struct candidate *candidate = &all->items[i];

        if (candidate->is_left_out)
            continue;
        _cleanup_value_ const struct value *entry = finish_entry(maker, candidate);
        value_add(b, entry);
        ret->places[ret->n] = candidate->item->place;
        ret->are_entries[ret->n++] = candidate->item->is_entry;
    }
    value_end_array(b);
    return value_finish(b);
}

/* That of the Spec in the input, without what a server wrote, under this name. A reference. */
static const struct value *make_metadata(const struct maker *maker)
{
    const struct convert_head *head = maker->source->n_heads ? &maker->source->heads[0] : NULL;
    _cleanup_value_ const struct value *name = value_pack("s", maker->name);
    _cleanup_value_ const struct value *clean = NULL, *named = NULL, *in = NULL;

    if (head && head->metadata)
        clean = clean_object(head->document);
    named = value_with(value_get(clean, "metadata"), "name", name);
    if (!maker->namespace_name)
        return value_without(named, "namespace");
    in = value_pack("s", maker->namespace_name);
    return value_with(named, "namespace", in);
}

static int finish(const struct maker *maker, const struct convert_options *options,
                  const struct value *fields, struct conversion *ret, struct error *error)
{
    _cleanup_value_ const struct value *resources = finish_resources(maker, ret);
    _cleanup_value_ const struct value *with_account = NULL, *spec = NULL;

    if (!resources)
        return err_set(error, ERR_TOO_LARGE, "TooLarge", "the Spec would be too large");
    if (options->service_account) {
        _cleanup_value_ const struct value *account = value_pack("s", options->service_account);

        with_account = value_with(fields, "serviceAccountName", account);
    } else {
        with_account = fields ? value_ref(fields) : value_pack("{}");
    }
    spec = value_with(with_account, "resources", resources);
    ret->spec = value_pack("{s:s, s:s, s:V, s:v}", "apiVersion", "api.kusion.io/v1", "kind", "Spec",
                           "metadata", make_metadata(maker), "spec", spec);
    return 0;
}

static void maker_done(struct maker *maker)
{
    for (size_t i = 0; i < maker->all.count; i++) {
        value_unref(maker->all.items[i].entry);
        free(maker->all.items[i].depends_on);
    }
    free(maker->all.items);
    strmap_done(&maker->all.by_object);
    strmap_done(&maker->all.by_id);
    strmap_done(&maker->scopes);
}

int convert_make(struct convert_source *source, const struct convert_options *options,
                 struct conversion *ret, struct findings *findings, struct error *error)
{
    const struct convert_head *head = source->n_heads ? &source->heads[0] : NULL;
    _cleanup_(maker_done) struct maker maker = {.source = source, .findings = findings};

    *ret = (struct conversion){0};
    if (source->n_heads > 1) {
        struct finding *finding =
            findings_add(findings, SEVERITY_ERROR, "InvalidManifest", &source->heads[1].place, NULL,
                         "a second Spec, beside that at");

        if (finding) {
            finding->other = head->place.document;
            finding->other_path = head->place.path;
        }
    }
    maker.name = options->name ? options->name
                 : head        ? value_get_string(head->metadata, "name")
                               : NULL;
    maker.namespace_name = options->namespace_name ? options->namespace_name
                           : head                  ? value_get_string(head->metadata, "namespace")
                                                   : NULL;
    if (!maker.name)
        return err_set(error, ERR_INVALID, "InvalidOption",
                       "the Spec needs a name: use --name NAME");
    take_all(&maker);
    leave_out_own_namespace(&maker);
    vault_plugin_take(&maker.all);
    annotations_check(&maker.all);
    unsupported_check(&maker.all, source, options->is_checked);
    order_take(&maker.all, options->order);
    return finish(&maker, options, head ? head->fields : NULL, ret, error);
}

void conversion_done(struct conversion *conversion)
{
    value_unref(conversion->spec);
    free(conversion->places);
    free(conversion->are_entries);
    *conversion = (struct conversion){0};
}
