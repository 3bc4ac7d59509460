/* Whatever the bytes, reading ends; and what was read is the same after writing it. */
#include "engine/base/yaml.h"
#include "engine/base/buf.h"
#include "test/fuzz/fuzz.h"

static void check(const struct value *value)
{
    _cleanup_buf_ struct buf text = BUF_INIT;
    _cleanup_value_ const struct value *again = NULL;
    struct error error = {0};

    yaml_write(&text, value);
    if (yaml_read(text.data, text.length, &again, &error) < 0 || !value_equal(value, again)) {
        fprintf(stderr, "written, but not read the same: %s\n%s\n", error.message, text.data);
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct value **values = NULL;
    size_t count = 0;
    struct error error = {0};
    int code = yaml_read_all((const char *)data, size, &values, &count, &error);

    if ((code < 0) != (error.code < 0) || (code < 0 && !*error.message))
        abort();
    for (size_t i = 0; i < count; i++)
        check(values[i]);
    yaml_free_all(values, count);
    return 0;
}
