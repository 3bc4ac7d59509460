/*
 * Lock files of Terraform. What was read has an address, a version and hashes that are some, and is
 * found by its address.
 */
#include "runtimes/terraform/lock_file.h"
#include "engine/base/str.h"
#include "runtimes/terraform/package/hash.h"
#include "runtimes/terraform/source.h"
#include "runtimes/terraform/version.h"
#include "test/fuzz/fuzz.h"

static void check(const struct lock_file *file, const struct locked *locked)
{
    _cleanup_(source_done) struct source source = {0};
    _cleanup_free_ char *first = str_new_n(locked->hashes, strcspn(locked->hashes, " "));
    struct version version;

    must(source_read(locked->address, '@', &source, NULL) == 0);
    must(version_read(locked->version, &version));
    must(package_hash_is_valid(first));
    must(lock_file_find(file, locked->address) == locked);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_free_ char *text = str_new_n((const char *)data, size);
    struct lock_file *file = NULL;
    struct error error = {0};

    must_agree(lock_file_read(text, &file, &error), &error);
    must(!file == (error.code != 0));
    for (size_t i = 0; file && i < file->count; i++)
        check(file, &file->items[i]);
    lock_file_free(file);
    return 0;
}
