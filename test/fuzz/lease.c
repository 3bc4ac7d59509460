/*
 * The Lease, over an API server in memory (kube_do is replaced here), as two processes want it,
 * while requests fail, answers are lost or come late, and time passes. Whatever happens, at most
 * one of them holds it, and each that takes it has a greater epoch than all before.
 *
 * Each line is a step, of the process 0 or 1:
 *   0a   acquires or renews      0l   looks     0r   releases     0x   ends, and begins anew
 *   t MS time passes             d    the Lease is deleted
 *   f HOW   the next request: b fails before it happens, a after it, s takes 5 s, l happens at the
 *           next request (its sender is told of a failure)
 *   p JSON  the Lease's spec becomes that
 */
#include "runtimes/kubernetes/client/lease.h"

#include "engine/base/str.h"
#include "engine/value/json.h"
#include "test/fuzz/answers/answers.h"
#include "test/fuzz/fuzz.h"

#define DURATION   15000
#define MOST_STEPS 100

static struct {
    const struct value *object; /* NULL: there is none */
    unsigned last_version;
    char how; /* the next request fails so */
    const struct value *late;
    bool late_is_create;
} server;

static const char *version_in(const struct value *object)
{
    return value_string(value_path(object, "metadata", "resourceVersion", NULL));
}

static void store(const struct value *spec)
{
    char version[24];

    snprintf(version, sizeof(version), "%u", ++server.last_version);
    value_unref(server.object);
    server.object =
        value_pack("{s:s, s:{s:s, s:s, s:s, s:s}, s:v}", "kind", "Lease", "metadata", "name", "l",
                   "namespace", "ns", "uid", "u", "resourceVersion", version, "spec", spec);
    must(server.object);
}

static int write_object(const struct value *body, bool is_create)
{
    if (is_create && server.object)
        return ERR_EXISTS;
    if (!is_create && !server.object)
        return ERR_NOT_FOUND;
    if (!is_create && !str_equal(version_in(body), version_in(server.object)))
        return ERR_CONFLICT;
    store(value_get(body, "spec"));
    return 0;
}

static int handle(const struct kube_request *request, const struct value **ret)
{
    int r = 0;

    if (str_equal(request->method, "GET"))
        r = server.object ? 0 : ERR_NOT_FOUND;
    else
        r = write_object(request->body, str_equal(request->method, "POST"));
    if (r == 0 && ret)
        *ret = value_ref(server.object);
    return r;
}

int __wrap_kube_do(struct kube_client *client, const struct kube_request *request,
                   const struct value **ret, struct error *error);

int __wrap_kube_do(struct kube_client *client, const struct kube_request *request,
                   const struct value **ret, struct error *error)
{
    char how = server.how;
    const struct value *answer = NULL;
    int r;

    (void)client;
    must(request->unguarded && request->timeout == DURATION / 3);
    if (server.late) {
        write_object(server.late, server.late_is_create);
        value_unref(TAKE(server.late));
    }
    server.how = '\0';
    if (how == 'b')
        return err_set(error, ERR_UNAVAILABLE, NULL, "no answer");
    if (how == 'l' && request->body) {
        server.late = value_ref(request->body);
        server.late_is_create = str_equal(request->method, "POST");
        return err_set(error, ERR_TIMEOUT, NULL, "no answer");
    }
    if (how == 's')
        answers_now += DURATION / 3;
    r = handle(request, &answer);
    if (r == 0 && how == 'a')
        r = ERR_UNAVAILABLE;
    if (r == 0 && ret)
        *ret = value_ref(answer);
    value_unref(answer);
    return r < 0 ? err_set(error, r, NULL, "as it is") : 0;
}

/* ---- Two processes ---- */

static struct {
    struct lease *leases[2];
    int64_t epochs[2]; /* when it was taken last; -1: it was not */
    int64_t highest;
    unsigned started;
    bool is_disturbed; /* others write, who keep to nothing */
} model;

static void begin(unsigned which)
{
    _cleanup_free_ char *identity = str_printf("process-%u", model.started++);
    const struct lease_config config = {"ns", "l", identity, DURATION};

    lease_free(model.leases[which]);
    model.leases[which] = lease_new(NULL, &answers_clock, &config);
    model.epochs[which] = -1;
}

static void check(void)
{
    must(model.is_disturbed ||
         !(lease_is_held(model.leases[0], 0) && lease_is_held(model.leases[1], 0)));
}

static void acquire(unsigned which)
{
    struct lease *lease = model.leases[which];
    bool was_held = lease_is_held(lease, 0);
    struct error error = {0};
    int r = lease_acquire(lease, NULL, &error);
    int64_t epoch = lease_epoch(lease);

    must_agree(r, &error);
    must(r == 0 || r != ERR_CONFLICT || !lease_is_held(lease, 0));
    if (r < 0 || model.is_disturbed)
        return;
    must(epoch >= model.highest);
    must(epoch > model.highest || epoch == model.epochs[which]);
    must(!was_held || epoch == model.epochs[which]);
    model.highest = model.epochs[which] = epoch;
}

static void look(struct lease *lease)
{
    struct error error = {0};
    bool was_renewed = false;
    int r = lease_look(lease, NULL, &was_renewed, &error);
    _cleanup_free_ char *holder = lease_holder(lease);

    must_agree(r, &error);
    must(!was_renewed || r == ERR_CONFLICT);
    must(r != ERR_CONFLICT || *holder);
}

static void act(unsigned which, char what)
{
    if (what == 'a')
        acquire(which);
    else if (what == 'l')
        look(model.leases[which]);
    else if (what == 'r')
        lease_release(model.leases[which]);
    else if (what == 'x')
        begin(which);
}

static void put(const char *text)
{
    _cleanup_value_ const struct value *spec = NULL;

    if (json_read_str(text, &spec, NULL) == 0)
        store(spec);
    model.is_disturbed = true;
}

static void step(const char *line)
{
    if (*line == '0' || *line == '1')
        act((unsigned)(*line - '0'), line[1]);
    else if (*line == 't')
        answers_now += (int64_t)(strtoul(line + 1, NULL, 10) % 1000000);
    else if (*line == 'f' && line[1])
        server.how = line[2];
    else if (*line == 'p')
        put(line + 1);
    else if (*line == 'd') {
        value_unref(TAKE(server.object));
        model.is_disturbed = true;
    }
    check();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    answers_now = INT64_C(1800000000000);
    model.highest = -1;
    model.is_disturbed = false;
    model.started = 0;
    begin(0);
    begin(1);
    for (unsigned n = 0; size && n < MOST_STEPS; n++) {
        _cleanup_free_ char *line = take_line(&data, &size);

        step(line);
    }
    for (unsigned i = 0; i < 2; i++)
        lease_free(TAKE(model.leases[i]));
    value_unref(TAKE(server.object));
    value_unref(TAKE(server.late));
    server.how = '\0';
    return 0;
}
