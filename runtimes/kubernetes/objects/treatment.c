#include "runtimes/kubernetes/objects/treatment.h"

#include <string.h>
#include <strings.h>

#include "engine/base/str.h"
#include "engine/spec/ref.h"

#define OWN  "api.kusion.io/"
#define FLUX "kustomize.toolkit.fluxcd.io/"

#define WHY(key, value) "its annotation " key ": " value

static const char *annotation(const struct value *object, const char *key)
{
    return value_string(value_path(object, "metadata", "annotations", key, NULL));
}

/* Without the spaces around it; some tools do not mind them, nor upper case. */
static bool says(const char *text, const char *word)
{
    size_t length = strlen(word);

    text += strspn(text, " \t");
    return strncasecmp(text, word, length) == 0 && !text[length + strspn(text + length, " \t")];
}

/* ---- How it is applied ---- */

static const struct {
    const char *key, *value, *why;
    enum treatment treatment;
} treatments[] = {
    {OWN "reconcile", "disabled", WHY(OWN "reconcile", "disabled"), TREAT_NOT},
    {FLUX "reconcile", "disabled", WHY(FLUX "reconcile", "disabled"), TREAT_NOT},
    {OWN "ssa", "Ignore", WHY(OWN "ssa", "Ignore"), TREAT_NOT},
    {OWN "ssa", "IfNotPresent", WHY(OWN "ssa", "IfNotPresent"), TREAT_IF_ABSENT},
    {OWN "ssa", "Merge", WHY(OWN "ssa", "Merge"), TREAT_MERGE},
    {FLUX "ssa", "Ignore", WHY(FLUX "ssa", "Ignore"), TREAT_NOT},
    {FLUX "ssa", "IfNotPresent", WHY(FLUX "ssa", "IfNotPresent"), TREAT_IF_ABSENT},
    {FLUX "ssa", "Merge", WHY(FLUX "ssa", "Merge"), TREAT_MERGE},
};

enum treatment treatment_of(const struct value *wanted, const struct value *live,
                            const char **ret_why)
{
    for (size_t i = 0; i < ARRAY_SIZE(treatments); i++) {
        const char *text = annotation(wanted, treatments[i].key);

        if (!text)
            text = annotation(live, treatments[i].key);
        if (!text || !says(text, treatments[i].value))
            continue;
        *ret_why = treatments[i].why;
        return treatments[i].treatment;
    }
    *ret_why = NULL;
    return TREAT_OVERRIDE;
}

/* ---- What is not deleted ---- */

static const struct {
    const char *key, *value, *why;
} keepers[] = {
    {OWN "prune", "disabled", WHY(OWN "prune", "disabled")},
    {OWN "reconcile", "disabled", WHY(OWN "reconcile", "disabled")},
    {FLUX "prune", "disabled", WHY(FLUX "prune", "disabled")},
    {FLUX "reconcile", "disabled", WHY(FLUX "reconcile", "disabled")},
    {"helm.sh/resource-policy", "keep", WHY("helm.sh/resource-policy", "keep")},
    {"client.lifecycle.config.k8s.io/deletion", "detach",
     WHY("client.lifecycle.config.k8s.io/deletion", "detach")},
    {"cli-utils.sigs.k8s.io/on-remove", "keep", WHY("cli-utils.sigs.k8s.io/on-remove", "keep")},
    {"kapp.k14s.io/delete-strategy", "orphan", WHY("kapp.k14s.io/delete-strategy", "orphan")},
};

static const char *kept_by_argo(const struct value *object)
{
    static const char *const options[] = {"Prune=false", "Prune=confirm", "Delete=false",
                                          "Delete=confirm"};
    const char *text = annotation(object, "argocd.argoproj.io/sync-options");

    for (; text && *text; text += strcspn(text, ",") + (strchr(text, ',') != NULL))
        for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
            _cleanup_free_ char *option = str_new_n(text, strcspn(text, ","));

            if (says(option, options[i]))
                return "its annotation argocd.argoproj.io/sync-options";
        }
    return NULL;
}

const char *treatment_keeps(const struct value *object)
{
    for (size_t i = 0; i < ARRAY_SIZE(keepers); i++) {
        const char *text = annotation(object, keepers[i].key);

        if (text && says(text, keepers[i].value))
            return keepers[i].why;
    }
    return kept_by_argo(object);
}

bool treatment_reads(const char *key)
{
    if (str_has_prefix(key, OWN) || strcmp(key, "argocd.argoproj.io/sync-options") == 0)
        return true;
    for (size_t i = 0; i < ARRAY_SIZE(treatments); i++)
        if (strcmp(key, treatments[i].key) == 0)
            return true;
    for (size_t i = 0; i < ARRAY_SIZE(keepers); i++)
        if (strcmp(key, keepers[i].key) == 0)
            return true;
    return false;
}

/* ---- Their values ---- */

void treatment_check(const struct value *attributes, struct check *check, const struct place *place)
{
    static const struct {
        const char *key;
        const char *values[5];
        const char *shown;
    } own[] = {
        {OWN "ssa",
         {"Override", "Merge", "IfNotPresent", "Ignore"},
         "Override, Merge, IfNotPresent and Ignore"},
        {OWN "prune", {"enabled", "disabled"}, "enabled and disabled"},
        {OWN "reconcile", {"enabled", "disabled"}, "enabled and disabled"},
    };
    const struct place in = {.above = place, .key = "annotations"};

    for (size_t i = 0; i < ARRAY_SIZE(own); i++) {
        const struct place at = {.above = &in, .key = own[i].key};
        const char *text = annotation(attributes, own[i].key);
        bool is_known = !text;

        for (size_t k = 0; !is_known && own[i].values[k]; k++)
            is_known = says(text, own[i].values[k]);
        if (!is_known && !str_has_prefix(text, REF_PREFIX))
            check_problem(check, INVALID_SPEC, &at, "\"%s\" is none of %s", text, own[i].shown);
    }
}
