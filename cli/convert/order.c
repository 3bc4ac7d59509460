/*
 * The order that manifests have in other tools, as dependsOn:
 *
 *   config.kubernetes.io/depends-on   references of cli-utils, with commas:
 *                                     GROUP/namespaces/NAMESPACE/KIND/NAME, or GROUP/KIND/NAME
 *   api.kusion.io/depends-on          ids, with commas: for Kustomize, which has no other place
 *   argocd.argoproj.io/sync-wave      a number; 0 where there is none
 *   argocd.argoproj.io/hook           PreSync before all, PostSync after all
 *   helm.sh/hook, hook-weight         pre-install, pre-upgrade before all, post-… after all; by
 *                                     weight
 *
 * What is due together is a group; each object of a group depends on each of the group before.
 * Namespaces and CustomResourceDefinitions without such an annotation are in no group: the operator
 * has them before what lives in them. Hooks of a test, of a deletion, of a rollback or of a failure
 * are left out: the operator has no such moment.
 *
 * An annotation that was turned into dependsOn is taken away: it would say what is not obeyed.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/convert/candidate.h"
#include "engine/base/mem.h"
#include "engine/base/similar.h"
#include "engine/base/str.h"
#include "engine/base/strmap.h"

#define DEPENDS_ON  "config.kubernetes.io/depends-on"
#define OWN_DEPENDS "api.kusion.io/depends-on"
#define SYNC_WAVE   "argocd.argoproj.io/sync-wave"
#define ARGO_HOOK   "argocd.argoproj.io/hook"
#define HELM_HOOK   "helm.sh/hook"
#define HELM_WEIGHT "helm.sh/hook-weight"

#define NAMES_SHOWN 3
/* Of two groups, pairs that are written one by one; more have a gate (find_gate()). */
#define PAIRS_WRITTEN 200

/* The words of a list with commas, without the blanks around them. */
struct words {
    char *text;
    char *rest;
};

static struct words words_of(const char *list)
{
    char *text = str_new(list);

    return (struct words){text, text};
}

static const char *next_word(struct words *words)
{
    while (words->rest) {
        char *word = words->rest, *end = strchr(word, ',');

        words->rest = end ? end + 1 : NULL;
        if (end)
            *end = '\0';
        word += strspn(word, " \t\n");
        for (size_t n = strlen(word); n > 0 && strchr(" \t\n", word[n - 1]); n--)
            word[n - 1] = '\0';
        if (*word)
            return word;
    }
    return NULL;
}

/* ---- Dependencies that are written ---- */

static void unknown(const struct candidates *all, const struct candidate *candidate,
                    const char *key, const char *word, const char *meant)
{
    const struct place_in place = candidate_annotation_place(all, candidate, key);

    findings_add(all->findings, SEVERITY_ERROR, "UnknownDependency", &place, candidate->label,
                 "%s: no resource is \"%s\"%s%s%s", key, word, meant ? ": did you mean \"" : "",
                 meant ? meant : "", meant ? "\"?" : "");
}

/* A reference of cli-utils. NULL: no such object is there. */
static struct candidate *find_reference(const struct candidates *all, const char *word)
{
    _cleanup_free_ char *copy = str_new(word);
    const char *parts[6] = {copy};
    size_t n = 1;

    for (char *at = copy; n < ARRAY_SIZE(parts) && (at = strchr(at, '/')); n++) {
        *at++ = '\0';
        parts[n] = at;
    }
    if (n == 5 && str_equal(parts[1], "namespaces")) {
        struct candidate *found =
            strmap_get(&all->by_object, candidate_key(all->arena, parts[0], strlen(parts[0]),
                                                      parts[3], parts[2], parts[4]));

        /* One that names no namespace, where the Spec's is not known. */
        return found ? found
                     : strmap_get(&all->by_object,
                                  candidate_key(all->arena, parts[0], strlen(parts[0]), parts[3],
                                                "", parts[4]));
    }
    if (n == 3)
        return strmap_get(&all->by_object, candidate_key(all->arena, parts[0], strlen(parts[0]),
                                                         parts[1], "", parts[2]));
    return NULL;
}

