/*
 * What a plan of 100,000 unchanged resources takes in memory, beside the values that it is made of
 * (the Spec as it was read, and State's records, which are there before it). The runtime is
 * trivial: it has all objects as they are wanted, and its hints and steps keep what those of
 * Kubernetes keep. The store forgets what it is given; State stays open meanwhile.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/operation/operation.h"
#include "engine/value/json.h"
#include "runtimes/io/clock.h"

#define RESOURCES 100000
#define TYPE      "Trivial"
#define TARGET_MB 64.0

/* ---- The runtime ---- */

struct trivial_step {
    struct runtime_step base;
    char *uid, *version, *fields_digest;
};

static char *uid_of(const char *id)
{
    return str_printf("00000000-0000-0000-0000-%012zu", strlen(id));
}

static char *digest_of(const char *id)
{
    return str_printf("%064zu", strlen(id));
}

static int trivial_open(struct runtime *runtime, const struct runtime_scope *scope,
                        const struct runtime_call *call, struct runtime_session **ret,
                        struct error *error)
{
    (void)scope, (void)call, (void)error;
    *ret = (struct runtime_session *)runtime;
    return 0;
}

static void trivial_close(struct runtime_session *session)
{
    (void)session;
}

static int trivial_prefetch(struct runtime_session *session, const struct runtime_target *targets,
                            size_t n, const struct runtime_call *call, struct observation *ret,
                            struct error *error)
{
    (void)session, (void)call, (void)error;
    for (size_t i = 0; i < n; i++)
        ret[i] =
            (struct observation){.presence = targets[i].prior ? PRESENCE_PRESENT : PRESENCE_ABSENT,
                                 .uid = uid_of(targets[i].id),
                                 .fields_digest = digest_of(targets[i].id)};
    return 0;
}

static int trivial_read(struct runtime_session *session, const struct runtime_target *target,
                        const struct runtime_call *call, struct runtime_outcome *ret,
                        struct error *error)
{
    (void)session, (void)call, (void)error;
    ret->now = (struct observation){.presence = PRESENCE_PRESENT,
                                    .uid = uid_of(target->id),
                                    .fields_digest = digest_of(target->id),
                                    .result = value_ref(target->attributes)};
    return 0;
}

static int trivial_plan(struct runtime_session *session, const struct runtime_target *target,
                        const struct observation *hint, const struct runtime_call *call,
                        struct runtime_step **ret, struct error *error)
{
    struct trivial_step *step = NEW(struct trivial_step);

    (void)hint, (void)call, (void)error;
    step->uid = uid_of(target->id);
    step->version = str_new("1234567");
    step->fields_digest = digest_of(target->id);
    step->base = (struct runtime_step){.ops = ((struct runtime *)session)->ops,
                                       .action = target->prior ? PLAN_UNCHANGED : PLAN_CREATE,
                                       .uid = step->uid,
                                       .attributes = value_ref(target->attributes)};
    *ret = &step->base;
    return 0;
}

static void trivial_step_free(struct runtime_step *step)
{
    struct trivial_step *own = (struct trivial_step *)step;

    value_unref(step->attributes);
    free(own->uid);
    free(own->version);
    free(own->fields_digest);
    free(own);
}

static int trivial_apply(struct runtime_step *step, const struct runtime_call *call,
                         struct runtime_outcome *ret, struct error *error)
{
    const struct trivial_step *own = (const struct trivial_step *)step;

    (void)call, (void)error;
    ret->now = (struct observation){.presence = PRESENCE_PRESENT,
                                    .uid = str_new(own->uid),
                                    .fields_digest = str_new(own->fields_digest),
                                    .result = value_ref(step->attributes)};
    return 0;
}

static const struct runtime_ops trivial_ops = {
    .type = TYPE,
    .open = trivial_open,
    .close = trivial_close,
    .prefetch = trivial_prefetch,
    .read = trivial_read,
    .plan = trivial_plan,
    .step_free = trivial_step_free,
    .apply = trivial_apply,
};

/* ---- The store ---- */

static int forgetful_open(struct store *store, const struct document_name *name,
                          enum store_mode mode, const struct store_call *call,
                          struct store_file **ret, struct error *error)
{
    (void)name, (void)mode, (void)call, (void)error;
    *ret = NEW(struct store_file);
    (*ret)->store = store;
    return 0;
}

