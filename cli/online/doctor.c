/* doctor: what is wrong between here and the objects of Specs, with the command that helps. */
#include <string.h>

#include "cli/online/doctor_state.h"
#include "cli/online/hidden.h"
#include "cli/online/names.h"
#include "cli/online/objects.h"
#include "cli/online/online.h"
#include "cli/online/standing.h"
#include "engine/base/duration.h"
#include "engine/base/str.h"
#include "engine/base/timestamp.h"
#include "runtimes/io/clock.h"
#include "runtimes/kubernetes/client/group.h"

/* ---- Rights of the operator ---- */

/* Whether it still has the rights that its chart gives it. Only who may ask for the rights of
 * others learns that. */

/* An operator's account. */
struct operator_account {
    char *namespace_name, *name;
    char *watched; /* the only namespace whose Specs it sees; NULL: all */
};

#define GROUP "api.kusion.io"
#define WATCH "--watch-namespace="

static const struct kube_kind reviews = {"authorization.k8s.io/v1", "SubjectAccessReview",
                                         "subjectaccessreviews", false};

/* What it does not do without; of its own namespace, or of all that it watches. */
static const struct right {
    const char *verb, *group, *resource, *subresource;
    bool is_own;
} needed[] = {
    {"list", GROUP, "specs", NULL, false},
    {"watch", GROUP, "specs", NULL, false},
    {"patch", GROUP, "specs", NULL, false},
    {"update", GROUP, "specs", "status", false},
    {"watch", GROUP, "releases", NULL, false},
    {"create", GROUP, "releases", NULL, false},
    {"update", GROUP, "releases", "status", false},
    {"impersonate", "", "serviceaccounts", NULL, false},
    {"get", "", "configmaps", NULL, true},
    {"update", "", "configmaps", NULL, true},
    {"get", "", "secrets", NULL, true},
    {"update", "", "secrets", NULL, true},
    {"update", "coordination.k8s.io", "leases", NULL, true},
};

static void operator_account_done(struct operator_account *account)
{
    free(account->namespace_name);
    free(account->name);
    free(account->watched);
    *account = (struct operator_account){0};
}

/* The value of the container's argument; free(). */
static char *argument_of(const struct value *container, const char *prefix)
{
    const struct value *list = value_get(container, "args");

    for (size_t i = 0; i < value_count(list); i++) {
        const char *text = value_string(value_at(list, i));

        if (text && str_has_prefix(text, prefix))
            return str_new(text + strlen(prefix));
    }
    return NULL;
}

/* That of a Deployment of the chart. */
static void operator_account_of(const struct value *deployment, struct operator_account *ret)
{
    const struct value *pod = value_path(deployment, "spec", "template", "spec", NULL);

    *ret = (struct operator_account){
        .namespace_name = str_new(object_namespace(deployment)),
        .name = str_new(object_text(pod, "default", "serviceAccountName", NULL)),
        .watched = argument_of(value_at(value_get(pod, "containers"), 0), WATCH),
    };
}

static int review(struct session *session, const struct operator_account *account,
                  const struct right *right, bool *ret, struct error *error)
{
    _cleanup_free_ char *user =
        str_printf("system:serviceaccount:%s:%s", account->namespace_name, account->name);
    _cleanup_free_ char *of_namespace =
        str_printf("system:serviceaccounts:%s", account->namespace_name);
    const char *place = right->is_own ? account->namespace_name : account->watched;
    _cleanup_value_ const struct value *answer = NULL;
    _cleanup_value_ const struct value *body =
        value_pack("{s:s, s:s, s:{s:s, s:[s, s, s], s:{s:s, s:s, s:s, s:s?, s:s?}}}", "apiVersion",
                   "authorization.k8s.io/v1", "kind", "SubjectAccessReview", "spec", "user", user,
                   "groups", "system:serviceaccounts", of_namespace, "system:authenticated",
                   "resourceAttributes", "verb", right->verb, "group", right->group, "resource",
                   right->resource, "subresource", right->subresource, "namespace", place);
    int r = session_do(session,
                       &(struct kube_request){
                           .method = "POST",
                           .ref = {&reviews, NULL, NULL, NULL},
                           .body = body,
                           .idempotent = true,
                       },
                       &answer, error);

    *ret = value_bool(value_path(answer, "status", "allowed", NULL), false);
    return r;
}

