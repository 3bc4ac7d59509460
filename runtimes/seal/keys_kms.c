/* Keys of a KMS: keys_kms.h. */
#include "runtimes/seal/keys_kms.h"

#include <inttypes.h>
#include <kms.pb-c.h>
#include <openssl/crypto.h>
#include <stdatomic.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "runtimes/grpc/grpc.h"
#include "runtimes/io/random.h"
#include "runtimes/seal/kms_answers.h"
#include "runtimes/seal/seal.h"

#define STATUS_KEPT   (INT64_C(60) * 1000) /* ms */
#define FAILURE_KEPT  (INT64_C(10) * 1000) /* ms, of what the plugin said */
#define ABSENCE_KEPT  INT64_C(1000)        /* ms, if nobody listens */
#define CALL_PATIENCE (INT64_C(10) * 1000) /* ms */
#define ATTEMPTS      5
#define MOST_ANSWER   (256u << 10) /* bytes */

struct kms_source {
    struct seal_source base;
    char *socket;
    const struct clock_source *clock;
    struct http_loop *loop;
    /* What Status said; who asks current() has them alone. */
    int64_t asked_again; /* ms, monotonic: not before */
    char *key_id;        /* NULL: it failed, with… */
    struct error *failure;
};

/* ---- A call ---- */

/* Each call has a connection of its own: there are a few a day, and a plugin may be started anew
 * meanwhile. */
static int connect_client(struct kms_source *source, struct http_client **ret, struct error *error)
{
    static atomic_uint last;
    _cleanup_free_ char *url = str_printf("http://kms-%u", atomic_fetch_add(&last, 1));

    return http_client_new(source->loop,
                           &(struct http_client_config){.base_url = url,
                                                        .unix_socket = source->socket,
                                                        .user_agent = "kusion-operator",
                                                        .http2 = true},
                           ret, error);
}

static int64_t time_left(const struct kms_source *source, int64_t deadline)
{
    int64_t left = deadline - source->clock->monotonic(source->clock);

    if (!deadline || left > CALL_PATIENCE)
        return CALL_PATIENCE;
    return left < 1 ? 1 : left;
}

static int blame(const struct kms_source *source, const char *method, const char *why,
                 struct error *error)
{
    char text[400];

    str_copy(text, sizeof(text), why);
    return err_set(error, ERR_UNAVAILABLE, SEAL_UNAVAILABLE, "the KMS plugin at %s: %s: %s",
                   source->socket, method, text);
}

static int send(struct kms_source *source, const char *method, const struct store_call *call,
                const ProtobufCMessage *message, struct http_response *response,
                struct grpc_end *ret_end, struct error *error)
{
    _cleanup_free_ char *path = str_printf("/v2.KeyManagementService/%s", method);
    _cleanup_(http_client_free_p) struct http_client *client = NULL;
    _cleanup_buf_ struct buf body = BUF_INIT;
    int r = connect_client(source, &client, error);

    if (r < 0)
        return r;
    protobuf_c_message_pack(message,
                            grpc_frame(&body, protobuf_c_message_get_packed_size(message)));
    r = grpc_call(client,
                  &(struct grpc_request){.path = path,
                                         .body = &body,
                                         .max_answer = MOST_ANSWER,
                                         .timeout = time_left(source, call->deadline),
                                         .cancel = call->cancel},
                  response, ret_end, error);
    OPENSSL_cleanse(body.data, body.length);
    return r;
}

/* The plugin's answer, which points into the response. */
struct answer {
    struct http_response response;
    const unsigned char *bytes;
    size_t length;
    bool was_sent; /* the request, also after an error */
};

#define ANSWER_INIT                    \
    {                                  \
        .response = HTTP_RESPONSE_INIT \
    }

static void answer_done(struct answer *answer)
{
    OPENSSL_cleanse(answer->response.body.data, answer->response.body.length);
    http_response_done(&answer->response);
}

