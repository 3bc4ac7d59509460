#include "runtimes/kubernetes/client/lease.h"

#include <stdatomic.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/base/timestamp.h"
#include "engine/threads/locked.h"

#define MAX_ROUNDS 3 /* read and write, when others write between */
#define NEVER      INT64_MIN

/* 2024-01-01, in seconds since 1970: leaseTransitions has 32 bits. */
#define EPOCH_OF_EPOCHS 1704067200

struct lease {
    struct kube_client *client;
    const struct clock_source *clock;
    char *namespace_name, *name, *identity;
    int64_t duration;

    /* Of the thread that takes steps. */
    const struct value *ours; /* the object as we wrote it last; NULL: to be read */
    const struct value *seen; /* its spec, as read last */
    int64_t seen_at;          /* when it had changed, by our clock */

    _Atomic int64_t held_until; /* monotonic; NEVER: not ours */
    _Atomic int64_t epoch;
    pthread_mutex_t lock; /* of holder */
    char *holder;
};

struct lease *lease_new(struct kube_client *client, const struct clock_source *clock,
                        const struct lease_config *config)
{
    struct lease *lease = NEW(struct lease);

    lease->client = client;
    lease->clock = clock;
    lease->namespace_name = str_new(config->namespace_name);
    lease->name = str_new(config->name);
    lease->identity = str_new(config->identity);
    lease->duration = config->duration;
    atomic_store(&lease->held_until, NEVER);
    pthread_mutex_init(&lease->lock, NULL);
    return lease;
}

void lease_free(struct lease *lease)
{
    if (!lease)
        return;
    value_unref(lease->ours);
    value_unref(lease->seen);
    free(lease->namespace_name);
    free(lease->name);
    free(lease->identity);
    free(lease->holder);
    pthread_mutex_destroy(&lease->lock);
    free(lease);
}

static int64_t now(const struct lease *lease)
{
    return lease->clock->monotonic(lease->clock);
}

/* ---- What the object says ---- */

static const struct value *spec_of(const struct value *object)
{
    return value_get(object, "spec");
}

/* "" where nobody holds it. */
static const char *holder_of(const struct value *object)
{
    const char *holder = value_get_string(spec_of(object), "holderIdentity");

    return holder ? holder : "";
}

/* A number of the spec: the API has 32 bits for each, and none is negative. */
static int64_t number_of(const struct value *object, const char *field)
{
    int64_t number = value_int(value_get(spec_of(object), field), 0);

    if (number < 0)
        return 0;
    return number < INT32_MAX ? number : INT32_MAX;
}

static int64_t transitions_of(const struct value *object)
{
    return number_of(object, "leaseTransitions");
}

/* Keeps what was read. A record that differs from the last is alive from this moment on. */
static void observe(struct lease *lease, const struct value *object)
{
    const struct value *spec = spec_of(object);

    if (!lease->seen || !value_equal(lease->seen, spec)) {
        value_assign(&lease->seen, spec);
        lease->seen_at = now(lease);
    }
    atomic_store(&lease->epoch, transitions_of(object));
    LOCKED(&lease->lock);

    free(lease->holder);
    lease->holder = str_new(holder_of(object));
}

static bool may_be_alive(const struct lease *lease, const struct value *object)
{
    return now(lease) - lease->seen_at < number_of(object, "leaseDurationSeconds") * 1000;
}

/* ---- What we write ---- */

static const struct value *with_spec(const struct lease *lease, const struct value *object,
                                     const struct value *spec)
{
    _cleanup_value_ const struct value *owned = spec;

    if (object)
        return value_with(object, "spec", spec);
    return value_pack("{s:s, s:s, s:{s:s, s:s}, s:v}", "apiVersion", kube_leases.group_version,
                      "kind", "Lease", "metadata", "name", lease->name, "namespace",
                      lease->namespace_name, "spec", owned);
}

/* The next holder's counts on from any before it, also where the Lease was made anew, or etcd was
 * set back: then nothing may be left of those but the epoch in States. None changes hands every
 * second. A clock that the API's 32 bits do not hold is not believed. */
static int64_t next_transitions(const struct lease *lease)
{
    int64_t seconds = lease->clock->now(lease->clock) / 1000 - EPOCH_OF_EPOCHS;
    int64_t known = atomic_load(&lease->epoch);

    return (seconds > known && seconds < INT32_MAX ? seconds : known) + 1;
}

/* object: as it is now, or NULL to create it. */
static const struct value *held_by_us(const struct lease *lease, const struct value *object)
{
    bool is_ours = object && str_equal(holder_of(object), lease->identity);
    int64_t transitions = is_ours ? transitions_of(object) : next_transitions(lease);
    const char *acquired = value_get_string(spec_of(object), "acquireTime");
    char text[TIMESTAMP_SIZE];

    timestamp_format_micro(lease->clock->now(lease->clock), text);
    return with_spec(lease, object,
                     value_pack("{s:s, s:I, s:s, s:s, s:I}", "holderIdentity", lease->identity,
                                "leaseDurationSeconds", (lease->duration + 999) / 1000,
                                "acquireTime", is_ours && acquired ? acquired : text, "renewTime",
                                text, "leaseTransitions", transitions));
}

