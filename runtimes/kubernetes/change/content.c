#include "runtimes/kubernetes/change/content.h"

#include <string.h>

#include "engine/base/str.h"
#include "engine/base/strmap.h"
#include "engine/value/json.h"
#include "runtimes/kubernetes/client/kinds.h"
#include "runtimes/kubernetes/client/list.h"
#include "runtimes/kubernetes/objects/marks.h"
#include "runtimes/kubernetes/objects/object_ref.h"
#include "runtimes/kubernetes/objects/treatment.h"

struct look {
    struct runtime_session *session;
    const struct runtime_call *call;
    struct content *content;
    const struct kube_kind *kind; /* the kind that is being listed */
    bool in_namespace;
    const struct kube_kinds *kinds; /* all kinds that are listed in a namespace */
    char *rights;                   /* prefix of the roles and bindings that our hints create; or
                                       NULL */
    struct strmap found;            /* keys of the objects counted so far: a list may return an
                                       object twice */
    struct arena arena;
};

/* ---- Names ---- */

static void add_name(struct content_names *names, const char *name)
{
    if (names->count++ < CONTENT_NAMED)
        buf_printf(&names->text, "%s%s", names->text.length ? ", " : "", name);
}

void content_names_show(struct buf *to, const struct content_names *names)
{
    buf_add_str(to, names->text.data);
    if (names->count > CONTENT_NAMED)
        buf_printf(to, " and %zu more", names->count - CONTENT_NAMED);
}

bool content_is_clear(const struct content *content)
{
    return !content->foreign.count && !content->kept.count && !content->refused.count &&
           !content->unknown.count;
}

void content_done(struct content *content)
{
    buf_done(&content->foreign.text);
    buf_done(&content->kept.text);
    buf_done(&content->refused.text);
    buf_done(&content->unknown.text);
}

/* ---- Whose an object is ---- */

static bool is_kind(const struct kube_kind *kind, const char *group, const char *name)
{
    return str_equal(kind->kind, name) && api_group_is(kind->group_version, group);
}

/* Records of activity, which nobody misses. They are not listed, so no right to list them is
 * needed. */
static bool is_trace(const struct kube_kind *kind)
{
    static const char *const kinds[][2] = {{"", "Event"},
                                           {"events.k8s.io", "Event"},
                                           {"coordination.k8s.io", "Lease"},
                                           {"storage.k8s.io", "CSIStorageCapacity"}};

    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        if (is_kind(kind, kinds[i][0], kinds[i][1]))
            return true;
    return false;
}

/* Objects that the cluster creates in every namespace. */
static bool is_furniture(const struct kube_kind *kind, const char *name)
{
    static const struct {
        const char *kind, *name;
    } rows[] = {{"ServiceAccount", "default"},
                {"ConfigMap", "kube-root-ca.crt"},
                {"ConfigMap", "istio-ca-root-cert"},
                {"ConfigMap", "openshift-service-ca.crt"}};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        if (is_kind(kind, "", rows[i].kind) && str_equal(name, rows[i].name))
            return true;
    return false;
}

