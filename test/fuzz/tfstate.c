/*
 * State files of Terraform. The first line is the address of a resource, the rest a file, of which
 * that resource, and one by its id alone, are taken over.
 *
 * Whatever the file has, what is found of a resource is whole or a message. An address that was
 * read is written and read again. What was found becomes a record; the file that is written of it
 * has the same.
 */
#include "runtimes/terraform/tfstate/tfstate.h"
#include "engine/value/json.h"
#include "runtimes/terraform/tfstate/address.h"
#include "test/fuzz/fuzz.h"

#define ID    "hashicorp:random:random_id:a"
#define OTHER "hashicorp:random:random_id:b"

static void check_address(const char *text)
{
    _cleanup_(tf_address_done) struct tf_address address = {0}, again = {0};
    _cleanup_free_ char *written = NULL, *config = NULL;
    struct error error = {0};
    int r = tf_address_read(text, &address, &error);

    must_agree(r, &error);
    if (r < 0)
        return;
    written = tf_address_text(&address);
    config = tf_address_config(&address);
    must(strlen(config) <= strlen(written));
    /* "$${" is written as what it stands for, and "\u0007" as JSON does. */
    if (tf_address_read(written, &again, NULL) == 0 && !strstr(text, "{"))
        must(tf_address_equal(&address, &again));
}

/* As it becomes a record once it was taken over. */
static void check_again(const struct value *one, const struct value *extensions)
{
    const struct record record = {.id = ID,
                                  .type = "Terraform",
                                  .status = RECORD_APPLIED,
                                  .extensions = extensions,
                                  .memory = one};
    const struct record *const records[] = {&record};
    const struct runtime_mark mark = {"a-lineage", 1};
    const struct runtime_target target = {.id = ID, .extensions = extensions};
    _cleanup_value_ const struct value *found = NULL;
    _cleanup_buf_ struct buf file = BUF_INIT;

    must(tfstate_write(NULL, records, 1, &mark, &file, NULL) == 0);
    must(tfstate_find(NULL, file.data, file.length, &target, 1, &found, NULL) == 0);
    must(value_equal(value_get(value_get(found, ID), "state"), value_get(one, "state")));
}

static void check_found(const struct value *one, const struct value *extensions)
{
    if (!one || value_get_string(one, "error"))
        return;
    must(value_is(value_get(one, "state"), VALUE_OBJECT));
    must(value_get_string(one, "address") && value_get_string(one, "private"));
    must(value_int(value_get(one, "schemaVersion"), -1) >= 0);
    check_again(one, extensions);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_free_ char *line = take_line(&data, &size);
    _cleanup_value_ const struct value *extensions = NULL, *found = NULL;
    struct runtime_target targets[] = {{.id = ID}, {.id = OTHER}};
    struct error error = {0};

    check_address(line);
    if (*line)
        extensions = value_pack("{s:s}", STATE_ADDRESS, line);
    targets[0].extensions = extensions;
    must_agree(tfstate_find(NULL, (const char *)data, size, targets, 2, &found, &error), &error);
    check_found(value_get(found, ID), extensions);
    must(!value_get(found, OTHER) || value_count(value_get(found, OTHER)));
    return 0;
}
