/*
 * A State of 10,000 resources in each store on a server, saved and loaded, beside the least that
 * the same bytes cost there: an INSERT, a PUT, and the SELECT or GET of them. The servers are those
 * of hack/stores, whose variables the environment has; a store without one is left out.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/base/base64.h"
#include "engine/base/hash.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/state/codec.h"
#include "engine/state/state.h"
#include "engine/value/json.h"
#include "runtimes/chain/remote.h"
#include "runtimes/io/clock.h"
#include "runtimes/postgres/private.h"
#include "runtimes/postgres/store.h"
#include "runtimes/s3/private.h"
#include "runtimes/webdav/store.h"

#define RESOURCES 10000
#define RUNS      9
#define AIM       1.3

static double now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void must(int r, const char *what, const struct error *error)
{
    if (r >= 0)
        return;
    fprintf(stderr, "%s: %s\n", what, error->message);
    exit(1);
}

/* ---- State ---- */

static struct state *state_of_config_maps(void)
{
    const struct state_head head = {.spec_namespace = "team-a", .spec_name = "web", .revision = 1};
    struct state *state = state_new(&head);

    for (int i = 0; i < RESOURCES; i++) {
        _cleanup_free_ char *id = str_printf("v1:ConfigMap:team-a:item-%05d", i);
        char digest[HASH_HEX_SIZE]; /* which no compression shortens */
        _cleanup_free_ char *text = str_printf(
            "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"item-%05d\","
            "\"namespace\":\"team-a\"},\"data\":{\"digest\":\"%s\",\"text\":\"the quick brown fox "
            "jumps over the lazy dog\"}}",
            i, (hash_hex(id, strlen(id), digest), digest));
        _cleanup_value_ const struct value *attributes = NULL;
        const struct record *record;
        struct error error = {0};

        must(json_read(text, strlen(text), &attributes, &error), "json", &error);
        record = record_new(&(struct record){.status = RECORD_APPLIED,
                                             .id = id,
                                             .type = "Kubernetes",
                                             .attributes = attributes,
                                             .uid = id,
                                             .revision = 1});
        state_put(state, record);
        record_unref(record);
    }
    return state;
}

/* ---- The least ---- */

struct least {
    struct objects *objects;
    struct remote remote;
    struct postgres_place place;
    struct postgres_connection *connection;
    char *path, *authorization;
    unsigned number;
};

static struct store_call call_now(void)
{
    return (struct store_call){.deadline = system_clock.monotonic(&system_clock) + 60000};
}

static void query(struct least *least, const char *sql, const struct buf *bytes)
{
    struct postgres_statement statement = {.sql = sql};
    struct postgres_wait wait;
    struct error error = {0};

    if (bytes)
        postgres_add_bytes(&statement, bytes->data, bytes->length);
    postgres_wait_init(call_now().deadline, NULL, &wait);
    must(postgres_run(least->connection, &wait, &statement, 1, "benchmark", NULL, &error),
         "postgres", &error);
    postgres_wait_done(&wait);
}

static void postgres_begin_least(struct least *least, const char *place)
{
    struct postgres_wait wait;
    struct error error = {0};

    must(postgres_place_parse(place, &least->place, &error), "postgres", &error);
    postgres_wait_init(call_now().deadline, NULL, &wait);
    must(postgres_connect(&least->place, &wait, &least->connection, &error), "postgres", &error);
    postgres_wait_done(&wait);
    query(least, "DROP TABLE IF EXISTS least", NULL);
    query(least, "CREATE TABLE least (number serial, bytes bytea)", NULL);
    query(least, "ALTER TABLE least ALTER bytes SET STORAGE EXTERNAL", NULL);
}

static void postgres_put(struct least *least, const struct buf *bytes)
{
    query(least, "INSERT INTO least (bytes) VALUES ($1)", bytes);
}

static void postgres_get(struct least *least)
{
    query(least, "SELECT bytes FROM least ORDER BY number DESC LIMIT 1", NULL);
}

