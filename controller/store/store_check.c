#include "controller/store/store_check.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/random.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/log/log.h"
#include "engine/store/identity.h"
#include "engine/store/identity_document.h"
#include "engine/store/store_error.h"
#include "engine/threads/locked.h"
#include "runtimes/kubernetes/client/pause.h"

/* ---- The claim ---- */

/* In the ConfigMap kusion-store of the operator's own namespace. */

#define CLAIM_NAME "kusion-store"

struct claim_object {
    struct store_claim claim;
    char *version; /* of the ConfigMap; NULL: there is none */
};

#define REQUEST_TIMEOUT 10000 /* ms */

static void claim_object_done(struct claim_object *object)
{
    free(object->version);
    *object = (struct claim_object){0};
}

static struct kube_ref ref_of(const char *namespace_name, bool is_there)
{
    return (struct kube_ref){&kube_config_maps, namespace_name, is_there ? CLAIM_NAME : NULL, NULL};
}

static void note_version(struct claim_object *object, const struct value *config_map)
{
    free(object->version);
    object->version =
        str_new(value_string(value_path(config_map, "metadata", "resourceVersion", NULL)));
}

/* None there: *ret has no term. */
static int claim_read(struct kube_client *client, const char *namespace_name,
                      struct claim_object *ret, struct error *error)
{
    _cleanup_value_ const struct value *object = NULL;
    const struct kube_request request = {
        .method = "GET", .ref = ref_of(namespace_name, true), .timeout = REQUEST_TIMEOUT};
    struct error problem = {0};
    int r = kube_do(client, &request, &object, &problem);

    claim_object_done(ret);
    if (r == ERR_NOT_FOUND)
        return 0;
    if (r < 0)
        return err_copy(error, &problem);
    note_version(ret, object);
    store_claim_from_value(value_get(object, "data"), &ret->claim);
    return 0;
}

/* A compare-and-swap. store: where it is, for people who look at the ConfigMap. ERR_CONFLICT:
 * somebody else has changed it, or this very write, sent twice, came through: read it again. */
static int claim_write(struct kube_client *client, const char *namespace_name, const char *store,
                       struct claim_object *object, struct error *error)
{
    _cleanup_value_ const struct value *claim = store_claim_to_value(&object->claim);
    _cleanup_value_ const struct value *place = value_pack("s", store);
    _cleanup_value_ const struct value *data = value_with(claim, "store", place);
    _cleanup_value_ const struct value *answer = NULL;
    _cleanup_value_ const struct value *body = value_pack(
        "{s:s, s:s, s:{s:s, s:s, s:s?, s:{s:s}}, s:v}", "apiVersion", "v1", "kind", "ConfigMap",
        "metadata", "namespace", namespace_name, "name", CLAIM_NAME, "resourceVersion",
        object->version, "labels", "app.kubernetes.io/managed-by", "kusion-operator", "data", data);
    bool is_there = object->version;
    const struct kube_request request = {.method = is_there ? "PUT" : "POST",
                                         .ref = ref_of(namespace_name, is_there),
                                         .body = body,
                                         .timeout = REQUEST_TIMEOUT};
    struct error problem = {0};
    int r = kube_do(client, &request, &answer, &problem);

    if (r == ERR_EXISTS || r == ERR_NOT_FOUND)
        return err_set(error, ERR_CONFLICT, "Conflict", "%s", problem.message);
    if (r < 0)
        return err_copy(error, &problem);
    note_version(object, answer);
    return 0;
}

#define PAUSE          1000  /* ms between tries at the start */
#define STEPS_OF_RAISE 16    /* of one raise: three, and what others do at the same time */
#define SHUT_INTERVAL  5000  /* ms between looks at a store that is not used */
#define OPEN_INTERVAL  30000 /* ms between looks at one that is */
/* ms between raises: a backup that is older is found, though no process began since. */
#define RAISE_INTERVAL 3600000

struct store_check {
    struct store_check_config config;
    char *claim_place;
    pthread_mutex_t lock;   /* held over requests: one look at a time */
    struct store_term ours; /* of the last raise, or of another process of this operator since */
    bool is_open;
    int64_t look_at, raise_at; /* ms, monotonic */
};

static struct store_places places_of(const struct store_check *check)
{
    return (struct store_places){check->config.place, check->claim_place};
}

