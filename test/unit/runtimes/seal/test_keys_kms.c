/* A real KMS v2 plugin, made on the library that such plugins are made with, and one that is none.
 */
#include "engine/base/str.h"
#include "engine/threads/thread.h"
#include "runtimes/seal/keys_kms.h"
#include "runtimes/seal/seal.h"
#include "test/unit/engine/memory_store.h"
#include "test/unit/runtimes/seal/fake_source.h"
#include "test/unit/runtimes/seal/kms_plugin.h"
#include "test/unit/runtimes/seal/tamper.h"
#include "test/unit/suite.h"

static const struct store_call plain;
static const struct document_name web = {DOCUMENT_STATE, {"team", "web"}, NULL};
static const struct document_name api = {DOCUMENT_STATE, {"team", "api"}, NULL};

struct desk {
    struct kms_plugin plugin;
    struct memory_medium *medium;
    struct store *store;
    struct error error;
};

static struct store *attach(struct desk *desk)
{
    _cleanup_free_ char *text = str_printf("kms:unix://%s", desk->plugin.socket);
    struct seal_keys *keys = NULL;

    if (seal_keys_parse(text, &late_clock, &keys, &desk->error) < 0)
        abort();
    return seal_store_new(memory_store_new(desk->medium), keys, SEAL_ALL);
}

/* As a process that begins now. */
static void restart(struct desk *desk)
{
    desk->store->ops->free(desk->store);
    desk->store = attach(desk);
}

static bool desk_init(struct desk *desk, const char *kind)
{
    if (!kms_plugin_is_there())
        return false;
    *desk = (struct desk){.medium = memory_medium_new(NULL)};
    kms_plugin_init(&desk->plugin);
    kms_plugin_start(&desk->plugin, kind);
    desk->store = attach(desk);
    return true;
}

static void desk_done(struct desk *desk)
{
    desk->store->ops->free(desk->store);
    memory_medium_free(desk->medium);
    kms_plugin_done(&desk->plugin);
}

static int save(struct desk *desk, const struct document_name *name, const char *text)
{
    err_clear(&desk->error);
    return tamper_write(desk->store, name, text, text, NULL, &desk->error);
}

static int load(struct desk *desk, const struct document_name *name, const char *text)
{
    struct document document = DOCUMENT_INIT;
    int r = tamper_read(desk->store, name, &document, &desk->error);

    if (r >= 0)
        EXPECT_STR(document.secret.data, text, "the secret part");
    document_done(&document);
    return r;
}

static void expect_calls(struct desk *desk, unsigned statuses, unsigned encrypts, unsigned decrypts,
                         const char *note)
{
    EXPECT_INT(kms_plugin_calls(&desk->plugin, "Status"), statuses, note);
    EXPECT_INT(kms_plugin_calls(&desk->plugin, "Encrypt"), encrypts, note);
    EXPECT_INT(kms_plugin_calls(&desk->plugin, "Decrypt"), decrypts, note);
}

/* ---- A plugin ---- */

static void saves_ask_the_plugin_once(void)
{
    struct desk desk;

    if (!desk_init(&desk, NULL))
        return;
    for (int i = 0; i < 50; i++) {
        EXPECT_INT(save(&desk, &web, "web"), 0, desk.error.message);
        EXPECT_INT(load(&desk, &web, "web"), 0, desk.error.message);
    }
    expect_calls(&desk, 1, 1, 1, "a seed, and its proof");
    restart(&desk);
    for (int i = 0; i < 50; i++)
        EXPECT_INT(load(&desk, &web, "web"), 0, desk.error.message);
    expect_calls(&desk, 1, 1, 2, "with its annotations");
    EXPECT_INT(kms_plugin_calls(&desk.plugin, "Decrypt key-1"), 2, "and its key id");
    desk_done(&desk);
}

static void another_key_id_is_used_within_a_minute(void)
{
    struct desk desk;

    if (!desk_init(&desk, NULL))
        return;
    EXPECT_INT(save(&desk, &web, "web"), 0, desk.error.message);
    kms_plugin_switch(&desk.plugin, "key key-2\n");
    EXPECT_INT(save(&desk, &web, "web"), 0, desk.error.message);
    expect_calls(&desk, 1, 1, 1, "Status was asked less than a minute ago");
    late_clock_add(61 * 1000);
    EXPECT_INT(save(&desk, &api, "api"), 0, desk.error.message);
    expect_calls(&desk, 2, 2, 2, "another seed");
    EXPECT_INT(kms_plugin_calls(&desk.plugin, "Decrypt key-2"), 1, "by the other key");
    restart(&desk);
    EXPECT_INT(load(&desk, &web, "web"), 0, desk.error.message);
    EXPECT_INT(load(&desk, &api, "api"), 0, desk.error.message);
    desk_done(&desk);
}