/* Which rights it lacks: "list specs, impersonate serviceaccounts"; empty: none. ERR_FORBIDDEN: the
 * user may not ask. */
static int operator_lacks(struct session *session, const struct operator_account *account,
                          struct buf *ret, struct error *error)
{
    for (size_t i = 0; i < ARRAY_SIZE(needed); i++) {
        const struct right *right = &needed[i];
        bool is_allowed;
        int r = review(session, account, right, &is_allowed, error);

        if (r < 0)
            return r;
        if (!is_allowed)
            buf_printf(ret, "%s%s %s%s%s", ret->length ? ", " : "", right->verb, right->resource,
                       right->subresource ? "/" : "", right->subresource ? right->subresource : "");
    }
    return 0;
}

#define MOST_NAMES 3
#define WAITS_LONG 3600000 /* ms */
#define OPERATOR   "kusion-system"
#define LEASE      "kusion-operator"
#define LOGS       "kubectl logs -n kusion-system -l app.kubernetes.io/name=kusion-operator"
#define GRACE      5000 /* ms by which clocks may differ */

enum finding { FINE, NOTE, WRONG };

struct doctor {
    struct session *session;
    struct output *out;
    unsigned n_wrong;
    int64_t now;
    struct objects leases; /* of operators */
};

static void PRINTF_LIKE(4, 5)
    tell(struct doctor *doctor, enum finding finding, const char *command, const char *format, ...)
{
    static const struct {
        const char *mark;
        enum style style;
    } looks[] = {
        [FINE] = {"✓", STYLE_GOOD}, [NOTE] = {"!", STYLE_WARN}, [WRONG] = {"✗", STYLE_BAD}};
    va_list args;

    output_paint(doctor->out, looks[finding].style, "%s ", looks[finding].mark);
    va_start(args, format);
    output_paint_v(doctor->out, STYLE_PLAIN, format, args);
    va_end(args);
    if (command && finding != FINE)
        output_add(doctor->out, "   -> %s", command);
    output_end(doctor->out);
    output_flush(doctor->out);
    doctor->n_wrong += finding == WRONG;
}

/* ---- The API server ---- */

static int get_path(struct doctor *doctor, const char *path, const struct value **ret,
                    struct error *error)
{
    return session_do(doctor->session, &(struct kube_request){.method = "GET", .path = path}, ret,
                      error);
}

static bool look_at_server(struct doctor *doctor)
{
    _cleanup_value_ const struct value *version = NULL;
    struct error error = {0};
    int r = get_path(doctor, "/version", &version, &error);

    if (r < 0)
        tell(doctor, WRONG,
             r == ERR_UNAUTHENTICATED ? "kubectl auth whoami" : "kubectl cluster-info",
             "the API server %s: %s", doctor->session->config->server, error.message);
    else
        tell(doctor, FINE, NULL, "the API server answers: %s",
             object_text(version, "unknown version", "gitVersion", NULL));
    return r >= 0;
}

static bool serves(const struct value *kinds, const char *kind)
{
    const struct value *resources = value_get(kinds, "resources");

    for (size_t i = 0; i < value_count(resources); i++)
        if (str_equal(value_get_string(value_at(resources, i), "kind"), kind))
            return true;
    return false;
}

static bool look_at_kinds(struct doctor *doctor)
{
    _cleanup_value_ const struct value *kinds = NULL;
    struct error error = {0};
    int r = get_path(doctor, "/apis/" API_GROUP_VERSION, &kinds, &error);
    bool is_served = r >= 0 && serves(kinds, "Spec") && serves(kinds, "Release");

    if (is_served)
        tell(doctor, FINE, NULL, "the kinds Spec and Release are served (%s)", API_GROUP_VERSION);
    else
        tell(doctor, WRONG, "install the chart (docs/install.md)",
             "the kinds Spec and Release are not served (%s): the operator is not installed",
             API_GROUP_VERSION);
    return is_served;
}

/* ---- The operator ---- */

static int find_leases(struct doctor *doctor, struct objects *ret, struct error *error)
{
    struct kube_selector selector = {.fields = "metadata.name=" LEASE};
    struct error why = {0};
    int r = object_list(doctor->session, (struct kube_ref){&kube_leases, NULL, NULL, NULL},
                        selector, ret, &why);

    if (r != ERR_FORBIDDEN)
        return r < 0 ? err_copy(error, &why) : 0;
    objects_done(ret);
    return object_list(doctor->session, (struct kube_ref){&kube_leases, OPERATOR, NULL, NULL},
                       selector, ret, error);
}

