/* Changes of documents whose answers are lost, or that fail half way, over an API server in memory:
 * a look tells what happened, and nothing that is in use is removed. */
#include <unistd.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "runtimes/io/clock.h"
#include "runtimes/kubernetes/store/documents.h"
#include "test/unit/runtimes/kubernetes/client/api_server_client.h"
#include "test/unit/suite.h"

#define MAPS    "/api/v1/namespaces/state/configmaps"
#define SECRETS "/api/v1/namespaces/state/secrets"

static const struct store_call plain;
static const struct document_name name = {DOCUMENT_STATE, {"team", "web"}, NULL};

struct scene {
    struct api_server *server;
    struct api_client client;
    struct store *store;
    struct store_file *file;
    struct error error; /* of the last call */
};

static void begin_with(struct scene *scene, int64_t effect_time)
{
    *scene = (struct scene){.server = api_server_new()};
    api_client_start(&scene->client, scene->server, NULL, NULL);
    api_server_create(scene->server, "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":"
                                     "{\"name\":\"state\"}}");
    scene->store =
        kube_documents_new(&(struct kube_documents_config){.cluster = {scene->client.client, NULL},
                                                           .namespace_name = "state",
                                                           .effect_time = effect_time});
    scene->store->ops->open(scene->store, &name, STORE_WRITE, &plain, &scene->file, NULL);
}

static void begin(struct scene *scene)
{
    begin_with(scene, 1);
}

static void end(struct scene *scene)
{
    scene->store->ops->close(scene->file);
    scene->store->ops->free(scene->store);
    api_client_stop(&scene->client);
    api_server_free(scene->server);
}

static int put(struct scene *scene, const char *open, const char *secret,
               const struct store_call *call)
{
    struct document document = DOCUMENT_INIT;
    int r;

    buf_add_str(&document.open, open);
    buf_add_str(&document.secret, secret);
    err_clear(&scene->error);
    r = scene->store->ops->write(scene->file, call, &document, &scene->error);
    document_done(&document);
    return r;
}

static int append(struct scene *scene, const char *text, const struct store_call *call)
{
    err_clear(&scene->error);
    return scene->store->ops->append(scene->file, call, text, strlen(text), &scene->error);
}

static int drop(struct scene *scene)
{
    err_clear(&scene->error);
    return scene->store->ops->remove(scene->file, &plain, &scene->error);
}

/* "open|secret|entry|entry", or the code; free(). As a process reads it that begins now. */
static char *stored(struct scene *scene)
{
    struct document document = DOCUMENT_INIT;
    struct store_file *file = NULL;
    struct buf text = BUF_INIT;
    int r;

    scene->store->ops->open(scene->store, &name, STORE_READ, &plain, &file, NULL);
    r = scene->store->ops->read(file, &plain, &document, NULL);
    if (r < 0)
        buf_printf(&text, "%d", r);
    else
        buf_printf(&text, "%.*s|%.*s", (int)document.open.length, document.open.data,
                   (int)document.secret.length, document.secret.length ? document.secret.data : "");
    for (size_t i = 0; i < document.n_entries; i++)
        buf_printf(&text, "|%.*s", (int)document.entries[i].length, document.entries[i].data);
    document_done(&document);
    scene->store->ops->close(file);
    return buf_take(&text);
}

static void expect_stored(struct scene *scene, const char *expected, const char *note)
{
    _cleanup_free_ char *text = stored(scene);

    EXPECT_STR(text, expected, note);
}

/* ---- One fault ---- */

/* All kinds of changes, in turn; "" when nothing failed. */
static const char *go_through(struct scene *scene)
{
    if (put(scene, "1", "", &plain) < 0)
        return "the first write";
    if (put(scene, "2", "s", &plain) < 0)
        return "a write with a secret part";
    if (append(scene, "a", &plain) < 0)
        return "the first entry";
    if (append(scene, "b", &plain) < 0)
        return "another entry";
    expect_stored(scene, "2|s|a|b", "with entries");
    if (put(scene, "3", "t", &plain) < 0)
        return "folded";
    expect_stored(scene, "3|t", "folded");
    if (append(scene, "c", &plain) < 0)
        return "the first entry again";
    return drop(scene) < 0 ? "removed" : "";
}