/* The key id of an Encrypt counts for what it wrapped, that of Status for when to wrap anew. */
static void an_encrypt_may_use_another_key_than_status_tells(void)
{
    struct desk desk;

    if (!desk_init(&desk, NULL))
        return;
    kms_plugin_switch(&desk.plugin, "other key-9\n");
    EXPECT_INT(save(&desk, &web, "web"), 0, desk.error.message);
    late_clock_add(61 * 1000);
    EXPECT_INT(save(&desk, &web, "web"), 0, desk.error.message);
    expect_calls(&desk, 2, 1, 1, "no seed each minute");
    restart(&desk);
    EXPECT_INT(load(&desk, &web, "web"), 0, desk.error.message);
    EXPECT_INT(kms_plugin_calls(&desk.plugin, "Decrypt key-9"), 2, "its key id");
    desk_done(&desk);
}

static void a_kms_that_is_down_stops_only_who_begins(void)
{
    struct desk desk;

    if (!desk_init(&desk, NULL))
        return;
    EXPECT_INT(save(&desk, &web, "web"), 0, desk.error.message);
    kms_plugin_stop(&desk.plugin);
    late_clock_add(61 * 1000);
    EXPECT_INT(save(&desk, &web, "later"), 0, desk.error.message);
    EXPECT_INT(load(&desk, &web, "later"), 0, desk.error.message);
    restart(&desk);
    EXPECT_INT(load(&desk, &web, "later"), ERR_UNAVAILABLE, "its seed is not known");
    EXPECT_STR(desk.error.reason, SEAL_UNAVAILABLE, "its reason");
    EXPECT(strstr(desk.error.message, desk.plugin.socket), desk.error.message);
    EXPECT_INT(save(&desk, &api, "api"), ERR_UNAVAILABLE, "no seed");
    EXPECT(strstr(desk.error.message, "Status: its process cannot be reached"), desk.error.message);
    kms_plugin_start(&desk.plugin, NULL);
    EXPECT_INT(load(&desk, &web, "later"), 0, desk.error.message);
    late_clock_add(1000);
    EXPECT_INT(save(&desk, &api, "api"), 0, desk.error.message);
    desk_done(&desk);
}

static void a_plugin_that_is_started_anew_goes_on(void)
{
    struct desk desk;

    if (!desk_init(&desk, NULL))
        return;
    for (int i = 0; i < 3; i++) {
        EXPECT_INT(save(&desk, &web, "web"), 0, desk.error.message);
        kms_plugin_stop(&desk.plugin);
        kms_plugin_start(&desk.plugin, NULL);
        late_clock_add(INT64_C(25) * 3600 * 1000);
    }
    EXPECT_INT(kms_plugin_calls(&desk.plugin, "Encrypt"), 3, "each time");
    desk_done(&desk);
}

static void what_a_plugin_answers_is_told(void)
{
    static const struct {
        const char *words, *error;
    } rows[] = {
        {"unhealthy the region is on fire\n", "Status: it is not healthy: the region is on fire"},
        {"refuse access to the key was denied\n", "Encrypt: status 2 of gRPC: access to the key"},
        {"damage\n", "a new seed was wrapped and cannot be unwrapped, so it is not used"},
        {"exchange\n", "another one came back when it was unwrapped"},
        {"version v1beta1\n", "it speaks the version \"v1beta1\" of KMS; it is to be v2"},
        {"version v2beta1\n", NULL},
        {"key \n", "Status: its answer has no key id"},
        {"other \n", "Encrypt: its answer has no key id"},
    };
    struct desk desk;

    if (!desk_init(&desk, NULL))
        return;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        kms_plugin_switch(&desk.plugin, rows[i].words);
        restart(&desk);
        EXPECT_INT(save(&desk, &web, "web"), rows[i].error ? ERR_UNAVAILABLE : 0, rows[i].words);
        EXPECT_STR(desk.error.reason, rows[i].error ? SEAL_UNAVAILABLE : "", rows[i].words);
        EXPECT(!rows[i].error || strstr(desk.error.message, rows[i].error), desk.error.message);
    }
    desk_done(&desk);
}