/* Free to take at once: no holder, and a duration that has passed before anyone looks. */
static const struct value *held_by_nobody(const struct lease *lease, const struct value *object)
{
    char text[TIMESTAMP_SIZE];

    timestamp_format_micro(lease->clock->now(lease->clock), text);
    return with_spec(lease, object,
                     value_pack("{s:i, s:s, s:I}", "leaseDurationSeconds", 1, "renewTime", text,
                                "leaseTransitions", transitions_of(object)));
}

/* ---- Steps ---- */

static int lease_request(struct lease *lease, const char *method, const struct value *body,
                         struct cancel *cancel, const struct value **ret, struct error *error)
{
    bool is_create = strcmp(method, "POST") == 0;
    struct kube_request request = {
        .method = method,
        .ref = {&kube_leases, lease->namespace_name, is_create ? NULL : lease->name, NULL},
        .body = body,
        /* A repeated write is refused by name or by resourceVersion, and then read. */
        .idempotent = true,
        .unguarded = true,
        .timeout = lease->duration / 3,
        .cancel = cancel,
    };
    int r = kube_do(lease->client, &request, ret, error);

    if (r < 0)
        err_wrap(error, "lease %s/%s", lease->namespace_name, lease->name);
    return r;
}

static void lose(struct lease *lease)
{
    atomic_store(&lease->held_until, NEVER);
    value_assign(&lease->ours, NULL);
}

/* Writes us into the object that was read (NULL: a new one), or fails with CONFLICT. */
static int write_us(struct lease *lease, const struct value *object, struct cancel *cancel,
                    struct error *error)
{
    _cleanup_value_ const struct value *body = held_by_us(lease, object), *written = NULL;
    int64_t start = now(lease);
    struct error why = {0};
    int r = lease_request(lease, object ? "PUT" : "POST", body, cancel, &written, &why);

    if (r < 0)
        value_assign(&lease->ours, NULL);
    if (r == ERR_EXISTS || r == ERR_NOT_FOUND) /* made or deleted by another since it was read */
        return err_set(error, ERR_CONFLICT, "Conflict", "%s", why.message);
    if (r < 0)
        return err_copy(error, &why);
    observe(lease, written);
    value_assign(&lease->ours, written);
    atomic_store(&lease->held_until, start + lease->duration);
    return 0;
}

static int held_by_another(struct lease *lease, const struct value *object, struct error *error)
{
    lose(lease);
    return err_set(error, ERR_CONFLICT, "LeaseHeld", "lease %s/%s is held by %s",
                   lease->namespace_name, lease->name, holder_of(object));
}

static int read_and_write(struct lease *lease, struct cancel *cancel, bool *ret_is_held,
                          struct error *error)
{
    _cleanup_value_ const struct value *object = NULL;
    int r = lease_request(lease, "GET", NULL, cancel, &object, error);

    if (r == ERR_NOT_FOUND)
        return write_us(lease, NULL, cancel, error);
    if (r < 0)
        return r;
    observe(lease, object);
    if (*holder_of(object) && !str_equal(holder_of(object), lease->identity) &&
        may_be_alive(lease, object)) {
        *ret_is_held = true;
        return held_by_another(lease, object, error);
    }
    return write_us(lease, object, cancel, error);
}

int lease_look(struct lease *lease, struct cancel *cancel, bool *ret_was_renewed,
               struct error *error)
{
    _cleanup_value_ const struct value *object = NULL;
    struct error why = {0};
    bool was_renewed;
    int r = lease_request(lease, "GET", NULL, cancel, &object, &why);

    if (r == ERR_NOT_FOUND)
        return 0;
    if (r < 0)
        return err_copy(error, &why);
    was_renewed = lease->seen && !value_equal(lease->seen, spec_of(object));
    observe(lease, object);
    if (!*holder_of(object) || !may_be_alive(lease, object))
        return 0;
    *ret_was_renewed = was_renewed;
    return held_by_another(lease, object, error);
}

int lease_acquire(struct lease *lease, struct cancel *cancel, struct error *error)
{
    _cleanup_value_ const struct value *ours = value_ref(lease->ours);
    struct error why = {0};
    bool is_held = false;
    int r = ERR_CONFLICT;

    if (ours)
        r = write_us(lease, ours, cancel, &why);
    for (unsigned n = 0; n < MAX_ROUNDS && r == ERR_CONFLICT && !is_held; n++)
        r = read_and_write(lease, cancel, &is_held, &why);
    return r < 0 ? err_copy(error, &why) : 0;
}

void lease_release(struct lease *lease)
{
    _cleanup_value_ const struct value *ours = TAKE(lease->ours), *body = NULL;

    atomic_store(&lease->held_until, NEVER);
    if (!ours)
        return;
    body = held_by_nobody(lease, ours);
    lease_request(lease, "PUT", body, NULL, NULL, NULL);
}

/* ---- Questions ---- */

bool lease_is_held(const struct lease *lease, int64_t margin)
{
    int64_t until = atomic_load(&lease->held_until);

    return until != NEVER && now(lease) + margin < until;
}

int64_t lease_epoch(const struct lease *lease)
{
    return atomic_load(&lease->epoch);
}

char *lease_holder(struct lease *lease)
{
    LOCKED(&lease->lock);

    return str_new(lease->holder ? lease->holder : "");
}