static void look_at_lease(struct doctor *doctor, const struct value *lease)
{
    int64_t renewed = time_of(object_text(lease, "", "spec", "renewTime", NULL));
    int64_t duration = object_int(lease, 15, "spec", "leaseDurationSeconds", NULL) * 1000;
    const char *holder = object_text(lease, "", "spec", "holderIdentity", NULL);
    _cleanup_free_ char *age = age_since(renewed, doctor->now);
    _cleanup_free_ char *command = str_printf("kubectl get pods -n %s", object_namespace(lease));

    if (*holder && renewed && doctor->now - renewed < duration + GRACE)
        tell(doctor, FINE, NULL, "an operator is at work: %s renewed its Lease in %s %s ago",
             holder, object_namespace(lease), age);
    else if (*holder)
        tell(doctor, WRONG, command, "no operator is at work: %s renewed its Lease in %s %s ago",
             holder, object_namespace(lease), age);
    else
        tell(doctor, WRONG, command, "no operator is at work: nobody holds the Lease in %s",
             object_namespace(lease));
}

static void look_at_operator(struct doctor *doctor)
{
    const struct objects *leases = &doctor->leases;
    struct error error = {0};
    int r = find_leases(doctor, &doctor->leases, &error);

    if (r == ERR_FORBIDDEN)
        tell(doctor, NOTE, NULL,
             "whether an operator is at work cannot be seen: the Lease in %s may "
             "not be read",
             OPERATOR);
    else if (r < 0)
        tell(doctor, WRONG, NULL, "the operator's Lease: %s", error.message);
    else if (!leases->count)
        tell(doctor, WRONG, "kubectl get pods -A -l app.kubernetes.io/name=kusion-operator",
             "there is no Lease of an operator (%s)", LEASE);
    for (size_t i = 0; i < leases->count; i++)
        look_at_lease(doctor, leases->items[i]);
}

static void look_at_account(struct doctor *doctor, const struct value *deployment)
{
    _cleanup_(operator_account_done) struct operator_account account = {0};
    _cleanup_buf_ struct buf lacks = BUF_INIT;
    struct error error = {0};
    int r;

    operator_account_of(deployment, &account);
    r = operator_lacks(doctor->session, &account, &lacks, &error);
    if (r == ERR_FORBIDDEN)
        tell(doctor, NOTE, NULL,
             "whether the operator's account has its rights cannot be seen: you may not ask for "
             "the rights of others");
    else if (r < 0)
        tell(doctor, WRONG, NULL, "the rights of the operator's account: %s", error.message);
    else if (lacks.length)
        tell(doctor, WRONG, "install the chart again (docs/install.md)",
             "the operator's account %s/%s lacks rights: %s", account.namespace_name, account.name,
             lacks.data);
    else
        tell(doctor, FINE, NULL, "the operator's account %s/%s has its rights",
             account.namespace_name, account.name);
}

/* Without its Deployment, which not everybody may read, nothing is said. */
static void look_at_rights(struct doctor *doctor)
{
    static const struct kube_kind kind = {"apps/v1", "Deployment", "deployments", true};
    struct kube_selector selector = {.labels = "app.kubernetes.io/name=kusion-operator"};
    _cleanup_(objects_done) struct objects deployments = {0};
    struct error error = {0};

    object_list(doctor->session, (struct kube_ref){&kind, NULL, NULL, NULL}, selector, &deployments,
                &error);
    for (size_t i = 0; i < deployments.count; i++)
        look_at_account(doctor, deployments.items[i]);
}

/* ---- Specs ---- */

/* Specs of one kind of trouble: how many, and the first names. */
struct group {
    unsigned count;
    const struct value *first; /* borrowed */
    struct buf names;
};

static void group_add(struct group *group, const struct value *spec)
{
    if (group->count < MOST_NAMES)
        buf_printf(&group->names, "%s%s/%s", group->count ? ", " : "", object_namespace(spec),
                   object_name(spec));
    else if (group->count == MOST_NAMES)
        buf_add_str(&group->names, ", …");
    if (!group->count++)
        group->first = spec;
}

