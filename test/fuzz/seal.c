/*
 * Sealed parts (runtimes/seal/format.h): the input is one, as a store may have it. It opens only if
 * each of its bytes is as sealing the same content again makes it. Sealed parts of the corpus open:
 * they are those of test/unit/runtimes/seal/vectors.inc.
 */
#include "engine/base/mem.h"
#include "runtimes/seal/format.h"
#include "test/fuzz/fuzz.h"

#define MOST_CARRIED 100000 /* their lengths are in the input, so there are not more */

static const struct document_name names[] = {
    {DOCUMENT_STATE, {"team", "web"}, NULL},
    {DOCUMENT_PLAN, {"team", "web"}, "web-7"},
};

static void must_be_inside(const struct seal_view *view, const struct buf *bytes)
{
    const unsigned char *start = (const unsigned char *)bytes->data, *end = start + bytes->length;

    must(view->block >= start && view->block + view->block_length <= end);
    must(view->random >= view->block && view->write > view->random && view->write < end);
    must(view->content > view->write && view->content + view->content_length <= end);
    must(view->n_carried <= MOST_CARRIED);
}

/* The block, which is proved by the part's tag, and may be anything before. */
static void read_block(const struct seal_view *view)
{
    _cleanup_(seal_wrapped_done) struct seal_wrapped wrapped = SEAL_WRAPPED_INIT;
    _cleanup_buf_ struct buf again = BUF_INIT;

    if (!seal_block_read(view->block, view->block_length, &wrapped))
        return;
    seal_block_write(&again, &wrapped);
    must(again.length == view->block_length && memcmp(again.data, view->block, again.length) == 0);
}

static void must_be_same(const struct buf *bytes, const struct seal_view *view,
                         const unsigned char *seed, const struct seal_place *place,
                         const struct buf *content, const struct buf *carried)
{
    _cleanup_buf_ struct buf again = BUF_INIT, block = BUF_INIT;

    buf_add(&block, view->block, view->block_length);
    seal_format_write(&again, seed, &block, place,
                      &(struct seal_content){.random = view->random,
                                             .write = view->write,
                                             .open_is_sealed = view->open_is_sealed,
                                             .open_hash = view->open_hash,
                                             .carried = carried,
                                             .n_carried = view->n_carried,
                                             .bytes = content->data,
                                             .length = content->length});
    must(again.length == bytes->length && memcmp(again.data, bytes->data, again.length) == 0);
}

static void open_part(const struct buf *bytes, const struct seal_place *place)
{
    _cleanup_buf_ struct buf content = BUF_INIT;
    unsigned char seed[SEAL_SEED_SIZE];
    struct error error = {0};
    struct seal_view view;
    struct buf *carried;
    int r = seal_format_view(bytes, place->part, &view, &error);

    must_agree(r, &error);
    if (r < 0)
        return;
    must(seal_format_has_mark(bytes));
    must_be_inside(&view, bytes);
    read_block(&view);
    for (unsigned i = 0; i < SEAL_SEED_SIZE; i++)
        seed[i] = (unsigned char)(7 + i);
    carried = NEW_ARRAY(struct buf, view.n_carried);
    for (size_t i = 0; i < view.n_carried; i++)
        buf_init(&carried[i], 0);
    if (seal_format_open(&view, seed, place, &content, carried))
        must_be_same(bytes, &view, seed, place, &content, carried);
    else
        must(content.length == 0);
    for (size_t i = 0; i < view.n_carried; i++)
        buf_done(&carried[i]);
    free(carried);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint64_t numbers[] = {0, 70000};
    _cleanup_buf_ struct buf bytes = BUF_INIT;

    buf_add(&bytes, data, size);
    for (int part = 0; part < SEAL_PARTS; part++)
        for (size_t i = 0; i < 4; i++)
            open_part(&bytes,
                      &(struct seal_place){&names[i / 2], (enum seal_part)part, numbers[i % 2]});
    return 0;
}