/* Objects that a controller derives from another object without setting an ownerReference. */
static bool is_derived(const struct kube_kind *kind, const struct value *item)
{
    static const struct {
        const char *group, *kind, *part, *mark;
    } rows[] = {
        {"", "Endpoints", "labels", "endpoints.kubernetes.io/managed-by"},
        {"", "Endpoints", "annotations", "endpoints.kubernetes.io/last-change-trigger-time"},
        {"", "Secret", "annotations", "kubernetes.io/service-account.uid"},
        {"api.kusion.io", "Release", "labels", "api.kusion.io/generated"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        if (is_kind(kind, rows[i].group, rows[i].kind) &&
            value_path(item, "metadata", rows[i].part, rows[i].mark, NULL))
            return true;
    return false;
}

static bool is_same_group(const char *a, const char *b)
{
    size_t length_a, length_b;
    const char *group_a = api_group(a, &length_a), *group_b = api_group(b, &length_b);

    return length_a == length_b && strncmp(group_a, group_b, length_a) == 0;
}

/* The owner's kind is listed here, too, so the owner itself is counted. */
static bool is_listed(const struct look *look, const struct value *owner)
{
    const char *version = value_get_string(owner, "apiVersion");
    const char *kind = value_get_string(owner, "kind");

    for (size_t i = 0; i < look->kinds->count; i++)
        if (str_equal(look->kinds->items[i].kind, kind) && !is_trace(&look->kinds->items[i]) &&
            is_same_group(look->kinds->items[i].group_version, version))
            return true;
    return false;
}

/* The object's controller is counted instead of it. A cluster-scoped controller is not counted
 * here. */
static bool has_controller(const struct look *look, const struct value *item)
{
    const struct value *owners = value_path(item, "metadata", "ownerReferences", NULL);

    for (size_t i = 0; i < value_count(owners); i++)
        if (value_bool(value_get(value_at(owners, i), "controller"), false))
            return is_listed(look, value_at(owners, i));
    return false;
}

/* The object was created by a command of our hints. */
static bool is_hinted(const struct look *look, const char *name)
{
    return look->rights && str_has_prefix(name, look->rights) &&
           (is_kind(look->kind, "rbac.authorization.k8s.io", "Role") ||
            is_kind(look->kind, "rbac.authorization.k8s.io", "RoleBinding"));
}

static bool is_own(const struct look *look, const struct value *item)
{
    return str_equal(value_string(value_path(item, "metadata", "labels", KUBE_OWNER_LABEL, NULL)),
                     look->session->owner);
}

/* Somebody would miss it. */
static bool is_missed(const struct look *look, const struct value *item, const char *name)
{
    if (value_path(item, "metadata", "deletionTimestamp", NULL))
        return false;
    if (is_own(look, item))
        return treatment_keeps(item) != NULL;
    return !look->in_namespace || !(is_furniture(look->kind, name) || is_hinted(look, name) ||
                                    is_derived(look->kind, item) || has_controller(look, item));
}

/* ---- Lists ---- */

/* Quoted: some kinds have names that may say anything, and what follows is our own words. */
static const char *show(struct look *look, const char *in, const char *name)
{
    _cleanup_free_ char *whole = str_printf("%.80s%s%.80s", in ? in : "", in ? "/" : "", name);
    _cleanup_buf_ struct buf quoted = BUF_INIT;

    json_write_string(&quoted, whole, strlen(whole));
    return arena_printf(&look->arena, "%s %s", look->kind->kind, quoted.data);
}

static int on_item(void *arg, const struct value *item, struct error *error)
{
    struct look *look = arg;
    const char *name = value_string(value_path(item, "metadata", "name", NULL));
    const char *in = value_string(value_path(item, "metadata", "namespace", NULL));
    bool shows_namespace = in && !look->in_namespace;
    const char *shown;

    if (!name || !is_missed(look, item, name))
        return 0;
    shown = show(look, shows_namespace ? in : NULL, name);
    if (strmap_put(&look->found,
                   arena_printf(&look->arena, "%s %s %s/%s", look->kind->group_version,
                                look->kind->kind, in ? in : "", name),
                   look))
        return 0;
    if (look->content->foreign.count + look->content->kept.count == CONTENT_COUNTED) {
        look->content->more = true;
        return err_set(error, ERR_TOO_LARGE, "Enough", "more is not counted");
    }
    add_name(is_own(look, item) ? &look->content->kept : &look->content->foreign, shown);
    return 0;
}

/* The kind is gone: the server refused it as unknown, and its discovery no longer has it. */
static bool has_vanished(const struct look *look)
{
    const struct kube_wait wait = session_wait(look->session, look->call);
    struct kube_discovery *discovery = look->session->cluster.discovery;
    const struct kube_kind *kind;

    kube_discovery_forget(discovery, look->kind->group_version);
    return kube_discovery_find(discovery, look->kind->group_version, look->kind->kind, &wait, &kind,
                               NULL) == ERR_NOT_FOUND;
}

/* The call has no time left. */
static bool is_over(const struct look *look)
{
    int64_t left;

    return session_time_left(look->session, look->call, &left, NULL) < 0;
}

/* Errors: only if it was cancelled. */
static int list_kind(struct look *look, const char *namespace_name, struct error *error)
{
    struct runtime_session *session = look->session;
    _cleanup_free_ char *resource = kube_kind_resource(look->kind);
    struct error problem = {0};
    int r = kube_list(session->cluster.client,
                      &(struct kube_list){.ref = {look->kind, namespace_name, NULL, NULL},
                                          .metadata_only = true,
                                          .impersonate = session->impersonate,
                                          .for_tenant = true,
                                          .wait = session_wait(session, look->call),
                                          .on_item = on_item,
                                          .arg = look},
                      NULL, &problem);

    if (r >= 0 || look->content->more)
        return 0;
    if (r == ERR_CANCELLED || is_over(look))
        return err_copy(error, &problem);
    if (r == ERR_FORBIDDEN)
        add_name(&look->content->refused, resource);
    else if (!str_equal(problem.reason, "NotServed") || !has_vanished(look))
        add_name(&look->content->unknown,
                 arena_printf(&look->arena, "%s (%.120s)", resource, problem.message));
    return 0;
}

static void look_init(struct look *look, struct runtime_session *session,
                      const struct runtime_call *call, struct content *content)
{
    *look = (struct look){.session = session, .call = call, .content = content};
    buf_init(&content->foreign.text, 0);
    buf_init(&content->refused.text, 0);
    buf_init(&content->unknown.text, 0);
    content->more = false;
    if (session->service_account)
        look->rights = session_rights_name(session, "");
}

static void look_done(struct look *look)
{
    strmap_done(&look->found);
    free(look->rights);
    arena_done(&look->arena);
}

int content_of_namespace(struct runtime_session *session, const char *name,
                         const struct runtime_call *call, struct content *ret, struct error *error)
{
    struct kube_kinds kinds = {0};
    const struct kube_wait wait = session_wait(session, call);
    struct look look;
    int r = kube_kinds_read(session->cluster.client, &wait, &kinds, error);

    look_init(&look, session, call, ret);
    look.in_namespace = true;
    look.kinds = &kinds;
    for (size_t i = 0; r >= 0 && i < kinds.count && !ret->more; i++) {
        look.kind = &kinds.items[i];
        if (!is_trace(look.kind))
            r = list_kind(&look, name, error);
    }
    for (size_t i = 0; r >= 0 && i < kinds.n_unknown; i++)
        add_name(&ret->unknown, kinds.unknown[i]);
    look_done(&look);
    kube_kinds_done(&kinds);
    return r < 0 ? r : 0;
}

static const char *served_version(const struct value *definition)
{
    const struct value *versions = value_path(definition, "spec", "versions", NULL);

    for (size_t i = 0; i < value_count(versions); i++)
        if (value_bool(value_get(value_at(versions, i), "served"), false))
            return value_get_string(value_at(versions, i), "name");
    return NULL;
}

int content_of_definition(struct runtime_session *session, const struct value *definition,
                          const struct runtime_call *call, struct content *ret, struct error *error)
{
    const struct value *spec = value_get(definition, "spec"), *names = value_get(spec, "names");
    const char *version = served_version(definition);
    struct kube_kind kind = {.kind = value_get_string(names, "kind"),
                             .plural = value_get_string(names, "plural")};
    struct look look;
    int r = 0;

    look_init(&look, session, call, ret);
    if (version && kind.kind && kind.plural) {
        kind.group_version =
            arena_printf(&look.arena, "%s/%s", value_get_string(spec, "group"), version);
        look.kind = &kind;
        r = list_kind(&look, NULL, error);
    } else {
        add_name(&ret->unknown, "its objects (no version of it is served)");
    }
    look_done(&look);
    return r;
}