/* As cli-utils would write the reference to this one. */
static const char *reference_to(const struct candidates *all, const struct candidate *candidate)
{
    size_t length;
    const char *group = api_group(candidate->ref.api_version, &length);

    return *candidate->namespace_name
               ? arena_printf(all->arena, "%.*s/namespaces/%s/%s/%s", (int)length, group,
                              candidate->namespace_name, candidate->ref.kind, candidate->ref.name)
               : arena_printf(all->arena, "%.*s/%s/%s", (int)length, group, candidate->ref.kind,
                              candidate->ref.name);
}

static const char *find_meant(const struct candidates *all, const char *word, bool is_own)
{
    struct similar similar;

    similar_begin(&similar, word);
    for (size_t i = 0; i < all->count; i++)
        if (all->items[i].ref.name)
            similar_offer(&similar, is_own ? all->items[i].id : reference_to(all, &all->items[i]));
    return similar.found;
}

static void take_written(const struct candidates *all, struct candidate *candidate, const char *key)
{
    bool is_own = str_equal(key, OWN_DEPENDS), is_known = true;
    const char *list = value_get_string(candidate_annotations(candidate), key), *word;
    struct place_in place;
    struct words words;

    if (!list)
        return;
    place = candidate_annotation_place(all, candidate, key);
    words = words_of(list);
    while ((word = next_word(&words))) {
        const struct candidate *on =
            is_own ? strmap_get(&all->by_id, word) : find_reference(all, word);

        if (!on)
            unknown(all, candidate, key, word, find_meant(all, word, is_own));
        else if (!on->is_left_out && candidate_depend(candidate, on))
            findings_add(all->findings, SEVERITY_NOTE, "Ordered", &place, candidate->label,
                         "%s -> depends on %s", key, on->label);
        is_known = is_known && on;
    }
    free(words.text);
    if (is_known)
        candidate_drop_annotation(candidate, key);
}

/* ---- Hooks and waves ---- */

/* When a hook is due; in the order in which they count, if it has several. */
static const struct moment {
    const char *key, *name;
    int phase;
    bool is_none; /* the operator has no such moment */
} moments[] = {
    {ARGO_HOOK, "PreSync", -1, false},     {ARGO_HOOK, "Sync", 0, false},
    {ARGO_HOOK, "PostSync", 1, false},     {ARGO_HOOK, "SyncFail", 0, true},
    {ARGO_HOOK, "PreDelete", 0, true},     {ARGO_HOOK, "PostDelete", 0, true},
    {ARGO_HOOK, "Skip", 0, true},          {HELM_HOOK, "pre-install", -1, false},
    {HELM_HOOK, "pre-upgrade", -1, false}, {HELM_HOOK, "crd-install", -1, false},
    {HELM_HOOK, "post-install", 1, false}, {HELM_HOOK, "post-upgrade", 1, false},
    {HELM_HOOK, "pre-delete", 0, true},    {HELM_HOOK, "post-delete", 0, true},
    {HELM_HOOK, "pre-rollback", 0, true},  {HELM_HOOK, "post-rollback", 0, true},
    {HELM_HOOK, "test", 0, true},          {HELM_HOOK, "test-success", 0, true},
    {HELM_HOOK, "test-failure", 0, true},
};

static bool has_word(const char *list, const char *wanted)
{
    struct words words = words_of(list);
    const char *word;
    bool found = false;

    while (!found && (word = next_word(&words)))
        found = str_equal(word, wanted);
    free(words.text);
    return found;
}

static const struct moment *find_moment(const struct value *annotations)
{
    for (size_t i = 0; i < ARRAY_SIZE(moments); i++) {
        const char *list = value_get_string(annotations, moments[i].key);

        if (list && has_word(list, moments[i].name))
            return &moments[i];
    }
    return NULL;
}

static void take_wave(const struct candidates *all, struct candidate *candidate, const char *key)
{
    const char *text = value_get_string(candidate_annotations(candidate), key);
    struct place_in place;

    if (!text)
        return;
    if (str_to_int64(text, &candidate->wave)) {
        candidate->has_order = true;
        return;
    }
    place = candidate_annotation_place(all, candidate, key);
    findings_add(all->findings, SEVERITY_WARNING, "NotObeyed", &place, candidate->label,
                 "%s: \"%s\" is not a whole number", key, text);
}

