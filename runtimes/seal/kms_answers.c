#include "runtimes/seal/kms_answers.h"

#include <kms.pb-c.h>
#include <openssl/crypto.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/base/utf8.h"
#include "runtimes/seal/seal.h"

static int refuse(struct error *error, const char *what)
{
    return err_set(error, ERR_UNAVAILABLE, SEAL_UNAVAILABLE, "%s", what);
}

static int check_key_id(const char *key_id, struct error *error)
{
    if (!*key_id)
        return refuse(error, "its answer has no key id");
    if (strlen(key_id) > SEAL_MAX_KEY_ID)
        return refuse(error, "its key id has more than 1024 bytes");
    return 0;
}

/* ---- Status ---- */

static int check_status(const V2__StatusResponse *answer, struct error *error)
{
    _cleanup_free_ char *version = utf8_show(answer->version);
    _cleanup_free_ char *health = utf8_show(answer->healthz);

    if (!str_equal(answer->version, "v2") && !str_equal(answer->version, "v2beta1"))
        return err_set(error, ERR_UNAVAILABLE, SEAL_UNAVAILABLE,
                       "it speaks the version \"%.32s\" of KMS; it is to be v2", version);
    if (!str_equal(answer->healthz, "ok"))
        return err_set(error, ERR_UNAVAILABLE, SEAL_UNAVAILABLE, "it is not healthy: %s", health);
    return check_key_id(answer->key_id, error);
}

int kms_read_status(const void *bytes, size_t length, char **ret_key_id, struct error *error)
{
    V2__StatusResponse *answer = v2__status_response__unpack(NULL, length, bytes);
    int r = answer ? check_status(answer, error) : refuse(error, "its answer cannot be read");

    if (r >= 0)
        *ret_key_id = str_new(answer->key_id);
    if (answer)
        v2__status_response__free_unpacked(answer, NULL);
    return r;
}

/* ---- Encrypt ---- */

static int take_annotations(const V2__EncryptResponse *answer, struct seal_wrapped *ret,
                            struct error *error)
{
    size_t size = 0;

    for (size_t i = 0; i < answer->n_annotations; i++)
        size += strlen(answer->annotations[i]->key) + answer->annotations[i]->value.len;
    /* Each has a name, which bounds how many there are. */
    if (size > SEAL_MAX_ANNOTATIONS || answer->n_annotations > SEAL_MAX_ANNOTATIONS / 8)
        return refuse(error, "its annotations have more than 32 KiB");
    ret->annotations = NEW_ARRAY(struct seal_annotation, answer->n_annotations);
    ret->n_annotations = answer->n_annotations;
    for (size_t i = 0; i < answer->n_annotations; i++) {
        const V2__EncryptResponse__AnnotationsEntry *from = answer->annotations[i];

        ret->annotations[i].name = str_new(from->key);
        buf_init(&ret->annotations[i].value, 0);
        buf_add(&ret->annotations[i].value, from->value.data, from->value.len);
    }
    return 0;
}

static int take_wrapped(const V2__EncryptResponse *answer, struct seal_wrapped *ret,
                        struct error *error)
{
    int r = check_key_id(answer->key_id, error);

    if (r < 0)
        return r;
    if (answer->ciphertext.len == 0 || answer->ciphertext.len > SEAL_MAX_WRAPPED)
        return refuse(error, "what it encrypted is empty, or has more than 1024 bytes");
    ret->key_id = str_new(answer->key_id);
    buf_add(&ret->bytes, answer->ciphertext.data, answer->ciphertext.len);
    return take_annotations(answer, ret, error);
}

int kms_read_wrapped(const void *bytes, size_t length, struct seal_wrapped *ret,
                     struct error *error)
{
    V2__EncryptResponse *answer = v2__encrypt_response__unpack(NULL, length, bytes);
    int r = answer ? take_wrapped(answer, ret, error) : refuse(error, "its answer cannot be read");

    if (answer)
        v2__encrypt_response__free_unpacked(answer, NULL);
    return r;
}

/* ---- Decrypt ---- */

int kms_read_seed(const void *bytes, size_t length, unsigned char ret[SEAL_SEED_SIZE],
                  struct error *error)
{
    V2__DecryptResponse *answer = v2__decrypt_response__unpack(NULL, length, bytes);
    int r = 0;

    if (!answer)
        return refuse(error, "its answer cannot be read");
    if (answer->plaintext.len == SEAL_SEED_SIZE)
        memcpy(ret, answer->plaintext.data, SEAL_SEED_SIZE);
    else
        r = refuse(error, "what it decrypted is no seed of ours: it does not have 32 bytes");
    OPENSSL_cleanse(answer->plaintext.data, answer->plaintext.len);
    v2__decrypt_response__free_unpacked(answer, NULL);
    return r;
}