static bool is_reason(const struct standing *standing, const char *const *reasons, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (str_equal(standing->reason, reasons[i]))
            return true;
    return false;
}

static bool waits_long(const struct doctor *doctor, const struct value *spec)
{
    const char *since = object_text(condition_of(spec, "Ready"), "", "lastTransitionTime", NULL);
    int64_t time = timestamp_parse(since);

    return time && doctor->now - time > WAITS_LONG;
}

enum { UNSEEN, DAMAGED, STORES, WEBHOOKS, RIGHTS, FAILED, LONG_WAITS, FIGHTS, GROUPS };

static void sort_into(const struct doctor *doctor, const struct value *spec,
                      struct group groups[GROUPS])
{
    static const char *const damage[] = {"StateCorrupt", "StateLost", "NewerState", "PlanCorrupt",
                                         "PlanKeyCorrupt"};
    static const char *const keys[] = {"KeyMissing", "KeyUnavailable", "NotSealed"};
    static const char *const webhooks[] = {"WebhookFailed"};
    static const char *const rights[] = {"AccessDenied", "Forbidden", "ServiceAccountNotFound"};
    struct standing standing = standing_of(spec, doctor->now);

    if (standing.rank == STANDING_UNSEEN)
        group_add(&groups[UNSEEN], spec);
    else if (is_reason(&standing, damage, ARRAY_SIZE(damage)))
        group_add(&groups[DAMAGED], spec);
    else if (standing.rank != STANDING_READY && (str_has_prefix(standing.reason, "Store") ||
                                                 is_reason(&standing, keys, ARRAY_SIZE(keys))))
        group_add(&groups[STORES], spec);
    else if (is_reason(&standing, webhooks, ARRAY_SIZE(webhooks)))
        group_add(&groups[WEBHOOKS], spec);
    else if (is_reason(&standing, rights, ARRAY_SIZE(rights)))
        group_add(&groups[RIGHTS], spec);
    else if (standing.rank == STANDING_FAILED)
        group_add(&groups[FAILED], spec);
    else if (standing.rank == STANDING_WAITS && waits_long(doctor, spec))
        group_add(&groups[LONG_WAITS], spec);
    if (condition_is(spec, "Drifted", "True"))
        group_add(&groups[FIGHTS], spec);
}

static void tell_groups(struct doctor *doctor, const struct group groups[GROUPS])
{
    static const struct {
        enum finding finding;
        const char *of_one, *of_many;
        const char *command; /* of this program, about the first of them; NULL: LOGS */
    } texts[GROUPS] = {
        [UNSEEN] = {WRONG, "was not seen by an operator since its last change",
                    "were not seen by an operator since their last change", NULL},
        [DAMAGED] = {WRONG, "has a State that is damaged or lost",
                     "have a State that is damaged or lost", "status"},
        [STORES] = {WRONG, "waits for the store of State, or for its keys",
                    "wait for the store of State, or for its keys", "status"},
        [WEBHOOKS] = {WRONG, "waits for an admission webhook that does not answer",
                      "wait for an admission webhook that does not answer", "status"},
        [RIGHTS] = {WRONG, "lacks rights", "lack rights", "rbac check"},
        [FAILED] = {WRONG, "failed", "failed", "status"},
        [LONG_WAITS] = {NOTE, "waits for approval for more than 1h",
                        "wait for approval for more than 1h", "approve"},
        [FIGHTS] = {NOTE, "is corrected again and again: another manager writes its fields, too",
                    "are corrected again and again: another manager writes their fields, too",
                    "status"},
    };

    for (size_t i = 0; i < GROUPS; i++) {
        const struct value *first = groups[i].first;
        _cleanup_free_ char *command = NULL;

        if (!first)
            continue;
        command = texts[i].command ? str_printf("kubectl kusion %s %s -n %s", texts[i].command,
                                                object_name(first), object_namespace(first))
                                   : str_new(LOGS);
        tell(doctor, texts[i].finding, command, "%u Spec%s %s: %s", groups[i].count,
             groups[i].count > 1 ? "s" : "",
             groups[i].count > 1 ? texts[i].of_many : texts[i].of_one, groups[i].names.data);
    }
}

/* After the list of Specs, for what is made has its State first. Who may not list ConfigMaps in the
 * namespaces of the operators is told nothing, nor is it told of State in other stores. */
