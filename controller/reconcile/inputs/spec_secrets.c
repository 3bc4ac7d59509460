#include "controller/reconcile/inputs/spec_secrets.h"

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/spec/ref.h"
#include "runtimes/io/clock.h"
#include "runtimes/secrets/secret_store.h"

#define TOKEN_TIME   600000 /* ms: the shortest that the API server gives */
#define CONTEXT_TIME 20000  /* ms for the references of a context */

/* What a source needs outlives the run: visits go on after it. */
struct spec_secrets {
    struct secret_source base;
    struct kube_client *client;
    char *namespace_name;
    char *account; /* NULL: the operator's own rights, with which no store is asked */
    struct secret_store *store;
    struct error why_not; /* it could not be opened */
};

/* ---- The account's token ---- */

static int refuse_token(const struct spec_secrets *secrets, const struct error *problem,
                        struct error *error)
{
    if (problem->code == ERR_NOT_FOUND)
        return err_set(error, ERR_NOT_FOUND, "ServiceAccountNotFound",
                       "there is no ServiceAccount \"%s\" in namespace \"%s\"", secrets->account,
                       secrets->namespace_name);
    err_copy(error, problem);
    err_wrap(error, "a token of ServiceAccount \"%s\"", secrets->account);
    return problem->code;
}

static int get_token(void *arg, const char *audience, int64_t deadline, struct cancel *cancel,
                     char **ret, struct error *error)
{
    const struct spec_secrets *secrets = arg;
    _cleanup_value_ const struct value *answer = NULL;
    _cleanup_value_ const struct value *body = value_pack(
        "{s:s,s:s,s:{s:[s],s:i}}", "apiVersion", "authentication.k8s.io/v1", "kind", "TokenRequest",
        "spec", "audiences", audience, "expirationSeconds", TOKEN_TIME / 1000);
    _cleanup_free_ char *path = NULL;
    int64_t left = deadline - system_clock.monotonic(&system_clock);
    struct error problem = {0};
    const char *token;
    int r;

    if (!secrets->account)
        return err_set(error, ERR_FORBIDDEN, "SecretDenied",
                       "a secret store is asked as a ServiceAccount: the Spec names none");
    if (!str_is_dns_subdomain(secrets->account)) /* it is a part of the path */
        return err_set(error, ERR_INVALID, "InvalidSpec",
                       "serviceAccountName is no name of a ServiceAccount");
    path = str_printf("/api/v1/namespaces/%s/serviceaccounts/%s/token", secrets->namespace_name,
                      secrets->account);
    r = kube_do(secrets->client,
                &(struct kube_request){.method = "POST",
                                       .ref = {NULL, NULL, secrets->account, NULL},
                                       .path = path,
                                       .body = body,
                                       .for_tenant = true,
                                       .unguarded = true,
                                       .timeout = left > 1 ? left : 1,
                                       .cancel = cancel},
                &answer, &problem);
    if (r < 0)
        return refuse_token(secrets, &problem, error);
    token = value_string(value_path(answer, "status", "token", NULL));
    if (!token)
        return err_set(error, ERR_UNAVAILABLE, "SecretUnavailable",
                       "the API server gives no token of ServiceAccount \"%s\"", secrets->account);
    *ret = str_new(token);
    return 0;
}

/* ---- The source ---- */

static int get(struct secret_source *source, const char *reference, int64_t deadline,
               struct cancel *cancel, struct secret *ret, struct error *error)
{
    struct spec_secrets *secrets = CONTAINER_OF(source, struct spec_secrets, base);
    struct secret_ref ref;
    int r = secret_ref_parse(reference, &ref, error);

    if (r < 0)
        return r;
    r = secrets->store ? secret_store_get(secrets->store, &ref, deadline, cancel, ret, error)
                       : err_copy(error, &secrets->why_not);
    secret_ref_done(&ref);
    return r;
}

static void free_secrets(struct secret_source *source)
{
    struct spec_secrets *secrets = CONTAINER_OF(source, struct spec_secrets, base);

    secret_store_free(secrets->store);
    free(secrets->namespace_name);
    free(secrets->account);
    free(secrets);
}

static const struct secret_source_ops ops = {.get = get, .free = free_secrets};

/* Of the Spec: two of one value do not look alike in State. */
static void make_key(const struct run *run, unsigned char ret[HASH_SIZE])
{
    const struct reconcile_context *context = run->context;
    _cleanup_(hash_free_p) struct hash *hash =
        hash_new_keyed(context->plan_key, sizeof(context->plan_key));

    hash_add_str(hash, "secrets");
    hash_add_str(hash, run->subject.key.namespace_name);
    hash_add_str(hash, run->subject.key.name);
    hash_finish(hash, ret);
}

static const struct value *settings_of(const struct run *run)
{
    const struct value *settings = value_path(run_source(run), "spec", "secretStore", NULL);

    return value_count(value_get(settings, "provider")) ? settings : NULL;
}

struct secret_source *spec_secrets_new(const struct run *run)
{
    const struct reconcile_context *context = run->context;
    const struct value *settings = settings_of(run);
    struct spec_secrets *secrets;
    _cleanup_free_ char *reader = NULL;

    if (!settings || run->looks_up_nothing)
        return NULL;
    secrets = NEW(struct spec_secrets);
    secrets->base.ops = &ops;
    make_key(run, secrets->base.key);
    secrets->client = context->client;
    secrets->namespace_name = str_new(run->subject.key.namespace_name);
    secrets->account = str_new(run_account(run));
    reader = str_printf("%s %s %s", run->subject.key.name, run->uid ? run->uid : "",
                        secrets->account ? secrets->account : "");
    secret_store_open(context->secret_stores, secrets->namespace_name, reader, settings, get_token,
                      secrets, &secrets->store, &secrets->why_not);
    return &secrets->base;
}

/* ---- The context ---- */

bool spec_secrets_are_in_context(const struct run *run)
{
    return settings_of(run) &&
           secret_ref_is_within(value_path(run_source(run), "spec", "context", NULL));
}

struct looking {
    const struct run *run;
    struct secret_source *source;
    int64_t deadline;
};

static int look_up(void *arg, const char *text, const struct value **ret, struct error *error)
{
    const struct looking *looking = arg;
    struct secret secret = {0};
    int r;

    if (!looking->source)
        return err_set(error, ERR_UNSUPPORTED, "Unsupported",
                       "context: a Preview looks up no secrets, and so has no credentials that are "
                       "references to some");
    r = looking->source->ops->get(looking->source, text, looking->deadline, looking->run->cancel,
                                  &secret, error);
    if (r < 0)
        err_wrap(error, "context");
    else
        *ret = secret.value;
    free(secret.version);
    return r;
}

/* Anything else is what it is. */
static int keep(void *arg, const char *text, const struct value **ret, struct error *error)
{
    (void)arg, (void)error;
    *ret = value_pack("s", text);
    return 0;
}

int spec_secrets_resolve(const struct run *run, struct secret_source *source,
                         const struct value **context, struct error *error)
{
    struct looking looking = {run, source, context_monotonic(run->context) + CONTEXT_TIME};
    const struct ref_lookups lookups = {.reference = keep, .secret = look_up, .arg = &looking};
    const struct value *resolved = NULL;
    int r;

    if (!settings_of(run))
        return 0;
    r = ref_resolve_all(*context, &lookups, &resolved, error);
    if (r < 0)
        return r;
    value_unref(*context);
    *context = resolved;
    return 0;
}