static void take_moment(const struct candidates *all, struct candidate *candidate)
{
    const struct value *annotations = candidate_annotations(candidate);
    const struct moment *moment;
    struct place_in place;

    if (!value_count(annotations))
        return;
    moment = find_moment(annotations);
    take_wave(all, candidate, SYNC_WAVE);
    if (!moment)
        return;
    take_wave(all, candidate, HELM_WEIGHT);
    candidate->has_order = true;
    candidate->phase = moment->phase;
    if (!moment->is_none)
        return;
    place = candidate_annotation_place(all, candidate, moment->key);
    candidate->is_left_out = true;
    findings_add(all->findings, SEVERITY_WARNING, "LeftOut", &place, candidate->label,
                 "is left out: the operator has no moment for the hook %s: %s", moment->key,
                 moment->name);
}

/* ---- Groups ---- */

static bool is_in_a_group(const struct candidate *candidate)
{
    return !candidate->is_left_out && !candidate->item->is_entry && candidate->ref.name &&
           (candidate->has_order || !(object_ref_is_namespace(&candidate->ref) ||
                                      object_ref_is_definition(&candidate->ref)));
}

static int by_time(const void *a, const void *b)
{
    const struct candidate *x = *(struct candidate *const *)a, *y = *(struct candidate *const *)b;

    if (x->phase != y->phase)
        return x->phase < y->phase ? -1 : 1;
    if (x->wave != y->wave)
        return x->wave < y->wave ? -1 : 1;
    return x < y ? -1 : x > y;
}

/* "Job/migrate, Deployment/web and 3 more" */
static char *name_some(struct candidate *const *group, size_t n)
{
    struct buf text = BUF_INIT;

    for (size_t i = 0; i < n && i < NAMES_SHOWN; i++)
        buf_printf(&text, "%s%s", i ? ", " : "", group[i]->label);
    if (n > NAMES_SHOWN)
        buf_printf(&text, " and %zu more", n - NAMES_SHOWN);
    return buf_take(&text);
}

static const struct candidate *find_ordered(struct candidate *const *group, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (group[i]->has_order)
            return group[i];
    return NULL;
}

/* Told at one that has an annotation: of those that come later, if there is one, else before. */
static void tell_edge(const struct candidates *all, struct candidate *const *before,
                      size_t n_before, struct candidate *const *after, size_t n_after)
{
    const struct candidate *at = find_ordered(before, n_before);
    _cleanup_free_ char *first = name_some(before, n_before), *then = name_some(after, n_after);
    const struct moment *moment;
    const char *key;
    struct place_in place;

    if (!at)
        at = find_ordered(after, n_after);
    if (!at)
        return;
    /* What says when it is due: its hook, else its wave. */
    moment = find_moment(candidate_annotations(at));
    key = moment ? moment->key : SYNC_WAVE;
    place = candidate_annotation_place(all, at, key);
    findings_add(all->findings, SEVERITY_NOTE, "Ordered", &place, at->label,
                 "%s: %s -> %s %s on %s", key, value_get_string(candidate_annotations(at), key),
                 then, n_after > 1 ? "depend" : "depends", first);
}

/* Those that are due together; borrowed. */
struct group {
    struct candidate **items;
    size_t count;
};

/* Marks those of the group that another one of it depends on. free(). */
static bool *find_needed(const struct candidates *all, const struct group *group)
{
    bool *needed = NEW_ARRAY(bool, all->count + 1);

    for (size_t i = 0; i < group->count; i++)
        for (size_t k = 0; k < group->items[i]->n_depends_on; k++) {
            const struct candidate *on = strmap_get(&all->by_id, group->items[i]->depends_on[k]);

            if (on)
                needed[on - all->items] = true;
        }
    return needed;
}

/*
 * Of a large group, the one that is made last: it depends on all others, and who comes later on it
 * alone. That is one dependency for each object, in place of one for each pair. NULL: there is none
 * on which no other depends.
 */
static struct candidate *find_gate(const struct candidates *all, const struct group *group)
{
    _cleanup_free_ bool *needed = find_needed(all, group);
    struct candidate *gate = NULL;

    for (size_t i = group->count; !gate && i > 0; i--) {
        struct candidate *candidate = group->items[i - 1];

        if (!needed[candidate - all->items] && !object_ref_is_namespace(&candidate->ref) &&
            !object_ref_is_definition(&candidate->ref))
            gate = candidate;
    }
    return gate;
}