static void forgetful_close(struct store_file *file)
{
    free(file);
}

static int forgetful_read(struct store_file *file, const struct store_call *call,
                          struct document *ret, struct error *error)
{
    (void)file, (void)call, (void)ret;
    return err_set(error, ERR_NOT_FOUND, "NotFound", "nothing is kept");
}

static int forgetful_write(struct store_file *file, const struct store_call *call,
                           const struct document *document, struct error *error)
{
    (void)file, (void)call, (void)document, (void)error;
    return 0;
}

static int forgetful_append(struct store_file *file, const struct store_call *call,
                            const void *bytes, size_t length, struct error *error)
{
    (void)file, (void)call, (void)bytes, (void)length, (void)error;
    return 0;
}

static int forgetful_list(struct store *store, enum document_kind kind, const struct spec_key *spec,
                          store_on_name *fn, void *arg, const struct store_call *call,
                          struct error *error)
{
    (void)store, (void)kind, (void)spec, (void)fn, (void)arg, (void)call, (void)error;
    return 0;
}

static char *forgetful_describe(struct store *store, const struct document_name *name)
{
    (void)store, (void)name;
    return str_new("nowhere");
}

static const struct store_ops forgetful_ops = {
    .type = "forgetful",
    .open = forgetful_open,
    .close = forgetful_close,
    .read = forgetful_read,
    .write = forgetful_write,
    .append = forgetful_append,
    .list = forgetful_list,
    .describe = forgetful_describe,
};

/* ---- Measuring ---- */

static double megabytes(size_t bytes)
{
    return (double)bytes / 1e6;
}

