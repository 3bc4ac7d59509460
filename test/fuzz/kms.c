/*
 * Answers of a KMS plugin (runtimes/seal/kms_answers.h): the input is a message of its protocol,
 * and is read as each of its answers. What is taken from it is within the bounds of source.h, and
 * is the same after it was kept in a document.
 */
#include "runtimes/seal/format.h"
#include "runtimes/seal/kms_answers.h"
#include "test/fuzz/fuzz.h"

static void read_status(const uint8_t *data, size_t size)
{
    char *key_id = NULL;
    struct error error = {0};
    int r = kms_read_status(data, size, &key_id, &error);

    must_agree(r, &error);
    must((r < 0) == !key_id && (r < 0 || (*key_id && strlen(key_id) <= SEAL_MAX_KEY_ID)));
    must(r >= 0 || r == ERR_UNAVAILABLE);
    free(key_id);
}

static void must_be_kept(const struct seal_wrapped *wrapped)
{
    _cleanup_(seal_wrapped_done) struct seal_wrapped back = SEAL_WRAPPED_INIT;
    _cleanup_buf_ struct buf block = BUF_INIT, again = BUF_INIT;

    seal_block_write(&block, wrapped);
    must(block.length < 65536); /* its length has two bytes */
    must(seal_block_read(block.data, block.length, &back));
    seal_block_write(&again, &back);
    must(again.length == block.length && memcmp(again.data, block.data, block.length) == 0);
    must(strcmp(back.key_id, wrapped->key_id) == 0);
    must(back.n_annotations == wrapped->n_annotations);
}

static void read_wrapped(const uint8_t *data, size_t size)
{
    _cleanup_(seal_wrapped_done) struct seal_wrapped wrapped = SEAL_WRAPPED_INIT;
    struct error error = {0};
    int r = kms_read_wrapped(data, size, &wrapped, &error);

    must_agree(r, &error);
    must(r >= 0 || r == ERR_UNAVAILABLE);
    if (r < 0)
        return;
    wrapped.provider = strdup("kms");
    must(*wrapped.key_id && strlen(wrapped.key_id) <= SEAL_MAX_KEY_ID);
    must(wrapped.bytes.length > 0 && wrapped.bytes.length <= SEAL_MAX_WRAPPED);
    must_be_kept(&wrapped);
}

static void read_seed(const uint8_t *data, size_t size)
{
    unsigned char seed[SEAL_SEED_SIZE];
    struct error error = {0};
    int r = kms_read_seed(data, size, seed, &error);

    must_agree(r, &error);
    must(r >= 0 || r == ERR_UNAVAILABLE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    read_status(data, size);
    read_wrapped(data, size);
    read_seed(data, size);
    return 0;
}