static void depend_on_all(struct candidate *candidate, const struct group *group)
{
    for (size_t i = 0; i < group->count; i++)
        candidate_depend(candidate, group->items[i]);
}

static void take_edge(const struct candidates *all, const struct group *before,
                      const struct group *after)
{
    struct candidate *gate =
        before->count * after->count > PAIRS_WRITTEN ? find_gate(all, before) : NULL;

    if (gate)
        depend_on_all(gate, before);
    for (size_t i = 0; i < after->count; i++)
        if (gate)
            candidate_depend(after->items[i], gate);
        else
            depend_on_all(after->items[i], before);
    tell_edge(all, before->items, before->count, after->items, after->count);
}

static void take_groups(const struct candidates *all)
{
    _cleanup_free_ struct candidate **due = NEW_ARRAY(struct candidate *, all->count + 1);
    struct group before = {0}, group;
    size_t n = 0;

    for (size_t i = 0; i < all->count; i++)
        if (is_in_a_group(&all->items[i]))
            due[n++] = &all->items[i];
    qsort(due, n, sizeof(*due), by_time);
    for (size_t from = 0; from < n; from += group.count, before = group) {
        group = (struct group){due + from, 1};
        while (from + group.count < n && due[from + group.count]->phase == due[from]->phase &&
               due[from + group.count]->wave == due[from]->wave)
            group.count++;
        if (before.count)
            take_edge(all, &before, &group);
    }
}

static void drop_taken(struct candidate *candidate)
{
    static const char *const taken[] = {SYNC_WAVE, ARGO_HOOK, HELM_HOOK, HELM_WEIGHT};

    for (size_t i = 0; i < ARRAY_SIZE(taken) && candidate->has_order; i++)
        if (value_get_string(candidate_annotations(candidate), taken[i]))
            candidate_drop_annotation(candidate, taken[i]);
}

/* ---- What is mounted or named ---- */

struct user {
    const struct candidates *all;
    struct candidate *candidate;
    size_t n_taken;
};

static void take_mount(void *arg, const char *group, const char *kind, bool is_namespaced,
                       const char *name)
{
    struct user *user = arg;
    const struct candidates *all = user->all;
    const char *namespace_name = is_namespaced ? user->candidate->namespace_name : "";
    const struct candidate *on =
        strmap_get(&all->by_object,
                   candidate_key(all->arena, group, strlen(group), kind, namespace_name, name));

    /* One that is due later: the annotations say it, and a cycle would be the answer. */
    if (!on || on->is_left_out || on->phase > user->candidate->phase ||
        (on->phase == user->candidate->phase && on->wave > user->candidate->wave))
        return;
    user->n_taken += candidate_depend(user->candidate, on);
}

static void take_mounts(const struct candidates *all)
{
    struct user user = {.all = all};
    const struct candidate *first = NULL;

    for (size_t i = 0; i < all->count; i++) {
        struct candidate *candidate = &all->items[i];
        size_t before = user.n_taken;

        if (candidate->is_left_out || candidate->item->is_entry || !candidate->ref.name)
            continue;
        user.candidate = candidate;
        mounts_each(value_get(candidate->entry, "attributes"), take_mount, &user);
        if (!first && user.n_taken > before)
            first = candidate;
    }
    if (first)
        findings_add(all->findings, SEVERITY_NOTE, "Ordered", &first->item->place, first->label,
                     "--order refs: it and others depend on what they mount or name: %zu "
                     "dependencies",
                     user.n_taken);
}

void order_take(struct candidates *all, enum convert_order order)
{
    if (order == ORDER_NONE)
        return;
    for (size_t i = 0; i < all->count; i++)
        if (!all->items[i].is_left_out && !all->items[i].item->is_entry)
            take_moment(all, &all->items[i]);
    for (size_t i = 0; i < all->count; i++) {
        if (all->items[i].is_left_out || all->items[i].item->is_entry)
            continue;
        take_written(all, &all->items[i], DEPENDS_ON);
        take_written(all, &all->items[i], OWN_DEPENDS);
    }
    if (order == ORDER_REFS)
        take_mounts(all);
    take_groups(all); /* last: it looks at what depends on what */
    for (size_t i = 0; i < all->count; i++)
        if (!all->items[i].is_left_out)
            drop_taken(&all->items[i]);
}