static void draw(char ret[STORE_ID_SIZE])
{
    unsigned char bytes[16];
    size_t n = 0;

    if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
        abort();
    for (size_t i = 0; i < sizeof(bytes); i++) {
        static const char digits[] = "0123456789abcdef";

        ret[n++] = digits[bytes[i] >> 4];
        ret[n++] = digits[bytes[i] & 15];
    }
    ret[n] = '\0';
}

/* ---- The store's side ---- */

static struct store_call call_of(const struct store_check *check)
{
    return (struct store_call){.permit = check->config.permit};
}

/* *ret_file: open to write, if it is not NULL. */
static int read_identity(struct store_check *check, struct store_file **ret_file,
                         struct store_identity *ret, struct error *error)
{
    const struct store_call call = call_of(check);
    struct error problem = {0};
    int r = store_identity_open(check->config.store, &call, ret_file, ret, &problem);

    store_error_explain(&problem, check->config.place);
    return r < 0 ? err_copy(error, &problem) : 0;
}

static int write_identity(struct store_check *check, struct store_file *file,
                          const struct store_term *term, struct error *error)
{
    const struct store_call call = call_of(check);
    struct error problem = {0};
    int r = store_identity_put(file, &call, &(struct store_identity){.term = *term}, &problem);

    store_error_explain(&problem, check->config.place);
    return r < 0 ? err_copy(error, &problem) : 0;
}

/* ---- Both sides ---- */

static int write_claim(struct store_check *check, struct claim_object *object, struct error *error)
{
    const struct store_check_config *config = &check->config;

    return claim_write(config->client, config->namespace_name, config->place, object, error);
}

/* A person accepted it; or not. */
static int accept_or_refuse(struct store_check *check, const struct store_identity *identity,
                            struct claim_object *object, const struct error *why,
                            struct error *error)
{
    const struct store_places places = places_of(check);
    char id[STORE_ID_SIZE], write[STORE_ID_SIZE], token[STORE_TOKEN_SIZE];

    store_token(identity, &object->claim, &places, token);
    if (!str_equal(check->config.accept, token))
        return err_copy(error, why);
    draw(id);
    draw(write);
    log_warn("the store is accepted as it is, as --accept-store says", "store", places.store,
             "reason", why->reason, "found", why->message, NULL);
    store_claim_accept(&object->claim, identity, &places, id, write);
    return write_claim(check, object, error);
}

static int raise_claim(struct store_check *check, struct claim_object *object, struct error *error)
{
    char id[STORE_ID_SIZE], write[STORE_ID_SIZE];

    draw(id);
    draw(write);
    store_claim_raise(&object->claim, id, write);
    return write_claim(check, object, error);
}

/* 1: both sides are raised. */
static int settle(struct store_check *check, struct claim_object *object, struct error *error)
{
    int r;

    store_claim_settle(&object->claim);
    r = write_claim(check, object, error);
    if (r < 0)
        return r;
    check->ours = object->claim.term;
    return 1;
}

/* One write of the protocol. 0: there is another one. */
static int advance(struct store_check *check, struct store_file *file,
                   const struct store_identity *identity, struct claim_object *object,
                   struct error *error)
{
    const struct store_places places = places_of(check);
    struct error why = {0};

    switch (store_step(identity, &object->claim, &places, &why)) {
    case STORE_STEP_RAISE:
        return raise_claim(check, object, error);
    case STORE_STEP_STORE:
        return write_identity(check, file, &object->claim.next, error);
    case STORE_STEP_SETTLE:
        return settle(check, object, error);
    case STORE_STEP_REFUSED:
        return accept_or_refuse(check, identity, object, &why, error);
    }
    return 0;
}

static int step(struct store_check *check, struct error *error)
{
    _cleanup_(store_identity_done) struct store_identity identity = {0};
    _cleanup_(claim_object_done) struct claim_object object = {0};
    struct store_file *file = NULL;
    int r = read_identity(check, &file, &identity, error);

    if (r >= 0)
        r = claim_read(check->config.client, check->config.namespace_name, &object, error);
    if (r >= 0)
        r = advance(check, file, &identity, &object, error);
    check->config.store->ops->close(file);
    return r;
}

/* ---- The gate ---- */

