#include "test/unit/runtimes/kubernetes/objects/values.h"

#include "engine/value/json.h"
#include "test/unit/suite.h"

const struct value *stage_value(const char *text)
{
    const struct value *value = NULL;
    struct error error = {0};

    if (json_read_str(text, &value, &error) < 0)
        EXPECT(false, error.message);
    return value;
}