/* Such a call may be repeated: none of the three changes anything. A server that has no such method
 * answers before it has read the request, and resets the stream; curl 7.88 takes that for a broken
 * connection at times, and the answer is lost. */
static bool was_broken_off(int r, const struct grpc_end *end)
{
    return r == ERR_UNAVAILABLE && end->status == GRPC_NO_STATUS && end->delivery == GRPC_SENT;
}

static int call_plugin(struct kms_source *source, const char *method, const struct store_call *call,
                       const ProtobufCMessage *message, struct answer *ret, struct error *error)
{
    struct grpc_end end = {GRPC_NO_STATUS, GRPC_NOT_SENT};
    struct error failure = {0};
    int r = send(source, method, call, message, &ret->response, &end, &failure);

    for (int i = 1; i < ATTEMPTS && was_broken_off(r, &end); i++) {
        http_response_done(&ret->response);
        ret->response = (struct http_response)HTTP_RESPONSE_INIT;
        err_clear(&failure);
        r = send(source, method, call, message, &ret->response, &end, &failure);
    }
    ret->was_sent = end.delivery != GRPC_NOT_SENT;
    if (r >= 0)
        r = grpc_message(&ret->response, &ret->bytes, &ret->length, &failure);
    if (r >= 0)
        return 0;
    if (r == ERR_CANCELLED)
        return err_copy(error, &failure);
    if (end.status == GRPC_UNIMPLEMENTED)
        return blame(
            source, method,
            "it does not speak KMS v2: it is a plugin of KMS v1, which Kubernetes gave up; "
            "use a later release of it",
            error);
    return blame(source, method, failure.message, error);
}

/* For the plugin's log: 16 hexadecimal digits. */
static void draw_uid(char ret[17])
{
    uint64_t number;

    random_fill(&number, sizeof(number));
    snprintf(ret, 17, "%016" PRIx64, number);
}

/* ---- Status ---- */

static int ask_status(struct kms_source *source, const struct store_call *call, char **ret_key_id,
                      bool *ret_was_sent, struct error *error)
{
    _cleanup_(answer_done) struct answer answer = ANSWER_INIT;
    struct error failure = {0};
    V2__StatusRequest request;
    int r;

    v2__status_request__init(&request);
    r = call_plugin(source, "Status", call, &request.base, &answer, error);
    *ret_was_sent = answer.was_sent;
    if (r < 0)
        return r;
    r = kms_read_status(answer.bytes, answer.length, ret_key_id, &failure);
    return r < 0 ? blame(source, "Status", failure.message, error) : 0;
}

static void note_status(struct kms_source *source, char *key_id, bool was_sent,
                        const struct error *failure)
{
    int64_t kept = key_id ? STATUS_KEPT : was_sent ? FAILURE_KEPT : ABSENCE_KEPT;

    source->asked_again = source->clock->monotonic(source->clock) + kept;
    free(source->key_id);
    source->key_id = key_id;
    free(source->failure);
    source->failure = key_id ? NULL : err_new(failure);
}

/* The key id of Status. */
static int kms_current(struct seal_source *base, const struct store_call *call, char **ret,
                       struct error *error)
{
    struct kms_source *source = (struct kms_source *)base;
    struct error failure = {0};
    char *key_id = NULL;
    bool was_sent;
    int r;

    if ((!source->key_id && !source->failure) ||
        source->clock->monotonic(source->clock) >= source->asked_again) {
        r = ask_status(source, call, &key_id, &was_sent, &failure);
        if (r == ERR_CANCELLED)
            return err_copy(error, &failure);
        note_status(source, key_id, was_sent, &failure);
    }
    if (!source->key_id)
        return err_copy(error, source->failure);
    *ret = str_new(source->key_id);
    return 0;
}

/* ---- Seeds ---- */