static char *object_key(const struct least *least)
{
    return str_printf("least/~%016u", least->number);
}

static void s3_begin_least(struct least *least, const char *place)
{
    struct error error = {0};

    must(s3_objects_new(place, &least->objects, &error), "s3", &error);
    least->number = (unsigned)system_clock.monotonic(&system_clock);
}

static void s3_put(struct least *least, const struct buf *bytes)
{
    const struct store_call call = call_now();
    _cleanup_free_ char *key = (least->number++, object_key(least));
    struct error error = {0};

    must(least->objects->ops->create(least->objects, key, bytes, &call, &error), "s3", &error);
}

static void s3_get(struct least *least)
{
    const struct store_call call = call_now();
    _cleanup_free_ char *key = object_key(least);
    _cleanup_buf_ struct buf bytes;
    struct error error = {0};

    buf_init(&bytes, OBJECT_BYTES);
    must(least->objects->ops->get(least->objects, key, &bytes, &call, &error), "s3", &error);
}

/* "https://localhost:1/state?credentials=/…&ca=/…" of hack/stores. */
static void webdav_begin_least(struct least *least, const char *place)
{
    const char *path = strchr(strstr(place, "://") + 3, '/');
    const char *folder = strstr(place, "credentials=") + strlen("credentials=");
    const char *ca = strstr(place, "&ca=") + strlen("&ca=");
    _cleanup_free_ char *address = str_new_n(place, (size_t)(path - place));
    _cleanup_free_ char *credentials = str_new_n(folder, strcspn(folder, "&"));
    _cleanup_free_ char *user = NULL, *password = NULL, *both = NULL;
    _cleanup_buf_ struct buf header = BUF_INIT;
    struct error error = {0};

    must(remote_read_secret(credentials, "username", &user, &error), "webdav", &error);
    must(remote_read_secret(credentials, "password", &password, &error), "webdav", &error);
    must(remote_init(&least->remote, address, ca, &error), "webdav", &error);
    both = str_printf("%s:%s", user, password);
    buf_add_str(&header, "Authorization: Basic ");
    base64_encode(&header, both, strlen(both));
    least->authorization = buf_take(&header);
    least->path = str_printf("%.*s/least", (int)strcspn(path, "?"), path);
}

static void webdav_do(struct least *least, const char *method, const struct buf *bytes)
{
    const struct store_call call = call_now();
    const char *const headers[] = {least->authorization};
    struct http_request request = {.method = method,
                                   .path = least->path,
                                   .headers = headers,
                                   .n_headers = 1,
                                   .body = bytes ? bytes->data : NULL,
                                   .body_length = bytes ? bytes->length : 0,
                                   .max_response = OBJECT_BYTES};
    struct http_response response = HTTP_RESPONSE_INIT;
    struct error error = {0};

    must(remote_do(&least->remote, &request, &call, bytes != NULL, &response, &error), "webdav",
         &error);
    if (response.status / 100 != 2) {
        fprintf(stderr, "webdav: %s: %d\n", method, response.status);
        exit(1);
    }
    http_response_done(&response);
}

static void webdav_put(struct least *least, const struct buf *bytes)
{
    webdav_do(least, "PUT", bytes);
}

static void webdav_get(struct least *least)
{
    webdav_do(least, "GET", NULL);
}

/* ---- Measuring ---- */

static const struct subject {
    const char *name, *variable;
    int (*open)(const char *place, struct store **ret, struct error *error);
    void (*begin)(struct least *least, const char *place);
    void (*put)(struct least *least, const struct buf *bytes);
    void (*get)(struct least *least);
} subjects[] = {
    {"postgres", "KUSION_TEST_POSTGRES", postgres_store_open, postgres_begin_least, postgres_put,
     postgres_get},
    {"s3", "KUSION_TEST_S3", s3_store_open, s3_begin_least, s3_put, s3_get},
    {"webdav", "KUSION_TEST_APACHE", webdav_store_open, webdav_begin_least, webdav_put, webdav_get},
};

enum figure { SAVE, PUT, LOAD, GET, FIGURES };