/* Whichever request reads no answer: the change happens, once, and what follows is no conflict. */
static void one_lost_answer_fails_nothing(void)
{
    static const struct {
        const char *note;
        enum api_fault fault;
        int status;
    } rows[] = {
        {"dropped", API_DROP, 0}, {"dropped after it happened", API_DROP_AFTER, 0},
        {"503", API_ANSWER, 503}, {"504 after it happened", API_ANSWER_AFTER, 504},
        {"409", API_ANSWER, 409}, {"409 after it happened", API_ANSWER_AFTER, 409},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        unsigned hits = 1, n = 1;

        for (; hits; n++) {
            struct scene scene;
            unsigned rule;

            begin(&scene);
            rule = api_server_rule(scene.server, &(struct api_rule){.verb = "write",
                                                                    .first = n,
                                                                    .times = 1,
                                                                    .fault = rows[i].fault,
                                                                    .status = rows[i].status});
            EXPECT_STR(go_through(&scene), "", rows[i].note);
            EXPECT_STR(scene.error.message, "", rows[i].note);
            EXPECT_INT(api_server_size(scene.server, MAPS) + api_server_size(scene.server, SECRETS),
                       0, rows[i].note);
            hits = api_server_hits(scene.server, rule);
            end(&scene);
        }
        EXPECT(n > 15, "each of its requests");
    }
}

/* Another changed the document, and the answer of our own attempt is lost, too. */
static void a_lost_answer_is_no_success_of_another(void)
{
    struct scene scene;
    struct store_file *other = NULL;
    struct document document = DOCUMENT_INIT;

    begin(&scene);
    EXPECT_INT(put(&scene, "1", "", &plain), 0, scene.error.message);
    scene.store->ops->open(scene.store, &name, STORE_WRITE, &plain, &other, NULL);
    EXPECT_INT(scene.store->ops->read(other, &plain, &document, NULL), 0, "read");
    EXPECT_INT(scene.store->ops->write(other, &plain, &document, NULL), 0, "the same bytes");
    api_server_rule(scene.server,
                    &(struct api_rule){.verb = "write", .times = 1, .fault = API_DROP});
    EXPECT_INT(put(&scene, "1", "", &plain), ERR_CONFLICT, "theirs");
    document_done(&document);
    scene.store->ops->close(other);
    end(&scene);
}

static void fire(void *arg, unsigned n)
{
    (void)n;
    cancel_fire(arg, "Superseded");
}

/* A cancel ends a change only before it is sent: the look afterwards is made all the same. */
static void a_cancel_does_not_stop_the_look(void)
{
    for (int is_append = 0; is_append < 2; is_append++) {
        _cleanup_(cancel_free_p) struct cancel *cancel = cancel_new(NULL);
        const struct store_call call = {.cancel = cancel};
        struct scene scene;

        begin(&scene);
        EXPECT_INT(put(&scene, "1", "", &plain), 0, scene.error.message);
        EXPECT_INT(append(&scene, "a", &plain), 0, scene.error.message);
        api_server_rule(scene.server, &(struct api_rule){.verb = "write",
                                                         .first = is_append ? 1 : 2,
                                                         .times = 1,
                                                         .fault = API_DROP_AFTER});
        api_server_mark(scene.server);
        api_server_on_write(scene.server, fire, cancel);
        EXPECT_INT(is_append ? append(&scene, "b", &call) : put(&scene, "2", "", &call), 0,
                   scene.error.message);
        api_server_on_write(scene.server, NULL, NULL);
        expect_stored(&scene, is_append ? "1||a|b" : "2|", "it happened");
        end(&scene);
    }
}

/* ---- What is left ---- */

/* The head names the new segment, and nobody says so: the segment must stay. */
static void keeps_a_segment_that_may_be_named(void)
{
    struct store_call call = {0};
    struct scene scene;
    unsigned reads;

    begin(&scene);
    EXPECT_INT(put(&scene, "1", "", &plain), 0, scene.error.message);
    api_server_rule(scene.server, &(struct api_rule){.verb = "patch", .fault = API_DROP_AFTER});
    reads = api_server_rule(scene.server,
                            &(struct api_rule){.verb = "get", .fault = API_ANSWER, .status = 503});
    call.deadline = system_clock.monotonic(&system_clock) + 2500;
    EXPECT_INT(append(&scene, "a", &call), ERR_UNAVAILABLE, "nobody knows");
    api_server_release(scene.server, reads);
    expect_stored(&scene, "1||a", "it happened");
    end(&scene);
}

/* The secret part is written, and then the head is refused. */
static void the_next_write_collects_what_one_left(void)
{
    struct scene scene;
    unsigned rule;

    begin(&scene);
    EXPECT_INT(put(&scene, "1", "s", &plain), 0, scene.error.message);
    EXPECT_INT(put(&scene, "2", "t", &plain), 0, scene.error.message);
    EXPECT_INT(api_server_size(scene.server, SECRETS), 1, "the one in use");
    rule = api_server_forbid(scene.server, NULL, "update", MAPS "/*");
    EXPECT_INT(put(&scene, "3", "u", &plain), ERR_FORBIDDEN, scene.error.message);
    EXPECT_INT(api_server_size(scene.server, SECRETS), 2, "and what is left over");
    expect_stored(&scene, "2|t", "as it was");
    api_server_release(scene.server, rule);
    EXPECT_INT(put(&scene, "4", "v", &plain), 0, scene.error.message);
    EXPECT_INT(api_server_size(scene.server, SECRETS), 1, "the one in use");
    expect_stored(&scene, "4|v", "written");
    end(&scene);
}