static void a_plugin_that_is_not_healthy_is_asked_every_ten_seconds(void)
{
    struct desk desk;

    if (!desk_init(&desk, NULL))
        return;
    kms_plugin_switch(&desk.plugin, "unhealthy no\n");
    for (int i = 0; i < 5; i++)
        EXPECT_INT(save(&desk, &web, "web"), ERR_UNAVAILABLE, "no");
    expect_calls(&desk, 1, 0, 0, "once");
    late_clock_add(10 * 1000);
    kms_plugin_switch(&desk.plugin, "");
    EXPECT_INT(save(&desk, &web, "web"), 0, desk.error.message);
    desk_done(&desk);
}

/* Nobody can tell a key that is gone from one that cannot be reached: it is no damage. */
static void a_key_that_is_gone_is_no_damage(void)
{
    struct desk desk;

    if (!desk_init(&desk, NULL))
        return;
    EXPECT_INT(save(&desk, &web, "web"), 0, desk.error.message);
    kms_plugin_switch(&desk.plugin, "forget key-1\nkey key-2\n");
    restart(&desk);
    EXPECT_INT(load(&desk, &web, "web"), ERR_UNAVAILABLE, "gone");
    EXPECT(strstr(desk.error.message, "Decrypt: status 2 of gRPC: there is no such key"),
           desk.error.message);
    EXPECT_INT(store_drop(desk.store, &web, &plain, &desk.error), ERR_UNAVAILABLE, "it stays");
    kms_plugin_switch(&desk.plugin, "");
    EXPECT_INT(load(&desk, &web, "web"), 0, desk.error.message);
    desk_done(&desk);
}

/* ---- A plugin that does not answer ---- */

static int save_within(struct desk *desk, const struct store_call *call)
{
    struct document document = DOCUMENT_INIT;
    struct store_file *file = NULL;
    int r;

    err_clear(&desk->error);
    desk->store->ops->open(desk->store, &web, STORE_WRITE, call, &file, NULL);
    desk->store->ops->read(file, call, &document, NULL);
    r = desk->store->ops->write(file, call, &document, &desk->error);
    desk->store->ops->close(file);
    document_done(&document);
    return r;
}

static void a_plugin_that_hangs_is_waited_for_as_long_as_the_call_may(void)
{
    struct store_call call = {0};
    struct desk desk;

    if (!desk_init(&desk, NULL))
        return;
    kms_plugin_switch(&desk.plugin, "hang\n");
    call.deadline = late_clock.monotonic(&late_clock) + 300;
    EXPECT_INT(save_within(&desk, &call), ERR_UNAVAILABLE, "no answer");
    EXPECT_STR(desk.error.reason, SEAL_UNAVAILABLE, "its reason");
    EXPECT(strstr(desk.error.message, "Status: no answer within"), desk.error.message);
    kms_plugin_switch(&desk.plugin, "");
    late_clock_add(10 * 1000);
    EXPECT_INT(save(&desk, &web, "web"), 0, desk.error.message);
    kms_plugin_switch(&desk.plugin, "hang\n");
    late_clock_add(61 * 1000);
    EXPECT_INT(save(&desk, &web, "later"), 0, "the seed at hand goes on");
    desk_done(&desk);
}

struct saver {
    struct desk *desk;
    struct cancel *cancel;
    int r;
};

static void *run_saver(void *arg)
{
    struct saver *saver = arg;
    const struct store_call call = {.cancel = saver->cancel};

    saver->r = save_within(saver->desk, &call);
    return NULL;
}

static void a_call_that_waits_for_a_plugin_can_be_cancelled(void)
{
    _cleanup_(cancel_free_p) struct cancel *cancel = cancel_new(NULL);
    struct desk desk;
    struct saver saver = {&desk, cancel, 0};
    pthread_t thread;

    if (!desk_init(&desk, NULL))
        return;
    kms_plugin_switch(&desk.plugin, "hang\n");
    thread = thread_must_start("saver", run_saver, &saver);
    while (kms_plugin_calls(&desk.plugin, "Status") == 0)
        sched_yield();
    cancel_fire(cancel, "Shutdown");
    pthread_join(thread, NULL);
    EXPECT_INT(saver.r, ERR_CANCELLED, desk.error.message);
    desk_done(&desk);
}

/* ---- No plugin ---- */

