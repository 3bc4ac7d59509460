/*
 * Objects of a chain. What is read from any bytes has two sections that match their checksums, or
 * is refused; a head that was read, written and read again is the same. Keys that are parsed give
 * the name that they were made of.
 */
#include "engine/base/str.h"
#include "runtimes/chain/private.h"
#include "test/fuzz/fuzz.h"

static void check_head(const struct object_head *head, const struct document *document)
{
    struct object_head again = {0};
    struct document back = DOCUMENT_INIT;
    _cleanup_buf_ struct buf bytes = BUF_INIT;

    object_write(&bytes, &head->name.name, head, head->is_removed ? NULL : document);
    must(object_head_parse(&bytes, &again));
    must(again.number == head->number && again.written == head->written &&
         again.n_ancestors == head->n_ancestors && again.is_removed == head->is_removed &&
         str_equal(again.id, head->id) &&
         memcmp(again.ancestors, head->ancestors, sizeof(head->ancestors)) == 0 &&
         str_equal(again.name.item, head->name.item) &&
         str_equal(again.name.spec_name, head->name.spec_name));
    if (!head->is_removed)
        must(!object_sections(&bytes, &again, &back) && back.open.length == document->open.length &&
             back.secret.length == document->secret.length);
    document_done(&back);
    object_head_done(&again);
}

/* A name that is not cut is the same again. */
static void check_prefix(const struct document_name *name)
{
    _cleanup_free_ char *prefix = chain_prefix(name), *key = chain_key(prefix, 42), *again = NULL;
    struct own_name parsed;
    int64_t number;
    size_t length;

    must(strlen(key) <= OBJECT_KEY_BYTES);
    must(chain_key_parse(key, &number, &length) && number == 42 && length == strlen(prefix));
    if (chain_prefix_parse(prefix, &parsed) == 1) {
        must(str_equal(parsed.name.item, name->item) &&
             str_equal(parsed.spec_name, name->spec.name) &&
             str_equal(parsed.namespace_name, name->spec.namespace_name));
        again = chain_prefix(&parsed.name);
        must(str_equal(again, prefix));
        own_name_done(&parsed);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_buf_ struct buf bytes = BUF_INIT;
    struct document document = DOCUMENT_INIT;
    struct object_head head = {0};
    struct own_name name;
    int64_t number;
    size_t length;
    _cleanup_free_ char *text = str_new_n((const char *)data, size);

    buf_add(&bytes, data, size);
    if (object_head_parse(&bytes, &head)) {
        must(head.length <= size && head.name.spec_name && head.name.namespace_name);
        if (head.is_removed || !object_sections(&bytes, &head, &document))
            check_head(&head, &document);
        check_prefix(&head.name.name);
    }
    object_head_done(&head);
    document_done(&document);
    if (chain_key_parse(text, &number, &length))
        must(number > 0 && length < size);
    if (chain_prefix_parse(text, &name) == 1)
        check_prefix(&name.name);
    own_name_done(&name);
    return 0;
}