static void conclude(struct store_check *check, int r, const struct error *why)
{
    const struct store_check_config *config = &check->config;
    bool is_news = r < 0 ? store_gate_shut(config->gate, why) : store_gate_open(config->gate);

    check->is_open = r >= 0;
    if (is_news && r < 0)
        log_error("the store is not used, and nothing is made or deleted", "store", config->place,
                  "reason", why->reason, "error", why->message, NULL);
    else if (is_news)
        log_info("the store is used", "store", config->place, NULL);
}

/* All steps of a raise, or what is left of one. */
static int raise_both(struct store_check *check, struct error *error)
{
    struct error problem = {0};
    int r = 0;

    for (unsigned n = 0; n < STEPS_OF_RAISE && (r == 0 || r == ERR_CONFLICT); n++) {
        problem = (struct error){0};
        r = step(check, &problem);
    }
    if (r == 0)
        r = err_set(&problem, ERR_CONFLICT, "Conflict", "others change the store's identity");
    return r < 0 ? err_copy(error, &problem) : 0;
}

/* The sides as they are now, without a raise: another operator of this namespace may have begun. */
static int compare(struct store_check *check, const struct store_identity *identity,
                   struct error *error)
{
    const struct store_places places = places_of(check);
    _cleanup_(claim_object_done) struct claim_object object = {0};
    struct error why = {0};
    int r = claim_read(check->config.client, check->config.namespace_name, &object, &why);

    if (r >= 0 && store_step(identity, &object.claim, &places, &why) == STORE_STEP_REFUSED)
        r = err_copy(error, &why);
    else
        r = 0; /* who cannot be asked says nothing */
    if (r >= 0)
        check->ours = identity->term;
    return r;
}

/* With the lock. */
static void look(struct store_check *check)
{
    _cleanup_(store_identity_done) struct store_identity identity = {0};
    struct error problem = {0};
    int r = read_identity(check, NULL, &identity, NULL);

    if (r >= 0 && (identity.moved_to || !store_term_equal(&identity.term, &check->ours)) &&
        compare(check, &identity, &problem) < 0)
        conclude(check, problem.code, &problem);
}

/* With the lock. */
static void look_or_begin(struct store_check *check)
{
    int64_t now = check->config.clock->monotonic(check->config.clock);
    bool was_open = check->is_open;
    struct error problem = {0};
    int r;

    if (was_open && now < check->raise_at) {
        look(check);
    } else {
        r = raise_both(check, &problem);
        /* Of one that is open, what does not answer says nothing. */
        if (!was_open || (r < 0 && store_error_is_for_people(problem.reason)))
            conclude(check, r, &problem);
    }
    if (now >= check->raise_at)
        check->raise_at = now + RAISE_INTERVAL;
    check->look_at = now + (check->is_open ? OPEN_INTERVAL : SHUT_INTERVAL);
}

static void look_now(void *arg)
{
    struct store_check *check = arg;

    LOCKED(&check->lock);
    look_or_begin(check);
}

static bool may_heal(struct store_check *check)
{
    struct error why = {0};

    return store_gate_ask(check->config.gate, &why) < 0 && !store_error_is_for_people(why.reason);
}

void store_check_begin(struct store_check *check, struct cancel *stop)
{
    const struct clock_source *clock = check->config.clock;
    int64_t end = clock->monotonic(clock) + check->config.patience;

    look_now(check);
    while (may_heal(check) && clock->monotonic(clock) < end && pause_for(PAUSE, stop))
        look_now(check);
}

void store_check_tick(void *arg)
{
    struct store_check *check = arg;

    LOCKED(&check->lock);
    if (check->config.clock->monotonic(check->config.clock) >= check->look_at)
        look_or_begin(check);
}

/* ---- Lifetime ---- */

struct store_check *store_check_new(const struct store_check_config *config)
{
    struct store_check *check = NEW(struct store_check);

    check->config = *config;
    check->claim_place = str_printf("ConfigMap %s/%s", config->namespace_name, CLAIM_NAME);
    pthread_mutex_init(&check->lock, NULL);
    store_gate_on_confirm(config->gate, look_now, check);
    return check;
}

void store_check_free(struct store_check *check)
{
    if (!check)
        return;
    store_gate_on_confirm(check->config.gate, NULL, NULL);
    pthread_mutex_destroy(&check->lock);
    free(check->claim_place);
    free(check);
}