static int kms_wrap(struct seal_source *base, const struct store_call *call,
                    const unsigned char seed[SEAL_SEED_SIZE], struct seal_wrapped *ret,
                    struct error *error)
{
    struct kms_source *source = (struct kms_source *)base;
    _cleanup_(answer_done) struct answer answer = ANSWER_INIT;
    struct error failure = {0};
    V2__EncryptRequest request;
    char uid[17];
    int r;

    draw_uid(uid);
    v2__encrypt_request__init(&request);
    request.plaintext = (ProtobufCBinaryData){SEAL_SEED_SIZE, (unsigned char *)(uintptr_t)seed};
    request.uid = uid;
    r = call_plugin(source, "Encrypt", call, &request.base, &answer, error);
    if (r < 0)
        return r;
    r = kms_read_wrapped(answer.bytes, answer.length, ret, &failure);
    ret->provider = str_new(base->ops->provider);
    return r < 0 ? blame(source, "Encrypt", failure.message, error) : 0;
}

static int ask_decrypt(struct kms_source *source, const struct store_call *call,
                       const struct seal_wrapped *wrapped, V2__DecryptRequest *request,
                       unsigned char ret_seed[SEAL_SEED_SIZE], struct error *error)
{
    _cleanup_(answer_done) struct answer answer = ANSWER_INIT;
    struct error failure = {0};
    char uid[17];
    int r;

    draw_uid(uid);
    request->uid = uid;
    request->key_id = wrapped->key_id;
    request->ciphertext =
        (ProtobufCBinaryData){wrapped->bytes.length, (unsigned char *)wrapped->bytes.data};
    r = call_plugin(source, "Decrypt", call, &request->base, &answer, error);
    if (r < 0)
        return r;
    r = kms_read_seed(answer.bytes, answer.length, ret_seed, &failure);
    return r < 0 ? blame(source, "Decrypt", failure.message, error) : 0;
}

static int kms_unwrap(struct seal_source *base, const struct store_call *call,
                      const struct seal_wrapped *wrapped, unsigned char ret_seed[SEAL_SEED_SIZE],
                      struct error *error)
{
    size_t n = wrapped->n_annotations;
    _cleanup_free_ V2__DecryptRequest__AnnotationsEntry *entries =
        NEW_ARRAY(V2__DecryptRequest__AnnotationsEntry, n);
    _cleanup_free_ V2__DecryptRequest__AnnotationsEntry **list =
        NEW_ARRAY(V2__DecryptRequest__AnnotationsEntry *, n);
    V2__DecryptRequest request;

    v2__decrypt_request__init(&request);
    for (size_t i = 0; i < n; i++) {
        const struct seal_annotation *annotation = &wrapped->annotations[i];

        v2__decrypt_request__annotations_entry__init(&entries[i]);
        entries[i].key = annotation->name;
        entries[i].value = (ProtobufCBinaryData){annotation->value.length,
                                                 (unsigned char *)annotation->value.data};
        list[i] = &entries[i];
    }
    request.annotations = list;
    request.n_annotations = n;
    return ask_decrypt((struct kms_source *)base, call, wrapped, &request, ret_seed, error);
}

/* ---- The table ---- */

static void kms_free(struct seal_source *base)
{
    struct kms_source *source = (struct kms_source *)base;

    http_loop_free(source->loop);
    free(source->key_id);
    free(source->failure);
    free(source->socket);
    free(source);
}

int keys_kms_new(const char *socket, const struct clock_source *clock, struct seal_source **ret,
                 struct error *error)
{
    static const struct seal_source_ops ops = {"kms", kms_free, kms_current, kms_wrap, kms_unwrap};
    struct kms_source *source;
    struct http_loop *loop = NULL;
    int r = http_loop_new(&(struct http_loop_config){.name = "kms", .max_idle = 1}, &loop, error);

    if (r < 0)
        return r;
    source = NEW(struct kms_source);
    source->base.ops = &ops;
    source->socket = str_new(socket);
    source->clock = clock;
    source->loop = loop;
    *ret = &source->base;
    return 0;
}