static void a_plugin_of_v1_is_refused_with_a_sentence(void)
{
    struct desk desk;

    if (!desk_init(&desk, "v1"))
        return;
    EXPECT_INT(save(&desk, &web, "web"), ERR_UNAVAILABLE, "v1");
    EXPECT(strstr(desk.error.message, "it is a plugin of KMS v1, which Kubernetes gave up"),
           desk.error.message);
    desk_done(&desk);
}

/* Whatever it answers, to whatever it is asked. */
static void answers_that_are_none_are_refused(void)
{
    static const struct {
        const char *bytes, *status, *encrypt, *decrypt;
    } rows[] = {
        {"", "version \"\" of KMS", "no key id", "does not have 32 bytes"},
        {"ff", "cannot be read", "cannot be read", "cannot be read"},
        {"0affffffff0f", "cannot be read", "cannot be read", "cannot be read"},
        {"0a027632", "not healthy", "no key id", "does not have 32 bytes"},
        /* v2, ok, no key id */
        {"0a0276321202"
         "6f6b",
         "no key id", "", "does not have 32 bytes"},
        /* an annotation that is cut */
        {"0a027632120161"
         "1a05",
         "cannot be read", "cannot be read", "cannot be read"},
        /* no ciphertext */
        {"120161", "version \"\" of KMS", "is empty, or has more", "does not have 32 bytes"},
    };
    struct kms_plugin plugin;

    if (!kms_plugin_is_there())
        return;
    kms_plugin_init(&plugin);
    kms_plugin_switch(&plugin, "");
    kms_plugin_start(&plugin, "raw");
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_(seal_wrapped_done) struct seal_wrapped wrapped = SEAL_WRAPPED_INIT,
                                                         given = SEAL_WRAPPED_INIT;
        struct error errors[3] = {{0}, {0}, {0}};
        unsigned char seed[SEAL_SEED_SIZE] = {0};
        struct seal_source *source = NULL;
        _cleanup_free_ char *current = NULL;

        kms_plugin_switch(&plugin, rows[i].bytes);
        EXPECT_INT(keys_kms_new(plugin.socket, &late_clock, &source, NULL), 0, "new");
        given.provider = str_new("kms");
        given.key_id = str_new("k");
        source->ops->current(source, &plain, &current, &errors[0]);
        source->ops->wrap(source, &plain, seed, &wrapped, &errors[1]);
        source->ops->unwrap(source, &plain, &given, seed, &errors[2]);
        EXPECT(strstr(errors[0].message, rows[i].status), errors[0].message);
        EXPECT(strstr(errors[1].message, rows[i].encrypt), errors[1].message);
        EXPECT(strstr(errors[2].message, rows[i].decrypt), errors[2].message);
        for (size_t k = 0; k < ARRAY_SIZE(errors); k++)
            EXPECT(errors[k].code == ERR_UNAVAILABLE || (k == 1 && !*rows[i].encrypt),
                   rows[i].bytes);
        source->ops->free(source);
    }
    kms_plugin_done(&plugin);
}

static void nobody_at_the_socket_is_told(void)
{
    struct seal_keys *keys = NULL;
    struct error error = {0};

    EXPECT_INT(seal_keys_parse("kms:unix:///tmp/nowhere/kms.sock", &late_clock, &keys, &error), 0,
               error.message);
    EXPECT_INT(seal_keys_check(keys, &plain, &error), ERR_UNAVAILABLE, "nobody");
    EXPECT_STR(error.reason, SEAL_UNAVAILABLE, "its reason");
    EXPECT(strstr(error.message, "the KMS plugin at /tmp/nowhere/kms.sock"), error.message);
    seal_keys_free(keys);
}

SUITE(keys_kms, TEST(saves_ask_the_plugin_once), TEST(another_key_id_is_used_within_a_minute),
      TEST(an_encrypt_may_use_another_key_than_status_tells),
      TEST(a_kms_that_is_down_stops_only_who_begins), TEST(a_plugin_that_is_started_anew_goes_on),
      TEST(what_a_plugin_answers_is_told),
      TEST(a_plugin_that_is_not_healthy_is_asked_every_ten_seconds),
      TEST(a_key_that_is_gone_is_no_damage),
      TEST(a_plugin_that_hangs_is_waited_for_as_long_as_the_call_may),
      TEST(a_call_that_waits_for_a_plugin_can_be_cancelled),
      TEST(a_plugin_of_v1_is_refused_with_a_sentence), TEST(answers_that_are_none_are_refused),
      TEST(nobody_at_the_socket_is_told))