static int compare(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;

    return (left > right) - (left < right);
}

static double median(double *runs)
{
    qsort(runs, RUNS, sizeof(*runs), compare);
    return runs[RUNS / 2];
}

static void save(struct store_file *file, const struct document *document)
{
    const struct store_call call = call_now();
    struct error error = {0};

    must(file->store->ops->write(file, &call, document, &error), "save", &error);
}

static void load(struct store *store, const struct document_name *name)
{
    const struct store_call call = call_now();
    struct document document = DOCUMENT_INIT;
    struct error error = {0};

    must(store_load(store, name, &call, &document, &error), "load", &error);
    document_done(&document);
}

/* In turns, so that what else the machine does slows both. The first round is not counted. */
static void measure(const struct subject *subject, const char *place,
                    const struct document *document, double ret[FIGURES])
{
    _cleanup_free_ char *item = str_printf("web-%lld", (long long)system_clock.now(&system_clock));
    const struct document_name name = {DOCUMENT_STATE, {"bench", item}, NULL};
    const struct store_call call = call_now();
    static double runs[FIGURES][RUNS + 1];
    struct document nothing = DOCUMENT_INIT;
    struct store_file *file = NULL;
    struct least least = {0};
    struct store *store;
    struct error error = {0};
    int r;

    must(subject->open(place, &store, &error), subject->name, &error);
    subject->begin(&least, place);
    must(store->ops->open(store, &name, STORE_WRITE, &call, &file, &error), "open", &error);
    r = store->ops->read(file, &call, &nothing, &error);
    must(r == ERR_NOT_FOUND ? 0 : r, "read", &error);
    for (int i = RUNS; i >= 0; i--) {
        double times[FIGURES + 1];

        times[SAVE] = now_ms();
        save(file, document);
        times[PUT] = now_ms();
        subject->put(&least, &document->open);
        times[LOAD] = now_ms();
        load(store, &name);
        times[GET] = now_ms();
        subject->get(&least);
        times[FIGURES] = now_ms();
        for (int j = 0; j < FIGURES; j++)
            runs[j][i] = times[j + 1] - times[j];
    }
    for (int j = 0; j < FIGURES; j++)
        ret[j] = median(runs[j]);
    store->ops->close(file);
    must(store_drop(store, &name, &call, &error), "drop", &error);
    store->ops->free(store);
}

int main(void)
{
    _cleanup_(state_free_p) struct state *state = state_of_config_maps();
    struct document document = DOCUMENT_INIT;
    struct error error = {0};
    double began = now_ms(), encoded;
    _cleanup_buf_ struct buf figures = BUF_INIT;

    must(state_encode(state, &document, &error), "encode", &error);
    encoded = now_ms() - began;
    printf("State of %d resources: %zu bytes, encoded in %.1f ms\n", RESOURCES,
           document.open.length + document.secret.length, encoded);
    printf("%-10s %8s %8s %8s %8s %8s %8s\n", "ms", "save", "put", "ratio", "load", "get", "ratio");
    buf_add(&document.open, document.secret.data, document.secret.length); /* one part, for both */
    buf_reset(&document.secret);
    for (size_t i = 0; i < ARRAY_SIZE(subjects); i++) {
        const char *place = getenv(subjects[i].variable);
        double f[FIGURES];

        if (!place)
            continue;
        measure(&subjects[i], place, &document, f);
        printf("%-10s %8.1f %8.1f %8.2f %8.1f %8.1f %8.2f\n", subjects[i].name, f[SAVE], f[PUT],
               f[SAVE] / f[PUT], f[LOAD], f[GET], f[LOAD] / f[GET]);
        buf_printf(&figures, ", \"%s\": {\"save\": %.2f, \"load\": %.2f}", subjects[i].name,
                   f[SAVE] / f[PUT], f[LOAD] / f[GET]);
    }
    printf("{\"benchmark\": \"stores\", \"aim\": %.1f%s}\n", AIM, figures.data);
    document_done(&document);
    return 0;
}
