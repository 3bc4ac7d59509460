/*
 * What other tools obey, and the operator does not: a warning for each, with what to do instead.
 *
 * The annotations are those of helm.sh/docs (charts_hooks, "helm.sh/resource-policy"), of
 * cli-utils' object lifecycle, of Argo CD's sync options, of Flux's kustomize-controller and of
 * kapp (carvel.dev/kapp/docs: apply-ordering, diff, apply).
 */
#include <ctype.h>
#include <string.h>

#include "cli/convert/candidate.h"
#include "engine/base/str.h"
#include "engine/value/path.h"

#define NOT_OBEYED " is not obeyed: "

static const struct rule {
    const char *key;
    const char *value; /* NULL: any; of a list with commas, one */
    const char *text;
} rules[] = {
    {"config.kubernetes.io/local-config", "true",
     "the object is for tools alone, and the operator would create it: leave it out of the input"},
    {"client.lifecycle.config.k8s.io/mutation", "ignore",
     "the operator keeps the object as the Spec has it"},
    {"argocd.argoproj.io/sync-options", "Replace=true",
     "the operator applies by server-side apply, and replaces an object where a field cannot be "
     "changed (docs/replace.md)"},
    {"argocd.argoproj.io/sync-options", "Force=true",
     "the operator replaces an object where a field cannot be changed; what has data needs the "
     "annotation api.kusion.io/force: enabled (docs/replace.md)"},
    {"argocd.argoproj.io/sync-options", "Validate=false",
     "the API server validates the object in any case"},
    {"argocd.argoproj.io/compare-options", NULL, "the operator corrects what differs"},
    {"argocd.argoproj.io/hook-delete-policy", NULL,
     "the object stays as long as the Spec has it; a Job that changes is replaced "
     "(docs/replace.md)"},
    {"helm.sh/hook-delete-policy", NULL,
     "the object stays as long as the Spec has it; a Job that changes is replaced "
     "(docs/replace.md)"},
    {"kustomize.toolkit.fluxcd.io/force", "enabled",
     "api.kusion.io/force: enabled does the same (docs/replace.md)"},
    {"kapp.k14s.io/change-group", NULL, "write dependsOn"},
    {"kapp.k14s.io/update-strategy", NULL,
     "the operator replaces an object where a field cannot be changed (docs/replace.md)"},
    {"kapp.k14s.io/versioned", NULL,
     "the operator gives no names of versions; Kustomize's configMapGenerator does"},
};

/* Whether a list with commas has this word; blanks around it do not count. */
static bool has_word(const char *list, const char *word)
{
    while (*list) {
        size_t length = strcspn(list, ","), end = length, begin = 0;

        while (begin < end && isspace((unsigned char)list[begin]))
            begin++;
        while (end > begin && isspace((unsigned char)list[end - 1]))
            end--;
        if (end - begin == strlen(word) && memcmp(list + begin, word, end - begin) == 0)
            return true;
        list += length + (list[length] == ',');
    }
    return false;
}

const struct value *candidate_annotations(const struct candidate *candidate)
{
    return value_path(candidate->entry, "attributes", "metadata", "annotations", NULL);
}

struct place_in candidate_annotation_place(const struct candidates *all,
                                           const struct candidate *candidate, const char *key)
{
    const struct place_in *place = &candidate->item->place;
    struct place_in made = {.document = place->document};
    struct path path;

    path_init(&path);
    if (candidate->item->is_entry)
        path_push_key(&path, "attributes");
    path_push_key(&path, "metadata");
    path_push_key(&path, "annotations");
    path_push_key(&path, key);
    made.path =
        arena_printf(all->arena, "%s%s%s", place->path, *place->path ? "." : "", path_text(&path));
    path_done(&path);
    return made;
}

void candidate_drop_annotation(struct candidate *candidate, const char *key)
{
    const char *const path[] = {"attributes", "metadata", "annotations", key};
    _cleanup_value_ const struct value *before = candidate->entry;
    size_t n = value_count(candidate_annotations(candidate)) > 1 ? 4 : 3;

    candidate->entry = value_without_path(before, path, n);
    candidate->ref = object_ref_of(value_get(candidate->entry, "attributes"));
}

static void warn(const struct candidates *all, const struct candidate *candidate, const char *key,
                 const char *value, const char *text)
{
    const struct place_in place = candidate_annotation_place(all, candidate, key);

    findings_add(all->findings, SEVERITY_WARNING, "NotObeyed", &place, candidate->label,
                 "%s: %s" NOT_OBEYED "%s", key, value, text);
}

/* kapp.k14s.io/change-rule, change-rule.1, … */
static void check_change_rules(const struct candidates *all, const struct candidate *candidate,
                               const struct value *annotations)
{
    for (size_t i = 0; i < value_count(annotations); i++) {
        const char *key = value_member_key(annotations, i, NULL);
        const char *value = value_string(value_member(annotations, i));

        if (value && str_has_prefix(key, "kapp.k14s.io/change-rule"))
            warn(all, candidate, key, value, "write dependsOn");
    }
}

static void check_one(const struct candidates *all, const struct candidate *candidate)
{
    const struct value *annotations = candidate_annotations(candidate);

    if (!value_is(annotations, VALUE_OBJECT) || !value_count(annotations))
        return;
    for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
        const char *value = value_get_string(annotations, rules[i].key);

        if (value && (!rules[i].value || has_word(value, rules[i].value)))
            warn(all, candidate, rules[i].key, rules[i].value ? rules[i].value : value,
                 rules[i].text);
    }
    check_change_rules(all, candidate, annotations);
}

void annotations_check(const struct candidates *all)
{
    for (size_t i = 0; i < all->count; i++)
        if (!all->items[i].is_left_out)
            check_one(all, &all->items[i]);
}
