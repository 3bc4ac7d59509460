/* Whatever the bytes, reading ends; and what was read is a JSON value. */
#include "engine/yaml/yaml.h"
#include "engine/value/json.h"
#include "test/fuzz/fuzz.h"

static void check(const struct value *value)
{
    _cleanup_free_ char *text = json_to_str(value);
    _cleanup_value_ const struct value *again = NULL;
    struct error error = {0};

    if (json_read_str(text, &again, &error) < 0 || !value_equal(value, again)) {
        fprintf(stderr, "written as JSON, but not read the same: %s\n%s\n", error.message, text);
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