/* What is on the heap. */
static size_t held(void)
{
    struct mallinfo2 info;

    malloc_trim(0);
    info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

/* kB of VmRSS or VmHWM. */
static size_t resident(const char *field)
{
    FILE *file = fopen("/proc/self/status", "re");
    char line[256];
    size_t kilobytes = 0;

    while (file && fgets(line, sizeof(line), file))
        if (str_has_prefix(line, field))
            kilobytes = strtoul(strchr(line, ':') + 1, NULL, 10);
    if (file)
        fclose(file);
    return kilobytes * 1024;
}

/* VmHWM is counted anew. */
static void forget_highest(void)
{
    FILE *file = fopen("/proc/self/clear_refs", "we");

    if (!file)
        return;
    fputs("5\n", file);
    fclose(file);
}

static double now_s(void)
{
    return (double)system_clock.monotonic(&system_clock) / 1e3;
}

static void must(int r, const struct error *error)
{
    if (r >= 0)
        return;
    fprintf(stderr, "bench_memory: %s: %s\n", error->reason, error->message);
    exit(1);
}

/* ---- The work ---- */

static const struct value *read_spec(void)
{
    _cleanup_buf_ struct buf text = BUF_INIT;
    const struct value *object = NULL;
    struct error error = {0};

    buf_add_str(&text, "{\"apiVersion\":\"api.kusion.io/v1\",\"kind\":\"Spec\",\"metadata\":{"
                       "\"name\":\"large\",\"namespace\":\"team\"},\"spec\":{\"resources\":[");
    for (unsigned i = 0; i < RESOURCES; i++) {
        buf_printf(&text,
                   "%s{\"id\":\"v1:ConfigMap:team:item-%u\",\"type\":\"" TYPE "\","
                   "\"attributes\":{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{"
                   "\"name\":\"item-%u\",\"namespace\":\"team\"},\"data\":{\"number\":\"%u\"}}",
                   i ? "," : "", i, i, i);
        if (i % 10)
            buf_printf(&text, ",\"dependsOn\":[\"v1:ConfigMap:team:item-%u\"]", i - i % 10);
        buf_add_char(&text, '}');
    }
    buf_add_str(&text, "]}}");
    must(json_read(text.data, text.length, &object, &error), &error);
    return object;
}

static struct spec *parse(const struct value *object)
{
    static const struct spec_type types[] = {{TYPE, NULL, NULL}};
    const struct spec_options options = {.types = types, .n_types = ARRAY_SIZE(types)};
    struct problems problems = PROBLEMS_INIT;
    struct error error = {0};
    struct spec *spec = NULL;

    must(spec_parse(object, &options, &spec, &problems, &error), &error);
    problems_done(&problems);
    return spec;
}

static struct operation *plan(const struct operation_config *config, struct spec *spec)
{
    struct operation *operation = NULL;
    struct error error = {0};

    must(operation_new(config, &operation, &error), &error);
    operation_plan(operation, spec);
    operation_wait(operation);
    must(operation_error(operation, &error), &error);
    return operation;
}

/* All are made: State then has them. It stays open. */
static struct ledger *make_all(const struct operation_config *config, const struct value *object)
{
    struct operation *operation = plan(config, parse(object));
    struct ledger *ledger = ledger_ref(operation_ledger(operation));
    struct error error = {0};

    operation_apply(operation, &(struct operation_apply){.revision = 1});
    operation_wait(operation);
    must(operation_error(operation, &error), &error);
    operation_free(operation);
    return ledger;
}

struct figures {
    size_t values, state, spec, plan, highest;
    double seconds;
};

static void measure(const struct operation_config *config, struct figures *ret)
{
    size_t nothing = held(), before, resident_before;
    _cleanup_value_ const struct value *object = read_spec();
    struct plan_summary summary;
    struct operation *operation;
    struct ledger *ledger;
    struct spec *spec;
    double started;

    ret->values = held() - nothing;
    ledger = make_all(config, object);
    nanosleep(&(struct timespec){.tv_sec = 2}, NULL); /* the last threads of it come to their end */
    ret->state = held() - nothing - ret->values;
    before = held();
    resident_before = resident("VmRSS");
    forget_highest();
    started = now_s();
    spec = parse(object);
    ret->spec = held() - before;
    operation = plan(config, spec);
    ret->seconds = now_s() - started;
    ret->highest = resident("VmHWM") - resident_before;
    ret->plan = held() - before - ret->spec;
    plan_summarise(operation_get_plan(operation), &summary);
    if (summary.unchanged != RESOURCES)
        must(err_set(&(struct error){0}, ERR_INTERNAL, "Plan", "not all are unchanged"), NULL);
    operation_free(operation);
    ledger_unref(ledger);
}

static void report(const struct figures *figures)
{
    double spec = megabytes(figures->spec), plan_mb = megabytes(figures->plan);

    printf("%d unchanged resources, on the heap\n\n", RESOURCES);
    printf("%-44s %8.1f MB\n", "the Spec as it was read", megabytes(figures->values));
    printf("%-44s %8.1f MB\n", "State's records", megabytes(figures->state));
    printf("%-44s %8.1f MB\n", "the Spec parsed", spec);
    printf("%-44s %8.1f MB   (target, together: %.0f MB)\n", "the plan", plan_mb, TARGET_MB);
    printf("%-44s %8.1f MB\n", "resident, highest while both were made",
           megabytes(figures->highest));
    printf("%-44s %8.2f s\n\n", "parsing and planning", figures->seconds);
    printf("{\"benchmark\":\"plan_memory\",\"resources\":%d,\"values_mb\":%.1f,\"state_mb\":%.1f,"
           "\"spec_mb\":%.1f,\"operation_mb\":%.1f,\"plan_mb\":%.1f,\"highest_mb\":%.1f,"
           "\"seconds\":%.2f}\n",
           RESOURCES, megabytes(figures->values), megabytes(figures->state), spec, plan_mb,
           spec + plan_mb, megabytes(figures->highest), figures->seconds);
}

int main(void)
{
    struct runtime runtime = {&trivial_ops};
    struct runtime *runtimes[] = {&runtime};
    struct store store = {&forgetful_ops};
    struct executor *executor =
        executor_new(&(struct executor_config){.clock = &system_clock, .threads = 4});
    struct ledgers *ledgers =
        ledgers_new(&(struct ledgers_config){.store = &store, .clock = &system_clock});
    const struct operation_config config = {.clock = &system_clock,
                                            .executor = executor,
                                            .ledgers = ledgers,
                                            .runtimes = runtimes,
                                            .n_runtimes = 1,
                                            .scope = {.key = {"team", "large"}, .spec_uid = "1"},
                                            .epoch = 1,
                                            .parallelism = 10,
                                            .timeout = 600000};
    struct figures figures = {0};

    measure(&config, &figures);
    report(&figures);
    ledgers_free(ledgers);
    executor_free(executor);
    return 0;
}