static void look_at_state(struct doctor *doctor, const struct objects *specs)
{
    _cleanup_(state_heads_done) struct state_heads heads = {0};
    struct group lost = {.names = BUF_INIT};
    int r = doctor->leases.count ? 0 : ERR_NOT_FOUND;

    for (size_t i = 0; r == 0 && i < doctor->leases.count; i++) {
        const char *place = object_namespace(doctor->leases.items[i]);

        r = state_heads_add(doctor->session, place, &heads, NULL);
        if (r == ERR_NOT_FOUND)
            tell(
                doctor, WRONG, "docs/state.md#a-store-that-is-not-the-one",
                "the operator in %s has no record of its store: the ConfigMap kusion-store is gone",
                place);
    }
    for (size_t i = 0; r == 0 && i < specs->count; i++)
        if (state_is_lost(&heads, specs->items[i]))
            group_add(&lost, specs->items[i]);
    if (lost.count)
        tell(doctor, WRONG, "kubectl kusion explain StateLost",
             "the State of %u Spec%s is lost: %s", lost.count, lost.count > 1 ? "s" : "",
             lost.names.data);
    buf_done(&lost.names);
}

static void look_at_specs(struct doctor *doctor)
{
    const char *place = doctor->session->cli->options.namespace_name;
    _cleanup_(objects_done) struct objects specs = {0};
    struct group groups[GROUPS] = {0};
    struct error error = {0};
    int r = spec_list(doctor->session, place, NULL, &specs, &error);

    if (r == ERR_FORBIDDEN && !place) {
        objects_done(&specs);
        err_clear(&error);
        place = doctor->session->namespace_name;
        r = spec_list(doctor->session, place, NULL, &specs, &error);
    }
    if (r < 0) {
        tell(doctor, WRONG, "kubectl auth can-i list specs", "Specs cannot be listed: %s",
             error.message);
        return;
    }
    for (size_t i = 0; i < GROUPS; i++)
        buf_init(&groups[i].names, 0);
    for (size_t i = 0; i < specs.count; i++)
        sort_into(doctor, specs.items[i], groups);
    tell_groups(doctor, groups);
    look_at_state(doctor, &specs);
    tell(doctor, FINE, NULL,
         specs.count == 1 ? "%zu Spec looked at, in %s%s" : "%zu Specs looked at, in %s%s",
         specs.count, place ? "the namespace " : "all namespaces", place ? place : "");
    for (size_t i = 0; i < GROUPS; i++)
        buf_done(&groups[i].names);
}

/* ---- Secrets of previews ---- */

/* Who may not list Secrets is told nothing. */
static void look_at_secrets(struct doctor *doctor)
{
    const char *place = doctor->session->cli->options.namespace_name;
    const struct kube_selector selector = {.labels = HIDDEN_LABEL "=" HIDDEN_BY};
    _cleanup_(objects_done) struct objects secrets = {0};
    struct group left = {.names = BUF_INIT};
    struct error ignored = {0};

    object_list(doctor->session, (struct kube_ref){&kube_secrets, place, NULL, NULL}, selector,
                &secrets, &ignored);
    for (size_t i = 0; i < secrets.count; i++)
        if (!value_count(value_path(secrets.items[i], "metadata", "ownerReferences", NULL)))
            group_add(&left, secrets.items[i]);
    if (left.count) {
        _cleanup_free_ char *command =
            str_printf("kubectl delete secret %s -n %s", object_name(left.first),
                       object_namespace(left.first));

        tell(doctor, NOTE, command,
             "%u Secret%s left by a preview that was killed, with the values of Secrets: %s",
             left.count, left.count > 1 ? "s were" : " was", left.names.data);
    }
    buf_done(&left.names);
}

int run_doctor(struct cli *cli, struct error *error)
{
    _cleanup_(session_done) struct session session = {0};
    struct doctor doctor = {
        .session = &session, .out = &cli->out, .now = system_clock.now(&system_clock)};
    int r = session_open(cli, &session, error);

    if (r < 0)
        return r;
    if (look_at_server(&doctor) && look_at_kinds(&doctor)) {
        look_at_operator(&doctor);
        look_at_rights(&doctor);
        look_at_specs(&doctor);
        look_at_secrets(&doctor);
    }
    objects_done(&doctor.leases);
    return doctor.n_wrong ? EXIT_ERROR : EXIT_DONE;
}
