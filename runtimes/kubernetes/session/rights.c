/*
 * What the account that a session acts as may do, asked in its own name: for messages about missing
 * rights. Answers are kept for the session, so that many resources that are refused for one reason
 * cost one question.
 */
#include "engine/base/str.h"
#include "runtimes/kubernetes/objects/object_ref.h"
#include "runtimes/kubernetes/session/session.h"

static const struct kube_kind rules_reviews = {"authorization.k8s.io/v1", "SelfSubjectRulesReview",
                                               "selfsubjectrulesreviews", false};

/* What the operator does with objects of a kind. */
static const char *const verbs[] = {"get", "list", "watch", "create", "patch", "delete"};

const char *kube_find_verb(const char *words)
{
    for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
        if (str_has_prefix(words, verbs[i]) && words[strlen(verbs[i])] == ' ')
            return verbs[i];
    return NULL;
}

/* ---- The account's rights in the Spec's own namespace ---- */

static const struct value *ask_for_rules(struct runtime_session *session,
                                         const struct runtime_call *call)
{
    _cleanup_value_ const struct value *body =
        value_pack("{s:s, s:s, s:{s:s}}", "apiVersion", rules_reviews.group_version, "kind",
                   rules_reviews.kind, "spec", "namespace", session->spec_namespace);
    _cleanup_value_ const struct value *answer = NULL;
    struct kube_request request = {
        .method = "POST",
        .ref = {&rules_reviews, NULL, NULL, NULL},
        .body = body,
        .impersonate = session->impersonate,
        .for_tenant = true,
        .idempotent = true,
        .unguarded = true,
        .cancel = call->cancel,
    };

    if (session_time_left(session, call, &request.timeout, NULL) < 0 ||
        kube_do(session->cluster.client, &request, &answer, NULL) < 0)
        return NULL;
    return value_ref(value_path(answer, "status", "resourceRules", NULL));
}

/* A reference; NULL: they are not known. */
static const struct value *get_rules(struct runtime_session *session,
                                     const struct runtime_call *call)
{
    const struct value *rules;

    pthread_mutex_lock(&session->lock);
    rules = value_ref(session->rules);
    pthread_mutex_unlock(&session->lock);
    if (rules)
        return rules;
    rules = ask_for_rules(session, call);
    pthread_mutex_lock(&session->lock);
    value_assign(&session->rules, rules);
    pthread_mutex_unlock(&session->lock);
    return rules;
}

static bool has(const struct value *list, const char *text, size_t length)
{
    for (size_t i = 0; i < value_count(list); i++) {
        const char *one = value_string(value_at(list, i));

        if (one && (str_equal(one, "*") || (strlen(one) == length && !strncmp(one, text, length))))
            return true;
    }
    return false;
}

/* A rule with resourceNames does not allow the verb for all objects of the kind. */
static bool covers(const struct value *rule, const char *object)
{
    const struct value *names = value_get(rule, "resourceNames");

    return !value_count(names) || (object && has(names, object, strlen(object)));
}

static bool allows(const struct value *rules, const struct kube_kind *kind, const char *object,
                   const char *verb)
{
    size_t group_length = 0;
    const char *group = api_group(kind->group_version, &group_length);

    for (size_t i = 0; i < value_count(rules); i++) {
        const struct value *rule = value_at(rules, i);

        if (covers(rule, object) && has(value_get(rule, "apiGroups"), group, group_length) &&
            has(value_get(rule, "resources"), kind->plural, strlen(kind->plural)) &&
            has(value_get(rule, "verbs"), verb, strlen(verb)))
            return true;
    }
    return false;
}

/* To watch or to list is to see all objects of the kind; without these, each is read by itself. */
static bool is_of_one_object(const char *verb)
{
    return !str_equal(verb, "list") && !str_equal(verb, "watch");
}

char *session_missing_verbs(struct runtime_session *session, const struct kube_kind *kind,
                            const char *object, const char *refused,
                            const struct runtime_call *call)
{
    _cleanup_value_ const struct value *rules = call ? get_rules(session, call) : NULL;
    struct buf text = BUF_INIT;

    for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
        if (object && !is_of_one_object(verbs[i]))
            continue;
        if (str_equal(verbs[i], refused) || (rules && !allows(rules, kind, object, verbs[i])))
            buf_printf(&text, "%s%s", text.length ? "," : "", verbs[i]);
    }
    return buf_take(&text);
}

/* ---- Namespaces ---- */

static bool look_up_namespace(struct runtime_session *session, const char *name,
                              const struct runtime_call *call)
{
    struct kube_request request = {
        .method = "GET",
        .ref = {&kube_namespaces, NULL, name, NULL},
        .accept = KUBE_METADATA,
        .impersonate = session->impersonate,
        .for_tenant = true,
        .cancel = call->cancel,
    };

    return session_time_left(session, call, &request.timeout, NULL) >= 0 &&
           kube_do(session->cluster.client, &request, NULL, NULL) == ERR_NOT_FOUND;
}

bool session_lacks_namespace(struct runtime_session *session, const char *name,
                             const struct runtime_call *call)
{
    bool is_known, is_missing;

    if (!call)
        return false;
    pthread_mutex_lock(&session->lock);
    is_known = str_equal(session->asked_namespace, name);
    is_missing = session->is_namespace_missing;
    pthread_mutex_unlock(&session->lock);
    if (is_known)
        return is_missing;
    is_missing = look_up_namespace(session, name, call);
    pthread_mutex_lock(&session->lock);
    free(session->asked_namespace);
    session->asked_namespace = str_new(name);
    session->is_namespace_missing = is_missing;
    pthread_mutex_unlock(&session->lock);
    return is_missing;
}