/* A document with a create that was not answered is removed when that cannot come any more: it
 * would bring back the head, or leave a chunk. */
static void is_removed_when_no_create_is_left(void)
{
    static const struct {
        const char *note, *path;
    } rows[] = {{"the head", MAPS "*"}, {"a chunk", SECRETS "*"}};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct scene scene;
        char *text;

        begin_with(&scene, 3000);
        api_server_rule(scene.server,
                        &(struct api_rule){
                            .verb = "create", .path = rows[i].path, .times = 1, .fault = API_DROP});
        EXPECT_INT(put(&scene, "o", "s", &plain), 0, scene.error.message);
        EXPECT_INT(drop(&scene), ERR_UNAVAILABLE, rows[i].note);
        EXPECT_STR(scene.error.reason, STORE_OUTCOME_UNKNOWN, scene.error.message);
        EXPECT(strstr(scene.error.message, "for 3 s after it was sent: it is removed then"),
               scene.error.message);
        text = stored(&scene);
        EXPECT_STR(text, "o|s", "nothing is changed");
        free(text);
        usleep(3100000);
        EXPECT_INT(drop(&scene), 0, scene.error.message);
        text = stored(&scene);
        EXPECT(str_has_prefix(text, "-"), "there is none");
        free(text);
        EXPECT_INT(put(&scene, "o", "s", &plain), 0, scene.error.message);
        EXPECT_INT(drop(&scene), 0, "at once: all was answered");
        end(&scene);
    }
}

/* ---- Two processes ---- */

/* Another process, which saw no document, removes it after so many writes of this one. */
struct remover {
    struct api_client client;
    struct store *store;
    struct store_file *file;
    unsigned after;
    bool is_done;
    int result;
};

static void remover_start(struct remover *remover, const struct scene *scene, unsigned after)
{
    *remover = (struct remover){.after = after};
    api_client_start(&remover->client, scene->server, NULL, NULL);
    remover->store = kube_documents_new(&(struct kube_documents_config){
        .cluster = {remover->client.client, NULL}, .namespace_name = "state", .effect_time = 1});
    remover->store->ops->open(remover->store, &name, STORE_WRITE, &plain, &remover->file, NULL);
}

static void remover_stop(struct remover *remover)
{
    remover->store->ops->close(remover->file);
    remover->store->ops->free(remover->store);
    api_client_stop(&remover->client);
}

static void on_write(void *arg, unsigned n)
{
    struct remover *remover = arg;

    if (n != remover->after || remover->is_done)
        return;
    remover->is_done = true;
    remover->result = remover->store->ops->remove(remover->file, &plain, NULL);
}

/* The first write of a document is either done, and whole, or has failed. */
static void a_removal_that_saw_nothing_takes_nothing_of_the_first_write(void)
{
    for (unsigned after = 1; after <= 3; after++) {
        _cleanup_free_ char *note = str_printf("after %u writes", after);
        struct scene scene;
        struct remover remover;
        char *text;
        int r;

        begin(&scene);
        remover_start(&remover, &scene, after);
        api_server_mark(scene.server);
        api_server_on_write(scene.server, on_write, &remover);
        r = put(&scene, "o", "s", &plain);
        api_server_on_write(scene.server, NULL, NULL);
        EXPECT(remover.is_done, note);
        text = stored(&scene);
        EXPECT_STR(text, r == 0 ? "o|s" : "-2", note);
        EXPECT_INT(remover.result == 0, r != 0, note);
        free(text);
        EXPECT_INT(drop(&scene), 0, scene.error.message);
        EXPECT_INT(api_server_size(scene.server, SECRETS), 0, note);
        remover_stop(&remover);
        end(&scene);
    }
}

SUITE(kube_documents_doubt, TEST(a_removal_that_saw_nothing_takes_nothing_of_the_first_write),
      TEST(one_lost_answer_fails_nothing), TEST(a_lost_answer_is_no_success_of_another),
      TEST(a_cancel_does_not_stop_the_look), TEST(keeps_a_segment_that_may_be_named),
      TEST(the_next_write_collects_what_one_left), TEST(is_removed_when_no_create_is_left))
